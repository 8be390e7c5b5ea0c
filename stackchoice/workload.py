"""Question 2, workload shape: needs that eliminate, pushes that point, conflicts shown.

A need is hard: an option without the feature is out. A push is a rule of ``data/rules.yaml``
whose predicates hold; two pushes that disagree are shown as a conflict, never averaged.
Every predicate is true, false or unknown (None), and unknown stays unknown.
"""

from collections.abc import Callable, Container
from typing import Literal

from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.records import Machine
from stackchoice.facts.rules import Push, Rule
from stackchoice.scenario import NOBODY, Point, Scenario

#: The name by which rules point at buying tokens.
MANAGED = "managed"

#: What a workload can demand of an engine or seller, by the scenario input that demands it.
NEEDS = {
    "json_schema": "enforce a JSON schema on the output",
    "tools": "parse tool calls",
    "images": "accept images as input",
}


class Need(Record):
    """One hard demand: needed, not needed, or unknown (None) because nobody said."""

    feature: str
    needed: bool | None
    text: str
    evidence: Evidence


class Situation(Record):
    """What the predicates look at: the point, and what follows from machines and volume.

    ``mean_utilisation`` may be what works it out, which is then asked only where a rule needs it.
    """

    scenario: Scenario
    point: Point
    machines: list[Machine]
    devices: int
    mean_utilisation: float | Callable[[], float | None] | None
    thresholds: dict[str, float]


class PushResult(Record):
    """A rule, whether its conditions hold here, and toward whom it pushes."""

    rule: str
    holds: bool | None
    favours: list[Push]
    precedence: int
    default: bool
    text: str
    why: str
    how_far: str
    resolves: str
    question: Literal["workload", "ops"]
    unknown: list[str] = []
    source: str = ""


class Conflict(Record):
    """Two pushes that disagree, and what settles it (nothing, when precedence is equal)."""

    rules: tuple[str, str]
    engines: tuple[str, str]
    settled: bool
    resolution: str


def needs(point: Point) -> list[Need]:
    """Return every demand a workload can make, with what this one says of it."""
    return [
        Need(
            feature=feature, text=text, needed=point[f"workload.{feature}"],
            evidence=point.inputs[f"workload.{feature}"].evidence,
        )
        for feature, text in NEEDS.items()
    ]  # fmt: skip


def meets(has: bool | None, need: Need) -> bool | None:
    """Whether something that has a feature, or not, meets a need (None: unknown on either side)."""
    if need.needed is False:
        return True
    if need.needed is None:
        return True if has else None
    return has


def pushes(rules: list[Rule], situation: Situation) -> list[PushResult]:
    """Evaluate every rule; the strongest first."""
    return sorted((_push(rule, situation) for rule in rules), key=lambda p: -p.precedence)


def conflicts(results: list[PushResult], alive: Container[str]) -> list[Conflict]:
    """Return the pushes that hold and point at different surviving engines.

    Defaults yield to any push and never conflict. A push whose favourites were all
    eliminated has nobody left to argue for.
    """
    arguing = [
        (push, first)
        for push in results
        if push.holds and not push.default and (first := favourite(push, alive))
    ]
    found = []
    for i, (stronger, one) in enumerate(arguing):
        for weaker, other in arguing[i + 1 :]:
            if one == other or MANAGED in (one, other):
                continue
            settled = stronger.precedence > weaker.precedence
            found.append(
                Conflict(
                    rules=(stronger.rule, weaker.rule), engines=(one, other), settled=settled,
                    resolution=stronger.resolves if settled
                    else "nothing in the rules settles this; measure both",
                )
            )  # fmt: skip
    return found


def favourite(push: PushResult, alive: Container[str]) -> str | None:
    """Return the best-ranked engine of a push that is still alive."""
    ranked = sorted(push.favours, key=lambda f: f.rank)
    return next((f.engine for f in ranked if f.engine in alive), None)


