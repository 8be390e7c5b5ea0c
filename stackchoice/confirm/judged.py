"""Judging canaries: what an answer must be, and what a reference arm says of a failure."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from stackchoice.confirm.canary import Canary, CanaryOutcome, JsonType, ToolExpect
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.sandbox import run_code, why_off
from stackchoice.facts.yaml import shown
from stackchoice.load.records import Failure, Sample
from stackchoice.load.untrusted import parse_json, visible

_PYTHON: dict[str, type | tuple[type, ...]] = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool,
    "array": list, "object": dict,
}  # fmt: skip
_FENCE = re.compile(r"```(?:[\w+-]*)[ \t]*\r?\n(.*?)(?:```|\Z)", re.S)

Kind = Literal["request", "schema", "tool", "code", "wrong answer"]


def judge(canary: Canary, answers: Sequence[Sample]) -> CanaryOutcome:
    """Judge the answers to one canary. Text is compared and parsed; code runs sealed off."""
    text = visible(_text(answers[0]))
    seen: dict[str, Any] = {"text": text, "input_tokens": answers[0].prompt_tokens}
    if canary.expect.code and (off := why_off()):
        return CanaryOutcome(id=canary.id, result="off", reason=off, **seen)
    for answer in answers:
        failure, reason = _judge_one(canary, answer)
        if failure == "request" and _refuses_feature(canary, answer):
            return CanaryOutcome(id=canary.id, result="not supported", reason=reason, **seen)
        if answer.failure is Failure.ADMISSION_REJECTED:  # turned away, so no answer to judge
            return CanaryOutcome(id=canary.id, result="off", reason=reason, **seen)
        if failure:
            return CanaryOutcome(
                id=canary.id, result="failed", failure=failure, reason=reason,
                text=visible(_text(answer)), input_tokens=answer.prompt_tokens,
            )  # fmt: skip
    # Batching servers may differ in the last bit even at temperature 0, so this is no failure.
    differ = len({answer.text for answer in answers}) > 1
    note = "asked again at temperature 0, the answer differed" if differ else ""
    result: Literal["recorded", "passed"] = "recorded" if canary.expect.as_reference else "passed"
    return CanaryOutcome(id=canary.id, result=result, note=note, **seen)


def held_against(
    outcomes: Sequence[CanaryOutcome], reference: Mapping[str, CanaryOutcome] | None, *,
    same_weights: bool | None = None,
) -> list[CanaryOutcome]:  # fmt: skip
    """Read outcomes in the light of a reference arm: the same model on a stack that is trusted.

    What fails on both is beyond the model and no fault of this stack. An answer that is to be the
    reference's own is compared only where the weights are the same: another precision may well
    continue in other words.
    """
    return [_against(outcome, reference, same_weights) for outcome in outcomes]


def same_weights(a: Identity, b: Identity) -> bool | None:
    """Whether two arms serve the same weights; None when that is not known."""
    if a.artifact_revision and b.artifact_revision:
        return a.artifact_revision == b.artifact_revision
    if a.weight_format and b.weight_format and a.weight_format != b.weight_format:
        return False
    named = a.model == b.model and a.model_revision is not None
    return True if named and a.model_revision == b.model_revision else None


def _against(
    outcome: CanaryOutcome, reference: Mapping[str, CanaryOutcome] | None, same: bool | None
) -> CanaryOutcome:
    known = (reference or {}).get(outcome.id)

    def noted(said: str, **more: str) -> CanaryOutcome:
        note = "; ".join(filter(None, (outcome.note, said)))
        return outcome.model_copy(update={**more, "note": note})

    if outcome.result == "failed" and outcome.failure != "request":
        if known is None:
            return noted("no reference arm answered it, so a model too small for it looks the same")
        if known.result == "failed" and known.failure != "request":
            why = "the reference arm fails it too: too much for this model, no fault of the stack"
            return noted(why, result="beyond the model")
        if known.result in ("passed", "recorded"):
            return noted(
                "the reference arm answers it: the stack is broken, not the model too small"
            )
    if outcome.result == "recorded" and known and known.result in ("passed", "recorded"):
        if same is not True:
            why = (
                "other weights may use other words"
                if same is False
                else "are the weights the same?"
            )
            return noted(f"not compared with the reference: {why}")
        if outcome.text.strip() == known.text.strip():
            return outcome.model_copy(update={"result": "passed"})
        at = next((i for i, (a, b) in enumerate(zip(outcome.text, known.text, strict=False))
                   if a != b), min(len(outcome.text), len(known.text)))  # fmt: skip
        why = f"differs from the reference arm's answer from character {at} on"
        return outcome.model_copy(
            update={"result": "failed", "failure": "wrong answer", "reason": why}
        )
    return outcome


def _text(answer: Sample) -> str:
    calls = "".join(f"[calls {name}({arguments})]" for name, arguments in answer.tool_calls)
    return calls if calls and not answer.text.strip() else answer.text


def _judge_one(canary: Canary, answer: Sample) -> tuple[Kind | None, str]:
    if answer.failure:
        return "request", f"{answer.failure.value}: {answer.failure_detail}"
    cut = f" (cut at {canary.max_tokens} tokens)" if answer.finish_reason == "length" else ""
    expect = canary.expect
    if expect.tool:
        return _tool(expect.tool, answer, cut)
    if not answer.text.strip():
        return "wrong answer", f"no answer{', only reasoning' if answer.reasoning else ''}{cut}"
    wanted = expect.contains
    if wanted and not any(w.casefold() in answer.text.casefold() for w in wanted):
        return "wrong answer", f"holds none of {', '.join(map(json.dumps, wanted))}{cut}"
    if expect.equals is not None and answer.text.strip() != expect.equals.strip():
        return "wrong answer", f"is not exactly {json.dumps(expect.equals)}{cut}"
    if expect.json_keys and (reason := _json(expect.json_keys, answer)):
        return "schema", reason + cut
    if expect.code:
        fenced = _FENCE.search(answer.text)
        code = fenced.group(1) if fenced else answer.text
        printed, error = run_code(f"{code}\n{expect.code.then}\n")
        if error:
            return "code", f"the code {shown(error, 200)}{cut}"
        if printed.strip() != expect.code.prints.strip():
            said = shown(printed.strip(), 80)
            return "code", f"the code prints {said!r}; wanted {expect.code.prints!r}{cut}"
    return None, ""


def _json(keys: Mapping[str, JsonType], answer: Sample) -> str:
    value = parse_json(answer.text)
    if value is None:
        return "is no JSON object"
    if set(value) != set(keys):
        found = shown(", ".join(value), 200) or "none"
        return f"has keys {found}; wanted {', '.join(keys)}"
    for key, kind in keys.items():
        if not _is(value[key], kind):
            return f"{key} is {type(value[key]).__name__}; wanted {kind}"
    return ""


def _tool(expect: ToolExpect, answer: Sample, cut: str) -> tuple[Kind | None, str]:
    if not answer.tool_calls:
        said = "no call" if answer.text.strip() else "neither a call nor a text"
        return "tool", f"{said}{' but text' if answer.text.strip() else ''}{cut}"
    name, arguments = answer.tool_calls[0]
    if name != expect.name:
        return "tool", f"calls {shown(name, 80)!r}; wanted {expect.name!r}"
    given = parse_json(arguments)
    if given is None:
        return "tool", f"the arguments are no JSON object{cut}"
    for key, value in expect.arguments.items():
        found = given.get(key)
        same = isinstance(found, str) and isinstance(value, str) and (
            value.casefold() in found.casefold()
        )  # fmt: skip
        if not same and found != value:
            return "tool", f"argument {key} is {shown(repr(found), 80)}; wanted {value!r}"
    return None, ""


def _refuses_feature(canary: Canary, answer: Sample) -> bool:
    """Whether a server says no to a schema or to tools, which is no wrong answer."""
    special = canary.response_format or canary.tools
    refused = answer.failure in (Failure.REJECTED, Failure.SERVER_ERROR)
    return bool(special) and refused and answer.status in (400, 422, 501)


def _is(value: Any, kind: JsonType) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _PYTHON[kind])
