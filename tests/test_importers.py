"""Results of other harnesses, written anew by their formats; what a file lacks stays unknown."""

import json
import os

import pytest

from stackchoice.confirm import Passport
from stackchoice.confirm.passport import PassportError
from stackchoice.errors import InputError
from stackchoice.importers import import_results
from stackchoice.importers.formats import ACCEPTED
from stackchoice.passports import import_file


def written(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def one(path, **more):
    (found,) = import_results(path, **more)
    assert Passport.model_validate_json(found.model_dump_json()) == found
    assert found.label == "UNCHECKED"
    assert found.results.evidence.value == "reported"
    return found


VLLM = {
    "date": "20261101-101112", "endpoint_type": "openai-chat", "backend": "openai-chat",
    "label": None, "model_id": "org/m", "tokenizer_id": "org/m", "num_prompts": 200,
    "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 16, "duration": 40.0,
    "completed": 198, "failed": 2, "total_input_tokens": 198 * 512,
    "total_output_tokens": 198 * 128, "request_throughput": 4.95, "request_goodput": None,
    "output_throughput": 633.6, "total_token_throughput": 3168.0, "mean_ttft_ms": 80.0,
    "median_ttft_ms": 75.0, "std_ttft_ms": 9.0, "p99_ttft_ms": 190.0, "p95_ttft_ms": 150.0,
    "mean_tpot_ms": 20.0, "median_tpot_ms": 19.5, "p99_tpot_ms": 30.0, "mean_itl_ms": 40.0,
    "median_itl_ms": 39.0, "p99_itl_ms": 70.0, "mean_e2el_ms": 2600.0, "median_e2el_ms": 2550.0,
    "p99_e2el_ms": 3000.0, "tensor_parallel": "2",
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [("seed", "abc"), ("concurrency", "-1"), ("rate_per_s", "nan"), ("slots", "many")],
)
def test_what_is_declared_must_be_such_an_item(tmp_path, key, value):
    bare = {k: v for k, v in VLLM.items() if k not in ("max_concurrency", "request_rate")}
    with pytest.raises(InputError, match=f"{key} .*declare it anew"):
        import_results(written(tmp_path, "v.json", bare), declared={key: value})


def odd_aiperf():
    """Lines of AIPerf in which one metric or setting is of another shape."""
    about = {"metadata": {"request_start_ns": 10**18, "request_end_ns": 10**18 + 9}}
    latency = {"request_latency": {"value": 250.0, "unit": "ms"}}
    for odd in ("abc", 1, [], None, {"value": 3, "unit": "fortnights"}, {"value": 3, "unit": []}):
        for tag in ("time_to_first_token", "inter_token_latency", "output_sequence_length"):
            yield {**about, "metrics": {**latency, tag: odd}}
    for odd in (-1, "x", [], {"endpoint": {"extra": [[[], 1]]}}, {"loadgen": 3}):
        yield {"input_config": odd, "request_latency": {"unit": "ms", "avg": 250.0}}
    yield {"input_config": {}, "input_sequence_length": 3, "request_latency": latency}


@pytest.mark.parametrize("tree", list(odd_aiperf()), ids=str)
def test_aiperf_in_any_shape_is_read_and_an_unknown_unit_is_no_second(tmp_path, tree):
    try:
        found = one(written(tmp_path, "a.jsonl", tree))
    except InputError:
        return
    assert found.results.ttft_s is found.results.itl_s is None
    assert found.results.end_to_end_s is None or found.results.end_to_end_s.median == 0.25


def test_vllm_bench_serve(tmp_path):
    p = one(written(tmp_path, "v.json", VLLM))
    r = p.results
    assert (r.requests, r.usable, r.errors) == (200, 198, 2)
    assert (r.ttft_s.median, r.ttft_s.n, r.ttft_s.p95) == (0.075, 198, 0.15)
    assert r.ttft_s.p99 is None  # 198 of the 662 that a p99 needs
    assert "n too small" in r.ttft_s.percentile_text("p99")
    # Its ITL is a gap between chunks; time per output token is what we call ITL.
    assert r.itl_s.median == pytest.approx(0.0195)
    assert r.gap_s.median == pytest.approx(0.039)
    assert (p.protocol.concurrency, p.protocol.rate_per_s) == (16, None)
    assert p.protocol.arrival_pattern == "closed loop of 16 streams"
    assert p.protocol.input_lengths.mean == 512
    assert p.protocol.output_lengths.mean == 128
    assert p.source.as_of == "2026-11-01"
    assert p.identity.settings == {"tensor_parallel": "2"}
    for item in ("sampling_settings", "warm_up", "cache", "seed"):
        assert getattr(p.protocol, item) is None
    assert (p.identity.runtime, p.identity.model_revision) == (None, None)
    assert p.validity.correctness == "unknown"
    assert p.validity.failures == {}
    assert any("does not say in which class" in w for w in p.validity.warnings)


def test_vllm_details_become_requests_and_failed_ones_none(tmp_path):
    tree = {
        **VLLM, "num_prompts": 3, "completed": 2, "failed": 1, "request_rate": 4.0,
        "max_concurrency": None, "input_lens": [10, 20, 30], "output_lens": [5, 3, 0],
        "ttfts": [0.1, 0.2, 0.0], "itls": [[0.01] * 4, [0.02, 0.04], []],
        "errors": ["", "", "connection reset"], "generated_texts": ["a", "b", ""],
    }  # fmt: skip
    p = one(written(tmp_path, "v.json", tree))
    assert [s.itl_s for s in p.samples] == pytest.approx([0.01, 0.03])
    assert [s.end_to_end_s for s in p.samples] == pytest.approx([0.14, 0.26])
    assert p.protocol.arrival_pattern == "open loop: Poisson arrivals, 4 a second"
    assert (p.protocol.input_lengths.low, p.protocol.input_lengths.high) == (10, 20)


def test_answers_that_came_in_one_piece_have_no_engines_itl(tmp_path):
    """A published run says 1.9 microseconds a token and 49 ms to the first."""
    p = one(written(tmp_path, "v.json", {**VLLM, "median_tpot_ms": 0.0019246693077225852}))
    assert "1.92 microseconds a token" in p.validity.warnings[-1]
    assert "microseconds" not in str(one(written(tmp_path, "w.json", VLLM)).validity.warnings)


def test_old_vllm_has_no_failed_and_a_colon_in_its_goodput(tmp_path):
    tree = {k: v for k, v in VLLM.items() if k not in ("failed", "request_goodput")}
    p = one(written(tmp_path, "v.json", {**tree, "request_goodput:": 3.5}))
    assert p.results.errors == 2
    assert p.results.goodput[0].requests_per_s == 3.5


def test_runs_of_the_same_load_are_repetitions_and_others_are_arms(tmp_path):
    runs = [VLLM, {**VLLM, "median_ttft_ms": 85.0}, {**VLLM, "max_concurrency": 32}]
    found = import_results(written(tmp_path, "v.json", "\n".join(map(json.dumps, runs))))
    assert [p.protocol.concurrency for p in found] == [16, 32]
    assert len(found[0].results.repetitions) == 2
    assert found[0].results.ttft_s.median == pytest.approx(0.08)
    assert len({p.arm for p in found}) == 2


SGLANG = {
    "tag": None, "backend": "sglang", "dataset_name": "random", "request_rate": 8.0,
    "max_concurrency": None, "sharegpt_output_len": None, "random_input_len": 1024,
    "random_output_len": 256, "random_range_ratio": 1.0,
    "server_info": {
        "model_path": "org/m", "revision": "abc123", "quantization": "fp8",
        "kv_cache_dtype": "fp8_e4m3", "attention_backend": "fa3", "api_key": "sk-secret",
        "speculative_algorithm": None, "max_total_num_tokens": 400000, "version": "0.5.9",
        "internal_states": [{"avg_spec_accept_length": 2.5, "effective_max_running_requests": 9}],
    },
    "duration": 30.0, "completed": 700, "total_input_tokens": 700 * 1024,
    "total_output_tokens": 700 * 256, "total_output_tokens_retokenized": 1,
    "request_throughput": 23.3, "input_throughput": 1.0, "output_throughput": 5973.0,
    "mean_e2e_latency_ms": 900.0, "median_e2e_latency_ms": 880.0, "p99_e2e_latency_ms": 1500.0,
    "mean_ttft_ms": 50.0, "median_ttft_ms": 45.0, "p99_ttft_ms": 120.0, "mean_tpot_ms": 8.0,
    "median_tpot_ms": 7.5, "p99_tpot_ms": 12.0, "mean_itl_ms": 16.0, "median_itl_ms": 15.0,
    "p99_itl_ms": 40.0, "concurrency": 20.5, "accept_length": 2.5,
    "cache_report": {"cache_hit_rate_pct": 25.0, "total_prompt_tokens": 1},
}  # fmt: skip


def test_sglang_bench_serving(tmp_path):
    p = one(written(tmp_path, "s.jsonl", json.dumps(SGLANG) + "\n"))
    assert p.results.ttft_s.p99 == 0.12  # 700 samples are enough
    assert p.results.itl_s.median == 0.0075
    assert p.results.accepted_tokens_per_step == 2.5
    assert p.results.errors is None  # the file counts no failures
    assert p.identity.runtime_build == "0.5.9"
    assert p.identity.model_revision == "abc123"
    assert p.identity.kv_pool_tokens == 400000
    assert p.identity.origin("kv_format").basis.value == "read from the engine"
    assert "sk-secret" not in p.model_dump_json()
    assert (p.protocol.cache, p.validity.largest_cached_share) == ("partly warm", 0.25)
    assert p.validity.most_in_flight == 20.5
    assert "1024 random tokens" in p.protocol.input_lengths.asked


def test_older_sglang_says_less(tmp_path):
    tree = {k: v for k, v in SGLANG.items() if k not in ("server_info", "cache_report", "tag")}
    p = one(written(tmp_path, "s.jsonl", json.dumps(tree)))
    assert (p.identity.model, p.identity.runtime_build, p.protocol.cache) == (None, None, None)


def distribution(median, count, **more):
    return {"mean": median, "median": median, "min": median / 2, "max": median * 2, "count": count,
            "std_dev": 1.0, "percentiles": {"p50": median, "p95": median * 1.5, "p99": median * 2},
            **more}  # fmt: skip


def guide(bench_config, count=200):
    ok = {"successful": distribution(1.0, count)}
    none = {"errored": distribution(0.0, 0)}
    return {
        "config": bench_config, "start_time": 1793000000.0, "duration": 20.0,
        "metrics": {
            "request_totals": {"successful": count, "errored": 3, "incomplete": 1, "total": 204},
            "time_to_first_token_ms": {"successful": distribution(80.0, count), **none},
            "inter_token_latency_ms": {"successful": distribution(20.0, count * 100), **none},
            "request_latency": {"successful": distribution(2.0, count), **none},
            "prompt_token_count": {"successful": distribution(500.0, count), **none},
            "output_token_count": {"successful": distribution(100.0, count), **none},
            "requests_per_second": ok, "request_concurrency": {"successful": {"mean": 7.7}},
            "output_tokens_per_second": {"successful": {"mean": 640.0}},
        },
        "requests": {"successful": [
            {"time_to_first_token_ms": 80.0, "inter_token_latency_ms": 20.0, "request_latency": 2.0,
             "prompt_tokens": 500, "output_tokens": 100}], "errored": [], "incomplete": []},
    }  # fmt: skip


def test_guidellm(tmp_path):
    config = {"strategy": {"type_": "concurrent", "streams": 8, "max_concurrency": 8},
              "backend": {"model": "org/m", "extras": {"body": {"temperature": 0.7}}},
              "warmup": {"percent": None, "value": 5.0}, "cooldown": {"value": None}}  # fmt: skip
    tree = {"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": [guide(config)],
            "config": {"spec": {"seed": {"value": 42}, "data": [
                {"kind": "synthetic", "prompt_tokens": 512, "output_tokens": 128}]}}}  # fmt: skip
    p = one(written(tmp_path, "g.json", tree))
    assert (p.results.requests, p.results.usable, p.results.errors) == (204, 200, 3)
    assert p.results.ttft_s.median == pytest.approx(0.08)
    # Its ITL is weighted by tokens; what is independent are the 200 requests.
    assert (p.results.itl_s.n, p.results.itl_s.p95) == (200, pytest.approx(0.03))
    assert p.results.itl_s.p99 is None
    assert (p.protocol.concurrency, p.protocol.seed) == (8, 42)
    assert p.protocol.sampling_settings == {"temperature": 0.7}
    assert p.protocol.warm_up == "warmup 5.0, cooldown none"
    assert p.protocol.input_lengths.asked == "512 synthetic tokens"
    assert p.protocol.input_lengths.mean == 500
    assert (p.validity.most_in_flight, p.identity.model) == (7.7, "org/m")
    assert p.samples[0].itl_s == pytest.approx(0.02)
    assert p.source.as_of == "2026-10-26"


def test_older_guidellm_keeps_its_arguments_elsewhere(tmp_path):
    bench = {k: v for k, v in guide({}).items() if k != "config"}
    bench["args"] = {"strategy": {"type_": "poisson", "rate": 4.0}}
    second = {**bench, "args": {"strategy": {"type_": "synchronous"}}}
    tree = {"args": {"model": "org/m", "data": "prompt_tokens=256,output_tokens=64"},
            "benchmarks": [bench, second]}  # fmt: skip
    a, b = import_results(written(tmp_path, "g.json", tree))
    assert a.protocol.arrival_pattern == "open loop: Poisson arrivals, 4 a second"
    assert (b.protocol.concurrency, b.identity.model) == (1, "org/m")
    assert a.protocol.input_lengths.asked == "256 synthetic tokens"
    assert a.protocol.sampling_settings is None


def metric(median, unit, **more):
    return {"unit": unit, "avg": median, "min": median / 2, "max": median * 2, "p50": median,
            "p95": median * 1.5, "p99": median * 1.9, **more}  # fmt: skip


AIPERF = {
    "schema_version": "1.4", "aiperf_version": "0.13.0",
    "request_throughput": {"unit": "requests/sec", "avg": 10.0},
    "request_latency": metric(900.0, "ms", count=400),
    "request_count": {"unit": "requests", "avg": 400.0},
    "error_request_count": {"unit": "requests", "avg": 5.0},
    "time_to_first_token": metric(60.0, "ms", count=400),
    "inter_token_latency": metric(9.0, "ms", count=400),
    "inter_chunk_latency": metric(18.0, "ms", count=40000),
    "output_token_throughput": {"unit": "tokens/sec", "avg": 1000.0},
    "output_sequence_length": metric(100.0, "tokens", count=400),
    "input_sequence_length": metric(550.0, "tokens", count=400),
    "benchmark_duration": {"unit": "sec", "avg": 40.0},
    "effective_concurrency": {"unit": "requests", "avg": 7.8},
    "start_time": "2026-10-01T10:00:00", "was_cancelled": False, "is_complete": True,
    "run_info": {"random_seed": 7, "cli_command": "aiperf --api-key sk-secret"},
    "input_config": {
        "models": {"items": [{"name": "org/m"}]},
        "endpoint": {"urls": ["http://h"], "type": "chat", "extra": {"temperature": 0, "x": []}},
        "phases": [{"kind": "profiling", "type": "concurrency", "requests": 405,
                    "concurrency": 8}],
        "datasets": [{"type": "synthetic", "prompts": {"isl": {"mean": 550.0},
                                                       "osl": {"mean": 100.0}}}],
    },
}  # fmt: skip


def test_aiperf_summary(tmp_path):
    p = one(written(tmp_path, "profile_export_aiperf.json", AIPERF))
    assert (p.results.requests, p.results.usable, p.results.errors) == (405, 400, 5)
    assert p.results.ttft_s.median == pytest.approx(0.06)
    assert p.results.itl_s.median == pytest.approx(0.009)
    assert p.results.gap_s.p99 is None  # whole chunks are counted there, not requests
    assert (p.protocol.concurrency, p.protocol.seed) == (8, 7)
    assert p.protocol.sampling_settings == {"temperature": 0}
    assert p.protocol.warm_up == "none configured"
    assert p.identity.model == "org/m"
    assert "sk-secret" not in p.model_dump_json()


def test_an_older_aiperf_and_a_run_that_it_calls_incomplete(tmp_path):
    tree = {
        **AIPERF, "is_complete": False, "incomplete_reason": "records stalled",
        "input_config": {"endpoint": {"model_names": ["org/m"], "streaming": True},
                         "loadgen": {"request_rate": 20.0, "request_rate_mode": "poisson"},
                         "input": {"extra": [["temperature", 0.6]]}},
    }  # fmt: skip
    (p,) = import_results(written(tmp_path, "a.json", tree))
    assert p.label == "INVALID"
    assert "records stalled" in p.validity.reasons[0]
    assert p.protocol.arrival_pattern == "open loop: Poisson arrivals, 20 a second"
    assert p.protocol.sampling_settings == {"temperature": 0.6}


def test_aiperf_records(tmp_path):
    def line(start, phase="profiling", error=None):
        metrics = {"request_latency": {"value": 500.0, "unit": "ms"},
                   "time_to_first_token": {"value": 50000, "unit": "us"},
                   "inter_token_latency": {"value": 10.0, "unit": "ms"},
                   "inter_chunk_latency": {"value": [9.0, 10.0, 30.0], "unit": "ms"},
                   "output_sequence_length": {"value": 46, "unit": "tokens"},
                   "input_sequence_length": {"value": 30, "unit": "tokens"}}  # fmt: skip
        meta = {"request_start_ns": start, "request_end_ns": start + 500_000_000,
                "benchmark_phase": phase}  # fmt: skip
        return json.dumps({"metadata": meta, "metrics": {} if error else metrics, "error": error})

    lines = [line(0, "warmup"), line(10**9), line(2 * 10**9), line(3 * 10**9, error={"code": 429})]
    p = one(written(tmp_path, "profile_export.jsonl", "\n".join(lines)))
    assert (p.results.requests, p.results.usable, p.results.errors) == (3, 2, 1)
    assert p.protocol.warm_up_requests == 1
    assert p.samples[0].ttft_s == pytest.approx(0.05)
    assert p.samples[0].gap_median_s == pytest.approx(0.01)
    assert p.protocol.window_s == pytest.approx(2.5)


LLAMA = {
    "build_commit": "0c1e570", "build_number": 8920, "cpu_info": "EPYC", "gpu_info": "RTX 5090",
    "backends": "CUDA", "model_filename": "m-q4.gguf", "model_type": "qwen3 8B Q4_K - Medium",
    "model_size": 5000000000, "model_n_params": 8000000000, "n_batch": 2048, "n_ubatch": 512,
    "n_threads": 8, "type_k": "f16", "type_v": "f16", "n_gpu_layers": 99, "flash_attn": 1,
    "n_prompt": 512, "n_gen": 0, "n_depth": 0, "test_time": "2026-10-05T10:00:00Z",
    "avg_ns": 1, "stddev_ns": 1, "avg_ts": 4000.0, "stddev_ts": 20.0,
    "samples_ns": [1, 2, 3], "samples_ts": [3980.0, 4000.0, 4020.0],
}  # fmt: skip
TG = {**LLAMA, "n_prompt": 0, "n_gen": 128, "avg_ts": 150.0, "stddev_ts": 1.0,
      "samples_ts": [149.0, 150.0, 152.0]}  # fmt: skip


@pytest.mark.parametrize("shape", ["json", "jsonl"])
def test_llama_bench(tmp_path, shape):
    rows = [LLAMA, TG]
    text = json.dumps(rows) if shape == "json" else "\n".join(map(json.dumps, rows))
    p = one(written(tmp_path, f"l.{shape}", text))
    assert p.results.prefill_tokens_per_s.median == 4000.0
    assert (p.results.decode_tokens_per_s.median, p.results.decode_tokens_per_s.n) == (150.0, 3)
    assert p.results.itl_s.median == pytest.approx(1 / 150)
    assert p.results.ttft_s is None  # nothing that users wait for follows from it
    assert (p.identity.runtime, p.identity.runtime_build) == ("llama.cpp", "b8920 (0c1e570)")
    assert (p.identity.weight_format, p.identity.kv_format) == ("Q4_K - Medium", "f16")
    assert p.protocol.concurrency == 1
    assert p.protocol.input_lengths.mean == 512
    assert p.protocol.warm_up is None


def test_llama_bench_tables_and_several_depths(tmp_path):
    table = (
        "| model | size | params | backend | ngl | fa | test | t/s |\n"
        "| --- | ---: | ---: | --- | --: | -: | ---: | ---: |\n"
        "| qwen3 8B Q8_0 | 8.1 GiB | 8.19 B | CUDA | 99 | 1 | pp512 | 4000.10 ± 20.00 |\n"
        "| qwen3 8B Q8_0 | 8.1 GiB | 8.19 B | CUDA | 99 | 1 | tg128 | 150.50 ± 1.00 |\n"
        "| qwen3 8B Q8_0 | 8.1 GiB | 8.19 B | CUDA | 99 | 1 | tg128 @ d4096 | 140.00 ± 1.00 |\n"
        "| qwen3 8B Q8_0 | 8.1 GiB | 8.19 B | CUDA | 99 | 1 | pp512+tg128 | 900.00 ± 1.00 |\n"
        "\nbuild: 0c1e570 (8920)\n"
    )
    found = import_results(written(tmp_path, "l.md", table))
    by_depth = {p.arm: p for p in found}
    assert len(found) == 3
    rates = [(p.results.prefill_tokens_per_s, p.results.decode_tokens_per_s) for p in found]
    assert [(a and a.median, b and b.median) for a, b in rates] == [
        (4000.1, 150.5), (None, None), (None, 140.0)]  # fmt: skip
    assert found[0].results.decode_tokens_per_s.centre == "mean"
    assert found[0].results.decode_tokens_per_s.n is None
    assert found[0].identity.kv_format is None  # a column that is the default is left out
    assert found[0].identity.weight_format == "Q8_0"
    assert any("neither a prefill nor a decode rate" in n for p in found for n in p.notes)
    assert by_depth
    keys = [k for k in LLAMA if not k.startswith("samples")]
    rows = [",".join(keys)] + [",".join(f'"{r[k]}"' for k in keys) for r in (LLAMA, TG)]
    p = one(written(tmp_path, "l.csv", "\n".join(rows)))
    assert p.results.decode_tokens_per_s.median == 150.0
    assert p.identity.runtime_build == "b8920 (0c1e570)"


@pytest.mark.parametrize("key", ["model_revision", "runtime_build", "warm_up", "endpoint_url"])
@pytest.mark.parametrize("text", ["1234567", "5e12345", "0.19", "007", "2 requests: a, b", "h?a=b"])
def test_a_declared_text_stays_the_text_it_is(tmp_path, key, text):
    path = written(tmp_path, "v.json", VLLM)
    ((found, _),) = import_file(path, declare=[f"{key}={text}"])
    assert text in (getattr(found.identity, key, None), getattr(found.protocol, key, None))


def test_a_declared_mapping_and_a_declared_count(tmp_path):
    path = written(tmp_path, "v.json", VLLM)
    ((found, _),) = import_file(
        path, declare=["sampling_settings=temperature:0,top_p:0.9", "slots=4"]
    )
    assert found.protocol.sampling_settings == {"temperature": 0, "top_p": 0.9}
    assert found.identity.slots == 4


@pytest.mark.parametrize("end", ["jsonl", "csv"])
def test_a_text_may_hold_what_ends_a_line_elsewhere(tmp_path, end):
    odd = "a\u2028b\x85c\x0cd"
    rows = [{k: v for k, v in {**r, "cpu_info": odd}.items() if k != "samples_ts"}
            for r in (LLAMA, TG)]  # fmt: skip
    if end == "jsonl":
        text = "\n".join(json.dumps(r, ensure_ascii=False) for r in rows)
    else:
        text = "\n".join([",".join(LLAMA.keys() - {"samples_ts"} | {"cpu_info"})] + [
            ",".join(f'"{r[k]}"' for k in LLAMA.keys() - {"samples_ts"} | {"cpu_info"})
            for r in rows])  # fmt: skip
    assert one(written(tmp_path, f"l.{end}", text)).results.decode_tokens_per_s.median == 150.0


@pytest.mark.parametrize(
    "text",
    [",".join(("n_prompt", "avg_ts")) + "\n1," + "9" * 200_000,
     "| model | test | t/s |\n| - | - | - |\n| m | pp" + "9" * 5000 + " | 10.0 |"],
    ids=["a field", "digits"],
)  # fmt: skip
def test_tables_of_no_sane_size_are_none(tmp_path, text):
    with pytest.raises(InputError, match="accepted are"):
        import_results(written(tmp_path, "l.txt", text))


def test_a_file_that_was_cut_off_says_so_and_where(tmp_path):
    text = "\n".join(map(json.dumps, (LLAMA, TG)))
    with pytest.raises(InputError, match=r"l\.jsonl:2: no whole JSON object.*copy or export"):
        import_results(written(tmp_path, "l.jsonl", text[:-9]))
    with pytest.raises(InputError, match="no whole JSON, so no result"):
        import_results(written(tmp_path, "v.json", json.dumps(VLLM)[:-9]))


def test_names_with_points_are_kept_apart(tmp_path):
    for name in ("llama-3.1-8b.json", "llama-3.2-3b.json"):
        ((found, path),) = import_file(written(tmp_path, name, VLLM))
        assert found.arm == name.removesuffix(".json")
        assert path.name == f"{found.arm}.passport.json"


@pytest.mark.parametrize("part", ["strategy", "backend", "extras", "slo"])
@pytest.mark.parametrize("odd", ["x", 3, [], [1], True, {"type_": []}], ids=str)
def test_guidellm_in_any_shape(tmp_path, part, odd):
    bench = guide({part: odd})
    assert one(written(tmp_path, "g.json", {"benchmarks": [bench]})).results.ttft_s.median == 0.08
    bench["metrics"] |= {"request_totals": odd, "request_latency": {"successful": odd}}
    assert one(written(tmp_path, "g.json", {"benchmarks": [bench]})).results.requests is None


@pytest.mark.parametrize("far", [1e308, 5e-324])
def test_a_figure_that_nobody_measured_is_unknown(tmp_path, far):
    tests = [LLAMA, {**TG, "samples_ts": [far, far], "avg_ts": far}]
    assert one(written(tmp_path, "l.json", tests)).results.decode_tokens_per_s is None
    more = {"ttfts": [far, 0.1], "itls": [[far, far], [0.02]], "output_lens": [3, 2]}
    found = one(written(tmp_path, "v.json", {**VLLM, **more}))
    assert [s.end_to_end_s for s in found.samples] == pytest.approx([0.12])


def test_a_day_that_no_calendar_has_is_not_the_runs(tmp_path):
    path = written(tmp_path, "v.json", {**VLLM, "date": "20261345-101112"})
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert str(one(path).source.as_of) == "2023-11-14"


def test_what_is_declared_is_marked_and_never_replaces_what_the_file_says(tmp_path):
    path = written(tmp_path, "v.json", VLLM)
    p = one(path, arm="mine", declared={
        "model_revision": "abc", "model": "lie", "seed": 5, "concurrency": 3,
        "sampling_settings": {"temperature": 0}})  # fmt: skip
    assert p.arm == "mine"
    assert (p.identity.model, p.identity.model_revision) == ("org/m", "abc")
    assert p.identity.origin("model_revision").basis.value == "declared"
    assert (p.protocol.seed, p.protocol.concurrency) == (5, 16)
    with pytest.raises(InputError, match="no item of identity or protocol"):
        import_results(path, declared={"speed": 1})


@pytest.mark.parametrize(
    "text",
    ["", "hello", "{}", "[]", "[1, 2]", '{"a": 1}', "a,b\n1,2\n", "| x |\n| - |\n", "null",
     '{"duration": 1, "completed": 2}', "\x00\x01", '{"benchmarks": []}', "[" * 5000],
)  # fmt: skip
def test_an_unknown_format_is_one_error_that_lists_what_is_accepted(tmp_path, text):
    with pytest.raises(InputError, match="accepted are") as error:
        import_results(written(tmp_path, "x.json", text))
    assert all(name in str(error.value) for name in ACCEPTED)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(PassportError, match="cannot be read"):
        import_results(tmp_path / "none.json")
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PassportError, match="not UTF-8"):
        import_results(tmp_path / "bin")


