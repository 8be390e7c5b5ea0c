"""What would change the answer: every range at both ends, every switch the other way.

A flip inside a stated range makes the recommendation conditional; a flip outside it is the
distance to the next answer; "none" is an answer too.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.case import Case
from stackchoice.choose.decision import Flip
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.facts.datum import Evidence
from stackchoice.facts.load import Facts
from stackchoice.scenario import Known, Point, ends
from stackchoice.scenario.words import label

#: Halvings of the stretch in which the answer flips: its edge is known to a five-thousandth of it.
HALVINGS = 12
#: What is counted in whole numbers or cents is halved until the two are neighbours.
EXACT = 64
COUNTED = ("workload.users", "team.engineers", "money.can_fund_devices")
CENT = Decimal("0.01")

#: The recommendation and the best self-hosted option.
Outcome = tuple[str | None, str | None]
Ask = Callable[[str, Any], Outcome]

#: Sides of inputs that nobody gave but that can only lie in one stretch.
PATTERNS = ("steady", "spiky")

#: The assumed operations work that speaks most against the managed endpoint: assumption -> end.
#: What a flip calls the three, which are moved together.
PEOPLE = "operations work, assumed"
AGAINST_MANAGED = {"ops_fte_managed": "high", "ops_fte_rented": "low", "ops_fte_owned": "low"}

#: Switches that are worth turning even where somebody stated them.
SWITCHES = (
    "workload.json_schema",
    "workload.images",
    "workload.tools",
    "constraints.data_may_leave",
)


def flips(main: Answer) -> list[Flip]:
    """Return where each input flips the answer, or that nothing in its range does."""
    case, ask, base = main.case, asker(main.case), outcome(main)
    ranges, inputs = swept(case), main.case.point.inputs
    found = [
        flip
        for path, both in ranges.items()
        for flip in range_flips(ask, inputs[path], base, path, both)
    ]
    found += [
        _switch_flip(ask, inputs[path], base, path)
        for path in SWITCHES if path not in ranges and case[path] is not None
    ]  # fmt: skip
    return [*found, *_people_flips(main)]


def asker(case: Case) -> Ask:
    """Return what answers with one input moved."""
    return lambda path, value: outcome(answer(case.moved({path: value})))


def swept(case: Case) -> dict[str, tuple[Any, Any]]:
    """Return the two ends of every input that is a range or was left open."""
    return {**ends(case.scenario, case.facts), **_natural_ends(case.point)}


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


def outcome(found: Answer) -> Outcome:
    """What counts as the answer: the recommendation and the best self-hosted option."""
    return found.verdict.option, found.engine.name if found.engine else None


def range_flips(
    ask: Ask, known: Known, base: Outcome, path: str, ends: tuple[Any, ...], *, given: bool = True
) -> list[Flip]:
    """Return the flips toward the ends of a range; one that says "nothing" where there are none.

    Toward each end: the nearest value at which anything changes, and the nearest at which the
    recommendation does, where that lies further out.
    """
    span = " to ".join(_show(end) for end in (ends if len(ends) > 1 else (known.value, *ends)))
    found = []
    # Of a switch only the side that it is not on is a change.
    for side in (s for s in ends if not isinstance(s, bool) or s != known.value):
        answers = [(at, ask(path, at)) for at in _probes(path, known.value, side)]
        first = _nearest(known.value, answers, lambda found: found != base)
        if first is None:
            continue
        edges = [_edge(ask, path, *first, lambda found: found != base)]
        near = ask(path, edges[0][1])
        further = _nearest(known.value, answers, lambda found: found[0] != base[0])
        if near[0] == base[0] and further is not None:
            edges.append(_edge(ask, path, *further, lambda found: found[0] != base[0]))
        for under, at in edges:
            result = near if at == edges[0][1] else ask(path, at)
            text = _flip_text(path, known.value, at, _becomes(base, result), span, given)
            found.append(
                _flip(path, known, base, result, text, at=at, under=under, within_range=given)
            )
    text = f"{label(path)}: nothing from {span} changes the answer"
    return found or [_flip(path, known, base, base, text, within_range=given)]


def _flip(
    path: str, known: Known, base: Outcome, result: Outcome, text: str, *, at: Any = None,
    under: Any = None, within_range: bool = False,
) -> Flip:  # fmt: skip
    return Flip(
        input=path, at=_plain(at), under=_plain(under), from_option=_name(base), text=text,
        to_option=None if result == base else _name(result), within_range=within_range,
        changes_recommendation=result[0] != base[0], evidence=known.evidence,
    )  # fmt: skip


def _probes(path: str, here: Any, side: Any) -> list[Any]:
    """Return values on the way from the likely value to an end, the end last.

    An answer can change and change back, where facts first become unknown and then fail.
    """
    if here is None or isinstance(side, bool | str):
        return [side]
    return list(dict.fromkeys([*(v for v in (_middle(path, here, side),) if v != here), side]))


def _nearest(
    here: Any, answers: list[tuple[Any, Outcome]], changed: Callable[[Outcome], bool]
) -> tuple[Any, Any] | None:
    """Return the last unchanged and the first changed value; None where none is changed."""
    for at, found in answers:
        if changed(found):
            return here, at
        here = at
    return None


def _flip_text(path: str, here: Any, at: Any, result: str, span: str, given: bool) -> str:
    if isinstance(at, bool | str):
        return f"{label(path)}: if {_show(at)}, {result}"
    way = "down" if here is not None and at < here else "on"
    words = "range" if given else "looked at"
    return f"{label(path)}: from {_show(at)} {way} {result} ({words}: {span})"


def _plain(value: Any) -> float | str | None:
    """Return a value that JSON gives back equal."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if value is None or isinstance(value, str) else float(value)


