"""From the events of a load to its repetitions, and whether the client may be believed. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stackchoice.load.health import ClientHealth, ClientValidity, Floor
from stackchoice.load.journal import Event
from stackchoice.load.plan import Plan
from stackchoice.load.records import Failure, Repetition, Sample, Spread, Usage
from stackchoice.load.rules import Rules
from stackchoice.load.stats import Nested, nested

#: What to do where one process of this client is not enough.
OUTGROWN = ", --runner aiperf (its workers take more than one core), or another machine"


#: Figures of a request that a repetition sums up.
SPREADS = ("ttft_s", "itl_s", "end_to_end_s", "intended_ttft_s", "intended_end_to_end_s",
           "decode_tokens_per_s", "prefill_tokens_per_s")  # fmt: skip


def repetitions(
    timed: Sequence[tuple[Event, Sample]], events: Iterable[Event], plan: Plan, model: str
) -> list[Repetition]:
    """Summarise each repetition of each launch.

    Parameters
    ----------
    timed
        Events of timed requests, each with its parsed sample.
    events
        All events; those of step ``health`` are used.
    model
        The model that was asked for.
    """
    health: dict[tuple[int, int], dict[str, Event]] = {}
    for event in events:
        if event["step"] == "health":
            segments = health.setdefault((event["launch"], event["repetition"]), {})
            segments[event["segment"]] = event  # the last one of a segment holds all of it
    groups: dict[tuple[int, int], list[tuple[Event, Sample]]] = {}
    for event, sample in timed:
        groups.setdefault((event["launch"], event["repetition"]), []).append((event, sample))
    return [
        _repetition(key, groups.get(key, []), list(health.get(key, {}).values()), plan, model)
        for key in sorted({*groups, *health})
    ]


def _repetition(
    key: tuple[int, int], pairs: list[tuple[Event, Sample]], health: list[Event], plan: Plan,
    model: str,
) -> Repetition:  # fmt: skip
    samples = [sample for _, sample in pairs]
    good = [s for s in samples if s.failure is None]
    # A resumed repetition has a clock for each of its parts; only one part has one duration.
    one_part = len({event["segment"] for event, _ in pairs}) == 1
    seconds = None
    if pairs and one_part:
        ended = max(event["ended_ns"] for event, _ in pairs)
        seconds = (ended - min(event["started_ns"] for event, _ in pairs)) / 1e9 or None
    counted = [s.completion_tokens for s in good]
    tokens = sum(n or 0 for n in counted) if None not in counted else None
    return Repetition(
        launch=key[0],
        number=key[1],
        seed=f"{plan.seed}/{key[0]}/timed",
        requests=len(samples),
        completed=len(good),
        failures={f.value: n for f, n in Counter(s.failure for s in samples if s.failure).items()},
        client_faults=sum(s.failure is Failure.CLIENT_FAULT for s in samples),
        usage_missing=sum(s.usage is Usage.MISSING for s in good),
        usage_contradicted=sum(s.usage is Usage.CONTRADICTED for s in good),
        other_model=sum(s.model not in (None, model) for s in good),
        duration_s=seconds,
        requests_per_s=len(good) / seconds if seconds else None,
        output_tokens_per_s=tokens / seconds if tokens and seconds else None,
        **{name: Spread.of(getattr(s, name) for s in good) for name in SPREADS},
        health=_worst([ClientHealth.model_validate(e["health"]) for e in health]),
        stopped=next((e["stopped"] for e in health if e.get("stopped")), ""),
    )


def by_launch(found: Sequence[Repetition], what: str) -> Nested | None:
    """Interval of a repetition's median (or plain figure) over launches and repetitions."""
    launches: dict[int, list[float]] = {}
    for repetition in found:
        value = getattr(repetition, what)
        value = value.median if isinstance(value, Spread) else value
        if value is not None:
            launches.setdefault(repetition.launch, []).append(value)
    return nested(list(launches.values()))


