"""Right answers about the worked case and the fact base, each asked of the product itself.

Beside the right answer stand known wrong ones (traps), worked out in the same way, so that a wrong
answer is met with what went wrong.
"""

from __future__ import annotations

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
from stackchoice.workshop.asked import load_questions
from stackchoice.workshop.published import AFTER, BEFORE, CACHING, FOUR, attribution, rate
from stackchoice.workshop.samples import DOWNLOADS, check_log, wall

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


SOLVERS: dict[str, Callable[[], Expected]] = {}


def solves(name: str) -> Callable[[Callable[[], Expected]], Callable[[], Expected]]:
    """Register what answers a question."""

    def registered(solver: Callable[[], Expected]) -> Callable[[], Expected]:
        SOLVERS[name] = solver
        return solver

    return registered


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


def admitted(engine: str, settings: str = "") -> AdmissionRow:
    """Return what an engine admits on the course's own budget."""
    budget = decision().fit.rows[0].basis
    return next(
        a for a in decision().fit.admissions
        if a.engine == engine and a.basis == budget and settings in a.settings
    )  # fmt: skip


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


@solves("loop.weights")
def _() -> Expected:
    size_bytes = sure(facts().models[MODEL].artifact(SMALLER).weights_bytes.value)
    return Expected(size_bytes / GB, {"binary": size_bytes / GIB})


@solves("loop.ceiling")
def _() -> Expected:
    return Expected(_ceiling(SUPERCHIP))


@solves("loop.two_machines")
def _() -> Expected:
    ratio = _ceiling(WIDE) / _ceiling(NARROW)
    return Expected(ratio, {"upside_down": 1 / ratio})


def _sequence(kind: str) -> Any:
    return next(g for g in sized().layers if g.kind == kind)


@solves("memory.token")
def _() -> Expected:
    alike = next(p for p in sized().premises if "GQA" in p.name)
    every = next(p for p in sized().premises if "MHA" in p.name)
    right = sure(sized().kv_bytes_per_token)
    return Expected(right, {"all_layers": alike.bytes_per_token, "all_heads": every.bytes_per_token,
                            "keys_only": right / 2})  # fmt: skip


@solves("memory.tokens_8192")
def _() -> Expected:
    right = next(p.bytes_at_context for p in sized().premises if p.true)
    return Expected(right / MIB, {"decimal": right / 1e6})


@solves("memory.state")
def _() -> Expected:
    right = sized().state_bytes_per_sequence or 0
    return Expected(right / MIB, {"decimal": right / 1e6})


@solves("memory.sequence")
def _() -> Expected:
    right = sized().bytes_per_sequence or 0
    tokens = next(p.bytes_at_context for p in sized().premises if p.true)
    return Expected(right / MIB, {"no_state": tokens / MIB, "decimal": right / 1e6})


@solves("memory.pool")
def _() -> Expected:
    right = sure(decision().fit.rows[0].pool_bytes)
    work = sure(decision().fit.rows[0].workspace_bytes)
    return Expected(right / GIB, {"decimal": right / GB, "no_workspace": (right + work) / GIB})


