"""Which layers have routed experts: notations of published configs, counted by hand."""

import pytest

from stackchoice.fit.parameters import count_parameters
from stackchoice.read.architecture import architecture

CASES = {
    # huggingface.co/baidu/ERNIE-4.5-21B-A3B-PT: the first layer is dense
    "start and end": (
        {"num_hidden_layers": 28, "moe_num_experts": 64, "moe_k": 6, "moe_layer_interval": 1,
         "moe_layer_start_index": 1, "moe_layer_end_index": 27}, 27, 64, 6,
    ),
    # ERNIE-4.5-VL-28B-A3B: experts of two modalities
    "two modalities": (
        {"num_hidden_layers": 28, "moe_num_experts": [64, 64], "moe_k": 6, "moe_layer_interval": 1,
         "moe_layer_start_index": [1, 1], "moe_layer_end_index": [29, 28]}, 27, 64, 6,
    ),
    # huggingface.co/ai21labs/Jamba-v0.1: every second layer, from the second on
    "period and offset": (
        {"num_hidden_layers": 32, "num_experts": 16, "num_experts_per_tok": 2,
         "expert_layer_period": 2, "expert_layer_offset": 1}, 16, 16, 2,
    ),
    # huggingface.co/LiquidAI/LFM2-8B-A1B
    "dense layers first": (
        {"num_hidden_layers": 24, "num_experts": 32, "num_experts_per_tok": 4,
         "num_dense_layers": 2}, 22, 32, 4,
    ),
    # huggingface.co/stepfun-ai/step3: listed as text
    "enumerated": (
        {"num_hidden_layers": 61, "moe_num_experts": 48, "moe_top_k": 3,
         "moe_layers_enum": ",".join(map(str, range(4, 60)))}, 56, 48, 3,
    ),
    "booleans": (
        {"num_hidden_layers": 4, "num_experts": 8, "num_experts_per_tok": 2,
         "is_moe_layer": [False, True, True, True]}, 3, 8, 2,
    ),
    # huggingface.co/databricks/dbrx-instruct
    "inner config": (
        {"n_layers": 40, "ffn_config": {"moe_num_experts": 16, "moe_top_k": 4}}, 40, 16, 4,
    ),
    # huggingface.co/tencent/Hunyuan-A13B-Instruct: a number for each layer
    "listed": ({"num_hidden_layers": 3, "num_experts": 64, "moe_topk": [8, 8, 8]}, 3, 64, 8),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_layers_with_experts(name):
    config, layers, experts, taken = CASES[name]
    found = architecture({"model_type": "any", "num_attention_heads": 8, "hidden_size": 64,
                          **config})  # fmt: skip
    assert (found.moe_layers, found.experts, found.experts_per_token) == (layers, experts, taken)


@pytest.mark.parametrize(("config", "shared", "width"), [
    # zai-org/GLM-4.5-Air; inclusionAI/Ling-1T; Qwen/Qwen3-Next-80B-A3B; stepfun-ai/step3
    ({"n_shared_experts": 1, "moe_intermediate_size": 1408}, 1, 1408),
    ({"num_shared_experts": 2, "moe_intermediate_size": 2048}, 2, 4096),
    ({"shared_expert_intermediate_size": 512, "moe_intermediate_size": 256}, 1, 512),
    ({"share_expert_dim": 5120, "moe_intermediate_size": 256}, 1, 5120),
    # ibm-granite/granite-3.1-3b-a800m-instruct has none, MiniMaxAI/MiniMax-M2 says so
    ({"moe_intermediate_size": 512}, 0, 0),
    ({"shared_intermediate_size": 0, "moe_intermediate_size": 512}, 0, 0),
    # meta-llama/Llama-4-Scout: one, as wide as the others, and no key that says it
    ({"interleave_moe_layer_step": 1, "intermediate_size": 8192}, 1, 8192),
])  # fmt: skip
def test_experts_that_every_token_takes(config, shared, width):
    """Their number is shown, and a token runs through their three matrices in every such layer."""
    plain = {
        "num_hidden_layers": 4, "hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8,
        "num_key_value_heads": 8, "num_experts": 16, "num_experts_per_tok": 2, **config,
    }  # fmt: skip
    assert architecture(plain).shared_experts == shared
    counts = count_parameters(plain)
    gate = 64 if "shared_expert_intermediate_size" in config else 0
    attention, router = 4 * 64 * 64, 64 * 16
    assert counts.shared == 4 * (attention + router + 3 * 64 * width + gate)


def test_the_first_layers_may_have_no_experts_under_any_name():
    """Arcee's Trinity says ``num_dense_layers``, DeepSeek ``first_k_dense_replace``."""
    plain = {
        "num_hidden_layers": 4, "hidden_size": 64, "vocab_size": 100, "num_attention_heads": 8,
        "num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
        "intermediate_size": 128,
    }  # fmt: skip
    for key in ("num_dense_layers", "first_k_dense_replace"):
        assert count_parameters({**plain, key: 1}).routed == 3 * 16 * 3 * 64 * 32
