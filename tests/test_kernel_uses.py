"""The kernel path where it is used: questions, command line, decision, report, inspected files."""

import json
from datetime import date

import pytest
from typer.testing import CliRunner

from stackchoice import decide, load_facts, load_scenario
from stackchoice.cli import app
from stackchoice.errors import InputError, ScenarioError
from stackchoice.facts.kernels import KernelFacts
from stackchoice.fit.speed import batch_one_speed
from stackchoice.kernels import engine_wall, model_wall
from stackchoice.present.kernels import KernelPanel, engine_table, path_table
from stackchoice.present.report import Report
from stackchoice.score import score_lines
from stackchoice.score.given import Unknown
from stackchoice.score.kernels import kernel_path

FACTS = load_facts()
QWEN = "Qwen/Qwen3.8-27B"
NVFP4 = "Inferact/Qwen3.8-27B-NVFP4"
HOSTILE = "<script>alert(1)</script>\x1b[2J"


def group(bits, kind, *, activations=None, strategy="tensor", size=None):
    """Return one group of a compressed-tensors declaration."""
    weights = {"num_bits": bits, "type": kind, "strategy": strategy, "group_size": size,
               "symmetric": True}  # fmt: skip
    said = None
    if activations:
        said = {"num_bits": activations, "type": kind, "dynamic": True, "symmetric": True,
                "strategy": "token" if activations == 8 else "tensor_group",
                "group_size": size if activations == 4 else None}  # fmt: skip
    return {"targets": ["Linear"], "weights": weights, "input_activations": said}


def compressed(layout, only):
    return {"quantization_config": {
        "quant_method": "compressed-tensors", "format": layout, "ignore": ["lm_head"],
        "config_groups": {"group_0": {**only, "format": layout}},
    }}  # fmt: skip


def modelopt(algorithm, **more):
    return {"hf_quant_config": {"quantization": {
        "quant_algo": algorithm, "exclude_modules": ["lm_head"], **more,
    }}}  # fmt: skip


CT_NVFP4 = compressed(
    "nvfp4-pack-quantized", group(4, "float", activations=4, strategy="tensor_group", size=16)
)
CT_NVFP4_A16 = compressed(
    "nvfp4-pack-quantized", group(4, "float", strategy="tensor_group", size=16)
)
CT_INT8 = compressed("int-quantized", group(8, "int", activations=8, strategy="channel"))
CT_FP8 = compressed("float-quantized", group(8, "float", activations=8, strategy="channel"))
BLOCKS = {"quantization_config": {
    "quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic",
}}  # fmt: skip


def asked(files, engine="vllm", release="0.26.0", arch="sm_120", **more):
    given = {"engine": engine, "engine_version": release, "gpu": {"arch": arch, "count": 1},
             **files, **more}  # fmt: skip
    return kernel_path(given, FACTS)


