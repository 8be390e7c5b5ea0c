"""What the declarations of a checkpoint say against each other and against its name."""

import re
from itertools import combinations

from stackchoice.facts.load import Facts
from stackchoice.read.declared import PLACES, Group, Said, activations
from stackchoice.read.findings import Finding, finding


def declared_findings(
    saids: list[Said], names: list[str], facts: Facts, *, config_file: str = "config.json"
) -> list[Finding]:
    """Return every disagreement of the declarations.

    Parameters
    ----------
    saids
        What each file says, the config's own declaration first where it has one.
    names
        What the model is called: by its folder, its repository, its own files.
    config_file
        Name of the config ("" where there is none at all).
    """
    if not saids:
        return _promises([], names, facts)
    found = [
        *_side_only(saids, config_file), *_activations(saids, facts), *_encodings(saids, facts),
        *_overrides(saids, facts), *_lists(saids), *_mixed(saids), *_caches(saids),
    ]  # fmt: skip
    contradicted = any(f.code == "activation_bits_contradiction" for f in found)
    return found + _promises(saids, names, facts, contradicted=contradicted)


def _side_only(saids: list[Said], config_file: str) -> list[Finding]:
    first = saids[0]
    if not config_file or first.file == config_file or not first.groups:
        return []
    return [finding(
        "encoding_only_in_hf_quant_config",
        f"only {first.file} says that the weights are quantised; who reads {config_file} alone "
        "takes them for unquantised", (config_file, "nothing"),
        (first.file, first.algo or first.groups[0].words),
    )]  # fmt: skip


def _activations(saids: list[Said], facts: Facts) -> list[Finding]:
    """Compare declared activation bits for weights of the same bits, place by place."""
    places = [
        (f"{s.file}: {place}", activations(s, place, facts.encodings))
        for s in saids for place in PLACES if s.of(place)
    ]  # fmt: skip
    for (one, first), (other, second) in combinations(places, 2):
        for bits in sorted(first.keys() & second.keys()):
            if first[bits] != second[bits]:
                return [finding(
                    "activation_bits_contradiction",
                    f"activations of the {bits:g}-bit weights: {_bits(first[bits])} by {one}, "
                    f"{_bits(second[bits])} by {other}",
                    (one, _bits(first[bits])), (other, _bits(second[bits])),
                )]  # fmt: skip
    return []


def _bits(values: set[int]) -> str:
    return " and ".join(f"{v} bits" for v in sorted(values))


def _encodings(saids: list[Said], facts: Facts) -> list[Finding]:
    """Compare the families of encodings of two files."""
    for one, other in combinations(saids, 2):
        first, second = ({facts.encodings[g.encoding].family for g in s.best} for s in (one, other))
        if first and second and first != second and not (one.unread or other.unread):
            return [finding(
                "encodings_disagree", f"{one.file} and {other.file} name different encodings",
                (one.file, ", ".join(sorted(first))), (other.file, ", ".join(sorted(second))),
            )]  # fmt: skip
    return []


def _overrides(saids: list[Said], facts: Facts) -> list[Finding]:
    """Experts whose own key says something else than ``quant_method``."""
    rows: dict[str, Finding] = {}
    for said in saids:
        base = next((g for g in said.of("quant_method") if not g.part), None)
        for group in said.of("expert_dtype") + said.of("moe_quant_algo"):
            if base is None or _family(group, facts) == _family(base, facts):
                continue
            code = f"{group.place}_overrides_quant_method"
            rows.setdefault(code, finding(
                code, f"the routed experts are {group.words}, whatever quant_method says",
                ("quant_method", base.words), (group.place, group.words),
            ))  # fmt: skip
    return list(rows.values())


def _family(group: Group, facts: Facts) -> str:
    return facts.encodings[group.encoding].family


