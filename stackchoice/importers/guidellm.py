"""Reports of GuideLLM: one JSON with a list of benchmarks, each with metrics and single requests.

Release 0.8.1 keeps its arguments in ``config.spec``, 0.3 to 0.7 in ``args``, older ones within each
benchmark; the metrics have had one shape (``successful``, ``errored``, ``incomplete``) since 0.2.
"""

from typing import Any

from stackchoice.confirm.results import Goodput
from stackchoice.facts.values import dict_of
from stackchoice.importers.run import Found, Run, sample, sampling_of
from stackchoice.importers.values import at, lengths, number, plain, rows, spread, whole, words
from stackchoice.load.records import Sample

MS = 1e-3


def is_guidellm(tree: dict[str, Any]) -> bool:
    """Whether a JSON object is a report of GuideLLM."""
    return any("metrics" in b and "requests" in b for b in rows(tree.get("benchmarks")))


def read_guidellm(tree: dict[str, Any]) -> list[Run]:
    """Read every benchmark of a report."""
    return [
        _benchmark(tree, b) for b in rows(tree["benchmarks"]) if isinstance(b.get("metrics"), dict)
    ]


def _benchmark(tree: dict[str, Any], bench: dict[str, Any]) -> Run:
    metrics = bench["metrics"]
    strategy = _first(at(bench, "config", "strategy"), at(bench, "args", "strategy"),
                      at(bench, "scheduler", "strategy"))  # fmt: skip
    strategy = dict_of(strategy)
    kind = words(strategy.get("type_"))
    streams = whole(_first(strategy.get("streams"), strategy.get("max_concurrency")))
    rate = number(strategy.get("rate"))
    if kind == "synchronous":
        streams = 1
    totals = dict_of(metrics.get("request_totals") or bench.get("request_totals"))
    data = _data(tree, bench)
    version = _first(
        at(tree, "metadata", "guidellm_version"), at(bench, "extras", "guidellm_version")
    )
    warm = {k: at(bench, "config", k) for k in ("warmup", "cooldown")}
    requests = rows(at(bench, "requests", "successful"))
    done, failed = whole(totals.get("successful")), whole(totals.get("errored"))
    return Run(
        harness="guidellm",
        harness_revision=words(version),
        asked={"kind": kind, "streams": streams, "rate": rate, **data},
        identity=(_identity(tree, bench),),
        concurrency=streams if kind in ("concurrent", "synchronous", "throughput") else None,
        rate_per_s=rate,
        arrival_pattern=_arrival(kind, streams, rate),
        sampling_settings=_sampling(tree, bench),
        input_lengths=_lengths(metrics, "prompt_token_count", data.get("prompt_tokens")),
        output_lengths=_lengths(metrics, "output_token_count", data.get("output_tokens")),
        warm_up=_warm_up(warm),
        seed=whole(_first(at(tree, "config", "spec", "seed", "value"),
                          at(tree, "args", "random_seed"))),
        requests=whole(totals.get("total")),
        completed=done,
        failed=failed,
        duration_s=number(_first(bench.get("duration"), _difference(bench))),
        ttft_s=_metric(metrics, "time_to_first_token_ms", MS),
        itl_s=_metric(metrics, "inter_token_latency_ms", MS, done),
        end_to_end_s=_metric(metrics, "request_latency", 1),
        intended_end_to_end_s=_metric(metrics, "request_scheduled_latency", 1),
        output_tokens_per_s=number(at(metrics, "output_tokens_per_second", "successful", "mean")),
        requests_per_s=number(at(metrics, "requests_per_second", "successful", "mean")),
        achieved_concurrency=number(at(metrics, "request_concurrency", "successful", "mean")),
        goodput=_goodput(bench, metrics),
        samples=tuple(s for s in map(_sample, requests) if s),
        started_at=words(str(bench.get("start_time") or "")),
        ended_at=words(str(bench.get("end_time") or "")),
        warnings=tuple(
            text for x in rows(bench.get("warnings")) if (text := words(x.get("message")))
        ),
    )  # fmt: skip


def _first(*values: Any) -> Any:
    return next((v for v in values if v not in (None, "", {})), None)


def _identity(tree: dict[str, Any], bench: dict[str, Any]) -> Found:
    backend = dict_of(_first(at(bench, "config", "backend"), at(tree, "config", "spec", "backend"),
                             at(bench, "worker")))  # fmt: skip
    model = _first(backend.get("model"), backend.get("backend_model"), at(tree, "args", "model"),
                   backend.get("served_model"))  # fmt: skip
    return Found(items={"model": words(model), "endpoint_model": words(model)})


