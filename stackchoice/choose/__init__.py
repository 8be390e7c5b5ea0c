"""The choice: ``decide(scenario, facts)`` and the types of its result."""

from stackchoice.choose.decide import decide
from stackchoice.choose.decision import Decision

__all__ = ["Decision", "decide"]
