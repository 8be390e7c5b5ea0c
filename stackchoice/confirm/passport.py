"""The benchmark passport: identity, protocol, validity and results of one measured arm."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from stackchoice.confirm.canary import CanaryOutcome
from stackchoice.confirm.probe import ProbedMachine
from stackchoice.confirm.results import Discard, Results, Spread
from stackchoice.confirm.serverinfo import ServerInfo
from stackchoice.errors import StackchoiceError
from stackchoice.facts.datum import Record
from stackchoice.facts.interval import Interval, Verdict
from stackchoice.facts.yaml import ordinary
from stackchoice.load.plan import Plan
from stackchoice.load.records import ClientValidity, Floor, Sample

#: 10,000 samples of some kilobytes; anything beyond is no passport.
MAX_BYTES = 256 * 2**20
PARTS = ("identity", "protocol", "validity", "results")


class PassportError(StackchoiceError):
    """A passport or its raw log could not be read or written."""


class Identity(Record):
    """Exactly what was measured. None means unknown."""

    model: str | None = None
    model_revision: str | None = None
    artifact: str | None = None
    artifact_revision: str | None = None
    artifact_bytes: int | None = None
    runtime: str | None = None
    runtime_build: str | None = None
    driver: str | None = None
    kernels: str | None = None
    chat_template: str | None = None
    weight_format: str | None = None
    kv_format: str | None = None
    recurrent_state_format: str | None = None
    speculative_decoder: str | None = None
    settings: dict[str, str | int | float | bool] = Field(default_factory=dict)
    endpoint_url: str | None = None
    endpoint_model: str | None = None
    server: ServerInfo | None = None
    machine: ProbedMachine | None = None


class Protocol(Record):
    """How it was measured."""

    plan: Plan
    prompt_version: str
    harness: str
    harness_revision: str
    scorer_revision: str
    sampling: str
    reasoning_policy: str
    output_budget_tokens: int
    input_tokens: str
    output_tokens: str
    concurrency: int | None
    arrival_pattern: str
    prefix_cache_state: str
    warm_up: str
    requests: int = 0
    repetitions: int
    launches: int = 1
    seed: int
    usage_requested: bool
    started_at: str | None = None
    ended_at: str | None = None


class Validity(Record):
    """Whether the numbers may be used, and everything that speaks against it."""

    valid: bool
    reasons: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    client: ClientValidity | None = None
    floor: Floor | None = None
    canaries_before: tuple[CanaryOutcome, ...] = ()
    canaries_after: tuple[CanaryOutcome, ...] = ()
    configured_context_tokens: int | None = None
    realised_context_tokens: int | None = None
    configured_slots: int | None = None
    realised_slots: int | None = None
    discard_rules: tuple[str, ...]
    discard_rules_sha256: str
    discarded: tuple[Discard, ...] = ()
    failures: dict[str, int] = Field(default_factory=dict)
    client_faults: int = 0
    usage_missing: int = 0
    usage_contradicted: int = 0
    other_model: int = 0
    admission_rejected: int = 0
    length_truncated: int = 0
    schema_or_tool_failures: int = 0
    completed_but_wrong: int = 0
    same_model_after: bool | None = None
    largest_cached_share: float | None = None


class Passport(Record):
    """One arm, measured: four parts, and what the measurement says of the prediction."""

    format: Literal["stackchoice-passport/1"] = "stackchoice-passport/1"
    arm: str
    identity: Identity
    protocol: Protocol
    validity: Validity
    results: Results
    samples: tuple[Sample, ...] = ()
    prediction: Interval | None = None
    verdicts: dict[str, Verdict] = Field(default_factory=dict)
    raw_log: str | None = None

    @model_validator(mode="after")
    def _follows(self) -> Passport:
        """A verdict follows from prediction and measurement; one that does not was written in."""
        if not self.validity.valid:
            return self  # nobody shows a verdict of an invalid run
        if self.validity.reasons:
            raise ValueError("says it is valid and lists reasons why not")
        rate = self.results.decode_tokens_per_s
        verdict = self.prediction and self.prediction.verdict(rate.median if rate else None)
        if (said := self.verdicts.get("decode_tokens_per_s")) not in (None, verdict):
            raise ValueError(f"says {said!r}, but prediction and results give {verdict!r}")
        return self

    @property
    def label(self) -> str:
        """``VALID`` or ``INVALID``."""
        return "VALID" if self.validity.valid else "INVALID"

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (part, item, text) for every item of the four parts; None reads "unknown"."""
        parts = {name: getattr(self, name) for name in PARTS}
        return [
            (part, item.replace("_", " "), _shown(getattr(record, item)))
            for part, record in parts.items()
            for item in type(record).model_fields
        ]

    def save(self, path: Path | str) -> Path:
        """Write as JSON, atomically: a reader sees the old file or the whole new one."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(self.model_dump_json(indent=2) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                os.chmod(part, 0o644)
                os.replace(part, path)
            except BaseException:
                Path(part).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise PassportError(
                f"{path}: cannot be written ({error.strerror}); give a path in a writable folder"
            ) from None
        return path

    @classmethod
    def load(cls, path: Path | str) -> Passport:
        """Read a passport.

        Raises
        ------
        PassportError
            When the file is missing or is no passport of this format.
        """
        try:
            with ordinary(Path(path)).open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
            text = raw.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8 text"
            raise PassportError(
                f"{path}: cannot be read ({reason}); give the path of a passport"
            ) from None
        if len(raw) > MAX_BYTES:
            raise PassportError(f"{path}: more than {MAX_BYTES} bytes; give the path of a passport")
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "file"
            raise PassportError(
                f"{path}: no passport of format {cls.model_fields['format'].default}: "
                f"{where}: {first['msg']}; measure again with this version"
            ) from None


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Spread):
        return str(value)
    if isinstance(value, Record):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, dict):
        return "; ".join(f"{k}: {_shown(v)}" for k, v in value.items()) or "none"
    if isinstance(value, tuple):
        return " | ".join(map(_shown, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
