"""Read a log of any engine: recognise it, keep its boots apart, and say what it means."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts.allocation import MemoryFacts
from stackchoice.facts.datum import sure
from stackchoice.facts.yaml import shown
from stackchoice.read.log_boot import BootBuilder
from stackchoice.read.log_meaning import finished
from stackchoice.read.log_patterns import STAGES, LinePattern, LogLanguage, load_languages
from stackchoice.read.log_records import Hardware, LogReading
from stackchoice.read.log_stream import PID, Line, lines_of, raw_lines

#: Lines after which engines without a line of their own are no longer looked for.
PROBATION = 50_000
#: Lines that are searched at once for the literal texts of all patterns.
BLOCK = 256
#: A file with more starts than this is no log of a server.
MOST_BOOTS = 1000
#: Lines of one boot that a rank prints once, so that a second one begins another boot.
ONCE = ("weights", "memory", "pool")
#: Ranks of one boot hold equal shares; a figure that differs by more is another boot's.
SAME_BOOT_RATIO = 1.25


#: Said where processes of several servers take turns.
MIXED = (
    "lines of several servers are mixed, told apart by their cores' processes; what other "
    "processes say may stand with the wrong one: give each server's log alone"
)


class EngineReader:
    """Follows the lines of one engine and cuts them into boots."""

    def __init__(self, language: LogLanguage) -> None:
        self.language = language
        self.patterns = [(pattern.at, pattern) for pattern in language.patterns]
        self.signs = self.full = False
        self.boots: list[BootBuilder] = []
        self.latest: dict[str, BootBuilder] = {}
        self.cores: dict[tuple[str, tuple[str, str]], BootBuilder] = {}
        self.mixed = False
        self.server: dict[str, dict[str, tuple[Any, int]]] = {}

    def feed(self, lines: list[Line], block: str) -> None:
        """Take some lines; ``block`` is their joined text, in which most patterns are not."""
        self.signs = self.signs or any(sign in block for sign in self.language.signatures)
        if self.full:
            return
        present = [(at, pattern) for at, pattern in self.patterns if at in block]
        for place, line in enumerate(lines if present else ()):
            text = line.text
            for at, pattern in present:
                if at not in text:
                    continue
                captured = pattern.read(text)
                if captured is None and pattern.group == "refusal" and place + 1 < len(lines):
                    # a terminal breaks long messages, and people paste what they see
                    captured = pattern.read(text + lines[place + 1].text)
                if captured is not None:
                    boot = self._boot(pattern, captured, line)
                    if self.full:
                        return
                    boot.take(pattern, captured, line)
                    self.server.setdefault(line.writer, {}).update(boot.server)

    def _boot(self, pattern: LinePattern, captured: dict[str, str], line: Line) -> BootBuilder:
        writer, core = line.writer, line.core
        current, strange = self.latest.get(writer), False
        if current and core and current.cores.setdefault(*core) != core[1]:
            # another server's core: one that was seen before, or the first line of a new one
            before = self.cores.get((writer, core))
            current, strange = before or current, before is None
            self.mixed = self.mixed or before is not None
        if current is None or strange or self._begins(current, pattern, captured, line):
            if len(self.boots) >= MOST_BOOTS:
                self.full = True
                return sure(current)
            current = BootBuilder(self.language, line.number)
            for key, pair in self.server.get(writer, {}).items():
                current.by_rank[key] = {"": pair}
            self.boots.append(current)
            self.latest[writer] = current
            if core:
                current.cores[core[0]] = core[1]
        if core:
            self.cores[writer, core] = current
        return current

    def _begins(
        self, boot: BootBuilder, pattern: LinePattern, captured: dict[str, str], line: Line
    ) -> bool:
        """Whether a line is the first of another boot."""
        before = boot.said(pattern, line.rank)
        values = dict(boot.values_of(pattern, captured))
        if pattern.starts:
            # ranks without a name each say who they are before anything is loaded
            again = before is not None and (boot.furthest > 0 or before != values)
            return again or boot.furthest >= STAGES["memory"]
        if PID in line.rank and pattern.group in ("weights", "memory"):
            # a process that nobody saw comes after the pool, which waits for all of a boot
            new = all(rank != line.rank for _, rank, _ in boot.seen)
            if new and boot.furthest >= STAGES["pool"]:
                return True
        if pattern.group not in ONCE or before is None or line.rank in boot.role or pattern.by:
            return False
        if boot.repeats(pattern, values, line.rank):
            return False
        reached = boot.stage.get(line.rank, -1)
        if pattern.stage is not None and reached > pattern.stage:
            return True
        return not line.rank and _far_apart(before, values)


def _far_apart(before: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether two prints of one line differ by more than ranks of one boot do."""
    for key, value in now.items():
        other = before.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not other:
            continue
        low, high = sorted((abs(value), abs(other)))
        if high > low * SAME_BOOT_RATIO:
            return True
    return False


