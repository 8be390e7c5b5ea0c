"""What would change the answer: every range at both ends, every switch the other way.

A flip inside a stated range makes the recommendation conditional; a flip outside it is the
distance to the next answer; "none" is an answer too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.decision import Cost, Flip, UnknownInput
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.memo import Memo
from stackchoice.facts.datum import Evidence
from stackchoice.facts.load import Facts
from stackchoice.scenario import Known, Point, Scenario, ends, scenario_inputs

#: Halvings of the interval in which the answer flips: enough for five digits.
HALVINGS = 18

#: The recommendation and the best self-hosted option.
Outcome = tuple[str | None, str | None]
Ask = Callable[[str, Any], Outcome]

#: Sides of inputs that nobody gave but that can only lie in one stretch.
PATTERNS = ("steady", "spiky")

#: The assumed operations work that speaks most against the managed endpoint: assumption -> end.
AGAINST_MANAGED = {"ops_fte_managed": "high", "ops_fte_rented": "low", "ops_fte_owned": "low"}

#: Switches that are worth turning even where somebody stated them.
SWITCHES = (
    "workload.json_schema",
    "workload.images",
    "workload.tools",
    "constraints.data_may_leave",
)


def flips(
    scenario: Scenario, facts: Facts, point: Point, main: Answer, cost: Cost, memo: Memo
) -> list[Flip]:
    """Return where each input flips the answer, then the volumes at which money does."""

    def ask(path: str, value: Any) -> Outcome:
        moved = point.inputs[path].model_copy(update={"value": value})
        return outcome(answer(scenario, facts, Point(inputs={**point.inputs, path: moved}), memo))

    ranges = {**ends(scenario, facts), **_natural_ends(point)}
    base = outcome(main)
    found = [
        _range_flip(ask, point.inputs[path], base, path, low, high)
        for path, (low, high) in ranges.items()
    ]
    for path in SWITCHES:
        if path not in ranges and point[path] is not None:
            found.append(_switch_flip(ask, point.inputs[path], base, path))
    people = _people_flips(scenario, facts, point, main, memo)
    return [*found, *people, *_volume_flips(main, cost)]


def unknowns(scenario: Scenario, facts: Facts, changes: list[Flip]) -> list[UnknownInput]:
    """Name every input nobody gave, and whether finding it could change the answer."""
    matters = {flip.input: flip for flip in changes if flip.to_option is not None}
    swept = {flip.input for flip in changes}
    found = []
    for path, item in scenario_inputs(scenario).items():
        if item.known:
            continue
        if path in matters:
            text = matters[path].text
        elif path in swept:
            text = "no value in its assumed range changes the answer"
        else:
            text = "not given, so nothing was eliminated or sized by it"
        found.append(UnknownInput(input=path, worth_finding=path in matters, text=text))
    return found


def _natural_ends(point: Point) -> dict[str, tuple[Any, Any]]:
    """Return the sides of unknown inputs that can only lie between known limits."""
    found: dict[str, tuple[Any, Any]] = {}
    tokens = point["workload.input_tokens"]
    if point["workload.shared_prefix_tokens"] is None and tokens:
        found["workload.shared_prefix_tokens"] = (0, tokens)
    if point["workload.resent_share"] is None:
        found["workload.resent_share"] = (0.0, 1.0)
    if point["workload.volume_pattern"] is None:
        found["workload.volume_pattern"] = PATTERNS
    return found


def label(path: str) -> str:
    """Return an input's path as words: ``workload.ttft_p99_s`` is "ttft p99 s"."""
    return path.split(".", 1)[1].replace("_", " ")


def outcome(found: Answer) -> Outcome:
    """What counts as the answer: the recommendation and the best self-hosted option."""
    return found.verdict.option, found.best.option if found.best else None


