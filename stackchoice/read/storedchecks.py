"""The tensors against everything that the other files say about them."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from stackchoice.facts.load import Facts
from stackchoice.read.architecture import Architecture
from stackchoice.read.checkpoint import Checkpoint
from stackchoice.read.contradictions import broken_promises
from stackchoice.read.declared import Said
from stackchoice.read.findings import Finding, finding
from stackchoice.read.inspection import EncodingUse
from stackchoice.read.patterns import Patterns
from stackchoice.read.stored import Module, layer_number
from stackchoice.read.uses import Resolver

PLAIN = {"bf16", "fp16", "fp32"}
#: Families that are recognised by name and whose stored form is not known here.
BY_NAME = {"other", "autoround", "ternary"}
#: Parts of the text model whose matrices a declaration for all linear layers means.
MEANT = ("attention", "linear", "moe")


def draft_modules(modules: list[Module], layers: int | None) -> list[Module]:
    """Call modules of layers beyond the model's own the draft head they are."""
    if not layers:
        return modules
    return [
        m._replace(part="draft")
        if (layer_number(m.name) or 0) >= layers and m.part not in ("vision", "audio") else m
        for m in modules
    ]  # fmt: skip


def stored_findings(
    found: Checkpoint, modules: list[Module], saids: list[Said], resolver: Resolver,
    uses: list[EncodingUse], model: Architecture,
) -> Iterator[Finding]:  # fmt: skip
    """Yield what the headers say against the index, the config and the declarations."""
    yield from _files(found)
    if not modules:
        return
    said = saids[0] if saids else None
    text = [m for m in modules if m.part in (*MEANT, "head", "embedding", "router") and m.matrix]
    yield from _against_declaration(text, said, resolver)
    if said is not None:
        for check in (_ignored, _unquantised, _groups):
            yield from check(text, said, resolver)
        yield from _inputs(text, resolver)
    yield from _layers(modules, model)
    if not saids:  # else the declaration was held against the name already
        families = {u.family for u in uses if u.modules}
        yield from broken_promises(
            found.names, families, "the tensors are", "tensors", resolver.facts
        )


def _files(found: Checkpoint) -> Iterator[Finding]:
    if found.missing:
        names = ", ".join(found.missing[:3]) + (", …" if len(found.missing) > 3 else "")
        yield finding(
            "shards_missing", f"{len(found.missing)} of the named files are not there: {names}",
            ("index", f"{len(found.headers) + len(found.gguf) + len(found.missing)} files"),
            ("folder", f"{len(found.headers) + len(found.gguf)} files"),
        )  # fmt: skip
    if not found.index_map or found.missing:
        return
    tensors = {t.name: h.name for h in found.headers for t in h.tensors}
    gone = [n for n, file in found.index_map.items() if tensors.get(n) != file]
    more = tensors.keys() - found.index_map.keys()
    both = (
        ("index", f"{len(found.index_map):,} tensors"),
        ("headers", f"{len(tensors):,} tensors"),
    )
    if gone:
        yield finding(
            "tensors_missing_from_files", f"{len(gone):,} tensors are not where the index says, "
            f"such as {gone[0][:120]!r}", *both,
        )  # fmt: skip
    if more:
        yield finding(
            "tensors_not_in_index", f"{len(more):,} tensors are in the files and not in the index, "
            f"such as {min(more)[:120]!r}", *both,
        )  # fmt: skip
    stored = sum(t.size for h in found.headers for t in h.tensors)
    if found.index_total is not None and found.index_total != stored:
        yield finding(
            "bytes_disagree_with_index", f"metadata.total_size is {found.index_total:,} bytes, the "
            f"tensors have {stored:,}", ("index", f"{found.index_total:,} B"),
            ("headers", f"{stored:,} B"),
        )  # fmt: skip


def _against_declaration(
    text: list[Module], said: Said | None, resolver: Resolver
) -> Iterator[Finding]:
    """Compare the families that are stored with those that are declared."""
    encodings = resolver.encodings
    stored = Counter(_family(m, resolver) for m in text)
    # A form that nothing here knows is reported in the table and contradicts nothing.
    quantised = {f for f in stored if f not in PLAIN and f in resolver.families}
    declared = {encodings[g.encoding].family for g in said.best} if said else set()
    unread = said is not None and bool(said.unread)
    words = ", ".join(f"{n:,} modules {f}" for f, n in stored.most_common(4))
    if quantised and not declared and not unread:
        yield finding("quantised_but_undeclared", f"tensors are {words}; no file declares it",
                      ("config", "nothing"), ("tensors", words))  # fmt: skip
    if said is None or not declared or unread or declared & BY_NAME:
        return
    called = ", ".join(sorted(declared))
    if not quantised and declared - PLAIN and not set(stored) - PLAIN:
        yield finding(
            "declared_but_not_quantised", f"{said.file} declares {called}; every matrix is stored "
            f"plain ({words})", (said.file, called), ("tensors", words),
        )  # fmt: skip
    elif quantised - declared or (quantised and set(stored) <= quantised | PLAIN and
                                  declared - quantised):  # fmt: skip
        yield finding(
            "stored_otherwise_than_declared", f"{said.file} declares {called}; the tensors are "
            f"{words}", (said.file, called), ("tensors", words),
        )  # fmt: skip


def _family(module: Module, resolver: Resolver) -> str:
    found = resolver.encodings.get(resolver.encoding(module))
    return found.family if found else resolver.family(module.storage)


def _quantised(module: Module, resolver: Resolver) -> bool:
    return resolver.family(module.storage) not in PLAIN


