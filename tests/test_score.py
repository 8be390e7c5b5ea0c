"""The score room: how a line is judged, read and counted, and the bars of the public cases."""

import json

import pytest
from typer.testing import CliRunner

from stackchoice.cli import app
from stackchoice.errors import ScoreError
from stackchoice.facts import data_dir, load_facts
from stackchoice.score import capacity, score_file, score_lines
from stackchoice.score.files import read_config
from stackchoice.score.given import Unknown, engine_id
from stackchoice.score.judge import judge
from stackchoice.score.run import score_public

LLAMA = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
         "hidden_size": 4096, "dtype": "bfloat16"}  # fmt: skip
#: Ask, least share right.
BARS = {
    "kv_bytes_per_token": 0.97, "state_bytes_per_sequence": 0.97, "cache_bytes": 0.97,
    "block_layout": 0.97, "pool_blocks": 0.97, "max_model_len": 0.97, "pool_tokens": 0.95,
    "max_concurrency": 0.95, "weights_bytes": 0.85, "memory_for_cache_bytes": 0.85, "fits": 0.85,
    "prefix_cache_hit": 0.85, "read_config": 0.9,
}  # fmt: skip


@pytest.fixture(scope="module")
def public():
    return score_file(data_dir() / "cases.jsonl")


def line(**changes):
    return {
        "id": "a", "case": "a", "ask": "kv_bytes_per_token", "answer": {"bytes": 131_072},
        "given": {"engine": "vllm", "config": LLAMA, "kv_dtype": "bf16", "tp": 1},
        "tolerance": 0, **changes,
    }  # fmt: skip


class TestJudge:
    @pytest.mark.parametrize(
        ("predicted", "answer", "tolerance", "right"),
        [
            ({"bytes": 100}, {"bytes": 100}, 0, True),
            ({"bytes": 101}, {"bytes": 100}, 0, False),
            ({"bytes": 101}, {"bytes": 100}, 0.01, True),
            ({"requests": 6.7049}, {"requests": 6.70}, 0, True),
            ({"requests": 6.706}, {"requests": 6.70}, 0, False),
            ({}, {"bytes": 1}, 0, False),
            ({"hit": True}, {"hit": False}, 0.02, False),
            ({"hit": True, "hit_fraction": 0.5}, {"hit": True, "hit_fraction": 0.5}, 0, True),
            ({"warnings": ["b", "a"]}, {"warnings": ["a", "b"]}, 0, True),
            ({"requests": 3}, {"requests": 3, "low": 2, "high": 9}, 0, True),
            ({"t": 5, "low": 4, "high": 6}, {"t": 5.9}, None, True),
            ({"t": 5, "low": 4, "high": 6}, {"t": 6.1}, None, False),
            ({"t": 5}, {"t": 5}, None, False),
        ],
    )
    def test_right_or_wrong(self, predicted, answer, tolerance, right):
        assert judge(predicted, answer, tolerance)[0] is right


