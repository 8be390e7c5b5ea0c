"""How good the speed intervals are: every public row answered with its own source left out."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from stackchoice.facts.datum import content_hash
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.measurements import repository
from stackchoice.facts.place import data_dir
from stackchoice.facts.shares import SpeedScore
from stackchoice.facts.yaml import write_facts
from stackchoice.fit.measured import calibrated_factors
from stackchoice.fit.runs import Run, measured_run
from stackchoice.fit.shrink import weighted_quantile
from stackchoice.score.given import Answer, Unknown
from stackchoice.score.judge import interval_score
from stackchoice.score.speed import ASKS, answer_run, share_model

HEADER = """\
# How good the speed intervals are, each row answered with its own repository left out of the fit.
# Written by python -m stackchoice.score.ledger --write DATE; the report quotes it.
"""


def answers(facts: Facts) -> list[dict[str, Any]]:
    """Answer the ledger's speed lines and the measured rows; what is unknown has no ``low``."""
    found: list[dict[str, Any]] = []
    for case in facts.cases:
        if case["ask"] not in ASKS:
            continue
        key = "speedup" if case["ask"] == "speculative_speedup" else "tokens_per_s"
        line = {"ask": case["ask"], "source": repository(case["source_url"] or case["case"]),
                "id": case["id"], "measured": case["answer"][key], "from": "ledger"}  # fmt: skip
        try:
            given = ASKS[case["ask"]](case["given"], facts, case["source_url"])
        except Unknown as unknown:
            found.append({**line, "reason": str(unknown)})
            continue
        found.append({**line, **_ends(given, key)})
    for row in facts.measurements:
        line = {"ask": f"{row.phase}_tokens_per_s", "source": repository(row.source_url),
                "id": row.model, "measured": row.tokens_per_s, "from": "rows"}  # fmt: skip
        run = measured_run(row, facts)
        if run is None or run.ceiling is None:
            found.append({**line, "reason": "no ceiling: encoding, bandwidth or rate not known"})
            continue
        found.append({**line, **_ends(answer_run(run, facts, row.source_url), "tokens_per_s")})
    return found


def _ends(answer: Answer, middle: str) -> dict[str, float]:
    return {"low": answer["low"], "middle": answer[middle], "high": answer["high"]}


def calibrated_answers(facts: Facts, seen: int) -> dict[bool, list[dict[str, object]]]:
    """Answer the rows of set-ups measured more than ``seen`` times, its own source left out.

    Returns
    -------
    False: as without a measurement; True: after ``seen`` rows of the set-up, chosen by their hash.
    Both hold the same rows, those that do not calibrate.
    """
    setups: dict[tuple[str, ...], list[tuple[Run, str]]] = {}
    for row in facts.measurements:
        run = measured_run(row, facts)
        if run is not None and run.ceiling:
            key = (run.phase, run.source, *run.setup)
            setups.setdefault(key, []).append((run, row.source_url))
    found: dict[bool, list[dict[str, object]]] = {False: [], True: []}
    for members in setups.values():
        runs = sorted((run for run, _ in members), key=content_hash)
        for run in runs[seen:]:
            model = share_model(run.phase, facts, members[0][1])
            for calibrated, lines in found.items():
                factors = calibrated_factors(model, run, runs[:seen] if calibrated else ())
                low, middle, high = (f * (run.ceiling or 0) for f in factors)
                lines.append(
                    {"ask": f"{run.phase}_tokens_per_s", "source": run.source, "low": low,
                     "middle": middle, "high": high, "measured": run.tokens_per_s}
                )  # fmt: skip
    return found


def summary(found: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Coverage, median high over low and interval score by ask, each repository weighing alike."""
    table = {}
    for ask in dict.fromkeys(str(line["ask"]) for line in found):
        lines = [line for line in found if line["ask"] == ask]
        known = [line for line in lines if "low" in line]
        counts = Counter(line["source"] for line in known)
        weights = [1 / counts[line["source"]] for line in known]
        widths = [line["high"] / line["low"] for line in known]
        judged = [interval_score(x["low"], x["high"], x["measured"]) for x in known]
        total = sum(weights) or 1.0
        errors = [abs(line["middle"] / line["measured"] - 1) for line in known]
        table[ask] = {
            "answered": len(known), "unknown": len(lines) - len(known), "sources": len(counts),
            "coverage": sum(w for w, (_, hit) in zip(weights, judged, strict=True) if hit) / total,
            "rows_coverage": sum(hit for _, hit in judged) / max(1, len(known)),
            "median_high_over_low": weighted_quantile(widths, weights, 0.5) or 1.0,
            "interval_score": sum(
                w * score for w, (score, _) in zip(weights, judged, strict=True)
            ) / total,
            "median_error": weighted_quantile(errors, weights, 0.5),
        }  # fmt: skip
    return table


def scores(facts: Facts) -> list[SpeedScore]:
    """Score all rows, then those of set-ups measured twice, before and after one row of theirs."""
    found = [
        SpeedScore(ask=ask, rows_of="all", **_kept(row))
        for ask, row in summary(answers(facts)).items()
    ]
    for calibrated, lines in calibrated_answers(facts, 1).items():
        found += [
            SpeedScore(
                ask=ask, rows_of="set-ups measured twice", seen=int(calibrated), **_kept(row)
            )
            for ask, row in sorted(summary(lines).items())
        ]
    return found


def _kept(row: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 3) for key, value in row.items() if key in SpeedScore.model_fields}


def write(found: list[SpeedScore], as_of: str, folder: Path) -> None:
    """Write ``speed_ledger.yaml`` into a ``data/`` folder."""
    ledger = {"title": "python -m stackchoice.score.ledger", "as_of": as_of}
    rows = [{**score.model_dump(exclude={"source"}), "source": "ledger"} for score in found]
    tree = {"sources": {"ledger": ledger}, "speed_scores": rows}
    write_facts(folder / "speed_ledger.yaml", tree, HEADER)


def main(arguments: list[str] | None = None) -> None:
    """Print the scores: ``python -m stackchoice.score.ledger [--write DATE]``."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--write", metavar="DATE", help="also into data/, with the day it holds for"
    )
    chosen = parser.parse_args(arguments)
    found = scores(load_facts())
    for score in found:
        print(*(f"{key}={value}" for key, value in score.model_dump(exclude={"source"}).items()))
    if chosen.write:
        write(found, chosen.write, data_dir())


if __name__ == "__main__":
    main()
