"""Formulas put on records: what a listed price makes of devices, servers and months."""

from decimal import Decimal

from stackchoice.cost.machines import energy, owned
from stackchoice.cost.numbers import ceil, decimal
from stackchoice.cost.records import Purchase
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Machine

#: Assumptions that are arguments of :func:`stackchoice.cost.machines.owned`.
OWNED_ASSUMPTIONS = (
    "residual_share", "server_life_months", "capital_rate_per_year", "maintenance_share_per_year",
    "pue", "usd_per_kwh", "hours_per_month", "hosting_usd_per_kw_month",
)  # fmt: skip


def owned_parts_usd(
    server: Purchase, servers: int, months: float, facts: Facts, *, level: bool = False
) -> dict[str, Decimal]:
    """Return what owning costs a month, by part, over a horizon of ``months``.

    ``level`` takes the annuity instead of depreciation and capital cost. Empty where the server's
    power is unknown: a bill without energy would be too low.
    """
    if server.power_kw.value is None:
        return {}
    assumed = {name: decimal(facts.assumed(name)) for name in OWNED_ASSUMPTIONS}
    parts = owned(
        price=server.usd, installation=server.installation_usd, horizon=decimal(months),
        kw=decimal(server.power_kw.value), level=level, **assumed,
    )  # fmt: skip
    return {name: usd * servers for name, usd in parts.items()}


def owned_energy_usd(
    machine: Machine, devices: int, hours: float, facts: Facts, *, housed: bool = False
) -> Decimal | None:
    """Return the power bill of hardware already paid for, at full board power.

    ``housed`` adds hosts and the building (PUE), as in a rack; a machine on a desk has neither. A
    computer with unified memory is its own host.
    """
    if machine.board_power_w.value is None:
        return None
    kilowatts = decimal(machine.board_power_w.value) * devices / 1000
    pue = Decimal(1)
    if housed:
        pue = decimal(facts.assumed("pue"))
        hosts = 0 if machine.unified_memory else ceil(devices / facts.assumed("devices_per_host"))
        kilowatts += hosts * decimal(facts.assumed("host_kw"))
    usd: Decimal = energy(
        kw=kilowatts, pue=pue, usd_per_kwh=decimal(facts.assumed("usd_per_kwh")),
        hours=decimal(hours),
    )  # fmt: skip
    return usd
