"""Why a row of a read log says what it says: whose lines were read, and who says what they mean."""

from collections.abc import Iterable, Iterator
from typing import Any

from stackchoice.facts.datum import Evidence, Source
from stackchoice.facts.names import counted
from stackchoice.facts.told import Cited, Why, shown
from stackchoice.read.log_patterns import LogLanguage
from stackchoice.read.log_records import Boot, Found

READ = (
    "a line is known by its literal text, and what stands beside it is taken as the engine names it"
)
NAMED = "a kernel's name stands for the arithmetic that the release's own code has under it"
MEANT = "the first reading whose conditions hold on this chip and this checkpoint; else not known"


def figures(heading: str, found: Iterable[Found], language: LogLanguage) -> Why:
    """Return whence the figures of one row come: the rows of the log's language that have them."""
    facts = []
    for one in found:
        key = one.key.removeprefix("draft_")
        rows = [p for p in language.patterns if key in {*p.fields, *p.sets, *p.host.values()}]
        where = f"line {one.line:,}" + "".join(f"; {row.id}" for row in rows)
        note = "; ".join(text for text in (where, one.meaning, one.note) if text)
        sources = {row.source.label: row.source for row in rows}
        facts.append(_cited(one.key.replace("_", " "), one.value, one.evidence, note, sources))
    return Why(answer=heading, rule=READ, facts=facts)


def kernels(boot: Boot, language: LogLanguage) -> Iterator[tuple[str, Why]]:
    """Yield why each part of the model runs what it runs, by the part."""
    for part in dict.fromkeys(kernel.part for kernel in boot.kernels):
        facts = []
        for kernel in (k for k in boot.kernels if k.part == part):
            row = next((k for k in language.kernels if k.fits(kernel.context, kernel.name)), None)
            known = {row.source.label: row.source} if row else {}
            note = f"line {kernel.line:,}" + (f"; {row.note}" if row and row.note else "")
            facts.append(_cited(kernel.name, kernel.arithmetic, kernel.evidence, note, known))
        yield part, Why(answer=f"what runs: {part}", rule=NAMED, facts=facts)


def warnings(boot: Boot, language: LogLanguage) -> Iterator[tuple[str, Why]]:
    """Yield why each warning is read as it is, by its code."""
    for warned in boot.warnings:
        kind = language.warning(warned.code)
        known = {kind.source.label: kind.source} if kind else {}
        said = _cited(warned.code, counted(warned.count, "time"), warned.evidence,
                      f"line {warned.line:,}", known)  # fmt: skip
        yield warned.code, Why(answer=f"{warned.code}: {warned.reading}", rule=MEANT, facts=[said])


def _cited(
    name: str, value: Any, evidence: Evidence, note: str, sources: dict[str, Source]
) -> Cited:
    """Return a fact of a log with every source that says so; the first gives address and date."""
    first = next(iter(sources.values()), None)
    return Cited(
        name=name, value=shown(value), evidence=evidence, note=note, source=", ".join(sources),
        url=(first and first.url) or "", as_of=first.as_of if first else "",
    )  # fmt: skip
