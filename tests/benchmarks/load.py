"""How far load clients are from what the server really did, each on this machine, one at a time.

    python tests/benchmarks/load.py                     # our client, and a plain asyncio one
    python tests/benchmarks/load.py --venv /tmp/clients # installs AIPerf and GuideLLM there, once

Every run has a reference server of its own (50 ms to the first token, 5 ms between 64 tokens) in
another process; errors are against that server's log of that run. Medians of the runs; in brackets
the lowest and highest run.
"""

import argparse
import datetime as dt
import gc
import os
import platform
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import load_peers

from stackchoice.load.arrivals import Closed, Load, Poisson
from stackchoice.load.drive import raise_file_limit
from stackchoice.load.floor import drive_reference, reference_server, truth_of
from stackchoice.load.plan import Plan
from stackchoice.load.script import Script

SCRIPT = Script(ttft_s=0.05, itl_s=0.005, tokens=64)
LOADS: dict[str, tuple[Load, int]] = {
    "closed loop 64": (Closed(streams=64), 640),
    "Poisson 80/s": (Poisson(rate_per_s=80), 400),
    "closed loop 128": (Closed(streams=128), 1280),
    "Poisson 320/s": (Poisson(rate_per_s=320), 1600),
}


class Row(NamedTuple):
    """One run of one client: errors against the server, and what load really arrived there."""

    ttft: float
    ttft_mean: float
    itl: float
    load: float
    requests: int


def ours(address: str, load: Load, count: int) -> dict[str, float]:
    """Run our client in this process, which does nothing else meanwhile."""
    from stackchoice.load.endpoint import Endpoint

    gc.collect()
    gc.freeze()
    gc.disable()
    samples, health = drive_reference(
        Endpoint(base_url=address, model="reference"), load, count, SCRIPT, Plan(load=load)
    )
    gc.enable()
    good = [s for s in samples.values() if s.failure is None]
    figures = load_peers.seen([s.ttft_s for s in good], [s.itl_s for s in good])
    if health.asked_rate_per_s and health.achieved_rate_per_s:  # of the drawn arrivals
        figures["load"] = health.achieved_rate_per_s / health.asked_rate_per_s
    return figures


def truth(told: list[dict[str, Any]], load: Load) -> tuple[dict[str, float], float]:
    """Medians of what the server did, and the load that it saw relative to the one asked for."""
    counted = [r for r in told if r["sent"] and not str(r["id"]).startswith(("ramp", "tail"))]
    whole = [r for r in counted if sum(n for _, n in r["sent"]) == SCRIPT.tokens]
    ttft = [(r["sent"][0][0] - r["received_ns"]) / 1e9 for r in whole]
    itl = [(r["sent"][-1][0] - r["sent"][0][0]) / 1e9 / (SCRIPT.tokens - 1) for r in whole]
    received = sorted(r["received_ns"] for r in counted)
    if isinstance(load, Poisson):
        # Against the mean: a draw of n arrivals is off by 1/sqrt(n). Ours knows what it drew.
        rate = (len(received) - 1) / (received[-1] - received[0]) * 1e9
        return load_peers.seen(ttft, itl), rate / load.rate_per_s
    assert isinstance(load, Closed)
    # the middle of the run: without its beginning and its end
    start, end = received[len(received) // 5], received[len(received) * 4 // 5]
    busy = sum(
        max(0, min(r["sent"][-1][0], end) - max(r["received_ns"], start)) for r in told if r["sent"]
    )
    return load_peers.seen(ttft, itl), busy / (end - start) / load.streams


def measure(client: Callable[..., dict[str, float]], load: Load, count: int) -> Row:
    with reference_server(SCRIPT) as endpoint:
        found = client(endpoint.base_url, load, count)
        told = truth_of(endpoint)["requests"]
    true, share = truth(told, load)
    return Row(
        found["ttft"] / true["ttft"] - 1, found["ttft_mean"] / true["ttft_mean"] - 1,
        found["itl"] / true["itl"] - 1, found.get("load", share), len(told),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--peer-runs", type=int, default=1, help="they take half a minute each")
    parser.add_argument("--venv", type=Path, help="folder for the peers' environments")
    parser.add_argument("--loads", default=",".join(LOADS))
    options = parser.parse_args()
    raise_file_limit()
    arms: dict[str, tuple[Callable[..., dict[str, float]], int]] = {
        "stackchoice": (ours, options.runs),
        "asyncio.Protocol": (load_peers.plain_asyncio, options.runs),
    }
    for name, client in load_peers.install(options.venv).items() if options.venv else ():
        arms[name] = (client, options.peer_runs)
    print(f"{dt.date.today()}, Python {platform.python_version()}, {os.cpu_count()} cores, "
          f"load average at the start {os.getloadavg()[0]:.2f}\n")  # fmt: skip
    print(
        "| load | client | runs | TTFT p50 | TTFT mean | ITL p50 | load at the server, of asked |"
    )
    print("|---|---|--:|--:|--:|--:|--:|")
    for name in options.loads.split(","):
        load, count = LOADS[name]
        for arm, (client, runs) in arms.items():
            rows = [row for _ in range(runs) if (row := attempt(client, load, count))]
            if rows:
                cells = " | ".join(spread([r[i] for r in rows]) for i in range(3))
                share = f"{statistics.median(r.load for r in rows):.1%}"
                print(f"| {name} | {arm} | {len(rows)} | {cells} | {share} |", flush=True)
            else:
                print(f"| {name} | {arm} | 0 | failed | failed | failed | failed |", flush=True)
    print(f"\nload average at the end {os.getloadavg()[0]:.2f}")


def attempt(client: Callable[..., dict[str, float]], load: Load, count: int) -> Row | None:
    try:
        return measure(client, load, count)
    except load_peers.PeerFailed as error:
        print(f"<!-- {error} -->", flush=True)
        return None


def spread(values: list[float]) -> str:
    middle = f"{statistics.median(values):+.2%}"
    return middle + (f" ({min(values):+.2%} to {max(values):+.2%})" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
