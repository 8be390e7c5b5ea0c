"""Read a file of questions, answer each from what is given, and count who was right."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean, median
from typing import Any

from pydantic import Field

from stackchoice.errors import ScoreError, StackchoiceError
from stackchoice.facts.datum import Record
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.place import data_dir
from stackchoice.facts.values import is_number
from stackchoice.facts.yaml import bounded_text, read_yaml, shown
from stackchoice.score import capacity, files, kernels, logs, speed
from stackchoice.score.given import Answer, Given, Unknown, engine_id
from stackchoice.score.judge import interval_score, judge

#: What values of a wrong kind or size raise in the arithmetic, wherever it meets them.
UNREADABLE = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError)
#: The public ledger has half a megabyte.
MAX_BYTES = 64 * 2**20
#: What a question names where it is about arithmetic and no engine.
NO_ENGINE = ("any", "calculator")


class Line(Record):
    """One answered question. ``predicted`` is None where the answer is unknown.

    ``counted`` is False for an engine that the fact base does not hold, and for lines that
    rest on assumed settings; both stay in the ledger.
    """

    id: str
    ask: str
    predicted: dict[str, Any] | None = None
    right: bool = False
    reason: str = ""
    counted: bool = True
    error: float | None = None
    keys: int = 0
    keys_right: int = 0


class Tally(Record):
    """The counted lines of one ask."""

    lines: int = 0
    right: int = 0
    unknown: int = 0
    wrong: int = 0
    share_right: float | None = None
    share_keys_right: float | None = None
    worst_error: float | None = None
    coverage: float | None = None
    median_width: float | None = None
    interval_score: float | None = None


class Score(Record):
    """All lines, and the counts by ask."""

    lines: list[Line]
    by_ask: dict[str, Tally]
    outside: list[str] = Field(default=[], description="ids that are not counted")


def score_file(path: Path | str, facts: Facts | None = None) -> Score:
    """Answer every question of a JSON Lines file.

    ScoreError when the file cannot be read, or a line is no question.
    """
    return score_lines(_questions(Path(path)), facts)


def score_public(asks: Iterable[str] | None = None, facts: Facts | None = None) -> Score:
    """Answer the public ledger that ships with the package: all of it, or some asks."""
    rows = _questions(data_dir() / "cases.jsonl")
    chosen = set(asks) if asks is not None else {row["ask"] for row in rows}
    return score_lines([row for row in rows if row["ask"] in chosen], facts)


def _questions(path: Path) -> list[dict[str, Any]]:
    text = bounded_text(path, MAX_BYTES, ScoreError, "give a file of questions")
    rows: list[dict[str, Any]] = []
    for number, row in enumerate(text.splitlines(), 1):
        if not row.strip():
            continue
        try:
            rows.append(json.loads(row))
        except (ValueError, RecursionError) as error:
            raise ScoreError(
                f"{path}:{number}: not JSON ({shown(str(error))}); write one object a line"
            ) from None
        if wrong := _wrong(rows[-1]):
            raise ScoreError(f"{path}:{number}: {wrong}")
    if not rows:
        raise ScoreError(f"{path}: holds no question; write one object a line")
    repeated = [name for name, times in Counter(row["id"] for row in rows).items() if times > 1]
    if repeated:
        raise ScoreError(f"{path}: id {shown(repeated[0])!r} stands twice; give each its own")
    return rows


def _wrong(row: Any) -> str:
    """Return why a row is no question, with the fix; "" where it is one."""
    if not isinstance(row, dict):
        return "has no id, ask, given and answer: it is no object; write one"
    if missing := {"id", "ask", "given", "answer"} - set(row):
        return f"has no {', '.join(sorted(missing))}; a question has id, ask, given and answer"
    for key, kind in (("id", str), ("ask", str), ("given", dict), ("answer", dict)):
        if not isinstance(row[key], kind):
            word = "text" if kind is str else "an object"
            return f"{key} {shown(row[key])} is no {word.split()[-1]}; write {word}"
    tolerance = row.get("tolerance")
    if tolerance is not None and not (is_number(tolerance) and 0 <= tolerance < float("inf")):
        return f"tolerance {shown(tolerance)} is no share; write 0, a share, or null"
    return ""


def score_lines(rows: Iterable[dict[str, Any]], facts: Facts | None = None) -> Score:
    """Answer questions, each from its ``given`` alone (``source_url`` only leaves itself out)."""
    facts = facts or load_facts()
    assumed: dict[str, str] = read_yaml(data_dir() / "ledger_only.yaml")["cases"]
    rows = list(rows)
    lines = [_line(row, facts, assumed) for row in rows]
    answers = {row["id"]: row for row in rows}
    asks = dict.fromkeys(line.ask for line in lines)
    return Score(
        lines=lines,
        by_ask={
            ask: _tally([x for x in lines if x.ask == ask and x.counted], answers) for ask in asks
        },
        outside=[x.id for x in lines if not x.counted],
    )


def _line(row: dict[str, Any], facts: Facts, assumed: dict[str, str]) -> Line:
    given, ask = row["given"], row["ask"]
    base = {"id": row["id"], "ask": ask}
    apart = assumed.get(str(row.get("case", row["id"].split(".")[0])), "")
    named = given.get("engine")
    unnamed = not named or named in NO_ENGINE
    if not apart and not unnamed and engine_id(named, facts) is None:
        apart = f"engine {shown(named)!r} is not in the fact base"
    base["counted"] = not apart
    try:
        predicted = _answer(ask, given, facts, row.get("source_url"))
    except Unknown as unknown:
        reason = f"unknown: {shown(str(unknown), 600)}" + (f" ({apart})" if apart else "")
        return Line(**base, reason=reason, keys=len(row["answer"]))
    found = judge(predicted, row["answer"], row.get("tolerance"))
    return Line(
        **base, predicted=predicted, right=found.right, error=_error(predicted, row["answer"]),
        keys=found.keys, keys_right=found.keys_right,
        reason="; ".join(t for t in (found.reason, f"apart: {apart}" if apart else "") if t),
    )  # fmt: skip


#: What answers each ask from what is given; speeds also leave a question's own source out.
ASKS: dict[str, Callable[[Given, Facts], Answer]] = {
    **capacity.ASKS, "kernel_path": kernels.kernel_path, "read_config": files.read_config,
    "read_log": logs.read_log,
}  # fmt: skip


def _answer(ask: str, given: Given, facts: Facts, source: str | None) -> Answer:
    try:
        if ask in speed.ASKS:
            found = speed.ASKS[ask](given, facts, source)
        elif ask in ASKS:
            found = ASKS[ask](given, facts)
        else:
            raise Unknown(f"no answer to {ask!r} here")
    except StackchoiceError as error:
        raise error if isinstance(error, Unknown) else Unknown(str(error)) from None
    except KeyError as error:
        raise Unknown(f"{error} is not given") from None
    except UNREADABLE as error:  # one odd question is unknown, and never ends the others
        raise Unknown(f"what is given cannot be read ({type(error).__name__}: {error})") from None
    odd = [key for key, v in found.items() if isinstance(v, float) and not math.isfinite(v)]
    if odd:
        raise Unknown(f"{', '.join(odd)}: no finite number follows from what is given")
    return found


def _error(predicted: dict[str, Any], answer: dict[str, Any]) -> float | None:
    """Return the largest relative error of the numbers both sides have."""
    errors = [
        abs(predicted[k] - v) / abs(v)
        for k, v in answer.items()
        if is_number(v) and v
        and isinstance(predicted.get(k), int | float) and k not in ("low", "high")
    ]  # fmt: skip
    return max(errors, default=None)


def _tally(lines: list[Line], answers: dict[str, dict[str, Any]]) -> Tally:
    right = sum(x.right for x in lines)
    unknown = sum(x.predicted is None for x in lines)
    keys = sum(x.keys for x in lines)
    errors = [x.error for x in lines if x.error is not None]
    return Tally(
        lines=len(lines), right=right, unknown=unknown, wrong=len(lines) - right - unknown,
        share_right=right / len(lines) if lines else None,
        share_keys_right=sum(x.keys_right for x in lines) / keys if keys else None,
        worst_error=max(errors, default=None),
        **_intervals(lines, answers),
    )  # fmt: skip


def _intervals(lines: list[Line], answers: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Coverage, median high/low and mean interval score of the lines that ask for an interval."""
    widths, found = [], []
    for line in lines:
        row = answers[line.id]
        if row.get("tolerance") is not None or not line.predicted:
            continue
        low, high = line.predicted.get("low"), line.predicted.get("high")
        value = next(
            (v for k, v in row["answer"].items() if k in line.predicted and k not in ("low", "high")
             and isinstance(v, int | float)), None,
        )  # fmt: skip
        if not (low and high and value and value > 0):
            continue
        widths.append(high / low)
        found.append(interval_score(low, high, value))
    if not widths:
        return {}
    scores, hits = zip(*found, strict=True)
    return {
        "coverage": mean(hits), "median_width": median(widths), "interval_score": mean(scores),
    }  # fmt: skip
