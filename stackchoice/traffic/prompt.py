"""The shape of one request's body: its text for reuse, and what it asks of an engine."""

import json
from typing import Any

from stackchoice.traffic.fields import LogRow

SCHEMA_TYPES = ("json_schema", "json_object", "grammar", "regex", "structural_tag")
IMAGE_PARTS = ("image", "image_url", "input_image", "image_file", "inline_data", "inlineData")


def prompt_text(row: LogRow, redactions: set[str], tokens: int) -> str | None:
    """Return everything a prompt begins with, in the order of a chat template.

    None where the log has no prompt, a redacted one, or one with fewer characters than tokens,
    which cannot be the whole.
    """
    messages = row.parsed("messages")
    if not messages or not isinstance(messages, list | str):
        return None
    parts = [json.dumps(tools, sort_keys=True)] if (tools := row.parsed("tools")) else []
    if instructions := row.get("instructions"):
        parts.append(str(instructions))
    parts += map(_message, messages if isinstance(messages, list) else [messages])
    length = sum(map(len, parts))
    if length < tokens or any(p.split("\2")[-1].strip().lower() in redactions for p in parts):
        return None
    return "\1".join(parts)


def shape(row: LogRow, reasoning_tokens: int | None) -> dict[str, bool]:
    """Return what one request asks for; absent is what the log has no body for that would say."""
    thinking = None if reasoning_tokens is None else reasoning_tokens > 0
    if flag := row.get("thinking"):
        thinking = thinking or flag not in (False, "false", "False", "0", 0)
    elif thinking is None and isinstance(choices := row.parsed("choices"), list):
        thinking = any(_reasoned(choice) for choice in choices)
    counted = row.amount("image_count")
    pictured = None if counted is None else counted > 0
    found = {"thinking": thinking, "images": pictured}
    if row.has("messages") or row.has("tools") or row.has("format"):
        messages = row.parsed("messages")
        found |= {"json_schema": _schema(row.parsed("format")), "tools": bool(row.parsed("tools"))}
        if not pictured and isinstance(messages, list):
            found["images"] = _images(messages)
    return {name: flag for name, flag in found.items() if flag is not None}


def _message(message: Any) -> str:
    if not isinstance(message, dict):
        return str(message)
    content = message.get("content", message.get("parts", message.get("text", "")))
    calls = message.get("tool_calls")
    said = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return f"{message.get('role', '')}\2{said}{json.dumps(calls) if calls else ''}"


def _schema(asked: Any) -> bool:
    if isinstance(asked, dict):
        kind = asked.get("type")
        return kind in SCHEMA_TYPES or (kind not in ("text", None) and "properties" in asked) or (
            kind is None and bool(asked)
        )  # fmt: skip
    return isinstance(asked, str) and asked.strip().lower() not in ("", "text", "none", "false")


def _images(messages: list[Any]) -> bool:
    return any(
        isinstance(part, dict)
        and (part.get("type") in IMAGE_PARTS or any(key in part for key in IMAGE_PARTS))
        for message in messages
        if isinstance(message, dict)
        for parts in (message.get("content"), message.get("parts"), message.get("images") and [
            {"type": "image"}])
        if isinstance(parts, list)
        for part in parts
    )  # fmt: skip


def _reasoned(choice: Any) -> bool:
    if not isinstance(choice, dict):
        return False
    message = choice["message"] if isinstance(choice.get("message"), dict) else choice
    return bool(
        message.get("reasoning_content") or message.get("reasoning")
        or choice.get("type") in ("reasoning", "thinking")
    )  # fmt: skip
