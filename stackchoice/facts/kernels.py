"""Facts about kernels: what a chip multiplies, which kernel a release takes for an encoding.

Every row of ``data/kernels/`` is one answer that was read somewhere, for a range of releases. Ids
of encodings and chips may be patterns (``gguf_*``, ``sm_8[06]``).
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Literal

from pydantic import Field, field_validator, model_validator

from stackchoice.facts.allocation import release_order
from stackchoice.facts.datum import AsOf, Datum, Evidence, Record, Source, entry
from stackchoice.facts.records import Backend

#: Parts of a model whose kernels are chosen apart: matrices, experts, and attention over its cache.
PartName = Literal["linear", "moe", "attention"]
Phase = Literal["prefill", "decode"]
#: Number formats that matrix units multiply, from wide to narrow.
Operand = Literal["16-bit", "int8", "fp8", "fp6", "fp4"]
#: How far a format is from 16 bit; equal numbers run at about the same rate.
NARROWNESS: dict[str, int] = {"16-bit": 0, "int8": 1, "fp8": 1, "fp6": 1, "fp4": 2}


class Chip(Record):
    """One generation of accelerators, and what its matrix units multiply (unknown when missing).

    ``capabilities`` are texts by which machines and logs name it; ``arch_pattern`` is a regular
    expression on a machine's architecture where the capability does not tell.
    """

    id: str
    name: str
    backend: Backend
    capabilities: list[str] = []
    arch_pattern: str = ""
    executes: dict[Operand, Datum[bool]]
    note: str = ""

    def runs(self, operand: str) -> bool | None:
        """Whether the matrix units multiply this format natively (None: not known)."""
        return entry(self.executes, operand).value


class Arithmetic(Record):
    """What is multiplied: operands of the units, bits of the activations, and words for people.

    ``label`` may hold ``{bits}`` for the bits of the stored weight. ``native`` says whether a
    format below 16 bit is multiplied as such; None where the stored format decides.
    """

    id: str
    label: str
    text: str
    operand: Operand | None = None
    activation_bits: int | None = None
    loads: bool = True
    native: bool | None = False


class Change(Record):
    """A pull request that changed a path, and what is known of when builds got it.

    ``opened`` is its first day, ``done`` a day by which the main branch had it; ``release`` the
    first release seen with it and ``without`` the last one seen without. Where it is not
    ``merged`` no release holds it; only a build that names it does.
    """

    engine: str
    pull: int
    opened: AsOf
    done: AsOf | None = None
    without: str = ""
    release: str = ""
    merged: bool = True
    source: Source


class DatedRelease(Record):
    """The day of a release that bounds a row, so that builds known by date can be placed."""

    engine: str
    release: str
    date: AsOf
    source: Source


class KernelRow(Record):
    """What engine releases ``since`` <= release < ``until`` do with an encoding on some chips.

    A bound is a release, or ``pull N`` for one of the changes. ``containers`` are the checkpoint
    formats (``quant_method``) the row holds for, all when empty. ``arithmetic`` None: it was read
    that a kernel is chosen, but not what it multiplies.
    """

    engine: str
    encodings: tuple[str, ...] = Field(min_length=1)
    chips: tuple[str, ...] = Field(min_length=1)
    parts: list[PartName] = ["linear", "moe"]
    phases: list[Phase] = ["prefill", "decode"]
    containers: list[str] = []
    since: str
    until: str = ""
    kernel: str
    arithmetic: str | None
    operand: Operand | None = Field(default=None, description="where it is not the arithmetic's")
    evidence: Evidence = Evidence.STATED
    source: Source
    note: str = ""

    @field_validator("since", "until")
    @classmethod
    def _bound(cls, bound: str) -> str:
        if bound and not bound.startswith("pull "):
            release_order(bound)
        return bound

    @model_validator(mode="after")
    def _told(self) -> KernelRow:
        if self.arithmetic is None and not self.note:
            raise ValueError("an unknown arithmetic needs a note that says what was read")
        return self

    def covers(self, engine: str, encoding: str, part: str, phase: str, chip: str) -> bool:
        """Whether the row is about this engine, encoding, part, phase and chip."""
        return (
            self.engine == engine and part in self.parts and phase in self.phases
            and matches(encoding, self.encodings) and matches(chip, self.chips)
        )  # fmt: skip


class SupportRow(Record):
    """Whether an engine has a feature for a model class (``*``: any), since which release.

    ``since`` is the first release that is known to have it; ``any`` older than anybody looked;
    ``no`` where it was read that it is missing.
    """

    engine: str
    feature: str
    architectures: list[str] = Field(min_length=1)
    since: Datum[str]


class KernelFacts(Record):
    """Everything above, with look-ups."""

    chips: list[Chip]
    arithmetics: list[Arithmetic]
    changes: list[Change]
    dated_releases: list[DatedRelease]
    rows: list[KernelRow]
    support: list[SupportRow] = []

    @model_validator(mode="after")
    def _known_names(self) -> KernelFacts:
        arithmetics = {a.id for a in self.arithmetics}
        pulls = {(c.engine, c.pull) for c in self.changes}
        for row in self.rows:
            if row.arithmetic is not None and row.arithmetic not in arithmetics:
                raise ValueError(f"{row.engine} {row.kernel}: no arithmetic {row.arithmetic!r}")
            for bound in (row.since, row.until):
                if bound.startswith("pull ") and (row.engine, int(bound[5:])) not in pulls:
                    raise ValueError(f"{row.engine} {row.kernel}: {bound} is not among changes")
            for chip in row.chips:
                if not any(fnmatchcase(c.id, chip) for c in self.chips):
                    raise ValueError(f"{row.engine} {row.kernel}: no chip {chip!r}")
        return self

    @cached_property
    def by_engine(self) -> dict[str, list[KernelRow]]:
        """The rows of each engine."""
        found: dict[str, list[KernelRow]] = {}
        for row in self.rows:
            found.setdefault(row.engine, []).append(row)
        return found

    def arithmetic(self, arithmetic_id: str) -> Arithmetic:
        """Return an arithmetic by its id."""
        return next(a for a in self.arithmetics if a.id == arithmetic_id)

    def change(self, engine: str, pull: int) -> Change:
        """Return a change by engine and number."""
        return next(c for c in self.changes if (c.engine, c.pull) == (engine, pull))

    def date_of(self, engine: str, release: str) -> str | None:
        """Return the day of a release that bounds a row, if it is known."""
        wanted = (engine, release_order(release))
        return next(
            (d.date for d in self.dated_releases
             if (d.engine, release_order(d.release)) == wanted), None,
        )  # fmt: skip


@cache
def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether a name is one of the patterns' own."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
