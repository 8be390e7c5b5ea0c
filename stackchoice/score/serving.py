"""Aggregated serving scored on held-out groups: ``python -m stackchoice.score.serving``."""

from statistics import median

from stackchoice.facts.datum import content_hash
from stackchoice.facts.interval import Interval
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.measurements import ServingRow
from stackchoice.fit.serving import fit_serving, held_out, load, predict

#: Rows of a set-up that calibrate the others.
CALIBRATING = 3


def serving_scores(facts: Facts, what: str = "tpot") -> dict[str, dict[str, float]]:
    """Score rows whose (model, backend, machine) was held out: plain, and after three rows.

    Rows that calibrate are chosen by their hash within model, backend, machine, precision and
    tensor parallel size; ``same rows`` is the plain score of the rows that remain.
    """
    rows = [row for row in facts.serving if load(row, facts)]
    model = fit_serving((row for row in rows if not held_out(row)), facts, what)
    test = [row for row in rows if held_out(row)]
    setups: dict[tuple[str, ...], list[ServingRow]] = {}
    for row in test:
        key = (row.model, row.backend, row.machine, row.precision, str(row.tp))
        setups.setdefault(key, []).append(row)
    plain = [(row, predict(row, facts, model, what)) for row in test]
    same, moved = [], []
    for members in setups.values():
        members.sort(key=content_hash)
        seen, rest = members[:CALIBRATING], members[CALIBRATING:]
        same += [(row, predict(row, facts, model, what)) for row in rest]
        moved += [(row, predict(row, facts, model, what, seen)) for row in rest]
    return {
        "uncalibrated": _score(plain, what),
        "uncalibrated, same rows": _score(same, what),
        "after three rows": _score(moved, what),
    }


def _score(pairs: list[tuple[ServingRow, Interval | None]], what: str) -> dict[str, float]:
    known = [(getattr(row, f"{what}_ms"), found) for row, found in pairs if found]
    if not known:
        return {"rows": len(pairs), "answered": 0}
    return {
        "rows": len(pairs),
        "answered": len(known),
        "coverage": sum(i.low <= value <= i.high for value, i in known) / len(known),
        "median_error": median(abs(i.middle / value - 1) for value, i in known),
        "median_high_over_low": median(i.factor for _, i in known),
    }


if __name__ == "__main__":
    for quantity in ("tpot", "ttft"):
        for name, row in serving_scores(load_facts(), quantity).items():
            print(quantity, name, *(f"{key}={value:.3g}" for key, value in row.items()))
