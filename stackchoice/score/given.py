"""What a question of the cases gives: an engine, a checkpoint's files, a launch of the fit room."""

from typing import Any

from stackchoice.errors import StackchoiceError
from stackchoice.facts.load import Facts
from stackchoice.facts.names import engine_called
from stackchoice.facts.values import dict_of
from stackchoice.fit.admission import launch
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.cache import CacheLayout, StateLayout, cache_layout
from stackchoice.read.build import declarations
from stackchoice.read.declared import Said

Given = dict[str, Any]
Answer = dict[str, Any]

#: How a question names the treatment of sliding layers.
SLIDING = {
    "charged": "charged", "charged_as_full": "charged", "excluded": "excluded",
    "ignored": "charged", "window_exact": "window",
}  # fmt: skip
#: State in some known type: a question about keys and values does not depend on it.
PLAIN_STATE = {"state": StateLayout(state_dtype="float32")}
#: Where a question carries what a checkpoint's side file says.
SIDE = "hf_quant_config"
#: Launch options that a question may give beside its settings.
AS_SETTINGS = (
    "max_model_len", "block_size", "num_speculative_tokens", "gpu_memory_utilization",
    "enable_prefix_caching", "decode_context_parallel", "mem_fraction_static",
)  # fmt: skip


class Unknown(StackchoiceError):
    """A question of the cases has no answer here; the text says why."""


def engine_id(text: object, facts: Facts) -> str | None:
    """Return the id of an engine that the text names exactly, a remark in brackets aside.

    A fork carries another name and is not its engine.
    """
    return engine_called(text.split("(")[0], facts) if isinstance(text, str) else None


def capability(arch: object) -> float | None:
    """Return 8.6 of ``sm_86`` and 12.1 of ``sm_121``."""
    digits = str(arch or "").removeprefix("sm_").rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits[:-1]) + int(digits[-1]) / 10 if digits.isdigit() and len(digits) > 1 else None


def files_of(given: Given, facts: Facts) -> tuple[dict[str, Any], list[Said]]:
    """Return the config that a question gives, and what each of its files declares.

    Of a side file a question may give single fields (``hf_quant_config_quant_algo``).
    """
    config = dict_of(given.get("config"))
    if quantisation := dict_of(given.get("quantization_config")):
        config = {**config, "quantization_config": quantisation}
    side = dict_of(given.get(SIDE))
    side = {**(dict_of(side.get("quantization")) or side)}
    side |= {k.removeprefix(f"{SIDE}_"): v for k, v in given.items() if k.startswith(f"{SIDE}_")}
    return config, declarations(config, {f"{SIDE}.json": side} if side else {}, facts)


def launch_of(given: Given, facts: Facts) -> Launch:
    """Return the launch a question describes."""
    engine = engine_id(given.get("engine"), facts)
    if engine is None:
        raise Unknown(f"no rules of engine {given.get('engine')!r} are known")
    settings = {k: given[k] for k in AS_SETTINGS if k in given} | (given.get("settings") or {})
    settings = {k: v for k, v in settings.items() if v != "not given"}
    return launch(
        engine, given.get("engine_version"), given["config"], kv_dtype=given.get("kv_dtype"),
        settings=settings, facts=facts, **cache_options(given),
    )  # fmt: skip


def cache_options(given: Given) -> dict[str, Any]:
    """Return what a question says of its cache, as layouts and launches take it."""
    sliding = given.get("sliding_layers") or given.get("swa_policy") or "window_exact"
    # A rank of data parallelism with attention of its own sees the tensor parallel size given.
    shared = given.get("tensor_sharding_of_heads", True)
    return {
        "tp": (given.get("tp") or 1) if shared else 1, "sliding": SLIDING[sliding],
        "draft_layers": given.get("include_mtp_layers") or 0,
        "expand_latent": bool(given.get("engine_expands_mla")),
        "bytes_per_head": given.get("kv_bytes_per_head_k_plus_v"),
    }  # fmt: skip


def layout_of(given: Given, facts: Facts, **changes: Any) -> CacheLayout:
    """Return the cache layout of the engine that is named, or the plain one of no engine."""
    if engine_id(given.get("engine"), facts) is not None and "state" not in changes:
        return launch_of(given, facts).layout(**{**PLAIN_STATE, **changes})
    return cache_layout(
        given["config"], given.get("kv_dtype"),
        **{**cache_options(given), "memory": facts.memory, **changes},
    )  # fmt: skip
