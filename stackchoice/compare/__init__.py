"""The fair comparison of measured arms: what was the same, what may be ranked, what moved. Pure."""

from stackchoice.compare.arms import Comparison, Pair, compare
from stackchoice.compare.fairness import ITEMS, FairItem, fairness
from stackchoice.compare.rules import load_compare_rules

__all__ = ["ITEMS", "Comparison", "FairItem", "Pair", "compare", "fairness", "load_compare_rules"]
