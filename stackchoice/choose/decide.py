"""``decide(scenario, facts)``: three questions, then money, then what would change it.

Pure: no file, no clock, no network. The widgets, the command line and the report call this
and nothing else, so that they give the same answer.
"""

from __future__ import annotations

from decimal import Decimal

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.board import board
from stackchoice.choose.carried import Runnable
from stackchoice.choose.decision import (
    STATUS_ORDER,
    Candidate,
    Cost,
    Decision,
    Fit,
    Flip,
    Option,
    Status,
)
from stackchoice.choose.fixed import held_fixed, input_rows
from stackchoice.choose.flips import flips, unknowns
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.managed import overlooked
from stackchoice.choose.memo import Memo
from stackchoice.choose.money import compare
from stackchoice.choose.peak import peak_plan
from stackchoice.choose.plan import plan
from stackchoice.choose.recommend import KEEP
from stackchoice.choose.runnable import of_engine, of_seller
from stackchoice.choose.shape import Shape, shape
from stackchoice.choose.site import traffic
from stackchoice.choose.trace import fit_numbers, trace
from stackchoice.errors import ScenarioError, known_names
from stackchoice.facts.links import names_link
from stackchoice.facts.load import Facts
from stackchoice.scenario import THIS_MACHINE, Point, Scenario, likely_point, with_preset
from stackchoice.version import VERSION
from stackchoice.workload import needs


def decide(scenario: Scenario, facts: Facts) -> Decision:
    """Decide how to serve the scenario's model.

    Parameters
    ----------
    scenario
        The whole input. Ranges are decided at their likely value and again at both ends.
    facts
        The fact base; :func:`stackchoice.this_machine.facts_for` adds the machine in front of you.

    Returns
    -------
    Decision
        The recommendation, every option with its reason, the costs and what would change them.

    Raises
    ------
    ScenarioError
        When the scenario names a model, artifact, machine or seller the facts do not have.

    Examples
    --------
    >>> from stackchoice import decide, load_facts, load_scenario
    >>> decision = decide(load_scenario("json-chat"), load_facts())
    >>> decision.best_self_hosted, [line.path for line in decision.cost.lines]
    ('SGLang', ['managed', 'rented', 'owned'])
    """
    scenario = checked(scenario, facts)
    point = likely_point(scenario, facts)
    memo = Memo()
    main = answer(scenario, facts, point, memo)
    offer = main.bought and main.bought[1]
    cost = compare(scenario, facts, point, main.site, offer, main.tokens, main.lines)
    changes = flips(scenario, facts, point, main, memo)
    options = _options(scenario, facts, point, main)
    chosen = next((o for o in options if o.status == "chosen"), None)
    missed = overlooked(scenario, facts, point, main.tokens, main.seller, memo)
    conditions = [
        *_contradictions(scenario, facts, point), *_conditions(missed, changes, chosen),
    ]  # fmt: skip
    best = main.best
    fit = fit_numbers(scenario, facts, point, main, memo)
    numbers = _shape(main, fit, facts, point)
    return Decision(
        scenario=scenario.name,
        title=scenario.title,
        recommended=main.verdict.option,
        recommended_configuration=chosen.configuration if chosen else "",
        best_self_hosted=best.option if best else None,
        best_self_hosted_configuration=best.title if best else "",
        verdict=_verdict(main, conditions),
        conditions=conditions,
        options=options,
        candidates=main.candidates,
        fit=fit,
        shape=numbers,
        needs=needs(point),
        pushes=main.pushes,
        conflicts=main.conflicts,
        ops=main.ops,
        cost=_marked(cost, options),
        flips=changes,
        unknowns=unknowns(scenario, facts, changes),
        runnable=_runnable(facts, point, main),
        plan=plan(scenario, facts, point, main, changes),
        board=board(scenario, facts, point, main, cost),
        trace=trace(scenario, facts, point, main, numbers),
        held_fixed=held_fixed(scenario, facts, main),
        inputs=input_rows(scenario, point),
        facts_sha256=facts.sha256,
        own_facts=facts.overlay,
        version=VERSION,
    )