def judge_client(
    found: Sequence[Repetition], floor: Floor | None, rules: Rules, runner: str = "stackchoice"
) -> ClientValidity:
    """Hold the client's health and floor against the rules; too slow and too fast both count."""
    cure = f"use fewer streams{OUTGROWN if runner == 'stackchoice' else ' or a larger machine'}"
    reasons: list[str] = []
    for r in found:
        where = f"repetition {r.launch + 1}.{r.number + 1}: " if len(found) > 1 else ""
        ttft = r.ttft_s.median if r.ttft_s else None
        if r.health:
            reasons += [where + text for text in _of_health(r.health, ttft, rules, cure)]
        else:
            reasons.append(f"{where}the client's own health is unknown")
        if r.client_faults > rules.limit("client_fault_share") * r.requests:
            reasons.append(
                f"{where}{r.client_faults} of {r.requests} requests lost to client faults"
            )
    ttfts = [r.ttft_s.median for r in found if r.ttft_s]
    if floor and ttfts:
        reasons += _of_floor(floor, min(ttfts), rules, cure)
    if floor is None and any(r.health and r.health.loop_lag_p99_s is None for r in found):
        reasons.append(
            f"{runner} tells too little of its own health, and its floor was not measured"
        )
    return ClientValidity(
        valid=not reasons,
        reasons=reasons,
        rules=[limit.rule for limit in rules.client_limits],
        rules_sha256=rules.sha256,
    )


def _of_health(
    health: ClientHealth, ttft_s: float | None, rules: Rules, cure: str
) -> Iterator[str]:
    for what, asked, achieved, limit in (
        ("concurrency", health.asked_concurrency, health.achieved_concurrency, "concurrency_error"),
        ("rate", health.asked_rate_per_s, health.achieved_rate_per_s, "rate_error"),
    ):
        if asked and achieved is not None and abs(achieved / asked - 1) > rules.limit(limit):
            yield f"{what} asked {asked:.4g}, achieved {achieved:.4g}"
    for what, value in (("loop lag", health.loop_lag_p99_s), ("send slip", health.slip_p99_s)):
        allowed = max(rules.limit("lag_least_s"), rules.limit("lag_share_of_ttft") * (ttft_s or 0))
        if value is not None and value > allowed:
            yield (
                f"client {what} p99 {value * 1e3:.1f} ms, more than {allowed * 1e3:.1f} ms; the "
                f"machine is too busy for this load; {cure}"
            )
    if health.asked_rate_per_s and (health.largest_burst or 0) > rules.limit("burst"):
        yield f"{health.largest_burst} late requests were sent at once"


def _of_floor(floor: Floor, ttft_s: float, rules: Rules, cure: str) -> Iterator[str]:
    if abs(floor.ttft_excess_s) > rules.limit("floor_ttft_error") * ttft_s:
        yield (
            f"client floor: TTFT is {floor.ttft_excess_s * 1e3:+.1f} ms off here at this load, too "
            f"much for a TTFT of {ttft_s * 1e3:.1f} ms; {cure}"
        )
    if floor.itl_error is not None and abs(floor.itl_error) > rules.limit("floor_itl_error"):
        yield f"client floor: ITL is {floor.itl_error:+.1%} off here at this load; {cure}"


def _worst(parts: list[ClientHealth]) -> ClientHealth | None:
    """Of a repetition that was resumed, the worst of its parts in every figure."""
    if len(parts) < 2:
        return parts[0] if parts else None
    asked = {"asked_concurrency": "achieved_concurrency", "asked_rate_per_s": "achieved_rate_per_s"}
    worst: dict[str, Any] = {}
    for name in ClientHealth.model_fields:
        values = [v for part in parts if (v := getattr(part, name)) is not None]
        if name in asked or name in asked.values() or name == "evidence":
            continue
        pick = min if name == "file_limit" else max
        worst[name] = pick(values) if values else None
    for plan, real in asked.items():
        known = [(getattr(p, plan), getattr(p, real)) for p in parts
                 if getattr(p, plan) and getattr(p, real)]  # fmt: skip
        if known:
            worst[plan], worst[real] = max(known, key=lambda pair: abs(pair[1] / pair[0] - 1))
    return ClientHealth(**worst)
