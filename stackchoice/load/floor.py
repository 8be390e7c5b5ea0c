"""The client floor: this client, on this machine, against the reference server at the same load."""

import json
import statistics
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stackchoice.errors import EngineError
from stackchoice.facts.datum import sure
from stackchoice.load.arrivals import Closed, Load, Poisson, Replay, offsets
from stackchoice.load.child import spawn, stop
from stackchoice.load.drive import Drive
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.health import ClientHealth, Floor
from stackchoice.load.loop import Loop
from stackchoice.load.plan import Plan
from stackchoice.load.reading import body_text, read_sample
from stackchoice.load.records import Phase, Sample
from stackchoice.load.run import Service
from stackchoice.load.script import Script
from stackchoice.load.traffic import read_traffic
from stackchoice.load.wire import Exchange, Limits

#: Seconds that a calibration takes, and the longest request in it.
_SECONDS = 2.0
_LONGEST_S = 0.4
Drives = Callable[[Endpoint, Load, int, Script, Plan], tuple[dict[str, Sample], ClientHealth]]
_LIMITS = Limits(connect_s=10, idle_s=10, total_s=30)


@contextmanager
def reference_server(script: Script) -> Iterator[Endpoint]:
    """Run the reference server in a process of its own; give its address.

    EngineError where it does not start.
    """
    process = spawn("stackchoice.load.reference", script.model_dump_json(), stdout=subprocess.PIPE)
    try:
        assert process.stdout
        address = process.stdout.readline().decode().strip()
        if not address:
            raise EngineError("the reference server did not start; run `stackchoice doctor`")
        yield Endpoint(base_url=address, model=script.model)
    finally:
        stop(process)


def truth_of(endpoint: Endpoint) -> dict[str, Any]:
    """What the reference server did since it was last asked."""
    return dict(json.loads(body_text(endpoint.get("/truth", _LIMITS))[2]))


def measure_floor(plan: Plan, service: Service, drive: Drives | None = None) -> Floor:
    """Calibrate the client, or what ``drive`` puts on, for some two seconds at the planned load.

    TTFT and ITL of the reference are those that the warm-up saw, and shorter where a request would
    take too long: reads a second are then as many (open loop, closed loop) and requests more.
    """
    ttft = min(max(service.ttft_s or 0.05, 0.002), 0.1)
    itl = min(max(service.itl_s or 0.01, 0.0002), 0.1)
    tokens = max(2, min(service.tokens or plan.output_tokens, plan.output_tokens))
    load: Load = plan.load
    if isinstance(load, Replay):
        traffic = read_traffic(load.path, limit=plan.requests)
        load = Poisson(rate_per_s=max(1e-3, traffic.rate_per_s * load.speed))
    if isinstance(load, Closed):  # the same gaps, fewer tokens
        tokens = max(8, min(tokens, int((_LONGEST_S - ttft) / itl)))
        count = max(8, round(load.streams * _SECONDS / (ttft + itl * tokens)))
    else:  # the same tokens, shorter gaps
        itl = min(itl, (_LONGEST_S - ttft) / tokens)
        load = load.model_copy(update={"rate_per_s": max(load.rate_per_s, 5.0)})
        count = max(10, round(load.rate_per_s * _SECONDS))
    script = Script(ttft_s=ttft, itl_s=itl, tokens=tokens)
    with reference_server(script) as endpoint:
        samples, health = (drive or drive_reference)(endpoint, load, count, script, plan)
        return compare(str(load), samples, truth_of(endpoint), health)


def reference_body(endpoint: Endpoint, script: Script, plan: Plan, ours: str) -> dict[str, Any]:
    """One request to the reference server, which logs it under an id of ours."""
    body = plan.body(f"floor/{ours}", "0" * 8, output_tokens=script.tokens)
    usage = {"stream_options": {"include_usage": True}}
    return {**body, "model": endpoint.model, "stream": True, "user": ours, **usage}


def drive_reference(
    endpoint: Endpoint, load: Load, count: int, script: Script, plan: Plan
) -> tuple[dict[str, Sample], ClientHealth]:
    """Put a load on the reference server; give the timed samples by the id that it logs."""
    loop = Loop(endpoint.address, _LIMITS, reuse=plan.connections == "reuse")
    kept: list[tuple[int, Exchange]] = []

    def make(phase: Phase, number: int) -> bytes:
        body = reference_body(endpoint, script, plan, f"{phase}/{number}")
        return endpoint.request("POST", endpoint.path_of(body), body,
                                close=plan.connections == "new")  # fmt: skip

    def done(phase: Phase, number: int, request: bytes, measured: Exchange) -> None:
        if phase == "timed":
            kept.append((number, measured))

    service = script.ttft_s + script.itl_s * script.tokens
    schedule = () if isinstance(load, Closed) else offsets(load, f"{plan.seed}/floor")
    drive = Drive(loop, load, range(count), make, done, service_s=service, schedule=schedule)
    try:
        health = drive.run()
    finally:
        loop.close()
    return {f"timed/{n}": read_sample(measured) for n, measured in kept}, health


def compare(
    load: str, samples: dict[str, Sample], truth: dict[str, Any], health: ClientHealth
) -> Floor:
    """Hold what the client saw against what the server did, request by request.

    EngineError when no request of the calibration came through.
    """
    pairs = []
    for told in truth["requests"]:
        sample = samples.get(told["id"])
        if sample and sample.failure is None and told["sent"]:
            (first, early), (last, _) = told["sent"][0], told["sent"][-1]
            tokens = sum(n for _, n in told["sent"]) - early
            itl = (last - first) / 1e9 / tokens if tokens and last > first else None
            pairs.append((sample, (first - told["received_ns"]) / 1e9, itl))
    if not pairs:
        raise EngineError("the client floor could not be measured: no request of it came through")
    seen, true = ([sure(s.ttft_s) for s, _, _ in pairs], [t for _, t, _ in pairs])
    seen_itl = [s.itl_s for s, _, i in pairs if s.itl_s and i]
    true_itl = [i for s, _, i in pairs if s.itl_s and i]
    median = statistics.median
    return Floor(
        load=load,
        requests=len(pairs),
        ttft_truth_s=median(true),
        itl_truth_s=median(true_itl) if true_itl else None,
        ttft_excess_s=median(a - b for a, b in zip(seen, true, strict=True)),
        ttft_error=median(seen) / median(true) - 1,
        itl_error=median(seen_itl) / median(true_itl) - 1 if true_itl else None,
        health=health,
    )