class TestQuestion:
    @pytest.mark.parametrize(
        ("files", "engine", "release", "arch", "arithmetic", "native", "as_asked"),
        [
            # Full FP4 where the chip has it and the file declares it.
            (CT_NVFP4, "vllm", "0.26.0", "sm_120", "fp4xfp4", True, True),
            (modelopt("NVFP4", group_size=16), "vllm", "0.26.0", "sm_100", "fp4xfp4", True, True),
            # The same file where it is unpacked instead.
            (CT_NVFP4, "vllm", "0.26.0", "sm_90", "w4a16", False, False),
            (CT_NVFP4, "vllm", "0.26.0", "sm_89", "w4a16", False, False),
            # Weight-only files are unpacked everywhere, as they ask.
            (CT_NVFP4_A16, "vllm", "0.26.0", "sm_100", "w4a16", False, True),
            (CT_NVFP4_A16, "vllm", "0.26.0", "sm_90", "w4a16", False, True),
            # FP8: Ada has it, Ampere unpacks it.
            (CT_FP8, "vllm", "0.26.0", "sm_89", "fp8xfp8", True, True),
            (CT_FP8, "vllm", "0.26.0", "sm_80", "w8a16", False, False),
            # INT8 on Blackwell ends at startup (issue 54311).
            (CT_INT8, "vllm", "0.33.0", "sm_100", "refused", False, False),
            (CT_INT8, "vllm", "0.26.0", "sm_80", "int8xint8", True, True),
            # One format and chip, two releases: blocks of FP8 on Ada.
            (BLOCKS, "vllm", "0.28.0", "sm_89", "fp8xfp8", True, True),
            (BLOCKS, "vllm", "0.33.0", "sm_89", "w8a16", False, False),
            # SGLang refused below 10.0 until 0.5.22 and unpacks since.
            (CT_NVFP4, "sglang", "0.5.21", "sm_90", "refused", False, False),
            (CT_NVFP4, "sglang", "0.5.22", "sm_90", "w4a16", False, False),
        ],
    )  # fmt: skip
    def test_vectors(self, files, engine, release, arch, arithmetic, native, as_asked):
        found = asked(files, engine, release, arch)
        assert found["arithmetic"] == arithmetic
        assert (found["native"], found["as_checkpoint_declares"]) == (native, as_asked)
        if arithmetic == "refused":
            assert found["weight_bits"] is None
            assert found["activation_bits"] is None

    def test_bits_are_those_of_the_arithmetic(self):
        found = asked(CT_NVFP4, arch="sm_90")
        assert (found["weight_bits"], found["activation_bits"]) == (4, 16)

    def test_a_machine_is_found_by_its_name_where_no_architecture_is_given(self):
        given = {"engine": "vllm", "engine_version": "0.26.0", "gpu": {"name": "RTX 5090"}}
        assert kernel_path({**given, **CT_NVFP4}, FACTS)["arithmetic"] == "fp4xfp4"

    @pytest.mark.parametrize(
        ("files", "more", "says"),
        [
            (CT_NVFP4, {"engine": "tgi"}, "no kernels of engine"),
            (CT_NVFP4, {"arch": "sm_200"}, "no chip"),
            (CT_NVFP4, {"release": "before anything"}, "sources differ|not known"),
            (CT_NVFP4, {"settings": {"moe_backend": "marlin"}}, "set by hand"),
            ({}, {}, "no file declares"),
            (modelopt("NVFP9"), {}, "cannot be read"),
            # The rows for Hopper from 0.32.0 name a kernel whose activations nobody read.
            (CT_NVFP4, {"release": "0.32.0", "arch": "sm_90"}, "not read|sources differ"),
        ],
    )
    def test_what_is_not_known_is_said(self, files, more, says):
        with pytest.raises(Unknown, match=says):
            asked(files, **more)

    def test_an_automatic_backend_is_no_forced_one(self):
        assert asked(CT_NVFP4, settings={"moe_backend": "auto"})["arithmetic"] == "fp4xfp4"

    def test_files_that_disagree_are_unknown_only_where_the_answer_depends_on_them(self):
        both = {**CT_NVFP4, **modelopt("W4A16_NVFP4", group_size=16)}
        with pytest.raises(Unknown):
            asked(both, arch="sm_120")

    def test_the_answer_rests_on_what_is_given(self):
        """No name of a model, page or case: an empty source changes nothing."""
        given = {"engine": "vllm", "engine_version": "0.26.0", "gpu": {"arch": "sm_90"}, **CT_NVFP4}
        rows = [{"id": str(i), "ask": "kernel_path", "given": given, "answer": {}, **page}
                for i, page in enumerate(({}, {"source_url": "https://a.b/c"}))]  # fmt: skip
        one, other = score_lines(rows, FACTS).lines
        assert one.predicted == other.predicted == kernel_path(given, FACTS)


