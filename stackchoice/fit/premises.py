"""The two-premise check: which readings of an engine's printed figures reproduce them.

A pool line can agree to the token with two contradictory premises. Then the figure separates
nothing, and only the release's source, or another line of the same start, decides.
"""

import sys
from bisect import bisect_left
from collections.abc import Callable
from itertools import count, takewhile

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.datum import Record
from stackchoice.fit.allocators import vllm
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.cache import CacheLayout
from stackchoice.fit.memory import GIB

#: A premise: its text, bytes of a block, tokens that blocks print, requests that they hold.
Reading = tuple[str, int, Callable[[int], int], Callable[[int], float]]
#: Half of the last decimal that the memory line prints.
HALF_STEP_GIB = 0.005
HALF_STEP_CONCURRENCY = 0.005


class Premise(Record):
    """One reading of the pool line. ``implied_gib`` is the memory it needs for that figure.

    ``blocks`` are those that give it, or else those that the printed memory holds.
    """

    id: str
    text: str
    block_bytes: int
    blocks: int | None = None
    tokens: int | None = None
    reproduces: bool
    implied_gib: tuple[float, float] | None = None
    concurrency: float | None = None
    agrees_with_concurrency: bool | None = None

    @property
    def stands(self) -> bool:
        """Whether it gives the printed figure, and no other figure contradicts it."""
        return self.reproduces and self.agrees_with_concurrency is not False


class PremiseCheck(Record):
    """What the printed figures say of each premise, and what would say more.

    ``alike``: the model has one kind of layer, so the standing premises are one and the same.
    """

    printed_tokens: int
    premises: list[Premise]
    separable: bool
    alike: bool = False
    preferred: str | None
    preferred_why: str
    would_decide: list[str]

    @property
    def reproducing(self) -> list[str]:
        """Premises that give the printed figure to the token."""
        return [p.id for p in self.premises if p.reproduces]

    @property
    def standing(self) -> list[str]:
        """Those of them that no other figure contradicts."""
        return [p.id for p in self.premises if p.stands]


def check_premises(
    launch: Launch,
    *,
    printed_tokens: int,
    memory_gib: float | None = None,
    concurrency: float | None = None,
) -> PremiseCheck:
    """Test every premise about which layers hold a cache against what a vLLM start printed.

    UnknownRuleError for the figures of another engine.

    Parameters
    ----------
    printed_tokens
        The "GPU KV cache size" line.
    memory_gib
        "Available KV cache memory", two decimals; every value that prints so is tried.
    concurrency
        "Maximum concurrency", two decimals; it separates what the pool line may not.
    """
    if launch.need("rule") != "block_groups":
        raise UnknownRuleError(f"the printed figures of {launch.called} were not read")
    plan, length = vllm.plan(launch), launch.context_tokens
    premises = [
        _premise(name, *reading, printed_tokens, memory_gib, concurrency)
        for name, reading in readings(plan, launch.own_layout, length).items()
    ]
    standing = [p for p in premises if p.stands]
    alike = len(standing) > 1 and len({(p.block_bytes, p.implied_gib) for p in standing}) == 1
    line = launch.need("printed_pool")
    preferred = f"grouped_{line}"
    source = launch.memory.fact(launch.engine, "printed_pool", launch.version).source
    return PremiseCheck(
        printed_tokens=printed_tokens, premises=premises, separable=len(standing) == 1, alike=alike,
        preferred=preferred if preferred in [p.id for p in standing] else None,
        preferred_why=(
            f"{launch.called} shares blocks between groups and prints "
            f"{line.replace('_', ' ')} ({source.label if source else 'no source'})"
        ),
        would_decide=[] if alike else _deciding(standing, memory_gib, concurrency, length),
    )  # fmt: skip


