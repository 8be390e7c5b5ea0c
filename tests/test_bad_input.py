"""Bad input of every kind ends in one line: value, reason, fix; never a guess or a traceback."""

import contextlib
import json
import math
import os
import subprocess
import sys

import pytest

from stackchoice.choose import decide
from stackchoice.confirm import Passport
from stackchoice.confirm.host import born
from stackchoice.errors import StackchoiceError
from stackchoice.facts.load import load_facts
from stackchoice.kernels import engine_wall
from stackchoice.own_rates import own_rates
from stackchoice.read.log_reader import read_log
from stackchoice.scenario import load_scenario, parse_scenario
from stackchoice.score import score_file
from stackchoice.score.run import score_lines
from stackchoice.sizing import model_of_config, size_by_name
from stackchoice.traffic import measure_log

CASE = {
    "id": "a-1", "ask": "kv_bytes_per_token", "tolerance": 0.01, "answer": {"bytes": 1},
    "given": {"engine": "vllm", "config": {"num_hidden_layers": 2}},
}  # fmt: skip


def refused(call, *arguments, **options):
    """The text of the error, which must be one printable line."""
    with pytest.raises(StackchoiceError) as caught:
        call(*arguments, **options)
    text = str(caught.value)
    assert text.isprintable(), text
    return text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no question"),
        ("\n\n", "holds no question"),
        ("[" * 100_000, ":1: not JSON"),
        ("[1]", "is no object"),
        (json.dumps({**CASE, "given": None}), "given None is no object"),
        (json.dumps({**CASE, "answer": []}), "answer [] is no object"),
        (json.dumps({**CASE, "id": 3}), "id 3 is no text"),
        (json.dumps({**CASE, "tolerance": "1%"}), "tolerance 1% is no share"),
        (json.dumps({**CASE, "tolerance": -1}), "tolerance -1 is no share"),
        (json.dumps({**CASE, "tolerance": math.nan}), "tolerance nan is no share"),
        (json.dumps(CASE) + "\n" + json.dumps(CASE), "id 'a-1' stands twice"),
    ],
)  # fmt: skip
def test_a_file_of_questions_that_is_none(tmp_path, text, words):
    path = tmp_path / "q.jsonl"
    path.write_text(text, encoding="utf-8")
    assert words in refused(score_file, path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("engine", -0.5), ("engine", ["vllm"]), ("config", None), ("config", "x"), ("kv_dtype", 1),
        ("settings", {"block_size": {"a": 1}}), ("weights_gib", None), ("tp", "two"),
    ],
)  # fmt: skip
def test_one_odd_question_is_unknown_and_ends_no_other(key, value):
    rows = [row for row in load_facts().cases if row["given"].get("config")][:1]
    odd = {**rows[0], "id": "odd-1", "given": {**rows[0]["given"], key: value}}
    if key == "weights_gib":
        memory = next(r for r in load_facts().cases if r["given"].get("weights_gib"))
        odd = {**memory, "id": "odd-1", "given": {**memory["given"], key: None}}
    alone = score_lines(rows).lines
    both = score_lines([odd, *rows]).lines
    assert both[1:] == alone
    assert not both[0].counted or not both[0].right or key in ("settings", "tp", "kv_dtype")


def test_no_question_is_answered_by_what_is_no_number():
    asked = [r for r in load_facts().cases if "devices" in r["given"] or "batch" in r["given"]]
    rows = [
        {**row, "id": f"odd-{n}", "given": {**row["given"], key: value}}
        for n, (row, key, value) in enumerate(
            (row, key, value)
            for row in asked[:2]
            for key in ("devices", "batch")
            for value in (math.nan, math.inf)
        )
    ]
    for line in score_lines(rows).lines:
        for value in (line.predicted or {}).values():
            assert not isinstance(value, float) or math.isfinite(value)