class TestCommand:
    def run(self, *arguments):
        return CliRunner().invoke(app, ["kernels", *arguments])

    def test_an_engine_on_a_machine(self):
        text = self.run("--engine", "vllm==0.33.0", "--machine", "dgx_spark").output
        assert "vLLM 0.33.0 on" in text
        for level in ("native", "as the file asks", "refused", "unknown"):
            assert f"\n  {level}\n" in text

    def test_a_model_in_an_engine_on_a_machine(self):
        text = self.run("--model", QWEN, "--artifact", NVFP4, "--engine", "vllm",
                        "--machine", "rtx_5090").output  # fmt: skip
        assert "loads" in text
        assert "fp4xfp4" in text

    def test_where_a_model_is_native(self):
        found = self.run("--model", QWEN, "--artifact", NVFP4, "--json")
        wall = json.loads(found.output)
        native = {(p["engine_id"], p["chip"]) for p in wall["places"] if p["verdict"] == "native"}
        assert ("vllm", "sm_120") in native
        assert not any(chip in ("sm_90", "sm_89") for _, chip in native)

    def test_json_is_the_librarys_answer(self):
        found = self.run("--engine", "sglang", "--machine", "h100_sxm", "--json")
        expected = engine_wall("sglang", "h100_sxm", FACTS)
        assert json.loads(found.output) == json.loads(expected.model_dump_json())

    def test_a_path_is_read_as_a_checkpoint(self, tmp_path):
        config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64,
                  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "intermediate_size": 128, "vocab_size": 100, "head_dim": 16,
                  "torch_dtype": "bfloat16"}  # fmt: skip
        (tmp_path / "config.json").write_text(json.dumps(config))
        found = model_wall(str(tmp_path), engine="vllm", machine="rtx_5090", facts=FACTS)
        assert {p.prefill.arithmetic for p in found.path.parts} == {"16-bit"}

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ([], "--engine and --machine, or --model"),
            (["--engine", "vllm"], "--engine and --machine, or --model"),
            (["--engine", "vllm", "--machine", "nothing"], "nothing"),
            (["--engine", "nothing", "--machine", "l4"], "nothing"),
            (["--engine", "vllm==newish", "--machine", "l4"], "newish"),
            (["--engine", "vllm", "--machine", "l4", "--artifact", "a"], "--artifact belongs"),
            (["--model", QWEN, "--artifact", "a/b"], "a/b"),
            (["--model", "no/such"], "no/such"),
        ],
    )
    def test_a_wrong_word_is_named(self, arguments, says):
        found = self.run(*arguments)
        assert found.exit_code != 0
        assert isinstance(found.exception, InputError | ScenarioError)
        assert says in str(found.exception)
        assert "\n" not in str(found.exception)


def scenario(artifact, machine):
    worked = load_scenario("json-chat")
    choice = worked.candidates.machines[0].model_copy(
        update={"id": machine, "count": 1, "devices_per_replica": 1, "interconnect": None}
    )
    return worked.model_copy(update={
        "model": worked.model.model_copy(update={"id": QWEN, "artifacts": [artifact]}),
        "candidates": worked.candidates.model_copy(update={"machines": [choice]}),
    })  # fmt: skip


def with_row(facts, **changes):
    """Return facts in which every row of vLLM for NVFP4 says something else."""
    rows = [
        row.model_copy(update=changes) if row.engine == "vllm" and "nvfp4" in row.encodings else row
        for row in facts.kernels.rows
    ]
    return with_rows(facts, rows)


def with_rows(facts, rows):
    # Built anew: a copy would keep what the other rows were sorted into.
    kernels = KernelFacts.model_construct(**{**dict(facts.kernels), "rows": rows})
    return facts.model_copy(update={"kernels": kernels})


@pytest.fixture(scope="module")
def native():
    """The worked traffic with full FP4 on a card that has it."""
    return decide(scenario(NVFP4, "rtx_5090"), FACTS)


@pytest.fixture
def panel():
    return KernelPanel(FACTS, artifact=NVFP4)


class TestDecision:
    @staticmethod
    def of(decision, engine="vLLM"):
        return next(c for c in decision.candidates if c.engine == engine)

    def test_a_native_path_is_no_condition(self, native):
        found = self.of(native)
        assert found.fallback == ""
        assert not any("kernels" in text for text in found.unknown)

    def test_a_refused_file_is_eliminated_with_its_reason(self):
        facts = with_row(FACTS, arithmetic="refused", kernel="none", note="no such kernel")
        found = self.of(decide(scenario(NVFP4, "rtx_5090"), facts))
        assert found.status == "eliminated"
        assert found.question == "hardware fit"
        assert "has no kernel for NVFP4 (W4A4)" in found.reason
        assert "no such kernel" in found.reason

    def test_a_fallback_is_kept_and_marked(self):
        facts = with_row(FACTS, arithmetic="unpacked", kernel="Marlin")
        decision = decide(scenario(NVFP4, "rtx_5090"), facts)
        found = self.of(decision)
        assert "NVFP4 (W4A4) runs as w4a16 (Marlin)" in found.fallback
        option = next(o for o in decision.options if o.name == "vLLM")
        if option.status != "eliminated":
            assert any("accept that it runs not as the file asks" in c for c in option.conditions)

    def test_an_unread_path_is_unknown_and_eliminates_nothing(self):
        facts = with_rows(FACTS, [])
        found = self.of(decide(scenario(NVFP4, "rtx_5090"), facts))
        assert "has kernels for" in " ".join(found.unknown)
        assert "no kernel for" not in found.reason

    def test_emulation_is_no_known_speed(self):
        facts = with_row(FACTS, arithmetic="emulated", kernel="reference")
        found = self.of(decide(scenario(NVFP4, "rtx_5090"), facts))
        assert any("emulated kernels" in text for text in found.unknown)

    def test_the_trace_names_the_path_with_its_source(self, native):
        steps = [step for step in native.trace if step.rule == "kernel-path"]
        if native.fit.kernels is None:
            pytest.fail("the best configuration has no kernel path")
        assert len(steps) == len([p for p in native.fit.kernels.parts if p.prefill.arithmetic])
        assert all(step.facts for step in steps)


