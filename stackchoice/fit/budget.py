"""The budget of one device: what is left for the cache after weights and everything else."""

from typing import Literal

from stackchoice.errors import UnknownRuleError
from stackchoice.facts.datum import Record
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.memory import GIB

GraphMemory = Literal["inside", "outside"]


class Budget(Record):
    """Memory of one device in bytes, part by part; ``cache_bytes`` may be negative."""

    granted_bytes: int
    weights_bytes: int
    activation_bytes: int = 0
    other_bytes: int = 0
    graph_bytes: int = 0
    graphs: GraphMemory = "outside"

    @property
    def cache_bytes(self) -> int:
        """What is left for the cache, by the engine's own subtraction."""
        inside = self.graph_bytes if self.graphs == "inside" else 0
        return (
            self.granted_bytes - self.weights_bytes - self.activation_bytes - self.other_bytes
            - inside
        )  # fmt: skip


def memory_for_cache(
    launch: Launch,
    *,
    device_memory_gib: float,
    weights_gib: float,
    activation_peak_gib: float = 0.0,
    non_torch_gib: float = 0.0,
    cuda_graph_gib: float = 0.0,
    utilization: float | None = None,
    graphs_counted: bool | None = None,
) -> Budget:
    """Return the budget as a vLLM release computes it at its start.

    ``utilization x memory - weights - activation peak - non-torch``, less the CUDA graphs from
    the release on that counts them. Source: ``gpu_worker.py`` of the wheels that
    ``data/allocators.yaml`` names.

    Parameters
    ----------
    device_memory_gib
        As the driver reports it, which is less than the vendor's GB.
    utilization, graphs_counted
        The release's default when not given. A negative graph estimate counts as nothing.
    """
    if utilization is None:
        utilization = launch.need("gpu_memory_utilization")
    if graphs_counted is None:
        graphs_counted = launch.need("cuda_graph_memory") == "inside"
    return Budget(
        granted_bytes=round(utilization * device_memory_gib * GIB),
        weights_bytes=round(weights_gib * GIB),
        activation_bytes=round(activation_peak_gib * GIB),
        other_bytes=round(non_torch_gib * GIB),
        graph_bytes=round(max(0.0, cuda_graph_gib) * GIB),
        graphs="inside" if graphs_counted else "outside",
    )


def batched_tokens(
    launch: Launch, device_memory_gib: float | None, *, name: str = "", capability: float = 0.0
) -> int:
    """``max_num_batched_tokens`` of a server when it is not set: by the device's memory.

    UnknownRuleError where that is not given.

    Every A100 takes the small figure, and newer releases the GB10 too (compute capability 12.1).
    Source: vLLM ``arg_utils.py``.
    """
    stated = launch.settings.get("max_num_batched_tokens")
    if stated:
        return int(stated)
    if device_memory_gib is None:
        raise UnknownRuleError("max_num_batched_tokens depends on the device, which is not given")
    tier = "other"
    if _large(device_memory_gib, name):
        tier = "70_gib" if device_memory_gib < 160 else "160_gib"
        tier = "gb10" if capability == 12.1 else tier
    return int(launch.need(f"batched_tokens_{tier}"))


def running_requests(launch: Launch, device_memory_gib: float | None, *, name: str = "") -> int:
    """``max_num_seqs`` of a server when it is not set: by the device, as the batched tokens are.

    UnknownRuleError where the device's memory is not given.
    """
    if stated := launch.settings.get("max_num_seqs"):
        return int(stated)
    if device_memory_gib is None:
        raise UnknownRuleError("max_num_seqs depends on the device, which is not given")
    tier = "sequences_70_gib" if _large(device_memory_gib, name) else "sequences_other"
    return int(launch.need(tier))


def _large(device_memory_gib: float, name: str) -> bool:
    return device_memory_gib >= 70 and "a100" not in name.lower()
