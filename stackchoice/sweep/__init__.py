"""Sweeps: one setting at a time, in an order that shows drift, against engines that restart."""

from stackchoice.sweep.design import Arm, Design, Knob, design, parse_knob
from stackchoice.sweep.judge import Sweep, judge
from stackchoice.sweep.run import run_sweep

__all__ = ["Arm", "Design", "Knob", "Sweep", "design", "judge", "parse_knob", "run_sweep"]
