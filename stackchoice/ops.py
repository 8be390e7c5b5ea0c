"""Question 3, ops capacity: who upgrades, who watches p99, who is awake; people per path."""

from collections.abc import Sequence
from typing import Literal

from stackchoice.facts.datum import Datum, Evidence, Record, sure
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Path
from stackchoice.scenario import NOBODY, Point, Scenario

DUTIES = {
    "upgrades": "upgrades drivers and engine",
    "watches_p99": "notices p99 latency drifting",
    "awake_at_night": "is awake when it breaks",
}


class Duty(Record):
    """One duty and who has it."""

    duty: str
    text: str
    who: str
    status: Literal["named", "nobody", "not known"]


class Ask(Record):
    """What an engine on a platform asks: a factor of work, how often it moves, what it shows."""

    engine: str
    platform: str
    work: Datum[float]
    releases_in_6_months: Datum[int]
    metrics: Datum[bool]


class Ops(Record):
    """What the team has, against what serving by itself asks of it."""

    duties: list[Duty]
    team_fte: float | None
    veto: bool
    thin: list[str]
    evidence: Evidence
    asks: list[Ask] = []


def duties(scenario: Scenario) -> list[Duty]:
    """Return the three duties with a name, nobody, or not known."""
    found = []
    for duty, text in DUTIES.items():
        who = getattr(scenario.team, duty)
        status = {NOBODY: "nobody", "not known": "not known"}.get(who.lower(), "named")
        found.append(Duty(duty=duty, text=text, who=who, status=status))
    return found


def upkeep(scenario: Scenario, facts: Facts, engine: str, backend: str) -> Datum[float]:
    """Return the work an engine on a platform takes, as a factor on a path's operations work.

    The scenario's own factor first, then the row of the platform, then that of the engine; of
    several the last, which is the team's own. Unknown where nobody judged it.
    """
    own = scenario.team.engine_work.get(engine)
    if own is not None:
        return Datum[float](value=own, evidence=Evidence.ASSUMED, note="the scenario's own factor")
    rows = [r for r in facts.upkeep[::-1] if r.engine == engine and r.backend in (backend, None)]
    found = max(rows, key=lambda row: row.backend is not None, default=None)
    return found.work if found else Datum[float]()


def asks(scenario: Scenario, facts: Facts, backends: Sequence[str]) -> list[Ask]:
    """Return what each engine asks of a team on each of these platforms that it runs on."""
    return [
        Ask(
            engine=engine.name, platform=backend,
            work=upkeep(scenario, facts, engine.id, backend),
            releases_in_6_months=engine.releases_in_6_months,
            metrics=engine.feature("metrics"),
        )
        for engine in facts.engines.values()
        for backend in dict.fromkeys(backends)
        if engine.runs_on(backend)
    ]  # fmt: skip


def people(
    facts: Facts, path: Path, *, one_user: bool, already_owned: bool, point: Point | None = None,
    work: Datum[float] | None = None,
) -> Datum[float]:  # fmt: skip
    """Full-time equivalents a path takes: what the scenario says, else what is assumed.

    One user with a machine that is there already, or with a metered endpoint, takes none.
    ``work`` is the engine's factor (see :func:`upkeep`); unknown counts as the reference's 1.
    """
    if one_user and (path == "managed" or (path == "owned" and already_owned)):
        return Datum[float](
            value=0.0, evidence=Evidence.ASSUMED, note="the single user is the operator"
        )
    base = facts.assumptions[f"ops_fte_{path}"].datum
    key = f"team.ops_fte_{path}"
    if point is not None and point[key] is not None:
        said = point.inputs[key].origin or "the scenario's own figure"
        return Datum[float](value=point[key], evidence=Evidence.ASSUMED, note=said)
    if work is None or work.value in (None, 1) or path == "managed":
        return base
    each, factor = sure(base.value), sure(work.value)
    return Datum[float](
        value=each * factor, low=(base.low or each) * (work.low or factor),
        high=(base.high or each) * (work.high or factor), evidence=Evidence.ASSUMED,
        source=base.source, note=f"{each:g} of an engineer x {factor:g}: {work.note}",
    )  # fmt: skip


def vetoed(scenario: Scenario, point: Point) -> bool:
    """Whether all three duties at "nobody" veto a service for several users.

    Nobody would upgrade it, see it drift, or be there when it stops.
    """
    names = [getattr(scenario.team, duty).lower() for duty in DUTIES]
    return _serving(scenario, point) and all(name == NOBODY for name in names)


def _serving(scenario: Scenario, point: Point) -> bool:
    return scenario.workload.purpose == "serving" and point["workload.users"] != 1


def given_fte(point: Point) -> float | None:
    """Return the full-time engineers that the team can give to it; None where nobody said."""
    engineers, share = point["team.engineers"], point["team.ops_share_each"]
    return engineers * share if engineers is not None and share is not None else None


def ops(scenario: Scenario, point: Point, facts: Facts) -> Ops:
    """Weigh the team against serving by itself: what is no :func:`vetoed` may be thin cover."""
    found = duties(scenario)
    engineers, team = point["team.engineers"], given_fte(point)
    thin = []
    if _serving(scenario, point):
        thin = [f"nobody {d.text}" for d in found if d.status == "nobody"]
        thin += [f"not known who {d.text}" for d in found if d.status == "not known"]
        wanted = people(facts, "owned", one_user=False, already_owned=False, point=point).value
        if team is not None and wanted is not None and team < wanted:
            thin.append(
                f"the team can give {team:g} of an engineer, owning is assumed to take {wanted:g}"
            )
        if engineers is not None and engineers < facts.assumed("rotation_engineers"):
            thin.append(
                f"{engineers:g} engineers are fewer than the "
                f"{facts.assumed('rotation_engineers'):g} that a night rotation is assumed to need"
            )
    return Ops(
        duties=found, team_fte=team, veto=vetoed(scenario, point), thin=thin,
        evidence=point.evidence("team.engineers", "team.ops_share_each"),
    )  # fmt: skip
