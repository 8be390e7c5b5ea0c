"""What to measure before the card is bought: for how long, at what spend, with limits set first.

The plan is data: the room that confirms can carry it out, and a limit that was written before
the run cannot be moved after it.
"""

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal

from stackchoice.choose.answer import Answer
from stackchoice.choose.carried import Limit, Plan, Rental, Spend
from stackchoice.choose.case import Case
from stackchoice.choose.decision import Flip
from stackchoice.choose.limits import LIMITS
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.recommend import too_close_share
from stackchoice.choose.site import Site
from stackchoice.cost import Volume, metered_usd
from stackchoice.facts.datum import Evidence
from stackchoice.facts.load import Facts
from stackchoice.facts.names import counted
from stackchoice.scenario.words import label

#: Inputs that a week of one's own request log measures.
FROM_A_LOG = (
    "workload.requests_per_user_per_day", "workload.users", "workload.input_tokens",
    "workload.output_tokens", "workload.shared_prefix_tokens", "workload.resent_share",
    "workload.peak_factor", "workload.active_hours_per_day",
)  # fmt: skip
LIMIT_WORDS = {
    "workload.ttft_p99_s": "time to first token, p99",
    "workload.itl_p99_s": "time per token, p99",
    "workload.end_to_end_p99_s": "whole reply, p99",
}


def plan(main: Answer, flips: list[Flip]) -> Plan | None:
    """Return what to measure before money is spent; None where nothing survived."""
    case, site = main.case, main.site
    bought = main.bought is not None and main.verdict.option in (MANAGED, None)
    if site is None and not bought:
        return None
    measure = list(_own(case, site)) if site is not None else []
    flipping, why = _what_could_flip(measure, flips)
    return Plan(
        rental=_rental(case.facts, site) if site is not None else None,
        metered=_metered(main),
        measurement=flipping,
        why=why,
        limits=[*measure, *_stated(case), *_answers(case)],
        ask_first=[flip.text for flip in flips if _is_a_question(flip)],
    )


