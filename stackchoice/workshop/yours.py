"""Right answers about what the learner made: trials, a scenario's decision, a passport."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from stackchoice.choose import Decision
from stackchoice.confirm import Passport
from stackchoice.errors import InputError
from stackchoice.workshop.arms import BASELINE, CLAIMS, arm, fault_of
from stackchoice.workshop.trials import Trial
from stackchoice.workshop.worked import Expected

#: Parts of a passport in which an unknown is looked for.
_PARTS = ("identity", "results")
T = TypeVar("T")


def _trial(given: Any, name: str) -> Trial:
    if not isinstance(given, Mapping) or not isinstance(given.get(name), Trial):
        raise InputError(f"given: no trial {name!r} in it; give what run({name!r}, ...) returned")
    trial: Trial = given[name]
    return trial


def _a(kind: type[T], given: Any, how: str) -> T:
    if not isinstance(given, kind):
        raise InputError(f"given: a {type(given).__name__}, not a {kind.__name__}; {how}")
    return given


def _longer(trial: Trial) -> str:
    """Which phase took more of the request, from its own stamps."""
    (sample,) = trial.samples
    if sample.ttft_s is None or sample.end_to_end_s is None:
        raise InputError(f"given: {trial.name!r} was not answered; run it again")
    return "prefill" if sample.ttft_s > sample.end_to_end_s - sample.ttft_s else "decode"


def _warm(given: Any) -> Expected:
    cached = [s.cached_tokens for s in _trial(given, "cold then warm").samples]
    return Expected(cached[-1], {"first": cached[0] or 0})


def _context(given: Any) -> Expected:
    trial = _trial(given, "long prompt four slots")
    return Expected(trial.realised_context_tokens, {"configured": trial.setup.context_tokens})


def _slots(given: Any) -> Expected:
    trial = _trial(given, "four users one slot")
    first = sorted(s.ttft_s or 0 for s in trial.samples)
    rates = sorted(s.itl_s or 0 for s in trial.samples)
    grew = first[-1] / first[0] > rates[-1] / rates[0]
    return Expected("time to first token" if grew else "time between tokens")


def _canary(given: Any) -> Expected:
    right = {n: any("Paris" in s.text for s in _trial(given, f"capital {n}").samples)
             for n in ("f16", "q4_1")}  # fmt: skip
    broken = [name for name, ok in right.items() if not ok]
    return Expected(broken[0] if len(broken) == 1 else "neither" if not broken else "both")


def _exposes(number: int) -> Callable[[], Expected]:
    return lambda: Expected(fault_of(arm(CLAIMS[number]), arm(BASELINE)))


#: These need nothing given: the arms are recorded.
ARMS = {f"bench.claim_{n + 1}": _exposes(n) for n in range(len(CLAIMS))}


def _recommended(given: Any) -> Expected:
    decision = _a(Decision, given, "give panel.decision")
    return Expected(decision.recommended or "nothing",
                    {"self_hosted": decision.best_self_hosted or ""})  # fmt: skip


def _valid(given: Any) -> Expected:
    passport = _a(Passport, given, "give the passport that confirm returned")
    return Expected("yes" if passport.validity.valid else "no")


def _cache(given: Any) -> Expected:
    share = _a(Passport, given, "give the passport").validity.largest_cached_share
    return Expected("not known" if share is None else "cold" if share <= 0.01 else "warm")


def _unknown(given: Any) -> Expected:
    passport = _a(Passport, given, "give the passport")
    return Expected(tuple(item for part, item, text in passport.rows()
                          if part in _PARTS and text == "unknown"))  # fmt: skip


def _knobs(given: Any) -> Expected:
    none, reuse, short, both = (
        _trial(given, f"knobs {n}").wall_s for n in ("none", "reuse", "short", "both")
    )
    multiplied = (none / reuse) * (none / short)
    return Expected("more" if none / both > multiplied else "less")


#: What answers each question about something given.
SOLVERS: dict[str, Callable[[Any], Expected]] = {
    "loop.long_prompt": lambda given: Expected(_longer(_trial(given, "long prompt"))),
    "loop.long_answer": lambda given: Expected(_longer(_trial(given, "long answer"))),
    "fault.warm": _warm,
    "fault.context": _context,
    "fault.slots": _slots,
    "fault.canary": _canary,
    "mine.recommended": _recommended,
    "mine.valid": _valid,
    "mine.cache": _cache,
    "mine.unknown": _unknown,
    "knobs.both": _knobs,
}