SIZE = {"model": "Qwen/Qwen3.8-27B", "machine": "h100_sxm", "context_tokens": 4096}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"context_tokens": 10**160}, "context 1"),
        ({"context_tokens": 0}, "context 0 is not possible"),
        ({"devices": 10**9}, "devices 1000000000 is not possible; write 1 to 1,024"),
        ({"weights_gb": 20.0}, "weights_gb 20 belongs to a config.json"),
        ({"weights_gb": math.inf}, "weights_gb inf is not possible"),
        ({"weights_gb": math.nan}, "weights_gb nan is not possible"),
        ({"weights_gb": 0.0}, "weights_gb 0 is not possible"),
        ({"kv_dtype": "fp3"}, "kv_dtype 'fp3' is not known; write one of"),
        ({"kv_dtype": ""}, "kv_dtype '' is not known"),
        ({"kv_dtype": "\x1b[31m"}, "is not known"),
        ({"interconnect": "pcie5 x3", "devices": 2}, "'pcie5 x3' is not known"),
        ({"interconnect": "pcie5 x999999", "devices": 2}, "is not known"),
    ],
)  # fmt: skip
def test_sizes_that_nothing_has_are_refused(changed, words):
    assert words in refused(size_by_name, **{**SIZE, **changed})


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("vllm==999.999", "above 0.33.0, the newest"),
        ("vllm==", "release ''"),
        ("vllm==0.26.0==1", "write it as 0.26.0"),
        ("vllm==0.26.0; rm -rf /", "write it as 0.26.0"),
        ("vllm==0.26.0" + ".0" * 500, "write it as 0.26.0"),
        ("vllm==b1234", "vllm counts as in 0.33.0"),
        ("llama.cpp==b999999", "above b12464, the newest"),
        ("llama.cpp==0.26.0", "llama.cpp counts as in b12464"),
    ],
)  # fmt: skip
def test_a_release_that_nobody_read_is_not_answered(engine, words):
    assert words in refused(engine_wall, engine, "h100_sxm")


def test_a_link_of_no_kind_is_refused_where_one_device_needs_none():
    tree = load_scenario("json-chat").model_dump(mode="json", by_alias=True)
    tree["candidates"]["machines"][0]["interconnect"] = "string of beads"
    text = refused(decide, parse_scenario(tree), load_facts())
    assert "'string of beads' is not in the fact base; known: infinity-fabric" in text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize(
    "read",
    [load_scenario, score_file, own_rates, model_of_config, Passport.load, measure_log, read_log],
)
def test_a_pipe_that_nobody_writes_to_does_not_hang(tmp_path, read):
    path = tmp_path / "pipe.yaml"
    os.mkfifo(path)
    more = {measure_log: [load_facts()], read_log: [load_facts().memory]}.get(read, [])
    assert "a pipe or a device, no file" in refused(read, path, *more)


def test_a_table_of_rates_with_one_endless_field(tmp_path):
    path = tmp_path / "rates.csv"
    path.write_text('phase,tokens_per_s\n"' + "a" * 500_000, encoding="utf-8")
    assert "is no CSV of rates" in refused(own_rates, path)


