"""What an engine takes of a device beside weights and cache, as an interval.

Driver context, communicators, the peak of the profiling run, captured graphs, and what is never
given out: a share of the memory, a reserve, a margin. The share and the reserve are the release's
own rule (``budget`` in ``data/allocators.yaml``), the rest is the least and the most that public
starts printed (``data/workspace.yaml``).
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts.allocation import Part, Starts
from stackchoice.facts.datum import Datum, Evidence, sure, weakest
from stackchoice.facts.records import Machine
from stackchoice.fit.admission import batch_limits
from stackchoice.fit.allocators import sglang
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.config import read
from stackchoice.fit.memory import GB, GIB, usable_bytes
from stackchoice.fit.release import read_release

Ends = tuple[float, float]
#: The setting that moves the share an engine keeps to, under the engine's own name.
SHARES = {
    "share_of_all": "gpu_memory_utilization", "reserve": "mem_fraction_static",
    "share_of_free": "device_memory_utilization", "share_of_rest": "free_memory_fraction",
}  # fmt: skip


@dataclass(frozen=True)
class Start:
    """One launch on so many devices of a machine. Sizes are of one device, in GiB.

    ``images``: whether the server is to take images (None: nobody said), asked where it matters.
    """

    asked: Launch
    machine: Machine
    devices: int = 1
    weights: float | None = None
    images: Callable[[], bool | None] = lambda: None

    @cached_property
    def rule(self) -> Datum[Any]:
        """How the release budgets its memory."""
        return self.asked.memory.fact(self.asked.engine, "budget", self.asked.version)

    @cached_property
    def total(self) -> float:
        """Memory of one device."""
        return sure(usable_bytes(self.machine, 1).value) / GIB

    @cached_property
    def shares(self) -> Ends | None:
        """Share for weights and cache where the workspace is least, and where it is most.

        Of all memory with vLLM; of what is free before loading with SGLang and MAX; for the cache
        alone, of what weights and peak leave, elsewhere. None: no share is kept to.
        """
        key = SHARES.get(str(self.rule.value))
        if key is None:
            return None
        share = self.asked.settings.get(key)
        if share is None and key == "mem_fraction_static":
            low, high = (
                sglang.memory_fraction(self.asked, self.total, vision=vision,
                                       cuda=self.machine.backend == "cuda")
                for vision in (self.images() is True, self.images() is not False)
            )  # fmt: skip
            return low, high
        share = float(share or self.asked.need(key))
        return share, share

    def starts(self, part: Part, engine: str | None = None) -> Starts:
        """Return what starts printed for a part: of an engine, of this one's where not given."""
        return self.asked.memory.starts(engine or self.like, part, self.devices > 1,
                                        self.machine.backend)  # fmt: skip

    @cached_property
    def like(self) -> str:
        """The engine whose starts stand for this one's."""
        return str(self.asked.fact("starts_like") or self.asked.engine)

    def seen(self, *parts: Part, engine: str | None = None) -> Ends:
        """Return the least and the most that starts took for these parts; nothing where unseen."""
        found = [self.starts(part, engine) for part in parts]
        return sum(one.least for one in found), sum(one.most for one in found)

    @cached_property
    def profiled(self) -> tuple[int, int]:
        """Tokens and sequences of vLLM's run for the peak: as set, else its default.

        The newest release's where the engine is another, or nobody read the release's own.
        """
        newest = self.asked.but(engine="vllm", release=read_release(None, None))
        try:
            own = self.asked if self.asked.engine == "vllm" else newest
            return batch_limits(own, self.machine)
        except UnknownRuleError:
            return batch_limits(newest, self.machine)

    @cached_property
    def peak(self) -> Ends:
        """The peak of a profiling run as vLLM makes it: of the layers, or of the sampler.

        The layers' goes with the batched tokens; where images may come the most does not fall with
        them, for the run encodes the largest image whatever they are. The sampler was seen to hold
        up to ten copies of 4 bytes for each sequence that may run and each word.
        """
        peaks, (tokens, sequences) = self.asked.memory.peaks, self.profiled
        words = read(self.asked.text, "vocab_size")
        if not isinstance(words, int) or words <= 0:
            words = peaks.vocabulary
        image = "vision_config" in self.asked.config and self.images() is not False
        sampler = peaks.copies * 4 * sequences * words / GIB
        return peaks.least_per_token * tokens, max(
            peaks.most_per_token * tokens, sampler, peaks.most if image else 0.0
        )

    @property
    def evidence(self) -> Evidence:
        """What ends by this rule are worth: SGLang's is arithmetic, the others were seen."""
        by = Evidence.COMPUTED if self.rule.value == "reserve" else Evidence.INFERRED
        return weakest(by, self.rule.evidence)

    @property
    def rests_on(self) -> str:
        """How many public starts were counted, and the share that is kept to."""
        counted = frozenset().union(*(self.starts(part).rows for part in get_args(Part)))
        seen = [f"{len(counted)} public starts"] if counted else []
        if self.shares is not None:
            seen.append(f"{SHARES[str(self.rule.value)]} {self.shares[1]:.3g}")
        return ", ".join(seen)


