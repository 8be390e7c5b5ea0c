"""The benchmark passport: identity, protocol, validity and results of one measured arm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, ValidationError, model_validator

from stackchoice.confirm.canary import CanaryOutcome
from stackchoice.confirm.identity import Identity, Origin, Setting
from stackchoice.confirm.results import CacheProbe, Discard, DiscardedRun, Emptied, Results
from stackchoice.errors import StackchoiceError
from stackchoice.facts.datum import Evidence, Record, Source
from stackchoice.facts.interval import Interval, Verdict
from stackchoice.facts.values import far_out, finite
from stackchoice.facts.write import ANYTHING, write_whole
from stackchoice.facts.yaml import bounded_text
from stackchoice.load.health import ClientValidity, Floor
from stackchoice.load.plan import Plan
from stackchoice.load.records import Sample, Spread
from stackchoice.load.untrusted import visible

PARTS = ("identity", "protocol", "validity", "results")
FORMAT: Final = "stackchoice-passport/2"
#: 10,000 samples of some kilobytes; anything beyond is no passport.
MAX_BYTES = 256 * 2**20


class PassportError(StackchoiceError):
    """A passport or its raw log could not be read or written."""


class Lengths(Record):
    """Lengths in tokens: what was asked for, and what the requests really had."""

    asked: str | None = None
    n: int | None = None
    mean: float | None = None
    low: float | None = None
    p50: float | None = None
    high: float | None = None


class Protocol(Record):
    """How it was measured. What others' files do not say stays None.

    ``held_fixed`` is for what a source says it kept the same without saying what it was: item of
    the fairness check -> a name of that comparison.
    """

    plan: Plan | None = None
    prompt_version: str | None = None
    harness: str | None = None
    harness_revision: str | None = None
    harness_faults: tuple[str, ...] = ()
    scorer_revision: str | None = None
    sampling: str | None = None
    sampling_settings: dict[str, Setting] | None = None
    reasoning_policy: str | None = None
    output_budget_tokens: int | None = None
    input_tokens: str | None = None
    output_tokens: str | None = None
    input_lengths: Lengths | None = None
    output_lengths: Lengths | None = None
    concurrency: int | None = None
    rate_per_s: float | None = None
    arrival_pattern: str | None = None
    prefix_cache_state: str | None = None
    cache: Literal["cold", "meant cold", "partly warm", "warm", "meant warm"] | None = None
    cache_emptied: Emptied | None = None
    exact_output: str | None = None
    warm_up: str | None = None
    warm_up_requests: int | None = None
    window_s: float | None = None
    requests: int | None = None
    repetitions: int | None = None
    launches: int | None = None
    seed: int | None = None
    usage_requested: bool | None = None
    started_at: str | None = None
    ended_at: str | None = None
    held_fixed: dict[str, str] = {}


class Validity(Record):
    """Whether the numbers may be used, and everything that speaks against it.

    ``valid`` None: nobody held this run against rules. ``hold``: why the arm is on HOLD; it may be
    timed and never wins. ``partial``: the run was ended before its plan was done; this is what it
    had measured. A count of None is a class that nobody counted, not a zero.
    """

    valid: bool | None = None
    partial: bool = False
    reasons: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    client: ClientValidity | None = None
    floor: Floor | None = None
    canaries_before: tuple[CanaryOutcome, ...] = ()
    canaries_after: tuple[CanaryOutcome, ...] = ()
    configured_context_tokens: int | None = None
    realised_context_tokens: int | None = None
    configured_kv_tokens: int | None = None
    realised_kv_tokens: int | None = None
    configured_slots: int | None = None
    realised_slots: int | None = None
    most_in_flight: float | None = None
    cache_probe: CacheProbe | None = None
    discard_rules: tuple[str, ...] = ()
    discard_rules_sha256: str | None = None
    discarded: tuple[Discard, ...] = ()
    discarded_runs: tuple[DiscardedRun, ...] = ()
    failures: dict[str, int] = {}
    client_faults: int | None = None
    usage_missing: int | None = None
    usage_contradicted: int | None = None
    other_model: int | None = None
    admission_rejected: int | None = None
    length_truncated: int | None = None
    schema_or_tool_failures: int | None = None
    completed_but_wrong: int | None = None
    same_model_after: bool | None = None
    same_process_after: bool | None = None
    largest_cached_share: float | None = None
    counted_cached_share: float | None = None
    preemptions: int | None = None

    @property
    def correctness(self) -> Literal["passed", "failed", "unknown"]:
        """What the canaries say: a hold beats everything, none asked is unknown."""
        asked = (*self.canaries_before, *self.canaries_after)
        if self.hold or any(c.result == "failed" for c in asked):
            return "failed"
        return "passed" if any(c.result == "passed" for c in asked) else "unknown"


class Passport(Record):
    """One arm, measured: four parts, and what the measurement says of the prediction.

    Examples
    --------
    >>> from stackchoice import Passport
    >>> from stackchoice.facts import data_dir
    >>> Passport.load(data_dir() / "samples" / "embedded.passport.json").label
    'VALID'
    """

    format: Literal["stackchoice-passport/2"] = FORMAT
    arm: str
    identity: Identity
    protocol: Protocol
    validity: Validity
    results: Results
    samples: tuple[Sample, ...] = ()
    prediction: Interval | None = None
    verdicts: dict[str, Verdict] = Field(default_factory=dict)
    raw_log: str | None = None
    source: Source | None = None
    notes: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _upgraded(cls, value: Any) -> Any:
        """Take a passport of format 1 as it is: format 2 only added items."""
        if isinstance(value, dict) and value.get("format") == "stackchoice-passport/1":
            return {**value, "format": FORMAT}
        return value

    @model_validator(mode="after")
    def _follows(self) -> Passport:
        """A verdict follows from prediction and measurement; one that does not was written in."""
        if self.validity.valid is None and self.results.evidence is Evidence.MEASURED:
            raise ValueError("measured here, so it must say whether it is valid")
        if not self.usable:
            return self  # nobody shows a verdict of such a run
        if self.validity.reasons:
            raise ValueError("says it is valid and lists reasons why not")
        rate = self.results.decode_tokens_per_s
        verdict = self.prediction and self.prediction.verdict(rate.median if rate else None)
        if (said := self.verdicts.get("decode_tokens_per_s")) not in (None, verdict):
            raise ValueError(f"says {said!r}, but prediction and results give {verdict!r}")
        return self

    @property
    def usable(self) -> bool:
        """Whether the run is valid and its answers are not known to be wrong."""
        return bool(self.validity.valid) and self.validity.correctness != "failed"

    @property
    def label(self) -> str:
        """``VALID``, ``INVALID``, ``HOLD``, ``PARTIAL`` or ``UNCHECKED``.

        Partial is a run that was ended early, so invalid; unchecked what nobody held against rules.
        """
        if self.validity.valid is False:
            return "PARTIAL" if self.validity.partial else "INVALID"
        if self.validity.correctness == "failed":
            return "HOLD"
        return "VALID" if self.validity.valid else "UNCHECKED"

    def save(self, path: Path | str, *, read: str | None = ANYTHING) -> Path:
        """Write as JSON, whole, and over nothing but what was ``read`` there."""
        text = self.model_dump_json(indent=2) + "\n"
        return write_whole(path, text, PassportError, read=read, folders=True)

    @classmethod
    def load(cls, path: Path | str) -> Passport:
        """Read a passport.

        PassportError when the file is missing, is no passport of this format or holds impossible
        figures.
        """
        text = read_bounded(path, "give the path of a passport")
        try:
            found = cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "file"
            raise PassportError(
                f"{path}: no passport of format {FORMAT}: {visible(where, 100)}: "
                f"{visible(first['msg'], 200)}; {_advice(text)}"
            ) from None
        measured = found.model_dump(include={"results", "samples"})
        if odd := far_out(measured) or far_out(found.model_dump(), possible=finite):
            raise PassportError(f"{path}: {visible(odd[1:], 100)} cannot be; measure again")
        return found

    def items(self) -> Iterator[tuple[str, str, Any, Origin | None]]:
        """Yield (part, item, value, origin) of every item; origins are known of identity only."""
        for part in PARTS:
            record = getattr(self, part)
            for item in type(record).model_fields:
                origin = record.origin(item) if isinstance(record, Identity) else None
                value = getattr(record, item)
                if value == {} and part == "identity":
                    value = None  # nobody told any, which is not the same as none
                if item != "origins":
                    yield part, item, value, origin

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (part, item, text) for every item of the four parts; None reads "unknown"."""
        return [(p, item.replace("_", " "), shown(value)) for p, item, value, _ in self.items()]


