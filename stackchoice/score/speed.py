"""The speed questions of the ledger, answered from ``given`` as intervals."""

from collections.abc import Callable
from typing import Any

from stackchoice.facts.load import Facts
from stackchoice.facts.measurements import repository
from stackchoice.facts.shares import ShareModel
from stackchoice.fit.asked import asked_run
from stackchoice.fit.measured import calibrated_factors
from stackchoice.fit.runs import Run
from stackchoice.fit.shares import fit_shares, measured_runs
from stackchoice.fit.speculation import speculative_speedup
from stackchoice.score.given import Answer, Given, Unknown

#: Fits already made, by facts, phase and the source that was left out.
_FITS: dict[tuple[str, str, str | None], ShareModel] = {}
_RUNS: dict[str, list[Run]] = {}


def decode_tokens_per_s(given: Given, facts: Facts, source_url: str | None = None) -> Answer:
    """Answer with the share of the bandwidth ceiling, times what speculation gains if it is on."""
    run = asked_run("decode_tokens_per_s", given, facts)
    answer = answer_run(run, facts, source_url)
    if speculation := given.get("speculation"):
        gain = speculative_speedup(
            "moe" if run.sparse else "dense", speculation.get("num_speculative_tokens"),
            length=_length(speculation), acceptance_rate=speculation.get("acceptance_rate"),
            context_tokens=given.get("context_tokens"),
        )  # fmt: skip
        middle = answer["tokens_per_s"] * gain.middle
        # Independent factors: relative widths add as squares.
        down = ((answer["tokens_per_s"] / answer["low"] - 1) ** 2
                + (gain.middle / gain.low - 1) ** 2) ** 0.5  # fmt: skip
        up = ((answer["high"] / answer["tokens_per_s"] - 1) ** 2
              + (gain.high / gain.middle - 1) ** 2) ** 0.5  # fmt: skip
        answer = {**answer, "tokens_per_s": middle, "low": middle / (1 + down),
                  "high": middle * (1 + up)}  # fmt: skip
    return answer


def prefill_tokens_per_s(given: Given, facts: Facts, source_url: str | None = None) -> Answer:
    """Answer with the share of the compute ceiling."""
    return answer_run(asked_run("prefill_tokens_per_s", given, facts), facts, source_url)


def answer_run(run: Run, facts: Facts, source_url: str | None) -> Answer:
    """Return low, middle and high of a run, its own source left out of the fit."""
    ceiling = run.ceiling
    if ceiling is None:
        missing = (
            "the bandwidth or the bytes read per token" if run.phase == "decode"
            else "the machine's dense rate or the active parameters"
        )  # fmt: skip
        raise Unknown(f"no ceiling: {missing} cannot be had from what is given")
    model = share_model(run.phase, facts, source_url)
    low, middle, high = (f * ceiling for f in calibrated_factors(model, run))
    return {"tokens_per_s": middle, "low": low, "high": high, "ceiling_tokens_per_s": ceiling}


def share_model(phase: str, facts: Facts, source_url: str | None) -> ShareModel:
    """Fit a phase without one source, once."""
    without = repository(source_url) if source_url else None
    key = (facts.sha256, phase, without)
    if key not in _FITS:
        if facts.sha256 not in _RUNS:
            _RUNS[facts.sha256] = measured_runs(facts)
        _FITS[key] = fit_shares(_RUNS[facts.sha256], phase, without=without)
    return _FITS[key]


def speculative(given: Given, facts: Facts, source_url: str | None = None) -> Answer:
    """Answer with accepted tokens a step over what the step then costs; nothing is fitted."""
    if given.get("model_kind") not in ("dense", "moe"):
        raise Unknown("model_kind is neither dense nor moe")
    gain = speculative_speedup(
        given["model_kind"], given.get("num_speculative_tokens"), length=_length(given),
        acceptance_rate=given.get("acceptance_rate"), context_tokens=given.get("context_tokens"),
        concurrency=given.get("concurrency") or 1,
    )  # fmt: skip
    return {"speedup": gain.middle, "low": gain.low, "high": gain.high}


def _length(stated: dict[str, Any]) -> tuple[float, float] | float | None:
    if "accept_len_low" in stated:
        return stated["accept_len_low"], stated.get("accept_len_high", stated["accept_len_low"])
    return stated.get("accept_len")


ASKS: dict[str, Callable[..., Answer]] = {
    "decode_tokens_per_s": decode_tokens_per_s,
    "prefill_tokens_per_s": prefill_tokens_per_s,
    "speculative_speedup": speculative,
}