@pytest.mark.parametrize(
    "odd", [float("nan"), float("inf"), -1, "x", None, True, [], {}, 10**400, "1e999"]
)
def test_odd_values_are_unknown_and_nothing_falls_over(tmp_path, odd):
    for base in (VLLM, SGLANG, AIPERF):
        tree = {k: odd if not isinstance(v, dict) else v for k, v in base.items()}
        tree |= {"duration": 1.0, "completed": 3, "request_throughput": base["request_throughput"]}
        if base is not AIPERF:
            tree["request_throughput"] = 1.0
        found = import_results(written(tmp_path, "x.json", tree))
        assert found
        assert "NaN" not in found[0].model_dump_json()
        assert "Infinity" not in found[0].model_dump_json()


def test_hostile_names_are_escaped(tmp_path):
    bad = "m\x1b[31m\u202e"
    tree = {**VLLM, "model_id": bad, "label": bad, bad: bad}
    p = one(written(tmp_path, "v.json", tree))
    text = p.model_dump_json()
    assert "\\u001b" not in text
    assert "\u202e" not in text
    assert p.arm.startswith("m\\x1b")


def test_a_date_that_is_not_told_is_the_files(tmp_path):
    path = written(tmp_path, "v.json", {k: v for k, v in VLLM.items() if k != "date"})
    os.utime(path, (1_790_000_000, 1_790_000_000))
    p = one(path)
    assert p.source.as_of == "2026-09-21"
    assert "the date is the file's" in p.source.note


