"""Encodings by module and by bytes: from the tensors where there are tensors, else as declared."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from stackchoice.facts.datum import Evidence
from stackchoice.facts.encodings import Encoding
from stackchoice.facts.load import Facts
from stackchoice.facts.records import WeightPart
from stackchoice.read.declared import Group, Said, plain_encoding
from stackchoice.read.inspection import BitShare, EncodingUse, Inspection
from stackchoice.read.patterns import Patterns
from stackchoice.read.stored import Module, part_finder

#: Parts that multiply as plain linear layers.
LINEAR = ("attention", "linear", "head")
#: Modules as published checkpoints name them, to try an ignore list on.
PROBES = tuple(
    f"{prefix}layers.5.{name}"
    for prefix in ("model.", "language_model.model.", "model.language_model.")
    for name in ("self_attn.q_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.down_proj",
                 "mlp.shared_experts.down_proj")
)  # fmt: skip


class Resolver:
    """Names the encoding of a stored module: its storage with the activations declared for it."""

    def __init__(self, said: Said | None, facts: Facts, *, quantised_activations: bool) -> None:
        self.facts, self.encodings = facts, facts.encodings
        self.pairs = facts.quant_formats.pairs.ids
        self.quantised = quantised_activations
        self.groups = said.best if said else []
        self.by_name = {n: g for g in self.groups for n in g.names}
        self.known: dict[str, str] = {}
        #: Of the tables; anything else is the name of a bare dtype.
        self.families = {e.family for e in facts.encodings.values()}

    def family(self, storage: str) -> str:
        """Return the family of a storage, itself where nothing knows it."""
        if storage in self.pairs:
            return self.encodings[self.pairs[storage]["none"]].family
        return self.encodings[storage].family if storage in self.encodings else storage

    def encoding(self, module: Module) -> str:
        """Return the id of a module's encoding, "" where its activations are not declared."""
        if module.name not in self.known:
            self.known[module.name] = self._resolve(module)
        return self.known[module.name]

    def _resolve(self, module: Module) -> str:
        storage = module.storage
        if storage in self.encodings and storage not in self.pairs:
            aq = f"{storage}_aq"
            return aq if self.quantised and aq in self.encodings else storage
        if storage not in self.pairs and storage != "packed_int":
            return ""
        family = "int" if storage == "packed_int" else self.family(storage)
        found = {g.encoding for g in self._groups(module)
                 if self.encodings[g.encoding].family.startswith(family)}  # fmt: skip
        if len(found) != 1:
            return ""
        declared = self.encodings[found.pop()]
        if storage == "packed_int":
            return declared.id
        return self.pairs[storage].get(_activation(declared), declared.id)

    def _groups(self, module: Module) -> list[Group]:
        if own := self.by_name.get(module.name):
            return [own]
        if module.part == "moe":
            name = module.name  # a list may name all experts of a layer together
            while "." in name:
                name = name.rpartition(".")[0]
                if own := self.by_name.get(name):
                    return [own]
        apart = [g for g in self.groups if g.part == module.part]
        return apart or [g for g in self.groups if not g.part]


def _activation(encoding: Encoding) -> str:
    if encoding.activation_bits is None or encoding.activation_bits >= 16:
        return "none"
    return f"{encoding.activation_kind}{encoding.activation_bits}"


def stored_uses(modules: Iterable[Module], resolver: Resolver) -> list[EncodingUse]:
    """Sum modules up by encoding; every tensor's bytes are counted, norms too."""
    sizes: Counter[tuple[str, str]] = Counter()
    parts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    groups: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for module in modules:
        key = (resolver.encoding(module), module.storage)
        sizes[key] += module.size
        if module.matrix:
            parts[key][module.part] += 1
            if module.group:
                groups[key][module.group] += 1
    rows = []
    for (found, storage), size in sizes.most_common():
        key, encoding = (found, storage), resolver.encodings.get(found)
        known = encoding_fields(encoding) if encoding else {
            "encoding": found, "name": _unnamed(storage, resolver),
            "weight_bits": _bits(storage, resolver),
        }  # fmt: skip
        rows.append(EncodingUse(
            **{**known, "family": resolver.family(storage)}, bytes=size, parts=dict(parts[key]),
            group_size=groups[key].most_common(1)[0][0] if groups[key] else None,
            modules=sum(parts[key].values()), evidence=Evidence.COMPUTED,
        ))  # fmt: skip
    return rows


def encoding_fields(encoding: Encoding) -> dict[str, Any]:
    """Return the fields of a use that its encoding gives."""
    return {
        "encoding": encoding.id, "name": encoding.name, "family": encoding.family,
        "weight_bits": encoding.weight_bits, "activation_bits": encoding.activation_bits,
    }  # fmt: skip


def _unnamed(storage: str, resolver: Resolver) -> str:
    known = storage in resolver.pairs or storage == "packed_int"
    return f"{storage.upper()} ({'activations not declared' if known else 'form not known'})"


def _bits(storage: str, resolver: Resolver) -> float | None:
    if storage in resolver.pairs:
        return resolver.encodings[resolver.pairs[storage]["none"]].weight_bits
    return None  # bits of a bare dtype are not bits of a weight: two may be packed into one


