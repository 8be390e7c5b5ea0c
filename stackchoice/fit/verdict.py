"""Does it start: a verdict with its code, from a launch and the memory it has."""

from typing import Literal

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.datum import Record
from stackchoice.fit.allocators import llamacpp, sglang, vllm
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.budget import Budget
from stackchoice.fit.layers import model_layers
from stackchoice.fit.memory import GIB

Because = Literal[
    "ok", "max_model_len_exceeds_pool", "no_memory_for_cache", "kv_dtype_unsupported_on_gpu",
    "partial_cpu_offload", "pool_below_one_request", "graph_capture", "no_memory_for_state",
]  # fmt: skip

#: What each code does to the start.
OUTCOME = {
    "ok": "starts",
    "partial_cpu_offload": "starts",
    "pool_below_one_request": "starts",
    "max_model_len_exceeds_pool": "refused",
    "no_memory_for_cache": "refused",
    "no_memory_for_state": "refused",
    "kv_dtype_unsupported_on_gpu": "refused",
    "graph_capture": "oom",
}


class Verdict(Record):
    """Whether a launch starts, why, and what the engine would say of lengths."""

    because: Because
    needed_bytes: int | None = None
    longest_tokens: int | None = None

    @property
    def verdict(self) -> str:
        """``starts``, ``refused`` or ``oom``."""
        return OUTCOME[self.because]

    @property
    def fits(self) -> bool:
        """Whether it starts and can serve a request of full length on the device alone."""
        return self.because == "ok"


def cache_type_runs(launch: Launch, capability: float | None) -> bool | None:
    """Whether the device can keep this cache type (None: not known).

    A type is held to the generations whose kernels have it, and to the backend that a model
    forces: vLLM runs models whose head sizes differ between layers in Triton, which has no 4-bit
    cache and no 8-bit e4m3 type on older devices.
    """
    form = launch.memory.kv_format(launch.kv_dtype) if launch.kv_dtype else None
    if capability is None or form is None:
        return None
    triton = _forced_backend(launch) == "triton"
    if form.id == "nvfp4":
        generations = launch.fact("nvfp4_generations")
        if triton:
            return False
        return None if generations is None else str(int(capability)) in generations.split()
    if form.id == "fp8" and triton:
        lowest = launch.fact("triton_fp8_e4m3_min_capability")
        return None if lowest is None else capability >= lowest
    return None if form.id.startswith(("fp8", "int8")) else True


def _forced_backend(launch: Launch) -> str | None:
    """Return the attention backend that the model's head sizes leave, if they leave but one."""
    sizes = {row.key_dim for row in model_layers(launch.config) if row.kind in ("full", "sliding")}
    limit = launch.fact("head_sizes_differ_above")
    if len(sizes) < 2 or limit is None or max(sizes) <= limit:
        return None
    backend: str | None = launch.fact("head_sizes_differ_backend")
    return backend


def pool_verdict(
    launch: Launch, cache_bytes: int | None, *, blocks: int | None = None,
    budget: Budget | None = None, device_bytes: int | None = None,
) -> Verdict:  # fmt: skip
    """Judge a server with one pool (vLLM, SGLang) by the memory it found for its cache.

    UnknownRuleError where that is not given, nor blocks.

    ``blocks`` is a user's own number of blocks, which skips the engine's length check. A model
    with states needs a block for each request that may run, where graphs are captured.
    """
    if cache_bytes is not None and cache_bytes <= 0:
        return Verdict(because="no_memory_for_cache")
    length = launch.context_tokens
    if launch.need("rule") == "token_pool":
        if cache_bytes is None:
            raise UnknownRuleError("the memory for the cache is not given")
        tokens = sglang.pools(launch, cache_bytes).tokens
        because = "ok" if tokens >= length else "pool_below_one_request"
        return Verdict(because=because, longest_tokens=tokens)
    plan = vllm.plan(launch)
    needed = plan.needed_bytes(length)
    if blocks is not None:
        enough = plan.request_blocks(length) <= blocks
        return Verdict(
            because="ok" if enough else "pool_below_one_request", needed_bytes=needed,
            longest_tokens=plan.longest(blocks * plan.block_bytes, length),
        )  # fmt: skip
    if cache_bytes is None:
        raise UnknownRuleError("neither memory for the cache nor blocks are given")
    if needed > cache_bytes:
        return Verdict(
            because="max_model_len_exceeds_pool", needed_bytes=needed,
            longest_tokens=plan.longest(cache_bytes, length),
        )  # fmt: skip
    if (
        budget and device_bytes and budget.graphs == "outside"
        and budget.granted_bytes + budget.graph_bytes > device_bytes
    ):  # fmt: skip
        return Verdict(because="graph_capture", needed_bytes=needed)
    if requests := vllm.requests_without_state(launch, plan, cache_bytes):
        return Verdict(because="no_memory_for_state", needed_bytes=requests * plan.block_bytes)
    return Verdict(because="ok", needed_bytes=needed)


def offload_verdict(launch: Launch, *, weights_bytes: int, device_bytes: int) -> Verdict:
    """Judge llama.cpp or Ollama: what does not fit on the device goes to the CPU, and it starts.

    The margin is what ``--fit`` leaves free on each device; compute buffers are not counted.
    """
    context = launch.settings.get("num_ctx") or launch.settings.get("n_ctx")
    if not context and launch.fact("context_small"):
        context = llamacpp.default_context(launch, device_bytes / GIB)
    held = llamacpp.cells(launch, int(context or launch.context_tokens))
    margin = int(launch.need("fit_margin_mib")) * 2**20
    needed = weights_bytes + held.total_bytes
    return Verdict(
        because="ok" if needed + margin <= device_bytes else "partial_cpu_offload",
        needed_bytes=needed,
    )
