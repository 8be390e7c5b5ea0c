"""Exports of AIPerf: summary as JSON, records and raw records as JSONL.

Raw records hold every event with its stamp, and are judged by this client's own reader.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from stackchoice.confirm.results import Goodput
from stackchoice.facts.values import dict_of, text_of
from stackchoice.importers.run import Found, Run, sample, sampling_of
from stackchoice.importers.values import at, lengths, number, rows, spread, spread_of, whole, words
from stackchoice.load.aiperf import exchange_of_record
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Sample

#: Seconds of one unit of a metric.
UNITS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
LATENCIES = ("ttft_s", "itl_s", "end_to_end_s", "intended_end_to_end_s")


def is_aiperf(tree: dict[str, Any]) -> bool:
    """Whether a JSON object is a summary: metrics with units beside configuration or release."""
    return not {"input_config", "aiperf_version"}.isdisjoint(tree) and any(
        isinstance(tree.get(k), dict) and "unit" in tree[k]
        for k in ("request_latency", "request_throughput", "time_to_first_token", "request_count")
    )


def is_aiperf_record(tree: dict[str, Any]) -> bool:
    """Whether a JSON object is one line of single requests."""
    return (
        isinstance(tree.get("metadata"), dict)
        and isinstance(tree.get("metrics"), dict)
        and ("request_start_ns" in tree["metadata"])
    )


def is_aiperf_raw(tree: dict[str, Any]) -> bool:
    """Whether a JSON object is one line of raw records."""
    return isinstance(tree.get("metadata"), dict) and "start_perf_ns" in tree


def read_summary(tree: dict[str, Any]) -> Run:
    """Read ``profile_export_aiperf.json``."""
    config = dict_of(tree.get("input_config"))
    phase = next((p for p in rows(config.get("phases")) if p.get("kind") != "warmup"), {})
    load = dict_of(config.get("loadgen"))
    streams = whole(phase.get("concurrency") or load.get("concurrency"))
    rate = number(phase.get("rate") or phase.get("request_rate") or load.get("request_rate"))
    kind = (
        words(phase.get("type"))
        or words(load.get("arrival_pattern"))
        or words(load.get("request_rate_mode"))
    )
    model = at(config, "models", "items", 0, "name") or at(config, "endpoint", "model_names", 0)
    model = model or at(config, "models", 0)
    warm = next((p for p in rows(config.get("phases")) if p.get("kind") == "warmup"), None)
    extra = at(config, "endpoint", "extra") or at(config, "input", "extra")
    if isinstance(extra, list):
        extra = {text_of(p[0]): p[1] for p in extra if isinstance(p, list) and len(p) == 2}
    broken = []
    if tree.get("was_cancelled") is True:
        broken.append("AIPerf says that the run was cancelled")
    if tree.get("is_complete") is False:
        broken.append(f"AIPerf says it is incomplete: {words(tree.get('incomplete_reason'))}")
    prompts = at(config, "datasets", 0, "prompts") or {}
    failed = whole(at(tree, "error_request_count", "avg"))
    done = whole(at(tree, "request_count", "avg"))
    goodput = number(at(tree, "goodput", "avg"))
    return Run(
        harness="aiperf", harness_revision=words(tree.get("aiperf_version")),
        asked={"streams": streams, "rate": rate, "kind": kind,
               "requests": whole(phase.get("requests") or load.get("request_count")),
               "isl": at(prompts, "isl", "mean"), "osl": at(prompts, "osl", "mean")},
        identity=(Found(items={"model": words(model), "endpoint_model": words(model),
                               "endpoint_url": words(at(config, "endpoint", "urls", 0))}),),
        concurrency=streams if rate is None else None, rate_per_s=rate,
        arrival_pattern=_arrival(kind, streams, rate),
        sampling_settings=sampling_of(extra) or None,
        input_lengths=_lengths(tree, "input_sequence_length", at(prompts, "isl", "mean")),
        output_lengths=_lengths(tree, "output_sequence_length", at(prompts, "osl", "mean")),
        warm_up="none configured" if config.get("phases") and warm is None else None,
        warm_up_requests=whole(at(warm, "requests")),
        prompt_version=words(at(config, "datasets", 0, "format")
                             or at(config, "datasets", 0, "type")),
        requests=None if done is None else done + (failed or 0), completed=done,
        # No metric of failed requests is written where none failed.
        failed=failed if failed is not None or done is None else 0,
        duration_s=_scaled(tree, "benchmark_duration", "avg"),
        ttft_s=_metric(tree, "time_to_first_token", done),
        itl_s=_metric(tree, "inter_token_latency", done),
        gap_s=_metric(tree, "inter_chunk_latency", done),
        end_to_end_s=_metric(tree, "request_latency", done),
        intended_end_to_end_s=_metric(tree, "effective_latency", done),
        output_tokens_per_s=number(at(tree, "output_token_throughput", "avg")),
        requests_per_s=number(at(tree, "request_throughput", "avg")),
        achieved_concurrency=number(at(tree, "effective_concurrency", "avg")),
        goodput=() if goodput is None else (
            Goodput(objective="not in the file", requests_per_s=goodput),),
        cached_share=number(at(tree, "overall_usage_prompt_cache_read_pct", "avg"), 0.01),
        seed=whole(at(tree, "run_info", "random_seed")), broken=tuple(broken),
        started_at=words(tree.get("start_time")), ended_at=words(tree.get("end_time")),
    )  # fmt: skip


def read_records(lines: list[dict[str, Any]]) -> Run:
    """Read ``profile_export.jsonl``: one line for each request."""
    timed = _profiled(lines)
    good = [x for x in timed if not x.get("error")]
    samples = [s for s in map(_sample, good) if s]
    starts = [number(x["metadata"].get("request_start_ns"), 1e-9) for x in timed]
    ends = [number(x["metadata"].get("request_end_ns"), 1e-9) for x in timed]
    known = [v for v in (*starts, *ends) if v is not None]
    seconds = max(known) - min(known) if len(known) > 1 else None
    return Run(
        harness="aiperf", requests=len(timed), completed=len(good), failed=len(timed) - len(good),
        warm_up_requests=(len(lines) - len(timed)) or None,
        requests_per_s=len(good) / seconds if seconds else None,
        **_summed(samples, seconds, LATENCIES), samples=samples,
        notes=("single requests only: the load that was asked for is not in it",),
    )  # fmt: skip


def _summed(samples: list[Sample], seconds: float | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the figures of a run that follow from its single requests."""
    counted = [s.completion_tokens for s in samples]
    total = sum(n or 0 for n in counted) if counted and None not in counted else None
    return {
        **{name: spread_of(getattr(s, name) for s in samples) for name in names},
        "gap_s": spread_of(s.gap_median_s for s in samples), "duration_s": seconds,
        "input_lengths": lengths([s.prompt_tokens for s in samples]),
        "output_lengths": lengths(counted),
        "output_tokens_per_s": total / seconds if total and seconds else None,
    }  # fmt: skip


