"""How many sequences an engine release lets run in a memory: one entry to every allocator."""

import math
from collections.abc import Callable
from typing import Any

from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts.datum import Evidence, Record, weakest
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.records import Machine
from stackchoice.fit.allocators import llamacpp, quotient, sglang, vllm
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.budget import batched_tokens, running_requests
from stackchoice.fit.memory import GB, GIB
from stackchoice.fit.release import read_release

#: What each rule means, in words for people.
RULES = {
    "block_groups": "blocks of the pool over the blocks one request takes",
    "token_pool": "the least of token pool, state slots and window pool",
    "cells": "fixed slots, each with its own cells",
    "quotient": "plain quotient: the engine's own admission is not sourced",
}


class Admission(Record):
    """What a release admits. ``live_sequences`` is None where no sourced rule tells.

    ``live_sequences`` are requests of ``context_tokens`` that run at once by the boot-time
    arithmetic; ``max_concurrency`` is the same before rounding down. ``steady_live_sequences`` is
    what fits once prompts are done (None: not known), and ``steady_state_note`` says where a
    running server was seen to hold less than its boot figure. ``most_requests`` is the most
    ``max_num_seqs`` that the release starts with, where its own is more.
    """

    engine: str
    release: str
    rule: str | None
    rule_text: str = ""
    evidence: Evidence = Evidence.COMPUTED
    pool_bytes: int
    context_tokens: int
    live_sequences: int | None = None
    steady_live_sequences: int | None = None
    max_concurrency: float | None = None
    blocks: int | None = None
    block_tokens: int | None = None
    printed_pool_tokens: int | None = None
    steady_state_note: str = ""
    notes: list[str] = []
    most_requests: int | None = None


def launch(
    engine_id: str,
    release: str | None,
    config: dict[str, Any],
    *,
    settings: dict[str, Any] | None = None,
    facts: Facts | None = None,
    **rest: Any,
) -> Launch:
    """Return the launch that the allocators are asked with; no release means the newest known.

    ``settings`` are launch options under the engine's own names, of which an absent one is the
    release's default; ``rest`` are further fields of ``Launch``.
    """
    facts = facts or load_facts()
    engine = facts.engines.get(engine_id)
    return Launch.model_construct(
        engine=engine_id, release=read_release(release, engine), config=config,
        settings=settings or {}, memory=facts.memory,
        engine_name=engine.name if engine else "", **rest,
    )  # fmt: skip


def admit(
    engine_id: str,
    release: str | None,
    config: dict[str, Any],
    *,
    pool_bytes: int,
    context_tokens: int,
    device: Machine | None = None,
    **rest: Any,
) -> Admission:
    """Return how many requests of ``context_tokens`` tokens run at once in ``pool_bytes``.

    Parameters
    ----------
    release
        As text; None for the newest release the fact base knows rules of.
    pool_bytes
        Memory the engine has for its cache, per device of a tensor-parallel group.
    device
        Where a default depends on the device (vLLM's batched tokens); unknown without it.
    rest
        As :func:`launch` takes it.
    """
    asked = launch(engine_id, release, config, **rest)
    return admitted(asked, pool_bytes=pool_bytes, context_tokens=context_tokens, device=device)


def admitted(
    asked: Launch, *, pool_bytes: int, context_tokens: int, device: Machine | None = None
) -> Admission:
    """Return what :func:`admit` does, for a launch that is there already."""
    rule = asked.memory.fact(asked.engine, "rule", asked.version)
    base = Admission(
        engine=asked.engine, release=asked.release.text or "newest", rule=rule.value,
        rule_text=RULES.get(str(rule.value), ""), evidence=weakest(rule.evidence),
        pool_bytes=pool_bytes, context_tokens=context_tokens,
    )  # fmt: skip
    if rule.value is None:
        return base.model_copy(update={"notes": [rule.note or "no rule of this engine is known"]})
    try:
        if device is not None and rule.value == "block_groups":
            asked = with_device(asked, device)
        found = ADMIT[str(rule.value)](asked, pool_bytes, context_tokens)
        return base.model_copy(update=_of_all_ranks(found, asked.ranks))
    except (UnknownRuleError, UnknownCacheError) as error:
        return base.model_copy(update={"rule": None, "notes": [str(error)]})


