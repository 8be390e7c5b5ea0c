"""``inspect`` as people see it: text, JSON, the kernel path, errors in one line."""

import json
import subprocess
import sys

import pytest
from checkpoints import DENSE, nvfp4_packed, tensors_of, write_checkpoint, write_gguf

from stackchoice.errors import InputError
from stackchoice.kernels import with_paths
from stackchoice.present.checkpoint import describe_checkpoint
from stackchoice.read import Inspection, inspect_checkpoint

WEIGHT_ONLY = {
    "quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized", "ignore": ["lm_head"],
    "kv_cache_scheme": {"num_bits": 8, "type": "float"},
    "config_groups": {"group_0": {"targets": ["Linear"], "input_activations": None, "weights": {
        "num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}}},
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    config = DENSE | {"quantization_config": WEIGHT_ONLY}
    return write_checkpoint(
        tmp_path_factory.mktemp("x") / "Model-NVFP4", config, [tensors_of(nvfp4_packed)],
        presets={"temperature": 0.6, "top_p": 0.95},
    )  # fmt: skip


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "stackchoice.cli", "inspect", *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_json_is_the_report(folder):
    found = run(folder, "--json", "--hash")
    assert found.returncode == 0, found.stderr
    expected = inspect_checkpoint(folder, whole_hash=True)
    assert json.loads(found.stdout) == json.loads(expected.model_dump_json())
    assert Inspection.model_validate_json(found.stdout) == expected


def test_the_text_begins_with_what_contradicts(folder):
    lines = describe_checkpoint(inspect_checkpoint(folder)).splitlines()
    assert lines[0].startswith("Model-NVFP4  (safetensors, 4 files")
    assert lines[2:4] == ["1 contradiction", "  ! name_says_nvfp4_but_weight_only"]
    text = "\n".join(lines)
    assert "2 x full attention, 2 heads of 64" in text
    assert "fp8 (config.json)" in text
    assert "temperature 0.6, top_p 0.95 (generation_config.json)" in text
    assert "taken as defaults by vllm, sglang" in text
    row = next(line for line in lines if line.startswith("  NVFP4 weights only"))
    assert row.split()[6:] == [
        "16)", "4", "16", "14", "0.001", "attention", "8,", "linear", "6",
    ]  # fmt: skip


def test_a_config_alone_is_headed_by_its_file_too(tmp_path):
    folder = write_checkpoint(tmp_path / "Downloads", DENSE, [])
    text = describe_checkpoint(inspect_checkpoint(folder / "config.json"))
    assert text.startswith("Downloads, config.json  (config, 1 file)")
    assert describe_checkpoint(inspect_checkpoint(folder)).startswith("Downloads  (")


def test_hostile_names_are_made_safe(tmp_path):
    config = DENSE | {
        "architectures": ["\x1b[2J\u202egnp.exe\nrm -rf"], "_name_or_path": "\x1b]0;title\x07",
        "quantization_config": {"quant_method": "\x1b[31mred\r\n", "bits": 4},
    }  # fmt: skip
    folder = write_checkpoint(tmp_path / "m", config, [])
    text = describe_checkpoint(inspect_checkpoint(folder))
    assert all(c.isprintable() or c == "\n" for c in text)
    path = write_gguf(tmp_path / "m.gguf", "Q8_0", metadata=[("add_author", "\x1b[2J")])
    assert all(c.isprintable() or c == "\n" for c in describe_checkpoint(inspect_checkpoint(path)))


def test_weights_only_are_not_multiplied_in_four_bits_where_the_chip_could(folder, facts):
    found = with_paths(inspect_checkpoint(folder), "vllm==0.26.0", "rtx_5090", facts)
    linear = next(p for p in found.path_there.parts if p.part.encoding == "nvfp4_a16")
    assert (linear.prefill.loads, linear.prefill.native) == (True, False)
    assert linear.prefill.activation_bits == 16
    assert linear.prefill.as_checkpoint_declares
    assert linear.prefill.best_on_chip is False
    assert found.loads is True
    plain = {"path_there": None, "features": [], "loads": None, "loads_why": ""}
    assert found.model_copy(update=plain) == inspect_checkpoint(folder)


@pytest.mark.parametrize(
    ("engine", "loads", "why"),
    [
        ("vllm==0.19.1", False, "registered: no, first 0.20.0"),
        ("llama.cpp", False, "file format: no"),
        ("vllm==0.33.0", True, ""),
    ],
)
def test_a_release_without_the_architecture_or_the_format_loads_nothing(
    tmp_path, facts, engine, loads, why
):
    """DeepSeek-V4 came with vLLM 0.20.0, whatever kernels older releases have for its weights."""
    config = DENSE | {"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4"}
    folder = write_checkpoint(tmp_path / "m", config, [])
    found = with_paths(inspect_checkpoint(folder), engine, "h200_sxm", facts)
    assert (found.loads, found.loads_why) == (loads, why)
    assert found.features[0].name == "file format"


def test_what_a_gguf_says_of_its_layers_is_what_its_cache_is_asked_for(tmp_path, facts):
    path = write_gguf(tmp_path / "m.gguf", "Q4_K")
    found = with_paths(inspect_checkpoint(path), "llama.cpp", "rtx_5090", facts)
    cache = next(f for f in found.features if f.name == "cache modelled")
    assert "num_hidden_layers" not in cache.note


def test_the_command_goes_on_with_the_path(folder):
    found = run(folder, "--engine", "vllm==0.26.0", "--machine", "rtx_5090")
    assert found.returncode == 0, found.stderr
    assert "\nkernel path\n" in found.stdout
    assert "Marlin" in found.stdout


def test_the_container_is_the_files_own_method(folder, tmp_path):
    parts = {(p.part, p.encoding): p.container for p in inspect_checkpoint(folder).parts}
    assert parts == {
        ("linear", "nvfp4_a16"): "compressed-tensors", ("linear", "bf16"): "",
        ("attention", "fp8"): "",
    }  # fmt: skip
    path = write_gguf(tmp_path / "m.gguf", "Q4_K")
    assert {p.container for p in inspect_checkpoint(path).parts} == {"gguf"}


@pytest.mark.parametrize(
    ("engine", "machine", "says"),
    [
        ("vllm", None, "belong together"),
        ("nosuch", "rtx_5090", "engine 'nosuch' is not in the fact base"),
        ("vllm", "nosuch", "machine 'nosuch' is not in the fact base"),
    ],
)
def test_the_path_needs_both_names(folder, facts, engine, machine, says):
    with pytest.raises(InputError, match=says):
        with_paths(inspect_checkpoint(folder), engine, machine, facts)


@pytest.mark.parametrize(
    "arguments", [["/nowhere"], ["/dev/null"], ["tests"], ["README.md"], ["pyproject.toml"]]
)
def test_an_error_is_one_line(arguments):
    found = run(*arguments)
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith("stackchoice: ")
    assert len(found.stderr.splitlines()) == 1
