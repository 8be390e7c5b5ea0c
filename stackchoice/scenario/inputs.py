"""One input of a scenario: a value, a range, or not known; with its origin and its answerer."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import model_serializer, model_validator

from stackchoice.facts.datum import Evidence, Record

T = TypeVar("T")

#: What a person may write for "nobody could say".
NOT_KNOWN = ("not known", "unknown", "not-known", "?")


class Input(Record, Generic[T]):
    """A scenario input, written as ``200``, as ``not known``, or as a mapping.

    In a mapping, ``value`` (or ``low`` and ``high``, with ``value`` as the likely one between
    them), ``from`` (where it comes from), ``answered_by`` (who said so) and ``evidence``.
    An input that names neither origin nor answerer counts as assumed.
    """

    value: T | None = None
    low: T | None = None
    high: T | None = None
    origin: str = ""
    answered_by: str = ""
    evidence: Evidence | None = None

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, raw: Any) -> Any:
        if isinstance(raw, Input):
            return raw
        if raw is None or (isinstance(raw, str) and raw.strip().lower() in NOT_KNOWN):
            return {}
        if not isinstance(raw, dict):
            return {"value": raw}
        raw = dict(raw)
        if "from" in raw:
            raw["origin"] = raw.pop("from")
        if isinstance(raw.get("value"), str) and raw["value"].strip().lower() in NOT_KNOWN:
            raw["value"] = None
        return raw

    @model_validator(mode="after")
    def _ordered(self) -> Input[T]:
        if (self.low is None) != (self.high is None):
            raise ValueError("a range needs both low and high")
        if self.low is not None and self.high is not None:
            if isinstance(self.low, bool | str):
                raise ValueError("a range needs numbers; write one value, or not known")
            if self.low > self.high:  # type: ignore[operator]
                raise ValueError(f"low {self.low:.12g} is above high {self.high:.12g}; swap them")
            if self.value is not None and not self.low <= self.value <= self.high:  # type: ignore[operator]
                raise ValueError(
                    f"value {self.value:.12g} is outside low {self.low:.12g} to high "
                    f"{self.high:.12g}; write one between them"
                )
        return self

    @model_serializer
    def _compact(self) -> Any:
        full: dict[str, Any] = {
            "value": self.value, "low": self.low, "high": self.high, "from": self.origin,
            "answered_by": self.answered_by, "evidence": self.evidence and self.evidence.value,
        }  # fmt: skip
        kept = {key: value for key, value in full.items() if value not in (None, "")}
        if not kept:
            return "not known"
        return self.value if set(kept) == {"value"} else kept

    @property
    def known(self) -> bool:
        """Whether somebody gave a value or a range."""
        return self.value is not None or self.low is not None

    @property
    def ranged(self) -> bool:
        """Whether the input is a range of more than one value."""
        return self.low is not None and self.low != self.high

    @property
    def evidence_class(self) -> Evidence:
        """The class as written; else stated where somebody stands behind it, else assumed."""
        if self.evidence is not None:
            return self.evidence
        return Evidence.STATED if self.origin or self.answered_by else Evidence.ASSUMED
