"""The capacity questions of the cases, each answered from its ``given`` by the fit room."""

from collections.abc import Callable
from typing import Any

from stackchoice.facts.load import Facts
from stackchoice.fit.allocators import llamacpp, quotient, sglang, vllm
from stackchoice.fit.allocators.plan import Launch, blocks
from stackchoice.fit.budget import batched_tokens, memory_for_cache
from stackchoice.fit.cache import StateLayout
from stackchoice.fit.config import text_config
from stackchoice.fit.memory import GB, GIB
from stackchoice.fit.prefix import prefix_hit
from stackchoice.fit.verdict import cache_type_runs, offload_verdict, pool_verdict
from stackchoice.fit.weights import weights_bytes as resident_bytes
from stackchoice.score.given import (
    Answer,
    Given,
    Unknown,
    capability,
    engine_id,
    launch_of,
    layout_of,
)

#: The least and the most that any device tier batches, where the device is not given.
TIERS = ("batched_tokens_other", "batched_tokens_160_gib")


def kv_bytes_per_token(given: Given, facts: Facts) -> Answer:
    """Bytes a further token costs on one device, over all layers that keep every token.

    Unknown where the question leaves open whether layers of a window shorter than the context
    count; a longer window is none.
    """
    layout = layout_of(given, facts)
    windows = [
        g.window_tokens for g in layout.groups
        if g.kind in ("sliding_attention", "chunked_attention") and g.window_tokens
    ]  # fmt: skip
    if windows and not (given.get("sliding_layers") or given.get("swa_policy")):
        context = text_config(given["config"]).get("max_position_embeddings")
        if not context or min(windows) < context:
            raise Unknown("whether layers that slide count is not given, and it decides")
        layout = layout_of({**given, "sliding_layers": "charged"}, facts)
    return {"bytes": layout.kv_bytes_per_token}


def state_bytes_per_sequence(given: Given, facts: Facts) -> Answer:
    """Recurrent and convolution state of one sequence, in the types that are given."""
    engine = engine_id(given.get("engine"), facts)
    own = StateLayout(all_conv_columns=False)
    if engine:
        own = launch_of({"settings": {}, **given}, facts).state_layout()
    conv = "none" if given.get("conv_excluded") else given.get("conv_dtype") or own.conv_dtype
    state = own.model_copy(
        update={"state_dtype": given.get("state_dtype") or own.state_dtype, "conv_dtype": conv}
    )
    drafted = (given.get("settings") or {}).get("num_speculative_tokens") or 0
    layout = layout_of({**given, "kv_dtype": None}, facts, state=state, draft_tokens=drafted)
    return {"bytes": layout.state_bytes_per_sequence}


def weights_bytes(given: Given, facts: Facts) -> Answer:
    """Bytes of weights on one device."""
    return {
        "bytes_per_gpu": resident_bytes(
            given.get("config") or {}, given.get("encoding") or "", facts.memory,
            parameters=given.get("params"), expert_parameters=given.get("expert_params"),
            checkpoint_bytes=given.get("checkpoint_bytes"), tp=given.get("tp") or 1,
        )
    }  # fmt: skip


def memory_for_cache_bytes(given: Given, facts: Facts) -> Answer:
    """What a start subtracts down to the memory for its cache."""
    return {"bytes": _budget(given, launch_of({"config": {}, **given}, facts)).cache_bytes}


def _budget(given: Given, asked: Launch) -> Any:
    peak = given.get("peak_torch_gib")
    memory = given.get("gpu_memory_gib") or given["gpu"]["memory_gib"]
    return memory_for_cache(
        asked, device_memory_gib=memory,
        weights_gib=given["weights_gib"] if peak is None else peak,
        activation_peak_gib=(given.get("activation_peak_gib") or 0) if peak is None else 0,
        non_torch_gib=given.get("non_torch_gib") or 0,
        cuda_graph_gib=given.get("cuda_graph_gib") or 0,
        utilization=given.get("gpu_memory_utilization")
        or asked.settings.get("gpu_memory_utilization")
        or asked.settings.get("mem_fraction_static"),
        graphs_counted=given.get("cuda_graph_counted"),
    )  # fmt: skip


def block_layout(given: Given, facts: Facts) -> Answer:
    """Tokens of the blocks, and how much a state page is padded."""
    plan = vllm.plan(launch_of(given, facts))
    windows = [g for g in plan.groups if g.kind == "window"]
    return {
        "attention_block_tokens": plan.attention_block_tokens,
        "padding_pct": plan.padding_pct,
        "sliding_block_tokens": windows[0].block_tokens if windows else None,
        "full_block_tokens": plan.attention_block_tokens,
        "groups": plan.group_count,
        "block_bytes": plan.block_bytes,
    }


