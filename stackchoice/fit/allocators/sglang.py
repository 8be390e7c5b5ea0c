"""SGLang: a pool of tokens, a pool of windows beside it, and a pool of state slots.

Source: SGLang 0.5.23, ``mem_cache/kv_cache_configurator.py``, ``mem_cache/pool_configurator.py``
and ``arg_groups/memory_hook.py``.
"""

import math
from dataclasses import dataclass

from stackchoice.errors import UnknownRuleError
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.cache import CacheLayout
from stackchoice.fit.config import architecture_of, read

MIB_PER_GIB = 1024


@dataclass(frozen=True)
class Pools:
    """What a memory is divided into. ``slots`` is None where the model has no state."""

    page_tokens: int
    tokens: int
    window_tokens: int | None = None
    slots: int | None = None
    slots_per_request: int = 1
    running_limit: int | None = None

    def live(self, tokens: int, window: int | None = None) -> int:
        """Requests of so many tokens that run at the same time."""
        limits = [self.tokens // tokens]
        if self.slots is not None:
            limits.append(self.slots // self.slots_per_request)
        if self.window_tokens is not None and window:
            limits.append(self.window_tokens // min(window, tokens))
        if self.running_limit is not None:
            limits.append(self.running_limit)
        return max(min(limits), 0)


def pools(launch: Launch, memory_bytes: int) -> Pools:
    """Divide the memory found for the cache.

    UnknownRuleError for compressed layers.

    Hybrid models: state gets ``ratio / (1 + ratio)`` of it, one slot goes to padding, and a
    running request holds several slots with prefix reuse (radix cache) on. Sliding models: the
    window pool is a fixed ratio of the full pool, whatever the window, for the classes that have
    one; in all others sliding layers keep every token.
    """
    layout, family = launch.own_layout, launch.family
    if family == "compressed":
        raise UnknownRuleError("SGLang's pools of compressed layers were not read")
    if not _index_beside_states(launch):
        launch.refuse_mixed_index()
    page = int(launch.settings.get("page_size") or launch.need("page_tokens", family))
    cell = layout.kv_bytes_per_token
    windows = launch.sliding == "window" and any(g.window_tokens for g in layout.groups)
    if windows and not _keeps_windows_apart(launch):
        layout = launch.layout(sliding="charged")
        cell, windows = layout.kv_bytes_per_token, False
    if family == "hybrid":
        return _with_state(launch, layout, memory_bytes, page)
    if windows:
        own = launch.need("window_tokens_ratio")
        ratio = launch.settings.get("swa_full_tokens_ratio") or own
        windowed = sum(g.bytes_per_token for g in layout.groups if g.window_tokens is not None)
        tokens = math.floor(memory_bytes // (cell + ratio * windowed)) // page * page
        return Pools(
            page_tokens=page, tokens=tokens,
            window_tokens=math.floor(tokens * ratio) // page * page,
            running_limit=_running(launch, tokens),
        )  # fmt: skip
    tokens = math.floor(memory_bytes // cell) // page * page
    return Pools(page_tokens=page, tokens=tokens, running_limit=_running(launch, tokens))


def _index_beside_states(launch: Launch) -> bool:
    """Whether index keys are part of a token's bytes beside states, as the layout has them.

    Of a latent only in 16 bits: in 8 its record depends on the backend.
    """
    kinds = {row.kind for row in launch.layers}
    plain = "latent" not in kinds or launch.stored_dtype in (None, "bf16", "bfloat16", "auto")
    return launch.family == "hybrid" and plain and bool(launch.fact("index_beside_states"))


def _keeps_windows_apart(launch: Launch) -> bool:
    """Whether the release has a pool of windows for this class (``is_hybrid_swa_model``).

    UnknownRuleError where the config names no class.
    """
    if launch.settings.get("disable_hybrid_swa_memory"):
        return False
    name = architecture_of(launch.config)
    if name == "?":
        raise UnknownRuleError("which classes keep windows apart goes by 'architectures'; give it")
    return bool(launch.need("window_pool", name))


def _with_state(launch: Launch, layout: CacheLayout, memory_bytes: int, page: int) -> Pools:
    """Divide between states and tokens: states as asked for, else their share of the memory.

    With drafts every running request keeps a state for each token to verify beside its slots;
    newer releases solve for both within the share, older ones took those of all requests first.
    """
    slot, padding = layout.state_bytes_per_sequence, launch.need("state_padding_slots")
    each, verified = slots_per_request(launch), launch.draft_tokens and _verified(launch)
    requests = _asked(launch) // launch.attention_ranks or 1
    first = verified and launch.need("draft_states") == "first"
    if first:
        memory_bytes -= requests * verified * slot
        verified = 0
    slots = launch.settings.get("max_mamba_cache_size")
    if slots is not None:
        slots = int(slots) // launch.attention_ranks
    elif each == 1 and launch.settings.get("max_running_requests"):
        slots = requests
    else:
        ratio = launch.settings.get("mamba_full_memory_ratio") or launch.need("state_memory_ratio")
        share = memory_bytes * ratio / (1 + ratio) - padding * slot * (1 + verified)
        slots = max(math.floor(share // (slot * (1 + verified / each))), 0)
    drafted = (min(requests, slots // each) + padding) * verified
    rest = max(0, memory_bytes - (slots + padding + drafted) * slot)
    tokens = math.floor(rest // layout.kv_bytes_per_token) // page * page
    return Pools(
        page_tokens=page, tokens=tokens, slots=slots, slots_per_request=each,
        running_limit=_running(launch, tokens),
    )  # fmt: skip


def _verified(launch: Launch) -> int:
    """Tokens of one request that a step verifies: those drafted, and the one before them.

    UnknownRuleError where drafts are replayed from their inputs.
    """
    if launch.settings.get("enable_linear_replayssm_spec"):
        raise UnknownRuleError("states replayed from a ring of inputs were not read")
    return int(launch.settings.get("speculative_num_draft_tokens") or launch.draft_tokens + 1)


def slots_per_request(launch: Launch) -> int:
    """State slots one running request holds: more with prefix reuse, which keeps states to reuse.

    Off: one. On: three, and two more to track the state while it overlaps with scheduling
    (one in the lazy variant, and without that overlap).
    """
    reuses = launch.settings.get("enable_prefix_caching", launch.need("prefix_caching", "hybrid"))
    if launch.settings.get("disable_radix_cache") or not reuses:
        return int(launch.need("slots_radix_off"))
    alone = "_no_overlap" if launch.settings.get("disable_overlap_schedule") else ""
    strategy = _strategy(launch, overlaps=not alone)
    return int(launch.need(f"slots_{strategy}{alone if strategy == 'extra_buffer' else ''}"))


def _strategy(launch: Launch, *, overlaps: bool) -> str:
    """How states are kept for reuse: as set, else by the class and the release.

    Drafts verify beside prefix reuse only with an extra buffer. UnknownRuleError where the config
    names no class.
    """
    names = ("mamba_radix_cache_strategy", "mamba_scheduler_strategy")
    stated = next((launch.settings[n] for n in names if launch.settings.get(n)), "auto")
    if stated != "auto":
        return str(stated)
    if launch.draft_tokens:
        return "extra_buffer"
    name = architecture_of(launch.config)
    if name == "?":
        raise UnknownRuleError("how many states a request holds goes by 'architectures'; give it")
    pages = int(launch.settings.get("page_size") or 1) > 1
    return str(launch.need("state_strategy", name)) if overlaps or pages else "no_buffer"


def _asked(launch: Launch) -> int:
    """``max_running_requests`` before the pool bounds it: as set, else the most there may be."""
    stated = launch.settings.get("max_running_requests")
    most = "most_running_drafting" if launch.draft_tokens else "most_running"
    return int(stated or launch.need(most))


def _running(launch: Launch, tokens: int) -> int:
    """``max_running_requests``: as set, else by the pool over the context, within its limits."""
    most = _asked(launch)
    if launch.settings.get("max_running_requests"):
        return most // launch.attention_ranks
    try:
        by_context = tokens / launch.context_tokens * launch.need("running_per_context")
    except UnknownRuleError:
        by_context = 0
    limit: int = math.floor(min(max(by_context, launch.need("least_running")), most))
    return min(limit, tokens // 2)


def memory_fraction(
    launch: Launch, device_memory_gib: float, *, cuda: bool = True, vision: bool = False
) -> float:
    """``mem_fraction_static`` when it is not given: what is left after a reserve.

    ``round((memory - reserve) / memory, 3)`` in MiB; the reserve grows with the prefill chunk, the
    devices, the batches whose graphs are captured and, on CUDA, the captured sizes of prefills, and
    has a floor on large cards. Where a checkpoint with a vision tower is served whole, the share is
    multiplied by 0.95 and by a factor that falls with the tower's size. Source:
    ``arg_groups/memory_hook.py`` of the wheel that ``data/allocators.yaml`` names.

    UnknownRuleError with data-parallel attention.
    """
    if launch.attention_ranks > 1:
        raise UnknownRuleError(
            "what data-parallel attention reserves and stores twice was not read"
        )
    memory = device_memory_gib * MIB_PER_GIB
    chunk, batch = _tier(launch, device_memory_gib)
    reserve = (
        launch.need("reserve_fixed_mib")
        + max(chunk, launch.need("reserve_least_chunk"))
        * launch.need("reserve_per_chunk_token_mib")
        + launch.tp * launch.need("reserve_per_device_mib")
        + batch * launch.need("reserve_per_graph_batch_mib")
        + (_prefill_graphs_mib(launch, chunk) if cuda else 0)
    )
    if device_memory_gib > launch.need("reserve_floor_above_gib"):
        reserve = max(reserve, launch.need("reserve_floor_mib"))
    share: float = round((memory - reserve) / memory, 3)
    return share * _vision_factor(launch) if vision else share


def _tier(launch: Launch, device_memory_gib: float) -> tuple[int, int]:
    """Return the prefill chunk and the largest captured batch that the device's memory gives."""
    for row in str(launch.need("memory_tiers")).split():
        below, chunk, few, many = row.split(":")
        if device_memory_gib < float(below):
            break
    batch = int(few if launch.tp < 4 else many)
    stated = launch.settings.get("max_running_requests")
    return (
        int(launch.settings.get("chunked_prefill_size") or chunk),
        min(batch, int(stated)) if stated else batch,
    )


def _prefill_graphs_mib(launch: Launch, chunk: int) -> float:
    """Return the reserve for captured prefills: for each size, or a fixed one with latents."""
    if read(launch.text, "kv_lora_rank"):
        return float(launch.need("reserve_prefill_graphs_mib", "latent"))
    sizes = 0
    for row in str(launch.need("prefill_graphs")).split():
        first, last, step = row.split(":")
        sizes += len(range(int(first), min(chunk, int(float(last) if last != "inf" else chunk)) + 1,
                           int(step)))  # fmt: skip
    return sizes * float(launch.need("reserve_per_prefill_graph_mib"))


def _vision_factor(launch: Launch) -> float:
    """Return what a vision tower leaves of the share: 1 where the model has none.

    A tenth less for each tower of 24 layers of 1,024 that it is larger, within 0.8 and 1.05.
    """
    tower = launch.config.get("vision_config")
    if not isinstance(tower, dict):
        return 1.0
    usual = {"num_hidden_layers": 24, "hidden_size": 1024}
    layers, wide = (
        value if isinstance(value := read(tower, key), int) else usual[key] for key in usual
    )
    factor = 1.0 - 0.1 * (layers * wide**2 / (24 * 1024**2) - 1.0)
    return float(launch.need("vision_share")) * max(0.8, min(1.05, factor))