def _switch_flip(ask: Ask, known: Known, base: Outcome, path: str) -> Flip:
    turned = not known.value
    result = ask(path, turned)
    same = result == base
    becomes = "nothing changes" if same else _becomes(base, result)
    text = f"{label(path)}: if {_show(turned)}, {becomes}"
    at = None if same else turned
    return _flip(path, known, base, result, text, at=at, under=known.value)


def against_managed(facts: Facts) -> dict[str, float]:
    """Return the work on each path at the end that speaks against buying; of all or none."""
    assumed = facts.assumptions
    most = {key: getattr(assumed[key].datum, end) for key, end in AGAINST_MANAGED.items()}
    return {} if None in most.values() else most


def _people_flips(main: Answer) -> list[Flip]:
    """Move the assumed operations work of the paths to the ends that speak against managed.

    Only where money decides between the managed endpoint and something else.
    """
    if main.verdict.option != MANAGED or main.best is None or main.tokens is None:
        return []
    if not (most := against_managed(main.case.facts)):
        return []
    said = [f"{key.rsplit('_', 1)[1]} {value:g}" for key, value in most.items()]
    base, result = outcome(main), outcome(answer(main.case.assuming(most)))
    work = f"operations work at the ends of its assumed ranges ({', '.join(said)} engineers)"
    same = result[0] == base[0]
    return [
        Flip(
            input=PEOPLE, at=None, from_option=_name(base),
            to_option=None if same else _name(result), changes_recommendation=not same,
            text=f"{work} changes nothing" if same
            else f"with {work} the answer becomes {_name(result)}",
            within_range=True, evidence=Evidence.ASSUMED,
        )
    ]  # fmt: skip


def _edge(
    ask: Ask, path: str, inside: Any, outside: Any, changed: Callable[[Outcome], bool]
) -> tuple[Any, Any]:
    """Return two neighbouring values, the answer unchanged at the first and changed at the second.

    Whole numbers end one apart and money a cent apart; what is no number has no neighbours.
    """
    if inside is None or isinstance(outside, bool | str):
        return inside, outside
    exact = isinstance(inside, Decimal) or path in COUNTED or isinstance(outside, int)
    for _ in range(EXACT if exact else HALVINGS):
        middle = _middle(path, inside, outside)
        if middle in (inside, outside):
            break
        if changed(ask(path, middle)):
            outside = middle
        else:
            inside = middle
    return inside, outside


def _middle(path: str, one: Any, other: Any) -> Any:
    if path in COUNTED or (isinstance(one, int) and isinstance(other, int)):
        return (one + other) // 2
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return ((Decimal(one) + Decimal(other)) / 2).quantize(CENT)
    return (one + other) / 2


def _name(result: Outcome) -> str:
    recommended, own = result
    if recommended is None:
        return (
            f"too close to call or nothing (self-hosted: {own})"
            if own
            else "none: no option is left"
        )
    return (
        recommended if recommended == own or own is None else f"{recommended} (self-hosted: {own})"
    )


def _becomes(base: Outcome, result: Outcome) -> str:
    """Say what changes: the recommendation, or behind it the best self-hosted option alone."""
    if result == (None, None):
        return "no option is left"
    if result[0] != base[0]:
        return f"the answer becomes {_name(result)}"
    stays = f"the answer stays {result[0] or 'open'}"
    if result[1] is None:
        return f"{stays}, but no self-hosted option is left"
    return f"{stays}; the best self-hosted option becomes {result[1]}"


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
