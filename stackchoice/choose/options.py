"""Every option of a decision in one line each, with what its best configuration came to."""

from stackchoice.choose.answer import Answer
from stackchoice.choose.decision import STATUS_ORDER, Candidate, Cost, Option, Status
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.recommend import KEEP
from stackchoice.cost.records import CostLine
from stackchoice.facts.datum import sure

#: What the stack of today costs.
COSTS = "current.usd_per_month"


def options(main: Answer) -> list[Option]:
    """Return every option in one line each: the answer first, what was ruled out last."""
    names = [engine.name for engine in main.case.facts.engines.values()] + [MANAGED]
    found = [*(_option(name, main) for name in names), _keep(main)]
    best = main.best.option if main.best else None
    return sorted(
        found, key=lambda o: (STATUS_ORDER.index(o.status), o.name != best, bool(o.conditions))
    )


def marked(cost: Cost, options: list[Option]) -> Cost:
    """Return the cost with a word beside what an eliminated engine would be worth."""
    gone = {option.name for option in options if option.status == "eliminated"}
    rows = [
        row.model_copy(update={"text": f"{row.text}; eliminated"}) if row.engine in gone else row
        for row in cost.faster
    ]
    return cost.model_copy(update={"faster": rows})


def _option(name: str, main: Answer) -> Option:
    """Sum an option up by its best configuration; the others stand in the candidates."""
    own = [c for c in main.candidates if c.option == name]
    best = main.best if main.best and main.best.option == name else None
    if name == MANAGED:
        best = main.seller
    best = best or _least_bad(own)
    if best is None:
        return Option(
            name=name, status="eliminated", question="hardware fit",
            reason="no candidate machine was given",
        )  # fmt: skip
    line = _cheapest(name, main)
    status: Status = best.status
    reason = best.reason
    if status == "viable" and name in (main.verdict.option, *main.verdict.too_close):
        status = "chosen" if name == main.verdict.option else "too close to call"
        reason = main.verdict.because
    elif status == "viable" and main.best is best and name != MANAGED:
        reason = f"best self-hosted answer: {main.best_rule.text}" if main.best_rule else reason
    elif status == "viable" and best.unknown:
        reason = f"{reason}; unknown: {'; '.join(best.unknown)}"
    return Option(
        name=name, status=status, question=best.question, reason=reason,
        configuration=best.title,
        conditions=[f"find out {text}" for text in best.unknown]
        + ([f"accept that it runs {best.fallback}"] if best.fallback else []),
        usd_per_month=line and line.total_usd,
        usd_evidence=line and line.total_evidence,
        evidence=best.evidence,
    )  # fmt: skip


def _least_bad(own: list[Candidate]) -> Candidate | None:
    """Return a surviving configuration, else what came furthest: too large on most devices."""
    order = ["constraints", "hardware fit", "workload shape", "ops capacity", "cost", ""]
    return max(
        own,
        key=lambda c: (
            c.status == "viable",
            bool(c.live_sequences),
            -len(c.unknown),
            order.index(c.question),
            0 if c.status == "viable" or c.live_sequences else c.devices or 0,
        ),
        default=None,
    )


def _cheapest(name: str, main: Answer) -> CostLine | None:
    """The cheapest path of an option, people and one-time cost included; None: unknown."""
    if name != MANAGED and (main.best is None or name != main.best.option):
        return None
    own = [line for line in main.lines if (line.path == "managed") == (name == MANAGED)]
    known = [line for line in own if line.total_usd is not None]
    return min(known, key=lambda line: sure(line.total_usd), default=None)


def _keep(main: Answer) -> Option:
    now = main.case.scenario.current
    if now is None:
        return Option(
            name=KEEP, status="eliminated", question="constraints", reason="nothing runs today"
        )
    if now.works.value is False:
        return Option(
            name=KEEP, status="eliminated", question="workload shape",
            reason=f"{now.what} does not do the job today", configuration=now.what,
        )  # fmt: skip
    usd = main.case[COSTS]
    status: Status = "viable"
    reason = f"{now.what} runs today; measure it as the first arm before leaving it"
    if KEEP in (main.verdict.option, *main.verdict.too_close):
        status = "chosen" if main.verdict.option == KEEP else "too close to call"
        reason = main.verdict.because
    return Option(
        name=KEEP, status=status, question="", configuration=now.what, reason=reason,
        usd_per_month=usd,
        usd_evidence=None if usd is None else main.case.point.evidence(COSTS),
        conditions=[] if now.works.known else ["find out whether it does the job today"],
    )  # fmt: skip