def _of_all_ranks(found: dict[str, Any], ranks: int) -> dict[str, Any]:
    """Return what all ranks of data parallelism admit; the pool stays that of one, as printed."""
    if ranks == 1:
        return found
    lives = ("live_sequences", "steady_live_sequences")
    note = f"{ranks} ranks of data parallelism, each with a pool and requests of its own"
    return {
        **found, "notes": [*found.get("notes", ()), note],
        **{key: found[key] * ranks for key in lives if found.get(key) is not None},
    }  # fmt: skip


def with_device(asked: Launch, device: Machine) -> Launch:
    """Fill in what the release takes from the device.

    UnknownRuleError where it was not read.
    """
    tokens, requests = batch_limits(asked, device)
    settings = {**asked.settings, "max_num_batched_tokens": tokens, "max_num_seqs": requests}
    if asked.config and asked.family in ("plain", "sliding"):
        settings.setdefault("block_size", asked.need("block_tokens", device.backend))
    return asked.model_copy(update={"settings": settings})


def batch_limits(asked: Launch, device: Machine) -> tuple[int, int]:
    """Return the batched tokens and running requests that vLLM takes on a device, or is set to.

    UnknownRuleError where the release's were not read.
    """
    memory = device.memory_gib_reported.value
    if memory is None and device.memory_gb.value is not None:
        memory = device.memory_gb.value * GB / GIB
    tokens = batched_tokens(
        asked, memory, name=device.name, capability=device.cuda_capability or 0.0
    )
    return tokens, running_requests(asked, memory, name=device.name)


def by_blocks(plan: vllm.Plan, pool: int, context: int) -> dict[str, Any]:
    """Return what a plan of equal blocks admits in a pool."""
    blocks = plan.pool_blocks(pool)
    concurrency = plan.concurrency(blocks, context)
    steady = plan.steady_blocks(context)
    return {
        "steady_live_sequences": None if steady is None else blocks // steady,
        "live_sequences": math.floor(concurrency), "max_concurrency": concurrency, "blocks": blocks,
        "block_tokens": plan.attention_block_tokens,
        "printed_pool_tokens": plan.printed_tokens(blocks, context),
        "steady_state_note": "".join(plan.notes),
    }  # fmt: skip


def _block_groups(asked: Launch, pool: int, context: int) -> dict[str, Any]:
    plan = vllm.plan(asked)
    found = by_blocks(plan, pool, context)
    fewer = vllm.requests_without_state(asked, plan, pool)
    return {**found, "most_requests": found["blocks"]} if fewer else found


def _token_pool(asked: Launch, pool: int, context: int) -> dict[str, Any]:
    pools = sglang.pools(asked, pool)
    windows = [g.window_tokens for g in asked.own_layout.groups if g.window_tokens]
    notes = []
    if pools.slots is not None:
        notes.append(f"{pools.slots} state slots, {pools.slots_per_request} a running request")
    return {
        "live_sequences": pools.live(context, max(windows, default=None)),
        "max_concurrency": pools.tokens / context, "block_tokens": pools.page_tokens,
        "printed_pool_tokens": pools.tokens, "notes": notes,
    }  # fmt: skip


def _cells(asked: Launch, pool: int, context: int) -> dict[str, Any]:
    one = llamacpp.cells(asked, context, sequences=1, unified=False).total_bytes
    return {
        "live_sequences": max(0, pool // one), "max_concurrency": pool / one,
        "block_tokens": asked.need("cell_padding"),
        "notes": [f"{one:,} B a slot; slots are fixed at the start"],
    }  # fmt: skip


def _quotient(asked: Launch, pool: int, context: int) -> dict[str, Any]:
    one = quotient.sequence_bytes(asked, context)
    return {
        "live_sequences": pool // one, "max_concurrency": pool / one,
        "block_tokens": quotient.step_tokens(asked), "evidence": Evidence.INFERRED,
        "notes": [f"{one:,} B a sequence as this engine keeps it; its own rounding is unknown"],
    }  # fmt: skip


ADMIT: dict[str, Callable[[Launch, int, int], dict[str, Any]]] = {
    "block_groups": _block_groups,
    "token_pool": _token_pool,
    "cells": _cells,
    "quotient": _quotient,
}
