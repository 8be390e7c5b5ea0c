"""What is written about the command line is what the command line takes."""

import html
import json
import re
import shlex
import shutil
import textwrap
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import typer
import yaml
from checkpoints import write_checkpoint
from typer.testing import CliRunner

import stackchoice
from stackchoice import load_scenario, save_scenario
from stackchoice.cli import app
from stackchoice.facts import data_dir
from stackchoice.scenario.scenario import Workload
from stackchoice.score import score_public

ROOT = Path(__file__).parents[1]
COMMANDS = typer.main.get_command(app).commands
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "notebooks").rglob("*.md")),
]
REFERENCE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def sections():
    """Return the reference by command: a heading with its name begins each part."""
    _, *parts = re.split(r"^## `stackchoice ([\w-]+)`$", REFERENCE, flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def written():
    """Yield every command line in the pages, in code blocks and between backticks."""
    for page in PAGES:
        text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
        blocks = re.findall(r"^(?: {4}|)(?:\$ )?(?:\.venv/bin/)?(stackchoice .*)$", text, re.M)
        for line in [*blocks, *re.findall(r"`(?:\$ )?(stackchoice [^`]*)`", text)]:
            if line.split()[1] in COMMANDS or line.split()[1].startswith("-"):
                yield pytest.param(line, id=f"{page.name}: {line[:60]}")


def arguments(line):
    """Return the words of a line: of alternatives the first, ``1`` for every placeholder."""
    line = re.sub(r"\\?\|[^\s\]]*", "", line.replace(" \\| ", " ")).translate(
        dict.fromkeys(b"[]{}")
    )
    words = shlex.split(line.replace("...", ""), comments=True)[1:]
    return ["1" if re.fullmatch("[A-Z]+", word) else word for word in words]


def test_the_reference_has_every_command_and_no_other():
    assert list(sections()) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_has_every_option_with_its_help(name):
    command, text = COMMANDS[name], " ".join(html.unescape(sections()[name]).split())
    assert " ".join(command.help.split()) in text
    for parameter in command.params:
        assert parameter.help, f"{name} {parameter.name} is not documented"
        assert " ".join(parameter.help.split()) in text
        for option in parameter.opts:
            assert option in text
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
    assert set(re.findall(r"^\* `.*?(--[\w-]+)", sections()[name], flags=re.M)) <= options


@pytest.mark.parametrize("line", [*written()])
def test_every_written_command_is_taken(line):
    name, *rest = arguments(line)
    if rest and "[OPTIONS]" not in line:
        COMMANDS[name].make_context(name, rest)
    else:  # a name alone, or a line of usage that the help wrote
        assert name in COMMANDS or name == "--version"


def programs():
    """Return the Python of the pages, block by block."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text, flags=re.M)
    return [b for b in map(textwrap.dedent, blocks) if b.strip().startswith("from ")]


@pytest.mark.parametrize("program", programs())
def test_the_python_of_the_pages_runs_and_says_what_stands_beside_it(program):
    space = {}
    exec(program, space)
    for call, told in re.findall(r"^(check\(.*\))\s+# (.*?)(?: \.\.\.)?$", program, flags=re.M):
        assert told in repr(eval(call, space))
    if "decision" in space:
        assert space["decision"].best_self_hosted == "SGLang"


#: Commands that need an engine, a browser or a minute; their own tests run them.
ELSEWHERE = (
    "confirm", "doctor", "lab", "reference-server", "report", "score", "setup-engine", "sweep",
)  # fmt: skip
#: Named only, in a sentence.
NAMED = ("stackchoice compare", "stackchoice passport import")
TRIED = [ROOT / "README.md", ROOT / "docs" / "guide.md", ROOT / "docs" / "scenarios.md"]


PLACEHOLDER = r"\b[A-Z]+(?: |$|\.yaml)|\[|\||\.\.\."


def complete():
    """Yield each command that a page writes without a placeholder, with what is shown of it."""
    for page in TRIED:
        text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
        prompted = (
            r"^    (?:\$ )?(stackchoice .*)\n((?:(?!    (?:\$ )?stackchoice )    .*\n|\n(?=    ))*)"
        )
        blocks = re.findall(prompted, text, re.M)
        inline = re.findall(r"`(stackchoice [^`]*)`", text)
        for line, shown in [*blocks, *((line, "") for line in inline)]:
            name = line.split()[1]
            if (
                name in COMMANDS and name not in ELSEWHERE and line not in NAMED
                and not re.search(PLACEHOLDER, line)
            ):  # fmt: skip
                yield pytest.param(line, textwrap.dedent(shown).strip(), id=f"{page.name}: {line}")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with the files that the pages speak of: a log, a scenario, a checkpoint, samples."""
    folder = tmp_path_factory.mktemp("desk")
    rows = ({"timestamp_s": 600 * i, "input_tokens": 900, "output_tokens": 99} for i in range(200))
    (folder / "requests.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    bare = load_scenario("json-chat").model_copy(update={"workload": Workload()})
    save_scenario(bare, folder / "my-scenario.yaml")
    write_checkpoint(folder / "Qwen3.6-35B-A3B-NVFP4", PUBLISHED, [], side={
        "hf_quant_config.json": {"quantization": DECLARED | {"kv_cache_quant_algo": "FP8"}}
    })  # fmt: skip
    (folder / "data").mkdir()
    shutil.copytree(data_dir() / "samples", folder / "data" / "samples")
    return folder


#: The published NVFP4 files of Qwen3.6-35B-A3B: what of them the guide's page rests on.
FULL = ("q_proj", "k_proj", "v_proj", "o_proj")
LINEAR = ("in_proj_qkv", "in_proj_z", "out_proj")
EXPERTS = ("experts", *(f"shared_expert.{name}_proj" for name in ("gate", "up", "down")))
LAYERS = ["full_attention" if i % 4 == 3 else "linear_attention" for i in range(40)]
WEIGHTS_ONLY = {"quant_algo": "W4A16_NVFP4", "group_size": 16}
MODULES = {}
for i, kind in enumerate(LAYERS):
    at = f"model.language_model.layers.{i}"
    attention = ("self_attn", FULL) if kind == "full_attention" else ("linear_attn", LINEAR)
    MODULES |= {f"{at}.{attention[0]}.{name}": {"quant_algo": "FP8"} for name in attention[1]}
    MODULES |= {f"{at}.mlp.{name}": WEIGHTS_ONLY for name in EXPERTS}
MODULES |= {"lm_head": WEIGHTS_ONLY}
DECLARED = {"quant_algo": "MIXED_PRECISION", "quantized_layers": MODULES}
GROUPS = {
    f"group_{i}": {
        side: {"num_bits": bits, "type": "float"} | ({"group_size": 16} if bits == 4 else {})
        for side in ("input_activations", "weights")
    } | {"targets": [name for name, said in MODULES.items() if said["quant_algo"] == algorithm]}
    for i, (bits, algorithm) in enumerate([(8, "FP8"), (4, "W4A16_NVFP4")])
}  # fmt: skip
PUBLISHED = {
    "architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe",
    "dtype": "bfloat16", "vision_config": {"model_type": "qwen3_5_moe", "depth": 27},
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen3_5_moe_text", "num_hidden_layers": 40, "layer_types": LAYERS,
        "full_attention_interval": 4, "head_dim": 256, "hidden_size": 2048, "dtype": "bfloat16",
        "num_attention_heads": 16, "num_key_value_heads": 2, "num_experts": 256,
        "num_experts_per_tok": 8, "moe_intermediate_size": 512, "mtp_num_hidden_layers": 1,
        "shared_expert_intermediate_size": 512, "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "linear_value_head_dim": 128, "mamba_ssm_dtype": "float32", "vocab_size": 248320,
        "max_position_embeddings": 262144, "attn_output_gate": True,
    },
    "quantization_config": DECLARED | {
        "quant_method": "modelopt", "config_groups": GROUPS, "ignore": ["mtp*"],
    },
}  # fmt: skip


@pytest.mark.parametrize(("line", "shown"), [*complete()])
def test_a_command_of_the_pages_runs_and_prints_what_is_shown(line, shown, desk, monkeypatch):
    monkeypatch.chdir(desk)
    words = shlex.split(line, comments=True)[1:]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    # Whitespace joins lines that the page cut, and the hash is of the publisher's own bytes.
    joined, shown = (
        re.sub(r"[0-9a-f]{64}", "#", " ".join(x.split())) for x in (done.stdout, shown)
    )
    wanted = r"(?s)" + re.escape(shown).replace(re.escape("..."), ".*?")
    assert re.search(wanted, joined) if "..." in shown else shown in ("", joined)


def test_the_figures_of_the_readme_are_those_of_their_commands(facts):
    text = " ".join(TRIED[0].read_text(encoding="utf-8").split())
    for rates, ask in (("published decode", "decode"), ("prefill", "prefill")):
        right, lines = map(int, re.search(rf"(\d+) of (\d+) {rates} rates", text).groups())
        tally = score_public([f"{ask}_tokens_per_s"], facts).by_ask[f"{ask}_tokens_per_s"]
        assert (tally.right, tally.lines) == (right, lines)
    path = ROOT / "tests" / "benchmarks" / "peers.py"
    peers = module_from_spec(spec := spec_from_file_location("peers", path))
    spec.loader.exec_module(peers)
    ours = peers.ask_product(peers.questions(), facts)
    record = (path.parent / "README.md").read_text(encoding="utf-8")
    cells = re.findall(r"(\d+) of (\d+);", re.search(r"^\| all \|.*$", record, re.M)[0])
    right, asked = (sorted(map(int, column)) for column in zip(*cells[1:], strict=True))
    assert f"Of {len(ours)} public questions" in text
    assert f"five calculators answer {asked[0]} to {asked[-1]} and" in text
    assert f"right in {right[0]} to {right[-1]}; here {sum(r.right for r in ours)} are" in text
    measured = r"^\| closed loop 64 \| (\S+)[^|]* \| \d+ \| \+([\d.]+)%"
    off = {name: float(share) for name, share in re.findall(measured, record, re.M)}
    assert f"is {off['stackchoice']:.1f} % off the server's own account" in text
    assert re.search(rf"AIPerf [\d.]+ was {off['AIPerf']:.0f} % and GuideLLM", text)
    assert re.search(rf"GuideLLM [\d.]+ {off['GuideLLM']:.0f} % off there", text)


def test_the_pair_of_the_guide_moved_as_it_says():
    text = " ".join(TRIED[1].read_text(encoding="utf-8").split())
    shown = (
        CliRunner().invoke(app, ["compare", "gh200-0.19.1-draft2", "gh200-0.26.0-draft2"]).stdout
    )
    decode = re.search(r"decode of one stream, tokens/s: \S+ (\d+); \S+ (\d+)", shown)
    assert f"decode rose by {int(decode[2]) / int(decode[1]) - 1:.0%}".replace("%", " %") in text
    assert "and eight things moved together" in text
    assert "8 things moved together" in shown
    assert "prefill did not move" in shown


def test_the_yaml_of_the_pages_is_taken(tmp_path, monkeypatch):
    text = TRIED[2].read_text(encoding="utf-8")
    inputs, prices = re.findall(r"\n\n((?:    .*\n)+)", text)
    path, _, rows = textwrap.dedent(prices).partition("\n")
    own = tmp_path / "own" / path
    own.parent.mkdir(parents=True)
    own.write_text(textwrap.dedent(rows), encoding="utf-8")
    monkeypatch.setenv("STACKCHOICE_FACTS", str(tmp_path / "own"))
    tree = yaml.safe_load((data_dir() / "scenarios" / "json-chat.yaml").read_text("utf-8"))
    tree["workload"] |= yaml.safe_load(inputs)
    for terms, said in ((None, "not taken: reserved"), (["reserved"], "taken; contract 4711")):
        tree["money"] |= {"rental_terms": terms} if terms else {}
        (tmp_path / "case.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")
        done = CliRunner().invoke(app, ["cost", str(tmp_path / "case.yaml")])
        assert f"1.7 at our contract, 12 months; {said}" in done.stdout


def test_what_the_pages_say_of_make_and_of_modules_is_there():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^\.PHONY: (.*)$", makefile, re.M)[1].split())
    for page in (*PAGES, ROOT / "tests" / "benchmarks" / "README.md"):
        text = page.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:^    |`)make (\w+)", text, re.M)) <= targets
        for path in re.findall(r"(?:^    |`)python (tests/\S+\.py)", text, re.M):
            assert (ROOT / path).exists(), path
        for name in re.findall(r"python -m (stackchoice[\w.]*)", text):
            assert find_spec(name), name


def slug(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_page_and_heading_that_a_page_points_to_is_there():
    for page in PAGES:
        for name, anchor in re.findall(
            r"\]\(([^)#:]*)(?:#([\w-]+))?\)", page.read_text(encoding="utf-8")
        ):
            target = page.parent / name if name else page
            assert target.exists(), f"{page.name}: {name}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
                assert anchor in map(slug, headings), f"{page.name}: {name}#{anchor}"


def test_every_public_name_is_in_the_readme():
    text = PAGES[0].read_text(encoding="utf-8")
    assert not [n for n in stackchoice.__all__ if n != "__version__" and n not in text]
