"""The last step: best self-hosted, managed endpoint, or what runs today, by stated preferences."""

from collections.abc import Callable
from decimal import Decimal

from stackchoice.choose.case import Case
from stackchoice.choose.decision import Candidate
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.prefer import DEFAULT, Ranked, Way, rank
from stackchoice.choose.selfhosted import Judged
from stackchoice.cost import CostLine
from stackchoice.facts.datum import Record
from stackchoice.scenario import Preference
from stackchoice.scenario.words import label
from stackchoice.workload import PushResult

KEEP = "keep what runs today"


class Recommendation(Record):
    """What to do and why; None where nothing survives, is known, or is far enough apart."""

    option: str | None
    because: str
    too_close: list[str] = []
    ranking: list[str] = []


def recommend(
    case: Case, ways: list[Way], *, chosen: Judged | None, best_rule: PushResult | None,
    tied_with: str | None, unsure: str, sellers: Callable[[], list[Candidate]],
    pushes: Callable[[], list[PushResult]],
) -> Recommendation:  # fmt: skip
    """Choose between the ways that survive.

    One survivor is the answer. Between several the preferences decide, in their order; where
    intervals overlap on all of them it is too close to call. Where what they look at is unknown,
    only a rule that pushes toward the managed endpoint can still decide. ``tied_with`` names the
    engine that no rule settles the best one against, where nobody sells.
    """
    if chosen is not None and tied_with is not None:
        own = chosen.engine.name
        return Recommendation(
            option=None, too_close=[own, tied_with],
            because=f"too close to call: no rule settles {own} against {tied_with}",
        )  # fmt: skip
    names = list(dict.fromkeys(way.option for way in ways))
    if not ways:
        because = unsure or "no option survives the three questions"
        return Recommendation(option=None, because=because)
    if len(names) == 1:
        only = names[0]
        return Recommendation(
            option=only, because=_sole_reason(only, chosen, best_rule, sellers(), unsure)
        )
    preferences = wanted(case)
    found = rank(ways, preferences, too_close_share(case))
    if found.decided_by is None and found.unknown:
        return _undecided(case, found, names, pushes())
    return _ranked(found, ways, preferences)


def wanted(case: Case) -> tuple[Preference, ...]:
    """Return the preferences a scenario states, else those of the procedure."""
    return tuple(case.scenario.preferences) or DEFAULT


def too_close_share(case: Case) -> Decimal:
    """Return the share of the dearer total below which two totals are too close to call."""
    return Decimal(str(case.facts.assumed("too_close_share")))


def open_ways(
    case: Case, chosen: Judged | None, seller: Candidate | None, lines: list[CostLine]
) -> list[Way]:
    """Return every way that survived: the best self-hosted on each path, managed, today's."""
    found = []
    salary, site = case["money.usd_per_engineer_month"], chosen.site if chosen else None

    def way(option: str, line: CostLine | None, text: str) -> Way:
        return Way(
            option=option, path=line and line.path, text=text,
            usd_per_month=line and line.total_usd,
            engineers=float(line.people_usd / salary) if line and salary else None,
            latency=site.reply_s if site is not None and option != MANAGED else None,
        )  # fmt: skip

    if chosen is not None:
        name = chosen.engine.name
        own = [line for line in lines if line.path != "managed"]
        own = [line for line in own if line.total_usd is not None] or own[:1]
        found += [way(name, line, f"{name} {line.path}") for line in own]
        if not own:
            found.append(way(name, None, name))
    if seller is not None:
        line = next((line for line in lines if line.path == "managed"), None)
        found.append(way(MANAGED, line, f"the {MANAGED}"))
    now = case.scenario.current
    if now is not None and case["current.works"] and case.point.known("current.usd_per_month"):
        found.append(
            Way(option=KEEP, path=None, text=f"keeping {now.what}",
                usd_per_month=case["current.usd_per_month"], engineers=None)
        )  # fmt: skip
    return found


def _undecided(
    case: Case, found: Ranked, names: list[str], pushes: list[PushResult]
) -> Recommendation:
    rule = next((p for p in pushes if p.holds and p.favours[0].engine == "managed"), None)
    unknown = "; ".join(found.unknown)
    if rule is not None and MANAGED in names:
        return Recommendation(option=MANAGED, because=f"{rule.text}; unknown: {unknown}")
    first = ", ".join(map(label, case.flow.missing))
    missing = f"; find out first: {first}" if first else " (a price or a speed is missing)"
    return Recommendation(
        option=None, ranking=found.steps,
        because=f"{' and '.join(names)} cannot be compared: unknown is the {unknown}{missing}",
    )  # fmt: skip


def _ranked(found: Ranked, ways: list[Way], preferences: tuple[Preference, ...]) -> Recommendation:
    """Say who won and by what; the totals are said wherever cost was asked."""
    options = list(dict.fromkeys(way.option for way in found.winners))
    priced = [way for way in ways if way.usd_per_month is not None]
    totals = sorted(priced, key=lambda way: way.usd_per_month or 0)
    cheapest = {way.option: way for way in reversed(totals)}
    sums = ", ".join(f"{w.text} {w.usd_per_month:,.0f} USD" for w in reversed(cheapest.values()))
    because = f"a month with people and one-time cost, which are assumed: {sums}"
    if found.decided_by not in ("cost", None) or "cost" not in preferences:
        asked = ", then ".join(preferences)
        because = "; ".join([*found.steps, f"preferences: {asked}", because])
    if found.unknown:
        because += f"; passed over, because it is not known: {'; '.join(found.unknown)}"
    if len(options) > 1:
        return Recommendation(
            option=None, because=f"too close to call: {because}", too_close=options,
            ranking=found.steps,
        )  # fmt: skip
    return Recommendation(option=options[0], because=because, ranking=found.steps)


def _sole_reason(
    only: str,
    chosen: Judged | None,
    best_rule: PushResult | None,
    sellers: list[Candidate],
    unsure: str,
) -> str:
    if only == MANAGED:
        return unsure or "no self-hosted option survives the three questions"
    if chosen is None or only != chosen.engine.name:
        return "nothing else survives the three questions"
    reasons = "; ".join(dict.fromkeys(c.reason for c in sellers))
    why = best_rule.text if best_rule else chosen.candidate().reason
    return f"{why}; the managed endpoint is out: {reasons}"