def test_a_passport_that_is_there_is_replaced_only_when_asked(tmp_path):
    path = written(tmp_path, "run.json", VLLM)
    ((_, passport),) = import_file(path)
    passport.write_text("somebody's", encoding="utf-8")
    with pytest.raises(PassportError, match="is there already; say --replace"):
        import_file(path)
    assert passport.read_text(encoding="utf-8") == "somebody's"
    import_file(path, replace=True)
    assert Passport.load(passport).arm == "run"


#: The last stage of a published run, its means, medians and ends, as the file has them:
#: https://github.com/kubernetes-sigs/inference-perf/blob/7de5ef2ed6f7934e0ecbc8297e593f79e68430c0/demos/kubecon-na-2025/vllm+batch_size/results/stage_6_lifecycle_metrics.json
LIFECYCLE = {
    "load_summary": {
        "count": 13369, "requested_rate": 222.83, "achieved_rate": 116.31878751107618,
        "send_duration": 114.93414164695423,
        "schedule_delay": {"mean": 25.867297718651226, "median": 25.401863368344493},
    },
    "successes": {
        "count": 13369,
        "latency": {
            "request_latency": {"mean": 3.79703725667467, "min": 1.6174948679981753,
                                "median": 3.6919508550781757, "max": 4.420221413951367},
            "time_per_output_token": {"mean": 0.012367102809974885, "min": 0.005074177712541391,
                                      "median": 0.012453835775223814, "max": 0.0129991925733034},
            "time_to_first_token": {"mean": 2.200454697106258, "min": 0.036755520035512745,
                                    "median": 2.097426358028315, "max": 2.775039108004421},
            "inter_token_latency": {"mean": 0.012367102809974887, "min": 1.8329592421650887e-06,
                                    "median": 4.655006341636181e-05, "max": 0.1561366169480607},
        },
        "throughput": {"output_tokens_per_sec": 7140.792680764174,
                       "requests_per_sec": 113.66007597058318},
        "prompt_len": {"mean": 200.92864088563093, "min": 194.0, "median": 201.0, "max": 209.0},
        "output_len": {"mean": 62.82586580896103, "min": 15.0, "median": 65.0, "max": 70.0},
    },
    "failures": {"count": 0, "request_latency": None, "prompt_len": None},
}  # fmt: skip


