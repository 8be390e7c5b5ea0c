"""The language of one engine's log as data: lines, kernels, warnings with their readings.

A pattern is found by its literal text ``at``; only there do its regular expressions run, once and
over a bounded length. So a line costs the same however hostile it is.
"""

import re
from functools import cache, cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field

from stackchoice.errors import FactsError
from stackchoice.facts.allocation import ReleaseText
from stackchoice.facts.datum import Record, Source
from stackchoice.facts.files import checked, with_sources
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_facts

#: How a captured text becomes a value; the unit stands in the key.
Kind = Literal["number", "count", "text", "switch", "numbers", "gib", "share", "capability"]
Group = Literal[
    "identity", "settings", "weights", "memory", "pool", "kernel", "speculation", "prefix",
    "throughput", "refusal", "warning", "ready",
]  # fmt: skip
#: Where in the life of a server a line stands; a step back by the same rank is a new boot.
STAGES = {
    "identity": 0, "settings": 0, "weights": 1, "kernel": 1, "memory": 2, "pool": 3, "ready": 5,
    "speculation": 6, "prefix": 6, "throughput": 6, "refusal": 9,
}  # fmt: skip
#: How far before its literal text a pattern may look.
LOOK_BACK = 120


class LinePattern(Record):
    """One line that an engine prints. ``since`` and ``until`` bound the releases it was read in.

    ``also``: literal text that stands elsewhere in the line. ``repeats``: a steady-state line,
    kept as a series. ``starts``: begins a boot. ``server``: true of every boot that follows.
    ``by``: the group that names a device; the numbers are added up, those of host devices under
    the key that ``host`` gives. ``again``: the role (a draft model) the line belongs to when the
    same rank prints it a second time before it is ready (and, where ``again_if_same`` names a
    field, prints the same there). ``enters`` and ``leaves`` bound the role or the area of the
    cache that the lines between them speak of. ``pairs``: the line lists settings.
    """

    id: str
    at: str = Field(min_length=4)
    also: str = ""
    before: str = ""
    then: str = ""
    fields: dict[str, Kind] = {}
    sets: dict[str, str | bool | int | float] = {}
    group: Group
    part: Literal["", "linear", "moe", "attention", "kv", "recurrent"] = ""
    context: str = ""
    pairs: Literal["", "python", "flags"] = ""
    repeats: bool = False
    starts: bool = False
    server: bool = False
    by: str = ""
    host: dict[str, str] = {}
    again: str = ""
    again_if_same: str = ""
    enters: str = ""
    leaves: Literal["", "area", "role"] = ""
    keep: Literal["last", "first"] = "last"
    warning: str = ""
    refusal: str = ""
    since: ReleaseText = ""
    until: ReleaseText = ""
    meaning: str = ""
    source: Source

    @cached_property
    def stage(self) -> int | None:
        """Step of the server's life; None where a line may come at any time."""
        return STAGES.get(self.group)

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """What must follow the literal text."""
        return re.compile(self.then)

    @cached_property
    def looking_back(self) -> re.Pattern[str]:
        """What must stand directly before it."""
        return re.compile(rf"(?:{self.before})\Z")

    def read(self, text: str) -> dict[str, str] | None:
        """Return the captured texts of the first place that matches, or None."""
        start = 0
        if self.also and self.also not in text:
            return None
        for _ in range(4):  # a line names the same words a few times at most
            found = text.find(self.at, start)
            if found < 0:
                return None
            end = found + len(self.at)
            match = self.expression.match(text, end)
            if match:
                groups = match.groupdict()
                if not self.before:
                    return groups
                back = self.looking_back.search(text[max(0, found - LOOK_BACK) : found])
                if back:
                    return {**groups, **back.groupdict()}
            start = end
        return None


class KernelName(Record):
    """Which arithmetic a kernel's name stands for, in the context of an encoding."""

    context: str = ""
    name: str
    arithmetic: str
    family: str = ""
    source: Source
    note: str = ""

    def fits(self, context: str, name: str) -> bool:
        """Whether this row speaks of a name printed for that encoding."""
        return bool(
            re.fullmatch(self.name, name)
            and (not self.context or re.fullmatch(self.context, context, re.IGNORECASE))
        )


class Reading(Record):
    """What a warning means where ``when`` holds. An unknown fact holds for no condition."""

    when: dict[Literal["native", "activation_bits"], bool | int] = {}
    text: str
    fallback_real: bool | None = None


class WarningKind(Record):
    """A warning of a log and its readings; the first that holds is given.

    ``silent``: the engine prints no error and stays healthy. ``native_from_capability``: the CUDA
    compute capability from which the chip has the format itself.
    """

    code: str
    silent: bool = False
    native_from_capability: float | None = None
    arithmetic: str = ""
    key: str = ""
    below: float | None = None
    readings: list[Reading] = Field(min_length=1)
    source: Source


class LogLanguage(Record):
    """What one engine prints. ``nests``: engines whose lines stand inside its own log."""

    engine: str
    signatures: list[str]
    nests: list[str] = []
    patterns: list[LinePattern]
    kernels: list[KernelName] = []
    warnings: list[WarningKind] = []
    parts: dict[str, dict[str, str]] = {}
    settings: dict[str, str] = Field(default={}, description="setting's name -> our key")
    values: dict[str, dict[str, str]] = Field(default={}, description="key -> spelling -> ours")
    printed_pool: dict[str, str] = Field(default={}, description="release's rule -> meaning")
    nodes: dict[str, str] = Field(default={}, description="setting of where nodes meet -> its node")

    def warning(self, code: str) -> WarningKind | None:
        """Return what is known of a warning."""
        return next((w for w in self.warnings if w.code == code), None)

    def arithmetic(self, context: str, name: str) -> str | None:
        """Return the arithmetic that a kernel's name stands for, None where no row tells."""
        row = next((k for k in self.kernels if k.fits(context, name)), None)
        return row.arithmetic if row else None


@cache
def load_languages() -> dict[str, LogLanguage]:
    """Load ``data/log_lines``; an engine that nests another also knows its lines.

    FactsError when a file is malformed, a source is missing or a pattern is no regular expression.
    """
    read = map(_language, sorted((data_dir() / "log_lines").glob("*.yaml")))
    alone = {language.engine: language for language in read}
    languages = {}
    for engine, language in alone.items():
        inner = [alone[name] for name in language.nests]
        languages[engine] = language.model_copy(
            update={
                "patterns": [*language.patterns, *(p for x in inner for p in x.patterns)],
                "kernels": [*language.kernels, *(k for x in inner for k in x.kernels)],
                "warnings": [*language.warnings, *(w for x in inner for w in x.warnings)],
                "parts": {k: v for x in (*inner, language) for k, v in x.parts.items()},
                "values": {k: v for x in (*inner, language) for k, v in x.values.items()},
            }
        )
    return languages


def _language(path: Path) -> LogLanguage:
    language: LogLanguage = checked(LogLanguage, with_sources(read_facts(path), path), path)
    try:
        for pattern in language.patterns:
            _ = pattern.expression, pattern.looking_back
    except re.error as error:
        raise FactsError(f"{path}: {error.pattern!r} is no regular expression ({error})") from None
    return language
