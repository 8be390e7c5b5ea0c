"""Cache bytes per layer kind, from a model's own ``config.json``.

Bytes per sequence are what one live sequence occupies on one device: keys and values that grow
with its tokens, sliding-window layers that grow up to their window, compressed layers that grow
by one entry every few tokens, and recurrent state that does not grow. What an engine's blocks
and slots add to that is ``allocators``' business.
"""

from fractions import Fraction
from math import ceil
from typing import Any, Literal, Self

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.allocation import KvFormat, MemoryFacts
from stackchoice.facts.datum import Record, sure
from stackchoice.facts.load import load_facts
from stackchoice.fit.config import model_dtype, text_config
from stackchoice.fit.layers import Layers, model_layers
from stackchoice.fit.layers import draft_layers as draft_head

#: What happens to layers that need only a window: their own cache, every token, or not counted.
Sliding = Literal["window", "charged", "excluded"]

#: Names in the layout, as configs write them.
KIND_NAMES = {
    "full": "full_attention", "sliding": "sliding_attention", "chunked": "chunked_attention",
    "latent": "latent_attention", "gated_delta": "linear_attention",
}  # fmt: skip


class StateLayout(Record):
    """How an engine keeps recurrent state: the default is the reference path in Transformers.

    ``None`` takes the state's type from the config and the convolution's from the model. Where the
    config is silent the state has ``silent_dtype``, else the reference code's type. ``model`` is
    the model's own type, ``unread`` one that nobody read.
    """

    state_dtype: str | None = None
    silent_dtype: str | None = None
    conv_dtype: str | None = None
    all_conv_columns: bool = True


class LayerGroup(Record):
    """Layers of one kind. ``window_tokens`` is None where the cache grows without limit.

    ``ratio`` tokens share one entry of ``bytes_per_token`` bytes (1 outside compressed layers).
    """

    kind: str
    layers: int
    bytes_per_token: int = 0
    window_tokens: int | None = None
    state_bytes: int = 0
    ratio: int = 1

    def bytes_at(self, tokens: int) -> int:
        """Bytes that these layers hold for one sequence of ``tokens`` tokens."""
        held = tokens if self.window_tokens is None else min(tokens, self.window_tokens)
        return held // self.ratio * self.bytes_per_token + self.state_bytes


class CacheLayout(Record):
    """All cache-bearing layers of a model, at one cache type, on one device."""

    groups: list[LayerGroup]
    kv_dtype: str

    @property
    def kv_bytes_per_token(self) -> int | float:
        """Bytes each further token costs, in layers that keep every token."""
        total = sum(
            (Fraction(g.bytes_per_token, g.ratio) for g in self.groups if g.window_tokens is None),
            Fraction(0),
        )
        return int(total) if total.denominator == 1 else float(total)

    @property
    def state_bytes_per_sequence(self) -> int:
        """Bytes of recurrent and convolution state of one sequence, whatever its length."""
        return sum(g.state_bytes for g in self.groups)

    def bytes_per_sequence(self, tokens: int) -> int:
        """Bytes of one live sequence at ``tokens`` tokens."""
        return sum(g.bytes_at(tokens) for g in self.groups)

    def times(self, devices: int) -> Self:
        """Return what so many devices hold together."""
        return self.model_copy(update={"groups": [
            group.model_copy(update={
                "bytes_per_token": group.bytes_per_token * devices,
                "state_bytes": group.state_bytes * devices,
            }) for group in self.groups
        ]})  # fmt: skip


def held_layout(
    config: dict[str, Any], devices: int, kv_dtype: str | None = None, *,
    memory: MemoryFacts | None = None,
) -> CacheLayout:  # fmt: skip
    """Return the layout of a tensor-parallel group: what is repeated counts for each device.

    A latent and an index are on every device, heads on those that need one. Where heads do not
    divide over the devices, the layout is the model's.
    """
    if devices > 1:
        try:
            return cache_layout(config, kv_dtype, tp=devices, memory=memory).times(devices)
        except UnknownCacheError:
            pass
    return cache_layout(config, kv_dtype, memory=memory)


