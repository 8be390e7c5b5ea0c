"""Every reader of a file: anything is read, or refused in one printable line of its family."""

import csv
import inspect
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stackchoice import load_facts, load_scenario
from stackchoice.confirm import Passport
from stackchoice.confirm.canary import load_canaries
from stackchoice.errors import StackchoiceError
from stackchoice.facts.load import data_dir
from stackchoice.facts.yaml import read_facts, read_yaml
from stackchoice.load.journal import read_events
from stackchoice.load.traffic import read_traffic
from stackchoice.own_rates import own_rates
from stackchoice.passports import import_file, load_arms
from stackchoice.read import inspect_checkpoint
from stackchoice.read.log_reader import read_log
from stackchoice.score import score_file
from stackchoice.sizing import model_of_config
from stackchoice.traffic import measure_log

FACTS = load_facts()
DATA = data_dir()
LONG = settings(max_examples=25, suppress_health_check=list(HealthCheck))


class Reader(NamedTuple):
    """How a file is read, how its name ends, one that is right, and whose errors it has."""

    read: Callable[[Path], Any]
    ends: tuple[str, ...]
    good: bytes
    by: Any = None

    @property
    def errors(self) -> set[str]:
        """Names of the errors that the docstring promises."""
        return set(re.findall(r"\w+Error", inspect.getdoc(self.by or self.read) or ""))


def lines(*rows: Any) -> bytes:
    return "\n".join(json.dumps(row) for row in rows).encode()


REQUESTS = [{"timestamp_s": 10.0 * n, "input_tokens": 900, "output_tokens": 100} for n in range(6)]
SCENARIO = (DATA / "scenarios" / "json-chat.yaml").read_bytes()
PASSPORT = (DATA / "samples" / "embedded.passport.json").read_bytes()
RATES = b"phase,tokens_per_s,context_tokens,prompt_tokens\ndecode,60,4096,\nprefill,5000,,2048\n"
BENCH = lines(
    {"date": "20261101-100000", "backend": "vllm", "model_id": "m", "tokenizer_id": "m",
     "num_prompts": 2, "request_rate": 1.0, "duration": 2.0, "completed": 2,
     "request_throughput": 1.0,
     "total_input_tokens": 20, "total_output_tokens": 20, "output_throughput": 10.0,
     "total_token_throughput": 20.0, "mean_ttft_ms": 30.0, "median_ttft_ms": 30.0}
)  # fmt: skip
CONFIG = lines({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64,
                "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
                "intermediate_size": 128, "max_position_embeddings": 4096})  # fmt: skip
READERS = {
    "scenario": Reader(load_scenario, (".yaml",), SCENARIO),
    "yaml": Reader(read_yaml, (".yaml",), SCENARIO),
    "facts": Reader(read_facts, (".yaml",), (DATA / "links.yaml").read_bytes()),
    "canaries": Reader(lambda p: load_canaries(str(p), "m"), (".yaml",),
                       (DATA / "canaries" / "basic.yaml").read_bytes(), load_canaries),
    "passport": Reader(Passport.load, (".json",), PASSPORT, Passport.load),
    "arms": Reader(lambda p: load_arms([p]), (".json",), PASSPORT, load_arms),
    "import": Reader(lambda p: import_file(p, replace=True),
                     (".json", ".jsonl", ".csv", ".md", ".txt"), BENCH, import_file),
    "rates": Reader(own_rates, (".csv", ".json"), RATES),
    "log": Reader(lambda p: read_log(p, FACTS.memory), (".log", ".jsonl"),
                  next((DATA / "samples").glob("*.log")).read_bytes(), read_log),
    "checkpoint": Reader(lambda p: inspect_checkpoint(p, FACTS),
                         (".json", ".gguf", ".safetensors"), CONFIG, inspect_checkpoint),
    "config": Reader(model_of_config, (".json",), CONFIG),
    "questions": Reader(score_file, (".jsonl",),
                        (DATA / "cases.jsonl").read_bytes().split(b"\n")[0]),
    "traffic": Reader(lambda p: measure_log(p, FACTS), (".jsonl", ".json", ".csv", ".jsonl.gz"),
                      lines(*REQUESTS), measure_log),
    "replay": Reader(read_traffic, (".jsonl", ".csv"), lines(*REQUESTS)),
    "journal": Reader(lambda p: list(read_events(p)), (".jsonl",), lines(*REQUESTS), read_events),
}  # fmt: skip

