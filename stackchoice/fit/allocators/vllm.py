"""vLLM: one pool of equal blocks, shared by groups of layers that each have a block table.

Source of every formula: ``v1/core/kv_cache_utils.py``, ``v1/kv_cache_interface.py`` and the
hybrid block size in ``model_executor/models/config.py``, as cited in ``data/allocators.yaml``.
"""

from bisect import bisect_right
from math import floor
from typing import Any, Literal

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.datum import Record
from stackchoice.fit.allocators.packed import packed_groups
from stackchoice.fit.allocators.plan import Launch, blocks
from stackchoice.fit.cache import LayerGroup

#: No release pads groups to a kind that has this many times the layers of the smallest.
HIGHEST_PADDING_LIMIT = 1.5


#: Kinds of states whose classes support the mode ``all`` (``SupportsMambaPrefixCaching``).
MODE_ALL = ("mamba", "mamba2")


class Group(Record):
    """Equal groups of layers. ``fixed_blocks`` are those of a request whatever its length."""

    kind: Literal["full", "window", "chunk", "state"]
    number: int = 1
    block_tokens: int = 0
    window_tokens: int = 0
    fixed_blocks: int = 0


class Plan(Record):
    """The pool's layout: bytes of a block over all groups, and what each group takes of them."""

    groups: list[Group]
    block_bytes: int
    batched_tokens: int | None = None
    context_parallel: int = 1
    printed: str
    attention_block_tokens: int | None = None
    padding_pct: float | None = None
    notes: list[str] = []

    @property
    def group_count(self) -> int:
        """Groups that share the pool."""
        return sum(g.number for g in self.groups)

    def pool_blocks(self, memory_bytes: int) -> int:
        """Blocks that fit into the memory found for the cache."""
        return max(memory_bytes // self.block_bytes, 0)

    def request_blocks(self, tokens: int) -> int:
        """Blocks one request of so many tokens may take, window groups at their chunked worst."""
        return sum(g.number * self._group_blocks(g, tokens) for g in self.groups)

    def _group_blocks(self, group: Group, tokens: int) -> int:
        if group.kind == "state":
            return group.fixed_blocks
        if group.kind == "full":
            return blocks(blocks(tokens, self.context_parallel), group.block_tokens)
        if self.batched_tokens is None and group.window_tokens <= tokens:
            raise UnknownRuleError(
                "max_num_batched_tokens is not given, and sliding layers are charged with it"
            )
        if group.kind == "chunk":
            return blocks(
                min(group.window_tokens + (self.batched_tokens or 0), tokens), group.block_tokens
            )
        held = min(group.window_tokens - 1 + (self.batched_tokens or 0), tokens)
        return blocks(held, group.block_tokens) + 1

    def steady_blocks(self, tokens: int) -> int | None:
        """Blocks of a request that only decodes (None: unknown, where states pile up).

        Window groups have given back what lies before the window by then.
        """
        if any(g.kind == "state" for g in self.groups):
            return None
        one_step = self.model_copy(update={"batched_tokens": 1})
        return one_step.request_blocks(tokens)

    def concurrency(self, pool_blocks: int, tokens: int) -> float:
        """Requests of that length the pool holds, as "Maximum concurrency" prints it."""
        return pool_blocks / self.request_blocks(tokens)

    def printed_tokens(self, pool_blocks: int, tokens: int) -> int:
        """The "GPU KV cache size" line of this release, for that ``max_model_len``.

        Up to 0.20.0 blocks are divided by the groups and multiplied by the smallest block, which
        is no capacity of a hybrid model; from 0.20.1 on it is concurrency times length.
        """
        if self.printed == "blocks_over_groups":
            smallest = min(g.block_tokens for g in self.groups if g.block_tokens)
            return pool_blocks // self.group_count * smallest * self.context_parallel
        return floor(self.concurrency(pool_blocks, tokens) * tokens)

    def needed_bytes(self, tokens: int) -> int:
        """Bytes one request of that length needs: what a refused start prints."""
        return self.request_blocks(tokens) * self.block_bytes

    def longest(self, memory_bytes: int, limit: int) -> int:
        """The greatest length whose request fits: the start's binary search (0: not one token)."""
        return bisect_right(range(1, limit + 1), memory_bytes, key=self.needed_bytes)


def plan(launch: Launch) -> Plan:
    """Lay the pool out for a model, by the rules of the release.

    UnknownRuleError where the release's rule for this kind of model is not in the fact base.
    """
    if launch.need("rule") != "block_groups":
        raise UnknownRuleError(f"{launch.engine} has no pool of blocks that was read")
    if launch.family == "compressed":
        return _packed(launch)
    launch.refuse_mixed_index()
    layout = launch.own_layout
    full = [g for g in layout.groups if g.bytes_per_token and g.window_tokens is None]
    windowed = [g for g in layout.groups if g.window_tokens is not None]
    state = [g for g in layout.groups if g.state_bytes]
    if state:
        if windowed or len(state) > 1:
            raise UnknownRuleError("recurrent layers beside sliding layers: no rule was read")
        return _hybrid(launch, full, state[0])
    if windowed and full:
        return _windowed(launch, full, windowed)
    if len({g.window_tokens for g in windowed}) > 1:
        raise UnknownRuleError("sliding layers of several windows and no full layer: not read")
    return _one_table(launch, full or windowed, windowed[0].window_tokens if windowed else None)


def _one_table(launch: Launch, layers: list[LayerGroup], window: int | None = None) -> Plan:
    """All layers in one group, which share a block table."""
    block = _block_tokens(launch)
    group = Group(
        kind="full" if window is None else "window", block_tokens=block, window_tokens=window or 0
    )
    return Plan(
        groups=[group], block_bytes=block * sum(g.bytes_per_token for g in layers),
        attention_block_tokens=block, **_common(launch),
    )  # fmt: skip


def _common(launch: Launch) -> dict[str, Any]:
    settings = launch.settings
    parallel = settings.get("decode_context_parallel") or settings.get(
        "decode_context_parallel_size"
    )
    batched = settings.get("max_num_batched_tokens")
    flying = 1 if settings.get("async_scheduling") is False else launch.need("batches_in_flight")
    return {
        "batched_tokens": batched and batched * flying,
        "context_parallel": int(parallel or 1),
        "printed": launch.need("printed_pool"),
    }


def _block_tokens(launch: Launch) -> int:
    return int(launch.settings.get("block_size") or launch.need("block_tokens"))


def _hybrid(launch: Launch, full: list[LayerGroup], state: LayerGroup) -> Plan:
    """Recurrent and full layers: attention blocks grow until a page holds a state.

    Block = the smallest multiple of the kernel's that makes the attention page at least the state
    page; groups of the smaller kind's size; a request holds one state a group, with prefix
    caching (mode ``align``) two, and one more for each drafted token.
    """
    attention = sum(g.layers for g in full)
    per_layer = {(g.kind, g.bytes_per_token // g.layers) for g in full}
    if not full or len({size for _, size in per_layer}) != 1:
        raise UnknownRuleError("a model of recurrent layers and uneven attention: no rule was read")
    token_bytes = next(iter(per_layer))[1]
    state_page = state.state_bytes // state.layers
    latent = any(g.kind == "latent_attention" for g in full)
    align = launch.need("hybrid_alignment", "latent" if latent else "")
    wanted = int(launch.settings.get("block_size") or 0)
    if wanted > align and launch.need("block_size_aligns_hybrid"):
        align = wanted
    block = max(wanted, align * blocks(state_page, align * token_bytes))
    page = block * token_bytes
    size = _group_size(launch, [attention, state.layers])
    mode = _state_mode(launch, state.kind)
    if mode == "all":
        raise UnknownRuleError("mamba_cache_mode 'all' rounds to the kernel's chunk, not read")
    copies = launch.need("state_copies_prefix_caching") if mode == "align" else 1
    states = Group(
        kind="state", number=blocks(state.layers, size), fixed_blocks=copies + launch.draft_tokens
    )
    padding = (page - state_page) / state_page * 100
    return Plan(
        groups=[
            Group(kind="full", number=blocks(attention, size), block_tokens=block), states,
        ],
        block_bytes=page * size, attention_block_tokens=block, padding_pct=round(padding, 2),
        notes=[str(launch.fact("steady_state_note", "hybrid"))] if mode == "align" else [],
        **_common(launch),
    )  # fmt: skip


def _state_mode(launch: Launch, kind: str) -> str:
    """Return the mode that states are cached in: none without prefix caching, whatever is set.

    Where ``all`` is set and the layers do not support it, and where none is set, the release's own.
    """
    if not launch.prefix_caching:
        return "none"
    stated: str | None = launch.settings.get("mamba_cache_mode")
    own: str = launch.need("state_mode", kind)
    if stated in (None, "none") or (stated == "all" and kind not in MODE_ALL):
        return own
    return stated


def _windowed(launch: Launch, full: list[LayerGroup], windowed: list[LayerGroup]) -> Plan:
    """Sliding and full layers: blocks of the smaller page grow to the larger page's bytes.

    A request holds its window and everything the batches in flight may add (one, since 0.26 two),
    plus a block because a window need not begin at one.
    """
    if launch.settings.get("disable_hybrid_kv_cache_manager"):
        return _one_table(launch, [*full, *windowed])
    launch.need("window_groups")
    block, rows = _block_tokens(launch), [*full, *windowed]
    pages = {g.kind: block * g.bytes_per_token // g.layers for g in rows}
    if len(pages) != len(rows):
        raise UnknownRuleError("attention layers of one kind and several sizes: no rule was read")
    largest = max(pages.values())
    uneven = any(largest % p for p in pages.values()) and launch.need("uneven_pages")
    if uneven == "refused":
        raise UnknownRuleError(
            f"pages of {sorted(pages.values())} bytes do not divide; this release does not start"
        )
    size = _group_size(launch, [g.layers for g in rows])
    kinds = {"sliding_attention": "window", "chunked_attention": "chunk"}
    groups = [
        Group(
            kind=kinds.get(g.kind, "full"), number=blocks(g.layers, size),
            block_tokens=block * _growth(largest, pages[g.kind], uneven),
            window_tokens=g.window_tokens or 0,
        )
        for g in rows
    ]  # fmt: skip
    return Plan(
        groups=groups, block_bytes=largest * size,
        attention_block_tokens=groups[0].block_tokens, **_common(launch),
    )  # fmt: skip


def _growth(largest: int, page: int, uneven: str | bool) -> int:
    """Times a block grows so that its page becomes the largest: not at all where it is padded."""
    return 1 if uneven == "padded" and largest % page else largest // page


def _group_size(launch: Launch, layers: list[int]) -> int:
    """Layers in a group: the smallest kind's, or the largest's where padding to it is cheap."""
    least, most = min(layers), max(layers)
    if most >= least * HIGHEST_PADDING_LIMIT or most == least:
        return least
    return most if most < least * launch.need("group_padding_limit") else least


def _packed(launch: Launch) -> Plan:
    """Compressed layers (DeepSeek-V4): see ``packed``."""
    block = int(launch.settings.get("block_size") or launch.need("compressed_block_tokens"))
    launch.need("compressed_packing")
    rows, block_bytes = packed_groups(launch, block)
    return Plan(
        groups=[Group(**row) for row in rows], block_bytes=block_bytes,
        attention_block_tokens=block, **_common(launch),
    )  # fmt: skip


def requests_without_state(launch: Launch, plan: Plan, memory_bytes: int) -> int:
    """Return how many requests may run where the pool has fewer blocks for their states; else 0.

    The release then refuses to start, where graphs are captured.
    """
    requests = int(launch.settings.get("max_num_seqs") or 0)
    states = any(g.kind == "state" for g in plan.groups)
    if requests <= plan.pool_blocks(memory_bytes) or not states:
        return 0
    captured = not launch.settings.get("enforce_eager")
    return requests if captured and launch.fact("requests_held_to_state_blocks") else 0
