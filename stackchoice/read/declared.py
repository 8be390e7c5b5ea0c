"""What a checkpoint's files declare about its encodings: methods, algorithms, groups, layers."""

from collections import Counter
from typing import Any

from pydantic import Field

from stackchoice.facts.datum import Record
from stackchoice.facts.encodings import Encoding
from stackchoice.facts.load import Facts
from stackchoice.facts.quant_formats import Method
from stackchoice.facts.values import dict_of, list_of, text_of
from stackchoice.read import methods

#: ModelOpt's word for "see quantized_layers", and compressed-tensors' for "see each group".
MIXED = ("mixed_precision", "mixed-precision")
#: Places of the same modules' encoding, the most particular first.
PLACES = ("quantized_layers", "config_groups", "quant_algo", "quant_method")


class Group(Record):
    """Modules of one declared encoding.

    ``modules`` is None where the files give a pattern and no list; ``part`` is set where only a
    part of the model is meant (``moe``: routed experts); ``group_size`` is the declared one.
    """

    encoding: str
    words: str
    place: str
    modules: int | None = None
    names: list[str] = Field(default=[], exclude=True, repr=False)
    part: str = ""
    group_size: int | None = None
    activation_kind: str = ""


class Said(Record):
    """What one file says: groups by place, what stays in 16 bits, and the cache it asks for."""

    file: str
    method: str = ""
    algo: str = ""
    groups: list[Group] = []
    ignored: list[str] = Field(default=[], repr=False)
    kv: str | None = None
    mixed: bool = False
    unread: str = Field(default="", description="a method or algorithm that no table here names")

    def of(self, place: str) -> list[Group]:
        """Return the groups that one place gives."""
        return [g for g in self.groups if g.place == place]

    @property
    def best(self) -> list[Group]:
        """Return the groups of the most particular place, with experts that differ beside them."""
        apart = [g for g in self.groups if g.part]
        places: tuple[str, ...] = PLACES
        if algos := [g for g in apart if g.place == "moe_quant_algo"]:
            apart, places = algos, ("quant_method", *PLACES)  # the lists then mean the experts
        chosen = next((self.of(p) for p in places if any(not g.part for g in self.of(p))), [])
        return [*(g for g in chosen if not g.part), *apart]


