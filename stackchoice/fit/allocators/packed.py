"""vLLM's pool for compressed attention (DeepSeek-V4), as 0.20 to 0.22 lay it out.

Every layer has a sliding window of entries, most have compressed entries too, and each compressor
keeps the states of the tokens it has not compressed yet in a window of its own. Layers with
the same page go into tuples; all groups have the same number of tuples. Source:
``group_and_unify_kv_cache_specs`` and ``_get_kv_cache_groups_uniform_groups``; checked against the
refused start cited in ``data/allocators.yaml``.
"""

from collections import Counter
from typing import Any

from stackchoice.errors import UnknownRuleError
from stackchoice.fit.allocators.plan import Launch, blocks
from stackchoice.fit.config import counted, need

FLOAT32_BYTES = 4


def packed_groups(launch: Launch, block: int) -> tuple[list[dict[str, Any]], int]:
    """Return the fields of the groups and the bytes of one block over all of them.

    UnknownRuleError for a cache type or pages that nobody read.
    """
    memory, text = launch.memory, launch.text
    form = memory.kv_format("fp8_ds_mla")
    if (launch.kv_dtype or "fp8") not in ("fp8", "fp8_e4m3", "fp8_ds_mla") or form is None:
        raise UnknownRuleError(f"cache type {launch.kv_dtype!r}: only the 8-bit record was read")
    entry = form.compressed_record_bytes.value or 0
    size, index_size = need(text, "head_dim"), need(text, "index_head_dim")
    window, layers = need(text, "sliding_window"), need(text, "num_hidden_layers")
    ratios = Counter(r for r in counted(text, "compress_ratios", layers) if r)
    indexed = memory.record("compressed_indexed_ratio")
    index_entry = index_size + memory.record("index_scale_bytes") * blocks(
        index_size, memory.record("index_scale_group")
    )
    align = memory.record("compressed_page_alignment")

    def page(tokens: int, token_bytes: int) -> int:
        return blocks(tokens * token_bytes, align) * align

    full = {page(block // ratio, entry): number for ratio, number in ratios.items()}
    if indexed in ratios:
        full[page(block // indexed, index_entry)] = ratios[indexed]
    window_block = memory.record("compressed_window_block")
    windows: list[tuple[int, int, dict[int, int]]] = [
        (window_block, window, {page(window_block, entry): layers + launch.draft_layers})
    ]
    for ratio, number in sorted(ratios.items()):
        overlap = 2 if ratio == indexed else 1
        name = "indexed" if ratio == indexed else "other"
        tokens = memory.record(f"compressed_state_block_{name}")
        width = 2 * overlap * FLOAT32_BYTES  # a value and its score, in both overlapping windows
        pages = {page(tokens, width * size): number}
        if ratio == indexed:
            pages[page(tokens, width * index_size)] = number
        windows.append((tokens, overlap * ratio, pages))
    known = sorted(full)
    for _, _, pages in windows:
        if any(p > known[-1] for p in pages):
            raise UnknownRuleError("a window page is larger than every full page: no rule was read")
    tuples = [max(full.values()), *(max(pages.values()) for _, _, pages in windows)]
    count = common_size(tuples, max(full.values()))
    rows: list[dict[str, Any]] = [{"kind": "full", "block_tokens": block}]
    rows += [
        {"kind": "window", "number": blocks(number, count), "block_tokens": tokens,
         "window_tokens": span}
        for (tokens, span, _), number in zip(windows, tuples[1:], strict=True)
    ]  # fmt: skip
    return rows, count * sum(known)


def common_size(counts: list[int], least: int) -> int:
    """Tuples of a group: the number with the least padding overall, the larger of two equals."""
    return min(range(least, max(counts) + 1), key=lambda d: (sum(-c % d for c in counts), -d))