def test_inference_perf_whose_time_per_token_its_other_figures_deny(tmp_path):
    """3.797 s less 2.200 s over 61.8 tokens are 25.8 ms, and it says 12.4: counted twice."""
    p = one(written(tmp_path, "stage_6_lifecycle_metrics.json", LIFECYCLE))
    assert (p.results.requests, p.results.errors) == (13369, 0)
    assert p.results.ttft_s.median == 2.097426358028315
    assert p.results.itl_s is None
    denied, late = p.validity.warnings
    assert "12.4 ms is denied" in denied
    assert "25.8 ms follow" in denied
    assert "25.4 s late" in late
    assert p.protocol.rate_per_s == 222.83
    assert p.protocol.input_lengths.mean == pytest.approx(200.93, abs=0.01)
    assert p.protocol.window_s == pytest.approx(13369 / 113.66, rel=1e-3)


def test_inference_perf_that_agrees_with_itself(tmp_path):
    tree = json.loads(json.dumps(LIFECYCLE))
    tree["benchmark_time_seconds"] = 117.0
    tree["load_summary"] |= {"concurrency": 8, "schedule_delay": None}
    step = {"mean": 0.0258, "median": 0.0257, "p95": 0.03}
    tree["successes"]["latency"]["time_per_output_token"] = step
    p = one(written(tmp_path, "s.json", tree))
    assert (p.results.itl_s.median, p.results.itl_s.p95) == (0.0257, 0.03)
    assert (p.protocol.concurrency, p.protocol.arrival_pattern) == (8, "closed loop of 8 streams")
    assert (p.protocol.window_s, p.validity.warnings) == (117.0, ())


