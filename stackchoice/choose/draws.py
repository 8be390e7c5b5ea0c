"""Monte Carlo over every stated and assumed range: how often each option wins.

Draws come in groups. What can change the answer's discrete part (what survives, which engine,
how many machines) has one value in a group, and the whole procedure is asked once for it. Within a
group only what scales money is drawn: salaries, engineers, one-time cost. Both stages are exact;
groups cost precision, so the standard error printed is the one between groups.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.case import Case
from stackchoice.choose.flips import swept
from stackchoice.choose.money import break_evens
from stackchoice.choose.prefer import Way, rank
from stackchoice.choose.quantiles import (
    assumed_ranges,
    assumed_spread,
    drawn_factors,
    stratified,
    value_at,
)
from stackchoice.choose.recommend import too_close_share, wanted
from stackchoice.facts.datum import Record
from stackchoice.scenario.words import label

DRAWS, GROUPS, SEED = 10_000, 200, 20261129

#: Admission is worked out anew where memory or context moves, so those take few levels.
LEVELS = 5
SALARY = "money.usd_per_engineer_month"
PER_PATH = ("ops_fte", "implementation_usd")

NOTHING = "no recommendation"
CLOSE = "too close to call"

METHOD = (
    "Each number is drawn by halves: below the likely value as often as above it, evenly on each "
    "side; what is only open is drawn evenly. Inputs are independent. {groups} groups by Latin "
    "hypercube, {inner} draws each: within a group only {scaled} move, and the procedure is asked "
    "once for it{levels}. Limits that define words, speeds and listed prices are held fixed."
)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What one group of draws came to. ``usd`` are arrays of monthly totals by option."""

    wins: dict[str, int]
    self_hosted: str
    usd: dict[str, Any]
    never: bool | None


class Spread(Record):
    """The 10th, 50th and 90th percentile of an option's monthly total over the draws it is in."""

    low: float
    middle: float
    high: float
    draws: int


class Shares(Record):
    """How often each option wins over all draws, and how often owning never breaks even.

    ``never_breaks_even`` is the share of groups in which no volume pays, at either end of the
    throughput interval, with people or without; None where there was nothing to compare.
    """

    draws: int
    groups: int
    seed: int
    wins: dict[str, float]
    standard_error: float
    best_self_hosted: dict[str, float]
    never_breaks_even: float | None
    usd_per_month: dict[str, Spread]
    method: str


