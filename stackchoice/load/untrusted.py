"""Reading what a server sent, which may be anything: each function gives a safe value or None."""

import json
from typing import Any

from stackchoice.facts.values import dict_of, is_number, list_of, text_of
from stackchoice.facts.yaml import shown


def parse_json(text: str) -> dict[str, Any] | None:
    """Parse a JSON object, or return None: what a server sends may be anything."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def visible(text: str, limit: int = 2000) -> str:
    """Return untrusted text of several lines safe to show: control and direction marks escaped."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    if cut.replace("\n", "").isprintable():
        return cut
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in cut
    )


def content_of(value: Any) -> tuple[str, str]:
    """Return the text of an answer and of its reasoning: plain text, or parts with a type each."""
    answer, thoughts = [text_of(value)], [""]
    for part in map(dict_of, list_of(value)):
        kind = text_of(part.get("type"))
        inner = part.get(kind) or part.get("text")
        said = text_of(inner) or "".join(text_of(dict_of(p).get("text")) for p in list_of(inner))
        (thoughts if kind in ("thinking", "reasoning") else answer).append(said)
    return "".join(answer), "".join(thoughts)


def message_of(answer: dict[str, Any]) -> str:
    """Find the message in the shapes in which servers report an error."""
    error = answer.get("error", answer.get("detail", answer.get("message", answer)))
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        error = error["message"]
    return shown(error if isinstance(error, str) else json.dumps(error), 300)


def rate_of(value: Any) -> float | None:
    """Return a plausible rate, or None."""
    return float(value) if is_number(value) and 0 < value < 1e12 else None
