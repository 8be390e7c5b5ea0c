"""Every engine release x artifact x machine, each eliminated for a named reason or kept."""

from __future__ import annotations

from dataclasses import dataclass

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
from stackchoice.facts.datum import Evidence
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine
from stackchoice.scenario import MachineChoice, Point, Scenario


@dataclass(frozen=True, slots=True)
class Judged:
    """One engine at one place and what became of it; a candidate is the same in words."""

    engine: Engine
    place: Place
    site: Site | None
    failed: tuple[Question, str] | None
    unknown: list[str]

    @property
    def alive(self) -> bool:
        """Whether no hard fact failed."""
        return self.failed is None

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


def judge_all(scenario: Scenario, facts: Facts, point: Point, memo: Memo) -> list[Judged]:
    """Judge every engine at every place: the first hard fact that fails eliminates it."""
    there = places(scenario, facts)
    standings = memo.recall(
        ("standings",), point, facts, lambda p, f: _standings(scenario, f, p, there, memo)
    )
    team = memo.recall(("team",), point, facts, lambda p, f: _team(scenario, f, p, there))
    started = {
        (place.choice, place.artifact.id, operand_of(so_far.site)): so_far.site
        for _, place, so_far in standings if so_far.site is not None and so_far.failed is None
    }  # fmt: skip
    speeds = memo.recall(
        ("speeds", frozenset(started)),
        point,
        facts,
        lambda p, f: {key: speed_at(site, f, p) for key, site in started.items()},
    )
    flow = traffic(point)
    limits = any(point[path] is not None for path in LIMITS)
    found = []
    for engine, place, so_far in standings:
        site, failed, unknown = so_far.site, so_far.failed, so_far.unknown
        if failed is None and site is not None:
            own = speeds[place.choice, place.artifact.id, operand_of(site)]
            site = served(site, own, facts, flow)
            failed, more = first_failure(traffic_checks(scenario, point, site, flow, limits=limits))
            unknown = unknown + more
            if failed is None:
                failed, more = team[engine.id, place.choice]
                unknown = unknown + more
        found.append(Judged(engine, place, site, failed, unknown))
    return found


def _standings(
    scenario: Scenario, facts: Facts, point: Point, there: list[Place], memo: Memo
) -> list[tuple[Engine, Place, Standing]]:
    """What the traffic does not move: how far each engine comes at each place."""
    return [
        (engine, place, memo.recall(
            ("standing", engine.id, place.choice, place.artifact.id), point, facts,
            lambda p, f, e=engine, w=place: standing(scenario, f, p, e, w, memo),
        ))
        for place in there for engine in facts.engines.values()
    ]  # fmt: skip


def _team(
    scenario: Scenario, facts: Facts, point: Point, there: list[Place]
) -> dict[tuple[str, MachineChoice], Failure]:
    choices = {place.choice: place for place in there}
    return {
        (engine.id, choice): first_failure(team_checks(scenario, point, engine, place))
        for choice, place in choices.items() for engine in facts.engines.values()
    }  # fmt: skip


def _kept(site: Site | None) -> str:
    if site is None or site.live_sequences is None:
        return "fit unknown"
    sourced = site.admission is not None and site.admission.rule not in (None, "quotient")
    by = "this release's own admission" if sourced else "quotient"
    said = fallback_text(site)
    return f"fits; {site.live_sequences} live sequences by {by}" + (said and f"; {said}")