def monte_carlo(
    case: Case, *, draws: int = DRAWS, groups: int = GROUPS, seed: int = SEED
) -> Shares:
    """Return the share of draws that each option wins.

    Parameters
    ----------
    case
        The scenario at its likely point.
    draws, groups, seed
        How many in all, in how many groups, and the seed that makes them the same again.
    """
    import numpy as np

    random = np.random.default_rng(seed)
    first = answer(case)
    coarse = case.readings(("standings",))
    inputs, assumptions = swept(case), assumed_ranges(case.facts)
    scaled = _scaled(first, inputs, assumptions)
    outer = [("input", p) for p in inputs] + [("assumption", k) for k in assumptions]
    outer = [key for key in outer if key not in scaled]
    slow = [key for key in outer if key in coarse]
    levels = max(2, int(LEVELS ** (1 / len(slow)))) if slow else 0
    columns = {
        key: stratified(random, groups, levels if key in slow else 0) for key in outer
    }  # fmt: skip
    inner = max(1, draws // groups)
    rows = [
        _group(
            case.moved({
                name: value_at(inputs[name], case[name], columns[kind, name][g])
                for kind, name in outer if kind == "input"
            }).assuming({
                name: float(value_at(*assumed_spread(case.facts, name), columns[kind, name][g]))
                for kind, name in outer if kind == "assumption"
            }),
            {key: drawn_factors(random, inner, case, inputs, key) for key in scaled}, inner,
        )
        for g in range(groups)
    ]  # fmt: skip
    return _shares(rows, seed, inner, METHOD.format(
        groups=groups, inner=inner,
        scaled=", ".join(map(_called, scaled)) or "nothing",
        levels=f"; {', '.join(map(_called, slow))} at {levels} levels" if slow else "",
    ))  # fmt: skip


def _called(key: tuple[str, str]) -> str:
    """Return what people call an input or an assumption."""
    kind, name = key
    return label(name if kind == "input" else f"assumed.{name}")


def _scaled(
    first: Answer, inputs: dict[str, Any], assumptions: dict[str, Any]
) -> list[tuple[str, str]]:
    """Return what people's and one-time cost are seen to be proportional to, and nothing else is.

    Tried, not presumed: a figure is doubled, and every line must answer with its part doubled.
    """
    found, case = [], first.case
    tries: list[tuple[str, str, str | None]] = [("input", SALARY, None)] if SALARY in inputs else []
    tries += [
        ("assumption", f"{part}_{line.path}", line.path)
        for line in first.lines for part in PER_PATH if f"{part}_{line.path}" in assumptions
    ]  # fmt: skip
    for kind, name, path in tries:
        doubled = (
            case.moved({name: case[name] * 2}) if kind == "input"
            else case.assuming({name: case.facts.assumed(name) * 2})
        )  # fmt: skip
        after = answer(doubled).lines
        part = "one_time_usd" if name.startswith("implementation") else "people_usd"
        if len(after) == len(first.lines) and all(
            _moves(one, two, part, 2 if path in (None, one.path) else 1)
            for one, two in zip(first.lines, after, strict=True)
        ):
            found.append((kind, name))
    return found


def _moves(one: Any, two: Any, part: str, factor: int) -> bool:
    """Whether one part of a line was multiplied, and the rest of the line was left alone."""
    parts = ("infrastructure_usd", "people_usd", "one_time_usd")
    return one.path == two.path and all(
        abs(float((getattr(two, p) or 0) - (getattr(one, p) or 0) * (factor if p == part else 1)))
        < 1e-6 * (1 + float(getattr(one, p) or 0))
        for p in parts
    )


def _group(case: Case, factors: dict[tuple[str, str], Any], inner: int) -> Outcomes:
    """Ask the procedure once, then let money scale within the group."""
    found = answer(case)
    ways = found.ways
    own = f"{found.best.engine} {found.best.artifact} on {found.best.machine}" if found.best else ""
    names = list(dict.fromkeys(way.option for way in ways))
    totals = _totals(ways, found, factors, inner)
    usd = {name: _least([totals[i] for i, w in enumerate(ways) if w.option == name])
           for name in names}  # fmt: skip
    if len(names) < 2 or any(value is None for value in usd.values()):
        wins = Counter({_outcome(found): inner})
    else:
        wins = _winners(case, ways, totals, inner)
    evens = break_evens(case, found.site, found.offer, found.tokens, found.lines)
    first = next(evens, None)
    return Outcomes(
        wins=dict(wins), self_hosted=own or "none", usd={k: v for k, v in usd.items()
                                                         if v is not None},
        never=None if first is None
        else all(even.mtok_per_month is None for even in chain([first], evens)),
    )  # fmt: skip


def _totals(ways: list[Way], found: Answer, factors: dict[Any, Any], inner: int) -> list[Any]:
    import numpy as np

    lines = {line.path: line for line in found.lines}
    salary = factors.get(("input", SALARY), 1.0)
    totals: list[Any] = []
    for way in ways:
        line = lines.get(way.path) if way.path else None
        if line is None or line.infrastructure_usd is None:
            usd = way.usd_per_month
            totals.append(None if usd is None else np.full(inner, float(usd)))
            continue
        fte = factors.get(("assumption", f"ops_fte_{line.path}"), 1.0)
        once = factors.get(("assumption", f"implementation_usd_{line.path}"), 1.0)
        totals.append(
            float(line.infrastructure_usd)
            + float(line.people_usd) * salary * fte * np.ones(inner)
            + float(line.one_time_usd) * once
        )
    return totals


def _least(values: list[Any]) -> Any:
    import numpy as np

    known = [value for value in values if value is not None]
    return np.minimum.reduce(known) if known else None


def _winners(case: Case, ways: list[Way], totals: list[Any], inner: int) -> Counter[str]:
    """Rank every draw of a group: by arrays where only cost is asked, else one by one."""
    import numpy as np

    gap, preferences = too_close_share(case), wanted(case)
    if preferences == ("cost",):
        names = list(dict.fromkeys(way.option for way in ways))
        table = np.stack([
            _least([t for t, way in zip(totals, ways, strict=True) if way.option == name])
            for name in names
        ])  # fmt: skip
        order = np.sort(table, axis=0)
        close = (order[1] - order[0]) < float(gap) * order[1]
        best = np.argmin(table, axis=0)
        wins = Counter({n: int(np.sum((best == i) & ~close)) for i, n in enumerate(names)})
        wins[CLOSE] = int(np.sum(close))
        return wins
    wins = Counter()
    for i in range(inner):
        drawn = [
            way.model_copy(update={"usd_per_month": None if t is None else Decimal(str(t[i]))})
            for way, t in zip(ways, totals, strict=True)
        ]
        left = {way.option for way in rank(drawn, preferences, gap).winners}
        wins[left.pop() if len(left) == 1 else CLOSE] += 1
    return wins


def _outcome(found: Answer) -> str:
    if found.verdict.too_close:
        return CLOSE
    return found.verdict.option or NOTHING


def _shares(rows: list[Outcomes], seed: int, inner: int, method: str) -> Shares:
    import numpy as np

    total = inner * len(rows)
    names = {name for row in rows for name, count in row.wins.items() if count}
    by_group = {n: np.array([row.wins.get(n, 0) / inner for row in rows]) for n in names}
    error = max((float(np.std(v)) for v in by_group.values()), default=0.0) / len(rows) ** 0.5
    judged = [row.never for row in rows if row.never is not None]
    spreads = {}
    for name in sorted({n for row in rows for n in row.usd}):
        drawn = np.concatenate([row.usd[name] for row in rows if name in row.usd])
        low, middle, high = (float(v) for v in np.quantile(drawn, (0.1, 0.5, 0.9)))
        spreads[name] = Spread(low=low, middle=middle, high=high, draws=len(drawn))
    own = Counter(row.self_hosted for row in rows)
    return Shares(
        draws=total, groups=len(rows), seed=seed, method=method, standard_error=error,
        wins={n: float(np.mean(by_group[n])) for n in sorted(
            names, key=lambda n: (-float(np.mean(by_group[n])), n))},
        best_self_hosted={name: count / len(rows) for name, count in own.most_common()},
        never_breaks_even=sum(judged) / len(judged) if judged else None,
        usd_per_month=spreads,
    )  # fmt: skip
