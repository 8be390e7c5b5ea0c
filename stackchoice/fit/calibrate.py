"""Fit the shares of the ceiling anew and write them: ``python -m stackchoice.fit.calibrate``.

Rewrites ``data/shares.yaml`` (the effects behind every decode interval) and
``data/efficiency.yaml`` (plain percentiles by class of device, which people can read, and the
assumed rows it already holds).
"""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from stackchoice.facts.datum import sure
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.place import data_dir
from stackchoice.facts.shares import ShareModel
from stackchoice.facts.yaml import write_facts
from stackchoice.fit.runs import Run
from stackchoice.fit.shares import DEEP_TOKENS, fit_shares, measured_runs
from stackchoice.fit.shrink import weighted_quantile

PHASES = ("decode", "prefill")

SOURCES = {
    "measurements": {
        "title": "public single-stream measurements and the ledger, fitted by "
        "stackchoice.fit.calibrate",
        "as_of": "2026-11-29",
    },
    "judgement": {"title": "judgement, not measured", "as_of": "2026-11-29"},
}
NOTE = "share of the ceiling; one device, vendor kernels on cards, depth to 4,096"


def fitted(facts: Facts) -> tuple[list[ShareModel], list[dict[str, object]]]:
    """Return the fitted shares of both phases and the plain percentiles by class."""
    runs = measured_runs(facts)
    return [fit_shares(runs, phase) for phase in PHASES], list(_percentiles(runs))


def _percentiles(runs: list[Run]) -> Iterator[dict[str, object]]:
    for phase in PHASES:
        for kind in ("gpu", "unified", "cpu"):
            kept = [
                r for r in runs
                if (r.phase, r.device_class) == (phase, kind) and r.sound and r.devices == 1
                and r.depth_tokens <= DEEP_TOKENS and r.engine_family != "other"
                # Vulkan and SYCL say nothing of what a card's own kernels reach.
                and (kind != "gpu" or r.kernels != "portable")
            ]  # fmt: skip
            counts = Counter(r.source for r in kept)
            if len(counts) < 2:
                continue
            shares = [math.log(sure(r.tokens_per_s) / sure(r.ceiling)) for r in kept]
            weights = [1 / counts[r.source] for r in kept]
            low, middle, high = (
                round(math.exp(weighted_quantile(shares, weights, q)), 3) for q in (0.1, 0.5, 0.9)
            )
            yield {"device_class": kind, "phase": phase, "low": low, "middle": middle, "high": high,
                   "rows": len(kept), "groups": len(counts)}  # fmt: skip


def write(facts: Facts, folder: Path) -> None:
    """Write both files into a ``data/`` folder."""
    models, rows = fitted(facts)
    computed = [
        {**row, "evidence": "computed", "source": "measurements", "note": NOTE} for row in rows
    ]
    assumed = [
        {**e.model_dump(exclude={"source"}), "source": "judgement"}
        for e in facts.efficiencies if e.evidence == "assumed"
    ]  # fmt: skip
    shares = [model.model_dump(mode="json") for model in models]
    write_facts(folder / "shares.yaml", {"sources": SOURCES, "share_models": shares})
    efficiencies = {"sources": SOURCES, "efficiencies": computed + assumed}
    write_facts(folder / "efficiency.yaml", efficiencies)


if __name__ == "__main__":
    write(load_facts(), data_dir())
