"""What a checkpoint's files say against each other, each with a code that programs can look for."""

from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import Record

#: What each code means; the text of a finding says it with its values.
CODES = {
    "activation_bits_contradiction": "two places ask for different activations of the same weights",
    "bytes_disagree_with_index": "the index states another total than the headers add up to",
    "count_of_layers_differs": "the tensors have more or fewer layers than the config",
    "declared_but_not_quantised": "the declaration quantises modules that are stored in 16 bits",
    "encoding_only_in_hf_quant_config": "only a side file says that the weights are quantised",
    "encodings_disagree": "two files name different encodings",
    "expert_dtype_overrides_quant_method": "the experts are not stored as quant_method says",
    "file_type_disagrees": "general.file_type names a type that the tensors do not have",
    "group_size_differs": "the scales belong to another group size than the declared one",
    "head_dim_and_kv_heads_not_used_by_mla": "latent attention keeps neither head_dim nor kv heads",
    "head_dim_key_differs": "the head size stands under another key than head_dim",
    "ignored_but_quantised": "modules on the ignore list are stored quantised",
    "input_scales_without_activations": "scales for activations that the declaration leaves alone",
    "k_eq_v_still_stores_both": "keys and values share weights; both are still cached",
    "kv_cache_disagrees": "two files ask for different cache types",
    "kv_cache_only_in_side_file": "only a side file asks for a quantised cache",
    "latent_expanded_by_file": "the file has no absorbed latent attention; full keys are cached",
    "mixed_precision": "modules have different encodings",
    "moe_quant_algo_overrides_quant_method": "the experts' algorithm differs from quant_method",
    "module_lists_disagree": "quantized_layers and the groups' targets name different modules",
    "name_promises_other_encoding": "the name promises an encoding that the files do not have",
    "name_says_nvfp4_but_weight_only": "the name says NVFP4; only the weights are, not activations",
    "one_based_layer_lists": "lists of layers count from one",
    "per_layer_kv_shapes_differ": "layers keep caches of different shapes",
    "shards_missing": "files that the index or the first part names are not there",
    "stored_otherwise_than_declared": "the tensors have another encoding than the files declare",
    "tensors_not_in_index": "the headers hold tensors that the index does not name",
    "tensors_missing_from_files": "the index names tensors that the headers do not hold",
    "quantised_but_undeclared": "tensors are quantised and no file says so",
}

Kind = Literal["contradiction", "note"]


class Finding(Record):
    """One contradiction, or one thing that readers of this checkpoint get wrong.

    ``where`` names the files and keys; ``values`` what each of them says, in the same order.
    """

    code: str
    kind: Kind
    text: str
    where: list[str] = Field(default=[])
    values: list[str] = Field(default=[])


def finding(
    code: str, text: str, *said: tuple[str, object], kind: Kind = "contradiction"
) -> Finding:
    """Return a finding; ``said`` are pairs of a place and what it says.

    KeyError for a code that is not listed.
    """
    if code not in CODES:
        raise KeyError(code)
    return Finding(code=code, kind=kind, text=text, where=[w for w, _ in said],
                   values=[str(v)[:200] for _, v in said])  # fmt: skip
