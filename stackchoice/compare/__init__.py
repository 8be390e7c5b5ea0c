"""The fair comparison of measured arms: what was the same, what may be ranked, what moved. Pure."""

from stackchoice.compare.arms import Comparison, compare
from stackchoice.compare.fairness import ITEMS, fairness

__all__ = ["ITEMS", "Comparison", "compare", "fairness"]