@pytest.mark.parametrize("odd", [None, [], "x", -1, {"mean": "x"}])
def test_inference_perf_in_any_shape(tmp_path, odd):
    for key in ("load_summary", "failures"):
        one(written(tmp_path, "s.json", {**LIFECYCLE, key: odd}))
    for key in ("latency", "throughput", "output_len", "count"):
        whole = {**LIFECYCLE["successes"], key: odd}
        if key != "latency" or isinstance(odd, dict):
            one(written(tmp_path, "s.json", {**LIFECYCLE, "successes": whole}))


def test_aiperf_without_its_configuration_is_told_by_its_release(tmp_path):
    tree = {"schema_version": "1.3", "aiperf_version": "0.10.0",
            "request_count": {"unit": "requests", "avg": 10.0},
            "time_to_first_token": {"unit": "ms", "avg": 195.84, "p50": 175.05}}  # fmt: skip
    p = one(written(tmp_path, "a.json", tree))
    assert p.results.ttft_s.median == pytest.approx(0.17505)


def test_a_scenario_is_told_where_scenarios_are_compared(tmp_path):
    (tmp_path / "mine.yaml").write_text("name: mine\n")
    with pytest.raises(InputError, match=r"mine\.yaml: .* `stackchoice decide SCENARIO --against"):
        import_results(tmp_path / "mine.yaml")
