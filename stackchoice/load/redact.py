"""Secrets leave what was received before anything keeps it: raw bytes, decoded texts, engine logs.

Bytes are overwritten in place, so that lengths and times stay what they were.
"""

import os
import re
from collections.abc import Iterator

from stackchoice.facts.secrets import HIDDEN, without_keys
from stackchoice.load.untrusted import parse_json

_COOKIE = re.compile(rb"(?i)(\nset-cookie:[ \t]*)([^\r\n]+)")
_CHUNKED = re.compile(rb"(?i)\ntransfer-encoding:[^\r\n]*chunked")
#: Texts of an answer that are put together from its events, and those that an error is in.
_STRING = re.compile(
    rb'"(content|reasoning|reasoning_content|text|refusal|arguments|name|model|finish_reason|message'
    rb'|detail|error)"\s*:\s*"([^"\\\n]*(?:\\.[^"\\\n]*)*)"'
)
#: Names of environment variables whose values are nobody's business.
_NAMED = re.compile(r"(?i)key|token|secret|passw")
#: Shorter ones are placeholders, and would be found in anything.
SHORTEST = 8


def redacted(raw: bytes, secret: str) -> bytes:
    """Overwrite cookies and a secret in a response; the result is as long.

    The secret is found whole or cut off (from half of it on, as servers quote it), across the
    chunks of HTTP, escaped in JSON, and in pieces over the events of a stream.
    """
    raw = _COOKIE.sub(lambda m: m.group(1) + b"*" * len(m.group(2)), raw)
    if len(secret) < SHORTEST:
        return raw
    raw = _without(raw, secret)
    pieces = list(_body(raw))
    body = b"".join(raw[a:b] for a, b in pieces)
    clean = _without(body, secret)
    said: dict[bytes, list[bytes]] = {}
    for name, text in _STRING.findall(clean):
        said.setdefault(name, []).append(text)
    for name, texts in said.items():
        if _start(secret) in _decoded(b"".join(texts)):
            clean = _STRING.sub(
                lambda m, name=name: m.group() if m.group(1) != name  # type: ignore[misc]
                else m.group()[: m.start(2) - m.start()] + b"*" * len(m.group(2)) + b'"',
                clean,
            )  # fmt: skip
    if clean == body:
        return raw
    kept, at, done = [], 0, 0
    for a, b in pieces:
        kept += [raw[done:a], clean[at : at + b - a]]
        at, done = at + b - a, b
    return b"".join([*kept, raw[done:]])


def without_secrets(text: str) -> str:
    """Return text of a program that had this environment, without the keys in it or of its own."""
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and _NAMED.search(name):
            text = text.replace(value, HIDDEN)
    return without_keys(text)


def _start(secret: str) -> str:
    return secret[: max(SHORTEST, len(secret) // 2)]


def _without(raw: bytes, secret: str) -> bytes:
    least = len(_start(secret))
    for text in {secret, secret.replace("/", "\\/"), secret.replace('"', '\\"')}:
        if text[:least].encode() not in raw:
            continue
        for length in range(len(text), least - 1, -1):
            mask = b"[redacted]"[:length].ljust(length, b"*")
            raw = raw.replace(text[:length].encode(), mask)
    return raw


def _body(raw: bytes) -> Iterator[tuple[int, int]]:
    """Yield where the body lies: in one piece, or in its chunks."""
    blank = re.search(rb"\r?\n\r?\n", raw)
    at = blank.end() if blank else len(raw)
    if not _CHUNKED.search(raw, 0, at):
        yield at, len(raw)
        return
    while (end := raw.find(b"\n", at)) >= 0:
        try:
            size = int(raw[at:end].split(b";")[0], 16)
        except ValueError:
            break
        at = end + 1
        if size <= 0:
            break
        yield at, min(at + size, len(raw))
        at += size + 2


def _decoded(literal: bytes) -> str:
    """Return what a JSON string says; as it stands where it is none."""
    text = literal.decode("utf-8", "replace")
    if "\\" not in text:
        return text
    return str((parse_json(f'{{"s": "{text}"}}') or {}).get("s", text))