def _of_all(start: Start) -> Ends:
    """``share x total`` holds weights, cache, peak and, from a release on, the graphs."""
    inside = start.asked.need("cuda_graph_memory") == "inside"
    kept = (1 - sure(start.shares)[0]) * start.total
    low, high = start.seen("other", "graphs") if inside else start.seen("other")
    return kept + low + start.peak[0], kept + high + start.peak[1]


def _of_free(start: Start) -> Ends:
    """``share x (total - context)`` holds weights and cache, and what an architecture reserves."""
    reserved, context = start.seen("activation"), start.seen("context", engine="vllm")
    low, high = (
        start.total - max(0.0, share) * max(0.0, start.total - gone) + own
        for share, gone, own in zip(sure(start.shares), context, reserved, strict=True)
    )
    return low, high


def _of_rest(start: Start) -> Ends:
    """The cache gets a share of what weights, peak and buffers leave (unknown weights: nothing)."""
    share, rest = sure(start.shares)[0], start.total - (start.weights or start.total)
    taken = map(sum, zip(start.seen("context", "other"), start.peak, strict=True))
    low, high = (gone + (1 - share) * max(0.0, rest - gone) for gone in taken)
    return low, high


def _margin(start: Start) -> Ends:
    """Compute buffers and driver; ``--fit`` keeps a margin free where it decides."""
    low, high = start.seen("activation", "context")
    return low, high + float(start.asked.need("fit_margin_mib")) / 1024


def _nothing_kept(start: Start) -> Ends:
    """What starts took; UnknownRuleError where none was seen on such a machine."""
    if not start.starts("activation").rows:
        raise UnknownRuleError(f"no start of {start.asked.engine} on {start.machine.backend}")
    return start.seen("activation", "context")


RULES: dict[str, Callable[[Start], Ends]] = {
    "share_of_all": _of_all, "reserve": _of_free, "share_of_free": _of_free,
    "share_of_rest": _of_rest, "margin": _margin,
    "nothing_kept": _nothing_kept,
}  # fmt: skip


def of_replica(
    asked: Launch, machine: Machine, devices: int, weights_bytes: int | None
) -> Datum[int]:
    """Return the :func:`workspace` of a launch whose weights are spread over so many devices."""
    each = None if weights_bytes is None else weights_bytes / devices / GIB
    return workspace(Start(asked, machine, devices, each))


def workspace(start: Start, *, end: float = 1.0) -> Datum[int]:
    """Return what a replica takes on all its devices beside weights and cache, in bytes.

    Parameters
    ----------
    end
        Where between the ends ``value`` lies: 0 the least, 1 the most.

    The most counts: what serves at the least alone is not known to serve. An engine whose rule
    nobody read is given the widest of the others.
    """
    if usable_bytes(start.machine, 1).value is None:
        return Datum[int](note="the memory of the machine is unknown")
    try:
        found, note = [(start, _own(start))], start.rests_on
    except (UnknownRuleError, UnknownCacheError) as unknown:
        found, note = _others(start), f"{unknown}: the widest of the others"
    if not found:
        return Datum[int](note="no engine's workspace is known")
    low, high = (
        round(min(size, start.total) * GIB) * start.devices
        for size in (min(ends[0] for _, ends in found), max(ends[1] for _, ends in found))
    )
    return Datum[int](
        value=round(low + (high - low) * end), low=low, high=high, source=found[0][0].rule.source,
        evidence=weakest(*(one.evidence for one, _ in found)), note=note,
    )  # fmt: skip


def _own(start: Start) -> Ends:
    """Return the ends by the release's own rule; UnknownRuleError where it is not known."""
    rule = RULES.get(str(start.rule.value))
    if rule is None:
        raise UnknownRuleError(f"no rule of {start.asked.engine} is known")
    return rule(start)


def _others(start: Start) -> list[tuple[Start, Ends]]:
    """Return the ends of the newest release of each other engine whose rule is known."""
    newest, found = read_release(None, None), list[tuple[Start, Ends]]()
    known = {fact.engine for fact in start.asked.memory.allocators if fact.key == "budget"}
    for engine in sorted(known - {start.asked.engine}):
        like = replace(start, asked=start.asked.but(engine=engine, release=newest))
        with suppress(UnknownRuleError, UnknownCacheError):
            found.append((like, _own(like)))
    return found


def said(size: Datum[int], devices: int = 1) -> str:
    """Return a workspace as a sentence: its ends a device, its class and what it rests on."""
    if size.low is None or size.high is None:
        return ""
    low, high = (f"{end / devices / GB:.1f}" for end in (size.low, size.high))
    ends = f"{high} GB" if low == high else f"{low} to {high} GB"
    return (
        f"workspace {ends} a device beside weights and cache ({size.evidence.value}: {size.note})"
    )
