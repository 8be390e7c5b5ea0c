"""Every answer of a decision with its rule, its sums and its facts, by the answer's key.

Nothing is computed here: the formulas of the core are run again on numbers that tell where they
came from (:mod:`stackchoice.facts.told`), at the decision's own point.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

from stackchoice.choose.answer import answer
from stackchoice.choose.decide import likely_case
from stackchoice.choose.trace import shown_site
from stackchoice.facts.load import Facts
from stackchoice.facts.told import Why
from stackchoice.scenario import Scenario
from stackchoice.why.case import Decided, Whys
from stackchoice.why.fit import admissions, kernels, memory
from stackchoice.why.money import bills, evens, month, recommendation
from stackchoice.why.options import told
from stackchoice.why.shape import asked, peak, team
from stackchoice.why.speed import served, speeds
from stackchoice.why.turning import exits, flipped, spares, turns

#: What explains the answers of a decision, by what their keys start with.
PARTS: dict[str, Callable[[Decided], Whys]] = {
    "memory": memory, "admission": admissions, "decode": speeds, "prefill": speeds,
    "replica": served, "kernels": kernels, "need": asked, "push": asked, "peak": peak,
    "volume": month, "ops": team,
    "option": told, "cost": bills, "even": evens, "turn": turns, "spare": spares, "exit": exits,
    "flip": flipped, "recommendation": recommendation,
}  # fmt: skip


class Explained(Mapping[str, Why]):
    """Explanations by key, worked out when one of their kind is first asked for.

    Parameters
    ----------
    parts
        By what keys start with, up to a colon: what gives these explanations.
    """

    def __init__(self, parts: Mapping[str, Callable[[], Whys]]) -> None:
        self._parts = parts
        self._worked = cache(lambda part: dict(part()))

    def __getitem__(self, key: str) -> Why:
        found: Why = self._worked(self._parts[key.partition(":")[0]])[key]
        return found

    def __iter__(self) -> Iterator[str]:
        for part in dict.fromkeys(self._parts.values()):
            yield from self._worked(part)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, *kinds: str) -> list[Why]:
        """Return the explanations of these kinds, and work out no others."""
        parts = dict.fromkeys(part for kind, part in self._parts.items() if kind in kinds)
        found = (pair for part in parts for pair in self._worked(part).items())
        return [why for key, why in found if key.partition(":")[0] in kinds]


def explain(scenario: Scenario, facts: Facts) -> Explained:
    """Return why each answer of ``decide(scenario, facts)`` is what it is.

    Keys are ``memory:BUDGET``, ``admission:ENGINE, SETTINGS``, ``decode``, ``prefill``,
    ``replica``, ``kernels``, ``volume``, ``peak``, ``need:FEATURE``, ``push:RULE``, ``ops``,
    ``option:NAME``, ``cost:PATH``, ``even:PATH, END, PEOPLE``, ``turn:WHAT``, ``spare:PATH``,
    ``exit:PATH``, ``flip:TEXT`` and ``recommendation``; what is not known has no key.
    """
    main = answer(likely_case(scenario, facts))
    at = Decided(main, shown_site(main))
    ready = {part: partial(part, at) for part in PARTS.values()}
    return Explained({kind: ready[part] for kind, part in PARTS.items()})