class TestSpeed:
    @pytest.mark.parametrize(
        ("operand", "field"),
        [("fp4", "fp4_dense_tflops"), ("fp8", "fp8_dense_tflops"), ("16-bit", "bf16_dense_tflops")],
    )
    def test_the_prefill_ceiling_is_of_what_runs(self, operand, field):
        model, machine = FACTS.models[QWEN], FACTS.machines["rtx_5090"]
        speed = batch_one_speed(
            model, model.artifact(NVFP4), machine, FACTS.efficiencies, operand=operand
        )
        rate = getattr(machine, field).value * 1e12
        active = model.active_parameters.value or model.parameters.value
        assert speed.prefill_ceiling_tokens_per_s == pytest.approx(rate / (2 * active))

    def test_without_a_path_it_is_of_what_the_file_asks(self):
        model, machine = FACTS.models[QWEN], FACTS.machines["rtx_5090"]
        asks = model.artifact(NVFP4)
        unread, full = (
            batch_one_speed(model, asks, machine, FACTS.efficiencies, operand=operand)
            for operand in (None, "fp4")
        )
        assert unread == full

    def test_an_engines_own_int8_moves_the_ceiling_and_not_the_interval(self):
        model, machine = FACTS.models[QWEN], FACTS.machines["rtx_5090"]
        weight_only = next(
            a for a in model.artifacts if a.format == "gguf" and a.weights_bytes.known
        )
        plain, int8 = (
            batch_one_speed(model, weight_only, machine, FACTS.efficiencies, operand=operand)
            for operand in ("16-bit", "int8")
        )
        assert int8.prefill_ceiling_tokens_per_s > plain.prefill_ceiling_tokens_per_s
        assert int8.prefill == plain.prefill


class TestShown:
    def test_three_levels_prefill_and_decode(self, panel):
        html = path_table(panel.wall).html
        for words in ("fp4xfp4", "prefill", "decode", "loads"):
            assert words in html.lower()

    def test_another_machine_is_another_path(self, panel):
        panel.set("machine", "l40s")
        assert panel.error == ""
        assert {p.prefill.arithmetic for p in panel.wall.path.parts} >= {"w4a16"}

    def test_a_refused_release_keeps_what_stood_and_is_escaped(self, panel):
        before = panel.wall
        panel.set("release", HOSTILE)
        assert panel.error
        assert panel.wall is before
        assert "<script>" not in panel.message.value + panel.view.value
        panel.set("release", "newest")
        assert panel.error == ""

    def test_another_model_brings_its_own_weights(self, panel):
        panel.set("model", "openai/gpt-oss-20b")
        assert panel.values["artifact"].startswith("openai/")

    def test_the_wall_of_an_engine(self):
        html = engine_table(FACTS, "vllm==0.33.0", "rtx_5090").html
        assert "NVFP4 (W4A4)" in html
        assert "fp4xfp4" in html

    def test_the_report_shows_the_best_configurations_path(self, native):
        asked = scenario(NVFP4, "rtx_5090")
        shown = Report(scenario=asked, facts=FACTS, decision=native, today=date(2026, 11, 29))
        assert native.fit.kernels.parts[0].prefill.arithmetic in shown.section("kernels").html

    def test_what_facts_say_is_escaped(self):
        facts = with_row(FACTS, kernel=HOSTILE, note=HOSTILE)
        panel = KernelPanel(facts, artifact=NVFP4)
        html = path_table(panel.wall).html + engine_table(facts, "vllm", "rtx_5090").html
        assert "<script>" not in html
        assert "&lt;script&gt;" in html

    def test_a_terminal_gets_no_control_characters(self, monkeypatch):
        import stackchoice.kernels as by_name

        monkeypatch.setattr(by_name, "load_facts", lambda: with_row(FACTS, kernel=HOSTILE))
        found = CliRunner().invoke(app, ["kernels", "--engine", "vllm", "--machine", "rtx_5090"])
        assert "NVFP4" in found.output
        assert "\x1b" not in found.output