def pool_blocks(given: Given, facts: Facts) -> Answer:
    """Blocks in the memory found for the cache."""
    asked = launch_of(given, facts)
    if asked.need("rule") == "quotient":
        return {"blocks": quotient.pool_blocks(asked, given["memory_for_cache_bytes"])}
    return {"blocks": _vllm_blocks(given, asked, vllm.plan(asked))}


def _vllm_blocks(given: Given, asked: Launch, plan: vllm.Plan) -> int:
    if asked.need("rule") != "block_groups":
        raise Unknown(f"{asked.engine} has no pool of blocks")
    if given.get("num_gpu_blocks") is not None:
        there: int = given["num_gpu_blocks"]
        return there
    return plan.pool_blocks(given["memory_for_cache_bytes"])


def pool_tokens(given: Given, facts: Facts) -> Answer:
    """The pool as that release prints it."""
    if (fixed := given.get("fixed_blocks_per_request")) is not None:
        settings = given["settings"]
        length = settings["max_model_len"]
        return {"tokens": int(_by_fixed_blocks(given, fixed) * length)}
    asked = launch_of(given, facts)
    rule = asked.need("rule")
    if rule == "token_pool":
        return {"tokens": sglang.pools(asked, given["memory_for_cache_bytes"]).tokens}
    if rule == "quotient":
        found = quotient.pool_blocks(asked, given["memory_for_cache_bytes"])
        return {"tokens": found * quotient.step_tokens(asked)}
    plan = vllm.plan(asked)
    found = _vllm_blocks(given, asked, plan)
    length = asked.context_tokens if plan.printed != "blocks_over_groups" else 1
    return {"tokens": plan.printed_tokens(found, length)}


def _by_fixed_blocks(given: Given, fixed: int) -> float:
    """Concurrency where a request takes some blocks whatever its length."""
    settings = given["settings"]
    own = blocks(settings["max_model_len"], settings["block_size"])
    there: int = given["num_gpu_blocks"]
    return there / (own + fixed)


