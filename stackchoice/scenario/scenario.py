"""The scenario: one file, the whole input. Widgets, CLI and papermill all take its path."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from stackchoice.facts.datum import Record
from stackchoice.facts.prices import Terms
from stackchoice.facts.traffic import Distribution
from stackchoice.scenario.inputs import NOT_KNOWN, Input

#: The name of the machine that the product probes instead of looking it up.
THIS_MACHINE = "this machine"
NOBODY = "nobody"
#: Numbers nearer to zero have lost their digits before they are multiplied.
TINY = 1e-9
#: Answers to "who?" that name no person and may mean either "nobody" or "not known".
NO_NAMES = ("no", "none", "n/a", "na", "-", "no one", "noone", "yes", "true", "false", "tbd")
#: Devices of one machine that a scenario can name.
MOST_DEVICES = 100_000
#: Names that Windows keeps for devices, whatever their ending.
DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10)))
)


def _number(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a number; write one, or not known")
    return value


def _not_tiny(value: Any) -> Any:
    if 0 < abs(value) < TINY:
        raise ValueError(f"{value:g} is nearer to 0 than sums can tell; write at least {TINY:g}")
    return value


def _one_line(value: str) -> str:
    if not value.isprintable():
        raise ValueError(f"{value!r} holds line breaks or control characters; write one line")
    return value


def _file_name(value: str) -> str:
    """Refuse what Windows keeps for its devices: reports and passports are called by this name."""
    if value in DEVICES:
        raise ValueError(f"{value!r} names a device on Windows, so no file can have it; choose "
                         "another")  # fmt: skip
    return value


def _who(value: str) -> str:
    """Return a name as written; ``nobody`` and ``not known`` in one spelling."""
    name = value.strip()
    if name.lower() in NOT_KNOWN:
        return "not known"
    if name.lower() in NO_NAMES:
        raise ValueError(f"{value!r} names nobody; write a name, nobody or not known")
    return NOBODY if name.lower() == NOBODY else name


def _allowed(value: Any) -> Any:
    """Return a list as it is, and ``not known`` in one spelling."""
    if not isinstance(value, str):
        return value
    if value.strip().lower() not in NOT_KNOWN:
        raise ValueError(f"{value!r} is no list; write one, such as [{value}], or not known")
    return "not known"


Float = Annotated[float, BeforeValidator(_number), AfterValidator(_not_tiny)]
Int = Annotated[int, BeforeValidator(_number)]
Count = Annotated[Float, Field(gt=0, le=1e9)]
Tokens = Annotated[Int, Field(ge=0, le=100_000_000)]
Share = Annotated[Float, Field(ge=0, le=1)]
Fte = Annotated[Float, Field(ge=0, le=1000)]
Seconds = Annotated[Float, Field(gt=0, le=86_400)]
#: Nobody waits longer for one token, or looks on for the first; a larger number was meant in
#: milliseconds.
TokenSeconds = Annotated[Float, Field(gt=0, le=10)]
FirstTokenSeconds = Annotated[Float, Field(gt=0, le=120)]
Usd = Annotated[Decimal, Field(ge=0, le=Decimal(10) ** 12), AfterValidator(_not_tiny)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)]
Who = Annotated[Name, AfterValidator(_who)]
Allowed = Annotated[list[Name] | Literal["not known"], BeforeValidator(_allowed)]


#: What survivors may be ranked by, in the order a scenario lists them.
Preference = Literal["cost", "latency", "privacy", "simplicity"]


class ModelChoice(Record):
    """Which model, and which of its published artifacts are candidates (all when empty)."""

    id: Name
    artifacts: list[Name] = []


class MachineChoice(Record):
    """A candidate machine: how many devices, how many a replica takes, and who has it.

    Where ``devices_per_replica`` is not known, one device and its doublings are each tried.

    ``interconnect`` is what is between them (``pcie5 x8``), where it is not the machine's own.
    """

    id: Name
    count: Int = Field(default=1, ge=1, le=MOST_DEVICES)
    devices_per_replica: Int | None = Field(default=None, ge=1, le=1024)
    already_owned: bool = False
    interconnect: Name | None = None

    @model_validator(mode="after")
    def _a_replica_is_no_larger_than_the_machine(self) -> MachineChoice:
        if self.devices_per_replica is not None and self.devices_per_replica > self.count:
            raise ValueError(
                f"devices_per_replica {self.devices_per_replica} is above count {self.count}; "
                "raise count, the number of devices there are"
            )
        return self


class StatedBudget(Record):
    """A memory budget the team already wrote down (decimal GB); shown as a row of its own."""

    memory_gb: Annotated[Float, Field(gt=0, le=1e6)]
    weights_gb: Annotated[Float, Field(gt=0, le=1e6)]
    workspace_gb: Annotated[Float, Field(ge=0, le=1e6)]
    origin: Annotated[str, Field(alias="from", min_length=1)]


class Candidates(Record):
    """Machines that could serve, sellers that could be bought from, and the future fleet."""

    machines: list[MachineChoice] = []
    sellers: list[Name] | Literal["any"] = "any"
    stated_budget: StatedBudget | None = None
    future_vendors: list[Name] = []


class Current(Record):
    """What runs today: an engine on a machine, or a seller. Keeping it is an option."""

    what: Name
    usd_per_month: Input[Usd] = Input()
    works: Input[bool] = Input()


class Workload(Record):
    """The traffic. Tokens are per request; ``input_tokens`` includes the shared prefix.

    ``requests_per_day`` counts those of all users, and stands before users times requests of each.
    ``preset`` names a published workload that fills in what is not known.
    """

    purpose: Literal["serving", "reference run"] = "serving"
    preset: str = ""
    users: Input[Count] = Input()
    requests_per_user_per_day: Input[Count] = Input()
    requests_per_day: Input[Annotated[Float, Field(gt=0, le=1e12)]] = Input()
    days_per_month: Input[Annotated[Float, Field(gt=0, le=31)]] = Input(value=30)
    active_hours_per_day: Input[Annotated[Float, Field(gt=0, le=24)]] = Input()
    peak_factor: Input[Annotated[Float, Field(ge=1, le=10_000)]] = Input()
    volume_pattern: Input[Literal["steady", "spiky", "unpredictable"]] = Input()
    growth_per_month: Input[Annotated[Float, Field(ge=-0.9, le=1)]] = Input()
    concurrency: Input[Annotated[Float, Field(ge=0, le=1e9)]] = Input()
    spare_replicas: Input[Annotated[Int, Field(ge=0, le=1000)]] = Input()
    input_tokens: Input[Tokens] = Input()
    output_tokens: Input[Tokens] = Input()
    context_tokens: Input[Annotated[Int, Field(gt=0, le=100_000_000)]] = Input()
    shared_prefix_tokens: Input[Tokens] = Input()
    turns_per_session: Input[Annotated[Float, Field(ge=1, le=100_000)]] = Input(value=1)
    resent_share: Input[Share] = Input()
    input_distribution: Distribution | None = None
    output_distribution: Distribution | None = None
    json_schema: Input[bool] = Input(value=False)
    tools: Input[bool] = Input(value=False)
    images: Input[bool] = Input(value=False)
    thinking: Input[bool] = Input(value=False)
    sampling_preset: str = ""
    interactive: bool = True
    ttft_p99_s: Input[FirstTokenSeconds] = Input()
    itl_p99_s: Input[TokenSeconds] = Input()
    end_to_end_p99_s: Input[Seconds] = Input()


class Team(Record):
    """Who looks after it. Each duty has a name, or ``nobody``.

    ``ops_fte_*`` are the engineers that a path takes, ``engine_work`` a factor on them by engine;
    what is not said is taken from the published assumptions.
    """

    engineers: Input[Annotated[Float, Field(ge=0, le=100_000)]] = Input()
    ops_share_each: Input[Share] = Input()
    upgrades: Who = "not known"
    watches_p99: Who = "not known"
    awake_at_night: Who = "not known"
    ops_fte_managed: Input[Fte] = Input()
    ops_fte_rented: Input[Fte] = Input()
    ops_fte_owned: Input[Fte] = Input()
    engine_work: dict[Name, Annotated[Float, Field(ge=0, le=100)]] = {}
    runtime_engineering: Input[bool] = Input(value=False)
    accepts_young_ecosystem: Input[bool] = Input(value=False)


class Money(Record):
    """What may be spent, what an engineer costs, and on which terms things are bought. USD.

    ``rental_terms`` are the kinds of offer that a price is taken from: a spot machine, which can
    be taken away, only where it is named. ``usd_per_device_hour``, ``server_usd`` and
    ``commitment_discount`` are quotes of one's own; ``switching_usd`` is what leaving what runs
    today costs once. The shares say which tokens can wait for batch prices, fall into a seller's
    peak hours, and are written to a cache that charges for it.
    """

    can_fund_devices: Input[Annotated[Float, Field(ge=0, le=1e6)]] = Input()
    usd_per_engineer_month: Input[Usd] = Input()
    horizon_months: Input[Annotated[Float, Field(gt=0, le=240)]] = Input()
    dominant_cost: Literal["throughput", "people", "balanced"] = "balanced"
    rental_terms: list[Terms] = Field(default=["on demand", "community"], min_length=1)
    rented_hours: Literal["always on", "active hours"] = "always on"
    usd_per_device_hour: Input[Annotated[Usd, Field(gt=0)]] = Input()
    commitment_discount: Input[Share] = Input()
    server_usd: Input[Annotated[Usd, Field(gt=0)]] = Input()
    depreciation: Literal["straight line", "annuity"] = "straight line"
    switching_usd: Input[Usd] = Input()
    batch_share: Input[Share] = Input()
    peak_hours_share: Input[Share] = Input()
    cache_write_share: Input[Share] = Input()


class Constraints(Record):
    """Hard limits: an option that breaks one is eliminated, never scored low.

    An empty list allows everything; where it is not known, what would hang on it is a condition.
    """

    data_may_leave: Input[bool] = Input()
    regions_allowed: Allowed = []
    licences_acceptable: Allowed = []


def _each_once(value: list[str]) -> list[str]:
    if len(set(value)) < len(value):
        raise ValueError(f"{', '.join(value)}: a preference stands twice; list each once")
    return value


class Scenario(Record):
    """The whole input of one decision; round-trips through YAML without loss.

    ``preferences`` rank what survives, the first first; what is not listed does not count.

    Examples
    --------
    >>> from stackchoice import load_scenario
    >>> scenario = load_scenario("json-chat")
    >>> scenario.name, scenario.workload.users.value
    ('json-chat', 200.0)
    """

    schema_version: Literal[1] = 1
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$"), AfterValidator(_file_name)]
    title: Name
    situation: str = ""
    model: ModelChoice
    candidates: Candidates
    current: Current | None = None
    workload: Workload
    team: Team = Team()
    money: Money = Money()
    constraints: Constraints = Constraints()
    preferences: Annotated[list[Preference], AfterValidator(_each_once)] = []
