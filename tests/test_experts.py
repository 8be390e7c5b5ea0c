"""Which layers have routed experts: notations of published configs, counted by hand."""

import pytest

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
