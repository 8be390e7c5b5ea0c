"""Right answers about the worked case and the fact base, each asked of the product itself.

Beside the right answer stand known wrong ones (traps), worked out in the same way, so that a wrong
answer is met with what went wrong.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from stackchoice.choose import Decision, decide
from stackchoice.choose.against import over_releases
from stackchoice.facts.datum import sure
from stackchoice.facts.load import Facts, load_facts
from stackchoice.fit import PremiseCheck, check_premises, launch, size
from stackchoice.fit.admissions import AdmissionRow
from stackchoice.fit.memory import GB, GIB
from stackchoice.fit.sizing import Sizing
from stackchoice.scenario import load_scenario
from stackchoice.scenario.words import label
from stackchoice.workshop.asked import load_questions
from stackchoice.workshop.published import AFTER, BEFORE, CACHING, FOUR, attribution, rate
from stackchoice.workshop.samples import DOWNLOADS, MACHINE, check_log, wall

#: The worked case, its model and the machines of the lessons.
CASE, MODEL, CARD = "json-chat", "Qwen/Qwen3.8-27B", "h100_sxm"
SMALLER, WIDE, NARROW, SUPERCHIP = f"{MODEL}-FP8", "rtx_pro_6000_bw", "dgx_spark", "gh200_96"
#: The start that printed the figures of the premise trap.
TRAP_ENGINE = ("vllm", "0.19.1")
CONTEXT = 8192
MIB = 2**20


class Expected(NamedTuple):
    """The right answer (several where more than one is), and known wrong ones by name."""

    right: Any
    traps: dict[str, Any] = {}


@cache
def facts() -> Facts:
    """The fact base, read once."""
    return load_facts()


@cache
def decision() -> Decision:
    """The decision on the worked case."""
    return decide(load_scenario(CASE), facts())


@cache
def sized(machine: str = CARD, artifact: str = MODEL, context_tokens: int = CONTEXT) -> Sizing:
    """Question 1 for the model of the worked case."""
    model = facts().models[MODEL]
    return size(model, model.artifact(artifact), facts().machines[machine], facts(),
                context_tokens=context_tokens)  # fmt: skip


@cache
def premise(printed: int, memory_gib: float | None = None, drafts: int = 0) -> PremiseCheck:
    """Hold a printed pool against every reading of the release."""
    settings = {"num_speculative_tokens": drafts} if drafts else {}
    config = sure(facts().models[MODEL].config.value)
    asked = launch(
        *TRAP_ENGINE, config, kv_dtype="fp8", draft_layers=min(drafts, 1), settings=settings,
        facts=facts(),
    )  # fmt: skip
    return check_premises(asked, printed_tokens=printed, memory_gib=memory_gib)


def _ceiling(machine: str) -> float:
    speed = sized(machine, SMALLER, 1).speed
    assert speed is not None
    return float(speed.decode_ceiling_tokens_per_s or 0)


def _tokens_at_context() -> int:
    """Bytes that the tokens of one sequence take, its state left out."""
    return next(p.bytes_at_context for p in sized().premises if p.true)


def _loop_weights() -> Expected:
    size_bytes = sure(facts().models[MODEL].artifact(SMALLER).weights_bytes.value)
    return Expected(size_bytes / GB, {"binary": size_bytes / GIB})


def _loop_machines() -> Expected:
    ratio = _ceiling(WIDE) / _ceiling(NARROW)
    return Expected(ratio, {"upside_down": 1 / ratio})


def _memory_token() -> Expected:
    alike = next(p for p in sized().premises if "GQA" in p.name)
    every = next(p for p in sized().premises if "MHA" in p.name)
    right = sure(sized().kv_bytes_per_token)
    return Expected(right, {"all_layers": alike.bytes_per_token, "all_heads": every.bytes_per_token,
                            "keys_only": right / 2})  # fmt: skip


def _in_mib(size_bytes: int, **traps: float) -> Expected:
    return Expected(size_bytes / MIB, {**traps, "decimal": size_bytes / 1e6})


def _memory_pool() -> Expected:
    right = sure(decision().fit.rows[0].pool_bytes)
    work = sure(decision().fit.rows[0].workspace_bytes)
    return Expected(right / GIB, {"decimal": right / GB, "no_workspace": (right + work) / GIB})


def _memory_live() -> Expected:
    row = decision().fit.rows[0]
    return Expected(row.live_sequences, {"no_state": sure(row.pool_bytes) // _tokens_at_context()})


def _on_the_budget() -> list[AdmissionRow]:
    """Return what engines admit on the course's own budget."""
    budget = decision().fit.rows[0].basis
    return [a for a in decision().fit.admissions if a.basis == budget]


