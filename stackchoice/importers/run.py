"""One run as another harness reported it, before it becomes part of a passport."""

from typing import Any

from stackchoice.confirm.identity import Basis, Setting
from stackchoice.confirm.passport import Lengths
from stackchoice.confirm.results import Goodput
from stackchoice.facts.datum import Record
from stackchoice.importers.values import plain
from stackchoice.load.records import Sample, Spread, Usage

#: Settings of decoding that a request may carry.
SAMPLING = ("temperature", "top_p", "top_k", "min_p", "presence_penalty", "repetition_penalty")


class Found(Record):
    """Fields of :class:`Identity` with how the file knows them."""

    items: dict[str, Any]
    basis: Basis = Basis.REPORTED
    where: str = "the result file"


class Run(Record):
    """What a file says of one run. None: it does not say.

    ``asked`` are the plain settings of the load; runs that agree in it are repetitions of one arm.
    """

    harness: str
    harness_revision: str | None = None
    label: str | None = None
    asked: dict[str, Any] = {}
    identity: tuple[Found, ...] = ()
    concurrency: int | None = None
    rate_per_s: float | None = None
    arrival_pattern: str | None = None
    sampling_settings: dict[str, Setting] | None = None
    input_lengths: Lengths | None = None
    output_lengths: Lengths | None = None
    warm_up: str | None = None
    warm_up_requests: int | None = None
    cached_share: float | None = None
    prompt_version: str | None = None
    seed: int | None = None
    requests: int | None = None
    completed: int | None = None
    failed: int | None = None
    failures: dict[str, int] | None = None
    duration_s: float | None = None
    ttft_s: Spread | None = None
    itl_s: Spread | None = None
    gap_s: Spread | None = None
    end_to_end_s: Spread | None = None
    intended_end_to_end_s: Spread | None = None
    decode_tokens_per_s: Spread | None = None
    prefill_tokens_per_s: Spread | None = None
    output_tokens_per_s: float | None = None
    requests_per_s: float | None = None
    achieved_concurrency: float | None = None
    accepted_tokens_per_step: float | None = None
    goodput: tuple[Goodput, ...] = ()
    samples: tuple[Sample, ...] = ()
    started_at: str | None = None
    ended_at: str | None = None
    broken: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def sampling_of(tree: Any) -> dict[str, Setting]:
    """Return the settings of decoding among the plain values of an object."""
    return {name: value for name, value in plain(tree).items() if name in SAMPLING}


def sample(out: int | None, itl: float | None, **told: Any) -> Sample:
    """Return a single request that somebody else measured; an ITL of 0 is none."""
    return Sample(
        itl_s=itl or None, decode_tokens_per_s=1 / itl if itl else None, completion_tokens=out,
        usage=Usage.MISSING if out is None else Usage.REPORTED, **told,
    )  # fmt: skip
