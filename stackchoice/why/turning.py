"""What a spare costs, what leaving costs, and where one input turns a path or the answer."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from stackchoice.choose.answer import answer
from stackchoice.choose.buying import alone
from stackchoice.choose.case import Case
from stackchoice.choose.decision import Flip
from stackchoice.choose.flips import PEOPLE, against_managed, flips, swept
from stackchoice.choose.risks import exit_usd, spare_usd, way_out
from stackchoice.choose.turning import turns_asked
from stackchoice.cost import decimal
from stackchoice.facts.datum import Evidence
from stackchoice.facts.figures import shown
from stackchoice.facts.told import Working
from stackchoice.scenario.words import SWITCH
from stackchoice.why.case import Decided, Whys
from stackchoice.why.money import priced_purchase, recommendation, told_months

#: What a turning point is worked out from, by the names of its formula: words and unit.
GIVEN = {
    "self_usd": ("what the managed tokens would have to cost", "USD a month"),
    "mtok": ("tokens of a month", "M tokens"),
    "at": ("now", ""),
    "cost": ("the path's total now", "USD a month"),
    "slope": ("one unit more adds", "USD a month"),
    "other": ("the managed endpoint's total", "USD a month"),
    "outlay": ("purchase and installation", "USD once"),
    "managed_usd": ("the managed endpoint's total, without setting it up", "USD a month"),
    "running_usd": ("running the machine, with its people", "USD a month"),
}
MOVED = "what is named is moved alone and everything decided again: the ways as they stand there"
LEAVING = (
    "setting up another path, once; a machine that was bought stands on the books with what "
    "straight-line write-off has left of it"
)
SPARE = (
    "one more replica at this path's own price; one beyond the peak that is in the bill is free, "
    "and beside a machine that is paid for it is bought new; managed: paid only for what it serves"
)


def turns(at: Decided) -> Whys:
    """Why a path costs what the managed one does at that value of one input, or never."""
    for asked in turns_asked(paths) if (paths := at.paths) else ():
        work = Working()
        given = {
            name: work.fact(GIVEN[name][0], value, GIVEN[name][1] or asked["unit"],
                            evidence=asked["evidence"])
            for name, value in asked["given"].items()
        }  # fmt: skip
        found = work.step(asked["what"], asked["formula"](**given), asked["unit"])
        never = found.value <= 0 or not decimal(found.value).is_finite()
        yield f"turn:{asked['what']}", work.why(
            asked["what"], "everything else stays, and this one value is solved for equal totals",
            asked["evidence"], [f"never: {asked['never']}"] if never else [],
        )  # fmt: skip


def spares(at: Decided) -> Whys:
    """Why a spare of a path costs what it does a month."""
    if (paths := at.paths) is None:
        return
    for path, line in paths.lines.items():
        work = Working()
        evidence: dict[str, Any] = {"evidence": line.total_evidence}
        usd = None
        if line.infrastructure_usd is not None:
            machines = work.fact("machines of the path", line.infrastructure_usd, "USD a month",
                                 evidence=line.evidence, source=line.source)  # fmt: skip
            people, once = (
                work.fact(words, usd, "USD a month", **evidence)
                for words, usd in (("people", line.people_usd), ("one-time", line.one_time_usd))
            )
            line = line.model_copy(update={
                "infrastructure_usd": machines, "people_usd": people, "one_time_usd": once,
            })  # fmt: skip
            if path != "managed":
                count = work.fact("replicas in the bill", paths.replicas, **evidence)
                usd = spare_usd(replace(paths, replicas=count), line)
        if usd is not None:
            spare = work.step("a spare", usd, "USD a month")
            work.step("path with the spare", line.total_usd + spare, "USD a month")
        yield f"spare:{path}", work.why(f"a spare, {path}", SPARE, line.total_evidence)


def exits(at: Decided) -> Whys:
    """Why leaving a path at the end of the horizon costs what it does."""
    if (paths := at.paths) is None:
        return
    for path in paths.lines:
        work = Working()
        bought = paths.purchase
        names, other = [], way_out(path)
        if alone(at.case, other, paths.site):
            work.fact("setting up another path", 0, "USD once", evidence=Evidence.ASSUMED,
                      note="the single user is the operator")  # fmt: skip
        else:
            names.append(f"implementation_usd_{other}")
        months = decimal(at.case["money.horizon_months"])
        told = paths
        if path == "owned" and bought and not paths.site.choice.already_owned:
            told = replace(paths, purchase=priced_purchase(work, bought))
            names += ["residual_share", "server_life_months"]
            months = told_months(at, work)
        facts = at.assuming(work, tuple(names), decimal)
        work.step("leaving", exit_usd(told, path, months, facts), "USD once")
        yield f"exit:{path}", work.why(f"leaving, {path}", LEAVING)


def flipped(at: Decided) -> Whys:
    """Why the answer changes where an input stands elsewhere: the ways that survive there."""
    for flip in flips(at.main):
        if flip.to_option is None:
            continue
        if flip.input == PEOPLE:
            there = answer(at.case.assuming(against_managed(at.case.facts)))
        else:
            there = answer(at.case.moved({flip.input: _value(at.case, flip)}))
        ((_, why),) = recommendation(Decided(there, at.site))
        gives = f"deciding there gives {flip.to_option}"
        if flip.under is not None:
            beside = SWITCH.get(str(flip.under), flip.under)
            gives += f", and at {shown(beside)} beside it {flip.from_option}"
        told = {"answer": flip.text, "rule": MOVED, "notes": [gives, *why.notes]}
        yield f"flip:{flip.text}", why.model_copy(update=told)


def _value(case: Case, flip: Flip) -> Any:
    """Return where an input flips, in the kind of value that the input has."""
    like = case[flip.input]
    like = swept(case)[flip.input][0] if like is None else like
    if isinstance(flip.at, str):
        return flip.at == "true" if isinstance(like, bool) else flip.at
    if isinstance(like, Decimal):
        return decimal(flip.at or 0)
    return int(flip.at or 0) if isinstance(like, int) and flip.at == int(flip.at or 0) else flip.at