def declared_uses(said: Said | None, dtype: str | None, facts: Facts) -> list[EncodingUse]:
    """Return the encodings as the files declare them, with what stays in the model's own type."""
    rows = []
    for group in said.best if said else []:
        encoding = facts.encodings[group.encoding]
        counts = Counter(part_finder(facts.quant_formats)(n) for n in group.names)
        parts: dict[str, int | None] = {**counts} or (
            {group.part: group.modules} if group.part else {}
        )
        rows.append(EncodingUse(
            **encoding_fields(encoding), group_size=group.group_size, modules=group.modules,
            parts=parts, evidence=Evidence.STATED,
        ))  # fmt: skip
    if plain := facts.encodings.get(plain_encoding(dtype)):
        rows.append(EncodingUse(**encoding_fields(plain), evidence=Evidence.STATED))
    return rows


def by_bits(uses: Iterable[EncodingUse]) -> list[BitShare]:
    """Sum uses up by bits a weight, the fewest first, those of unknown form last."""
    modules: dict[float | None, list[int | None]] = defaultdict(list)
    sizes: dict[float | None, list[int | None]] = defaultdict(list)
    for use in uses:
        modules[use.weight_bits].append(use.modules)
        sizes[use.weight_bits].append(use.bytes)
    total = sum(size or 0 for values in sizes.values() for size in values)
    return [
        BitShare(bits=bits, modules=_sum(modules[bits]), bytes=_sum(sizes[bits]),
                 share=sum(s or 0 for s in sizes[bits]) / total if total else None)
        for bits in sorted(sizes, key=lambda b: (b is None, b or 0))
    ]  # fmt: skip


def _sum(values: list[int | None]) -> int | None:
    return None if any(v is None for v in values) else sum(v or 0 for v in values)


def container(said: Said | None, encoding: str, facts: Facts) -> str:
    """Return the ``quant_method`` that engines choose kernels by, "" for plain weights.

    ModelOpt's files with an algorithm a layer are ``modelopt_mixed``.
    """
    known = facts.encodings.get(encoding)
    if said is None or known is None or not known.quantised:
        return ""
    group = next((g for g in said.best if g.encoding == encoding), None)
    if group is not None and group.place == "expert_dtype":
        return ""
    name = said.method.lower()
    if group is not None and group.place == "moe_quant_algo":
        name = "modelopt"  # vLLM and SGLang hand such experts to ModelOpt's method
    method = facts.quant_formats.method(name)
    if method is None:
        return name
    if method.rule == "bits":
        return "awq" if "awq" in name else "gptq"
    mixed = method.rule == "algo" and said.mixed
    return "modelopt_mixed" if mixed else method.names[0]


def stored_parts(
    modules: Iterable[Module], resolver: Resolver, said: Said | None, whole: str = ""
) -> list[WeightPart]:
    """Return what kernels multiply, by part and encoding, the most bytes first."""
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for module in modules:
        part = "linear" if module.part in LINEAR else module.part
        if part in ("linear", "moe") and module.matrix:
            key = (part, resolver.encoding(module))
            counts[key] += 1
            sizes[key] += module.size
    return [
        WeightPart(
            part=part, encoding=encoding, modules=counts[part, encoding], bytes=size,
            container=whole or container(said, encoding, resolver.facts),
        )
        for (part, encoding), size in sizes.most_common() if encoding
    ]  # fmt: skip


def declared_parts(
    said: Said | None, dtype: str | None, facts: Facts, *, experts: bool
) -> list[WeightPart]:
    """Return what kernels multiply as declared; a part whose every module is ignored is plain."""
    plain = plain_encoding(dtype)
    if said is None or not said.best:
        return [
            WeightPart(part=p, encoding=plain) for p in ("linear", "moe")[: 1 + experts] if plain
        ]
    find = part_finder(facts.quant_formats)
    rows: list[WeightPart] = []
    apart = {g.part for g in said.best if g.part}
    ignored = Patterns(said.ignored)
    spared = bool(ignored) and any(
        all(ignored.match(p) for p in PROBES[i : i + 5]) for i in range(0, len(PROBES), 5)
    )
    for group in said.best:
        own = {"encoding": group.encoding, "container": container(said, group.encoding, facts)}
        counts = Counter("moe" if find(n) == "moe" else "linear" for n in group.names)
        if group.part:
            rows.append(WeightPart(part=group.part, modules=group.modules, **own))
        elif counts and group.modules is not None:
            rows += [WeightPart(part=p, modules=n, **own) for p, n in counts.items()]
        else:
            parts = [] if spared else ["linear"]
            parts += ["moe"] if experts and "moe" not in apart else []
            rows += [WeightPart(part=p, **own) for p in parts]
    if plain and not any(r.part == "linear" for r in rows):
        rows.append(WeightPart(part="linear", encoding=plain))
    return rows


def weight_parts(found: Inspection, facts: Facts) -> list[WeightPart]:
    """Return the parts of an inspected checkpoint, the cache in plain numbers where none is asked.

    The plain numbers are those of the weights that are not quantised, bfloat16 where none is told.
    """
    if any(part.part == "attention" for part in found.parts):
        return found.parts
    plain = [e.encoding for e in found.encodings
             if e.encoding and not facts.encodings[e.encoding].quantised]  # fmt: skip
    kept = next((e for e in plain if e in ("bf16", "fp16")), "bf16")
    return [*found.parts, WeightPart(part="attention", encoding=kept)]