def _profiled(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [x for x in lines if x["metadata"].get("benchmark_phase", "profiling") == "profiling"]


def read_raw(lines: list[dict[str, Any]]) -> Run:
    """Read ``profile_export_raw.jsonl``: what came, event by event, and when."""
    timed = _profiled(lines) or lines
    exchanges = [exchange_of_record(x)[1] for x in timed]
    bodies = [dict_of(x.get("payload")) for x in timed]
    found = [read_sample(x, b) for x, b in zip(exchanges, bodies, strict=True)]
    good = [s for s in found if s.failure is None]
    seconds = (max(x.ended_ns for x in exchanges) - min(x.sent_ns for x in exchanges)) / 1e9 or None
    shares = [s.cached_tokens / s.prompt_tokens for s in good
              if s.cached_tokens is not None and s.prompt_tokens]  # fmt: skip
    sampling = [sampling_of(b) for b in bodies]
    models = {text_of(b.get("model")) for b in bodies}
    model = words(models.pop()) if len(models) == 1 else None
    agent = words(at(timed[0], "request_headers", "User-Agent")) if timed else None
    first = min(number(x["metadata"].get("request_start_ns"), 1e-9) or 0 for x in timed)
    return Run(
        harness="aiperf-raw", harness_revision=agent.removeprefix("aiperf/") if agent else None,
        identity=(Found(items={"model": model, "endpoint_model": model}),),
        sampling_settings=sampling[0] if all(s == sampling[0] for s in sampling) else None,
        requests=len(timed), completed=len(good), failed=len(timed) - len(good),
        failures={f.value: n for f, n in Counter(s.failure for s in found if s.failure).items()},
        warm_up_requests=(len(lines) - len(timed)) or None,
        cached_share=max(shares, default=None),
        requests_per_s=len(good) / seconds if seconds else None,
        **_summed(good, seconds, (*LATENCIES, "decode_tokens_per_s", "prefill_tokens_per_s")),
        samples=found, started_at=str(first),
        notes=("raw records: the load that was asked for is not in them",),
    )  # fmt: skip


def _sample(record: dict[str, Any]) -> Sample | None:
    metrics, about = record["metrics"], record["metadata"]

    def get(tag: str) -> int | None:
        return whole(at(metrics, tag, "value"))

    whole_s = _scaled(metrics, "request_latency", "value")
    if whole_s is None:
        return None
    gaps = at(metrics, "inter_chunk_latency", "value")
    gaps = sorted(g for g in map(number, gaps if isinstance(gaps, list) else ()) if g is not None)
    unit = _unit(metrics, "inter_chunk_latency")
    let_go, start = (number(about.get(k), 1e-9) for k in ("credit_issued_ns", "request_start_ns"))
    late = None if let_go is None or start is None else max(0.0, start - let_go)
    return sample(
        get("output_sequence_length"), _scaled(metrics, "inter_token_latency", "value"),
        ttft_s=_scaled(metrics, "time_to_first_token", "value"), end_to_end_s=whole_s,
        intended_end_to_end_s=None if late is None else whole_s + late,
        cached_tokens=get("usage_prompt_cache_read_tokens"),
        gap_median_s=gaps[len(gaps) // 2] * unit if gaps and unit else None,
        prompt_tokens=get("input_sequence_length"),
    )  # fmt: skip


def _scaled(tree: dict[str, Any], tag: str, what: str) -> float | None:
    unit = _unit(tree, tag)
    return None if unit is None else number(at(tree, tag, what), unit)


def _unit(tree: dict[str, Any], tag: str) -> float | None:
    """Return the seconds of a metric's unit; None for one that is no time."""
    return UNITS.get(words(at(tree, tag, "unit")) or "")


def _metric(tree: dict[str, Any], tag: str, done: int | None) -> Any:
    if _unit(tree, tag) is None:
        return None
    # Chunks are counted one by one; what is independent are the requests.
    n = min(filter(None, (whole(at(tree, tag, "count")), done)), default=None)
    get = {k: _scaled(tree, tag, k) for k in ("avg", "min", "max", "p50", "p95", "p99")}
    return spread(n=n, median=get["p50"], mean=get["avg"], low=get["min"], high=get["max"],
                  p50=get["p50"], p95=get["p95"], p99=get["p99"])  # fmt: skip


def _lengths(tree: dict[str, Any], tag: str, asked: Any) -> Any:
    mean = number(asked)
    of = dict_of(tree.get(tag))
    return lengths(
        asked=None if mean is None else f"mean {mean:g} synthetic tokens",
        n=whole(of.get("count")), mean=number(of.get("avg")), low=number(of.get("min")),
        p50=number(of.get("p50")), high=number(of.get("max")),
    )  # fmt: skip


def _arrival(kind: str | None, streams: int | None, rate: float | None) -> str | None:
    if rate is not None:
        shape = {"poisson": "Poisson arrivals", "constant": "constant arrivals"}.get(kind or "")
        cap = f", at most {streams} in flight" if streams else ""
        return f"open loop: {shape or 'arrivals'}, {rate:g} a second{cap}"
    if kind == "fixed_schedule":
        return "open loop: the schedule of a file"
    return f"closed loop of {streams} streams" if streams else None
