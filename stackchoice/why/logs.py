"""Why a row of a read log says what it says: whose lines were read, and who says what they mean."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from stackchoice.facts.allocation import MemoryFacts
from stackchoice.facts.datum import Evidence, Source
from stackchoice.facts.figures import shown
from stackchoice.facts.names import counted
from stackchoice.facts.told import Cited, Why
from stackchoice.read.log_against import Compared
from stackchoice.read.log_patterns import LinePattern, LogLanguage
from stackchoice.read.log_records import Boot, Found, Kernel, Warned

READ = (
    "a line is known by its literal text, and what stands beside it is taken as the engine names it"
)
NAMED = "a kernel's name stands for the arithmetic that the release's own code has under it"
MEANT = "the first reading whose conditions hold on this chip and this checkpoint; else not known"
APART = (
    "a process names its rank before its lines; where ranks print one figure apart the smallest "
    "counts, since the fullest and slowest of them bounds the server"
)
STEADY = (
    "lines that come again and again: the lowest, the highest, and the mean, their sum over their "
    "count; where they hold no number the last"
)
ENDED = (
    "the first line that says so; an allocation that failed is oom, what was declined is refused"
)
HELD_AGAINST = (
    "a kernel that the log names, else a warning that weights are unpacked, proves an arithmetic: "
    "the predicted one confirms, another refutes; a name that proves none leaves it unconfirmed"
)
PREDICTED = "the kernel path of this release, artifact and chip"
COUNTED = (
    "what the line counts is a rule of the release; where none is printed it may be any of them"
)
NEGATIVE = "no line says so; what has less than nothing for its cache cannot serve"
#: A hostile log prints thousands of ranks and figures; so many of each are told.
MOST = 32


def figures(heading: str, found: Iterable[Found], language: LogLanguage) -> Why:
    """Return whence the figures of one row come: the rows of the log's language that have them."""
    facts = []
    for one in found:
        rows = _rows(one.key, language)
        where = f"line {one.line:,}" + "".join(f"; {row.id}" for row in rows)
        note = "; ".join(text for text in (where, one.meaning, one.note) if text)
        sources = {row.source.label: row.source for row in rows}
        facts.append(_cited(one.key.replace("_", " "), one.value, one.evidence, note, sources))
    return Why(answer=heading, rule=READ, facts=facts)


def kernels(boot: Boot, language: LogLanguage) -> Iterator[tuple[str, Why]]:
    """Yield why each part of the model runs what it runs, by the part."""
    for part in dict.fromkeys(kernel.part for kernel in boot.kernels):
        facts = [_kernel(kernel, language) for kernel in boot.kernels if kernel.part == part]
        yield part, Why(answer=f"what runs: {part}", rule=NAMED, facts=facts)


def compared(
    rows: Iterable[Compared], boot: Boot, language: LogLanguage
) -> Iterator[tuple[str, Why]]:
    """Yield why each part of a predicted path is confirmed, refuted or neither, by the part."""
    for row in rows:
        facts = [_cited("predicted", row.predicted, Evidence.INFERRED, PREDICTED, {})]
        facts += [_kernel(kernel, language) for kernel in boot.kernels
                  if (kernel.part, kernel.line) == (row.part, row.line)]  # fmt: skip
        facts += [_warned(warned, language) for warned in boot.warnings if warned.line == row.line]
        yield row.part, Why(answer=f"{row.part}: {row.outcome}", rule=HELD_AGAINST, facts=facts,
                            notes=[row.reason])  # fmt: skip


def meaning(boot: Boot, language: LogLanguage, memory: MemoryFacts) -> Why | None:
    """Return what the printed pool counts, by which rule of which release; None without a pool."""
    if (pool := boot.values.get("pool_tokens")) is None:
        return None
    facts = figures("", [pool], language).facts
    for rule in memory.allocators:
        if (rule.engine, rule.key) == (language.engine, "printed_pool"):
            value = language.printed_pool.get(str(rule.value.value), str(rule.value.value))
            since, source = rule.since or "its first release", rule.value.source
            known = {source.label: source} if source else {}
            facts.append(
                _cited(f"since {since}", value, rule.value.evidence, rule.value.note, known)
            )
    return Why(
        answer="what the figure counts", rule=COUNTED, facts=facts, notes=[boot.pool_meaning]
    )


def warnings(boot: Boot, language: LogLanguage) -> Iterator[tuple[str, Why]]:
    """Yield why each warning is read as it is, by its code."""
    for warned in boot.warnings:
        yield warned.code, Why(answer=f"{warned.code}: {warned.reading}", rule=MEANT,
                               facts=[_warned(warned, language)])  # fmt: skip


