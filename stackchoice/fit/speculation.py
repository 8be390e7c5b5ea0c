"""What draft tokens gain: tokens a step against what a step then costs.

``speedup = accepted length / (1 + draft tokens x cost)``, the cost being that of one more drafted
and verified token relative to a plain step (Leviathan, Kalman and Matias 2023, equation 4, with
the verification not free). Dense weights are read once for all drafts, so only the drafter and
the cache cost; a mixture of experts reads up to the experts of every token.
"""

from stackchoice.facts.datum import Evidence
from stackchoice.facts.interval import Interval

#: Cost of one draft token, as a share of a plain step: from a drafter of one layer in twenty to
#: launches that are not hidden (dense), up to the experts of every draft token besides (sparse).
COST = {"dense": (0.05, 0.15, 0.4), "moe": (0.25, 0.6, 1.5)}

#: Share of drafts accepted where nobody says: a weak and a strong drafter.
ACCEPTANCE = (0.35, 0.65, 0.85)

#: Draft tokens where nobody says.
DRAFTS = 3

#: Context at which reading the cache for each draft costs as much as a plain step, at most.
CONTEXT_TOKENS = 65_536


def accepted_length(drafts: int, acceptance_rate: float) -> float:
    """Tokens a step: the free one and the accepted drafts (rate = accepted over drafted)."""
    return 1 + drafts * acceptance_rate


def speculative_speedup(
    kind: str,
    drafts: int | None = None,
    *,
    length: tuple[float, float] | float | None = None,
    acceptance_rate: float | None = None,
    context_tokens: int | None = None,
    concurrency: int = 1,
) -> Interval:
    """Return speed with drafts over speed without.

    Parameters
    ----------
    kind
        ``"dense"`` or ``"moe"``.
    length
        Measured tokens a step, one figure or a range; else from ``acceptance_rate``, else assumed.
    concurrency
        Other streams fill the same step, so each draft costs more: the dense cost moves towards
        that of compute, ``1 - 1 / concurrency`` of a token more.
    """
    count = drafts or DRAFTS
    assumed = length is None and acceptance_rate is None
    if length is not None:
        lengths = (length, length) if isinstance(length, int | float) else length
        low, high = min(lengths), max(lengths)
        middle = (low + high) / 2
    elif acceptance_rate is not None:
        low = middle = high = accepted_length(count, acceptance_rate)
    else:
        low, middle, high = (accepted_length(count, rate) for rate in ACCEPTANCE)
    cheap, usual, dear = COST[kind]
    depth = (context_tokens or 0) / CONTEXT_TOKENS
    crowd = 1 - 1 / max(1, concurrency)
    return Interval(
        low=low / (1 + count * (dear + depth + crowd)),
        middle=middle / (1 + count * (usual + depth / 2 + crowd / 2)),
        high=high / (1 + count * cheap),
        unit="times",
        evidence=Evidence.ASSUMED if assumed else Evidence.INFERRED,
        rests_on=["an assumed acceptance of drafts" if assumed else "the acceptance given"],
    )
