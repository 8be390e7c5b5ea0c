"""What one full replica serves: seconds of one request beside others, requests a second."""

from collections.abc import Iterable
from typing import Any

from stackchoice.facts.datum import Evidence
from stackchoice.facts.interval import Interval
from stackchoice.facts.records import Artifact
from stackchoice.fit.speed import Speed
from stackchoice.fit.stream import read_bytes


def full_rate(prefill_s: Any, decode_s: Any, live_sequences: Any) -> Any:
    """Return requests a second of a full replica: prefill alone, decode shared by all."""
    return 1 / (prefill_s + decode_s / live_sequences)


def requests_per_s(
    seconds: Iterable[tuple[float, float] | None], live_sequences: int
) -> Interval | None:
    """Return a full replica's requests per second from seconds in prefill and in decode.

    ``1 / (prefill + decode / live)``: prefill takes the chip for itself, and a decode step serves
    all sequences. ``seconds`` are :func:`request_seconds` at the low, middle and high end of the
    speed interval; the single-stream efficiencies are carried over to the batch, an inference.
    """
    rates = [full_rate(p, d, live_sequences) for p, d in (s for s in seconds if s)]
    if len(rates) < 3:
        return None
    return Interval(
        low=rates[0], middle=rates[1], high=rates[2], unit="requests/s", evidence=Evidence.INFERRED,
        rests_on=["single-stream efficiencies carried over to a full batch"],
    )  # fmt: skip


def request_seconds(
    speed: Speed,
    artifact: Artifact,
    *,
    share: str,
    batch: int,
    cache_bytes: int,
    prefill_tokens: float,
    output_tokens: float,
) -> tuple[float, float] | None:
    """Return seconds in prefill and in decode of one request beside ``batch - 1`` others.

    ``share`` picks the low, middle or high end of the speed interval.
    """
    read, step = read_bytes(artifact), speed.bytes_per_decode_step
    total = artifact.weights_bytes.value
    if not (speed.decode and speed.prefill and read and step and total and batch):
        return None
    touched = min(total, read * batch) + batch * cache_bytes
    decode_rate = getattr(speed.decode, share) * step  # bytes per second at this share
    prefill_s = prefill_tokens / getattr(speed.prefill, share)
    return prefill_s, output_tokens * touched / decode_rate
