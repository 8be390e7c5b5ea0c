"""Canaries: small questions that a working stack answers and a broken one does not.

They are asked before timing and once after. Passing says that the stack is not plainly broken; it
says nothing of how good the model is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from stackchoice.errors import FactsError
from stackchoice.facts.datum import Record
from stackchoice.facts.load import data_dir
from stackchoice.facts.yaml import read_yaml
from stackchoice.load.records import Failure, Sample
from stackchoice.load.untrusted import parse_json, visible

JsonType = Literal["string", "integer", "number", "boolean", "array", "object"]
_PYTHON: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "array": list, "object": dict,
}  # fmt: skip


class Message(Record):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class Expect(Record):
    """What the answer must be: hold one of the texts (any case), or be JSON with these keys."""

    contains: tuple[str, ...] = ()
    json_keys: dict[str, JsonType] = Field(default_factory=dict)


class Canary(Record):
    """One question. ``repeat`` asks it more than once and notes whether the answers agree."""

    id: str
    messages: list[Message]
    max_tokens: int = Field(gt=0)
    expect: Expect
    response_format: dict[str, Any] | None = None
    repeat: int = Field(default=1, ge=1, le=5)

    def body(self) -> dict[str, Any]:
        """Request fields beside model and streaming."""
        body: dict[str, Any] = {
            "messages": [m.model_dump() for m in self.messages],
            "max_tokens": self.max_tokens,
            "temperature": 0,
        }
        return body | ({"response_format": self.response_format} if self.response_format else {})


class CanaryOutcome(Record):
    """How a canary came out; ``text`` is the answer, escaped for printing."""

    id: str
    result: Literal["passed", "failed", "not supported"]
    failure: Literal["request", "schema", "wrong answer"] | None = None
    reason: str = ""
    note: str = ""
    text: str = ""
    input_tokens: int | None = None


class CanarySet(Record):
    """A named file of canaries and the sha256 of what was read."""

    name: str
    version: int
    canaries: list[Canary] = Field(min_length=1)
    sha256: str

    @model_validator(mode="after")
    def _unique(self) -> CanarySet:
        ids = [c.id for c in self.canaries]
        if len(set(ids)) != len(ids):
            raise ValueError(f"canary ids must differ, got {', '.join(ids)}")
        return self


def load_canaries(name: str = "basic", folder: Path | None = None) -> CanarySet:
    """Read ``data/canaries/<name>.yaml``.

    Raises
    ------
    FactsError
        When the file is malformed.
    """
    path = (folder or data_dir() / "canaries") / f"{name}.yaml"
    tree = read_yaml(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        return CanarySet.model_validate({**tree, "name": name, "sha256": digest})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FactsError(f"{path}: {where}: {first['msg']}") from None


def judge(canary: Canary, answers: Sequence[Sample]) -> CanaryOutcome:
    """Judge the answers to one canary. The text is compared and parsed, never run."""
    text = visible(answers[0].text)
    for answer in answers:
        failure, reason = _judge_one(canary, answer)
        if failure == "request" and canary.response_format and _refuses_format(answer):
            return CanaryOutcome(id=canary.id, result="not supported", reason=reason, text=text)
        if failure:
            return CanaryOutcome(
                id=canary.id, result="failed", failure=failure, reason=reason,
                text=visible(answer.text),
            )  # fmt: skip
    # Batching servers may differ in the last bit even at temperature 0, so this is no failure.
    differ = len({answer.text for answer in answers}) > 1
    note = "asked again at temperature 0, the answer differed" if differ else ""
    return CanaryOutcome(id=canary.id, result="passed", note=note, text=text)


def _judge_one(
    canary: Canary, answer: Sample
) -> tuple[Literal["request", "schema", "wrong answer"] | None, str]:
    if answer.failure:
        return "request", f"{answer.failure.value}: {answer.failure_detail}"
    cut = f" (cut at {canary.max_tokens} tokens)" if answer.finish_reason == "length" else ""
    if not answer.text.strip():
        return "wrong answer", f"no answer{', only reasoning' if answer.reasoning else ''}{cut}"
    wanted = canary.expect.contains
    if wanted and not any(w.casefold() in answer.text.casefold() for w in wanted):
        return "wrong answer", f"holds none of {', '.join(map(json.dumps, wanted))}{cut}"
    if canary.expect.json_keys:
        value = parse_json(answer.text)
        if value is None:
            return "schema", f"is no JSON object{cut}"
        if set(value) != set(canary.expect.json_keys):
            keys = visible(", ".join(value), 200) or "none"
            return "schema", f"has keys {keys}; wanted {', '.join(canary.expect.json_keys)}"
        for key, kind in canary.expect.json_keys.items():
            if not _is(value[key], kind):
                return "schema", f"{key} is {type(value[key]).__name__}; wanted {kind}"
    return None, ""


def _refuses_format(answer: Sample) -> bool:
    return answer.failure is Failure.REJECTED and answer.status in (400, 422, 501)


def _is(value: Any, kind: JsonType) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _PYTHON[kind])