def cache_layout(
    config: dict[str, Any],
    kv_dtype: str | None = None,
    *,
    state: StateLayout | None = None,
    tp: int = 1,
    draft_layers: int = 0,
    draft_tokens: int = 0,
    expand_latent: bool = False,
    sliding: Sliding = "window",
    bytes_per_head: int | None = None,
    index_dtype: str | None = None,
    memory: MemoryFacts | None = None,
    layers: list[Layers] | None = None,
) -> CacheLayout:
    """Read the cache layout of a model from its ``config.json``.

    Parameters
    ----------
    config
        The parsed file; a multimodal model's ``text_config`` is found inside it.
    kv_dtype
        Type of the stored keys and values; the model's own ``dtype`` when not given.
    state
        How recurrent state is kept; the reference path when not given.
    tp
        Devices that share the heads. Heads that do not divide are repeated on every device that
        needs one; a latent and an index are repeated on all.
    draft_layers, draft_tokens
        Attention layers of a draft head that hold cache too, and tokens it drafts: each widens
        the convolution by a column.
    expand_latent
        The release stores expanded keys and values in place of an MLA latent.
    bytes_per_head
        Bytes of K plus V of one head and token, for a cache type that is not in the fact base.
    index_dtype
        Type of sparse-attention index keys; 8 bits with a scale when not given.
    layers
        What :func:`stackchoice.fit.layers.model_layers` gives, where it is known already.

    Raises
    ------
    UnknownCacheError
        When the config has a layer kind that is not modelled, or lacks a needed key.

    Notes
    -----
    Attention: ``layers x heads x (key_dim + value_dim) x bytes`` per token. MLA: ``layers x
    (kv_lora_rank + qk_rope_head_dim) x bytes``. Recurrent: the state's values in its type and
    ``channels x columns`` of convolution, all columns on the reference path, one less elsewhere.
    """
    facts = memory or load_facts().memory
    text = text_config(config)
    dtype = kv_dtype or model_dtype(text) or "bfloat16"
    layers = (model_layers(config) if layers is None else layers) + draft_head(config, draft_layers)
    sizes = _Sizes(
        facts, dtype, model_dtype(text) or "bfloat16", state or StateLayout(), tp, expand_latent,
        bytes_per_head, index_dtype, draft_tokens,
    )  # fmt: skip
    groups = [sizes.group(row) for row in layers]
    if sliding == "charged":
        groups = [g.model_copy(update={"window_tokens": None}) for g in groups]
    elif sliding == "excluded":
        groups = [g for g in groups if g.window_tokens is None]
    return CacheLayout(groups=groups, kv_dtype=dtype)


