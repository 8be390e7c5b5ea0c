"""``explain(scenario, facts)``: what stands behind every answer of a decision."""

from stackchoice.why.explain import explain

__all__ = ["explain"]
