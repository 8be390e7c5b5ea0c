"""The result of a decision: typed, frozen, and sliceable as pandas frames."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from stackchoice.choose.carried import BoardRow, Plan, Runnable
from stackchoice.choose.shape import Shape
from stackchoice.cost import (
    BreakEven,
    CostLine,
    Curve,
    Exit,
    Faster,
    Hybrid,
    Redundancy,
    Turn,
    Volume,
)
from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.frame import frame
from stackchoice.facts.interval import Interval
from stackchoice.fit import FitRow, Speed
from stackchoice.fit.admissions import AdmissionRow
from stackchoice.fit.path import KernelPath
from stackchoice.ops import Ask, Ops
from stackchoice.workload import Conflict, Need, PushResult

if TYPE_CHECKING:
    from pandas import DataFrame

Status = Literal["chosen", "viable", "too close to call", "eliminated"]
Question = Literal["hardware fit", "workload shape", "ops capacity", "cost", "constraints", ""]


class Step(Record):
    """One step of the trace: a rule, what it saw, what it concluded, and how it knows."""

    question: Question
    rule: str
    text: str
    facts: list[str] = []
    evidence: Evidence


class Candidate(Record):
    """One configuration of an option: engine release x artifact x machine, or seller."""

    option: str
    engine: str = ""
    release: str = ""
    artifact: str = ""
    encoding: str = ""
    machine: str = ""
    devices: int = 0
    seller: str = ""
    status: Status
    question: Question = ""
    reason: str
    unknown: list[str] = []
    fallback: str = ""
    live_sequences: int | None = None
    decode_ceiling_tokens_per_s: float | None = None
    usd_per_month: Decimal | None = None
    evidence: Evidence = Evidence.COMPUTED

    @property
    def title(self) -> str:
        """Short text for people: what exactly this is."""
        machine = f"{self.devices} x {self.machine}" if self.devices > 1 else self.machine
        parts = [f"{self.engine} {self.release}".strip(), self.artifact, machine, self.seller]
        return " · ".join(part for part in parts if part)


class Option(Record):
    """One option of the list, with the status of its best configuration.

    ``evidence`` is that of the status, ``usd_evidence`` that of ``usd_per_month``: the cheapest
    path with people and one-time cost.
    """

    name: str
    status: Status
    question: Question
    reason: str
    configuration: str = ""
    conditions: list[str] = []
    usd_per_month: Decimal | None = None
    usd_evidence: Evidence | None = None
    evidence: Evidence = Evidence.COMPUTED


class Fit(Record):
    """Question 1 in numbers, for the artifact and machine of the best self-hosted option."""

    model: str
    artifact: str
    machine: str
    devices: int
    context_tokens: int | None
    kv_bytes_per_token: int | float | None
    state_bytes_per_sequence: int | None
    bytes_per_sequence: int | None
    cache_evidence: Evidence = Evidence.COMPUTED
    rows: list[FitRow]
    admissions: list[AdmissionRow] = []
    speed: Speed | None = None
    kernels: KernelPath | None = None
    replica: Interval | None = None
    needed_concurrency: float | None = None
    needed_evidence: Evidence = Evidence.INFERRED
    note: str = ""


class Listing(TypedDict):
    """One seller's listed price for the model, in USD per million tokens and for a month here."""

    seller: str
    sold_as: str
    note: str
    precision: str | None
    input_usd_per_mtok: Decimal
    cached_input_usd_per_mtok: Decimal | None
    output_usd_per_mtok: Decimal
    usd_per_month: Decimal | None
    as_of: str
    source: str


class HourListing(TypedDict):
    """One offer by the device-hour, in USD; ``taken``: whether the scenario takes its terms."""

    seller: str
    kind: str
    terms: str
    usd_per_device_hour: Decimal
    devices_per_unit: int
    usd_per_month: Decimal
    taken: bool
    as_of: str
    source: str


class Cost(Record):
    """The three paths, and the volume at which the answer flips.

    ``*_usd_per_month`` is a path's infrastructure; people and one-time cost stand in ``lines``.
    """

    volume: Volume | None
    managed_usd_per_mtok: Decimal | None = None
    managed_usd_per_month: Decimal | None = None
    rented_usd_per_month: Decimal | None = None
    owned_usd_per_month: Decimal | None = None
    lines: list[CostLine] = []
    market: list[Listing] = []
    hours: list[HourListing] = []
    break_even: list[BreakEven] = []
    turns: list[Turn] = []
    curves: list[Curve] = []
    hybrid: list[Hybrid] = []
    redundancy: list[Redundancy] = []
    exits: list[Exit] = []
    faster: list[Faster] = []
    asks: list[Ask] = []


