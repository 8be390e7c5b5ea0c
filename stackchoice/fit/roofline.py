"""The roofline of one replica: what arithmetic a byte read allows, and where a stream stands.

Attainable operations a second are ``min(peak, bandwidth x intensity)``, intensity being operations
a byte (Williams, Waterman, Patterson 2009). A token takes two operations a parameter; a decode step
reads its bytes for one token, prefill reads the weights once for a whole prompt.
"""

from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.interval import Interval
from stackchoice.fit.runs import TERA
from stackchoice.fit.speed import Speed

#: Operations that one parameter costs a token: a multiplication and an addition.
OPERATIONS = 2


class Stand(Record):
    """One point under the roof: operations a byte, and 10^12 operations a second reached."""

    name: str
    intensity: float
    low: float
    middle: float
    high: float
    evidence: Evidence


class Roofline(Record):
    """Peak in 10^12 operations/s, the intensity that reaches it, and what stands under it."""

    peak: float
    bandwidth_gb_per_s: float
    ridge: float
    stands: list[Stand]

    def roof(self, intensity: float) -> float:
        """Return the attainable 10^12 operations/s at an intensity."""
        return min(self.peak, self.peak * intensity / self.ridge)


def roofline(
    speed: Speed, *, active_parameters: float, weights_bytes: int, prompt_tokens: float,
    measured: Interval | None = None,
) -> Roofline | None:  # fmt: skip
    """Return the roofline of a replica with its predictions under it; None where one is unknown.

    Parameters
    ----------
    weights_bytes
        Read once for a prompt.
    measured
        Decode rates of one stream that were measured, in tokens/s.
    """
    step, decode, prefill = speed.bytes_per_decode_step, speed.decode, speed.prefill
    tops = speed.decode_ceiling_tokens_per_s, speed.prefill_ceiling_tokens_per_s
    if step is None or decode is None or prefill is None or None in tops:
        return None
    token = OPERATIONS * active_parameters
    read = (tops[0] or 0.0) * step
    peak = (tops[1] or 0.0) * token

    def stand(name: str, rates: Interval, intensity: float) -> Stand:
        ends = {end: getattr(rates, end) * token / TERA for end in ("low", "middle", "high")}
        return Stand(name=name, intensity=intensity, evidence=rates.evidence, **ends)

    per_step, per_prompt = token / step, token * max(prompt_tokens, 1) / weights_bytes
    stands = [stand("decode, predicted", decode, per_step),
              stand("prefill, predicted", prefill, per_prompt)]  # fmt: skip
    if measured is not None:
        stands.append(stand("decode, measured", measured, per_step))
    return Roofline(
        peak=peak / TERA, bandwidth_gb_per_s=read / 10**9, ridge=peak / read, stands=stands
    )
