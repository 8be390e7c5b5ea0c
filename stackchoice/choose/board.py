"""What a review board asks, each with the answer that stands in the file, or "nobody said".

Beside it what was held fixed, and every input as it was taken.
"""

from decimal import Decimal
from typing import Any

from stackchoice.choose.answer import Answer
from stackchoice.choose.carried import BoardRow
from stackchoice.choose.decision import Cost
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.managed import offers
from stackchoice.choose.site import devices_assumed
from stackchoice.facts.datum import Evidence, weakest
from stackchoice.facts.names import counted
from stackchoice.fit.workspace import said
from stackchoice.scenario import NOBODY, Point, Scenario, scenario_inputs
from stackchoice.scenario.words import label

SILENCE = "nobody said"

#: The inputs that the month's tokens are made of.
VOLUME = (
    "workload.users", "workload.requests_per_user_per_day", "workload.days_per_month",
    "workload.input_tokens", "workload.output_tokens",
)  # fmt: skip


def board(main: Answer, cost: Cost) -> list[BoardRow]:
    """Return the questions of a review with what this decision can say to each."""
    scenario, point = main.case.scenario, main.case.point
    return [
        _volume(point),
        _answered(point),
        _leaves(point),
        _licences(scenario, main),
        _card_dies(scenario, main, cost),
        _exit(main, cost),
        _retest(scenario),
        _prices(main),
    ]


def _volume(point: Point) -> BoardRow:
    parts = [
        f"{label(path)} {point[path]:,g}: {point.inputs[path].origin}"
        if point[path] is not None and point.inputs[path].origin
        else f"{label(path)}: {SILENCE}"
        for path in VOLUME
    ]
    return BoardRow(
        question="Where does the volume come from?", answer="; ".join(parts),
        evidence=point.evidence(*VOLUME), said=point.known(*VOLUME),
    )  # fmt: skip


def _answered(point: Point) -> BoardRow:
    by: dict[str, list[str]] = {}
    silent = []
    for path, known in point.inputs.items():
        if known.answered_by:
            by.setdefault(known.answered_by, []).append(label(path))
        elif known.value is not None:
            silent.append(label(path))
    said = [f"{who}: {', '.join(names)}" for who, names in by.items()]
    rest = f"nobody stands behind: {', '.join(silent)}" if silent else ""
    return BoardRow(
        question="Who answered what?", answer="; ".join([*said, rest] if rest else said) or SILENCE,
        evidence=Evidence.STATED, said=bool(by),
    )  # fmt: skip


def _leaves(point: Point) -> BoardRow:
    known = point.inputs["constraints.data_may_leave"]
    words = {True: "yes", False: "no", None: SILENCE}[known.value]
    who = f" ({known.answered_by})" if known.answered_by else ""
    return BoardRow(
        question="May the data leave?", answer=f"{words}{who}", evidence=known.evidence,
        said=known.value is not None,
    )  # fmt: skip


def _licences(scenario: Scenario, main: Answer) -> BoardRow:
    listed = scenario.constraints.licences_acceptable
    accepted = "" if listed == "not known" else ", ".join(listed)
    rule = f"acceptable: {accepted}" if accepted else f"which are acceptable: {SILENCE}"
    engine = main.engine
    if main.site is None or engine is None:
        return BoardRow(question="Which licences?", answer=rule, evidence=Evidence.STATED,
                        said=bool(accepted))  # fmt: skip
    return BoardRow(
        question="Which licences?",
        answer=f"weights {main.site.licence.value or 'unknown'}, {engine.name} "
        f"{engine.licence.value or 'unknown'}; {rule}",
        evidence=weakest(main.site.licence.evidence, engine.licence.evidence), said=bool(accepted),
    )  # fmt: skip