class Flip(Record):
    """What would change the answer: an input, where it flips, and to what.

    Deciding again with the input at ``under`` gives ``from_option``, at ``at`` it gives
    ``to_option``; for numbers the two are neighbours. ``at`` None: nothing in the range flips it.
    """

    input: str
    at: float | str | None
    under: float | str | None = None
    unit: str = ""
    from_option: str
    to_option: str | None
    changes_recommendation: bool = False
    within_range: bool
    text: str
    evidence: Evidence


class UnknownInput(Record):
    """An input nobody could give, and whether finding it could change the answer."""

    input: str
    worth_finding: bool
    text: str


#: How options are listed: the answer first, what was ruled out last.
STATUS_ORDER: tuple[Status, ...] = ("chosen", "too close to call", "viable", "eliminated")


class Decision(Record):
    """The pure result of ``decide(scenario, facts)``.

    ``conditions`` are what the answer hangs on; ``remarks`` what no condition would change: inputs
    that contradict each other, and what would do where nothing does. ``disputed`` names the
    inputs of each contradiction.

    Examples
    --------
    >>> from stackchoice import decide, load_facts, load_scenario
    >>> decision = decide(load_scenario("json-chat"), load_facts())
    >>> len(decision.to_frame()) == len(decision.options)
    True
    >>> "recommended" in decision.model_dump(mode="json")
    True
    """

    scenario: str
    title: str
    recommended: str | None
    recommended_configuration: str
    best_self_hosted: str | None
    best_self_hosted_configuration: str
    verdict: str
    remarks: list[str]
    disputed: list[tuple[str, ...]]
    conditions: list[str]
    options: list[Option]
    candidates: list[Candidate]
    fit: Fit
    shape: Shape | None = None
    needs: list[Need]
    pushes: list[PushResult]
    conflicts: list[Conflict]
    ops: Ops
    cost: Cost
    flips: list[Flip]
    unknowns: list[UnknownInput]
    runnable: list[Runnable]
    plan: Plan | None
    board: list[BoardRow]
    trace: list[Step]
    held_fixed: list[str]
    inputs: list[dict[str, Any]]
    facts_sha256: str
    own_facts: list[str] = []
    version: str

    def to_frame(self) -> DataFrame:
        """One row per option of the list: name, status, question, reason, conditions."""
        return frame([o.model_dump(mode="json") for o in self.options])

    def candidates_frame(self) -> DataFrame:
        """One row per configuration: every engine release x artifact x machine, every seller."""
        return frame([c.model_dump(mode="json") for c in self.candidates])

    def trace_frame(self) -> DataFrame:
        """One row per step of the trace."""
        return frame([s.model_dump(mode="json") for s in self.trace])

    def fit_frame(self) -> DataFrame:
        """One row per memory budget."""
        return frame([r.model_dump(mode="json") for r in self.fit.rows])

    def admissions_frame(self) -> DataFrame:
        """One row per engine release and memory budget: what it admits, by which rule."""
        return frame([r.model_dump(mode="json") for r in self.fit.admissions])

    def cost_frame(self) -> DataFrame:
        """One row per path: infrastructure, people, one-time cost and total, USD a month."""
        rows = [
            {**line.model_dump(exclude={"parts", "bill"}), "total_usd": line.total_usd}
            for line in self.cost.lines
        ]
        return frame(rows)

    def bill_frame(self) -> DataFrame:
        """One row per line of every path's bill, with class, source and date."""
        rows = [
            {"path": line.path, **item.model_dump(mode="json")}
            for line in self.cost.lines
            for item in line.bill
        ]
        return frame(rows)

    def inputs_frame(self) -> DataFrame:
        """One row per scenario input at the likely point, with class, origin and answerer."""
        return frame(self.inputs)

    def option(self, name: str) -> Option:
        """Return the option of this name (``KeyError`` when there is none)."""
        for option in self.options:
            if option.name == name:
                return option
        raise KeyError(name)
