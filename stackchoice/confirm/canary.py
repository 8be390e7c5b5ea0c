"""Canaries: small questions that a working stack answers and a broken one does not.

They are asked before timing and once after. Passing says that the stack is not plainly broken; it
says nothing of how good the model is. Judging is in :mod:`stackchoice.confirm.judged`.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import random
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from stackchoice.errors import FactsError
from stackchoice.facts.datum import Record
from stackchoice.facts.files import checked
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml
from stackchoice.load.plan import WORDS

JsonType = Literal["string", "integer", "number", "boolean", "array", "object"]
#: Where a needle's text goes in a message.
HAYSTACK = "{haystack}"


class Message(Record):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


class ToolExpect(Record):
    """The call that must come, with at least these arguments (texts in any case)."""

    name: str
    arguments: dict[str, str | int | float | bool] = {}


class CodeExpect(Record):
    """Python that is added to the code of the answer, and what it must print."""

    then: str
    prints: str


class Expect(Record):
    """What the answer must be; everything that is given must hold.

    ``contains``: one of these texts, in any case. ``equals``: this text, spaces at the ends aside.
    ``as_reference``: what the reference arm answered. ``json_keys``: a JSON object with exactly
    these keys. ``tool``: a call. ``code``: code that does what it should.
    """

    contains: tuple[str, ...] = ()
    equals: str | None = None
    as_reference: bool = False
    json_keys: dict[str, JsonType] = Field(default_factory=dict)
    tool: ToolExpect | None = None
    code: CodeExpect | None = None


class Needle(Record):
    """A sentence hidden in text of so many words, at each depth (0: first, 1: last)."""

    sentence: str
    words: int = Field(gt=0, le=1_000_000)
    depths: tuple[float, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _within(self) -> Needle:
        if any(not 0 <= depth <= 1 for depth in self.depths):
            raise ValueError("a depth is a share from 0 to 1")
        return self

    def haystack(self, depth: float) -> str:
        """Return the text; the same for every arm."""
        draw = random.Random(f"{self.words}/{depth}")
        lines = [
            f"The {draw.choice(WORDS)} of the {draw.choice(WORDS)} was a {draw.choice(WORDS)}."
            for _ in range(-(-self.words // 9))
        ]
        lines.insert(round(depth * len(lines)), self.sentence)
        return " ".join(lines)


class Canary(Record):
    """One question. ``repeat`` asks it more than once and notes whether the answers agree."""

    id: str
    messages: list[Message]
    max_tokens: int = Field(gt=0)
    expect: Expect
    response_format: dict[str, Any] | None = None
    tools: list[dict[str, Any]] = []
    needle: Needle | None = None
    repeat: int = Field(default=1, ge=1, le=5)

    @model_validator(mode="after")
    def _has_a_place(self) -> Canary:
        if self.needle and not any(HAYSTACK in m.content for m in self.messages):
            raise ValueError(f"no message holds {HAYSTACK}, where the needle's text goes")
        return self

    def body(self) -> dict[str, Any]:
        """Request fields beside model and streaming."""
        body: dict[str, Any] = {
            "messages": [m.model_dump() for m in self.messages],
            "max_tokens": self.max_tokens,
            "temperature": 0,
        }
        more = {"response_format": self.response_format, "tools": self.tools}
        return body | {name: value for name, value in more.items() if value}

    def at_depths(self) -> list[Canary]:
        """Return one canary for each depth of the needle; itself where it has none."""
        if self.needle is None:
            return [self]
        found = []
        for depth in self.needle.depths:
            text = self.needle.haystack(depth)
            messages = [
                m.model_copy(update={"content": m.content.replace(HAYSTACK, text)})
                for m in self.messages
            ]
            more = {"id": f"{self.id}-{depth:.0%}", "messages": messages, "needle": None}
            found.append(self.model_copy(update=more))
        return found


class CanaryOutcome(Record):
    """How a canary came out; ``text`` is the answer, escaped for printing.

    ``beyond the model``: it failed here and on the reference arm too. ``recorded``: an answer that
    waits for a reference to be compared with. ``off``: this system
    cannot judge it, or the server was full and turned it away.
    """

    id: str
    result: Literal[
        "passed", "failed", "not supported", "beyond the model", "recorded", "off"
    ]  # fmt: skip
    failure: Literal["request", "schema", "tool", "code", "wrong answer"] | None = None
    reason: str = ""
    note: str = ""
    text: str = ""
    input_tokens: int | None = None


class CanarySet(Record):
    """Canaries of one or several files, and the sha256 of what was read."""

    name: str
    version: int
    canaries: list[Canary] = Field(min_length=1)
    sha256: str


class _File(Record):
    version: int
    models: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    canaries: list[Canary] = []

    @model_validator(mode="after")
    def _holds_something(self) -> _File:
        if not (self.canaries or self.include):
            raise ValueError("canaries: none; name some, or sets to include")
        return self


def load_canaries(name: str = "basic", model: str = "", folder: Path | None = None) -> CanarySet:
    """Read a set: the name of a shipped one, a file, or a folder of one's own.

    A file may ``include`` shipped sets. With ``models`` (patterns such as ``*Coder*``) it counts
    only for models whose name matches one; in a folder every file that counts is taken.

    FactsError, YamlError when there is no such set, a file is malformed, or none counts for this
    model.
    """
    paths = canary_files(name, folder)
    canaries: dict[str, Canary] = {}
    read = hashlib.sha256()
    version = 0
    for path in paths:
        for at in (*_included(path), path):
            file = checked(_File, read_yaml(at), at)
            fits = any(fnmatch.fnmatch(model.lower(), p.lower()) for p in file.models)
            if file.models and not fits:
                continue
            version = max(version, file.version)
            read.update(at.read_bytes())
            found = [at_depth for c in file.canaries for at_depth in c.at_depths()]
            twice = [c.id for c in found if c.id in canaries and canaries[c.id] != c]
            if twice or len({c.id for c in found}) < len(found):
                ids = ", ".join(twice or [c.id for c in found])
                raise FactsError(f"{at}: canary ids must differ, got {ids}; rename one")
            canaries |= {c.id: c for c in found}
    if not canaries:
        raise FactsError(f"{name}: holds no canary for the model {model!r}; check its `models`")
    return CanarySet(name=Path(name).stem, version=version, canaries=list(canaries.values()),
                     sha256=read.hexdigest())  # fmt: skip


def canary_files(name: str, folder: Path | None = None) -> list[Path]:
    """Return the files of a set, whatever they hold; FactsError where there is no such set."""
    folder = folder or data_dir() / "canaries"
    shipped = folder / f"{name}.yaml"
    if "/" not in name and "\\" not in name and os.path.isfile(shipped):
        return [shipped]
    path = Path(name)
    found = [path] if os.path.isfile(path) else []
    if os.path.isdir(path):
        found = sorted(path.glob("*.yaml"))
    if not found:
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml")))
        raise FactsError(
            f"canaries {name!r}: no such set, file or folder of .yaml files; shipped are: {known}"
        )
    return found


def _included(path: Path) -> list[Path]:
    shipped = data_dir() / "canaries"
    paths = [shipped / f"{name}.yaml" for name in checked(_File, read_yaml(path), path).include]
    for wanted in paths:
        if not wanted.is_file():
            raise FactsError(f"{path}: include: no shipped set {wanted.stem!r}; correct the name")
    return paths
