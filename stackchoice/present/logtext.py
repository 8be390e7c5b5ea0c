"""A read log for a terminal: boot by boot, what was found, and what each warning means."""

import textwrap
from collections.abc import Sequence
from typing import Any

from stackchoice.facts.datum import Evidence
from stackchoice.facts.yaml import shown
from stackchoice.present.text import engine_name
from stackchoice.read.log_against import Compared, Ran, ran
from stackchoice.read.log_patterns import LogLanguage, load_languages
from stackchoice.read.log_records import Boot, Found, LogReading, Series

#: Groups of lines in the order of a start, with the word that heads them.
HEADINGS = {
    "identity": "identity", "settings": "settings", "weights": "weights", "memory": "memory",
    "pool": "pool", "kernel": "kernels", "speculation": "speculation", "prefix": "prefix cache",
    "throughput": "throughput", "warning": "beside it", "refusal": "of refusal",
    "ready": "after start", "derived": "follows",
}  # fmt: skip
#: Units that stand at the end of a key.
UNITS = {"_gib": " GiB", "_mib": " MiB", "_gb": " GB", "_pct": " %", "_tokens_per_s": " tokens/s"}
#: What is told elsewhere or says nothing alone.
LEFT_OUT = ("started",)
WIDTH, INDENT = 100, 16
#: A hostile file may hold thousands of boots, and a boot thousands of values.
MOST_SHOWN, MOST_CHARACTERS = 40, 6000


def describe_log(reading: LogReading, compared: Sequence[list[Compared]] = ()) -> str:
    """Return a readable summary; ``compared`` holds the checked prediction of each boot."""
    engines = ", ".join(map(engine_name, reading.engines)) or "engine not recognised"
    lines = [f"{shown(reading.name) or 'log'}: {reading.lines:,} lines, {engines}"]
    lines += [f"  note: {note}" for note in reading.notes]
    lines.append("  measured, with the line of the log, unless another class stands there")
    for number, boot in enumerate(reading.boots[:MOST_SHOWN], 1):
        checks = compared[number - 1] if number <= len(compared) else []
        lines += ["", boot_title(number, boot)]
        lines += [line for row in boot_rows(boot, checks) for line in _row(*row)]
    if len(reading.boots) > MOST_SHOWN:
        lines.append(f"\n{len(reading.boots) - MOST_SHOWN:,} more boots are in the JSON")
    return "\n".join(lines)


def boot_title(number: int, boot: Boot) -> str:
    """Return the head of a boot's summary."""
    release = f" {shown(boot.release)}" if boot.release else ", release not printed"
    lines = f"boot {number}, lines {boot.first_line:,} to {boot.last_line:,}"
    return f"{lines}: {engine_name(boot.engine)}{release}"


def boot_rows(boot: Boot, compared: Sequence[Compared] = ()) -> list[tuple[str, str]]:
    """Return a boot as rows of (heading, text), safe to print."""
    rows = []
    if len(boot.ranks) > 1:
        rows.append(("ranks", f"{len(boot.ranks)}: {', '.join(map(shown, boot.ranks[:8]))}"))
    for refusal in boot.refusals:
        said = f"{refusal.verdict} because {refusal.because} (line {refusal.line:,})"
        rows.append(
            ("refused", said + f"; it proposes {refusal.proposal}" * bool(refusal.proposal))
        )
    groups = grouped(boot, load_languages().get(boot.engine))
    for group, heading in HEADINGS.items():
        if figures := groups.get(group):
            rows.append((heading, "; ".join(map(_value, figures))))
        if group == "pool" and boot.pool_meaning:
            rows.append(("", f"what the figure counts: {boot.pool_meaning}"))
        if group == "kernel":
            rows += [("runs", _ran(part, what)) for part, what in ran(boot).items()]
    if boot.series:
        rows.append(("samples", "; ".join(map(_series, boot.series.values()))))
    for warned in boot.warnings:
        times = f", {warned.count:,} times" if warned.count > 1 else ""
        where = f"line {warned.line:,}{times}{', silent' if warned.silent else ''}"
        rows.append(("warning", f"{warned.code} ({where}): {warned.reading}"))
    for row in compared:
        found = f", the log says {row.found}" if row.found else ""
        text = f"{row.part}: predicted {row.predicted}{found} ({row.reason})"
        rows.append((row.outcome, text))
    return [(heading, shown(text, MOST_CHARACTERS)) for heading, text in rows]


def _ran(part: str, what: Ran) -> str:
    arithmetic = what.arithmetic or "arithmetic not known"
    return f"{part}: {arithmetic} (line {what.line:,}; {what.why})"


def grouped(boot: Boot, language: LogLanguage | None) -> dict[str, list[Found]]:
    """Return the found values, by the group of the line that gave them."""
    group_of: dict[str, str] = {}
    for pattern in language.patterns if language else []:
        for key in (*pattern.fields, *pattern.host.values(), *pattern.sets):
            if group_of.get(key, "warning") in ("warning", "refusal"):
                group_of[key] = pattern.under or pattern.group
    for renamed in (language.parts if language else {}).values():
        for key, new in renamed.items():
            group_of.setdefault(new, group_of.get(key, "derived"))
    groups: dict[str, list[Found]] = {}
    for key, found in boot.values.items():
        if key in LEFT_OUT or f"{key.removesuffix('_gib')}_mib" in boot.values:
            continue  # the same size stands there in the printed unit
        group = group_of.get(key.removeprefix("draft_"), "settings")
        if found.evidence is Evidence.COMPUTED:
            group = "derived"
        groups.setdefault(group, []).append(found)
    return groups


def _value(found: Found) -> str:
    words, unit = _words(found.key)
    where = f"line {found.line:,}"
    if found.evidence is not Evidence.MEASURED:
        where = found.evidence.value
    text = f"{words} {_number(found.value)}{unit} ({where})"
    values = [v for v in found.by_rank.values() if isinstance(v, int | float)]
    return text + (f", up to {_number(max(values))}{unit} on other ranks" if values else "")


def _words(key: str) -> tuple[str, str]:
    """Return a key as words, and its unit."""
    ending = next((e for e in UNITS if key.endswith(e)), "")
    return key.removesuffix(ending).replace("_", " "), UNITS.get(ending, "")


def _number(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, list):
        return ", ".join(map(_number, value[:16]))
    return shown(value, 80)


def _series(series: Series) -> str:
    words, unit = _words(series.key)
    if series.mean is None:
        return f"{words} {_number(series.samples[-1])} (last of {series.count:,})"
    if series.count == 1 or series.low == series.high:
        return f"{words} {_number(series.mean)}{unit} ({series.count:,} samples)"
    return (
        f"{words} {_number(series.low)} to {_number(series.high)}{unit}, mean "
        f"{_number(round(series.mean, 3))} ({series.count:,} samples)"
    )


def _row(heading: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"  {heading:<{INDENT - 2}}",
        subsequent_indent=" " * INDENT, break_long_words=True, break_on_hyphens=False,
    )  # fmt: skip
