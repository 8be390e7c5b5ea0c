"""One checkpoint read from end to end: files, architecture, encodings, contradictions."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.place import no_collector
from stackchoice.facts.records import WeightPart
from stackchoice.facts.values import count_of, dict_of, text_of
from stackchoice.read.architecture import ODD, Architecture, architecture, config_findings
from stackchoice.read.checkpoint import PRESETS, Checkpoint, content_hash, open_checkpoint
from stackchoice.read.contradictions import declared_findings
from stackchoice.read.declared import Said, quantisation_of, read_said
from stackchoice.read.findings import Finding
from stackchoice.read.ggufconfig import config_of
from stackchoice.read.inspection import EncodingUse, Inspection, Preset, Tower
from stackchoice.read.stored import Module, modules_of, part_finder
from stackchoice.read.storedchecks import draft_modules, gguf_findings, stored_findings
from stackchoice.read.uses import (
    Resolver,
    by_bits,
    declared_parts,
    declared_uses,
    stored_parts,
    stored_uses,
)

#: Settings of generation_config.json that decide how text is sampled.
SAMPLING = (
    "do_sample", "temperature", "top_p", "top_k", "min_p", "typical_p", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "max_new_tokens", "temp", "penalty_repeat",
    "penalty_last_n", "mirostat", "mirostat_tau", "mirostat_eta", "xtc_probability",
    "xtc_threshold",
)  # fmt: skip


def inspect_checkpoint(
    path: Path | str, facts: Facts | None = None, *, whole_hash: bool = False
) -> Inspection:
    """Read what is on disk and report it.

    Parameters
    ----------
    path
        A folder, a GGUF file (of a split set: any part), a safetensors file, or a lone config.
    whole_hash
        Also hash the whole content of every file, which reads all of it.

    Raises
    ------
    CheckpointError
        When a file is broken, truncated, too large or hostile; one line with the fix.

    Examples
    --------
    >>> from stackchoice import inspect_checkpoint
    >>> from stackchoice.facts import data_dir
    >>> found = inspect_checkpoint(data_dir() / "samples" / "download-a-NVFP4")
    >>> found.format, found.architecture.number_of_layers
    ('config', 64)
    """
    facts = facts or load_facts()
    with no_collector():
        return _inspected(open_checkpoint(Path(path), facts), facts, whole_hash)


def _inspected(found: Checkpoint, facts: Facts, whole_hash: bool) -> Inspection:
    config, unknown = checkpoint_config(found, facts)
    model = architecture(config) if config else Architecture()
    if unknown:
        model = model.model_copy(update={"unknown": unknown})
    saids = declarations(config, found.sides, facts, config_file=found.config_file)
    said = saids[0] if saids else None
    resolver = Resolver(said, facts, quantised_activations=bool(config.get("quantize_activations")))
    modules = draft_modules(_modules(found, saids, facts), model.number_of_layers)
    towers = [m for h in found.towers for m in _gguf_modules(h, facts)]
    if modules:
        whole = found.format if found.format in ("gguf", "mlx") else ""
        uses = stored_uses(modules, resolver)
        parts = stored_parts(modules, resolver, said, whole)
    else:
        uses = declared_uses(said, model.dtype, facts)
        parts = declared_parts(said, model.dtype, facts, experts=bool(model.experts))
    kv, asked_in = next(((s.kv, s.file) for s in saids if s.kv), (None, ""))
    if kv in facts.encodings:
        parts.append(WeightPart(part="attention", encoding=kv))
    return Inspection(
        path=text_of(str(found.path)), format=found.format, names=[text_of(n) for n in found.names],
        files=len(found.digests),
        bytes_on_disk=sum(
            h.file_bytes for h in (*found.headers, *found.gguf, *found.towers)
        ) or None, tensors=_tensors(found), architecture=model, declared=saids,
        encodings=uses, by_bits=by_bits(uses),
        weight_bits=sorted({u.weight_bits for u in uses if u.weight_bits is not None}),
        activation_bits=sorted({u.activation_bits for u in uses
                                if u.activation_bits and (u.weight_bits or 0) < 16}),
        kv_encoding=kv, kv_asked_in=asked_in, parts=parts,
        encodings_from="tensors" if modules else "declaration" if uses else "nothing",
        vision=_tower(modules, towers, "vision", resolver, model.vision),
        audio=_tower(modules, [], "audio", resolver, model.audio),
        draft=_tower(modules, [], "draft", resolver, bool(model.draft_layers))
        .model_copy(update={"layers": model.draft_layers or None}),
        presets=_presets(found, facts), chat_template=found.chat_template,
        file_type=_file_type(found, facts), manifest_sha256=found.manifest(),
        content_sha256=content_hash(found) if whole_hash else None, missing=found.missing,
        unread=[f"{s.file}: {s.unread}" for s in saids if s.unread]
        + ([found.skipped] if found.skipped else []),
        findings=_findings(found, config, model, saids, modules, resolver, uses, facts),
    )  # fmt: skip


def declarations(
    config: dict[str, Any], sides: dict[str, dict[str, Any]], facts: Facts,
    config_file: str = "config.json",
) -> list[Said]:  # fmt: skip
    """Return what each file declares, the config first; empty declarations are left out."""
    declared, _ = quantisation_of(config)
    saids = [read_said(declared, config_file, facts, config)]
    saids += [read_said(side, name, facts, config) for name, side in sides.items()]
    return [s for s in saids if s is not None and (s.groups or s.kv or s.unread)]


def checkpoint_config(found: Checkpoint, facts: Facts) -> tuple[dict[str, Any], str]:
    """Return a checkpoint's config, that of a GGUF out of its metadata, and why it has none."""
    if not found.gguf:
        return found.config, ""
    metadata = found.gguf[0].metadata
    try:
        return config_of(metadata, facts.quant_formats), ""
    except UnknownCacheError as error:
        reason = str(error)
    except ODD as error:
        reason = f"the file's metadata has no form that is known here ({error!r:.120})"
    return {"model_type": metadata.get("general.architecture")}, reason