def _ignored(text: list[Module], said: Said, resolver: Resolver) -> Iterator[Finding]:
    ignored = Patterns(said.ignored)
    wrong = [m.name for m in text if _quantised(m, resolver) and ignored.match(m.name)]
    if wrong:
        yield finding(
            "ignored_but_quantised", f"{len(wrong):,} modules of the ignore list are stored "
            f"quantised, such as {wrong[0][:120]!r}", (said.file, "left alone"),
            ("tensors", "quantised"),
        )  # fmt: skip


def _unquantised(text: list[Module], said: Said, resolver: Resolver) -> Iterator[Finding]:
    """Modules that the declaration names, or means by "all linear layers", and that are plain."""
    plain = [m for m in text if not _quantised(m, resolver) and m.part in MEANT]
    listed = {n for g in said.best for n in g.names}
    if listed:
        wrong = [m.name for m in plain if m.name in listed]
        if wrong:
            yield finding(
                "declared_but_not_quantised", f"{len(wrong):,} modules that {said.file} lists are "
                f"stored in 16 bits, such as {wrong[0][:120]!r}",
                (said.file, "quantised"), ("tensors", "16 bits or more"),
            )  # fmt: skip
        return
    whole = [g for g in said.best if not g.part]
    ignored = Patterns(said.ignored)
    left = [m.name for m in plain if m.name.endswith("_proj") and not ignored.match(m.name)]
    if whole and left and any(_quantised(m, resolver) for m in text):
        yield finding(
            "declared_but_not_quantised", f"{len(left):,} projections are stored in 16 bits and no "
            f"ignore list names them, such as {left[0][:120]!r}",
            (said.file, whole[0].words), ("tensors", "16 bits or more"), kind="note",
        )  # fmt: skip


def _groups(text: list[Module], said: Said, resolver: Resolver) -> Iterator[Finding]:
    """Compare declared group sizes with those that the shapes of the scales give."""
    declared = {
        resolver.encodings[g.encoding].family: g.group_size for g in said.best if g.group_size
    }
    for family, size in declared.items():
        seen = Counter(m.group for m in text if m.group and _family(m, resolver) == family)
        other = {g: n for g, n in seen.items() if g != size}
        if other and family in ("nvfp4", "mxfp4", "mxfp8"):
            group, number = max(other.items(), key=lambda item: item[1])
            yield finding(
                "group_size_differs", f"{number:,} {family} modules have a scale per {group} "
                f"weights; {said.file} says {size}", (said.file, size), ("tensors", group),
            )  # fmt: skip
            return


def _inputs(text: list[Module], resolver: Resolver) -> Iterator[Finding]:
    """Scales for activations beside weights whose activations are declared to stay alone."""
    odd = [
        m for m in text
        if m.input_scale and (e := resolver.encodings.get(resolver.encoding(m))) and e.weight_only
    ]  # fmt: skip
    if odd:
        yield finding(
            "input_scales_without_activations", f"{len(odd):,} modules carry scales for "
            "activations that the declaration leaves in 16 bits; some exporters write them, "
            "engines drop them", ("declaration", "weights only"),
            ("tensors", odd[0].name[:120]), kind="note",
        )  # fmt: skip


def _layers(modules: list[Module], model: Architecture) -> Iterator[Finding]:
    text = (layer_number(m.name) for m in modules if m.part not in ("vision", "audio", "draft"))
    last, layers = max((n for n in text if n is not None), default=None), model.number_of_layers
    if last is not None and layers and last + 1 != layers:
        yield finding(
            "count_of_layers_differs", f"the tensors have layers up to number {last}, the "
            f"config has {layers}", ("config", layers), ("tensors", last + 1),
        )  # fmt: skip


def gguf_findings(
    found: Checkpoint, modules: list[Module], config: dict[str, Any], facts: Facts
) -> Iterator[Finding]:
    """Yield what a GGUF file's type, name and metadata say against its tensors."""
    yield from _files(found)
    stored = Counter(m.storage for m in modules if m.matrix)
    number = found.gguf[0].metadata.get("general.file_type") if found.gguf else None
    formats = facts.quant_formats
    row = formats.ggml_file(number)
    kind = next((t for t in formats.ggml_types.rows if row and t.name == row.type), None)
    words = ", ".join(f"{n} x {s.removeprefix('gguf_').upper()}" for s, n in stored.most_common(4))
    if row and kind and stored and not found.missing and kind.encoding not in stored:
        yield finding(
            "file_type_disagrees", f"general.file_type says {row.name}; no tensor is {row.type} "
            f"({words})", ("general.file_type", row.name), ("tensors", words),
        )  # fmt: skip
    types = {t.name.lower() for t in formats.ggml_types.rows}
    for name in found.names:
        said = [t for t in re.findall(r"[a-z0-9]+(?:_[a-z0-9]+)*", name.lower())
                if t in types or t.rpartition("_")[0] in types]  # fmt: skip
        base = next((t if t in types else t.rpartition("_")[0] for t in said), "")
        plain = {"f16": "fp16", "f32": "fp32", "bf16": "bf16"}
        if base and stored and not found.missing and plain.get(base, f"gguf_{base}") not in stored:
            yield finding(
                "name_promises_other_encoding", f"the name {name!r} promises {base.upper()}; the "
                f"tensors are {words}", ("name", name), ("tensors", words),
            )  # fmt: skip
            break
    latent = config.get("kv_lora_rank")
    own = found.gguf[0].metadata if found.gguf else {}
    if latent and not any(k.endswith("attention.key_length_mla") for k in own):
        yield finding(
            "latent_expanded_by_file", "an older conversion without absorbed latent attention: the "
            "engine caches expanded keys and values", ("kv_lora_rank", latent),
            ("attention.key_length_mla", "missing"),
        )  # fmt: skip
