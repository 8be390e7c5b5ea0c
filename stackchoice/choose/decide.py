"""``decide(scenario, facts)``: three questions, then money, then what would change it.

Pure: no file, no clock, no network. The widgets, the command line and the report call this
and nothing else, so that they give the same answer.
"""

from collections.abc import Iterable
from contextlib import closing

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.board import board, held_fixed, input_rows
from stackchoice.choose.case import Case
from stackchoice.choose.contradictions import contradictions, unknowns
from stackchoice.choose.decision import Candidate, Decision, Flip, Option
from stackchoice.choose.flips import flips
from stackchoice.choose.instead import instead
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.managed import overlooked
from stackchoice.choose.money import compare
from stackchoice.choose.options import marked, options
from stackchoice.choose.plan import plan
from stackchoice.choose.recommend import KEEP
from stackchoice.choose.runnable import runnables
from stackchoice.choose.shape import shape
from stackchoice.choose.trace import fit_numbers, trace
from stackchoice.errors import ScenarioError, known_names
from stackchoice.facts.links import names_link
from stackchoice.facts.load import Facts
from stackchoice.facts.place import no_collector
from stackchoice.scenario import THIS_MACHINE, Scenario, likely_point, with_preset
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
    with no_collector(), closing(likely_case(scenario, facts)) as case:
        return decided(case)


def decided(case: Case) -> Decision:
    """Decide a case that is at its likely point."""
    with no_collector():
        return _decision(case)


def _decision(case: Case) -> Decision:
    scenario, facts, main = case.scenario, case.facts, answer(case)
    cost = compare(case, main.site, main.offer, main.tokens, main.lines)
    changes = flips(main)
    listed = options(main)
    chosen = next((o for o in listed if o.status == "chosen"), None)
    missed = overlooked(case, main.tokens, main.seller)
    found = list(contradictions(case))
    remarks = [*instead(main), *(one.text for one in found)]
    conditions = _conditions(missed, changes, chosen)
    best, site, engine = main.best, main.site, main.engine
    fit, numbers = fit_numbers(main), None
    if best and site and engine:
        numbers = shape(best.title, case, engine, site, fit.admissions)
    return Decision(
        scenario=scenario.name,
        title=scenario.title,
        recommended=main.verdict.option,
        recommended_configuration=chosen.configuration if chosen else "",
        best_self_hosted=best.option if best else None,
        best_self_hosted_configuration=best.title if best else "",
        verdict=_verdict(main, conditional=bool(remarks or conditions)),
        remarks=remarks,
        disputed=[one.inputs for one in found],
        conditions=conditions,
        options=listed,
        candidates=main.candidates,
        fit=fit,
        shape=numbers,
        needs=needs(case.point),
        pushes=main.pushes,
        conflicts=main.conflicts,
        ops=main.ops,
        cost=marked(cost, listed),
        flips=changes,
        unknowns=unknowns(case, changes),
        runnable=runnables(main),
        plan=plan(main, changes),
        board=board(main, cost),
        trace=trace(main, numbers),
        held_fixed=held_fixed(main),
        inputs=input_rows(case.scenario, case.point),
        facts_sha256=facts.sha256,
        own_facts=facts.overlay,
        version=VERSION,
    )


def likely_case(scenario: Scenario, facts: Facts) -> Case:
    """Return a scenario at its likely point, its preset filled in.

    ScenarioError when the scenario names a model, artifact, machine or seller the facts do not
    have.
    """
    scenario = with_preset(scenario, facts)
    check_names(scenario, facts, scenario.name)
    here = any(machine.id == THIS_MACHINE for machine in scenario.candidates.machines)
    if here and THIS_MACHINE not in facts.machines:
        raise ScenarioError(
            f"{scenario.name}: {THIS_MACHINE!r} was not probed; "
            "use facts = with_machine(facts, probe) before decide"
        )
    return Case(scenario, facts, likely_point(scenario, facts))


def check_names(scenario: Scenario, facts: Facts, where: str) -> None:
    """Raise a ScenarioError, headed by ``where``, where the facts lack a name of the scenario."""

    def known(what: str, name: str, names: Iterable[str], kind: str = "", other: str = "") -> None:
        if name not in names:
            raise ScenarioError(
                f"{where}: {what} {name!r} is not in the fact base; "
                f"{known_names(name, names, kind)}{other}"
            )

    known("model.id", scenario.model.id, facts.models, "models")
    artifacts = [a.id for a in facts.models[scenario.model.id].artifacts]
    for artifact in scenario.model.artifacts:
        known("model.artifacts", artifact, artifacts)
    if preset := scenario.workload.sampling_preset:
        presets = facts.models[scenario.model.id].sampling_presets
        known("workload.sampling_preset", preset, presets)
    for machine in scenario.candidates.machines:
        known("candidates.machines", machine.id, (*facts.machines, THIS_MACHINE), "machines")
        link = machine.interconnect
        if link and not any(names_link(link, one) for one in facts.links.values()):
            known("candidates.machines.interconnect", link, facts.links, "links")
    for seller in [] if scenario.candidates.sellers == "any" else scenario.candidates.sellers:
        known("candidates.sellers", seller, facts.sellers, "sellers", "; or write any")
    for engine in scenario.team.engine_work:
        known("team.engine_work", engine, facts.engines, "engines")


def _conditions(other: Candidate | None, changes: list[Flip], chosen: Option | None) -> list[str]:
    found = list(chosen.conditions) if chosen else []
    if chosen and chosen.name == MANAGED and other is not None:
        found.append(
            f"ask {other.seller} too, which is not among the candidate sellers: fewer unknowns at "
            f"{other.usd_per_month:,.0f} USD a month"
        )
    found += [f.text for f in changes if f.within_range and f.changes_recommendation]
    return list(dict.fromkeys(found))


def _verdict(main: Answer, *, conditional: bool) -> str:
    because, option = main.verdict.because, main.verdict.option
    if main.verdict.too_close:
        return f"{because[0].upper()}{because[1:]}."
    if option is None:
        return f"No recommendation: {because}."
    tail = ", conditionally" if conditional else ""
    own = ""
    if main.best is not None and option != main.best.option:
        own = f" Best self-hosted answer: {main.best.option}"
        own += f" ({main.best_rule.text})." if main.best_rule else "."
    name = option.capitalize() if option in (MANAGED, KEEP) else option
    return f"{name}{tail}: {because}.{own}"