ODD = st.sampled_from([0, -1, 1, 2**31, 2**63, 10**400, -0.0, 1e308, float("inf"), float("nan"), "",
                       None, True, [], {}, "\x1b[2J\u202e", "\ud800", "x" * 3000, [[]],
                       {"": {}}])  # fmt: skip
TREES = st.recursive(
    ODD | st.text(max_size=8) | st.floats() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def written(tree: Any) -> bytes:
    try:
        return json.dumps(tree).encode()
    except ValueError:  # more digits than Python prints
        return b"1" + b"0" * 5000


def table(rows: list[list[str]]) -> bytes:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


@st.composite
def edited(draw: st.DrawFn, good: bytes) -> bytes:
    """A right file in which some pieces went missing, came twice or became something else."""
    raw = good
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(raw) - 1)))
        size = draw(st.sampled_from([0, 1, 2, 8, 40]))
        new = draw(st.binary(max_size=6) | ODD.map(written) | st.just(raw[at : at + 200]))
        raw = raw[:at] + new + raw[at + size :]
    return raw


@pytest.mark.parametrize("name", READERS)
@LONG
@given(data=st.data())
def test_anything_is_read_or_refused_in_one_line(tmp_path: Path, name: str, data: Any) -> None:
    reader = READERS[name]
    any_bytes = (
        st.binary(max_size=200) | TREES.map(written) | st.lists(TREES.map(written)).map(b"\n".join)
        | st.lists(st.lists(st.text(max_size=8), max_size=5), max_size=5).map(table)
        | edited(reader.good) | edited(reader.good) | edited(reader.good)
    )  # fmt: skip
    check(reader, tmp_path, data.draw(st.sampled_from(reader.ends)), data.draw(any_bytes))


DEEP = 200_000
BOMBS = {
    "nested lists": b"[" * DEEP,
    "closed lists": b"[" * DEEP + b"]" * DEEP,
    "nested objects": b'{"a":' * DEEP,
    "nested dashes": b"- " * DEEP,
    "billion laughs": b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "tag": b"a: !!python/object/apply:os.system [id]\n",
    "merge": b"a: &a {b: 1}\nc:\n  <<: *a\n",
    "digits": b'{"version": 1' + b"0" * 5000 + b"}",
    "yaml digits": b"version: 0x" + b"f" * 5000,
    "exponent": b'{"timestamp": 1e999, "input_tokens": 1e999, "output_tokens": 1}',
    "a line": b"a" * 3_000_000,
    "a field": b'a,b\n"' + b"x" * 300_000,
    "a carriage return alone": b"a,b\rc,d\r\n1,2\r\n",
    "zeros": b"\0" * 10_000,
    "gzip": b"\x1f\x8b\x08\0" + b"\xff" * 100,
    "gguf": b"GGUF\x03\0\0\0" + b"\xff" * 64,
    "safetensors": b"\xff" * 8 + b"{}",
    "surrogate": b'{"model": "\\ud800"}',
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("name", READERS)
def test_bombs_do_not_go_off(tmp_path: Path, name: str, bomb: str) -> None:
    for end in READERS[name].ends:
        check(READERS[name], tmp_path, end, BOMBS[bomb])


@pytest.mark.parametrize("name", READERS)
def test_the_right_file_is_read(tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    path = tmp_path / ("config.json" if name == "checkpoint" else f"f{reader.ends[0]}")
    path.write_bytes(reader.good)
    assert reader.read(path) is not None


def check(reader: Reader, folder: Path, end: str, raw: bytes) -> None:
    path = folder / f"f{end}"
    path.write_bytes(raw)
    try:
        reader.read(path)
    except StackchoiceError as error:
        refused, kinds = str(error), {kind.__name__ for kind in type(error).__mro__}
    else:
        return
    assert refused.isprintable(), refused
    assert len(refused) < 4000
    assert kinds & reader.errors, refused