def _range_flip(ask: Ask, known: Known, base: Outcome, path: str, low: Any, high: Any) -> Flip:
    # Of a switch only the side that it is not on is a change.
    sides = [side for side in (low, high) if not isinstance(side, bool) or side != known.value]
    changed = {side: found for side in sides if (found := ask(path, side)) != base}
    span = f"{_show(low)} to {_show(high)}"
    if not changed:
        return Flip(
            input=path,
            at=None,
            from_option=_name(base),
            to_option=None,
            within_range=True,
            text=f"{label(path)}: nothing from {span} changes the answer",
            evidence=known.evidence,
        )
    # A side that changes the recommendation says more than one that only changes the runner-up.
    side, result = max(changed.items(), key=lambda item: item[1][0] != base[0])
    at = side
    if not isinstance(side, bool | str) and known.value is not None:
        at = _bisect(ask, path, known.value, side, base)
        result = ask(path, at)
    return Flip(
        input=path,
        at=str(at).lower() if isinstance(at, bool) else at,
        from_option=_name(base),
        to_option=_name(result),
        within_range=True,
        changes_recommendation=result[0] != base[0],
        text=_flip_text(path, at, _name(result), span),
        evidence=known.evidence,
    )


def _flip_text(path: str, at: Any, result: str, span: str) -> str:
    if isinstance(at, bool | str):
        return f"if {label(path)} is {_show(at)}, the answer becomes {result}"
    return f"{label(path)}: from {_show(at)} on the answer becomes {result} (range: {span})"


def _switch_flip(ask: Ask, known: Known, base: Outcome, path: str) -> Flip:
    turned = not known.value
    result = ask(path, turned)
    same = result == base
    text = "changes nothing" if same else f"makes it {_name(result)}"
    return Flip(
        input=path,
        at=str(turned).lower(),
        from_option=_name(base),
        to_option=None if same else _name(result),
        within_range=False,
        changes_recommendation=result[0] != base[0],
        text=f"{label(path)} {str(turned).lower()} {text}",
        evidence=known.evidence,
    )


def _people_flips(
    scenario: Scenario, facts: Facts, point: Point, main: Answer, memo: Memo
) -> list[Flip]:
    """Move the assumed operations work of the paths to the ends that speak against managed.

    Only where money decides between the managed endpoint and something else.
    """
    if main.verdict.option != MANAGED or main.best is None or main.tokens is None:
        return []
    moved, said = dict(facts.assumptions), []
    for key, end in AGAINST_MANAGED.items():
        datum = facts.assumptions[key].datum
        value = getattr(datum, end)
        if value is None:
            return []
        moved[key] = moved[key].model_copy(update={"datum": datum.model_copy(
            update={"value": value})})  # fmt: skip
        said.append(f"{key.rsplit('_', 1)[1]} {value:g}")
    there = facts.model_copy(update={"assumptions": moved})
    base, result = outcome(main), outcome(answer(scenario, there, point, memo))
    work = f"operations work at the ends of its assumed ranges ({', '.join(said)} engineers)"
    same = result[0] == base[0]
    return [
        Flip(
            input="operations work, assumed",
            at=None,
            from_option=_name(base),
            to_option=None if same else _name(result),
            changes_recommendation=not same,
            within_range=True,
            text=f"{work} changes nothing" if same
            else f"with {work} the answer becomes {_name(result)}",
            evidence=Evidence.ASSUMED,
        )
    ]  # fmt: skip


def _volume_flips(main: Answer, cost: Cost) -> list[Flip]:
    """The monthly volume at which serving yourself costs less than the managed endpoint."""
    own = main.best.option if main.best else ""
    found = []
    for even in cost.break_even:
        people = "with people" if even.with_people else "without people"
        at = even.mtok_per_month
        words = f"{at:,.0f} M tokens a month ({even.reason})" if at is not None else even.reason
        found.append(
            Flip(
                input=f"volume, {even.against}, {people}",
                at=at,
                unit="M tokens a month",
                from_option=MANAGED,
                to_option=own if at is not None else None,
                changes_recommendation=at is not None,
                within_range=False,
                text=f"{even.against}, {people}: {words}",
                evidence=even.evidence,
            )
        )
    return found


def _bisect(ask: Ask, path: str, inside: Any, outside: Any, base: Outcome) -> Any:
    """Return the value nearest to ``inside`` at which the answer is no longer ``base``."""
    for _ in range(HALVINGS):
        if isinstance(inside, int) and isinstance(outside, int):
            middle = (inside + outside) // 2
            if middle in (inside, outside):
                break
        else:
            middle = (inside + outside) / 2
        if ask(path, middle) == base:
            inside = middle
        else:
            outside = middle
    return outside


def _name(result: Outcome) -> str:
    recommended, own = result
    if recommended is None:
        return f"too close to call or nothing (self-hosted: {own or 'none'})"
    return (
        recommended if recommended == own or own is None else f"{recommended} (self-hosted: {own})"
    )


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
