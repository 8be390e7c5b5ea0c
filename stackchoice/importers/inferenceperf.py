"""Life-cycle reports of inference-perf: one JSON a stage of load, and one for all of them."""

from typing import Any

from stackchoice.importers.run import Run
from stackchoice.importers.values import at, lengths, number, spread, whole, words
from stackchoice.load.records import Spread

#: Its time per token and its own end to end times may differ by so much, and are no contradiction.
APART = 1.5
#: From this part of TTFT on, what a request waited for its turn in the client is worth saying.
LATE = 0.1


def is_inference_perf(tree: dict[str, Any]) -> bool:
    """Whether a JSON object is a life-cycle report."""
    return "load_summary" in tree and isinstance(at(tree, "successes", "latency"), dict)


def read_inference_perf(tree: dict[str, Any]) -> Run:
    """Read one report; of a summary over stages the load is unknown, since each had its own."""
    load, done, failed = tree["load_summary"], at(tree, "successes"), tree.get("failures")
    completed, lost = whole(done.get("count")), whole(at(failed, "count"))
    rate, streams = number(at(load, "requested_rate")), whole(at(load, "concurrency"))
    per_s = number(at(done, "throughput", "requests_per_sec"))
    itl, contradicted = _itl(done, completed)
    late = number(at(load, "schedule_delay", "median"))
    ttft = number(at(done, "latency", "time_to_first_token", "median"))
    warnings = [contradicted] if contradicted else []
    if late and ttft and late > LATE * ttft:
        warnings.append(f"half of the requests were sent {late:.3g} s late or more, which its "
                        "latencies leave out")  # fmt: skip
    pattern = None if rate is None else f"open loop: {rate:g} a second, of unknown distances"
    return Run(
        harness="inference-perf",
        asked={"rate": rate, "streams": streams},
        concurrency=streams,
        rate_per_s=None if streams else rate,
        arrival_pattern=f"closed loop of {streams} streams" if streams else pattern,
        input_lengths=_lengths(done.get("prompt_tokens") or done.get("prompt_len"), completed),
        output_lengths=_lengths(done.get("output_tokens") or done.get("output_len"), completed),
        requests=None if completed is None or lost is None else completed + lost,
        completed=completed,
        failed=lost,
        duration_s=number(tree.get("benchmark_time_seconds"))
        or (completed / per_s if completed and per_s else None),
        ttft_s=_metric(done, "time_to_first_token", completed),
        itl_s=itl,
        gap_s=_metric(done, "inter_token_latency", completed),
        end_to_end_s=_metric(done, "request_latency", completed),
        output_tokens_per_s=number(at(done, "throughput", "output_tokens_per_sec")),
        requests_per_s=per_s,
        started_at=words(tree.get("start_time")),
        warnings=warnings,
    )  # fmt: skip


def _metric(done: dict[str, Any], name: str, n: int | None) -> Spread | None:
    def get(what: str) -> float | None:
        return number(at(done, "latency", name, what))

    return spread(n=n, median=get("median"), mean=get("mean"), low=get("min"), high=get("max"),
                  p50=get("median"), p95=get("p95"), p99=get("p99"))  # fmt: skip


def _lengths(found: Any, n: int | None) -> Any:
    mean, low, p50, high = (number(at(found, k)) for k in ("mean", "min", "median", "max"))
    return lengths(n=n, mean=mean, low=low, p50=p50, high=high)


def _itl(done: dict[str, Any], n: int | None) -> tuple[Spread | None, str]:
    """Return the time per token, unless its own other figures deny it; then what they say.

    Decode takes what end to end is longer than TTFT, for one token less than the answer's length.
    """
    whole_s, first_s, told = (
        number(at(done, "latency", name, "mean"))
        for name in ("request_latency", "time_to_first_token", "time_per_output_token")
    )
    tokens = number(at(done.get("output_tokens") or done.get("output_len"), "mean"))
    if whole_s and first_s and told and tokens and tokens > 2:
        follows = (whole_s - first_s) / (tokens - 1)
        if not told / APART < follows < told * APART:
            return None, (
                f"its time per token of {told * 1e3:.3g} ms is denied by its own end to end times, "
                f"TTFT and lengths, from which {follows * 1e3:.3g} ms follow: ITL is unknown"
            )
    return _metric(done, "time_per_output_token", n), ""