def ranks(boot: Boot) -> Why:
    """Return how the ranks of a start differ: each figure printed apart, with its spread."""
    facts = []
    for one in islice((found for found in boot.values.values() if found.by_rank), MOST):
        each = list(dict.fromkeys(map(shown, one.by_rank.values())))
        numbers = [v for v in one.by_rank.values() if isinstance(v, int | float)]
        ends = [shown(min(numbers)), shown(max(numbers))] if numbers else each[:MOST]
        told = [f"{rank} {shown(value)}" for rank, value in islice(one.by_rank.items(), MOST)]
        spread = (" to " if numbers else ", ").join(ends)
        note = f"line {one.line:,}; {', '.join(told)}"
        facts.append(_cited(one.key.replace("_", " "), spread, one.evidence, note, {}))
    named = f"{counted(len(boot.ranks), 'rank')} in lines {boot.first_line:,} to {boot.last_line:,}"
    notes = [] if facts else ["no figure that two ranks print differs"]
    return Why(answer=named, rule=APART, facts=facts, notes=notes)


def samples(boot: Boot, language: LogLanguage) -> Why:
    """Return over which lines the steady-state figures of a start run, and how far they spread."""
    facts = []
    for one in boot.series.values():
        rows = [row for row in _rows(one.key, language) if row.repeats]
        note = f"{counted(one.count, 'sample')} in lines {one.first_line:,} to {one.last_line:,}"
        note += "".join(f"; {row.id}" for row in rows)
        value = f"{shown(one.low)} to {shown(one.high)}, mean {shown(one.mean)}"
        if one.mean is None:
            value = shown(one.samples[-1])
        sources = {row.source.label: row.source for row in rows}
        facts.append(_cited(one.key.replace("_", " "), value, one.evidence, note, sources))
    return Why(answer="figures that were printed again and again", rule=STEADY, facts=facts)


def refusals(boot: Boot, language: LogLanguage) -> Iterator[tuple[str, Why]]:
    """Yield why a start ended, by verdict and reason: the line, and whose row reads it."""
    memory = boot.values.get("memory_for_cache_gib")
    for refusal in boot.refusals:
        said = f"{refusal.verdict} because {refusal.because}"
        rows = [p for p in language.patterns if p.refusal == refusal.because]
        said_there = [p for p in rows if p.at in refusal.text]
        rows, rule, known = said_there or rows, ENDED, Evidence.MEASURED  # a long line is cut
        if not said_there and memory and memory.line == refusal.line and memory.value < 0:
            rows, rule, known = [], NEGATIVE, Evidence.INFERRED
        note = "; ".join([f"line {refusal.line:,}", *(row.id for row in rows), refusal.text])
        sources = {row.source.label: row.source for row in rows}
        fact = _cited(refusal.because, refusal.verdict, known, note, sources)
        notes = [f"it proposes {refusal.proposal}, as printed"] if refusal.proposal else []
        yield said, Why(answer=said, rule=rule, facts=[fact], notes=notes)


def _kernel(kernel: Kernel, language: LogLanguage) -> Cited:
    """Return a printed kernel with whoever says which arithmetic its name stands for."""
    row = next((k for k in language.kernels if k.fits(kernel.context, kernel.name)), None)
    known = {row.source.label: row.source} if row else {}
    note = f"line {kernel.line:,}" + (f"; {row.note}" if row and row.note else "")
    return _cited(kernel.name, kernel.arithmetic, kernel.evidence, note, known)


def _warned(warned: Warned, language: LogLanguage) -> Cited:
    """Return a printed warning with whoever says what it means."""
    kind = language.warning(warned.code)
    known = {kind.source.label: kind.source} if kind else {}
    note = f"line {warned.line:,}"
    return _cited(warned.code, counted(warned.count, "time"), warned.evidence, note, known)


def _rows(key: str, language: LogLanguage) -> list[LinePattern]:
    """Return the rows of the language that give a figure."""
    key = key.removeprefix("draft_")
    return [p for p in language.patterns if key in {*p.fields, *p.sets, *p.host.values()}]


def _cited(
    name: str, value: Any, evidence: Evidence, note: str, sources: dict[str, Source]
) -> Cited:
    """Return a fact of a log with every source that says so; the first gives address and date."""
    first = next(iter(sources.values()), None)
    return Cited(
        name=name, value=shown(value), evidence=evidence, note=note, source=", ".join(sources),
        url=(first and first.url) or "", as_of=first.as_of if first else "",
    )  # fmt: skip
