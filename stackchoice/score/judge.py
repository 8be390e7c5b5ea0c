"""Whether a prediction is right: every key of the answer, within the line's tolerance."""

import math
from typing import Any, NamedTuple

from stackchoice.facts.values import is_number

#: Keys of an answer that are for information, not for the score.
INFORMATION = ("ceiling_tokens_per_s", "low", "high")
#: What two printed decimals hide.
PRINTED_HALF_STEP = {"requests": 0.005}
#: Share outside a nominal 80 % interval; misses are charged 2 / ALPHA times their distance.
ALPHA = 0.2


class Judged(NamedTuple):
    """Whether a prediction is right, the first reason why not, and how many keys of all are."""

    right: bool
    reason: str
    keys_right: int
    keys: int


def judge(predicted: dict[str, Any], answer: dict[str, Any], tolerance: float | None) -> Judged:
    """Judge a prediction by every key of the answer.

    Parameters
    ----------
    predicted
        The keys of the answer; for an interval ``low`` and ``high`` beside the middle.
    tolerance
        Relative, of every number; None asks for an interval that holds the value.
    """
    asked = [key for key in answer if key not in INFORMATION]
    wrong = [why for key in asked if (why := _key(predicted, key, answer[key], tolerance))]
    return Judged(not wrong, wrong[0] if wrong else "", len(asked) - len(wrong), len(asked))


def interval_score(low: float, high: float, value: float) -> tuple[float, bool]:
    """Return the score of an interval on logarithms, smaller being better, and whether it holds.

    ``width + 2 / ALPHA x distance outside`` (Gneiting and Raftery 2007); on logarithms, so that
    speeds of different size weigh alike.
    """
    low, high, value = math.log(low), math.log(high), math.log(value)
    outside = max(low - value, value - high, 0.0)
    return high - low + 2 / ALPHA * outside, not outside


def _key(predicted: dict[str, Any], key: str, expected: Any, tolerance: float | None) -> str:
    """Return why one key is wrong ("" where it is right)."""
    if key not in predicted:
        return f"{key}: not predicted"
    found = predicted[key]
    if tolerance is None and is_number(expected):
        low, high = predicted.get("low"), predicted.get("high")
        if low is None or high is None or not low <= expected <= high:
            return f"{key}: {expected:g} is outside [{low}, {high}]"
    elif not _equal(found, expected, tolerance or 0.0, PRINTED_HALF_STEP.get(key, 0.0)):
        return f"{key}: predicted {_short(found)}, is {_short(expected)}"
    return ""


def _equal(found: Any, expected: Any, tolerance: float, half_step: float) -> bool:
    if is_number(expected) and is_number(found):
        allowed = max(abs(expected) * tolerance, half_step)
        return abs(found - expected) <= allowed * (1 + 1e-9) or math.isclose(found, expected)
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() <= found.keys() and all(
            _equal(found[k], v, tolerance, half_step) for k, v in expected.items()
        )
    if isinstance(expected, list) and isinstance(found, list):
        return sorted(map(str, found)) == sorted(map(str, expected))
    return bool(found == expected)


def _short(value: Any) -> str:
    return f"{value:.10g}" if is_number(value) else str(value)
