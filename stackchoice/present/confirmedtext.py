"""A confirmation in a few lines: what was predicted, measured and carried out."""

from pathlib import Path

from stackchoice.carried_out import CarriedOut
from stackchoice.confirm import Passport
from stackchoice.confirm.passport import Lengths
from stackchoice.confirmation import interval_text
from stackchoice.facts.datum import sure
from stackchoice.facts.yaml import shown_lines
from stackchoice.load.records import Spread


def describe_carried(found: CarriedOut) -> str:
    """Return what a confirmation says of the decision, number by number."""
    lines = ["the decision's plan, number by number:"]
    for n in found.numbers:
        span = f"predicted {n.predicted[0]:,.3g} to {n.predicted[1]:,.3g}" if n.predicted else ""
        seen = "unknown" if n.measured is None else f"{n.measured:,.4g} {n.unit}"
        said = "; ".join(filter(None, [span, n.must and f"must be {n.must}", f"measured {seen}"]))
        lines.append(f"  {n.measure}: {n.outcome.upper()} ({said}{'; ' if n.why else ''}{n.why})")
    for k in found.kernels:
        ran = k.found or "names none"
        lines.append(
            f"  kernel of {k.part}: {k.outcome.upper()} (predicted {k.predicted}; the log: {ran})"
        )
    lines.append(f"decision: {found.stands} ({'; '.join(found.why)})")
    return shown_lines(*lines)


def describe(passport: Passport, path: Path) -> str:
    """Return a live run in a few lines."""
    lines = []
    prediction = passport.prediction
    if prediction is not None:
        lines.append(f"predicted: {interval_text(prediction)}")
    if passport.label == "HOLD":
        lines.append("HOLD: answers are wrong; it may be timed, and never wins")
        lines += [f"hold: {reason}" for reason in passport.validity.hold]
    results = passport.results
    for label, spread, unit, scale in (
        ("decode", results.decode_tokens_per_s, "tokens/s", 1),
        ("prefill", results.prefill_tokens_per_s, "tokens/s", 1),
        ("TTFT", results.ttft_s, "ms", 1000),
        ("ITL", results.itl_s, "ms", 1000),
        ("end to end", results.end_to_end_s, "ms", 1000),
    ):
        lines.append(f"measured {label}: {_spread(spread, unit, scale)}")
    protocol = passport.protocol
    asked = protocol.output_lengths or Lengths()
    lines.append(f"answers: asked for {asked.asked or 'an unknown length'}, had "
                 f"{protocol.output_tokens or 'unknown'}")  # fmt: skip
    lines.append(f"prefix cache: {protocol.prefix_cache_state or 'unknown'}")
    passed = sum(c.result == "passed" for c in passport.validity.canaries_before)
    lines.append(
        f"canaries: {passed} of {len(passport.validity.canaries_before)} passed "
        "(correctness of the stack, not quality of the model)"
    )
    if floor := passport.validity.floor:
        lines.append(
            f"client floor: TTFT {floor.ttft_error:+.1%}, ITL "
            + ("unknown" if floor.itl_error is None else f"{floor.itl_error:+.1%}")
            + f" of the reference server's truth ({floor.requests} requests, {floor.load})"
        )
    lines += [f"not valid: {reason}" for reason in passport.validity.reasons]
    lines += [f"warning: {text}" for text in passport.validity.warnings]
    lines += [f"probe: {text}" for text in passport.notes]
    lines += [
        f"prediction of {what.replace('_per_s', '/s').replace('_', ' ')}: {verdict}"
        for what, verdict in passport.verdicts.items()
    ]
    return shown_lines(*lines, f"wrote {path}")


def _spread(spread: Spread | None, unit: str, scale: float) -> str:
    if spread is None:
        return "unknown"
    return (
        f"{spread.median * scale:,.1f} {unit} (median of {spread.n}, "
        f"{sure(spread.low) * scale:,.1f} to {sure(spread.high) * scale:,.1f})"
    )