def quantisation_of(config: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the part of a config that declares quantisation, and the key it stands under."""
    for holder, prefix in ((config, ""), (dict_of(config.get("text_config")), "text_config.")):
        for key in ("quantization_config", "compression_config", "quantization"):
            found = dict_of(holder.get(key))
            if found:
                return found, prefix + key
    return {}, ""


def read_said(
    declared: dict[str, Any], file: str, facts: Facts, config: dict[str, Any] | None = None
) -> Said | None:
    """Read one declaration: ``quantization_config``, or the ``quantization`` of a side file.

    Returns None where there is nothing to read.
    """
    config = config or {}
    if not declared:
        return None
    if "quant_algo" in (inner := dict_of(declared.get("quantization"))):
        declared = {**declared, **inner}  # ModelOpt's side file, carried over as it was
    formats = facts.quant_formats
    name, algo = text_of(declared.get("quant_method")), text_of(declared.get("quant_algo"))
    method = formats.method(name)
    if method is None and methods.is_mlx(declared, config):
        return _mlx(declared, file, facts, config)
    if method is None:
        method = _unnamed(declared, name, algo)
    groups, unread = _groups(declared, method, facts)
    if method is None and name:
        unread = unread or f"quant_method {name!r}"
    groups += _experts(declared, config, method, facts)
    words = {algo.lower(), text_of(declared.get("format")).lower()}
    said = Said(
        file=file, method=name or ("modelopt" if algo else ""), algo=algo, groups=groups,
        ignored=_ignored(declared), kv=_kv(declared, facts), unread=unread,
    )  # fmt: skip
    families = {facts.encodings[g.encoding].family for g in said.best if not g.part}
    mixed = bool(words & set(MIXED)) or len(families) > 1
    return said.model_copy(update={"mixed": mixed})


def _unnamed(declared: dict[str, Any], name: str, algo: str) -> Method | None:
    """Return the method that the keys themselves show; a name that no table has is no method."""
    if algo or dict_of(declared.get("quantized_layers")):
        return Method(names=[name], rule="algo")
    if name:
        return None
    if declared.get("load_in_4bit") or declared.get("load_in_8bit"):
        return Method(names=[], rule="bitsandbytes")
    if dict_of(declared.get("config_groups")):
        return Method(names=[], rule="groups")
    return Method(names=[], rule="bits") if "bits" in declared or "w_bit" in declared else None


def _groups(
    declared: dict[str, Any], method: Method | None, facts: Facts
) -> tuple[list[Group], str]:
    """Return every group that any key of one declaration gives, and what could not be read."""
    groups, unread = _layers(dict_of(declared.get("quantized_layers")), facts)
    file_format = text_of(declared.get("format"))
    for key, group in dict_of(declared.get("config_groups")).items():
        group = dict_of(group)
        encoding = methods.group_encoding(group, file_format, facts)
        targets = [t for t in list_of(group.get("targets")) if isinstance(t, str)]
        listed = [t for t in targets if "." in t and not t.startswith("re:")]
        if encoding is None:
            unread = unread or f"config_groups.{key}"
            continue
        groups.append(
            Group(
                encoding=encoding, place="config_groups", names=listed,
                words=text_of(group.get("format")) or file_format or key,
                modules=len(listed) if listed and len(listed) == len(targets) else None,
                group_size=methods.group_size(dict_of(group.get("weights"))),
            )
        )  # fmt: skip
    algo = text_of(declared.get("quant_algo"))
    if algo and algo.lower() not in MIXED:
        encoding = facts.quant_formats.algos.get(algo)
        if encoding is None:
            unread = unread or f"quant_algo {algo!r}"
        else:
            size = methods.group_size(declared)
            groups.append(Group(encoding=encoding, words=algo, place="quant_algo", group_size=size))
    if method is not None and method.rule not in ("groups", "algo"):
        encoding = method.encoding or methods.RULES[method.rule](declared, facts)
        words = text_of(declared.get("quant_method")) or method.rule
        apart = methods.others(declared, method.rule, facts)
        groups += [
            Group(encoding=own, words=words, place="quant_method", names=names)
            for own, names in apart.items() if own != encoding
        ]  # fmt: skip
        if encoding is not None:
            size = methods.group_size(declared)
            groups.append(Group(encoding=encoding, words=words, place="quant_method",
                                part=method.part, group_size=size))  # fmt: skip
        elif not apart:
            unread = unread or f"quant_method {words!r} with these settings"
    return groups, unread


def _layers(layers: dict[str, Any], facts: Facts) -> tuple[list[Group], str]:
    """Count ``quantized_layers`` by algorithm."""
    names: dict[str, list[str]] = {}
    sizes: Counter[tuple[str, int | None]] = Counter()
    for name, layer in layers.items():
        algo = text_of(dict_of(layer).get("quant_algo"))
        if algo:
            names.setdefault(algo, []).append(name)
            sizes[algo, methods.group_size(dict_of(layer))] += 1
    groups, unread = [], ""
    for algo, listed in names.items():
        encoding = facts.quant_formats.algos.get(algo)
        if encoding is None:
            unread = unread or f"quantized_layers with {algo!r}"
            continue
        known = [(n, s) for (a, s), n in sizes.items() if a == algo and s is not None]
        size = max(known)[1] if known else None
        groups.append(Group(encoding=encoding, words=algo, place="quantized_layers",
                            modules=len(listed), names=listed, group_size=size))  # fmt: skip
    return groups, unread


def _experts(
    declared: dict[str, Any], config: dict[str, Any], method: Method | None, facts: Facts
) -> list[Group]:
    """Return experts whose own key says something else than the method: the key wins."""
    formats, found = facts.quant_formats, []
    algo = formats.algos.get(declared.get("moe_quant_algo"))
    if algo:
        words = text_of(declared["moe_quant_algo"])
        listed = [g for g in _layers(dict_of(declared.get("quantized_layers")), facts)[0]
                  if g.encoding == algo]  # fmt: skip
        same = {"modules": listed[0].modules, "group_size": listed[0].group_size} if listed else {}
        found.append(Group(encoding=algo, words=words, place="moe_quant_algo", part="moe", **same))
    text = dict_of(config.get("text_config")) or config
    dtype = declared.get("expert_dtype") or text.get("expert_dtype") or config.get("expert_dtype")
    own = formats.expert_words.get(dtype)
    if own is not None and method is not None:
        found.append(Group(encoding=own, words=str(dtype), place="expert_dtype", part="moe"))
    return found


def _mlx(declared: dict[str, Any], file: str, facts: Facts, config: dict[str, Any]) -> Said:
    """MLX: one setting for all modules, and paths with their own (or False)."""
    counts: dict[tuple[str, int | None], list[str]] = {}
    quantised = bool(config.get("quantize_activations"))
    whole = methods.mlx_encoding(declared, declared, quantised)
    ignored, unread = [], "" if whole else "an MLX quantisation mode"
    for path, own in declared.items():
        if own is False:
            ignored.append(path)
        elif isinstance(own, dict):
            encoding = methods.mlx_encoding(own, declared, quantised)
            if encoding in facts.encodings:
                key = (encoding, methods.group_size(own) or methods.group_size(declared))
                counts.setdefault(key, []).append(path)
            else:
                unread = unread or f"{path} with these settings"
    groups = [
        Group(encoding=e, words=e.removeprefix("mlx_"), place="config_groups", modules=len(names),
              names=names, group_size=size)
        for (e, size), names in counts.items()
    ]  # fmt: skip
    if whole in facts.encodings:
        groups.insert(
            0, Group(encoding=whole, words=whole.removeprefix("mlx_"), place="config_groups",
                     group_size=methods.group_size(declared)),
        )  # fmt: skip
    else:
        unread = unread or "an MLX quantisation with these bits"
    return Said(file=file, method="mlx", groups=groups, ignored=ignored, unread=unread,
                mixed=len({g.encoding for g in groups}) > 1)  # fmt: skip


def _ignored(declared: dict[str, Any]) -> list[str]:
    keys = ("ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers", "exclude",
            "llm_int8_skip_modules", "ignored_modules")  # fmt: skip
    return [n for key in keys for n in list_of(declared.get(key)) if isinstance(n, str)]


def _kv(declared: dict[str, Any], facts: Facts) -> str | None:
    """Return the cache format that one declaration asks for, in the words of ``formats.yaml``."""
    quark = dict_of(next(iter(dict_of(declared.get("kv_cache_quant_config")).values()), None))
    word = dict_of(quark.get("output_tensors")).get("dtype")
    if word and (number := facts.quant_formats.number_words.get(word)):
        return facts.quant_formats.kv.get(f"{number[0]}{number[1]}")
    for key in ("kv_cache_quant_algo", "kv_cache_scheme", "kv_cache_dtype"):
        value = declared.get(key)
        if isinstance(value, dict):
            kind, bits = text_of(value.get("type")) or "float", value.get("num_bits")
            value = f"{kind}{bits}"
        if found := facts.quant_formats.kv.get(value):
            return found
    return None


def activations(said: Said, place: str, encodings: dict[str, Encoding]) -> dict[float, set[int]]:
    """Return the declared activation bits by weight bits, of one place in one file."""
    found: dict[float, set[int]] = {}
    for group in said.of(place):
        encoding = encodings[group.encoding]
        if encoding.weight_bits and encoding.activation_bits:
            found.setdefault(encoding.weight_bits, set()).add(encoding.activation_bits)
    return found


def plain_encoding(dtype: str | None) -> str:
    """Return the encoding of an unquantised number type ("" where it is not known)."""
    return {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32"}.get(
        (dtype or "").removeprefix("torch."), ""
    )


def declared_word(said: Said | None, dtype: str | None, facts: Facts) -> str | None:
    """Return one word for how the weights are stored: a family, ``mixed``, or the plain type."""
    if said is None or not said.best:
        return plain_encoding(dtype) or dtype
    if said.mixed:
        return "mixed"
    chosen = next((g for g in said.best if not g.part), said.best[0])
    return facts.encodings[chosen.encoding].family
