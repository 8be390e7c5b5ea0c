"""No allocator: the memory over the bytes of one sequence, as this engine keeps them.

For engines whose admission nobody sourced. Where a page or block size is known, a sequence is
rounded up to it; what the engine rounds beyond that is unknown.
"""

from stackchoice.errors import UnknownRuleError
from stackchoice.fit.allocators.plan import Launch, blocks


def step_tokens(launch: Launch) -> int:
    """Tokens that a sequence grows by: a block where the engine documents one, else one."""
    stated = launch.settings.get("block_size")
    for key in ("block_tokens", "step_tokens"):
        if stated or launch.fact(key):
            return int(stated or launch.fact(key))
    return 1


def sequence_bytes(launch: Launch, tokens: int) -> int:
    """Bytes of one sequence, its growing part rounded up to the step.

    UnknownRuleError where compressors keep a state, or drafts may need copies of one.
    """
    if launch.family == "compressed":
        raise UnknownRuleError(f"the compressors' own state in {launch.engine} was not read")
    step = step_tokens(launch)
    if launch.draft_tokens and launch.own_layout.state_bytes_per_sequence:
        raise UnknownRuleError(f"what {launch.engine} keeps of a state for drafts was not read")
    return launch.own_layout.bytes_per_sequence(blocks(tokens, step) * step)


def pool_blocks(launch: Launch, memory_bytes: int) -> int:
    """Blocks of the documented size in the memory, for layers that all keep every token."""
    return int(memory_bytes // (launch.layout(sliding="charged").kv_bytes_per_token
                                * step_tokens(launch)))  # fmt: skip
