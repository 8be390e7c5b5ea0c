"""How much of a prompt the prefix cache gives back: whole blocks, which can mean nothing."""

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.datum import Record
from stackchoice.fit.allocators import vllm
from stackchoice.fit.allocators.plan import Launch


class Hit(Record):
    """Tokens of a prompt that need no prefill, and why not more."""

    tokens: int
    prompt_tokens: int | None = None
    block_tokens: int | None = None
    why: str = ""

    @property
    def fraction(self) -> float:
        """Share of the prompt (0 where nothing is hit)."""
        return self.tokens / self.prompt_tokens if self.tokens and self.prompt_tokens else 0.0


class ReuseRule(Record):
    """What a release finds again of a beginning that prompts share, for one model.

    ``last_block_only``: a state is kept only at the last whole block of an earlier prompt.
    """

    on: bool = True
    block_tokens: int = 1
    last_block_only: bool = False

    def hit(self, prompt_tokens: int, shared_tokens: int) -> Hit:
        """Return what is found of ``shared_tokens``, earlier prompts being as long as this one."""
        found = {"prompt_tokens": prompt_tokens, "block_tokens": self.block_tokens}
        if not self.on:
            return Hit(tokens=0, why="prefix caching is off", **found)
        block, shared = self.block_tokens, min(shared_tokens, prompt_tokens - 1)
        if shared < block:
            why = f"shorter than one block of {block:,} tokens: caching has no effect"
            return Hit(tokens=0, why=why if shared > 0 else "nothing is shared", **found)
        if not self.last_block_only:
            return Hit(tokens=shared // block * block, **found)
        kept = (prompt_tokens - 1) // block * block
        if kept <= shared:
            return Hit(tokens=kept, **found)
        return Hit(
            tokens=0, **found,
            why=f"a state is kept only at the last whole block of {block:,} tokens of an earlier "
            f"prompt, at {kept:,}, and only {shared:,} tokens are shared",
        )  # fmt: skip


def reuse_rule(launch: Launch) -> ReuseRule:
    """Return what a release finds again of what prompts share.

    vLLM finds whole blocks. On hybrid models it keeps the state of an earlier prompt at that
    prompt's last whole block alone. SGLang finds whole pages, and on hybrid models keeps a state
    where prompts were seen to part, in steps of a chunk, so from the third prompt on. Of the others
    the fact base holds the step (``reuse_tokens``), by kind of layers. Source: vLLM
    ``v1/core/single_type_kv_cache_manager.py``; SGLang
    ``mem_cache/unified_cache/components/mamba.py``; ``data/allocators.yaml`` for the rest.

    UnknownRuleError when nobody read what this release finds again.
    """
    rule = launch.need("rule")
    if not launch.prefix_caching:
        return ReuseRule(on=False)
    hybrid = launch.family == "hybrid"
    if rule not in ("token_pool", "block_groups"):
        return ReuseRule(block_tokens=int(launch.need("reuse_tokens", launch.family)))
    if rule == "token_pool":
        step = int(launch.need("page_tokens", launch.family))
        branch = int(launch.need("branch_tokens", "hybrid")) if hybrid else step
        return ReuseRule(block_tokens=max(step, branch))
    block = vllm.plan(launch).attention_block_tokens or 1
    return ReuseRule(block_tokens=block, last_block_only=hybrid)


def prefix_hit(
    launch: Launch,
    *,
    prompt_tokens: int | None,
    seen_before: int = 1,
    shared_tokens: int | None = None,
    identical: bool = True,
) -> Hit:
    """Return what vLLM's prefix cache gives for one prompt: never all, its last token is computed.

    UnknownRuleError for another engine, or without the lengths that decide.

    A prompt that only shares a beginning finds no state of a hybrid model, whatever its length.
    """
    if launch.need("rule") != "block_groups":
        raise UnknownRuleError(f"prefix reuse of {launch.engine} was not read")
    rule, why = reuse_rule(launch), ""
    if rule.on and seen_before < 1:
        why = "the prompt is new"
    elif rule.last_block_only and not identical:
        why = "a state is kept only at the last aligned position of an earlier prompt"
    usable = prompt_tokens - 1 if identical and prompt_tokens else shared_tokens
    if why or not rule.on:
        return Hit(tokens=0, prompt_tokens=prompt_tokens, why=why or "prefix caching is off")
    if usable is None:
        raise UnknownRuleError("neither the prompt's nor the shared prefix's tokens are given")
    found = rule.hit(usable + 1, usable)
    return found.model_copy(update={"prompt_tokens": prompt_tokens})