def _shape(main: Answer, fit: Fit, facts: Facts, point: Point) -> Shape | None:
    """Question 2 in numbers, for the best self-hosted configuration."""
    best, site = main.best, main.site
    if best is None or site is None:
        return None
    flow = traffic(point)
    return shape(
        best.title, next(e for e in facts.engines.values() if e.name == best.engine), site, flow,
        facts, thinking=point["workload.thinking"], admissions=fit.admissions,
        peak=peak_plan(site, flow, facts, point),
    )  # fmt: skip


def _runnable(facts: Facts, point: Point, main: Answer) -> list[Runnable]:
    """Return the recommended option and the best self-hosted one as something to run."""
    found, chosen = [], main.verdict.option
    if main.bought is not None:
        role = "recommended" if chosen == MANAGED else "the managed alternative"
        found.append(of_seller(*main.bought, point["workload.context_tokens"], role))
    if main.site is not None and main.best is not None:
        role = "best self-hosted"
        role = f"recommended, and {role}" if chosen == main.best.option else role
        engine = next(e for e in facts.engines.values() if e.name == main.best.option)
        found.append(of_engine(facts, engine, main.site, traffic(point), role))
    return sorted(found, key=lambda r: not r.role.startswith("recommended"))


def checked(scenario: Scenario, facts: Facts) -> Scenario:
    """Return the scenario with its preset filled in, once the facts have every name in it.

    Raises
    ------
    ScenarioError
        When the scenario names a model, artifact, machine or seller the facts do not have.
    """
    scenario = with_preset(scenario, facts)
    _check_names(scenario, facts)
    return scenario


def _check_names(scenario: Scenario, facts: Facts) -> None:
    def known(what: str, name: str, names: list[str]) -> None:
        if name not in names:
            raise ScenarioError(
                f"{scenario.name}: {what} {name!r} is not in the fact base; "
                f"{known_names(name, names)}"
            )

    known("model.id", scenario.model.id, list(facts.models))
    artifacts = [a.id for a in facts.models[scenario.model.id].artifacts]
    for artifact in scenario.model.artifacts:
        known("model.artifacts", artifact, artifacts)
    if preset := scenario.workload.sampling_preset:
        known(
            "workload.sampling_preset",
            preset,
            list(facts.models[scenario.model.id].sampling_presets),
        )
    for machine in scenario.candidates.machines:
        if machine.id == THIS_MACHINE and machine.id not in facts.machines:
            raise ScenarioError(
                f"{scenario.name}: {THIS_MACHINE!r} was not probed; "
                "use facts = with_machine(facts, probe) before decide"
            )
        known("candidates.machines", machine.id, list(facts.machines))
        link = machine.interconnect
        if link and not any(names_link(link, one) for one in facts.links.values()):
            known("candidates.machines.interconnect", link, list(facts.links))
    for seller in [] if scenario.candidates.sellers == "any" else scenario.candidates.sellers:
        known("candidates.sellers", seller, list(facts.sellers))
    for engine in scenario.team.engine_work:
        known("team.engine_work", engine, list(facts.engines))


def _options(scenario: Scenario, facts: Facts, point: Point, main: Answer) -> list[Option]:
    names = [engine.name for engine in facts.engines.values()] + [MANAGED]
    options = [*(_option(name, main) for name in names), _keep(scenario, point, main)]
    best = main.best.option if main.best else None
    return sorted(
        options, key=lambda o: (STATUS_ORDER.index(o.status), o.name != best, bool(o.conditions))
    )


def _marked(cost: Cost, options: list[Option]) -> Cost:
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
        usd_per_month=_usd(name, main),
        evidence=best.evidence,
    )  # fmt: skip


