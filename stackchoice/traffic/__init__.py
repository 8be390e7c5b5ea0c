"""Request logs in, a workload out: the evidence for question 2. Prompts never leave the process."""

from stackchoice.traffic.measure import measure_log
from stackchoice.traffic.measured import Measured

__all__ = ["Measured", "measure_log"]
