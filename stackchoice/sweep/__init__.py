"""Sweeps: one setting at a time, in an order that shows drift, against engines that restart."""

from stackchoice.sweep.design import Knob, design, parse_knob
from stackchoice.sweep.judge import judge
from stackchoice.sweep.run import run_sweep

__all__ = ["Knob", "design", "judge", "parse_knob", "run_sweep"]
