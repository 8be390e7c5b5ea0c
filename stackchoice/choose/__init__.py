"""The choice: ``decide(scenario, facts)`` and the types of its result."""

from stackchoice.choose.decide import decide
from stackchoice.choose.decision import Candidate, Decision, Flip, Option, Step

__all__ = ["Candidate", "Decision", "Flip", "Option", "Step", "decide"]
