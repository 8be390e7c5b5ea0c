"""What ``inspect`` found, as text for a terminal: contradictions first, then what is there."""

from collections.abc import Iterable
from pathlib import Path

from stackchoice.facts.names import counted
from stackchoice.facts.yaml import shown
from stackchoice.fit.layers import Layers
from stackchoice.fit.memory import GB
from stackchoice.present.text import number
from stackchoice.read.findings import Finding
from stackchoice.read.inspection import EncodingUse, Inspection, Tower

#: Width of the column of labels, and of lines of text.
LABEL, WIDTH = 16, 96
KINDS = {
    "full": "full attention", "sliding": "sliding attention", "chunked": "chunked attention",
    "latent": "latent attention", "compressed": "compressed attention", "index": "sparse index",
    "block_index": "block index", "gated_delta": "gated delta net (state)",
    "kimi_delta": "Kimi delta attention (state)", "mamba2": "Mamba-2 (state)",
    "mamba": "Mamba (state)", "short_conv": "short convolution (state)",
    "ngram_conv": "n-gram columns (state)",
}  # fmt: skip
SOURCES = {
    "tensors": "counted in the tensors' headers", "declaration": "as declared; no tensors here",
    "nothing": "nothing says",
}  # fmt: skip


def describe_checkpoint(found: Inspection) -> str:
    """Return the whole report as text; everything from the files is made safe to print."""
    name = next((n for n in found.names if n), found.path)
    if found.path.lower().endswith(".json"):  # alone, and its folder may have any name
        name = f"{name}, {Path(found.path).name}"
    size = "" if found.bytes_on_disk is None else f", {found.bytes_on_disk / GB:,.2f} GB"
    files = counted(found.files, "file")
    lines = [f"{shown(name, 80)}  ({found.format}{f' {found.file_type}' if found.file_type else ''}"
             f", {files}{size})", ""]  # fmt: skip
    lines += _findings(found.contradictions(), "contradiction")
    lines += _findings([f for f in found.findings if f.kind == "note"], "note")
    lines += [*_model(found), ""]
    lines += [*_encodings(found), ""]
    return "\n".join([*lines, *_rest(found)])


def _findings(rows: list[Finding], word: str) -> list[str]:
    if not rows:
        return [f"no {word}s", ""] if word == "contradiction" else []
    lines = [counted(len(rows), word)]
    mark = "!" if word == "contradiction" else "-"
    for row in rows:
        lines.append(f"  {mark} {row.code}")
        lines += _wrapped(shown(row.text, 600), " " * 4)
        pairs = list(zip(row.where, row.values, strict=True))
        width = max((len(_end(w)) for w, _ in pairs), default=0)
        lines += [f"      {_end(w):{width}}  {shown(v, 60)}" for w, v in pairs]
    return [*lines, ""]


def _end(text: str, limit: int = 50) -> str:
    """Return the end of a long place: the key matters more than the file's prefix."""
    safe = shown(text, 400)
    return safe if len(safe) <= limit else f"…{safe[-limit:]}"


