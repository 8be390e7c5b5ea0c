"""A decision defended: what its cost hangs on, how far the next answer is, how often it wins."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.decide import checked
from stackchoice.choose.decision import Flip
from stackchoice.choose.defence import Bar, Defence, Tornado
from stackchoice.choose.draws import DRAWS, GROUPS, SEED, assumed_ranges, monte_carlo
from stackchoice.choose.flips import COUNTED, asker, outcome, range_flips, swept
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.memo import Memo
from stackchoice.choose.recommend import open_ways
from stackchoice.facts.datum import Evidence
from stackchoice.facts.load import Facts
from stackchoice.scenario import Point, Scenario, likely_point, scenario_inputs

#: How far beyond what was given the next answer is looked for: a tenth to ten times.
BEYOND = 10


def defend(
    scenario: Scenario, facts: Facts, *, draws: int = DRAWS, groups: int = GROUPS, seed: int = SEED
) -> Defence:
    """Work out what stands behind a decision.

    Pure like :func:`stackchoice.decide`, and slower: it answers some hundred times.

    Parameters
    ----------
    draws, groups, seed
        Of the Monte Carlo (:func:`stackchoice.choose.draws.monte_carlo`).
    """
    scenario = checked(scenario, facts)
    point, memo = likely_point(scenario, facts), Memo()
    main = answer(scenario, facts, point, memo)
    names = [main.verdict.option, main.best.option if main.best else None,
             MANAGED if main.seller else None]  # fmt: skip
    return Defence(
        tornados=[
            tornado(scenario, facts, point, main, name, memo)
            for name in dict.fromkeys(n for n in names if n is not None)
        ],
        beyond=beyond(scenario, facts, point, main, memo),
        shares=monte_carlo(scenario, facts, point, draws=draws, groups=groups, seed=seed),
    )


def tornado(
    scenario: Scenario, facts: Facts, point: Point, main: Answer, option: str, memo: Memo
) -> Tornado:
    """Return the option's monthly total at both ends of every range, the widest swing first."""
    bars = []
    for path, (low, high) in swept(scenario, facts, point).items():
        ends = [
            _total(scenario, facts, point.moved({path: side}), option, memo) for side in (low, high)
        ]
        bars.append(_bar(path, low, high, ends, point.inputs[path].evidence))
    for key, (low, high) in assumed_ranges(facts).items():
        ends = [
            _total(scenario, facts.assuming({key: side}), point, option, memo)
            for side in (low, high)
        ]
        bars.append(_bar(f"assumed.{key}", low, high, ends, facts.assumptions[key].datum.evidence))
    usd = _least(scenario, point, main, option)
    moving = [b for b in bars if b.swing_usd or None in (b.usd_at_low, b.usd_at_high)]
    kept = [bar for bar in moving if (bar.usd_at_low, bar.usd_at_high) != (None, None)]
    return Tornado(
        option=option, usd=usd, bars=sorted(kept, key=lambda bar: (-bar.swing_usd, bar.input))
    )


def beyond(scenario: Scenario, facts: Facts, point: Point, main: Answer, memo: Memo) -> list[Flip]:
    """Return how far each number that was given stands from the next answer.

    From a tenth of the value, or of the low end, to ten times the value, or the high end: within
    what the input allows.
    """
    ask, base = asker(scenario, facts, point, memo), outcome(main)
    inside = swept(scenario, facts, point)
    found = []
    for path in scenario_inputs(scenario):
        value = point[path]
        if value is None or isinstance(value, bool | str) or not value:
            continue
        low, high = inside.get(path, (value, value))
        kind = input_type(scenario, path)
        far = tuple(
            _allowed(kind, edge, factor, whole=path in COUNTED)
            for edge, factor in ((low, Decimal(1) / BEYOND), (high, Decimal(BEYOND)))
        )
        # Where the answer changed inside already, the next answer is no further out.
        ends = tuple(
            end for end, edge in zip(far, (low, high), strict=True)
            if end != edge and ask(path, edge) == base
        )  # fmt: skip
        if ends:
            found += range_flips(ask, point.inputs[path], base, path, ends, given=False)
    return found


def input_type(scenario: Scenario, path: str) -> Any:
    """Return the type of an input of the scenario, with the bounds that it names."""
    section, name = path.split(".")
    return type(getattr(scenario, section)).model_fields[name].annotation


def _allowed(kind: Any, value: Any, factor: Decimal, *, whole: bool) -> Any:
    """Return the value times a factor, or the furthest that the input allows in that direction."""
    far = value * factor if isinstance(value, Decimal) else type(value)(value * float(factor))
    far = type(value)(round(far)) if whole else far
    for candidate in (far, *_limits(kind, value)):
        try:
            kind(value=candidate)
        except ValueError:
            continue
        if (candidate - value) * (1 if factor > 1 else -1) > 0:
            return candidate
    return value


def _limits(kind: Any, value: Any) -> list[Any]:
    """Return the bounds that an input's type names."""
    annotation = kind.model_fields["value"].annotation
    found = []
    for part in getattr(annotation, "__args__", (annotation,)):
        for extra in getattr(part, "__metadata__", ()):
            for limit in getattr(extra, "metadata", [extra]):
                found += [
                    type(value)(getattr(limit, name)) for name in ("ge", "le")
                    if getattr(limit, name, None) is not None
                ]  # fmt: skip
    return found


def _bar(path: str, low: Any, high: Any, ends: list[Decimal | None], evidence: Evidence) -> Bar:
    plain = [str(v).lower() if isinstance(v, bool) else v if isinstance(v, str) else float(v)
             for v in (low, high)]  # fmt: skip
    return Bar(
        input=path, low=plain[0], high=plain[1], usd_at_low=ends[0], usd_at_high=ends[1],
        evidence=evidence,
    )  # fmt: skip


def _total(
    scenario: Scenario, facts: Facts, point: Point, option: str, memo: Memo
) -> Decimal | None:
    return _least(scenario, point, answer(scenario, facts, point, memo), option)


def _least(scenario: Scenario, point: Point, found: Answer, option: str) -> Decimal | None:
    ways = open_ways(scenario, point, found.best, found.site, found.seller, found.lines)
    totals = [w.usd_per_month for w in ways if w.option == option and w.usd_per_month is not None]
    return min(totals, default=None)