class TestRun:
    def test_shape(self):
        score = score_lines([line(), line(id="b", ask="kernel_path")])
        one, two = score.lines
        assert one.right
        assert one.predicted == {"bytes": 32 * 2 * 8 * 128 * 2}
        assert two.predicted is None
        assert two.reason.startswith("unknown")
        assert score.by_ask["kv_bytes_per_token"].share_right == 1
        assert score.by_ask["kernel_path"].unknown == 1

    def test_a_fork_is_not_its_engine_and_stays_apart(self):
        facts = load_facts()
        assert engine_id("ik_llama.cpp", facts) is None
        assert engine_id("lm-studio (mlx)", facts) == "lm-studio"
        score = score_lines([line(given={**line()["given"], "engine": "ik_llama.cpp"})])
        assert score.outside == ["a"]
        assert score.by_ask["kv_bytes_per_token"].lines == 0

    def test_lines_on_assumed_settings_are_ledger_only(self, public):
        assert {x.split(".")[0] for x in public.outside} >= {"hyb-0018", "swa-0002", "swa-0003"}

    def test_a_config_that_is_not_modelled_is_unknown_not_an_error(self):
        config = {**LLAMA, "layer_types": ["mystery"] * 32}
        score = score_lines([line(given={**line()["given"], "config": config})])
        assert score.lines[0].predicted is None
        assert "mystery" in score.lines[0].reason

    def test_a_missing_input_is_named(self):
        score = score_lines([line(ask="pool_blocks", answer={"blocks": 1})])
        assert "memory_for_cache_bytes" in score.lines[0].reason

    @pytest.mark.parametrize(("text", "named"), [("{", ":1: not JSON"), ("[]", ":1: has no"),
                                                 ('{"id": 1}', "answer, ask, given")])  # fmt: skip
    def test_a_broken_file_is_named_with_its_line(self, tmp_path, text, named):
        path = tmp_path / "q.jsonl"
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ScoreError, match=named):
            score_file(path)
        with pytest.raises(ScoreError, match="cannot be read"):
            score_file(tmp_path / "none.jsonl")

    def test_nothing_but_what_is_given_decides(self):
        """Another id, case, note, page and answer change no prediction."""
        rows = [
            json.loads(row)
            for row in (data_dir() / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        ]
        blind = [
            {**r, "id": str(i), "case": str(i), "note": "", "source_url": None, "date": None,
             "answer": dict.fromkeys(r["answer"])}
            for i, r in enumerate(rows) if r["ask"] in BARS
        ]  # fmt: skip
        seen = [x.predicted for x in score_lines(rows).lines if x.ask in BARS]
        assert [x.predicted for x in score_lines(blind).lines] == seen


@pytest.mark.parametrize(("ask", "least"), BARS.items())
def test_bars_of_the_public_cases(public, ask, least):
    tally = public.by_ask[ask]
    assert tally.share_right >= least


def test_no_wrong_answer_is_confident(public):
    """What is not right among the capacity lines is unknown, with a reason."""
    wrong = [x for x in public.lines if x.ask in BARS and x.counted and not x.right]
    assert [x.id for x in wrong if x.predicted is not None] == []
    assert all(x.reason for x in wrong)


def test_the_command_prints_both_forms():
    path = str(data_dir() / "cases.jsonl")
    text = CliRunner().invoke(app, ["score"])
    assert text.exit_code == 0
    assert "kv_bytes_per_token" in text.output
    found = json.loads(CliRunner().invoke(app, ["score", path, "--json"]).output)
    assert {"id", "ask", "predicted", "right", "reason"} <= set(found["lines"][0])
    assert found["by_ask"]["block_layout"]["right"] == 11


class TestReadConfig:
    """Files as questions give them; what each says was worked out by hand."""

    def ask(self, facts, **given):
        return read_config(given, facts)

    def test_every_line_of_the_public_cases_is_right(self, facts):
        tally = score_public(["read_config"], facts).by_ask["read_config"]
        assert tally.lines == tally.right == 6
        assert tally.share_keys_right == 1

    def test_latents_between_recurrent_layers_in_lists_that_begin_at_one(self, facts):
        text = {
            "num_hidden_layers": 8, "num_attention_heads": 96, "num_key_value_heads": 96,
            "kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
            "v_head_dim": 128, "num_experts": 896, "first_k_dense_replace": 1,
            "linear_attn_config": {
                "full_attn_layers": [4, 8], "kda_layers": [1, 2, 3, 5, 6, 7], "head_dim": 128,
                "num_heads": 96, "short_conv_kernel_size": 4},
            "quantization_config": {
                "quant_method": "compressed-tensors", "format": "mxfp4-pack-quantized",
                "config_groups": {"group_0": {
                    "input_activations": None,
                    "weights": {"num_bits": 4, "type": "float", "group_size": 32}}}},
        }  # fmt: skip
        answer = self.ask(facts, config={"text_config": text}, model_name="x/Model")
        expected = {
            "cache_kind": "hybrid_mla_linear", "full_attention_layers": 2, "linear_layers": 6,
            "moe_layers": 7, "latent_values_per_token": 576, "weight_encoding": "mxfp4",
            "four_bit_activation_bits": 16, "warnings": ["one_based_layer_lists"],
        }  # fmt: skip
        assert {k: answer[k] for k in expected} == expected

    def test_a_head_size_under_an_older_key(self, facts):
        config = {
            "model_type": "nemotron_h", "num_hidden_layers": 4, "hidden_size": 8192,
            "num_attention_heads": 64, "num_key_value_heads": 8, "attention_head_dim": 128,
            "hybrid_override_pattern": "M-*-", "mamba_num_heads": 256, "mamba_head_dim": 64,
            "n_groups": 8, "ssm_state_size": 256, "conv_kernel": 4, "torch_dtype": "bfloat16",
        }  # fmt: skip
        answer = self.ask(facts, config=config)
        assert answer["warnings"] == ["head_dim_key_differs"]
        assert (answer["cache_kind"], answer["head_dim"]) == ("hybrid_mamba", 128)
        assert (answer["weight_encoding"], answer["activation_bits"]) == ("bf16", 16)

    def test_only_the_side_file_says_it_and_with_activations(self, facts):
        config = {"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512}
        answer = self.ask(
            facts, config=config, model_name="team/Model-NVFP4",
            hf_quant_config={"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}},
        )  # fmt: skip
        assert answer["warnings"] == ["encoding_only_in_hf_quant_config"]
        assert (answer["weight_encoding"], answer["activation_bits"]) == ("nvfp4", 4)
        assert answer["kv_cache_encoding"] == "fp8"

    def test_experts_only(self, facts):
        config = {
            "model_type": "gpt_oss", "num_hidden_layers": 4, "num_attention_heads": 64,
            "num_key_value_heads": 8, "head_dim": 64, "sliding_window": 128,
            "num_local_experts": 32, "quantization_config": {"quant_method": "mxfp4"},
        }  # fmt: skip
        answer = self.ask(facts, config=config)
        assert (answer["sliding_layers"], answer["full_attention_layers"]) == (2, 2)
        assert (answer["expert_encoding"], answer["moe_layers"]) == ("mxfp4", 4)

    def test_layers_of_an_unknown_kind_are_unknown(self, facts):
        with pytest.raises(Unknown, match="not known"):
            self.ask(facts, config={"num_hidden_layers": 2, "layer_types": ["new", "new"]})


@pytest.mark.parametrize(
    ("change", "answer"),
    [
        ({"sliding_window": 4096, "max_position_embeddings": 32768}, None),
        ({"sliding_window": 262144, "max_position_embeddings": 131072}, 131072),
        ({"sliding_window": None}, 131072),
    ],
)
def test_sliding_layers_that_a_question_leaves_open(change, answer):
    config = {"model_type": "mistral", "num_hidden_layers": 32, "num_attention_heads": 32,
              "num_key_value_heads": 8, "hidden_size": 4096, **change}  # fmt: skip
    ask = capacity.ASKS["kv_bytes_per_token"]
    given = {"config": config, "kv_dtype": "bf16", "tp": 1}
    if answer is None:
        with pytest.raises(Unknown, match="slide"):
            ask(given, load_facts())
    else:
        assert ask(given, load_facts()) == {"bytes": answer}