def _lists(saids: list[Said]) -> list[Finding]:
    """Compare the modules of ``quantized_layers`` with the groups' targets, where both list."""
    for said in saids:
        layers = {n for g in said.of("quantized_layers") for n in g.names}
        groups = said.of("config_groups")
        if not layers or not groups or any(g.modules is None and not g.names for g in groups):
            continue
        targets = {n for g in groups for n in g.names}
        # A target without a dot, such as lm_head, is a word and is not compared.
        gone, more = {n for n in layers if "." in n} - targets, targets - layers
        if gone or more:
            return [finding(
                "module_lists_disagree",
                f"{said.file}: quantized_layers has {len(gone):,} modules that no group targets; "
                f"groups target {len(more):,} that it does not have",
                ("quantized_layers", f"{len(layers):,} modules"),
                ("config_groups", f"{len(targets):,} targets"),
            )]  # fmt: skip
    return []


def _mixed(saids: list[Said]) -> list[Finding]:
    said = next((s for s in saids if s.mixed), None)
    if said is None:
        return []
    return [finding(
        "mixed_precision", "modules have different encodings; one word does not describe them",
        *((g.words, f"{g.modules:,} modules" if g.modules is not None else "modules by pattern")
          for g in said.best), kind="note",
    )]  # fmt: skip


def _caches(saids: list[Said]) -> list[Finding]:
    asked = [(s.file, s.kv) for s in saids if s.kv]
    for (one, first), (other, second) in combinations(asked, 2):
        if first != second:
            return [finding("kv_cache_disagrees", f"the cache: {first} by {one}, {second} by "
                            f"{other}", (one, first), (other, second))]  # fmt: skip
    if asked and saids[0].kv is None and len(saids) > 1:
        return [finding(
            "kv_cache_only_in_side_file",
            f"only {asked[0][0]} asks for a {asked[0][1]} cache; engines that read "
            f"{saids[0].file} alone keep 16 bits", (saids[0].file, "nothing"), asked[0],
        )]  # fmt: skip
    return []


def _promises(
    saids: list[Said], names: list[str], facts: Facts, *, contradicted: bool = False
) -> list[Finding]:
    """Compare what a name promises with what the files declare."""
    groups = [g for s in saids for g in s.best]
    kinds = [facts.encodings[g.encoding] for g in groups]
    # MLX's mode of that name never quantises activations by itself, and nobody expects it to.
    words = [*names, *(g.words for g in groups if not g.encoding.startswith("mlx_")),
             *(s.algo for s in saids)]  # fmt: skip
    four = [e for e in kinds if e.family == "nvfp4"]
    found: list[Finding] = []
    named = next((w for w in words if "nvfp4" in w.lower()), None)
    if four and named and not contradicted and all(e.activation_bits == 16 for e in four):
        found.append(finding(
            "name_says_nvfp4_but_weight_only",
            "NVFP4 here is for the weights only; activations stay in 16 bits and are multiplied so",
            ("name", named), ("declared activations", "16 bits"),
        ))  # fmt: skip
    if any(s.unread for s in saids):
        return found
    families = {e.family for e in kinds}
    return found + broken_promises(names, families, "the files say", "declared", facts)


def broken_promises(
    names: list[str], families: set[str], how: str, place: str, facts: Facts
) -> list[Finding]:
    """Return the first name whose word of the table no family keeps that ``place`` shows."""
    for name in names:
        text = name.lower()[:500]
        row = next(
            (r for r in facts.quant_formats.promises.rows
             if re.search(rf"(?<![a-z0-9])(?:{r.word})(?![a-z0-9])", text)), None,
        )  # fmt: skip
        if row is None or families & set(row.families) or not (families or row.families):
            continue
        if not families and set(row.families) & {"bf16", "fp16"}:
            continue
        said = ", ".join(sorted(families)) or "nothing quantised"
        return [finding(
            "name_promises_other_encoding", f"the name {name!r} promises {row.families[0]}; {how} "
            f"{said}", ("name", name), (place, said),
        )]  # fmt: skip
    return []