def _card_dies(scenario: Scenario, main: Answer, cost: Cost) -> BoardRow:
    question = "What happens when the one card dies?"
    night = scenario.team.awake_at_night
    woken = f"at night {SILENCE} who is woken" if night == "not known" else (
        "at night nobody is woken" if night == NOBODY else f"at night {night} is woken"
    )  # fmt: skip
    if main.verdict.option == MANAGED:
        return BoardRow(
            question=question,
            answer="there is no card of one's own: the seller's outage is the outage, and what it "
            f"promises is unknown; {woken}",
            evidence=Evidence.INFERRED, said=night != "not known",
        )  # fmt: skip
    if main.site is None:
        return BoardRow(question=question, answer=f"no machine is chosen; {woken}",
                        evidence=Evidence.INFERRED, said=False)  # fmt: skip
    site = main.site
    there = site.replicas_there
    standing = f"{counted(there, 'replica')} stand{'s' if there == 1 else ''}"
    if site.replicas_needed is None:
        answer = f"{standing}; how many the peak takes is unknown"
    elif (spare := there - site.replicas_needed[1]) > 0:
        answer = f"{standing} and the peak takes {there - spare}: {spare} to spare"
    else:
        answer = (
            f"the service is down or too slow: {standing}, the peak takes "
            f"{site.replicas_needed[1]}, no spare is in the cost"
        )
    priced = [
        f"one spare, {r.path}: {r.extra_usd:,.0f} USD more a month" for r in cost.redundancy
        if r.path != "managed" and r.extra_usd
    ]  # fmt: skip
    answer = "; ".join([answer, *priced])
    return BoardRow(question=question, answer=f"{answer}; {woken}",
                    evidence=Evidence.INFERRED, said=True)  # fmt: skip


def _exit(main: Answer, cost: Cost) -> BoardRow:
    listed = len(offers(main.case))
    parts = [f"the weights are open: sellers of this model in the fact base: {listed}"]
    parts += [
        f"{one.path}: {one.what} ({'unknown' if one.usd is None else f'{one.usd:,.0f} USD'})"
        for one in cost.exits
    ]
    known = bool(cost.exits) and all(one.usd is not None for one in cost.exits)
    return BoardRow(
        question="How do we exit?", answer="; ".join(parts),
        evidence=weakest(*(one.evidence for one in cost.exits), Evidence.ASSUMED), said=known,
    )  # fmt: skip


def _retest(scenario: Scenario) -> BoardRow:
    team = scenario.team
    names = {"upgrades": team.upgrades, "watches p99": team.watches_p99}
    said = [f"{who} {text}" for text, who in names.items() if who not in ("not known", NOBODY)]
    gone = [f"nobody {text}" for text, who in names.items() if who == NOBODY]
    gone += [f"{SILENCE} who {text}" for text, who in names.items() if who == "not known"]
    return BoardRow(
        question="Who owns the re-test after an upgrade?", answer="; ".join([*said, *gone]),
        evidence=Evidence.STATED, said=bool(said),
    )  # fmt: skip


def _prices(main: Answer) -> BoardRow:
    found = [f"{line.path}: {line.source}" for line in main.lines if line.source]
    return BoardRow(
        question="Where do the prices come from?", answer="; ".join(found) or SILENCE,
        evidence=weakest(*(line.evidence for line in main.lines)), said=bool(found),
    )  # fmt: skip


def held_fixed(main: Answer) -> list[str]:
    """Return what was not varied: everything held fixed is a claim somebody should check."""
    facts = main.case.facts
    engines = ", ".join(f"{e.name} {e.latest.version}" for e in facts.engines.values())
    preset = main.case.scenario.workload.sampling_preset
    fixed = [
        f"engine releases: {engines}",
        f"fact base {facts.sha256[:12]}",
        "cache type: the model's own; no quantised KV cache was considered",
        f"sampling preset: {preset or 'not named'}",
        "capacity at the release's default settings, as each configuration's reason says",
        "single-stream speed intervals carried over to batches",
        "prices as listed on their dates; no discounts, taxes, egress or currency",
    ]
    if main.site is not None:
        revision = main.site.artifact.revision.value or "unknown"
        fixed.append(f"artifact {main.site.artifact.id}, revision {revision}")
        taken = said(main.site.workspace, main.site.devices)
        fixed += filter(None, [devices_assumed(main.site, main.case), taken])
    return fixed


def input_rows(scenario: Scenario, point: Point) -> list[dict[str, Any]]:
    """Return every input at the likely point with its class, origin and answerer."""
    given = scenario_inputs(scenario)
    return [
        {
            "input": path,
            "value": _plain(known.value),
            "low": _plain(given[path].low),
            "high": _plain(given[path].high),
            "evidence": known.evidence.value if known.value is not None else "unknown",
            "origin": known.origin,
            "answered_by": known.answered_by,
        }
        for path, known in point.inputs.items()
    ]


def _plain(value: Any) -> Any:
    """Return a value that JSON gives back equal; bills stay Decimal, an input need not."""
    return float(value) if isinstance(value, Decimal) else value