def _modules(found: Checkpoint, saids: list[Said], facts: Facts) -> list[Module]:
    if found.gguf:
        return [m for header in found.gguf for m in _gguf_modules(header, facts)]
    tensors = [t for header in found.headers for t in header.tensors]
    whole = next((g.group_size for s in saids if s.method == "mlx" for g in s.groups), None)
    return modules_of(tensors, facts.quant_formats, whole or 64)


def _gguf_modules(header: Any, facts: Facts) -> Iterator[Module]:
    part = part_finder(facts.quant_formats)
    for tensor in header.tensors:
        name = tensor.name.removesuffix(".weight").removesuffix(".bias")
        row = facts.quant_formats.ggml_by_number.get(tensor.type)
        storage = (row.encoding or row.name) if row else f"type {tensor.type}"
        matrix = len([n for n in tensor.shape if n > 1]) >= 2 and not tensor.name.endswith(".bias")
        yield Module(name, part(name), storage, tensor.size or 0, matrix)


def _tower(
    modules: list[Module], towers: list[Module], part: str, resolver: Resolver, declared: bool
) -> Tower:
    own = [m for m in modules if m.part == part] + towers
    if not own:
        return Tower(present=declared and not modules)
    kinds = sorted({resolver.encoding(m) or m.storage for m in own if m.matrix})
    return Tower(present=True, modules=sum(m.matrix for m in own), bytes=sum(m.size for m in own),
                 encodings=kinds)  # fmt: skip


def _presets(found: Checkpoint, facts: Facts) -> Preset | None:
    settings = {k: v for k in SAMPLING if _plain(v := found.presets.get(k))}
    if not settings:
        return None
    kind = "gguf" if found.gguf else PRESETS
    rows = [a for a in facts.quant_formats.sampling_adopters if a.file == kind]
    return Preset(
        file="GGUF metadata" if found.gguf else PRESETS, settings=settings,
        adopted_by=[a.engine for a in rows if a.adopts],
        not_adopted_by=[a.engine for a in rows if not a.adopts],
    )  # fmt: skip


def _plain(value: Any) -> bool:
    return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))


def _tensors(found: Checkpoint) -> int | None:
    counts = [len(h.tensors) for h in (*found.headers, *found.gguf)]
    return sum(counts) if counts else None


def _file_type(found: Checkpoint, facts: Facts) -> str:
    number = found.gguf[0].metadata.get("general.file_type") if found.gguf else None
    row = facts.quant_formats.ggml_file(count_of(number))
    return row.name if row else ""


def _findings(
    found: Checkpoint, config: dict[str, Any], model: Architecture, saids: list[Said],
    modules: list[Module], resolver: Resolver, uses: list[EncodingUse], facts: Facts,
) -> list[Finding]:  # fmt: skip
    rows: list[Finding] = []
    if found.gguf:
        rows += gguf_findings(found, modules, dict_of(config), facts)
    else:
        names = [] if found.headers else found.names
        rows += declared_findings(saids, found.names if saids else names, facts,
                                  config_file=found.config_file)  # fmt: skip
        rows += config_findings(config, model) if config else []
        rows += stored_findings(found, modules, saids, resolver, uses, model)
    order = {"contradiction": 0, "note": 1}
    return sorted(rows, key=lambda f: order[f.kind])
