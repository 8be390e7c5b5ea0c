"""The questions about logs: the public ones, several boots as lists, contradicting files."""

import pytest

from stackchoice.facts.load import load_facts
from stackchoice.score import score_public
from stackchoice.score.given import Unknown
from stackchoice.score.logs import asked_for, read_log


def test_the_public_lines_are_right_in_every_key(facts):
    score = score_public(["read_log"], facts)
    assert [(line.id, line.reason) for line in score.lines if not line.right] == []
    assert score.by_ask["read_log"].lines >= 19


def test_several_boots_are_lists_in_order(facts):
    text = (
        "Available KV cache memory: 8.5 GiB\nGPU KV cache size: 1,000 tokens\n"
        "Available KV cache memory: 4.5 GiB\nGPU KV cache size: 500 tokens\n"
        "Estimated CUDA graph memory: -0.5 GiB total\n"
    )
    found = read_log({"engine": "vllm", "text": text}, facts)
    assert found["pool_tokens"] == [1000, 500]
    assert found["memory_for_cache_gib"] == [8.5, 4.5]
    assert found["cuda_graph_estimate_gib"] == -0.5
    assert found["warnings"] == ["negative_cuda_graph_estimate"]


def test_several_samples_are_a_list(facts):
    line = "eval time = 100.0 ms / 10 runs ( 10.0 ms per token, {} tokens per second)\n"
    found = read_log({"engine": "llama.cpp", "text": line.format(99.5) + line.format(98.5)}, facts)
    assert found["generation_tokens_per_s"] == [99.5, 98.5]


@pytest.mark.parametrize(
    ("given", "bits"),
    [
        ({}, (None, None)),
        ({"hf_quant_config": {"quantization": {"quant_algo": "NVFP4"}}}, (4, 4)),
        ({"hf_quant_config": {"quantization": {"quant_algo": "W4A16_NVFP4"}}}, (4, 16)),
        ({"quantization_config": {"quant_method": "fp8", "activation_scheme": "static"}}, (8, 8)),
        ({"config": {"quantization_config": {"quant_method": "awq", "bits": 4}}}, (4, 16)),
        ({"config": "nonsense", "hf_quant_config": [1]}, (None, None)),
        (
            {
                "hf_quant_config": {"quantization": {"quant_algo": "W4A16_NVFP4"}},
                "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
            },
            (4, None),
        ),
    ],
)
def test_bits_that_files_ask_for(given, bits, facts):
    assert asked_for(given, facts) == bits


def test_no_text_and_no_known_line_are_unknown(facts):
    with pytest.raises(Unknown, match="no text"):
        read_log({"engine": "vllm"}, facts)
    with pytest.raises(Unknown, match="no line"):
        read_log({"engine": "vllm", "text": "hello\n"}, facts)
    with pytest.raises(Unknown, match="no log lines"):
        read_log({"engine": "transformers", "text": "hello\n"}, facts)


def test_lines_of_older_quantisation_modules():
    """Formats of the 0.16.0 wheel, and a line of vLLM issue 49878."""
    facts = load_facts()

    def read(text):
        return read_log({"engine": "vllm", "text": text}, facts)

    mx = read("INFO 02-26 10:00:00 [mxfp4.py:160] Using Triton backend")
    assert (mx["moe_backend"], mx["moe_arithmetic"]) == ("Triton", "w4a16")
    assert "attention_backend" not in mx
    v1 = read("INFO 07-24 [cuda.py:275] Using Triton backend on V1 engine.")
    assert v1["attention_backend"] == "Triton"
    awq = read(
        "INFO 02-26 [awq_marlin.py:162] The model is convertible to awq_marlin during runtime. "
        "Using awq_marlin kernel."
    )
    assert awq["linear_arithmetic"] == "wna16"
    hand = read(
        "(EngineCore pid=83) INFO 07-26 12:29:34 [gpu_worker.py:479] Initial free memory 93.88 GiB,"
        " reserved 49.0 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and "
        "skipped memory profiling."
    )
    assert (hand["free_memory_gib"], hand["memory_for_cache_gib"]) == (93.88, 49.0)
