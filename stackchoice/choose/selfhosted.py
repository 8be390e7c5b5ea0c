"""Every engine release x artifact x machine, each eliminated for a named reason or kept."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

from stackchoice.choose.case import Case
from stackchoice.choose.checks import (
    Standing,
    kernel_checks,
    licence_checks,
    memory_checks,
    software_checks,
    standing,
    team_checks,
)
from stackchoice.choose.decision import Candidate
from stackchoice.choose.judge import Check, Failed, Failure, first_failure, verdict
from stackchoice.choose.limits import LIMITS
from stackchoice.choose.peak import traffic_checks
from stackchoice.choose.place import Place, places
from stackchoice.choose.site import Site, served
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.facts.names import counted
from stackchoice.facts.records import Engine


@final
@dataclass
class Judged:
    """One engine at one place and what becomes of it there, worked out when it is asked for.

    What stands whatever the traffic is known from the start; the traffic is asked only of those
    that a decision comes to look at.
    """

    standing: Standing
    case: Case
    limits: bool
    veto: Failed | None = None

    @property
    def engine(self) -> Engine:
        """The engine, at its newest release."""
        return self.standing.engine

    @cached_property
    def _found(self) -> tuple[Site | None, Failure]:
        so_far, case = self.standing, self.case
        if so_far.failed or so_far.site is None:
            return so_far.site, (so_far.failed, so_far.unknown)
        site = served(so_far.site, case)
        failed, unknown = first_failure(traffic_checks(case, site, limits=self.limits))
        if failed is None:
            failed, more = self._team
            unknown = unknown + more
        return site, (failed or self.veto, so_far.unknown + unknown)

    @cached_property
    def _team(self) -> Failure:
        return first_failure(team_checks(self.case, self.engine, self.standing.place))

    @property
    def site(self) -> Site | None:
        """The numbers of question 1, as far as they were worked out."""
        return self._found[0]

    @property
    def failed(self) -> Failed | None:
        """The first hard fact that failed."""
        return self._found[1][0]

    @property
    def unknown(self) -> list[str]:
        """What nobody knows, up to the first failure."""
        return self._found[1][1]

    @property
    def alive(self) -> bool:
        """Whether no hard fact failed; the traffic, which costs most, is asked last."""
        doomed = self.veto or self.standing.failed or self._team[0]
        return not doomed and self.failed is None

    @property
    def proven(self) -> bool:
        """Whether no hard fact failed and none is unknown."""
        unproven = self.standing.unknown or self._team[1]
        return not unproven and self.alive and not self.unknown

    def checks(self) -> Iterator[Check]:
        """Yield every hard fact that a survivor was asked, in the order of the procedure."""
        case, place, site = self.case, self.standing.place, self.site
        yield from licence_checks(case.scenario, self.engine, place)
        yield from software_checks(self.engine, place)
        if site is not None:
            yield from kernel_checks(self.engine, place, site.kernels)
            yield from memory_checks(case, site)
            yield from traffic_checks(case, site, limits=self.limits)
        yield from team_checks(case, self.engine, place)

    def candidate(self) -> Candidate:
        """Return the candidate; its numbers are None where the file already ruled it out."""
        place, site = self.standing.place, self.site
        return Candidate(
            option=self.engine.name,
            engine=self.engine.name,
            release=self.engine.latest.version,
            artifact=place.artifact.label,
            encoding=place.artifact.encoding,
            machine=place.machine.name,
            devices=place.devices,
            fallback=fallback_text(site),
            live_sequences=site and site.live_sequences,
            decode_ceiling_tokens_per_s=site and site.speed.decode_ceiling_tokens_per_s,
            evidence=site.row.evidence if site else Evidence.STATED,
            **verdict(self.failed, self.unknown, _kept(site)),
        )


def judge_all(case: Case, veto: Failed | None = None) -> list[Judged]:
    """Judge every engine at every place: the first hard fact that fails eliminates it.

    ``veto`` is what rules out all that would otherwise survive.
    """
    limits = any(case[path] is not None for path in LIMITS)
    return [Judged(one, case, limits, veto) for one in case.recall(("standings",), _standings)]


def _standings(case: Case) -> list[Standing]:
    """What the traffic does not move: how far each engine comes at each place."""

    def one(engine: Engine, place: Place) -> Standing:
        key = ("standing", engine.id, place.number, place.devices)
        return case.recall(key, lambda here: standing(here, engine, place))

    there = case.recall(("places",), places)
    return [one(engine, place) for place in there for engine in case.facts.engines.values()]


def fallback_text(site: Site | None) -> str:
    """Say which parts run in wider activations than the file asks for; empty where none does."""
    if site is None or site.kernels is None:
        return ""
    said = {
        f"{part.encoding.name} runs as {part.prefill.arithmetic} ({part.prefill.kernel})"
        for part in site.kernels.fallbacks if part.encoding
    }  # fmt: skip
    return f"not as the file asks: {', '.join(sorted(said))}" if said else ""


def _kept(site: Site | None) -> str:
    if site is None or not site.live_sequences:
        return "fit unknown"
    sourced = site.admission is not None and site.admission.rule not in (None, "quotient")
    by = "this release's own admission" if sourced else "quotient"
    given = [site.admission.evidence] if site.admission is not None else []
    known, said = weakest(site.row.evidence, *given).value, fallback_text(site)
    run = counted(site.live_sequences, "live sequence")
    return f"fits; {run} by {by} ({known})" + (said and f"; {said}")