def read_log(
    path: Path | str,
    memory: MemoryFacts,
    *,
    engine: str | None = None,
    hardware: Hardware | None = None,
) -> LogReading:
    """Read a log file in one pass, in time linear in its length and in bounded memory.

    Parameters
    ----------
    memory
        Facts about allocators: what a release's pool figure means.
    engine
        Id of the engine; recognised from the text when not given.
    hardware
        The chip and what the checkpoint asks for, to read warnings by.

    Raises
    ------
    LogError
        When the file cannot be read.
    InputError
        When the engine's log is not known here.
    """
    path = Path(path)
    reading = read_lines(raw_lines(path), memory, engine=engine, hardware=hardware)
    return reading.model_copy(update={"name": path.name})


def read_lines(
    lines: Iterable[str],
    memory: MemoryFacts,
    *,
    engine: str | None = None,
    hardware: Hardware | None = None,
) -> LogReading:
    """Read a log from its lines: see :func:`read_log`.

    InputError for an engine whose log is not known.
    """
    languages = load_languages()
    if engine is not None and engine not in languages:
        known = ", ".join(sorted(languages))
        raise InputError(f"{shown(engine)!r}: no log of that engine is known; one of: {known}")
    chosen = [languages[engine]] if engine else list(languages.values())
    readers, count, late = [EngineReader(language) for language in chosen], 0, ""
    stream = lines_of(lines)
    for block in iter(lambda: list(islice(stream, BLOCK)), []):
        count, text = block[-1].number, "\n".join(line.text for line in block)
        for reader in readers:
            reader.feed(block, text)
        if count >= PROBATION and not late and len(readers) > 1 and any(r.signs for r in readers):
            readers = [r for r in readers if r.signs]
            late = f"only {_names(readers)} was looked for after line {count:,}"
    kept, notes = _recognised(readers, given=engine is not None)
    hardware = hardware or Hardware()
    boots = [finished(b, memory, hardware) for r in kept for b in _servers(r)]
    boots.sort(key=lambda boot: boot.first_line)
    notes += [late] if late else []
    notes += [MIXED for r in kept if r.mixed]
    notes += [f"only the first {MOST_BOOTS:,} starts were read" for r in kept if r.full]
    if not (boots or notes):
        what = "no line of a known engine was found" if count else "empty"
        notes = [f"{what}; give all that a server printed, from its start"]
    engines = [r.language.engine for r in kept]
    return LogReading(lines=count, engines=engines, boots=boots, notes=notes)


def _servers(reader: EngineReader) -> list[BootBuilder]:
    """Return the boots, those of several nodes that meet at one address as the one they are."""
    found: list[BootBuilder] = []
    latest: dict[Any, tuple[BootBuilder, set[Any]]] = {}
    for boot in reader.boots:
        known = (boot.node_of(*pair) for pair in reader.language.nodes.items())
        where, node = next((one for one in known if one), (None, None))
        if where in latest and node not in latest[where][1]:
            latest[where][1].add(node)
            latest[where][0].join(boot)
            continue
        found.append(boot)
        if where is not None:
            latest[where] = boot, {node}
    return found


def _recognised(
    readers: list[EngineReader], *, given: bool
) -> tuple[list[EngineReader], list[str]]:
    """Return the engines whose log this is, and what stays open."""
    if given:
        return readers, []
    sure = [r for r in readers if r.signs]
    inside = {name for r in sure for name in r.language.nests}
    sure = [r for r in sure if r.language.engine not in inside]
    if sure:
        notes = [f"lines of several engines: {_names(sure)}"] if len(sure) > 1 else []
        return sure, notes
    matching = [r for r in readers if r.boots]
    nested = {name for r in matching for name in r.language.nests}
    outer = [
        r for r in matching if not set(r.language.nests) & {m.language.engine for m in matching}
    ]
    if len(outer) == 1 and nested <= {outer[0].language.engine}:
        return outer, [f"recognised as {_names(outer)} by its lines alone"]
    if not matching:
        return [], []
    return [], [f"lines that {_names(matching)} print alike; name the engine"]


def _names(readers: list[EngineReader]) -> str:
    return ", ".join(r.language.engine for r in readers)
