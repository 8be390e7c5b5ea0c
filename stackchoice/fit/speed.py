"""Ceilings and intervals for decode and prefill, and what a replica serves per second.

Decode walks the weights and the cache once per token, so bandwidth is its ceiling. Prefill
multiplies, so compute is its ceiling. Public measurements reach a share of either ceiling;
``data/efficiency.yaml`` holds which share, and the interval is that share of the ceiling.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts.datum import Evidence, Record, weakest
from stackchoice.facts.interval import Interval
from stackchoice.facts.links import Link
from stackchoice.facts.measurements import SpeedClasses
from stackchoice.facts.records import Artifact, Efficiency, Machine, Model
from stackchoice.facts.shares import ShareModel
from stackchoice.fit.measured import MeasuredRate, calibrated_factors, unexpected
from stackchoice.fit.memory import GB
from stackchoice.fit.runs import Run, device_kind, suspect_kernel_path
from stackchoice.fit.stream import read_bytes, stream_runs

#: What an interval rests on where no measurement stands behind it.
ASSUMED_BASIS = {
    "share of the ceiling": "an assumed share of the ceiling",
    "GB/s unpacked": "an assumed rate at which one thread unpacks weights",
}

#: Where data sheets and clocks stop explaining that a stream is faster than its ceiling.
ABOVE = 1.12


class Speed(Record):
    """What one replica can do: ceilings, intervals, and the bytes and rates behind them."""

    bytes_per_decode_step: int | None = None
    decode_ceiling_tokens_per_s: float | None = None
    decode: Interval | None = None
    prefill_ceiling_tokens_per_s: float | None = None
    prefill: Interval | None = None
    evidence: Evidence = Evidence.COMPUTED
    unknown: list[str] = []

    @property
    def itl_floor_s(self) -> float | None:
        """The shortest possible time per token: one over the decode ceiling."""
        return 1 / self.decode_ceiling_tokens_per_s if self.decode_ceiling_tokens_per_s else None


def efficiency(
    efficiencies: list[Efficiency], machine: Machine, phase: str, threads: str = "all"
) -> Efficiency | None:
    """Return the share of the ceiling reached by this class of machine, if we have one."""
    wanted = (device_kind(machine), phase, threads)
    return next((e for e in efficiencies if (e.device_class, e.phase, e.threads) == wanted), None)


class Stream:
    """A single stream of one set-up: what does not depend on its depth is worked out once.

    Parameters
    ----------
    devices
        Devices that share one replica. They read and multiply side by side and agree on every
        layer's result over the link between them, unless the engine splits by layer: then one
        device at a time works on a single stream's token.
    threads
        ``"one"`` for an engine held to one CPU thread, else ``"all"``.
    shares, classes, engine
        The fitted shares of the ceiling, how runs are grouped, and the engine's id where it is
        decided; without them the class's own percentiles are used.
    operand
        Format that the engine's kernels multiply in prefill, where its path is known; else the one
        that the file asks for.
    links, interconnect
        Kinds of links, and a text that names the one in use (``pcie5 x8``); the machine's own
        where nothing is said, and unknown where that is a slot.
    """

    def __init__(
        self,
        model: Model,
        artifact: Artifact,
        machine: Machine,
        efficiencies: list[Efficiency],
        *,
        devices: int = 1,
        threads: str = "all",
        shares: list[ShareModel] | None = None,
        classes: SpeedClasses | None = None,
        engine: str = "",
        operand: str | None = None,
        links: Iterable[Link] = (),
        interconnect: str | None = None,
    ) -> None:
        self._machine, self._read = machine, read_bytes(artifact, model)
        self._threads, self._classes = threads, classes
        self._shares: dict[str, ShareModel] = {m.phase: m for m in reversed(shares or ())}
        self._efficiencies = efficiencies
        runs = stream_runs(
            model, artifact, machine, devices=devices, classes=classes, engine=engine,
            operand=operand, links=links, interconnect=interconnect,
        )  # fmt: skip
        self._base, self._prefill_ceiling = runs["decode"], runs["executed"].ceiling
        link = self._base.link
        self._over = [link.evidence] if link and self._base.reduces else []
        self._evidence = weakest(
            artifact.weights_bytes.evidence, machine.bandwidth_gb_per_s.evidence, *self._over
        )

    def speed(
        self, *, cache_bytes: int = 0, measured: Iterable[MeasuredRate] = (),
        cache_at: Callable[[int], int] | None = None,
    ) -> Speed:  # fmt: skip
        """Return ceilings and intervals.

        Parameters
        ----------
        cache_bytes
            Cache and state of the sequence at its depth, read once per token beside the weights.
        measured
            Rates measured on this very set-up: they move the interval and narrow it.
        cache_at
            Bytes of cache at a number of tokens, for those rates; else ``cache_bytes`` everywhere.
        """
        machine, unknown = self._machine, []
        step = None if self._read is None else self._read + cache_bytes
        base = self._base.model_copy(update={"cache_bytes": cache_bytes})
        runs = {"decode": base, "prefill": base.model_copy(update={"phase": "prefill"})}
        ceiling, prefill = runs["decode"].ceiling, runs["prefill"].ceiling
        if ceiling is None:
            known = machine.bandwidth_gb_per_s.known
            unknown.append("bytes read per token" if known else "memory bandwidth")
        if prefill is None:
            unknown.append("compute rate" if base.active_parameters else "parameters")
        if base.reduces and base.link is None:
            unknown.append("the link between the devices (the ceilings leave its time out)")
        given = list(measured)
        found: dict[str, Interval | None] = {}
        for phase, top, kind, read_at_once in (
            ("decode", ceiling, machine.bandwidth_gb_per_s.evidence, step or 0),
            ("prefill", prefill, machine.bf16_dense_tflops.evidence, 0),
        ):
            evidence = weakest(kind, *self._over)
            fitted = self._shares.get(phase)
            if fitted and self._classes and top and self._threads == "all":
                rows = [row for row in given if row.phase == phase]
                seen = [_seen(runs[phase], row, cache_at) for row in rows]
                found[phase] = _fitted(fitted, runs[phase], top, evidence, seen, _origin(rows))
                unknown += _doubts(fitted, phase, rows, seen, top, machine)
            else:
                share = efficiency(self._efficiencies, machine, phase, self._threads)
                found[phase] = _interval(top, share, evidence, read_at_once)
        return Speed(
            bytes_per_decode_step=step,
            decode_ceiling_tokens_per_s=ceiling,
            decode=found["decode"],
            prefill_ceiling_tokens_per_s=self._prefill_ceiling,
            prefill=found["prefill"],
            evidence=self._evidence,
            unknown=unknown,
        )


def _doubts(
    fitted: ShareModel, phase: str, rows: list[MeasuredRate], seen: list[Run], ceiling: float,
    machine: Machine,
) -> Iterator[str]:  # fmt: skip
    """Say what rates that were given throw doubt on."""
    if unexpected(fitted, seen):
        yield f"whether the {phase} rates given are of this set-up (unexpected)"
    if phase == "decode" and any(
        suspect_kernel_path(row.tokens_per_s, ceiling, device_kind(machine)) for row in rows
    ):
        yield "which kernel ran: a rate given is far below the ceiling, suspect the kernel path"


def batch_one_speed(
    model: Model,
    artifact: Artifact,
    machine: Machine,
    efficiencies: list[Efficiency],
    *,
    cache_bytes: int = 0,
    measured: Iterable[MeasuredRate] = (),
    cache_at: Callable[[int], int] | None = None,
    **setup: Any,
) -> Speed:
    """Return the speed of a single stream at one depth; ``setup`` as :class:`Stream` takes it."""
    stream = Stream(model, artifact, machine, efficiencies, **setup)
    return stream.speed(cache_bytes=cache_bytes, measured=measured, cache_at=cache_at)


def at_level(ceiling: Any, basis: str, level: Any, step_bytes: Any) -> Any:
    """Return a rate at a level: a share of the ceiling, or GB/s at which weights are unpacked.

    Reading and unpacking take turns on one thread, so their times add up.
    """
    if basis == "share of the ceiling":
        return ceiling * level
    return 1 / (1 / ceiling + step_bytes / (level * GB))


def _fitted(
    model: ShareModel, run: Run, ceiling: float, rate_class: Evidence, seen: list[Run],
    origin: list[str],
) -> Interval:  # fmt: skip
    low, middle, high = (f * ceiling for f in calibrated_factors(model, run, seen))
    return Interval(
        low=low, middle=middle, high=high, unit="tokens/s",
        evidence=weakest(Evidence.COMPUTED, rate_class),
        rests_on=[f"{model.rows} public measurements in {model.groups} groups", *origin],
    )  # fmt: skip


def _origin(rows: list[MeasuredRate]) -> list[str]:
    if not rows:
        return []
    said = "; ".join(dict.fromkeys(row.origin for row in rows if row.origin))
    count = "one rate" if len(rows) == 1 else f"{len(rows)} rates"
    return [f"{count} taken as measured on this set-up" + (f" ({said})" if said else "")]


def _seen(run: Run, row: MeasuredRate, cache_at: Callable[[int], int] | None) -> Run:
    """Return the run that was measured: the same set-up at its own depth and prompt.

    InputError when it decoded faster than memory can be read: then it was another set-up.
    """
    seen = run.model_copy(
        update={
            "tokens_per_s": row.tokens_per_s, "prompt_tokens": row.prompt_tokens,
            "cache_bytes": cache_at(row.context_tokens) if cache_at else run.cache_bytes,
        }
    )  # fmt: skip
    if row.phase == "decode" and seen.ceiling and row.tokens_per_s > ABOVE * seen.ceiling:
        raise InputError(
            f"a measured decode rate of {row.tokens_per_s:,.1f} tokens/s is above the ceiling of "
            f"{seen.ceiling:,.1f}: another quantisation, draft tokens or a sum over streams; give "
            "rates of one stream of this very set-up"
        )
    return seen


def _interval(
    ceiling: float | None, share: Efficiency | None, rate_class: Evidence, step_bytes: int = 0
) -> Interval | None:
    if ceiling is None or share is None:
        return None
    ends = {
        end: at_level(ceiling, share.basis, getattr(share, end), step_bytes)
        for end in ("low", "middle", "high")
    }
    return Interval(
        **ends, unit="tokens/s", evidence=weakest(Evidence(share.evidence), rate_class),
        rests_on=[
            f"{share.rows} public measurements in {share.groups} groups"
            if share.rows else ASSUMED_BASIS[share.basis],
        ],
    )  # fmt: skip
