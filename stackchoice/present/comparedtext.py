"""A comparison and a passport as text for a terminal, escaped: anything in them may be hostile."""

from collections.abc import Iterator

from stackchoice.compare.arms import Comparison, Pair
from stackchoice.compare.metrics import METRICS, centre
from stackchoice.confirm.passport import Passport, shown
from stackchoice.facts.yaml import shown_lines

REST = (("peak memory, bytes", "peak_memory_bytes"), ("errors", "errors"),
        ("restarts", "restarts"), ("energy, J", "energy_j"))  # fmt: skip
TAILS = (("ttft_s", "TTFT"), ("itl_s", "ITL"), ("end_to_end_s", "end to end"))


def describe(comparison: Comparison) -> str:
    """Return the fairness check, the figures, and the verdict on each pair, in this order."""
    lines = [f"{len(comparison.arms)} arms, {len(comparison.pairs)} pairs"]
    for arm in comparison.arms:
        evidence = arm.passport.results.evidence.value
        lines += ["", f"{arm.name}: {arm.label}, figures {evidence}"]
        lines += [f"  - {note}" for note in arm.notes]
    for pair in comparison.pairs:
        lines += ["", *_fairness(pair)]
    lines += ["", "figures"]
    lines += [f"  {line}" for line in _figures(comparison)]
    for pair in comparison.pairs:
        lines += ["", *_verdict(pair)]
    lines += ["", f"conclusion: {comparison.conclusion}"]
    return shown_lines(*lines)


def _fairness(pair: Pair) -> list[str]:
    lines = [f"the same? {pair.first} | {pair.second}"]
    for item in pair.fairness:
        said = f" ({item.said})" if item.said else ""
        lines.append(f"  {item.status:<9}  {item.title}{said}")
        lines += [
            f"             {part.name}: {part.first} | {part.second}"
            + ("" if part.status == item.status else f"  [{part.status}]")
            for part in item.parts
        ]
    return lines


def _figures(comparison: Comparison) -> Iterator[str]:
    for metric in METRICS:
        cells = [(a, centre(a.passport, metric.id, comparison.slo)) for a in comparison.arms]
        if all(value is None for _, value in cells):
            continue
        title = f"{metric.title}, {metric.unit}"
        if metric.id == "goodput_per_s":
            title += f" ({comparison.slo})"
        yield (f"{title}: " + "; ".join(
            f"{a.name} {'unknown' if v is None else format(v * metric.scale, '.4g')}"
            for a, v in cells
        ))  # fmt: skip
    for name, title in TAILS:
        for rank in ("p95", "p99"):
            spreads = [(a.name, getattr(a.passport.results, name)) for a in comparison.arms]
            if any(spread for _, spread in spreads):
                yield (f"{title} {rank}, ms: " + "; ".join(
                    f"{arm} {spread.in_ms(rank) if spread else 'unknown'}"
                    for arm, spread in spreads
                ))  # fmt: skip
    silent = []
    for title, name in REST:
        values = [getattr(a.passport.results, name) for a in comparison.arms]
        if all(v is None for v in values):
            silent.append(title)
            continue
        yield (f"{title}: " + "; ".join(
            f"{a.name} {shown(v)}" for a, v in zip(comparison.arms, values, strict=True)
        ))  # fmt: skip
    if silent:
        yield f"unknown in every arm: {', '.join(silent)}"


def _verdict(pair: Pair) -> list[str]:
    lines = [f"{pair.first} against {pair.second}: {pair.verdict.upper()}", f"  {pair.reason}"]
    titles = {m.id: m.title for m in METRICS}
    for row in pair.figures:
        if row.ratio is None:
            continue
        span = "" if row.low is None else f" ({row.low:.3f} to {row.high:.3f})"
        lines.append(
            f"  {titles[row.metric]}: ratio {row.ratio:.3f}{span}, {row.told}: {row.reason}"
        )
    why = pair.attribution
    lines.append(f"  why, inferred ({pair.first} -> {pair.second}): {why.text}")
    lines += [f"    {text}" for text in why.roofline]
    lines += [f"    moved: {cause}" for cause in why.causes]
    return lines


def describe_passport(passport: Passport) -> str:
    """Return the four parts of a passport, each item with how it is known."""
    lines = [f"{passport.arm}: {passport.label}"]
    if passport.source:
        lines.append(f"source: {passport.source.label} ({passport.source.as_of})")
    last = ""
    for part, item, value, origin in passport.items():
        if part != last:
            lines += ["", part]
            last = part
        how = f"  [{origin}]" if origin else ""
        if item == "repetitions" and isinstance(value, tuple):
            value = f"{len(value)} with figures of their own"
        lines.append(f"  {item.replace('_', ' ')}: {shown(value)}{how}")
    lines += ["", *(f"note: {text}" for text in passport.notes)]
    return shown_lines(*lines)