def _own(case: Case, site: Site) -> Iterator[Limit]:
    """Yield limits of the self-hosted arm: what it must carry, and what was predicted."""
    flow, there = case.flow, site.replicas_there
    if site.replica is not None and flow.peak_per_s is not None:
        must = flow.peak_per_s / (there * flow.cap)
        yield Limit(
            figure="requests_per_s", at_once=site.live_sequences,
            measure=f"requests a second of one replica with {site.live_sequences} at once",
            unit="requests/s", pass_at_least=must, fail_below=must,
            predicted=(site.replica.low, site.replica.high), evidence=flow.peak_evidence,
            derived_from=f"the peak of {flow.peak_per_s:.3g} requests/s on "
            f"{counted(there, 'replica')}, loaded to {flow.cap:.0%}",
        )  # fmt: skip
    if site.live_sequences:
        least = max(1, -int(-(site.needed_at_fast_end or 1) / there // 1))
        yield Limit(
            figure="admitted", measure="sequences that the engine's start says it admits",
            unit="sequences", pass_at_least=site.live_sequences,
            fail_below=min(least, site.live_sequences), evidence=site.row.evidence,
            derived_from="the release's own admission; failing is below what the peak keeps in "
            "flight at the fast end",
        )  # fmt: skip
    if site.speed.decode is not None:
        decode = site.speed.decode
        yield Limit(
            figure="decode_tokens_per_s", measure="decode of one stream", unit="tokens/s",
            pass_at_least=decode.low, fail_below=decode.low,
            predicted=(decode.low, decode.high), evidence=decode.evidence,
            derived_from="the low end of the predicted interval; above the high end the "
            "prediction is refuted too, to the team's advantage",
        )  # fmt: skip


def _stated(case: Case) -> list[Limit]:
    """Return the service levels that somebody stated, at the peak's arrival rate."""
    return [
        Limit(figure=path.split(".")[1], measure=LIMIT_WORDS[path], unit="s",
              pass_at_most=case[path], fail_above=case[path],
              evidence=case.point.inputs[path].evidence,
              derived_from=f"stated: {label(path)}")
        for path in LIMITS if case[path] is not None
    ]  # fmt: skip


def _answers(case: Case) -> Iterator[Limit]:
    """Yield what answers must hold whatever the speed."""
    yield Limit(
        figure="error_share", measure="errors, refusals and cut replies", unit="share of requests",
        pass_at_most=0.01, fail_above=0.01, evidence=Evidence.ASSUMED,
        derived_from="one in a hundred, assumed; write your own before the run",
    )  # fmt: skip
    if case["workload.json_schema"]:
        yield Limit(
            figure="schema_breaks", measure="replies that break the schema", unit="replies",
            pass_at_most=0, fail_above=0, evidence=Evidence.STATED,
            derived_from="a schema is a need of this workload",
        )  # fmt: skip


def _what_could_flip(limits: list[Limit], flips: list[Flip]) -> tuple[str, str]:
    """Return the one measurement that could flip the answer, and why it is that one."""
    for limit in limits:
        low, high = limit.predicted or (0, 0)
        if limit.figure == "requests_per_s" and low < (limit.fail_below or 0) <= high:
            return limit.measure, (
                f"the predicted {low:.3g} to {high:.3g} {limit.unit} straddle the "
                f"{limit.fail_below:.3g} that must be carried"
            )
    in_range = [f for f in flips if f.within_range and f.to_option and f.input in FROM_A_LOG]
    ranked = sorted(in_range, key=lambda f: not f.changes_recommendation)
    if ranked:
        found = ranked[0]
        which = "" if found.changes_recommendation else (
            "; that is the self-hosted choice, and no single measurement flips the recommendation"
        )  # fmt: skip
        return f"{label(found.input)}, from your own log", f"{found.text}{which}"
    names = limits[0].measure if limits else "the month's bill"
    return names, (
        "no single measurement within the stated ranges flips the answer; this one checks the "
        "number that the answer leans on most"
    )


def _is_a_question(flip: Flip) -> bool:
    """Whether a flip hangs on what somebody can simply be asked."""
    return bool(
        flip.within_range and flip.to_option and flip.changes_recommendation
        and flip.input not in FROM_A_LOG
    )  # fmt: skip


def _rental(facts: Facts, site: Site) -> Rental:
    """Return what to rent for the measurement; nothing where the machine is there already."""
    devices = site.devices
    hours = facts.assumed("confirmation_hours")
    machine = f"{devices} x {site.machine.name}"
    if site.choice.already_owned:
        return Rental(machine=machine, hours=hours, usd=Decimal(0), usd_cap=Decimal(0),
                      note="already owned: measure on it out of hours")  # fmt: skip
    offers = [
        p for p in facts.hours if p.machine == site.machine.id and p.kind == "on demand"
    ]  # fmt: skip
    price = min(offers, key=lambda p: p.usd_per_device_hour, default=None)
    if price is None:
        return Rental(machine=machine, hours=hours, usd=None, usd_cap=None,
                      note="no hour price of this machine is in the fact base")  # fmt: skip
    units = -(-devices // price.devices_per_unit) * price.devices_per_unit
    usd = units * price.usd_per_device_hour * Decimal(str(hours))
    return Rental(
        machine=machine, seller=price.seller, usd_per_device_hour=price.usd_per_device_hour,
        devices_paid=units, hours=hours, usd=usd, usd_cap=_cap(facts, usd),
        note="synthetic prompts only: the machine is somebody else's",
        source=f"{price.source.label}, {price.starts}",
    )  # fmt: skip


def _metered(main: Answer) -> Spend | None:
    """Return what a sample at the seller costs, its hard cap, and the bill that would flip."""
    if main.bought is None or main.tokens is None or not main.tokens.requests:
        return None
    (seller, offer), facts = main.bought, main.case.facts
    count = facts.assumed("confirmation_requests")
    part = count / main.tokens.requests
    sample = Volume(
        requests=count, evidence=main.tokens.evidence,
        **{name: getattr(main.tokens, name) * part
           for name in ("input_tokens", "cached_tokens", "output_tokens")},
    )  # fmt: skip
    usd = metered_usd(sample, offer.price)
    return Spend(
        seller=seller.name, sold_as=offer.sold_as, requests=int(count), usd=usd,
        usd_cap=_cap(facts, usd),
        flips_above_usd_per_month=_flip_bill(main),
        source=f"{offer.price.source.label}, {offer.price.starts}",
    )  # fmt: skip


def _flip_bill(main: Answer) -> Decimal | None:
    """Return the seller's monthly bill above which managed is no longer clearly the cheapest."""
    if main.verdict.option != MANAGED:
        return None
    line = next((line for line in main.lines if line.path == "managed"), None)
    others = [
        way.usd_per_month for way in main.ways
        if way.option != MANAGED and way.usd_per_month is not None
    ]  # fmt: skip
    if line is None or line.infrastructure_usd is None or line.total_usd is None or not others:
        return None
    most = min(others) * (1 - too_close_share(main.case))
    return max(Decimal(0), most - (line.total_usd - line.infrastructure_usd))


def _cap(facts: Facts, usd: Decimal) -> Decimal:
    """Return the spend at which to stop: a multiple of the estimate, in whole dollars."""
    factor = Decimal(str(facts.assumed("confirmation_cap_factor")))
    return (usd * factor).to_integral_value(ROUND_CEILING)
