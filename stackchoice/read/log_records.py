"""What a log said: boots, found values, kernels, warnings, refusals, series."""

from typing import Any

from pydantic import Field

from stackchoice.facts.datum import Evidence, Record


class Found(Record):
    """One value with the line it was read in.

    ``by_rank`` holds what each rank of the boot printed where they differ; ``value`` is then the
    smallest, since the slowest and fullest rank bounds the server. ``meaning``: what the engine
    counts there.
    """

    key: str
    value: Any
    line: int
    evidence: Evidence = Evidence.MEASURED
    by_rank: dict[str, Any] = {}
    meaning: str = ""
    note: str = ""


class Kernel(Record):
    """A kernel that the log names for a part of the model.

    ``arithmetic``: what it multiplies (``fp4xfp4``, ``w4a16``, ...); None where no source tells.
    """

    part: str
    name: str
    context: str = ""
    arithmetic: str | None = None
    line: int
    evidence: Evidence = Evidence.MEASURED


class Warned(Record):
    """A warning with its reading on this hardware. ``fallback_real`` None: not known."""

    code: str
    line: int
    count: int = 1
    text: str = ""
    reading: str
    silent: bool = False
    fallback_real: bool | None = None
    evidence: Evidence = Evidence.MEASURED


class Refusal(Record):
    """Why a start ended, and what the engine itself proposes."""

    verdict: str
    because: str
    line: int
    text: str = ""
    proposal: str = ""


class Series(Record):
    """A steady-state figure, summarised; ``samples`` are spread evenly over all that were seen."""

    key: str
    count: int
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    first_line: int
    last_line: int
    evidence: Evidence = Evidence.MEASURED
    samples: list[Any] = []


class Boot(Record):
    """One start of one engine as its log tells it."""

    engine: str
    release: str | None = None
    first_line: int
    last_line: int
    values: dict[str, Found] = {}
    settings: dict[str, Any] = Field(default={}, description="as printed: name -> value")
    kernels: list[Kernel] = []
    warnings: list[Warned] = []
    refusals: list[Refusal] = []
    series: dict[str, Series] = {}
    pool_meaning: str = ""
    ranks: list[str] = []

    def value(self, key: str) -> Any:
        """Return a found value, None where the log has none."""
        found = self.values.get(key)
        return found.value if found else None


class LogReading(Record):
    """A whole log: its boots in order, and what could not be told."""

    name: str = ""
    lines: int
    engines: list[str] = Field(default=[], description="recognised, or as given")
    boots: list[Boot] = []
    notes: list[str] = []


class Hardware(Record):
    """What is known beside the log: the chip, and what the checkpoint asks for."""

    capability: float | None = None
    weight_bits: int | None = None
    activation_bits: int | None = None
    release: str | None = None