def test_a_process_that_cannot_be_is_none():
    assert born(-1) is born(0) is born(10**20) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fit", "m", "--machine", "h100_sxm", "--context", "abc"], "not 'abc'; see"),
        (["fit", "m", "--machine", "h100_sxm", "--context", "0"], "not '0'; see"),
        (["fit", "m"], "Missing option '--machine'; see"),
        (["reference-server", "--port", "99999"], "port 99999 is not possible"),
        (["reference-server", "--ttft", "inf"], "no answer would ever come"),
        (
            [
                "confirm",
                "--endpoint",
                "http://127.0.0.1:9",
                "--model",
                "m",
                "--spend-cap",
                "nan",
                "--input-price",
                "1",
                "--output-price",
                "1",
            ],
            "--spend-cap 'nan'",
        ),
        (["nonsense"], "No such command 'nonsense'; see"),
        (["decide", "json-chat", "--releases", ""], "engine '' is not in the fact base"),
        (["decide", "json-chat", "--against", "", "--run"], "ask for one"),
        (["sweep", "--knob", "slots=1,5000"], "context_tokens 2048: 5000 slots share it"),
        (["sweep", "--knob", "port=1,2", "--command", "e {port}", "--model", "m"], "knob 'port'"),
        (
            [
                "sweep",
                "--knob",
                "a=1,2",
                "--url",
                "a=1@http://h",
                "--model",
                "m",
                "--key-variable",
                "NO_KEY",
            ],
            "'NO_KEY': this environment variable is not set",
        ),
        (["facts", "--own", "\x1b[31mred"], "\\x1b[31mred: no such folder"),
    ],
)
def test_a_wrong_word_on_the_command_line_ends_in_one_line(words, said):
    found = subprocess.run(
        [sys.executable, "-m", "stackchoice.cli", *words],
        capture_output=True, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert found.returncode == 2
    assert not found.stdout
    (line,) = found.stderr.splitlines()
    assert said in line
    assert line.isprintable()


SOURCE = "source: {title: t, as_of: '2026-11-01'}"
HOUR = (
    "hours:\n  - {machine: %s, seller: our, kind: reserved, terms: x, starts: '2026-11-01', "
    "usd_per_device_hour: %s, " + SOURCE + "}\n"
)
MACHINE = (
    "machines: [{id: ours, name: x, vendor: v, backend: cuda, arch: a, bandwidth_gb_per_s: "
    "{value: 1, " + SOURCE + "}, memory_gb: {value: %s, " + SOURCE + "}}]"
)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("prices/gpu_hours.yaml", "hours: 3", "hours is 3; write a list"),
        ("prices/gpu_hours.yaml", "hours: null", "hours is None; write a list"),
        ("prices/gpu_hours.yaml", "hours: {a: 1}", "write a list"),
        ("prices/gpu_hours.yaml", "houres: []", "unknown key 'houres'; write hours:"),
        ("prices/gpu_hours.yaml", "sources: 3\nhours: []", "sources is 3; write a mapping"),
        ("prices/gpu_hours.yaml", HOUR % ("h100_sxm", "0"), "usd_per_device_hour (0)"),
        ("prices/gpu_hours.yaml", HOUR % ("h100_sxm", "'1e400'"), "usd_per_device_hour ("),
        ("prices/gpu_hours.yaml", HOUR % ("h100_sxm", ".nan"), "usd_per_device_hour (nan)"),
        ("prices/gpu_hours.yaml", HOUR % ("h101", "2"), "machine 'h101' is not in the fact base"),
        ("prices/gpu_hours.yaml", HOUR % ("h100_sxm", "2") + "hours: []", ":3: key 'hours' stands"),
        ("machines.yaml", MACHINE % "-5", "memory_gb -5 is not possible"),
        ("machines.yaml", MACHINE % "0", "memory_gb 0 is not possible"),
        ("machines.yaml", MACHINE % ".nan", "nan is no fact"),
        ("machines.yaml", MACHINE % ".inf", "inf is no fact"),
        ("machines.yaml", MACHINE % "on", "True is no number"),
        ("machines.yaml", (MACHINE % "1").replace("11-01", "13-01"), "month must be in 1..12"),
        ("machines.yaml", "machines: [", "not valid YAML"),
        (
            "machines.yaml",
            'machines: ["a\\e[31m"]',
            ":1: 'a\\x1b[31m' holds line breaks or control",
        ),
        ("measurements.csv", "", "holds no row"),
        ("measurements.csv", "\udcff", "not UTF-8"),
        ("measurements.csv", "x" * 2**24 + "y", "too large"),
        (
            "assumptions.yaml",
            "assumptions: [{id: peek, meaning: m, unit: x, "
            "datum: {value: 3, evidence: assumed, note: x}}]",
            "assumption 'peek' is not in the fact base; known: ",
        ),
        (
            "upkeep.yaml",
            "upkeep: [{engine: tgi, work: {value: 3, evidence: assumed, note: x}}]",
            "engine 'tgi' is not in the fact base",
        ),
    ],
)
def test_own_facts_that_are_wrong_or_would_not_be_read(tmp_path, name, text, words):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert words in refused(load_facts, overlay=tmp_path)


@pytest.mark.parametrize(
    "model", ["deepseek-ai/DeepSeek-V3", "Qwen/Qwen3-8B", "moonshotai/Kimi-K3"]
)
@pytest.mark.parametrize("value", [[1], 1.5, -1, "1e9", math.inf, {}, None])
def test_a_config_with_one_value_of_the_wrong_kind_is_read_or_told(tmp_path, model, value):
    config = load_facts().models[model].config.value
    for key in ("architectures", "v_head_dim", "qk_nope_head_dim", "max_position_embeddings",
                "num_attention_heads", "num_hidden_layers", "linear_attn_config"):  # fmt: skip
        path = tmp_path / "config.json"
        path.write_text(json.dumps({**config, key: value}), encoding="utf-8")
        with contextlib.suppress(StackchoiceError):
            sizing = size_by_name(str(path), "h100_sxm", context_tokens=4096, weights_gb=20.0)
            assert sizing.bytes_per_sequence is None or sizing.bytes_per_sequence > 0
