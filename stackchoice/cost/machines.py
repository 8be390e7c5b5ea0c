"""What machines cost a month: rented by the hour, or owned. The load never enters the bill.

Rent: ``ceil(n g / G) G r (1 - discount) H``. Owned: straight line ``(P - R_s + N) / L`` with
capital at the mean of opening and closing book value, or the annuity
``(P + N) CRF - R_s SFF``; maintenance ``m P / 12``; energy ``kW x PUE x price x hours``; hosting
per kW. USD, hours, kW, months.
"""

from stackchoice.cost.numbers import MONTHS_PER_YEAR, SECONDS_PER_HOUR, Number, ceil, smaller, where


def rent(
    *, devices: Number, devices_per_unit: Number, usd_per_device_hour: Number, hours: Number,
    discount: Number = 0,
) -> Number:  # fmt: skip
    """Return a month of rent: whole units only, in use or not."""
    units = ceil(devices / devices_per_unit)
    return units * devices_per_unit * usd_per_device_hour * hours * (1 - discount)


def commitment_pays(hours: Number, month_hours: Number, discount: Number) -> Number:
    """Whether a device used for ``hours`` is cheaper committed: its share is above 1 - discount."""
    return hours / month_hours > 1 - discount


def stepped_hours(
    *, busy_s: Number, starts: Number, boot_s: Number = 0, step_s: Number = 1
) -> Number:  # fmt: skip
    """Return the hours billed for a machine that is started for each stretch of work.

    ``starts x step x ceil((busy + boot) / step)``: booting is billed as well, in whole steps.
    """
    return starts * step_s * ceil((busy_s + boot_s) / step_s) / SECONDS_PER_HOUR


def annuity(
    *, outlay: Number, residual: Number, rate_per_month: Number, months: Number
) -> Number:  # fmt: skip
    """Return the level monthly payment that recovers an outlay less what it sells for later.

    ``outlay x i(1+i)^L / ((1+i)^L - 1) - residual x i / ((1+i)^L - 1)``.
    """
    free = rate_per_month == 0
    rate = where(free, rate_per_month + 1, rate_per_month)  # any other: that branch is not taken
    growth = (1 + rate) ** months
    level = (outlay * rate * growth - residual * rate) / (growth - 1)
    return where(free, (outlay - residual) / months, level)


def energy(*, kw: Number, pue: Number, usd_per_kwh: Number, hours: Number) -> Number:
    """Return the power bill. Board power as ``kw`` makes it an upper bound."""
    return kw * pue * usd_per_kwh * hours


def book_value(
    *, price: Number, residual: Number, installation: Number, life: Number, after: Number
) -> Number:
    """Return what a server is worth on the books ``after`` months of straight-line write-off."""
    monthly = (price - residual + installation) / life
    return price + installation - monthly * smaller(after + life * 0, life + after * 0)


def owned(
    *, price: Number, residual_share: Number, installation: Number, server_life_months: Number,
    horizon: Number, capital_rate_per_year: Number, maintenance_share_per_year: Number, kw: Number,
    pue: Number, usd_per_kwh: Number, hours_per_month: Number,
    hosting_usd_per_kw_month: Number = 0, facilities: Number = 0, level: bool = False,
) -> dict[str, Number]:  # fmt: skip
    """Return what owning one server costs a month, by part, seen over ``horizon`` months.

    ``level`` takes the annuity over the life instead of depreciation and capital cost.
    """
    residual, life = price * residual_share, server_life_months
    opening = price + installation
    if level:
        paid = annuity(
            outlay=opening, residual=residual, months=life,
            rate_per_month=capital_rate_per_year / MONTHS_PER_YEAR,
        )  # fmt: skip
        parts = {"annuity": paid}
    else:
        book = {"price": price, "residual": residual, "installation": installation, "life": life}
        closing = book_value(**book, after=horizon)
        parts = {
            "depreciation": (price - residual + installation) / life,
            "capital": (opening + closing) / 2 * capital_rate_per_year / MONTHS_PER_YEAR,
        }
    return parts | {
        "maintenance": price * maintenance_share_per_year / MONTHS_PER_YEAR,
        "energy": energy(kw=kw, pue=pue, usd_per_kwh=usd_per_kwh, hours=hours_per_month),
        "hosting": kw * hosting_usd_per_kw_month + facilities,
    }