def _wrapped(text: str, indent: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def _row(label: str, text: str) -> str:
    return f"{label:{LABEL}}{text}"


def _model(found: Inspection) -> list[str]:
    model = found.architecture
    lines = [_row("architecture", shown(model.name or model.model_type or "unknown", 80))]
    if model.unknown:
        lines += [_row("layers", f"unknown: {shown(model.unknown, 300)}")]
    elif model.layers:
        total = f"{model.number_of_layers} layers; cache: {model.cache_kind}"
        lines += [_row("layers", total)]
        lines += [_row("", f"{g.layers:4d} x {KINDS.get(g.kind, g.kind)}{_shape(g)}")
                  for g in model.layers]  # fmt: skip
    if model.experts:
        chosen = f", {model.experts_per_token} a token" if model.experts_per_token else ""
        chosen += f", {model.shared_experts} more for all" if model.shared_experts else ""
        where = "unknown" if model.moe_layers is None else f"{model.moe_layers} layers"
        lines.append(_row("experts", f"{model.experts}{chosen}; in {where}"))
    if model.context_tokens:
        lines.append(_row("context", f"{model.context_tokens:,} tokens"))
    lines.append(_row("cache asked for", f"{found.kv_encoding} ({shown(found.kv_asked_in, 60)})"
                      if found.kv_encoding else "nothing; the engine's default"))  # fmt: skip
    for label, tower in (("draft head", found.draft), ("vision tower", found.vision),
                         ("audio tower", found.audio)):  # fmt: skip
        if tower.present or label != "audio tower":
            lines.append(_row(label, _tower(tower)))
    return lines


def _shape(group: Layers) -> str:
    if group.kind == "latent":
        return f", {group.latent_values} values a token"
    if group.kind == "compressed":
        held = (
            f"window {group.window_tokens}" if group.window_tokens else f"1 entry per {group.ratio}"
        )
        return f", {group.latent_values} values, {held}"
    if not group.kv_heads:
        return f", {group.key_dim} values a token" if group.key_dim else ""
    values = "" if group.value_dim == group.key_dim else f" and {group.value_dim}"
    window = f", window {group.window_tokens}" if group.window_tokens else ""
    return f", {group.kv_heads} heads of {group.key_dim}{values}{window}"


def _tower(tower: Tower) -> str:
    if not tower.present:
        return "none" if tower.layers is None else f"{tower.layers} declared, no tensors here"
    parts = []
    if tower.layers:
        parts.append(counted(tower.layers, "layer"))
    if tower.modules is not None:
        parts.append(f"{tower.modules:,} modules, {number(tower.bytes / GB, 'GB')}"
                     if tower.bytes is not None else f"{tower.modules:,} modules")  # fmt: skip
    parts += [", ".join(shown(e, 30) for e in tower.encodings[:4])] if tower.encodings else []
    return "; ".join(parts) or "declared"


def _encodings(found: Inspection) -> list[str]:
    """Return the table of encodings, with one line for all of each number of bits."""
    said = SOURCES[found.encodings_from]
    if not found.encodings:
        return [_row("encodings", said)]
    rows = [_use(use) for use in found.encodings]
    for share in found.by_bits:
        bits = "?" if share.bits is None else f"{share.bits:g}"
        rows.append((f"all of {bits} bits", bits, "", _count(share.modules), _gb(share.bytes),
                     "" if share.share is None else f"{share.share:.1%}", ""))  # fmt: skip
    head = ("encoding", "weights", "activations", "modules", "GB", "bytes", "where")
    kept = [i for i in range(len(head)) if any(row[i] for row in rows)]
    cells = [tuple(row[i] for i in kept) for row in (head, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(kept))]
    left = [head[i] in ("encoding", "where") for i in kept]
    table = [
        "  " + "  ".join(cell.ljust(w) if to_left else cell.rjust(w)
                         for cell, w, to_left in zip(row, widths, left, strict=True)).rstrip()
        for row in cells
    ]  # fmt: skip
    cut = 1 + len(found.encodings)
    rule = "  " + "-" * (max(len(line) for line in table[cut:]) - 2)
    return [_row("encodings", said), *table[:cut], rule, *table[cut:]]


def _use(use: EncodingUse) -> tuple[str, ...]:
    known = "" if use.encoding else " "
    bits = "?" if use.weight_bits is None else f"{use.weight_bits:g}"
    acts = "engine's" if use.activation_bits is None and use.encoding else str(
        use.activation_bits or "?"
    )  # fmt: skip
    group = f" (groups of {use.group_size})" if use.group_size else ""
    where = ", ".join(
        f"{part} {count:,}" if count is not None else part for part, count in use.parts.items()
    )
    return (shown(use.name, 60) + group + known, bits, acts, _count(use.modules), _gb(use.bytes),
            "", where)  # fmt: skip


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _gb(size: int | None) -> str:
    return "" if size is None else f"{size / GB:,.3f}"


def _rest(found: Inspection) -> Iterable[str]:
    if found.presets:
        settings = ", ".join(f"{k} {v}" for k, v in found.presets.settings.items())
        yield _row("sampling", f"{settings} ({found.presets.file})")
        yield _row("", f"taken as defaults by {', '.join(found.presets.adopted_by) or 'none'}"
                   + (f"; not by {', '.join(found.presets.not_adopted_by)}"
                      if found.presets.not_adopted_by else ""))  # fmt: skip
    else:
        yield _row("sampling", "no presets in the checkpoint")
    yield _row("chat template", "yes" if found.chat_template else "none found")
    for text in found.unread:
        yield _row("not read", shown(text, 200))
    yield _row("manifest", f"sha256 {found.manifest_sha256}")
    if found.content_sha256:
        yield _row("content", f"sha256 {found.content_sha256}")
