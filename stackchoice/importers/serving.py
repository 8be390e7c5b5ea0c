"""Files of ``vllm bench serve`` and ``sglang.bench_serving``, which grew from one script.

Their lists of single requests (``--save-detailed``, ``--output-details``) hold a row for every
request, also for failed ones, whose TTFT is 0 and whose error is a text.
"""

import json
import statistics
from typing import Any

from stackchoice.confirm.account import read_account
from stackchoice.confirm.identity import Basis
from stackchoice.confirm.results import Goodput
from stackchoice.importers.run import Found, Run, sample
from stackchoice.importers.values import at, lengths, number, plain, spread, spread_of, whole, words
from stackchoice.load.harnesses import known
from stackchoice.load.records import Sample

MS = 1e-3


def is_vllm(tree: dict[str, Any]) -> bool:
    """Whether a result is one of vLLM's: it names its tokenizer, SGLang's sums up inputs."""
    return {"duration", "completed", "request_throughput"} <= set(tree) and (
        "tokenizer_id" in tree or "model_id" in tree or "total_token_throughput" in tree
    )


def is_sglang(tree: dict[str, Any]) -> bool:
    """Whether a result is one of SGLang's."""
    return {"duration", "completed", "request_throughput"} <= set(tree) and (
        "input_throughput" in tree or "mean_e2e_latency_ms" in tree
    )


def read_serving(tree: dict[str, Any], harness: str) -> Run:
    """Read one result of either script."""
    single = _requests(tree)
    good = [s for s in single if s is not None]
    n = whole(tree.get("completed"))
    e2e = "e2el" if harness == "vllm-bench" else "e2e_latency"
    asked = plain({k: tree.get(k) for k in known("vllm-bench")["load_keys"]})
    requests = whole(tree.get("num_prompts")) or (len(single) or None)
    failed = whole(tree.get("failed"))
    if failed is None and requests is not None and n is not None and harness == "vllm-bench":
        failed = max(0, requests - n)
    if failed is None and single:
        failed = len(single) - len(good)
    cached = number(at(tree, "cache_report", "cache_hit_rate_pct"), 0.01)
    rate, streams = number(tree.get("request_rate")), whole(tree.get("max_concurrency"))
    total_in, total_out = (whole(tree.get(f"total_{k}_tokens")) for k in ("input", "output"))
    finite = None if rate is None or tree.get("request_rate") in ("inf", float("inf")) else rate
    return Run(
        harness=harness,
        label=words(tree.get("label")) or words(tree.get("tag")),
        asked=asked,
        identity=_identity(tree),
        concurrency=streams,
        rate_per_s=finite,
        arrival_pattern=_arrival(tree, finite, streams),
        input_lengths=lengths(
            [s.prompt_tokens for s in good], asked=_asked(tree, "random_input_len"), n=n,
            mean=total_in / n if total_in is not None and n else None,
        ),
        output_lengths=lengths(
            [s.completion_tokens for s in good], asked=_asked(tree, "random_output_len"), n=n,
            mean=total_out / n if total_out is not None and n else None,
        ),
        cached_share=cached,
        prompt_version=words(tree.get("dataset_name")),
        requests=requests,
        completed=n,
        failed=failed,
        duration_s=number(tree.get("duration")),
        ttft_s=_metric(tree, "ttft", n) or spread_of(s.ttft_s for s in good),
        itl_s=_metric(tree, "tpot", n) or spread_of(s.itl_s for s in good),
        gap_s=_metric(tree, "itl", n),
        end_to_end_s=_metric(tree, e2e, n) or spread_of(s.end_to_end_s for s in good),
        intended_end_to_end_s=_metric(tree, "e2el_including_client_queue", n),
        output_tokens_per_s=number(tree.get("output_throughput")),
        requests_per_s=number(tree.get("request_throughput")),
        achieved_concurrency=number(tree.get("concurrency")),
        accepted_tokens_per_step=number(tree.get("spec_decode_acceptance_length"))
        or number(tree.get("accept_length")),
        goodput=_goodput(tree),
        samples=tuple(good),
        started_at=words(tree.get("date")),
        notes=("server_info is kept in the file",) if tree.get("server_info") else (),
    )  # fmt: skip


