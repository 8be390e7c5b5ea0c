"""The kernel path: what loads, which kernel, which arithmetic; as read in the engines' sources."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackchoice import load_facts
from stackchoice.errors import InputError
from stackchoice.facts.allocation import release_order
from stackchoice.facts.kernels import NARROWNESS
from stackchoice.fit.path import WeightPart, artifact_parts, chip_named, chip_of, paths
from stackchoice.fit.path.meaning import alternatives, executed_operand, meanings
from stackchoice.fit.path.support import caught_up
from stackchoice.fit.path.wall import ORDER, encodings_on, places_for
from stackchoice.fit.release import checked_release, reached, read_moment

FACTS = load_facts()
KERNELS = FACTS.kernels
PHASES = ("prefill", "decode")
UNQUANTISED = {encoding.id for encoding in FACTS.encodings.values() if not encoding.quantised}


def arithmetic(engine, release, chip, encoding, *, part="linear", container="", phase="prefill"):
    """Return what is multiplied, in one word."""
    asked = [WeightPart(part=part, encoding=encoding, container=container)]
    path = paths(asked, engine, release, chip_named(chip, KERNELS), FACTS)
    return getattr(path.parts[0], phase).arithmetic


# What vLLM takes by itself, by chip: each cell read anew in the wheel or thread that its row names.
VLLM = {
    # chip: NVFP4 W4A4, NVFP4 W4A16, FP8, FP8 block, INT8, INT4 W4A16
    "sm_75": ("w4a16", "w4a16", "w8a16", "w8a16", "int8xint8", "w4a16"),
    "sm_80": ("w4a16", "w4a16", "w8a16", "w8a16", "int8xint8", "w4a16"),
    "sm_86": ("w4a16", "w4a16", "w8a16", "w8a16", "int8xint8", "w4a16"),
    "sm_89": ("w4a16", "w4a16", "fp8xfp8", "fp8xfp8", "int8xint8", "w4a16"),
    "sm_90": ("w4a16", "w4a16", "fp8xfp8", "fp8xfp8", "int8xint8", "w4a16"),
    "sm_100": ("fp4xfp4", "w4a16", "fp8xfp8", "fp8xfp8", "refused", "w4a16"),
    "sm_103": ("fp4xfp4", "w4a16", "fp8xfp8", "fp8xfp8", "refused", "w4a16"),
    "sm_110": ("fp4xfp4", "w4a16", "fp8xfp8", None, None, "w4a16"),
    "sm_120": ("fp4xfp4", "w4a16", "fp8xfp8", "fp8xfp8", "refused", "w4a16"),
    "sm_121": ("fp4xfp4", "w4a16", "fp8xfp8", "fp8xfp8", "refused", "w4a16"),
    "gfx942": ("emulated", None, "fp8xfp8", "fp8xfp8", "int8xint8", "w4a16"),
    "gfx950": ("emulated", None, "fp8xfp8", "fp8xfp8", "int8xint8", "w4a16"),
}
CELLS = (("nvfp4", "compressed-tensors"), ("nvfp4_a16", "compressed-tensors"), ("fp8", "fp8"),
         ("fp8_block", "fp8"), ("int8", "compressed-tensors"), ("int4_a16", "awq"))  # fmt: skip


@pytest.mark.parametrize("chip", VLLM)
def test_vllm_0_26_by_chip(chip):
    found = [arithmetic("vllm", "0.26.0", chip, e, container=c) for e, c in CELLS]
    assert tuple(found) == VLLM[chip]


@pytest.mark.parametrize(
    ("engine", "release", "chip", "encoding", "container", "expected"),
    [
        # the weight-only algorithm of ModelOpt came with 0.22.0
        ("vllm", "0.20.2", "sm_120", "nvfp4_a16", "modelopt", "refused"),
        ("vllm", "0.22.0", "sm_120", "nvfp4_a16", "modelopt", "w4a16"),
        ("vllm", "0.33.0", "sm_100", "nvfp4_a16", "modelopt", "w4a16"),
        # from 0.32.0 another kernel comes first on 9.0, and its activations were not read
        ("vllm", "0.31.0", "sm_90", "nvfp4", "modelopt", "w4a16"),
        ("vllm", "0.32.0", "sm_90", "nvfp4", "modelopt", None),
        # block FP8 on Ada lost its native path when Marlin lost its gate (issue 58241)
        ("vllm", "0.28.0", "sm_89", "fp8_block", "fp8", "fp8xfp8"),
        ("vllm", "0.29.0", "sm_89", "fp8_block", "fp8", "w8a16"),
        ("vllm", "0.26.0", "sm_86", "fp8", "modelopt", "refused"),
        ("vllm", "0.28.0", "sm_86", "fp8", "modelopt", "w8a16"),
        ("sglang", "0.5.21", "sm_90", "nvfp4", "compressed-tensors", "refused"),
        ("sglang", "0.5.22", "sm_90", "nvfp4", "compressed-tensors", "w4a16"),
        ("sglang", "0.5.12", "sm_90", "nvfp4", "modelopt", "refused"),
        ("sglang", "0.5.14", "sm_90", "nvfp4", "modelopt", None),
        ("sglang", "0.5.15", "sm_90", "nvfp4", "modelopt", "w4a16"),
        ("sglang", "0.5.21", "sm_120", "nvfp4_a16", "compressed-tensors", "refused"),
        ("sglang", "0.5.23", "sm_110", "fp8_block", "fp8", "fp8xfp8"),
        ("tensorrt-llm", "1.2.1", "sm_120", "nvfp4", "modelopt", "fp4xfp4"),
        ("tensorrt-llm", "1.2.1", "sm_90", "nvfp4", "modelopt", "refused"),
        ("tensorrt-llm", "1.4.0rc1", "sm_90", "nvfp4", "modelopt", None),
        ("tensorrt-llm", "1.2.1", "sm_120", "fp8_block", "fp8", None),
        ("tensorrt-llm", "1.2.1", "sm_121", "fp8_block", "fp8", "refused"),
        ("mlx-lm", "0.32.2", "apple_m5", "nvfp4", "compressed-tensors", "w4a16"),
        ("mlx-lm", "0.32.2", "apple", "nvfp4_a16", "modelopt_mixed", "refused"),
        ("mlx-lm", "0.30.7", "apple", "nvfp4", "compressed-tensors", None),
        ("max", "26.7.0", "sm_100", "nvfp4", "modelopt", "fp4xfp4"),
        ("max", "26.7.0", "sm_90", "gguf_q4_k", "gguf", "refused"),
        ("transformers", "5.24.0", "sm_86", "fp8_block", "fp8", "w8a16"),
        ("transformers", "5.24.0", "sm_90", "nvfp4", "modelopt", "refused"),
        # older than anything that was read
        ("vllm", "0.6.3", "sm_90", "fp8", "fp8", None),
    ],
)  # fmt: skip
def test_a_release_decides(engine, release, chip, encoding, container, expected):
    assert arithmetic(engine, release, chip, encoding, container=container) == expected


@pytest.mark.parametrize("chip", ["sm_120", "sm_121"])
def test_llamacpp_multiplies_fp4_in_prompts_and_int8_in_single_tokens(chip):
    for encoding in ("gguf_mxfp4", "gguf_nvfp4"):
        assert arithmetic("llama.cpp", "b12464", chip, encoding) == "fp4xfp4"
        assert arithmetic("llama.cpp", "b12464", chip, encoding, phase="decode") == "int8xint8"


@pytest.mark.parametrize("chip", ["sm_75", "sm_89", "sm_100", "sm_110"])
def test_llamacpp_has_no_fp4_path_elsewhere(chip):
    assert arithmetic("llama.cpp", "b12464", chip, "gguf_nvfp4") == "int8xint8"
    assert arithmetic("llama.cpp", "b12464", chip, "gguf_q4_k") == "int8xint8"


def test_experts_of_gpt_oss_are_unpacked_by_vllm_and_not_by_sglang():
    expert = {"part": "moe", "container": "mxfp4"}
    assert arithmetic("vllm", "0.33.0", "sm_120", "mxfp4_a16", **expert) == "w4a16"
    assert arithmetic("sglang", "0.5.23", "sm_120", "mxfp4_a16", **expert) == "w4a8"


def test_what_the_file_asks_native_and_best_are_three_answers():
    """A weight-only file on a chip with FP4 units: as asked, yet neither native nor the best."""

    def one(chip, encoding):
        asked = [WeightPart(part="linear", encoding=encoding, container="modelopt")]
        found = paths(asked, "vllm", "0.26.0", chip_named(chip, KERNELS), FACTS).parts[0].prefill
        return found.as_checkpoint_declares, found.native, found.best_on_chip

    assert one("sm_120", "nvfp4_a16") == (True, False, False)
    assert one("sm_120", "nvfp4") == (True, True, True)
    assert one("sm_86", "nvfp4") == (False, False, True)
    assert one("sm_90", "nvfp4") == (False, False, False)  # FP8 units could take 4-bit floats


def test_a_refused_path_says_nothing_else():
    asked = [WeightPart(part="linear", encoding="int8")]
    path = paths(asked, "vllm", "0.33.0", FACTS.machines["rtx_5090"], FACTS)
    found = path.parts[0].prefill
    assert (path.loads, found.native, found.as_checkpoint_declares) == (False, False, False)
    assert found.operand is None
    assert found.activation_bits is None


class TestMoment:
    @pytest.mark.parametrize(
        ("text", "engine", "bound", "expected"),
        [
            ("0.24.0", "vllm", "0.22.0", True),
            ("0.26.1rc1.dev608", "vllm", "0.26.0", True),
            ("0.26.0", "vllm", "0.32.0", False),
            ("main 2026-07", "vllm", "0.22.0", True),
            ("main 2026-07", "vllm", "0.26.0", None),  # cut during that month
            ("main 2026-07", "vllm", "0.32.0", False),
            ("2026-09 before pull 40022", "sglang", "pull 40022", False),
            ("main 2026-09-20 with PR #40022", "sglang", "pull 40022", True),
            ("2026-09", "sglang", "pull 40022", None),
            ("2026-08", "sglang", "pull 40022", False),
            ("0.5.21", "sglang", "pull 40022", False),
            ("2026-09 (pull 12591)", "tensorrt-llm", "pull 12591", True),
            ("1.4.0rc4", "tensorrt-llm", "pull 12591", False),  # never merged
            ("main after 2026-03-11 (pull 36806)", "vllm", "0.10.0", True),
            ("main after 2026-03-11 (pull 36806)", "vllm", "0.32.0", None),
            ("b9479", "llama.cpp", "pull 17906", True),
            ("b8000", "llama.cpp", "pull 17906", None),
            ("2026-02", "llama.cpp", "pull 17906", True),
            ("", "vllm", "0.10.0", None),
        ],
    )  # fmt: skip
    def test_a_build_has_a_change_or_not(self, text, engine, bound, expected):
        assert reached(read_moment(text, engine, KERNELS), bound, engine, KERNELS) is expected

    @given(st.text(max_size=60))
    @settings(max_examples=150)
    def test_any_text_is_read(self, text):
        moment = read_moment(text, "vllm", KERNELS)
        assert reached(moment, "0.32.0", "vllm", KERNELS) in (True, False, None)

    def test_a_typed_release_must_say_something(self):
        assert checked_release("0.26.0", "vllm", KERNELS) == "0.26.0"
        with pytest.raises(InputError, match="no number, day or pull"):
            checked_release("newish", "vllm", KERNELS)


class TestData:
    def test_every_row_is_sourced_and_dated(self):
        for row in KERNELS.rows:
            assert row.source.as_of, row
            assert row.source.url or row.source.title, row
            assert row.engine in FACTS.engines
            assert any(row.covers(row.engine, e, row.parts[0], row.phases[0], c.id)
                       for e in FACTS.encodings for c in KERNELS.chips), row  # fmt: skip

    def test_dated_bounds_are_known(self):
        """Every bound of a release can be placed in time, or is the oldest that was read."""
        for row in KERNELS.rows:
            if row.until and not row.until.startswith("pull "):
                assert release_order(row.since.removeprefix("pull ")) != release_order(row.until)

    def test_no_two_rows_hold_for_one_release(self):
        """Rows that say different things of one case and checkpoint format have disjoint ranges."""
        for a, b in itertools.combinations(KERNELS.rows, 2):
            if a.engine != b.engine or not set(a.parts) & set(b.parts):
                continue
            if (a.arithmetic, a.operand) == (b.arithmetic, b.operand):
                continue
            if not set(a.phases) & set(b.phases):
                continue
            if a.containers and b.containers and not set(a.containers) & set(b.containers):
                continue
            formats = bool(a.containers or b.containers)
            same = any(
                a.covers(a.engine, e, p, f, c.id) and b.covers(b.engine, e, p, f, c.id)
                for e in FACTS.encodings
                if not (formats and e in UNQUANTISED)
                for p in set(a.parts) & set(b.parts) for f in set(a.phases) & set(b.phases)
                for c in KERNELS.chips
            )  # fmt: skip
            assert not same or self.apart(a, b) or self.apart(b, a), (a, b)

    @staticmethod
    def apart(first, second):
        """Whether the first row ends where, or before, the second begins."""
        if not first.until:
            return False
        if first.until == second.since:
            return True
        bounds = (first.until, second.since)
        if any(bound.startswith("pull ") for bound in bounds):
            return False
        return release_order(first.until) <= release_order(second.since)

    def test_every_machine_of_a_known_generation_is_a_chip(self):
        unknown = {m.id for m in FACTS.machines.values() if chip_of(m, KERNELS) is None}
        assert unknown == {"inf2", "rtx_spark_n1x"}

    def test_four_blackwells_are_four_chips(self):
        ids = ("b200_sxm", "b300_sxm", "jetson_thor_t5000", "rtx_5090", "dgx_spark")
        assert [chip_of(FACTS.machines[i], KERNELS).id for i in ids] == [
            "sm_100", "sm_103", "sm_110", "sm_120", "sm_121",
        ]  # fmt: skip

    def test_artifacts_name_encodings_that_exist(self):
        for model in FACTS.models.values():
            for artifact in model.artifacts:
                for part in artifact_parts(model, artifact, FACTS):
                    assert part.encoding in FACTS.encodings, artifact.id

    def test_two_downloads_say_nvfp4(self):
        """One asks for 4-bit activations, the other for 16."""
        four = FACTS.models["Qwen/Qwen3.8-27B"].artifact("Inferact/Qwen3.8-27B-NVFP4")
        sixteen = FACTS.models["Qwen/Qwen3.6-27B"].artifact("nvidia/Qwen3.6-27B-NVFP4")
        assert {p.encoding for p in four.parts.value} == {"nvfp4"}
        assert {p.encoding for p in sixteen.parts.value} == {"fp8", "nvfp4_a16"}


@given(
    st.sampled_from(sorted(FACTS.engines)), st.sampled_from(sorted(FACTS.machines)),
    st.sampled_from(sorted(FACTS.encodings)), st.sampled_from(["linear", "moe", "attention"]),
    st.sampled_from(["", "modelopt", "modelopt_mixed", "compressed-tensors", "fp8", "gguf", "new"]),
    st.sampled_from([None, "", "0.1.0", "2026-08", "99.9.9"]),
)  # fmt: skip
@settings(max_examples=400, deadline=None)
def test_the_resolver_is_total_and_consistent(engine, machine, encoding, part, container, release):
    asked = [WeightPart(part=part, encoding=encoding, container=container)]
    path = paths(asked, engine, release, FACTS.machines[machine], FACTS)
    chip = chip_of(FACTS.machines[machine], KERNELS)
    for phase in (path.parts[0].prefill, path.parts[0].decode):
        assert phase.loads is not None or phase.note, "an unknown says why"
        if phase.arithmetic is not None:
            assert phase.source is not None
            assert phase.evidence is not None
            assert phase.releases
        if phase.loads is False:
            assert phase.arithmetic == "refused"
            assert phase.native is False
        if phase.native and FACTS.encodings[encoding].quantised:
            assert NARROWNESS[phase.operand] > 0
            assert chip.runs(phase.operand) is not False
        if phase.arithmetic == "emulated":
            assert phase.native is False
            assert phase.best_on_chip is not True


class TestMeaning:
    def test_prefill_and_decode_are_told_apart(self, facts):
        machine = facts.machines["rtx_5090"]
        asked = [WeightPart(part="linear", encoding="gguf_nvfp4", container="gguf")]
        path = paths(asked, "llama.cpp", None, machine, facts)
        (found,) = meanings(path, machine)
        assert "by the data sheet 8 times the 16-bit rate" in found.prefill  # 1676 over 209.5
        assert found.decode.startswith("8-bit integers times 8-bit integers (MMVQ)")
        assert executed_operand(path) == "fp4"

    def test_other_files_and_engines_that_are_native(self, facts):
        """On an RTX 5090 the weight-only file is unpacked; FP4 is to be had elsewhere or not."""
        model = facts.models["Qwen/Qwen3.8-27B"]
        machine = facts.machines["rtx_5090"]
        fp8 = model.artifact("Qwen/Qwen3.8-27B-FP8")
        path = paths(fp8.parts.value, "vllm", None, machine, facts)
        found = {
            (a.engine, a.arithmetic) for a in alternatives(model, path, fp8.id, machine, facts)
        }
        assert ("vLLM", "fp4xfp4") in found
        assert ("SGLang", "fp4xfp4") in found
        assert not any(engine == "TensorRT-LLM" for engine, _ in found)  # no such architecture

    @pytest.mark.parametrize(
        ("model", "engine", "release", "name", "answer", "since"),
        [
            ("deepseek-ai/DeepSeek-V4-Flash", "vllm", "0.19.1", "registered", "no", "0.20.0"),
            ("deepseek-ai/DeepSeek-V4-Flash", "vllm", "0.20.0", "registered", "yes", "0.20.0"),
            ("Qwen/Qwen3.8-27B", "mlx-lm", None, "draft head", "no", ""),
            ("Qwen/Qwen3.8-27B", "mlx-lm", None, "vision", "no", ""),
            ("Qwen/Qwen3.8-27B", "vllm", "0.27.1", "prefix caching with recurrent state", "no",
             "0.28.0"),
            ("Qwen/Qwen3.8-27B", "vllm", "0.28.0", "prefix caching with recurrent state", "yes",
             "0.28.0"),
            ("Qwen/Qwen3.8-27B", "vllm", "0.26.0", "cache modelled", "yes", ""),
            ("Qwen/Qwen3.8-27B", "max", None, "cache modelled", "unknown", ""),
        ],
    )  # fmt: skip
    def test_has_the_release_caught_up(self, facts, model, engine, release, name, answer, since):
        known = facts.models[model]
        vision = "image" in (known.modalities.value or [])
        found = caught_up(known.config.value, engine, release, facts, vision=vision)
        row = next(f for f in found if f.name == name)
        assert (row.answer, row.since) == (answer, since)


class TestWall:
    def test_encodings_of_an_engine_are_listed_best_first(self, facts):
        rows = encodings_on("vllm", None, facts.machines["rtx_5090"], facts)
        ranks = [ORDER.index(row.verdict) for row in rows]
        assert ranks == sorted(ranks)
        verdicts = {(r.encoding, r.part): r.verdict for r in rows if "modelopt" in r.containers}
        assert verdicts["nvfp4", "linear"] == "native"
        assert verdicts["nvfp4_a16", "linear"] == "as the file asks"
        assert {r.verdict for r in rows if r.encoding == "int8" and r.part == "linear"} == {
            "refused"
        }

    def test_formats_that_fare_alike_share_a_row(self, facts):
        rows = encodings_on("sglang", "0.5.20", facts.machines["h100_sxm"], facts)
        found = {tuple(r.containers): r.verdict for r in rows
                 if (r.encoding, r.part) == ("nvfp4", "linear")}  # fmt: skip
        assert found == {("compressed-tensors",): "refused", ("modelopt",): "falls back"}

    def test_places_of_a_file(self, facts):
        model = facts.models["Qwen/Qwen3.8-27B"]
        parts = model.artifact("Inferact/Qwen3.8-27B-NVFP4").parts.value
        rows = places_for(parts, facts, file_format="safetensors")
        found = {(r.engine_id, r.chip): r.verdict for r in rows}
        assert found["vllm", "sm_120"] == "native"
        assert found["vllm", "sm_89"] == "falls back"
        assert found["mlx-lm", "apple_m5"] == "falls back"
        assert found["tensorrt-llm", "sm_90"] == "refused"
        assert not any(engine == "llama.cpp" for engine, _ in found)  # reads GGUF alone
        assert ("vllm", "sm_70") not in found  # below the engine's lowest capability


def test_a_library_with_kernels_of_its_own_is_not_the_engines_table():
    """TorchAO multiplies itself: what vLLM's CUTLASS refuses says nothing of such a file."""
    assert arithmetic("vllm", "0.33.0", "sm_100", "int8", container="compressed-tensors") == (
        "refused"
    )
    assert arithmetic("vllm", "0.33.0", "sm_100", "int8", container="torchao") is None
    assert arithmetic("vllm", "0.33.0", "sm_80", "fp8_channel", container="torchao") is None


@pytest.mark.parametrize(
    ("release", "container", "found"),
    [("0.26.0", "quark", "emulated"), ("0.28.0", "quark", "fp4xfp4"), ("0.27.0", "quark", None),
     ("0.26.0", "compressed-tensors", "fp4xfp4")],
)  # fmt: skip
def test_quark_microscaling_off_amd(release, container, found):
    """quark_ocp_mx.py: emulated in 0.26.0, the table of kernels from 0.28.0 on."""
    assert arithmetic("vllm", release, "sm_100", "mxfp4", container=container) == found