def _least_bad(own: list[Candidate]) -> Candidate | None:
    """Return a surviving configuration, else the one that came furthest."""
    order = ["constraints", "hardware fit", "workload shape", "ops capacity", "cost", ""]
    return max(
        own,
        key=lambda c: (c.status == "viable", -len(c.unknown), order.index(c.question)),
        default=None,
    )


def _usd(name: str, main: Answer) -> Decimal | None:
    """The monthly total of an option: people and one-time cost included, the cheapest path."""
    if name != MANAGED and (main.best is None or name != main.best.option):
        return None
    totals = [
        line.total_usd
        for line in main.lines
        if (line.path == "managed") == (name == MANAGED) and line.total_usd is not None
    ]
    return min(totals, default=None)


def _keep(scenario: Scenario, point: Point, main: Answer) -> Option:
    now = scenario.current
    if now is None:
        return Option(
            name=KEEP, status="eliminated", question="constraints", reason="nothing runs today"
        )
    if now.works.value is False:
        return Option(
            name=KEEP, status="eliminated", question="workload shape",
            reason=f"{now.what} does not do the job today", configuration=now.what,
        )  # fmt: skip
    status: Status = "viable"
    reason = f"{now.what} runs today; measure it as the first arm before leaving it"
    if KEEP in (main.verdict.option, *main.verdict.too_close):
        status = "chosen" if main.verdict.option == KEEP else "too close to call"
        reason = main.verdict.because
    return Option(
        name=KEEP, status=status, question="", configuration=now.what, reason=reason,
        usd_per_month=point["current.usd_per_month"],
        conditions=[] if now.works.known else ["find out whether it does the job today"],
    )  # fmt: skip


def _contradictions(scenario: Scenario, facts: Facts, point: Point) -> list[str]:
    found = [
        f"contradiction: {less} is {point[less]:,}, more than {more} of {point[more]:,}"
        for less, more in (
            ("workload.input_tokens", "workload.context_tokens"),
            ("workload.shared_prefix_tokens", "workload.input_tokens"),
        )
        if point.known(less, more) and point[less] > point[more]
    ]
    lengths = ("workload.input_tokens", "workload.output_tokens", "workload.context_tokens")
    if not found and point.known(*lengths):
        given, written, context = (point[path] for path in lengths)
        if given + written > context:
            found.append(
                f"contradiction: input and output together are {given + written:,} tokens, more "
                f"than the context of {context:,}"
            )
    preset = facts.models[scenario.model.id].sampling_presets.get(scenario.workload.sampling_preset)
    thinking = point["workload.thinking"]
    if preset is None or thinking is None or preset.thinking == thinking:
        return found
    return [
        *found,
        f"contradiction: thinking is {'on' if thinking else 'off'}, but the sampling preset "
        f"{scenario.workload.sampling_preset!r} is published for thinking "
        f"{'on' if preset.thinking else 'off'}",
    ]


def _conditions(other: Candidate | None, changes: list[Flip], chosen: Option | None) -> list[str]:
    found = list(chosen.conditions) if chosen else []
    if chosen and chosen.name == MANAGED and other is not None:
        found.append(
            f"ask {other.seller} too, which is not among the candidate sellers: fewer unknowns at "
            f"{other.usd_per_month:,.0f} USD a month"
        )
    found += [f.text for f in changes if f.within_range and f.changes_recommendation]
    return list(dict.fromkeys(found))


def _verdict(main: Answer, conditions: list[str]) -> str:
    because, option = main.verdict.because, main.verdict.option
    if main.verdict.too_close:
        return f"{because[0].upper()}{because[1:]}."
    if option is None:
        return f"No recommendation: {because}."
    tail = ", conditionally" if conditions else ""
    own = ""
    if main.best is not None and option != main.best.option:
        own = f" Best self-hosted answer: {main.best.option}"
        own += f" ({main.best_rule.text})." if main.best_rule else "."
    name = option.capitalize() if option in (MANAGED, KEEP) else option
    return f"{name}{tail}: {because}.{own}"