class _Sizes:
    """Turns shapes into bytes on one device."""

    def __init__(
        self, facts: MemoryFacts, dtype: str, own: str, state: StateLayout, tp: int, expand: bool,
        bytes_per_head: int | None, index_dtype: str | None, draft_tokens: int,
    ) -> None:  # fmt: skip
        self.facts, self.own, self.state, self.tp, self.expand = facts, own, state, tp, expand
        self.bytes_per_head, self.draft_tokens = bytes_per_head, draft_tokens
        self.format = None if bytes_per_head else self._format(dtype)
        self.index_format = self._format(index_dtype) if index_dtype else None

    def group(self, row: Layers) -> LayerGroup:
        state = row.layers * self._state_bytes(row) if row.state_heads else 0
        per_token = 0 if row.state_heads else ceil(row.layers * self._token_bytes(row))
        return LayerGroup(
            kind=KIND_NAMES.get(row.kind, row.kind), layers=row.layers, bytes_per_token=per_token,
            window_tokens=row.window_tokens, state_bytes=state, ratio=row.ratio,
        )  # fmt: skip

    def _token_bytes(self, row: Layers) -> Fraction:
        """Bytes one layer keeps for one token (one entry, in compressed layers)."""
        if row.kind == "index" and self.index_format:
            return row.key_dim * self._bits(self.index_format) / 8
        if row.kind == "index":  # 8 bits a value, and a scale for each group of them
            groups = ceil(row.key_dim / self.facts.record("index_scale_group"))
            return Fraction(row.key_dim + groups * self.facts.record("index_scale_bytes"))
        if row.kind == "block_index":
            return row.key_dim * self._bits(self._format(self.own)) / 8
        if row.kind == "compressed":
            return self._record_bytes(row, "compressed_record_bytes")
        if row.kind == "latent" and not self.expand:
            return self._record_bytes(row, "latent_record_bytes")
        if row.kind == "latent" and not row.key_dim:
            raise UnknownCacheError("config key 'qk_nope_head_dim' is needed to expand a latent")
        heads = share(row.kv_heads, self.tp)
        if self.bytes_per_head:
            return Fraction(heads * self.bytes_per_head)
        stored = sure(self.format)
        scales = 2 * stored.scale_bytes_per_head
        values = row.key_dim + row.value_dim
        return heads * (values * self._bits(stored) / 8 + scales)

    def _record_bytes(self, row: Layers, kind: str) -> Fraction:
        """Bytes of one latent: a record of its own layout, or values times bits."""
        if self.bytes_per_head:
            return Fraction(self.bytes_per_head)
        stored = sure(self.format)
        record = getattr(stored, kind)
        if record.known:
            return Fraction(record.value)
        if stored.scale_bytes_per_head:
            raise UnknownCacheError(
                f"cache type {stored.id!r}: its layout for a latent cache is not known"
            )
        return row.latent_values * self._bits(stored) / 8

    def _state_bytes(self, row: Layers) -> int:
        """Bytes one layer keeps for one sequence: the state, and the convolution's columns."""
        state = Fraction(0)
        if row.state_values:
            dtype = (
                self.state.state_dtype or row.state_dtype or self.state.silent_dtype
                or row.reference_dtype
            )  # fmt: skip
            dtype = self.own if dtype == "model" else dtype
            if dtype in (None, "unread"):
                raise UnknownCacheError(
                    f"the config does not say in which type a {row.kind} state is kept; give it"
                )
            state = even(row.state_values, row.state_heads, self.tp) * self._bits(
                self._format(sure(dtype))
            )
        kept = row.conv_kernel - (not self.state.all_conv_columns) + self.draft_tokens
        if not row.conv_channels or self.state.conv_dtype == "none":
            kept = 0
        conv_bits = self._bits(self._format(self.state.conv_dtype or self.own)) if kept else 0
        channels = even(row.conv_channels, row.state_heads, self.tp)
        return int((state + channels * kept * conv_bits) / 8)

    def _format(self, name: str) -> KvFormat:
        found = self.facts.kv_format(name)
        if found is None:
            known = ", ".join(f.id for f in self.facts.kv_formats)
            raise UnknownCacheError(f"cache type {name!r} is not known; known: {known}")
        return found

    @staticmethod
    def _bits(form: KvFormat) -> Fraction:
        if form.bits.value is None:
            raise UnknownCacheError(f"cache type {form.id!r}: its bits per value are not known")
        return Fraction(form.bits.value)


def share(heads: int, tp: int) -> int:
    """Heads of one device: an even share, or one repeated head where there are fewer than devices.

    UnknownCacheError where neither comes out even.

    Source: vLLM ``ModelConfig.get_num_kv_heads``.
    """
    if heads % tp and tp % heads:
        raise UnknownCacheError(
            f"{heads} KV heads do not divide over {tp} devices, and {tp} devices do not repeat "
            f"{heads} heads evenly; take another tensor parallel size"
        )
    return max(1, heads // tp)


def even(values: int, heads: int, tp: int) -> int:
    """Values of one device where every head is as large as the others.

    UnknownCacheError where they do not divide.
    """
    if heads % tp:
        raise UnknownCacheError(f"{heads} state heads do not divide over {tp} devices")
    return values // tp