def _live(settings: str) -> int:
    return next(
        a.live_sequences or 0 for a in _on_the_budget()
        if a.engine == "vLLM" and settings in a.settings
    )  # fmt: skip


def _memory_least() -> Expected:
    rows = [a for a in _on_the_budget() if a.live_sequences]
    return Expected(min(rows, key=lambda a: a.live_sequences or 0).engine)


def _memory_rounding() -> Expected:
    quotient = decision().fit.rows[0].live_sequences
    return Expected(tuple(
        a.engine for a in _on_the_budget()
        if a.rule not in (None, "quotient") and a.live_sequences == quotient
    ))  # fmt: skip


def _separates(check: PremiseCheck) -> Expected:
    return Expected("yes" if check.separable else "no")


def _premise_line() -> Expected:
    lines = premise(448448, 54.82).would_decide
    choices = load_questions()["premise.line"].choices
    return Expected(next(c for c in choices if any(c in line for line in lines)))


def _arithmetic(name: str, machine: str = MACHINE) -> str:
    path = wall(name, facts(), machine).path
    assert path is not None
    return str(next(p.prefill.arithmetic for p in path.parts if p.part.part == "linear"))


def _download(own: int, sticker: int) -> Expected:
    return Expected(_arithmetic(DOWNLOADS[own]), {"sticker": _arithmetic(DOWNLOADS[sticker])})


def _kernels_log_kernel() -> Expected:
    boot = check_log(DOWNLOADS[0], facts()).reading.boots[0]
    return Expected(str(boot.value("linear_kernel")))


def _kernels_log_file() -> Expected:
    fitting = [
        name for name in DOWNLOADS
        if any(c.part == "linear" and c.outcome == "confirmed"
               for c in check_log(name, facts()).checks[0])
    ]  # fmt: skip
    return Expected(fitting[0] if len(fitting) == 1 else "cannot tell")


def _choice_volume() -> Expected:
    volume = decision().cost.volume
    assert volume is not None
    month = volume.input_tokens / 1e6
    return Expected(month, {"one_day": month / 30, "answers": volume.output_tokens / 1e6})


def _choice_quantise() -> Expected:
    fit = decision().fit
    enough = (fit.rows[0].live_sequences or 0) >= (fit.needed_concurrency or 0)
    return Expected("no" if enough else "yes")


def _choice_difference() -> Expected:
    totals = {line.path: line.total_usd or 0 for line in decision().cost.lines}
    bare = {line.path: totals[line.path] - (line.people_usd or 0) for line in decision().cost.lines}
    return Expected(totals["owned"] - totals["managed"],
                    {"no_people": bare["owned"] - bare["managed"]})  # fmt: skip


def _choice_break_even() -> Expected:
    owned = [b for b in decision().cost.break_even if b.against.startswith("owned")]
    ever = any(b.mtok_per_month is not None for b in owned)
    return Expected("at some volume" if ever else "never")


def _choice_ten_percent() -> Expected:
    row = next(f for f in decision().cost.faster if f.engine == "any stack ten percent faster")
    return Expected("yes" if row.extra_fte >= 0.25 else "no")


