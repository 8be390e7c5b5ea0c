"""A scored ledger as text for a terminal."""

from stackchoice.score import Score


def describe_score(score: Score) -> str:
    """Return the counts by ask and the lines that are wrong."""
    rows = [f"{'ask':28s} {'lines':>5s} {'right':>5s} {'wrong':>5s} {'unknown':>7s} {'worst':>8s}"]
    for ask, t in score.by_ask.items():
        worst = "" if t.worst_error is None else f"{t.worst_error:8.2%}"
        row = f"{ask:28s} {t.lines:5d} {t.right:5d} {t.wrong:5d} {t.unknown:7d} {worst:>8s}"
        if ask.startswith("read_") and t.share_keys_right is not None:
            row += f"  keys {t.share_keys_right:.0%} right"
        if t.coverage is not None:
            row += (
                f"  covers {t.coverage:.0%}, median high/low {t.median_width:.2f}, "
                f"interval score {t.interval_score:.2f}"
            )
        rows.append(row)
    wrong = [x for x in score.lines if x.counted and not x.right and x.predicted is not None]
    rows += [f"wrong: {x.id}: {x.reason}" for x in wrong]
    apart = [x for x in score.lines if not x.counted]
    if apart:
        rows.append(f"not counted, in the ledger only: {', '.join(x.id for x in apart)}")
    return "\n".join(rows)
