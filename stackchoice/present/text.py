"""How values are put into words. Formatting only: every value was computed elsewhere.

GB is 10^9 bytes and GiB is 2^30 bytes; every text says which.
"""

import re
from datetime import date
from decimal import Decimal
from typing import Any

from stackchoice.facts import load_facts
from stackchoice.facts.datum import is_future, last_day
from stackchoice.fit.memory import GB, GIB
from stackchoice.scenario.words import SWITCH

#: What an option is called that no engine stands behind.
OPTIONS = {"managed": "managed endpoint"}
UNKNOWN = "unknown"

#: What each evidence class means, in the order in which a report lists them.
CLASSES = {
    "measured": "here, by the runner of this tool",
    "reported": "measured by others, with a source",
    "computed": "arithmetic from stated inputs",
    "inferred": "concluded, not seen; consistent with what was seen",
    "stated": "said by a vendor, a publisher or the team",
    "assumed": "a default that nobody checked",
}

#: What the shipped canaries ask of a stack; needles have their place behind the name.
CANARIES = {
    "capital": "names a capital",
    "week": "knows the days of a week",
    "echo-twice": "repeats a word, twice the same",
    "json-schema": "answers in a given schema",
    "exact": "repeats a sentence",
    "tool-call": "calls a tool",
    "code": "writes code that runs",
    "recall": "remembers an earlier turn",
    "needle": "finds a number in a long text",
}

#: A fact older than this is flagged as old.
OLD_AFTER_DAYS = 365


def engine_name(engine_id: str) -> str:
    """Return the name people know an engine by; an id without an engine stays as it is."""
    engines = load_facts().engines
    return engines[engine_id].name if engine_id in engines else OPTIONS.get(engine_id, engine_id)


def number(value: Any, unit: str = "") -> str:
    """Return a number with separators and its unit, or ``unknown``."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return SWITCH.get(value, value)
    if isinstance(value, int) or value == int(value):
        text = f"{value:,.0f}"
    else:
        text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.3g}"
    return f"{text} {unit}".strip()


def gained(count: int) -> str:
    """Return a difference in words: ``5 more``, ``5 fewer``."""
    return f"{abs(count):,} {'fewer' if count < 0 else 'more'}"


def usd(value: Decimal | float | None) -> str:
    """Return an amount in whole USD (cents below 100), or ``unknown``."""
    if value is None:
        return UNKNOWN
    return f"{value:,.2f} USD" if -100 < value < 100 else f"{value:,.0f} USD"


def cents(value: Decimal | float | None) -> str:
    """Return an amount in USD to the cent, or ``unknown``."""
    return UNKNOWN if value is None else f"{value:,.2f} USD"


def price(value: Decimal) -> str:
    """Return a price as it is listed, without the zeros at its end; at most five digits."""
    short = f"{value:.5g}" if value != value.to_integral_value() else f"{value:f}"
    return f"{Decimal(short).normalize():,f}"


def headline(decision: Any) -> str:
    """Return what is recommended in a few words; that it is too close or unknown is an answer."""
    close = [o.name for o in decision.options if o.status == "too close to call"]
    if decision.recommended:
        hangs = decision.remarks or decision.conditions
        return f"{decision.recommended}{', conditionally' if hangs else ''}"
    if close:
        return f"Too close to call: {' or '.join(close)}"
    viable = any(option.status == "viable" for option in decision.options)
    return "Unknown: no recommendation" if viable else "Nothing survives: no recommendation"


def share(value: float | None) -> str:
    """Return a share in percent, never none of what is some or all of what is not; ``unknown``."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.005:
        return "under 1%"
    return "over 99%" if 0.995 <= value < 1 else f"{value:.0%}"


def times(gain: float | None) -> str:
    """Return a gain as a factor: 0.1 is "1.1 times", 0 is "any gain", None is "never"."""
    if gain is None:
        return "never"
    return f"{number(1 + gain)} times" if gain else "any gain"


def gb(size: int | None) -> str:
    """Return bytes as decimal GB."""
    return UNKNOWN if size is None else f"{size / GB:,.2f} GB"


def both_units(size: int | None) -> str:
    """Return bytes as decimal GB and as binary GiB, each named."""
    return UNKNOWN if size is None else f"{size / GB:,.2f} GB = {size / GIB:,.2f} GiB"


def interval(value: Any) -> str:
    """Return an interval as ``low to high unit (middle …)``, or ``unknown``."""
    if value is None:
        return UNKNOWN
    return (
        f"{number(value.low)} to {number(value.high)} {value.unit} (middle {number(value.middle)})"
    )


def volume(mtok: float | None) -> str:
    """Return a monthly volume in millions of tokens; None is never."""
    return "never" if mtok is None else number(mtok, "M tokens a month")


def canary(name: str) -> str:
    """Return a canary with what it asks, where that is one of the shipped ones."""
    asks = CANARIES.get(re.sub(r"-\d+%$", "", name))
    return f"{name}: {asks}" if asks else name


def age_mark(as_of: str, today: date) -> str:
    """Return ``old`` for a date more than a year ago, what is wrong with one to come, else ''."""
    if is_future(as_of, today):
        return "dated in the future"
    return "old" if (today - last_day(as_of)).days > OLD_AFTER_DAYS else ""


def in_words(value: Any) -> str:
    """Return a value out of a scenario file in few words."""
    if isinstance(value, dict) and "id" in value:
        weights = ", ".join(value.get("artifacts") or [])
        count = f"{value['count']} x " if "count" in value else ""
        return f"{count}{value['id']}" + (f" ({weights})" if weights else "")
    if isinstance(value, dict):
        if "value" not in value:
            return "given"
        ends = [number(value[end]) for end in ("low", "high") if value.get(end) is not None]
        return number(value["value"]) + (f" ({' to '.join(ends)})" if ends else "")
    if isinstance(value, list):
        return ", ".join(map(in_words, value)) or "none named"
    return "nothing" if value in (None, "") else number(value)
