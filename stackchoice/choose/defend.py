"""A decision defended: what its cost hangs on, how far the next answer is, how often it wins."""

from contextlib import closing
from decimal import Decimal
from typing import Any

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.case import Case
from stackchoice.choose.decide import likely_case
from stackchoice.choose.decision import Flip
from stackchoice.choose.draws import DRAWS, GROUPS, SEED, Shares, monte_carlo
from stackchoice.choose.flips import COUNTED, asker, outcome, range_flips, swept
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.quantiles import assumed_ranges
from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.load import Facts
from stackchoice.facts.place import no_collector
from stackchoice.scenario import Scenario, scenario_inputs

#: How far beyond what was given the next answer is looked for: a tenth to ten times.
BEYOND = 10


class Bar(Record):
    """The monthly total of one option with one input at either end of its range.

    ``usd_at_low`` belongs to the input at ``low``. None: the option does not survive there.
    """

    input: str
    low: float | str
    high: float | str
    usd_at_low: Decimal | None
    usd_at_high: Decimal | None
    evidence: Evidence

    @property
    def swing_usd(self) -> Decimal:
        """How far the total moves between the two ends."""
        if self.usd_at_low is None or self.usd_at_high is None:
            return Decimal(0)
        return abs(self.usd_at_high - self.usd_at_low)


class Tornado(Record):
    """The monthly total of one option against each input's range, the widest first."""

    option: str
    usd: Decimal | None
    bars: list[Bar]


class Defence(Record):
    """What stands behind a decision beyond the decision: slower to work out, so asked for apart.

    ``beyond`` are flips outside what was given: how far each input is from the next answer.
    """

    tornados: list[Tornado]
    beyond: list[Flip]
    shares: Shares


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
    with no_collector(), closing(likely_case(scenario, facts)) as case:
        return defended(case, draws=draws, groups=groups, seed=seed)


def defended(
    case: Case, *, draws: int = DRAWS, groups: int = GROUPS, seed: int = SEED
) -> Defence:  # fmt: skip
    """Work out what stands behind the decision of a case that is at its likely point."""
    with no_collector():
        return _defended(case, draws, groups, seed)


def _defended(case: Case, draws: int, groups: int, seed: int) -> Defence:
    main = answer(case)
    own = main.engine.name if main.engine else None
    names = [main.verdict.option, own, MANAGED if main.seller else None]
    return Defence(
        tornados=tornados(main, list(dict.fromkeys(n for n in names if n is not None))),
        beyond=beyond(main),
        shares=monte_carlo(main.case, draws=draws, groups=groups, seed=seed),
    )


def tornados(main: Answer, options: list[str]) -> list[Tornado]:
    """Return the options' monthly totals at both ends of every range, the widest swing first."""
    case, facts = main.case, main.case.facts
    sides = [
        (path, ends, case.point.inputs[path].evidence,
         [answer(case.moved({path: end})) for end in ends])
        for path, ends in swept(case).items()
    ] + [
        (f"assumed.{key}", ends, facts.assumptions[key].datum.evidence,
         [answer(case.assuming({key: end})) for end in ends])
        for key, ends in assumed_ranges(facts).items()
    ]  # fmt: skip
    found = []
    for option in options:
        bars = [_bar(option, *side) for side in sides]
        moving = [b for b in bars if b.swing_usd or None in (b.usd_at_low, b.usd_at_high)]
        kept = [b for b in moving if (b.usd_at_low, b.usd_at_high) != (None, None)]
        kept.sort(key=lambda bar: (-bar.swing_usd, bar.input))
        found.append(Tornado(option=option, usd=_least(main, option), bars=kept))
    return found


def _bar(
    option: str, name: str, ends: tuple[Any, Any], evidence: Evidence, there: list[Answer]
) -> Bar:
    usd = [_least(one, option) for one in there]
    low, high = (str(v).lower() if isinstance(v, bool) else v if isinstance(v, str) else float(v)
                 for v in ends)  # fmt: skip
    return Bar(input=name, low=low, high=high, usd_at_low=usd[0], usd_at_high=usd[1],
               evidence=evidence)  # fmt: skip


def _least(found: Answer, option: str) -> Decimal | None:
    """Return the least monthly total of an option; None where it does not survive."""
    totals = [w.usd_per_month for w in found.ways if w.option == option]
    return min((usd for usd in totals if usd is not None), default=None)


def beyond(main: Answer) -> list[Flip]:
    """Return how far each number that was given stands from the next answer.

    From a tenth of the value, or of the low end, to ten times the value, or the high end: within
    what the input allows.
    """
    case, ask, base = main.case, asker(main.case), outcome(main)
    inside, found = swept(case), []
    for path in scenario_inputs(case.scenario):
        value = case[path]
        if value is None or isinstance(value, bool | str) or not value:
            continue
        low, high = inside.get(path, (value, value))
        kind = input_type(case.scenario, path)
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
            found += range_flips(ask, case.point.inputs[path], base, path, ends, given=False)
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
