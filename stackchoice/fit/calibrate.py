"""Fit the shares of the ceiling anew and write them: ``python -m stackchoice.fit.calibrate``.

Rewrites ``data/shares.yaml`` (the effects behind every decode interval) and
``data/efficiency.yaml`` (plain percentiles by class of device, which people can read, and the
assumed rows it already holds).
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

from stackchoice.facts.datum import sure
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.place import data_dir
from stackchoice.facts.records import Efficiency
from stackchoice.facts.shares import ShareModel
from stackchoice.fit.runs import Run
from stackchoice.fit.shares import DEEP_TOKENS, fit_shares, measured_runs
from stackchoice.fit.shrink import weighted_quantile

PHASES = ("decode", "prefill")

HEADER = """\
sources:
  measurements:
    title: 'public single-stream measurements and the ledger, fitted by stackchoice.fit.calibrate'
    as_of: '2026-11-29'
  judgement: {title: 'judgement, not measured', as_of: '2026-11-29'}
"""


def fitted(facts: Facts) -> tuple[list[ShareModel], list[dict[str, object]]]:
    """Return the fitted shares of both phases and the plain percentiles by class."""
    runs = measured_runs(facts)
    return [fit_shares(runs, phase) for phase in PHASES], _percentiles(runs)


def _percentiles(runs: list[Run]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
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
            rows.append(
                {"device_class": kind, "phase": phase, "low": low, "middle": middle, "high": high,
                 "rows": len(kept), "groups": len(counts)}
            )  # fmt: skip
    return rows


def write(facts: Facts, folder: Path) -> None:
    """Write both files into a ``data/`` folder."""
    models, rows = fitted(facts)
    lines = [HEADER, "share_models:"]
    for model in models:
        lines.append(f"  - phase: {model.phase}")
        for key in ("doubt", "spread", "low", "middle", "high", "rows", "groups"):
            lines.append(f"    {key}: {getattr(model, key)}")
        for key in ("priors", "rough", "terms"):
            lines.append(f"    {key}:")
            lines += [
                f"      '{name}': {list(value) if key == 'terms' else value}"
                for name, value in getattr(model, key).items()
            ]
        lines.append("    together:")
        for name, others in model.together.items():
            pairs = ", ".join(f"'{other}': {value}" for other, value in others.items())
            lines.append(f"      '{name}': {{{pairs}}}")
    (folder / "shares.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    kept = [e for e in facts.efficiencies if e.evidence == "assumed"]
    text = HEADER + "efficiencies:\n" + "".join(_computed(row) for row in rows)
    text += "".join(_assumed(e) for e in kept)
    (folder / "efficiency.yaml").write_text(text, encoding="utf-8")


def _computed(row: dict[str, object]) -> str:
    lines = [f"    {key}: {value}\n" for key, value in row.items()]
    return (
        "  -" + lines[0][3:] + "".join(lines[1:]) + "    evidence: computed\n"
        "    source: measurements\n"
        "    note: 'share of the ceiling; one device, vendor kernels on cards, depth to 4,096'\n"
    )


def _assumed(row: Efficiency) -> str:
    keys = ("device_class", "phase", "threads", "basis", "low", "middle", "high", "rows", "groups")
    lines = [f"    {key}: {getattr(row, key)}\n" for key in keys]
    note = row.note.replace("'", "''")
    return (
        "  -" + lines[0][3:] + "".join(lines[1:]) + "    evidence: assumed\n"
        f"    source: judgement\n    note: '{note}'\n"
    )


if __name__ == "__main__":
    write(load_facts(), data_dir())