def max_concurrency(given: Given, facts: Facts) -> Answer:
    """Requests of full length that the pool holds."""
    if (fixed := given.get("fixed_blocks_per_request")) is not None:
        return {"requests": _by_fixed_blocks(given, fixed)}
    settings = given.get("settings") or {}
    if settings.get("max_mamba_cache_size") and not given.get("pool_tokens"):
        asked = launch_of({"config": {}, **given}, facts)
        return {"requests": settings["max_mamba_cache_size"] // sglang.slots_per_request(asked)}
    if given.get("pool_tokens") is not None:
        if share := next((v for k, v in given.items() if k.startswith("pool_share_of_")), None):
            return {"requests": int(1 / share)}
        return {"requests": given["pool_tokens"] / settings["max_model_len"]}
    asked = launch_of(given, facts)
    if asked.need("rule") != "block_groups":
        return {"requests": pool_tokens(given, facts)["tokens"] / asked.context_tokens}
    plan = vllm.plan(asked)
    return {"requests": plan.concurrency(_vllm_blocks(given, asked, plan), asked.context_tokens)}


def max_model_len(given: Given, facts: Facts) -> Answer:
    """The length a refused start proposes, and what one request of full length needs."""
    asked = launch_of(given, facts)
    plan, length = vllm.plan(asked), asked.context_tokens
    return {
        "max_model_len_tokens": plan.longest(given["memory_for_cache_bytes"], length),
        "needed_bytes": plan.needed_bytes(length),
    }


def cache_bytes(given: Given, facts: Facts) -> Answer:
    """Bytes, cells or blocks of a cache of stated size."""
    if per := next((k for k in given if k.startswith("blocks_per_")), None):
        tokens = int(per.split("_")[2])
        return {"tokens_cached": given["num_gpu_blocks"] // given[per] * tokens}
    if given.get("request_tokens") is not None:
        return {"blocks": blocks(given["request_tokens"], given["block_size"])}
    if given.get("tokens") is not None:
        rate = layout_of(given, facts).kv_bytes_per_token
        windows = [g for g in layout_of(given, facts).groups if g.window_tokens is not None]
        window = sum(g.bytes_at(given["tokens"]) for g in windows)
        return {"bytes": round(rate * given["tokens"]) + window}
    parallel, context = given.get("n_parallel") or 1, given["n_ctx"]
    engine = engine_id(given.get("engine"), facts)
    if engine is None or facts.memory.fact(engine, "rule", None).value != "cells":
        layout = layout_of(given, facts)
        if layout.state_bytes_per_sequence:
            layout = layout.model_copy(
                update={"groups": [g for g in layout.groups if not g.state_bytes]}
            )
        return {"bytes": parallel * layout.bytes_per_sequence(context)}
    held = llamacpp.cells(
        launch_of(given, facts), context, sequences=parallel, ubatch=given.get("n_ubatch"),
        full_window=bool(given.get("swa_full")),
    )  # fmt: skip
    return {
        "cells": held.cells, "bytes": held.bytes + held.window_bytes,
        "printed_bytes": held.bytes + held.window_bytes,
        "swa_cells": held.window_cells, "swa_bytes": held.window_bytes,
    }  # fmt: skip


def fits(given: Given, facts: Facts) -> Answer:
    """Whether it starts, with the code of the reason."""
    asked = launch_of(given, facts)
    gpu = given.get("gpu") or {}
    if cache_type_runs(asked, capability(gpu.get("arch"))) is False:
        return {"verdict": "refused", "because": "kv_dtype_unsupported_on_gpu"}
    if asked.need("rule") == "cells":
        size = given.get("file_gb")
        weights = size * GB if size else given["weights_gib"] * GIB
        one = offload_verdict(
            asked, weights_bytes=round(weights),
            device_bytes=round(gpu["memory_gib"] * gpu.get("count", 1) * GIB),
        )  # fmt: skip
        return {"verdict": one.verdict, "because": one.because}
    found = {(v.verdict, v.because) for v in (_pool_verdict(given, x) for x in _tiers(asked, gpu))}
    if len(found) > 1:
        raise Unknown("max_num_batched_tokens and the device are not given, and they decide")
    verdict, because = found.pop()
    return {"verdict": verdict, "because": because}


def _tiers(asked: Launch, gpu: Given) -> list[Launch]:
    """Return the launch with batched tokens filled in: one, or both ends where nothing tells."""
    charged = asked.need("rule") == "block_groups" and asked.family in ("sliding", "compressed")
    if not charged or asked.settings.get("max_num_batched_tokens"):
        return [asked]
    ends: list[int | None]
    if gpu.get("memory_gib"):
        ends = [batched_tokens(asked, gpu["memory_gib"], name=gpu.get("name", ""),
                               capability=capability(gpu.get("arch")) or 0)]  # fmt: skip
    else:
        ends = [asked.memory.fact(asked.engine, key, None).value for key in TIERS]
    return [
        asked.model_copy(update={"settings": {**asked.settings, "max_num_batched_tokens": end}})
        for end in ends
    ]


def _pool_verdict(given: Given, asked: Launch) -> Any:
    memory, budget, device = given.get("memory_for_cache_bytes"), None, None
    if memory is None and given.get("num_gpu_blocks") is None:
        if asked.need("rule") == "token_pool":
            fraction = asked.settings["mem_fraction_static"]
            memory = round((fraction * given["gpu"]["memory_gib"] - given["weights_gib"]) * GIB)
        else:
            budget = _budget(given, asked)
            memory, device = budget.cache_bytes, round(given["gpu"]["memory_gib"] * GIB)
    return pool_verdict(
        asked, memory, blocks=given.get("num_gpu_blocks"), budget=budget, device_bytes=device
    )


def prefix_cache_hit(given: Given, facts: Facts) -> Answer:
    """What the prefix cache gives back of a prompt."""
    hit = prefix_hit(
        launch_of(given, facts), prompt_tokens=given.get("prompt_tokens"),
        seen_before=given.get("times_seen_before", 1),
        shared_tokens=given.get("shared_prefix_tokens"),
        identical=given.get("prompts_identical", True),
    )  # fmt: skip
    return {"hit": hit.tokens > 0, "hit_fraction": hit.fraction, "hit_tokens": hit.tokens}


ASKS: dict[str, Callable[[Given, Facts], Answer]] = {
    function.__name__: function
    for function in (
        kv_bytes_per_token, state_bytes_per_sequence, cache_bytes, block_layout, pool_blocks,
        max_model_len, pool_tokens, max_concurrency, weights_bytes, memory_for_cache_bytes, fits,
        prefix_cache_hit,
    )
}  # fmt: skip
