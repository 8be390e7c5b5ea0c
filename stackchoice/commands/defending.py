"""What stands behind a decision, what sets two apart, and releases in a row, for a terminal."""

from stackchoice.choose.against import Comparison, ReleaseRow
from stackchoice.choose.carried import Plan, Runnable
from stackchoice.choose.defend import Defence
from stackchoice.present.text import cents, in_words


def defence_text(found: Defence) -> str:
    """Return tornado, distances and shares of draws in lines."""
    lines = ["What the monthly total hangs on, the widest first:"]
    for tornado in found.tornados:
        lines.append(f"  {tornado.option}: {cents(tornado.usd)}")
        lines += [
            f"    {bar.input}: {cents(bar.usd_at_low)} at {_value(bar.low)}, "
            f"{cents(bar.usd_at_high)} at {_value(bar.high)} ({bar.evidence.value})"
            for bar in tornado.bars
        ]
    lines.append("How far the next answer is, beyond what was given:")
    lines += [f"  {flip.text}" for flip in found.beyond]
    shares = found.shares
    lines.append(f"Over {shares.draws:,} draws in {shares.groups} groups (seed {shares.seed}):")
    lines += [f"  {name}: {share:.1%}" for name, share in shares.wins.items()]
    never = shares.never_breaks_even
    lines.append(
        "  owning never breaks even: "
        + ("nothing to compare" if never is None else f"{never:.1%} of groups")
    )
    lines.append(f"  standard error at most {shares.standard_error:.1%}. {shares.method}")
    return "\n".join(lines)


def carried_text(runnable: list[Runnable], plan: Plan | None) -> str:
    """Return what to run, and what to measure before money is spent."""
    lines = []
    for one in runnable:
        what = f"{one.engine} {one.release}, {one.machine}" if one.engine else one.seller
        lines.append(f"{one.role}: {one.artifact} ({what})")
        lines.append(f"  revision {one.revision or 'unknown'}")
        lines += [f"  $ {command}" for command in one.commands]
        lines += [f"  not set: {text}" for text in one.not_set]
        lines += [f"  limit: {text}" for text in one.limits]
        lines += [f"  note: {text}" for text in one.notes]
    if plan is None:
        return "\n".join(lines)
    lines.append(f"before the card is bought: measure {plan.measurement} ({plan.why})")
    if plan.rental is not None:
        rent = plan.rental
        lines.append(
            f"  rent {rent.machine} for {rent.hours:g} hours: {cents(rent.usd)}, stop at "
            f"{cents(rent.usd_cap)}" + (f"; {rent.note}" if rent.note else "")
        )
    if plan.metered is not None:
        spend = plan.metered
        lines.append(
            f"  {spend.requests} requests at {spend.seller}: {cents(spend.usd)}, hard cap "
            f"{cents(spend.usd_cap)}"
        )
    for limit in plan.limits:
        passes = (
            f"at least {limit.pass_at_least:,.3g}" if limit.pass_at_least is not None
            else f"at most {limit.pass_at_most:,.3g}"
        )  # fmt: skip
        lines.append(f"  pass: {limit.measure} {passes} {limit.unit} ({limit.derived_from})")
    lines += [f"  ask first: {text}" for text in plan.ask_first]
    return "\n".join(lines)


def comparison_text(found: Comparison) -> str:
    """Return two scenarios side by side: what differs, and what each difference changes."""
    lines = [f"{found.one}: {found.answers[0]}", f"{found.two}: {found.answers[1]}"]
    for change in found.changes:
        lines.append(f"  {change.key}: {in_words(change.before)} -> {in_words(change.after)}")
        lines += [f"    without {what}" for what in change.without]
        if change.note:
            lines.append(f"    {change.note}")
        elif change.changes_answer:
            lines.append(f"    by itself it makes the answer {change.answer}")
        elif not change.steps:
            lines.append("    by itself it changes no step")
        for step in change.steps[:1]:
            more = len(change.steps) - 1
            lines.append(
                f"    {step.question}, {step.rule}: {step.before or 'no such step'} -> "
                f"{step.after or 'no such step'}" + (f" (and {more} more)" if more else "")
            )
    return "\n".join(lines)


def releases_text(engine: str, rows: list[ReleaseRow]) -> str:
    """Return the answer at each release of an engine, with what to test again."""
    lines = [f"{engine}, release by release; its features are those of the newest one read"]
    for row in rows:
        live = "unknown" if row.live_sequences is None else f"{row.live_sequences}"
        lines.append(
            f"  {row.release} ({row.date}): {row.recommended or 'no recommendation'}, self-hosted "
            f"{row.best_self_hosted or 'none'}; {engine} {row.status}, {live} live sequences"
        )
        lines += [f"    moved: {text}" for text in row.moved]
        if row.retest:
            lines.append(f"    {row.retest}")
    return "\n".join(lines)


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,g}"
