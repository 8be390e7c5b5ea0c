"""Every answer of a decision with its rule, its sums and its facts, by the answer's key.

Nothing is computed here: the formulas of the core are run again on numbers that tell where they
came from (:mod:`stackchoice.facts.told`), at the decision's own point.
"""

from __future__ import annotations

from stackchoice.choose.answer import answer
from stackchoice.choose.decide import likely_case
from stackchoice.choose.trace import shown_site
from stackchoice.facts.load import Facts
from stackchoice.facts.told import Why
from stackchoice.scenario import Scenario
from stackchoice.why.case import Decided
from stackchoice.why.fit import admissions, kernels, memory
from stackchoice.why.money import bills, evens, recommendation
from stackchoice.why.shape import asked, peak
from stackchoice.why.speed import served, speeds


def explain(scenario: Scenario, facts: Facts) -> dict[str, Why]:
    """Return why each answer of ``decide(scenario, facts)`` is what it is.

    Keys are ``memory:BUDGET``, ``admission:ENGINE, SETTINGS``, ``decode``, ``prefill``,
    ``replica``, ``kernels``, ``peak``, ``need:FEATURE``, ``push:RULE``, ``cost:PATH``,
    ``even:PATH, END, PEOPLE`` and ``recommendation``; what is not known has no key.
    """
    main = answer(likely_case(scenario, facts))
    at = Decided(main, shown_site(main))
    parts = (memory, admissions, speeds, served, kernels, asked, peak, bills, evens, recommendation)
    return {key: why for part in parts for key, why in part(at)}
