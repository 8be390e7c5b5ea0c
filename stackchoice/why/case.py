"""What every explanation looks at, and how an input of the scenario becomes a cited fact."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackchoice.choose.answer import Answer
from stackchoice.choose.case import Case
from stackchoice.choose.money import paths_at
from stackchoice.choose.risks import Paths
from stackchoice.choose.site import Site
from stackchoice.facts.load import Facts
from stackchoice.facts.told import Why, Working

#: Explanations of one kind, each under the key of its answer.
Whys = Iterator[tuple[str, Why]]

#: Units of inputs, by how their names end.
UNITS = {
    "_tokens": "tokens", "hours_per_day": "hours a day", "days_per_month": "days a month",
    "_months": "months", "requests_per_day": "requests a day", "_user_per_day": "a user and day",
    "_usd": "USD",
}  # fmt: skip


@dataclass(frozen=True)
class Decided:
    """One decision at its likely point. ``site`` is the one that question 1 is shown for."""

    main: Answer
    site: Site | None

    @property
    def case(self) -> Case:
        """What the decision was asked with."""
        return self.main.case

    @property
    def facts(self) -> Facts:
        """The fact base that was decided on."""
        return self.main.case.facts

    @property
    def paths(self) -> Paths | None:
        """The paths with what their turning points need; None where nothing self-hosted is left."""
        main = self.main
        if main.site is None:
            return None
        return paths_at(self.case, main.site, main.offer, main.tokens, main.lines)

    def given(self, work: Working, *paths: str) -> Case:
        """Return the case with these inputs as numbers that tell; unknown ones stay unknown."""
        told = {path: self.said(work, path) for path in paths if self.case[path] is not None}
        return self.case.moved(told)

    def said(self, work: Working, path: str) -> Any:
        """Take an input of the scenario into the sums, with who says so."""
        known, name = self.case.point.inputs[path], path.partition(".")[2]
        words = name.replace("_", " ")
        unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")
        by = f"answered by {known.answered_by}" if known.answered_by else ""
        return work.fact(
            words, known.value, unit, evidence=known.evidence, note=by,
            source=known.origin or "the scenario",
        )  # fmt: skip

    def assumed(self, work: Working, name: str, kind: Any = None) -> Any:
        """Take a named assumption into the sums, as Decimal or whatever ``kind`` makes of it."""
        found = self.facts.assumptions[name]
        value = found.datum.value if kind is None else kind(found.datum.value)
        return work.fact(name.replace("_", " "), value, found.unit, found.datum)

    def assuming(self, work: Working, names: tuple[str, ...], kind: Any = None) -> Facts:
        """Return the facts with these assumptions as numbers that tell."""
        return self.facts.assuming({name: self.assumed(work, name, kind) for name in names})
