"""Every engine release x artifact x machine, each eliminated for a named reason or kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from stackchoice.choose.checks import Standing, standing, team_checks, traffic_checks
from stackchoice.choose.decision import Candidate, Question
from stackchoice.choose.interactive import LIMITS
from stackchoice.choose.judge import Failure, first_failure, verdict
from stackchoice.choose.kernels import fallback_text
from stackchoice.choose.memo import Memo
from stackchoice.choose.site import (
    Place,
    Site,
    operand_of,
    places,
    served,
    speed_at,
    traffic,
)
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine
from stackchoice.scenario import Point, Scenario


@dataclass
class Judged:
    """One engine at one place and what becomes of it there, worked out when it is asked for.

    What stands whatever the traffic is known from the start; the traffic is asked only of those
    that a decision comes to look at.
    """

    engine: Engine
    place: Place
    standing: Standing
    asked: Callable[[Site, Place, Engine], tuple[Site, Failure]]
    veto: tuple[Question, str] | None = None

    @cached_property
    def _found(self) -> tuple[Site | None, Failure]:
        so_far = self.standing
        if so_far.failed or so_far.site is None:
            return so_far.site, (so_far.failed, so_far.unknown)
        site, (failed, more) = self.asked(so_far.site, self.place, self.engine)
        return site, (failed or self.veto, so_far.unknown + more)

    @property
    def site(self) -> Site | None:
        """The numbers of question 1, as far as they were worked out."""
        return self._found[0]

    @property
    def failed(self) -> tuple[Question, str] | None:
        """The first hard fact that failed."""
        return self._found[1][0]

    @property
    def unknown(self) -> list[str]:
        """What nobody knows, up to the first failure."""
        return self._found[1][1]

    @property
    def alive(self) -> bool:
        """Whether no hard fact failed."""
        return self.failed is None

    @property
    def proven(self) -> bool:
        """Whether no hard fact failed and none is unknown."""
        return self.alive and not self.unknown

    @property
    def fits(self) -> bool:
        """Whether its weights are known to fit, whatever the traffic."""
        site = self.standing.site
        return not self.standing.failed and site is not None and site.row.pool_bytes is not None

    def rank(self) -> tuple[Any, ...]:
        """Order configurations of an engine: highest precision, then capacity.

        Quantising is a cure for what does not fit, so it is not taken where nothing ails.
        """
        place, site = self.place, self.standing.site
        return (
            place.artifact.weight_bits.value or 0,
            -place.choice.devices_per_replica,
            (site and site.live_sequences) or 0,
            # Still equal: never by the order in which somebody wrote the machines down.
            place.choice.already_owned,
            (site and site.row.pool_bytes) or 0,
            place.choice.count,
            place.machine.id,
            place.artifact.id,
        )

    def candidate(self) -> Candidate:
        """Return the candidate; its numbers are None where the file already ruled it out."""
        place, site = self.place, self.site
        return Candidate(
            option=self.engine.name,
            engine=self.engine.name,
            release=self.engine.latest.version,
            artifact=place.artifact.label,
            encoding=place.artifact.encoding,
            machine=place.machine.name,
            devices=place.choice.devices_per_replica,
            fallback=fallback_text(site),
            live_sequences=site and site.live_sequences,
            decode_ceiling_tokens_per_s=site and site.speed.decode_ceiling_tokens_per_s,
            evidence=site.row.evidence if site else Evidence.STATED,
            **verdict(self.failed, self.unknown, _kept(site)),
        )


def judge_all(
    scenario: Scenario, facts: Facts, point: Point, memo: Memo,
    veto: tuple[Question, str] | None = None,
) -> list[Judged]:  # fmt: skip
    """Judge every engine at every place: the first hard fact that fails eliminates it.

    ``veto`` is what rules out all that would otherwise survive.
    """
    there = memo.recall(("places",), point, facts, lambda _, f: places(scenario, f))
    standings = memo.recall(
        ("standings",), point, facts, lambda p, f: _standings(scenario, f, p, there, memo)
    )
    flow = traffic(point)
    limits = any(point[path] is not None for path in LIMITS)

    def asked(start: Site, place: Place, engine: Engine) -> tuple[Site, Failure]:
        own = memo.recall(
            ("speed", place.choice, place.artifact.id, operand_of(start)), point, facts,
            lambda p, f: speed_at(start, f, p),
        )  # fmt: skip
        site = served(start, own, facts, flow)
        failed, unknown = first_failure(traffic_checks(scenario, point, site, flow, limits=limits))
        if failed is None:
            failed, more = memo.recall(
                ("team", engine.id, place.choice), point, facts,
                lambda p, _: first_failure(team_checks(scenario, p, engine, place)),
            )  # fmt: skip
            unknown = unknown + more
        return site, (failed, unknown)

    return [Judged(engine, place, so_far, asked, veto) for engine, place, so_far in standings]


def _standings(
    scenario: Scenario, facts: Facts, point: Point, there: list[Place], memo: Memo
) -> list[tuple[Engine, Place, Standing]]:
    """What the traffic does not move: how far each engine comes at each place."""

    def one(engine: Engine, place: Place) -> Standing:
        return memo.recall(
            ("standing", engine.id, place.choice, place.artifact.id), point, facts,
            lambda p, f: standing(scenario, f, p, engine, place, memo),
        )  # fmt: skip

    return [(e, place, one(e, place)) for place in there for e in facts.engines.values()]


def _kept(site: Site | None) -> str:
    if site is None or site.live_sequences is None:
        return "fit unknown"
    sourced = site.admission is not None and site.admission.rule not in (None, "quotient")
    by = "this release's own admission" if sourced else "quotient"
    given = [site.admission.evidence] if site.admission is not None else []
    known, said = weakest(site.row.evidence, *given).value, fallback_text(site)
    return f"fits; {site.live_sequences} live sequences by {by} ({known})" + (said and f"; {said}")
