"""Weights + cache + workspace against the memory that is really there.

By plain quotient: the pool that is left, divided by the bytes of one live sequence. An
engine's own allocator admits fewer or more; the quotient is a budget, not an admission.
"""

from typing import Any

from stackchoice.facts.datum import Datum, Evidence, Record, sure, weakest
from stackchoice.facts.records import Machine

GB = 10**9
Bytes = Datum[int]  # looked up once: sizes are made at every step
GIB = 2**30


class Counted(Record):
    """Live sequences at once (None: unknown); ``most_sequences`` where the workspace is least."""

    live_sequences: int | None = None
    most_sequences: int | None = None

    @property
    def sequences(self) -> str:
        """The count in words: a range where the workspace makes it one."""
        low, high = self.live_sequences, self.most_sequences
        if low is None:
            return "unknown"
        return f"{low:,}" if high in (None, low) else f"{low:,} to {high:,}"


class FitRow(Counted):
    """One memory budget. ``live_sequences`` is None where a part of the sum is unknown.

    ``pool_bytes`` is what weights and workspace leave (negative: they overflow), and splits into
    ``sequences_bytes`` that the live sequences take together and ``left_over_bytes``. Where the
    workspace is known as a range, ``most_sequences`` is what its least leaves room for.
    """

    basis: str
    memory_bytes: int | None = None
    weights_bytes: int | None = None
    workspace_bytes: int | None = None
    pool_bytes: int | None = None
    bytes_per_sequence: int | None = None
    sequences_bytes: int | None = None
    left_over_bytes: int | None = None
    evidence: Evidence
    note: str = ""

    def pool_with(self, workspace: Datum[int], *, least: bool = False) -> int | None:
        """Return the pool beside another workspace, or beside the least of its range."""
        taken = workspace.low if least else workspace.value
        if self.memory_bytes is None or self.weights_bytes is None or taken is None:
            return self.pool_bytes
        return int(left_for_cache(self.memory_bytes, self.weights_bytes, taken))

    @property
    def fits(self) -> bool | None:
        """Whether at least one sequence fits (None: unknown)."""
        return None if self.live_sequences is None else self.live_sequences > 0


def fit_row(
    basis: str,
    *,
    memory_bytes: Datum[int],
    weights_bytes: Datum[int],
    workspace_bytes: Datum[int],
    bytes_per_sequence: int | None,
    note: str = "",
) -> FitRow:
    """Take weights and workspace from memory and divide what is left by one sequence."""
    parts = {
        "memory_bytes": memory_bytes, "weights_bytes": weights_bytes,
        "workspace_bytes": workspace_bytes,
    }  # fmt: skip
    sizes = {**{name: part.value for name, part in parts.items()},
             "bytes_per_sequence": bytes_per_sequence}  # fmt: skip
    pool = live = used = most = None
    if all(part.known for part in parts.values()):
        pool = left_for_cache(*(sure(part.value) for part in parts.values()))
    if pool is not None and pool <= 0:
        live = used = 0  # nothing is left, so the size of a sequence need not be known
    elif pool is not None and bytes_per_sequence is not None:
        live = whole_sequences(pool, bytes_per_sequence)
        used = live * bytes_per_sequence
    else:
        missing = ", ".join(name for name, value in sizes.items() if value is None)
        note = f"unknown: {missing}. {note}".strip()
    if pool is not None and bytes_per_sequence and workspace_bytes.low is not None:
        room = pool + sure(workspace_bytes.value) - workspace_bytes.low
        most = max(0, whole_sequences(room, bytes_per_sequence))
    return FitRow(
        basis=basis, pool_bytes=pool, live_sequences=live, most_sequences=most,
        sequences_bytes=used,
        left_over_bytes=None if pool is None or used is None else pool - used, note=note,
        evidence=weakest(*(part.evidence for part in parts.values() if part.known)), **sizes,
    )  # fmt: skip


def left_for_cache(memory: Any, weights: Any, workspace: Any) -> Any:
    """Return the bytes that weights and workspace leave."""
    return memory - weights - workspace


def whole_sequences(pool: Any, one: Any) -> Any:
    """Return how many whole sequences of so many bytes each fit."""
    return pool // one


def nominal_bytes(machine: Machine, devices: int) -> Datum[int]:
    """Memory by the vendor's decimal GB, which no driver reports to the byte."""
    return _scaled(machine.memory_gb, GB * devices)


def usable_bytes(machine: Machine, devices: int) -> Datum[int]:
    """Memory an engine can really have: reported GiB where known, else assumed nominal.

    On unified memory the operating system grants a share of it to the GPU.
    """
    if machine.memory_gib_reported.known:
        return _scaled(machine.memory_gib_reported, GIB * devices)
    nominal = nominal_bytes(machine, devices)
    if not nominal.known:
        return nominal
    if machine.unified_memory and machine.gpu_usable_share.known:
        return nominal.model_copy(
            update={
                "value": int(sure(nominal.value) * sure(machine.gpu_usable_share.value)),
                "evidence": weakest(machine.gpu_usable_share.evidence, nominal.evidence),
                "note": "the share of unified memory that the GPU may use",
            }
        )
    return nominal.model_copy(
        update={"evidence": Evidence.ASSUMED, "note": "reported bytes unknown; vendor's GB assumed"}
    )


def _scaled(datum: Datum[float], factor: int) -> Datum[int]:
    if datum.value is None:
        return Bytes(note=datum.note)
    return Bytes(
        value=round(datum.value * factor), evidence=datum.evidence, source=datum.source,
        note=datum.note,
    )  # fmt: skip