def _identity(tree: dict[str, Any]) -> tuple[Found, ...]:
    info = tree.get("server_info")
    found = []
    if isinstance(info, dict):
        said = read_account({"/server_info": json.dumps(info)})
        items = {"model": said.model_path, "model_revision": said.model_revision,
                 "runtime": said.engine, "runtime_build": said.version,
                 "weight_format": said.weight_format, "kv_format": said.kv_format,
                 "kernels": said.kernels, "speculative_decoder": said.speculative_decoder,
                 "context_tokens": said.context_tokens, "kv_pool_tokens": said.kv_pool_tokens,
                 "slots": said.slots, "effective_settings": said.settings}  # fmt: skip
        found.append(Found(items=items, basis=Basis.READ, where="/server_info, kept in the file"))
    own = {*known("vllm-bench")["own_keys"], *known("vllm-bench")["load_keys"]}
    given = {k: v for k, v in plain(tree).items() if k not in own and not _figure(k)}
    found.append(Found(items={"model": words(tree.get("model_id")), "settings": given}))
    return tuple(found)


def _figure(key: str) -> bool:
    return key.endswith("_ms") or key.startswith(("spec_decode_", "probe_", "diffusion_"))


def _arrival(tree: dict[str, Any], rate: float | None, streams: int | None) -> str | None:
    cap = f", at most {streams} in flight" if streams else ""
    if rate is not None:
        shape = number(tree.get("burstiness"))
        kind = "Poisson" if shape in (1.0, None) else f"gamma (burstiness {shape:g})"
        if shape is None and "burstiness" in tree:
            kind = "unknown"
        return f"open loop: {kind} arrivals, {rate:g} a second{cap}"
    if tree.get("request_rate") == "trace":
        return f"open loop: replay of a trace{cap}"
    if "request_rate" not in tree:
        return None
    return f"closed loop of {streams} streams" if streams else "all requests at once"


def _asked(tree: dict[str, Any], key: str) -> str | None:
    name, count = words(tree.get("dataset_name")), whole(tree.get(key))
    if name and not name.startswith("random"):
        return f"data set {name}"
    ratio = number(tree.get("random_range_ratio"))
    spread_text = f", range ratio {ratio:g}" if ratio is not None else ""
    return f"{count} random tokens{spread_text}" if name and count is not None else None


def _metric(tree: dict[str, Any], name: str, n: int | None) -> Any:
    def get(what: str) -> float | None:
        return number(tree.get(f"{what}_{name}_ms"), MS)

    # A median of 0 is what these scripts write where nothing was measured.
    if not get("median") and not get("mean"):
        return None
    return spread(n=n, median=get("median"), mean=get("mean"), p50=get("median"), p95=get("p95"),
                  p99=get("p99"))  # fmt: skip


def _goodput(tree: dict[str, Any]) -> tuple[Goodput, ...]:
    value = number(tree.get("request_goodput", tree.get("request_goodput:")))
    if value is None:
        return ()
    return (Goodput(objective="not in the file", requests_per_s=value),)


def _requests(tree: dict[str, Any]) -> list[Sample | None]:
    """Return a sample for each request of the detailed lists; None for one that failed."""
    ttfts, itls = tree.get("ttfts"), tree.get("itls")
    if not isinstance(ttfts, list) or not isinstance(itls, list) or len(ttfts) != len(itls):
        return []

    def column(key: str) -> list[Any]:
        found = tree.get(key)
        return (
            found if isinstance(found, list) and len(found) == len(ttfts) else [None] * len(ttfts)
        )

    found: list[Sample | None] = []
    for ttft, gaps, sent, got, error, cached in zip(
        ttfts, itls, column("input_lens"), column("output_lens"), column("errors"),
        column("cached_tokens"), strict=True,
    ):  # fmt: skip
        first, out = number(ttft), whole(got)
        steps = [g for g in map(number, gaps if isinstance(gaps, list) else ()) if g is not None]
        if error or not first or out == 0:
            found.append(None)
            continue
        itl = sum(steps) / (out - 1) if out and out > 1 and steps else None
        found.append(
            sample(
                out, itl, ttft_s=first, end_to_end_s=first + sum(steps),
                gap_median_s=statistics.median(steps) if steps else None,
                gap_max_s=max(steps, default=None),
                prompt_tokens=whole(sent), cached_tokens=whole(cached),
                content_chunks=len(steps) + 1,
            )
        )  # fmt: skip
    return found
