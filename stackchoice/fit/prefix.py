"""How much of a prompt the prefix cache gives back: whole blocks, which can mean nothing."""

from __future__ import annotations

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.datum import Record
from stackchoice.fit.allocators import vllm
from stackchoice.fit.allocators.plan import Launch


class Hit(Record):
    """Tokens of a prompt that need no prefill, and why not more."""

    tokens: int
    prompt_tokens: int | None = None
    why: str = ""

    @property
    def fraction(self) -> float:
        """Share of the prompt (0 where nothing is hit)."""
        return self.tokens / self.prompt_tokens if self.tokens and self.prompt_tokens else 0.0


def prefix_hit(
    launch: Launch,
    *,
    prompt_tokens: int | None,
    seen_before: int = 1,
    shared_tokens: int | None = None,
    identical: bool = True,
) -> Hit:
    """Return what vLLM's prefix cache gives for a prompt.

    Only whole blocks are found again, and never the whole prompt: its last token is computed.
    Hybrid models keep a state at the last aligned position of a prompt alone (mode ``align``),
    so a prompt that only shares a beginning finds none; their block is hundreds of tokens, so
    a short prompt finds none either. Source: ``v1/core/single_type_kv_cache_manager.py``.
    """
    if launch.need("rule") != "block_groups":
        raise UnknownRuleError(f"prefix reuse of {launch.engine} was not read")
    if not launch.prefix_caching:
        return Hit(tokens=0, prompt_tokens=prompt_tokens, why="prefix caching is off")
    if seen_before < 1:
        return Hit(tokens=0, prompt_tokens=prompt_tokens, why="the prompt is new")
    if not identical and launch.family == "hybrid":
        return Hit(
            tokens=0, prompt_tokens=prompt_tokens,
            why="a state is kept only at the last aligned position of an earlier prompt",
        )  # fmt: skip
    usable = prompt_tokens - 1 if identical and prompt_tokens else shared_tokens
    if usable is None:
        raise UnknownRuleError("neither the prompt's nor the shared prefix's tokens are given")
    block = vllm.plan(launch).attention_block_tokens or 1
    tokens = usable // block * block
    why = "" if tokens else f"shorter than one block of {block} tokens: caching has no effect"
    return Hit(tokens=tokens, prompt_tokens=prompt_tokens, why=why)
