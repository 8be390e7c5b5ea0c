"""Canaries are judged by fixed rules, and their file is checked."""

from pathlib import Path

import pytest

from stackchoice.confirm.canary import Canary, load_canaries
from stackchoice.confirm.judged import judge
from stackchoice.errors import FactsError
from stackchoice.load.records import Failure, Sample

CANARIES = {canary.id: canary for canary in load_canaries().canaries}
CANARY = "  - {id: a, max_tokens: 5, messages: [], expect: {}}\n"


def outcome(canary: str, *texts: str, **more: object) -> tuple[str, str | None, str]:
    judged = judge(CANARIES[canary], [Sample(status=200, text=t, **more) for t in texts])
    return judged.result, judged.failure, judged.reason


def test_a_right_answer_passes_in_any_case() -> None:
    assert outcome("capital", "it is PARIS") == ("passed", None, "")


@pytest.mark.parametrize(
    ("canary", "text", "failure", "said"),
    [
        ("capital", "London", "wrong answer", 'holds none of "Paris"'),
        ("capital", "  ", "wrong answer", "no answer"),
        ("json-schema", "Paris", "schema", "is no JSON object"),
        ("json-schema", "[1]", "schema", "is no JSON object"),
        ("json-schema", "{}", "schema", "has keys none; wanted capital"),
        ("json-schema", '{"capital": "x", "b": 1}', "schema", "has keys capital, b"),
        ("json-schema", '{"capital": true}', "schema", "capital is bool; wanted string"),
    ],
)
def test_a_wrong_answer_fails_with_its_kind(
    canary: str, text: str, failure: str, said: str
) -> None:
    result, kind, reason = outcome(canary, text)
    assert (result, kind) == ("failed", failure)
    assert said in reason


def test_an_answer_cut_at_the_limit_says_so() -> None:
    assert "cut at 512 tokens" in outcome("json-schema", '{"cap', finish_reason="length")[2]
    said = outcome("capital", "", reasoning="let me see", finish_reason="length")[2]
    assert said == "no answer, only reasoning (cut at 512 tokens)"


def test_a_refused_schema_is_not_supported_and_a_full_server_said_nothing_wrong() -> None:
    def refused(status: int, failure: Failure) -> str:
        sample = Sample(status=status, failure=failure, failure_detail="no")
        return judge(CANARIES["json-schema"], [sample]).result

    assert refused(400, Failure.REJECTED) == "not supported"
    assert refused(422, Failure.REJECTED) == "not supported"
    assert refused(429, Failure.ADMISSION_REJECTED) == "off"
    plain = Sample(status=400, failure=Failure.REJECTED)
    assert judge(CANARIES["capital"], [plain]).result == "failed"


def test_two_different_right_answers_pass_with_a_note() -> None:
    answers = [Sample(text="banana"), Sample(text="Banana!")]
    judged = judge(CANARIES["echo-twice"], answers)
    assert judged.result == "passed"
    assert "differed" in judged.note


def test_the_answer_is_kept_escaped() -> None:
    judged = judge(CANARIES["capital"], [Sample(text="\x1b[2J__import__('os')")])
    assert judged.result == "failed"
    assert judged.text == "\\x1b[2J__import__('os')"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1\ncanaries: []\n", "canaries"),
        (f"version: 1\nspeed: 3\ncanaries:\n{CANARY}", "speed"),
        ("version: 1\n", "canaries"),
    ],
)
def test_a_malformed_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(FactsError, match=said) as error:
        load_canaries("mine", folder=tmp_path)
    assert "mine.yaml" in str(error.value)


def test_canary_ids_differ(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("version: 1\ncanaries:\n" + CANARY * 2)
    with pytest.raises(FactsError, match="ids must differ, got a, a"):
        load_canaries("mine", folder=tmp_path)


def test_a_canary_is_asked_greedily_with_its_schema() -> None:
    canary: Canary = CANARIES["json-schema"]
    assert canary.body()["temperature"] == 0
    assert canary.body()["response_format"]["type"] == "json_schema"
    assert "response_format" not in CANARIES["capital"].body()
