"""The command line as a user runs it: one answer with the core, one line for an error."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from stackchoice import decide, load_facts, load_scenario
from stackchoice.facts import data_dir
from stackchoice.scenario.read import scenario_path


def run(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "stackchoice.cli", *arguments],
        capture_output=True, text=True, cwd=cwd, check=False,
    )  # fmt: skip


CONFIG = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
    "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100, "torch_dtype": "bfloat16",
    "intermediate_size": 128, "max_position_embeddings": 4096,
}  # fmt: skip


def test_decide_json_is_the_decision():
    found = run("decide", "json-chat", "--json")
    assert found.returncode == 0, found.stderr
    expected = decide(load_scenario("json-chat"), load_facts())
    assert json.loads(found.stdout) == json.loads(expected.model_dump_json())


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_comes_through_a_pipe(packed):
    log = (data_dir() / "samples" / "vllm_start.log").read_bytes()
    found = subprocess.run(
        [sys.executable, "-m", "stackchoice.cli", "readlog", "-"], capture_output=True,
        input=gzip.compress(log) if packed else log, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert found.stdout.decode().startswith("stdin: 4 lines, vLLM")


def test_decide_prints_the_decision_in_a_few_lines():
    found = run("decide", "json-chat")
    assert "recommended: managed endpoint" in found.stdout
    assert "best self-hosted: SGLang" in found.stdout
    for live in ("36", "33", "41"):
        assert f": {live} (" in found.stdout
    assert len(found.stdout.splitlines()) <= 20


def test_cost_prints_the_bills_and_never():
    found = run("cost", "json-chat")
    assert found.returncode == 0, found.stderr
    for words in (
        "1,472.94 USD",
        "6,397.03 USD",
        "7,215.70 USD",
        "never: one replica would",
        "what happens when the one card dies",
        "not taken: spot",
    ):
        assert words in found.stdout


def test_cost_as_json_holds_the_same_bills():
    found = run("cost", "json-chat", "--json")
    tree = json.loads(found.stdout)
    cost = decide(load_scenario("json-chat"), load_facts()).cost.model_dump(mode="json")
    assert tree["lines"] == cost["lines"]
    assert tree["break_even"] == cost["break_even"]
    assert tree["currency"] == "USD"
    assert {quote["verdict"] for quote in tree["price_lists"]} <= {
        "agree", "disagree", "same list", "only ours", "only theirs",
    }  # fmt: skip


def test_cost_shows_no_control_characters(tmp_path):
    text = (
        scenario_path("json-chat")
        .read_text(encoding="utf-8")
        .replace(
            "  horizon_months:",
            '  usd_per_device_hour: {value: 2, from: "x\\e[31m"}\n  horizon_months:',
            1,
        )
    )
    path = tmp_path / "odd.yaml"
    path.write_text(text, encoding="utf-8")
    found = run("cost", str(path))
    assert found.returncode == 0, found.stderr
    assert "\x1b" not in found.stdout


def test_this_machine_is_probed_for_decide():
    found = run("decide", "this-machine", "--json")
    tree = json.loads(found.stdout)
    assert tree["recommended"] == "llama.cpp"
    assert tree["fit"]["speed"]["decode_ceiling_tokens_per_s"] > 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["decide", "no-such"], "no such scenario"),
        (["confirm"], "nothing to confirm"),
        (["confirm", "json-chat"], "this machine"),
        (["confirm", "--endpoint", "http://127.0.0.1:1"], "go together"),
        (["confirm", "--endpoint", "ftp://x", "--model", "m"], "ftp://x"),
        (["confirm", "--endpoint", "http://127.0.0.1:1", "--model", "m"], "no connection"),
        (["confirm", "json-chat", "--streams", "2", "--rate", "3"], "a run has one"),
        (["confirm", "json-chat", "--streams", "0"], "--streams 0: Input should be greater"),
        (["confirm", "json-chat", "--replay", "no.csv"], "no.csv"),
        (["confirm", "json-chat", "--spend-cap", "1"], "go together"),
        (["reference-server", "--fault", "nap"], "fault 'nap'"),
        (["report", "no-such"], "no such scenario"),
        (["report", "json-chat", "--out", "/dev/null"], "/dev/null"),
        (["confirm", "--endpoint", "http://h", "--model", "m", "--out", "/dev/null/x"], "--out"),
        (["lab", "/dev/null"], "name another folder"),
        (["readlog", "no.log"], "cannot be read"),
        (["readlog", "/dev/null", "--machine", "abacus"], "not in the fact base"),
        (["readlog", "/dev/null", "--engine", "abacus"], "no log of that engine"),
        (["readlog", "/dev/null", "--artifact", "x"], "--model"),
    ],
)
def test_an_error_is_one_line_without_traceback(arguments, says, tmp_path):
    found = run(*arguments, cwd=tmp_path)
    assert found.returncode == 2
    assert says in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
    assert "Traceback" not in found.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_said_in_one_line():
    with open("/dev/full", "w", encoding="utf-8") as full:
        found = subprocess.run(
            [sys.executable, "-m", "stackchoice.cli", "decide", "json-chat"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert found.returncode == 2
    assert "Traceback" not in found.stderr


def test_a_wrong_scenario_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("name: x\ntitle: X\nmodell: {id: a}\n")
    found = run("decide", str(path))
    assert found.returncode == 2
    assert f"{path}:3: modell: unknown key; did you mean 'model'?" in found.stderr


def test_doctor_reports_each_item_with_a_fix_where_it_fails(tmp_path):
    found = run("doctor", "--json", cwd=tmp_path)
    items = json.loads(found.stdout)
    assert {"Python", "fact base", "embedded engine", "PDF reports"} <= {i["item"] for i in items}
    assert all(i["ok"] or i["fix"] for i in items)
    failed = any(not i["ok"] and not i["optional"] for i in items)
    assert found.returncode == (1 if failed else 0)


def test_a_file_that_is_no_log_is_said_with_a_status(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(b"\x00\xff nothing of a server\r\n")
    found = run("readlog", str(path))
    assert found.returncode == 1
    assert "no line of a known engine was found; give all that a server printed" in found.stdout


def test_a_config_that_says_nothing_names_no_kernel(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}", encoding="utf-8")
    found = run("kernels", "--model", str(path), "--machine", "h100_sxm")
    assert (found.returncode, found.stdout) == (2, "")
    assert "nothing in it says how its weights are stored" in found.stderr


def test_the_names_that_an_error_leaves_out_are_listed():
    found = run("facts", "machines")
    assert found.stdout.splitlines() == list(load_facts().machines)


@pytest.mark.skipif(sys.platform == "win32", reason="no such name is possible there")
@pytest.mark.parametrize("words", ["fit {} --machine l4 --context 100", "inspect {}",
                                   "kernels --model {} --machine l4", "readlog {}"])  # fmt: skip
def test_the_name_of_a_file_prints_nothing_of_its_own(tmp_path, words):
    path = tmp_path / "a\x1b[31m\u202e\nb.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    found = run(*(word.format(path) for word in words.split()))
    assert "a\\x1b[31m\\u202e\\nb" in found.stdout
    assert found.stdout.replace("\n", "").isprintable()