def _data(tree: dict[str, Any], bench: dict[str, Any]) -> dict[str, Any]:
    data = _first(at(tree, "config", "spec", "data", 0), at(tree, "args", "data"),
                  at(bench, "request_loader", "data"))  # fmt: skip
    if isinstance(data, list):
        data = data[0] if data else None
    if isinstance(data, str):  # "prompt_tokens=100,output_tokens=64"
        pairs = (part.split("=", 1) for part in data.split(",") if "=" in part)
        data = {k.strip(): v.strip() for k, v in pairs}
    return {k: v for k, v in plain(data).items() if k != "load_kwargs"}


def _sampling(tree: dict[str, Any], bench: dict[str, Any]) -> dict[str, Any] | None:
    extras = _first(at(bench, "config", "backend", "extras", "body"),
                    at(bench, "config", "backend", "extras"),
                    at(tree, "args", "backend_kwargs", "extras", "body"))  # fmt: skip
    return sampling_of(extras) or None


def _arrival(kind: str | None, streams: int | None, rate: float | None) -> str | None:
    if kind == "concurrent":
        return f"closed loop of {streams} streams"
    if kind == "synchronous":
        return "closed loop of 1 streams"
    if kind in ("poisson", "constant") and rate is not None:
        if kind == "poisson":
            return f"open loop: Poisson arrivals, {rate:g} a second"
        return f"open loop: one request every {1 / rate:g} s" if rate else None
    if kind == "async" and rate is not None:
        return f"open loop, {rate:g} a second"
    return kind


def _lengths(metrics: dict[str, Any], name: str, asked: Any) -> Any:
    of = dict_of(at(metrics, name, "successful"))
    return lengths(
        asked=None if asked is None else f"{asked} synthetic tokens", n=whole(of.get("count")),
        mean=number(of.get("mean")), low=number(of.get("min")), p50=number(of.get("median")),
        high=number(of.get("max")),
    )  # fmt: skip


def _warm_up(parts: dict[str, Any]) -> str | None:
    if all(p is None for p in parts.values()):
        return None
    said = []
    for name, part in parts.items():
        value = _first(at(part, "value"), at(part, "percent")) if isinstance(part, dict) else part
        said.append(f"{name} {value if value is not None else 'none'}")
    return ", ".join(said)


def _difference(bench: dict[str, Any]) -> float | None:
    start, end = number(bench.get("start_time")), number(bench.get("end_time"))
    return end - start if start is not None and end is not None else None


def _metric(metrics: dict[str, Any], name: str, scale: float, most: int | None = None) -> Any:
    """Read one distribution; that of ITL counts tokens, and requests are what is independent."""
    of = dict_of(at(metrics, name, "successful"))
    n = whole(of.get("count"))
    if not n:
        return None
    return spread(
        n=n if most is None else min(n, most), median=number(of.get("median"), scale),
        low=number(of.get("min"), scale), high=number(of.get("max"), scale),
        p50=number(at(of, "percentiles", "p50"), scale),
        p95=number(at(of, "percentiles", "p95"), scale),
        p99=number(at(of, "percentiles", "p99"), scale),
    )  # fmt: skip


def _goodput(bench: dict[str, Any], metrics: dict[str, Any]) -> tuple[Goodput, ...]:
    slo = plain(at(bench, "config", "slo"))
    if not slo:
        return ()
    text = ", ".join(f"{k} {v}" for k, v in slo.items())
    rate, share = metrics.get("request_goodput"), metrics.get("slo_attainment")
    return (
        Goodput(objective=text, requests_per_s=number(_mean(rate)), share=number(_mean(share))),
    )


def _mean(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return _first(at(value, "successful", "mean"), at(value, "mean"))


def _sample(row: dict[str, Any]) -> Sample | None:
    ttft, e2e = number(row.get("time_to_first_token_ms"), MS), number(row.get("request_latency"))
    if ttft is None and e2e is None:
        return None
    return sample(
        whole(_first(row.get("output_tokens"), at(row, "output_metrics", "total_tokens"))),
        number(row.get("inter_token_latency_ms"), MS), ttft_s=ttft, end_to_end_s=e2e,
        intended_end_to_end_s=number(row.get("request_scheduled_latency")),
        prompt_tokens=whole(
            _first(row.get("prompt_tokens"), at(row, "input_metrics", "total_tokens"))
        ),
        cached_tokens=whole(row.get("cached_tokens")),
    )  # fmt: skip
