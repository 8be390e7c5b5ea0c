"""Canaries of agents, the sealed process, and what a reference arm says of a failure."""

from pathlib import Path

import pytest

from stackchoice.confirm.canary import CanaryOutcome, load_canaries
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.judged import held_against, judge, same_weights
from stackchoice.confirm.sandbox import run_code, why_off
from stackchoice.errors import FactsError
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Failure, Sample
from stackchoice.load.wire import Exchange

FULL = {canary.id: canary for canary in load_canaries("full").canaries}
sealed = pytest.mark.skipif(bool(why_off()), reason=why_off() or "sealed")
ADD = "```python\ndef add(a, b):\n    return a + b\n```\nThat is all."


def outcome(canary: str, sample: Sample) -> tuple[str, str | None]:
    judged = judge(FULL[canary], [sample])
    return judged.result, judged.failure


def call(name: str, arguments: str) -> Sample:
    return Sample(status=200, tool_calls=((name, arguments),), finish_reason="tool_calls")


def test_the_full_set_holds_the_basic_one_and_a_needle_at_every_depth() -> None:
    assert set(FULL) > {canary.id for canary in load_canaries("basic").canaries}
    needles = [canary for name, canary in FULL.items() if name.startswith("needle-")]
    places = [c.messages[0].content.index("7481") / len(c.messages[0].content) for c in needles]
    assert places == sorted(places)
    assert len(needles) == 3
    assert all("{haystack}" not in c.messages[0].content for c in needles)


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (call("get_weather", '{"city": "Paris, France"}'), ("passed", None)),
        (call("get_weather", '{"city": "Rome"}'), ("failed", "tool")),
        (call("get_weather", '{"city": '), ("failed", "tool")),
        (call("get_time", '{"city": "Paris"}'), ("failed", "tool")),
        (Sample(status=200, text='get_weather{"city": "Paris"}'), ("failed", "tool")),
        (Sample(status=400, failure=Failure.REJECTED), ("not supported", None)),
        (Sample(status=500, failure=Failure.TRANSPORT), ("failed", "request")),
        (Sample(status=429, failure=Failure.ADMISSION_REJECTED), ("off", None)),
    ],
)
def test_a_tool_call_is_a_call_and_no_text(sample: Sample, expected: tuple) -> None:
    assert outcome("tool-call", sample) == expected


def test_a_streamed_call_is_put_together_by_index() -> None:
    deltas = (
        '{"index":0,"function":{"name":"get_weather","arguments":""}}',
        '{"index":0,"function":{"arguments":"{\\"city\\":"}}',
        '{"index":1,"function":{"name":"other","arguments":"{}"}}',
        '{"index":0,"function":{"arguments":"\\"Paris\\"}"}}',
    )
    events = "".join(
        f'data: {{"choices":[{{"delta":{{"tool_calls":[{d}]}}}}]}}\n\n' for d in deltas
    )
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    tail = 'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n'
    measured = Exchange(reads=[(1, (head + events + tail).encode())])
    sample = read_sample(measured)
    assert sample.tool_calls == (("get_weather", '{"city":"Paris"}'), ("other", "{}"))
    assert outcome("tool-call", sample) == ("passed", None)


@sealed
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ADD, ("passed", None)),
        ("def add(a, b): return a * b", ("failed", "code")),
        ("def add(a, b): return a +", ("failed", "code")),
        ("Certainly! Here it is.", ("failed", "code")),
    ],
)
def test_code_is_run_and_its_output_compared(text: str, expected: tuple) -> None:
    assert outcome("code", Sample(status=200, text=text)) == expected


@sealed
@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/passwd')", "import os; os.listdir('/')", "import os; os.fork()",
        "import os; os.kill(os.getppid(), 9)", "import socket",
        "import ctypes; assert ctypes.CDLL(None).socket(2, 1, 0) >= 0",
        "import os; os.execv('/bin/sh', ['sh'])", "x = 'a' * 10**10",
        "print('x' * 10**7)", "while True: pass", "(" * 200_000, "x = " + "-" * 300_000 + "1",
    ],
)  # fmt: skip
def test_code_of_a_model_reaches_nothing(code: str) -> None:
    printed, error = run_code(code)
    assert error
    assert len(printed) <= 65536


def test_code_is_off_where_nothing_can_be_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stackchoice.confirm.judged.why_off", lambda: "no sealed process here")
    judged = judge(FULL["code"], [Sample(status=200, text=ADD)])
    assert (judged.result, judged.reason) == ("off", "no sealed process here")


FAILED = CanaryOutcome(id="recall", result="failed", failure="wrong answer", reason="no")
PASSED = CanaryOutcome(id="recall", result="passed", text="Banana")


def test_a_failure_without_a_reference_stays_one_and_says_what_is_missing() -> None:
    (found,) = held_against([FAILED], None)
    assert found.result == "failed"
    assert "no reference arm" in found.note


def test_a_reference_tells_a_small_model_from_a_broken_stack() -> None:
    (small,) = held_against([FAILED], {"recall": FAILED})
    (broken,) = held_against([FAILED], {"recall": PASSED})
    assert (small.result, broken.result) == ("beyond the model", "failed")
    assert "stack is broken" in broken.note
    request = FAILED.model_copy(update={"failure": "request"})
    assert held_against([request], {"recall": request})[0].result == "failed"
    assert held_against([PASSED], {"recall": FAILED}) == [PASSED]


def test_exact_output_is_compared_on_the_same_weights_only() -> None:
    here = CanaryOutcome(id="exact", result="recorded", text="one two three")
    there = here.model_copy(update={"text": "one two four"})
    said = {same: held_against([here], {"exact": there}, same_weights=same)[0]
            for same in (True, False, None)}  # fmt: skip
    assert said[True].result == "failed"
    assert "from character 8 on" in said[True].reason
    assert said[False].result == said[None].result == "recorded"
    assert held_against([here], {"exact": here}, same_weights=True)[0].result == "passed"


def test_weights_are_the_same_only_where_something_says_so() -> None:
    one = Identity(model="m", artifact_revision="sha256:1", weight_format="Q4_1")
    assert same_weights(one, one) is True
    assert same_weights(one, one.model_copy(update={"artifact_revision": "sha256:2"})) is False
    bare = Identity(model="m")
    assert same_weights(bare, bare) is None
    assert same_weights(bare.model_copy(update={"weight_format": "FP8"}),
                        bare.model_copy(update={"weight_format": "BF16"})) is False  # fmt: skip


def test_a_folder_of_ones_own_gives_each_model_its_canaries(tmp_path: Path) -> None:
    row = "canaries:\n  - {{id: {0}, max_tokens: 5, messages: [], expect: {{}}}}\n"
    (tmp_path / "all.yaml").write_text("version: 2\n" + row.format("mine"))
    (tmp_path / "coder.yaml").write_text('version: 1\nmodels: ["*coder*"]\n' + row.format("sql"))
    ids = {
        model: [c.id for c in load_canaries(str(tmp_path), model).canaries]
        for model in ("org/Other", "org/Big-Coder-7B")
    }
    assert ids == {"org/Other": ["mine"], "org/Big-Coder-7B": ["mine", "sql"]}
    with pytest.raises(FactsError, match="no canary for the model 'x'"):
        load_canaries(str(tmp_path / "coder.yaml"), "x")
    with pytest.raises(FactsError, match="shipped are: basic, full"):
        load_canaries("other")
