"""What request logs call things, and workloads that somebody published."""

from typing import Any, Literal

from pydantic import Field

from stackchoice.facts.datum import Datum, Record, Source


class LogField(Record):
    """One thing a row of a log may say, under the names that logs give it."""

    id: str
    names: list[str] = Field(min_length=1)


class KnownTrace(Record):
    """A public trace, recognised by all of its columns, and what its bare numbers mean.

    ``exact``: it has no other columns, since other traces count the same names in other units.
    """

    id: str
    columns: list[str]
    exact: bool = False
    time_unit: Literal["s", "ms"]
    block_tokens: int | None = Field(default=None, ge=1)
    source: Source


class LogColumns(Record):
    """Names of columns, of objects that hold them, and of traces."""

    containers: list[str]
    fields: list[LogField]
    redactions: list[str]
    traces: list[KnownTrace]


class Distribution(Record):
    """Tokens a request, over requests."""

    mean: float = Field(ge=0)
    p10: float | None = Field(default=None, ge=0)
    p50: float | None = Field(default=None, ge=0)
    p90: float | None = Field(default=None, ge=0)
    p95: float | None = Field(default=None, ge=0)
    max: float | None = Field(default=None, ge=0)


class WorkloadPreset(Record):
    """A workload somebody published, for a team without a log of its own.

    ``inputs`` maps keys of a scenario's ``workload`` section to facts; what the publication does
    not say is absent, and stays unknown.
    """

    id: str
    name: str
    kind: Literal["chat", "code", "rag", "agent", "mixed"]
    requests: int | None = None
    span_hours: float | None = None
    input_distribution: Distribution | None = None
    output_distribution: Distribution | None = None
    inputs: dict[str, Datum[Any]]
    source: Source
    note: str = ""
