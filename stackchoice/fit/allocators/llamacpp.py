"""llama.cpp, and Ollama on top of it: cells for tokens, window cells and a state per sequence.

Source: ``llama-context.cpp``, ``llama-kv-cache-iswa.cpp`` and ``tools/server`` at 0c1e57098.
"""

from dataclasses import dataclass

from stackchoice.errors import UnknownRuleError
from stackchoice.fit.allocators.plan import Launch, blocks


@dataclass(frozen=True)
class Cells:
    """The cache of one server: its cells and bytes, apart for full and sliding layers."""

    cells: int
    bytes: int
    window_cells: int | None = None
    window_bytes: int = 0
    state_bytes: int = 0

    @property
    def total_bytes(self) -> int:
        """Everything the cache takes."""
        return self.bytes + self.window_bytes + self.state_bytes


def cells(
    launch: Launch, context: int, *, sequences: int = 1, unified: bool = True,
    full_window: bool = False, ubatch: int | None = None,
) -> Cells:  # fmt: skip
    """Return the cells for a context that ``sequences`` share.

    UnknownRuleError for sparse attention.

    Parameters
    ----------
    context
        ``n_ctx`` of llama.cpp, shared by all sequences. Ollama multiplies its ``num_ctx`` by the
        sequences first.
    unified
        One cache for all sequences; else each has its own part of the context.
    full_window
        ``swa_full``: sliding layers keep every token.

    Notes
    -----
    Cells are padded to a multiple. Sliding layers: ``window x sequences + ubatch`` cells, at
    most the context's, padded too; where every layer slides, windows are off. State is kept per
    sequence in float32, and once more for each token that a model drafts.
    """
    if launch.family in ("compressed", "indexed", "block_indexed"):
        raise UnknownRuleError(f"{launch.engine}'s cache of sparse attention was not read")
    launch.refuse_mixed_index()
    layout, padding = launch.own_layout, launch.need("cell_padding")
    streams = 1 if unified else sequences
    if launch.need("slots_multiply_context"):
        context *= sequences
    per_stream = blocks(blocks(context, streams), padding) * padding
    full = streams * per_stream
    grown = [g for g in layout.groups if g.bytes_per_token]
    if all(g.window_tokens for g in grown) and launch.need("only_sliding") == "charged":
        grown = [g.model_copy(update={"window_tokens": None}) for g in grown]
    windows = {g.window_tokens for g in grown if g.window_tokens is not None}
    window_cells, window_bytes = None, 0
    if windows:
        step = ubatch or launch.need("ubatch_tokens")
        held = max(windows) * (sequences if unified else 1) + step
        own = per_stream if full_window else min(per_stream, held)
        window_cells = streams * blocks(own, padding) * padding
        window_bytes = window_cells * sum(
            g.bytes_per_token for g in grown if g.window_tokens is not None
        )
    kept = [g for g in grown if g.window_tokens is None]
    return Cells(
        cells=full,
        bytes=sum(full // g.ratio * g.bytes_per_token for g in kept),
        window_cells=window_cells, window_bytes=window_bytes,
        state_bytes=sequences * _copies(launch) * layout.state_bytes_per_sequence,
    )  # fmt: skip


def _copies(launch: Launch) -> int:
    """Copies of the state that a sequence keeps, to go back to when drafted tokens are refused.

    UnknownRuleError for an architecture that is not known to go back. Source: ``n_rows`` in
    ``llama-memory-recurrent.cpp``, ``llm_arch_supports_rs_rollback``.
    """
    kind = str(launch.text.get("model_type"))
    if not launch.draft_tokens or not launch.own_layout.state_bytes_per_sequence:
        return 1
    if kind not in str(launch.need("state_rollback")).split():
        raise UnknownRuleError(
            f"whether {launch.engine} keeps a copy of the state of {kind} for each drafted token "
            "was not read"
        )
    return 1 + launch.draft_tokens


def default_context(launch: Launch, device_memory_gib: float) -> int:
    """Ollama's context when none is asked for: by the memory of all devices together."""
    if device_memory_gib >= launch.need("context_large_from_gib"):
        return int(launch.need("context_large"))
    if device_memory_gib >= launch.need("context_middle_from_gib"):
        return int(launch.need("context_middle"))
    return int(launch.need("context_small"))
