"""The decision in a few lines, for a terminal."""

from stackchoice.choose import Decision
from stackchoice.fit.admissions import DEFAULTS


def summary(decision: Decision) -> str:
    """Return the decision in a few lines."""
    fit, cost = decision.fit, decision.cost
    lines = [decision.title, f"  {decision.verdict}"]
    if decision.recommended:
        lines.append(
            f"  recommended: {decision.recommended} ({decision.recommended_configuration})"
        )
    if decision.best_self_hosted:
        lines.append(f"  best self-hosted: {decision.best_self_hosted_configuration}")
    if fit.note:
        lines.append(f"  {fit.note}")
    for row in fit.rows:
        live = (
            "unknown" if row.live_sequences is None else f"{row.sequences} ({row.evidence.value})"
        )
        lines.append(f"  live sequences, {row.basis}: {live}")
    if fit.rows:
        basis = fit.rows[0].basis
        admitted = [
            f"{row.engine} {row.sequences}" + (f" ({row.unsure})" if row.unsure else "")
            for row in fit.admissions
            if (row.basis, row.settings) == (basis, DEFAULTS)
            and row.live_sequences is not None
            and not row.refused
        ]
        lines.append(f"  what each engine admits, {basis}: {', '.join(admitted) or 'unknown'}")
    for line in cost.lines:
        if line.infrastructure_usd is None or line.total_usd is None:
            lines.append(f"  {line.path}: USD a month unknown")
            continue
        lines.append(
            f"  {line.path}: {line.infrastructure_usd:,.2f} USD a month ({line.evidence.value}), "
            f"{line.total_usd:,.2f} with people and one-time cost ({line.total_evidence.value})"
        )
    lines += [f"  {text}" for text in decision.remarks]
    lines += [f"  on condition: {text}" for text in decision.conditions]
    return "\n".join(lines)