def readings(plan: vllm.Plan, layout: CacheLayout, length: int) -> dict[str, Reading]:
    """Return every premise: its text, bytes of a block, and what so many blocks would print."""
    block = plan.attention_block_tokens or 1
    attention = [g for g in layout.groups if g.bytes_per_token]
    per_layer = attention[0].bytes_per_token // attention[0].layers
    every = sum(g.layers for g in layout.groups)
    full = sum(g.bytes_per_token for g in attention if g.window_tokens is None)
    over_groups = plan.model_copy(update={"printed": "blocks_over_groups"})
    by_length = plan.model_copy(update={"printed": "concurrency_times_length"})
    return {
        "all_layers": (
            f"all {every} layers hold keys and values of every token",
            block * per_layer * every, lambda b: b * block, lambda b: b * block / length,
        ),
        "grouped_blocks_over_groups": (
            f"{plan.group_count} groups share the blocks; the line divides them by the groups",
            plan.block_bytes, lambda b: over_groups.printed_tokens(b, length),
            lambda b: plan.concurrency(b, length),
        ),
        "grouped_concurrency_times_length": (
            f"{plan.group_count} groups share the blocks; the line is concurrency times length",
            plan.block_bytes, lambda b: by_length.printed_tokens(b, length),
            lambda b: plan.concurrency(b, length),
        ),
        "full_layers_only": (
            "only the layers that keep every token take memory",
            block * full, lambda b: b * block, lambda b: b * block / length,
        ),
    }  # fmt: skip


def _premise(
    name: str, text: str, block_bytes: int, tokens: Callable[[int], int],
    concurrency: Callable[[int], float], printed: int, memory_gib: float | None,
    printed_concurrency: float | None,
) -> Premise:  # fmt: skip
    """Try every block count that the printed memory allows (any, where it is not given)."""
    if memory_gib is None:
        counts = _solve(tokens, printed)
    else:
        low, high = (int((memory_gib + d) * GIB) // block_bytes
                     for d in (-HALF_STEP_GIB, HALF_STEP_GIB))  # fmt: skip
        counts = [b for b in range(max(0, low), high + 1) if tokens(b) == printed]
    middle = counts[len(counts) // 2] if counts else None
    if middle is None and memory_gib is not None:
        middle = int(memory_gib * GIB) // block_bytes
    requests = concurrency(middle) if middle is not None else None
    agrees = None
    if printed_concurrency is not None and counts:
        agrees = any(
            abs(concurrency(b) - printed_concurrency) <= HALF_STEP_CONCURRENCY + 1e-9
            for b in counts
        )
    return Premise(
        id=name, text=text, block_bytes=block_bytes, blocks=middle,
        tokens=tokens(middle) if middle is not None else None, reproduces=bool(counts),
        implied_gib=(counts[0] * block_bytes / GIB, (counts[-1] + 1) * block_bytes / GIB)
        if counts else None,
        concurrency=requests, agrees_with_concurrency=agrees,
    )  # fmt: skip


def _solve(tokens: Callable[[int], int], printed: int) -> list[int]:
    """Return every number of blocks that prints so many tokens ([] when none does)."""
    first = bisect_left(range(sys.maxsize), printed, key=tokens)
    return list(takewhile(lambda blocks: tokens(blocks) == printed, count(first)))


def _deciding(
    standing: list[Premise], memory_gib: float | None, concurrency: float | None, length: int
) -> list[str]:
    """Return the lines that would tell the premises apart, with what each would read."""
    if len(standing) < 2:
        return []
    lines = []
    if memory_gib is None:
        each = "; ".join(
            f"{p.id} {p.implied_gib[0]:.2f} to {p.implied_gib[1]:.2f} GiB"
            for p in standing if p.implied_gib
        )  # fmt: skip
        lines.append(f"Available KV cache memory: {each}")
    if concurrency is None:
        each = "; ".join(f"{p.id} {p.concurrency:.2f}x" for p in standing if p.concurrency)
        lines.append(f"Maximum concurrency for {length:,} tokens per request: {each}")
    return lines