def schema_text() -> str:
    """Return the JSON Schema of a passport, as its file in ``data/schemas/`` holds it."""
    text = json.dumps(Passport.model_json_schema(mode="serialization"))
    tree = json.loads(text, object_hook=_without_examples)
    draft = "https://json-schema.org/draft/2020-12/schema"
    tree |= {"$schema": draft, "title": f"Benchmark passport, {FORMAT}"}
    return json.dumps(tree, indent=1, sort_keys=True) + "\n"


def _without_examples(node: dict[str, Any]) -> dict[str, Any]:
    """Cut a class's examples in Python off its description."""
    if isinstance(said := node.get("description"), str):
        node["description"] = said.partition("\n\nExamples\n")[0]
    return node


def read_bounded(path: Path | str, fix: str) -> str:
    """Read a text file of a sane size."""
    return bounded_text(Path(path), MAX_BYTES, PassportError, fix)


def _advice(text: str) -> str:
    """Tell a passport that is broken from a file that is none."""
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return "it is no JSON; give the path of a passport"
    said = tree.get("format") if isinstance(tree, dict) else None
    if said is None:
        return "it says no format; give another tool's result to `stackchoice passport import`"
    if str(said).startswith("stackchoice-passport/"):
        return "measure again with this version"
    return "give the path of a passport"


def shown(value: Any) -> str:
    """Return a value of a passport as text for people; None reads "unknown"."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Spread):
        return str(value)
    if isinstance(value, Record):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, dict):
        return "; ".join(f"{k}: {shown(v)}" for k, v in value.items()) or "none"
    if isinstance(value, tuple):
        return " | ".join(map(shown, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