def against_managed(results: list[PushResult], alive: Container[str]) -> list[Conflict]:
    """Return where a push toward the managed endpoint meets one toward a surviving engine.

    Precedence does not settle these: people and money do, as the rule's own words say.
    """
    buying = [p for p in results if p.holds and p.favours[0].engine == MANAGED]
    serving = [
        (push, engine)
        for push in results
        if push.holds and not push.default and (engine := favourite(push, alive))
    ]
    return [
        Conflict(
            rules=(buy.rule, own.rule), engines=(MANAGED, engine), settled=True,
            resolution=buy.resolves,
        )
        for buy in buying for own, engine in serving
    ]  # fmt: skip


def _push(rule: Rule, situation: Situation) -> PushResult:
    holds, unknown = _holds(rule, situation)
    # A rule was checked when it was read; thousands of its copies a decision need no second look.
    return PushResult.model_construct(
        rule=rule.id, holds=holds, unknown=unknown, source=rule.source.label,
        favours=rule.favours, precedence=rule.precedence, default=rule.default, text=rule.text,
        why=rule.why, how_far=rule.how_far, resolves=rule.resolves, question=rule.question,
    )  # fmt: skip


def _holds(rule: Rule, situation: Situation) -> tuple[bool | None, list[str]]:
    """Whether every condition holds; where none fails and some are unknown, which those are."""
    unknown = []
    for name, wanted in [*((n, True) for n in rule.when), *((n, False) for n in rule.unless)]:
        value = PREDICATES[name](situation)
        if value is None:
            unknown.append(name)
        elif value is not wanted:
            return False, []
    return (None if unknown else True), unknown


def _input(path: str) -> Callable[[Situation], bool | None]:
    return lambda s: s.point[path]


def _machines(test: Callable[[Machine], bool]) -> Callable[[Situation], bool | None]:
    return lambda s: all(test(m) for m in s.machines) if s.machines else False


def _users(test: Callable[[float, Situation], bool]) -> Callable[[Situation], bool | None]:
    return lambda s: None if (users := s.point["workload.users"]) is None else test(users, s)


def _shared_prefix(s: Situation) -> bool | None:
    prefix, total = s.point["workload.shared_prefix_tokens"], s.point["workload.input_tokens"]
    if prefix == 0:
        return False
    if prefix is None or not total:
        return None
    return bool(prefix / total >= s.thresholds["heavy_shared_prefix_share"])


def _vendors(s: Situation) -> set[str]:
    now = {m.vendor.lower() for m in s.machines}
    return now | {v.lower() for v in s.scenario.candidates.future_vendors}


def _low_or_spiky(s: Situation) -> bool | None:
    pattern = s.point["workload.volume_pattern"]
    if pattern in ("spiky", "unpredictable"):
        return True
    use = s.mean_utilisation() if callable(s.mean_utilisation) else s.mean_utilisation
    if use is None:
        return None
    return use < s.thresholds["low_utilisation"]


def _no_rotation(s: Situation) -> bool | None:
    night = s.scenario.team.awake_at_night
    return None if night == "not known" else night.lower() == NOBODY


#: The vocabulary of ``when`` and ``unless`` in ``data/rules.yaml``.
PREDICATES: dict[str, Callable[[Situation], bool | None]] = {
    "one_user": _users(lambda users, _: users == 1),
    "many_users": _users(lambda users, s: users >= s.thresholds["many_users"]),
    "shared_prefix_heavy": _shared_prefix,
    "json_schema": _input("workload.json_schema"),
    "reference_run": lambda s: s.scenario.workload.purpose == "reference run",
    "apple_machines": _machines(lambda m: m.backend == "metal"),
    "cuda_machines": _machines(lambda m: m.backend == "cuda"),
    "rocm_machines": _machines(lambda m: m.backend == "rocm"),
    "cpu_machines": _machines(lambda m: m.backend == "cpu"),
    "any_machines": lambda s: bool(s.machines),
    "nvidia_only_fleet": lambda s: _vendors(s) == {"nvidia"},
    "mixed_fleet": lambda s: len(_vendors(s)) > 1,
    "throughput_dominant": lambda s: s.scenario.money.dominant_cost == "throughput",
    "runtime_engineering": _input("team.runtime_engineering"),
    "accepts_young_ecosystem": _input("team.accepts_young_ecosystem"),
    "low_or_spiky_volume": _low_or_spiky,
    "no_ops_rotation": _no_rotation,
}