def _choice_flip() -> Expected:
    found = [f for f in decision().flips if f.changes_recommendation and f.within_range]
    names = load_questions()["choice.flip"].choices
    said = {label(f.input) for f in found}
    return Expected(tuple(n for n in names if n in said))


def _gain(phase: str) -> float:
    return 100 * (rate(AFTER, phase) / rate(BEFORE, phase) - 1)


def _release_decode() -> Expected:
    gain = _gain("decode")
    return Expected(gain, {"of_new": 100 * (1 - 1 / (1 + gain / 100))})


def _release_fewer() -> Expected:
    pairs = pairwise(over_releases(load_scenario(CASE), facts(), "vllm"))
    fell = [b.release for a, b in pairs if (b.live_sequences or 0) < (a.live_sequences or 0)]
    return Expected(fell[0] if len(fell) == 1 else tuple(fell))


def _release_consistent() -> Expected:
    choices = load_questions()["release.consistent"].choices
    by_pattern = dict(zip(("decode alone", "prefill alone", "both together"), choices, strict=True))
    return Expected(by_pattern[attribution().pattern])


def _knobs_expected() -> Expected:
    caching_leaves = rate(CACHING) / rate(AFTER)
    mixed_gain = rate(FOUR) / rate(CACHING)
    return Expected(rate(FOUR) * caching_leaves, {"mixed": rate(CACHING) * mixed_gain})


def _knobs_gain() -> Expected:
    right = 100 * (rate(FOUR) / rate(AFTER) - 1)
    return Expected(right, {"mixed": 100 * (rate(FOUR) / rate(CACHING) - 1)})


#: What answers each question.
SOLVERS: dict[str, Callable[[], Expected]] = {
    "loop.weights": _loop_weights,
    "loop.ceiling": lambda: Expected(_ceiling(SUPERCHIP)),
    "loop.two_machines": _loop_machines,
    "memory.token": _memory_token,
    "memory.tokens_8192": lambda: _in_mib(_tokens_at_context()),
    "memory.state": lambda: _in_mib(sized().state_bytes_per_sequence or 0),
    "memory.sequence": lambda: _in_mib(
        sized().bytes_per_sequence or 0, no_state=_tokens_at_context() / MIB
    ),
    "memory.pool": _memory_pool,
    "memory.live": _memory_live,
    "memory.least": _memory_least,
    "memory.caching": lambda: Expected(_live("prefix caching off") - _live("defaults")),
    "memory.rounding": _memory_rounding,
    "premise.readings": lambda: Expected(len(premise(448448, 54.82).reproducing)),
    "premise.separates": lambda: _separates(premise(448448, 54.82)),
    "premise.line": _premise_line,
    "premise.second": lambda: _separates(premise(241600, drafts=2)),
    "kernels.first": lambda: _download(0, 1),
    "kernels.second": lambda: _download(1, 0),
    "kernels.older_chip": lambda: Expected(_arithmetic(DOWNLOADS[0], CARD)),
    "kernels.log_kernel": _kernels_log_kernel,
    "kernels.log_file": _kernels_log_file,
    "choice.volume": _choice_volume,
    "choice.quantise": _choice_quantise,
    "choice.engine": lambda: Expected(decision().best_self_hosted),
    "choice.recommended": lambda: Expected(
        decision().recommended, {"self_hosted": decision().best_self_hosted or ""}
    ),
    "choice.difference": _choice_difference,
    "choice.break_even": _choice_break_even,
    "choice.ten_percent": _choice_ten_percent,
    "choice.flip": _choice_flip,
    "release.decode": _release_decode,
    "release.prefill": lambda: Expected(_gain("prefill")),
    "release.fewer": _release_fewer,
    "release.consistent": _release_consistent,
    "knobs.expected": _knobs_expected,
    "knobs.gain": _knobs_gain,
}
