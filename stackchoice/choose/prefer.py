"""Rank what survives by the preferences the team stated, in their order, and by nothing else.

A preference decides only where it sets one way apart from all others. Where intervals overlap, or
totals lie nearer than ``too_close_share``, the ways stay together and the next preference is
asked; where none is left, it is too close to call. No weights, no score.
"""

from collections.abc import Callable
from decimal import Decimal

from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.interval import Interval
from stackchoice.facts.records import Path
from stackchoice.scenario import Preference

#: What the procedure ranks by where a scenario states nothing: money with people, the last step.
DEFAULT: tuple[Preference, ...] = ("cost",)

WORDS: dict[Preference, str] = {
    "cost": "a month with people and one-time cost",
    "latency": "seconds to a whole reply at the peak",
    "privacy": "on whose machines the data stands",
    "simplicity": "engineers that it takes",
}

#: On whose machines the data stands: one's own, a rented one, a seller's.
PRIVACY: dict[Path | None, tuple[int, str]] = {
    "owned": (0, "on machines of one's own"),
    "rented": (1, "on a rented machine"),
    "managed": (2, "at a seller"),
}


class Way(Record):
    """One way to go that survived: an option on a path, with what preferences look at."""

    option: str
    path: Path | None
    text: str
    usd_per_month: Decimal | None
    engineers: float | None
    latency: Interval | None = None
    evidence: Evidence = Evidence.ASSUMED


class Ranked(Record):
    """Which ways stay together after every preference, and what each preference said."""

    winners: list[Way]
    decided_by: Preference | None
    unknown: list[str] = []
    steps: list[str] = []


def rank(ways: list[Way], preferences: tuple[Preference, ...], too_close: Decimal) -> Ranked:
    """Narrow the ways down, one preference after the other.

    Parameters
    ----------
    ways
        What survives. More than one path of one option may stand among them.
    too_close
        Two monthly totals nearer than this share of the dearer one are too close to call.

    A preference under which a way is unknown cannot rule that way out or in: it is passed over,
    and said.
    """
    left, unknown, steps = list(ways), [], []
    for preference in preferences:
        if len({way.option for way in left}) < 2:
            break
        missing = [way.text for way in left if SPAN[preference](way) is None]
        if missing:
            unknown.append(f"{preference} of {', '.join(dict.fromkeys(missing))}")
            continue
        kept = _nearest(left, preference, too_close)
        if len(kept) < len(left):
            names = ", ".join(dict.fromkeys(way.text for way in kept))
            steps.append(f"{preference} ({WORDS[preference]}) leaves {names}")
        left = kept
        if len({way.option for way in left}) == 1:
            return Ranked(winners=left, decided_by=preference, unknown=unknown, steps=steps)
    return Ranked(winners=left, decided_by=None, unknown=unknown, steps=steps)


def _nearest(ways: list[Way], preference: Preference, too_close: Decimal) -> list[Way]:
    """Return the best way by one preference and all that are not clearly behind it."""
    spans = [(way, SPAN[preference](way)) for way in ways]
    best = min((span for _, span in spans if span), key=lambda span: span[1])
    if preference == "cost":
        least = float(too_close)
        return [way for way, span in spans if span and gap(best[1], span[1]) < least]
    return [way for way, span in spans if span and span[0] <= best[2]]


def gap(lowest: float, other: float) -> float:
    """Return by which share of the dearer of two totals the other is below it."""
    return (other - lowest) / other if other > 0 else 0.0


def _one(value: float | Decimal | None) -> tuple[float, float, float] | None:
    return None if value is None else (float(value),) * 3


def _latency(way: Way) -> tuple[float, float, float] | None:
    found = way.latency
    return None if found is None else (found.low, found.middle, found.high)


#: What a way is worth under a preference: low, middle and high; less is better, None is unknown.
SPAN: dict[Preference, Callable[[Way], tuple[float, float, float] | None]] = {
    "cost": lambda way: _one(way.usd_per_month),
    "latency": _latency,
    "privacy": lambda way: _one(PRIVACY[way.path][0] if way.path in PRIVACY else None),
    "simplicity": lambda way: _one(way.engineers),
}
