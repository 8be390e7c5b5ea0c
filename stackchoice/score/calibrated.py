"""What rows measured on the same set-up do to the speed intervals of its other rows."""

from stackchoice.facts.datum import content_hash
from stackchoice.facts.load import Facts
from stackchoice.fit.measured import calibrated_factors
from stackchoice.fit.runs import Run, measured_run
from stackchoice.score.speed import share_model


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