@solves("memory.live")
def _() -> Expected:
    row = decision().fit.rows[0]
    tokens = next(p.bytes_at_context for p in sized().premises if p.true)
    return Expected(row.live_sequences, {"no_state": sure(row.pool_bytes) // tokens})


@solves("memory.least")
def _() -> Expected:
    budget = decision().fit.rows[0].basis
    rows = [a for a in decision().fit.admissions if a.basis == budget and a.live_sequences]
    return Expected(min(rows, key=lambda a: a.live_sequences or 0).engine)


@solves("memory.caching")
def _() -> Expected:
    on, off = admitted("vLLM", "defaults"), admitted("vLLM", "prefix caching off")
    return Expected((off.live_sequences or 0) - (on.live_sequences or 0))


@solves("memory.rounding")
def _() -> Expected:
    budget = decision().fit.rows[0]
    return Expected(tuple(
        a.engine for a in decision().fit.admissions
        if a.basis == budget.basis and a.rule not in (None, "quotient")
        and a.live_sequences == budget.live_sequences
    ))  # fmt: skip


def _separates(check: PremiseCheck) -> Expected:
    return Expected("yes" if check.separable else "no")


@solves("premise.readings")
def _() -> Expected:
    return Expected(len(premise(448448, 54.82).reproducing))


@solves("premise.separates")
def _() -> Expected:
    return _separates(premise(448448, 54.82))


@solves("premise.line")
def _() -> Expected:
    lines = premise(448448, 54.82).would_decide
    choices = load_questions()["premise.line"].choices
    return Expected(next(c for c in choices if any(c in line for line in lines)))


@solves("premise.second")
def _() -> Expected:
    return _separates(premise(241600, drafts=2))


def _arithmetic(name: str, machine: str) -> str:
    path = wall(name, facts(), machine).path
    assert path is not None
    return str(next(p.prefill.arithmetic for p in path.parts if p.part.part == "linear"))


@solves("kernels.first")
def _() -> Expected:
    return Expected(_arithmetic(DOWNLOADS[0], "rtx_5090"),
                    {"sticker": _arithmetic(DOWNLOADS[1], "rtx_5090")})  # fmt: skip


@solves("kernels.second")
def _() -> Expected:
    return Expected(_arithmetic(DOWNLOADS[1], "rtx_5090"),
                    {"sticker": _arithmetic(DOWNLOADS[0], "rtx_5090")})  # fmt: skip


@solves("kernels.older_chip")
def _() -> Expected:
    return Expected(_arithmetic(DOWNLOADS[0], "h100_sxm"))


@solves("kernels.log_kernel")
def _() -> Expected:
    boot = check_log(DOWNLOADS[0], facts()).reading.boots[0]
    return Expected(str(boot.value("linear_kernel")))


@solves("kernels.log_file")
def _() -> Expected:
    fitting = [
        name for name in DOWNLOADS
        if any(c.part == "linear" and c.outcome == "confirmed"
               for c in check_log(name, facts()).checks[0])
    ]  # fmt: skip
    return Expected(fitting[0] if len(fitting) == 1 else "cannot tell")


@solves("choice.volume")
def _() -> Expected:
    volume = decision().cost.volume
    assert volume is not None
    month = volume.input_tokens / 1e6
    return Expected(month, {"one_day": month / 30, "answers": volume.output_tokens / 1e6})


@solves("choice.quantise")
def _() -> Expected:
    enough = (decision().fit.rows[0].live_sequences or 0) >= (
        decision().fit.needed_concurrency or 0
    )
    return Expected("no" if enough else "yes")


@solves("choice.engine")
def _() -> Expected:
    return Expected(decision().best_self_hosted)


@solves("choice.recommended")
def _() -> Expected:
    return Expected(decision().recommended,
                    {"self_hosted": decision().best_self_hosted or ""})  # fmt: skip


@solves("choice.difference")
def _() -> Expected:
    totals = {line.path: line.total_usd for line in decision().cost.lines}
    people = {line.path: line.people_usd for line in decision().cost.lines}
    bare = {path: (totals[path] or 0) - (people[path] or 0) for path in totals}
    return Expected((totals["owned"] or 0) - (totals["managed"] or 0),
                    {"no_people": bare["owned"] - bare["managed"]})  # fmt: skip


@solves("choice.break_even")
def _() -> Expected:
    owned = [b for b in decision().cost.break_even if b.against.startswith("owned")]
    ever = [b.mtok_per_month for b in owned if b.mtok_per_month is not None]
    return Expected("at some volume" if ever else "never")


@solves("choice.ten_percent")
def _() -> Expected:
    row = next(f for f in decision().cost.faster if f.engine == "any stack ten percent faster")
    return Expected("yes" if row.extra_fte >= 0.25 else "no")


@solves("choice.flip")
def _() -> Expected:
    found = [f for f in decision().flips if f.changes_recommendation and f.within_range]
    names = load_questions()["choice.flip"].choices
    said = {f.input.rsplit(".", 1)[-1].replace("_", " ") for f in found}
    return Expected(tuple(n for n in names if n in said))


@solves("release.decode")
def _() -> Expected:
    return Expected(_gain("decode"), {"of_new": 100 * (1 - 1 / (1 + _gain("decode") / 100))})


@solves("release.prefill")
def _() -> Expected:
    return Expected(_gain("prefill"))


@solves("release.fewer")
def _() -> Expected:
    rows = over_releases(load_scenario(CASE), facts(), "vllm")
    pairs = pairwise(rows)
    fell = [b.release for a, b in pairs if (b.live_sequences or 0) < (a.live_sequences or 0)]
    return Expected(fell[0] if len(fell) == 1 else tuple(fell))


@solves("release.consistent")
def _() -> Expected:
    choices = load_questions()["release.consistent"].choices
    by_pattern = dict(zip(("decode alone", "prefill alone", "both together"), choices, strict=True))
    return Expected(by_pattern[attribution().pattern])


def _gain(phase: str) -> float:
    return 100 * (rate(AFTER, phase) / rate(BEFORE, phase) - 1)


@solves("knobs.expected")
def _() -> Expected:
    caching_leaves = rate(CACHING) / rate(AFTER)
    mixed_gain = rate(FOUR) / rate(CACHING)
    return Expected(rate(FOUR) * caching_leaves, {"mixed": rate(CACHING) * mixed_gain})


@solves("knobs.gain")
def _() -> Expected:
    right = 100 * (rate(FOUR) / rate(AFTER) - 1)
    return Expected(right, {"mixed": 100 * (rate(FOUR) / rate(CACHING) - 1)})
