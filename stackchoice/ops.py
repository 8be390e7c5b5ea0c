"""Question 3, ops capacity: who upgrades, who watches p99, who is awake; people per path."""

from __future__ import annotations

from typing import Literal

from stackchoice.facts.datum import Datum, Evidence, Record
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


class Ops(Record):
    """What the team has, against what serving by itself asks of it."""

    duties: list[Duty]
    team_fte: float | None
    veto: bool
    thin: list[str]
    evidence: Evidence


def duties(scenario: Scenario) -> list[Duty]:
    """Return the three duties with a name, nobody, or not known."""
    found = []
    for duty, text in DUTIES.items():
        who = getattr(scenario.team, duty)
        status = {NOBODY: "nobody", "not known": "not known"}.get(who.lower(), "named")
        found.append(Duty(duty=duty, text=text, who=who, status=status))
    return found


def people(facts: Facts, path: Path, *, one_user: bool, already_owned: bool) -> Datum[float]:
    """Full-time equivalents a path takes.

    One user with a machine that is there already, or with a metered endpoint, takes none.
    """
    if one_user and (path == "managed" or (path == "owned" and already_owned)):
        return Datum[float](
            value=0.0, evidence=Evidence.ASSUMED, note="the single user is the operator"
        )
    return facts.assumptions[f"ops_fte_{path}"].datum


def ops(scenario: Scenario, point: Point, facts: Facts) -> Ops:
    """Weigh the team against serving by itself.

    All three duties at "nobody" veto a service for several users: nobody would upgrade it,
    see it drift, or be there when it stops. Anything less is thin cover, and said so.
    """
    found = duties(scenario)
    engineers, share = point["team.engineers"], point["team.ops_share_each"]
    team = engineers * share if engineers is not None and share is not None else None
    serving = scenario.workload.purpose == "serving" and point["workload.users"] != 1
    nobody = [d for d in found if d.status == "nobody"]
    thin = []
    if serving:
        thin = [f"nobody {d.text}" for d in nobody]
        thin += [f"not known who {d.text}" for d in found if d.status == "not known"]
        wanted = facts.assumptions["ops_fte_owned"].datum
        if team is not None and wanted.value is not None and team < wanted.value:
            thin.append(
                f"the team can give {team:g} of an engineer, owning is assumed to take "
                f"{wanted.value:g}"
            )
        if engineers is not None and engineers < facts.assumed("rotation_engineers"):
            thin.append(
                f"{engineers:g} engineers are fewer than the "
                f"{facts.assumed('rotation_engineers'):g} that a night rotation is assumed to need"
            )
    return Ops(
        duties=found, team_fte=team, veto=serving and len(nobody) == len(found), thin=thin,
        evidence=point.evidence("team.engineers", "team.ops_share_each"),
    )  # fmt: skip
