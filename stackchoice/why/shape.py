"""Questions 2 and 3: needs and pushes, the replicas that the peak takes, what the team can give."""

from stackchoice.capacity import late_probability, replicas_by_rate
from stackchoice.choose.limits import peak_plan, replica_at
from stackchoice.choose.traffic import ARRIVALS
from stackchoice.facts.datum import Evidence
from stackchoice.facts.figures import shown
from stackchoice.facts.told import Cited, Why, Working, called
from stackchoice.ops import given_fte, people
from stackchoice.scenario.words import label
from stackchoice.why.case import Decided, Whys
from stackchoice.workload import needs

ENDS = {"slow": "low", "fast": "high"}
TEAM = (
    "nobody for all three duties rules out serving it yourself; nobody or not known for one is "
    "thin cover, and so is less time than owning takes or fewer people than a rotation by night"
)


def asked(at: Decided) -> Whys:
    """Why a feature is needed, and why a rule pushes or does not."""
    for need in needs(at.case.point):
        work = Working()
        at.said(work, f"workload.{need.feature}")
        yield f"need:{need.feature}", work.why(
            need.text, "a need is hard: an option without the feature is out", need.evidence,
        )  # fmt: skip
    rules = {rule.id: rule for rule in at.facts.rules}
    for push in at.main.pushes:
        rule = rules[push.rule]
        conditions = [
            Cited(name=label(name), value=value, evidence=Evidence.STATED)
            for names, value in ((rule.when, "must hold"), (rule.unless, "must not hold"))
            for name in names
        ]
        cited = Cited(
            name="rule", value=push.rule, evidence=Evidence.STATED, source=rule.source.label,
            url=rule.source.url or "", as_of=rule.source.as_of, note=rule.why,
        )  # fmt: skip
        yield f"push:{push.rule}", Why(
            answer=f"{push.text}: {shown(push.holds)}", rule=push.how_far, evidence=Evidence.STATED,
            facts=[cited, *conditions],
            notes=[f"unknown here: {', '.join(map(label, push.unknown))}"] if push.unknown else [],
        )  # fmt: skip


def peak(at: Decided) -> Whys:
    """Why the peak takes so many replicas, at both ends of the speed."""
    site = at.main.site
    if site is None:
        return
    plan = peak_plan(at.case, site)
    if plan is None:
        return
    work = Working()
    paths = [*at.case.point.volume_paths, *ARRIVALS]
    arrivals = at.given(work, *paths).flow.peak_per_s
    arrivals = work.step("requests a second at the peak", arrivals, "requests/s")
    cap = at.assumed(work, "utilisation_cap")
    tail = at.assumed(work, "queue_tail_share")
    for name, end in ENDS.items():
        there = replica_at(at.case, site, end)
        if there is None:
            continue
        found = getattr(plan, name)
        rate, service, slots, wait = (
            work.fact(f"{name} end: {words}", there[key], unit, evidence=plan.evidence,
                      called=words)
            for key, words, unit in (
                ("replica_per_s", "requests a second of a replica", "requests/s"),
                ("service_s", "seconds in service", "s"), ("slots", "slots", ""),
                ("wait_s", "wait allowed", "s"),
            )
        )  # fmt: skip
        work.step(f"{name} end: replicas by rate", replicas_by_rate(arrivals, rate, cap))
        offered = work.step(f"{name} end: requests in service", arrivals * service, called="load")
        servers = work.step(f"{name} end: slots of all replicas", found.replicas * slots,
                            called="slots of all")  # fmt: skip
        late = called("late", late_probability, servers, offered, service, wait)
        work.step(f"{name} end: share that waits longer, at most {tail.value:g} wanted", late)
    totals = f"{plan.fast.total} to {plan.slow.total}" if plan.fast.total != plan.slow.total else (
        str(plan.slow.total)
    )  # fmt: skip
    yield "peak", work.why(
        f"replicas at the peak: {totals}", "the more of two rules: the rate under a cap, and "
        "Erlang's C, by which late(c, a, s, t) = C(c, a) x exp(-(c - a) t / s); spares "
        "on top", plan.evidence, [f"spares {plan.slow.spares}"],
    )  # fmt: skip


def team(at: Decided) -> Whys:
    """Why the team's capacity speaks against serving by itself, or does not."""
    work, found, point = Working(), at.main.ops, at.case.point
    for duty in found.duties:
        who = None if duty.status == "not known" else duty.who
        work.fact(duty.text, who, evidence=Evidence.STATED, source="the scenario")
    given = at.given(work, "team.engineers", "team.ops_share_each").point
    can_give = given_fte(given)
    if can_give is not None:
        work.step("engineers that the team can give", can_give, "engineers")
    wanted = people(at.facts, "owned", one_user=False, already_owned=False, point=point)
    work.fact("owning takes", wanted.value, "engineers", wanted)
    at.assumed(work, "rotation_engineers")
    said = "a veto: nobody has any duty" if found.veto else (
        "thin cover" if found.thin else "nothing speaks for thin cover"
    )  # fmt: skip
    yield "ops", work.why(f"ops capacity: {said}", TEAM, notes=found.thin)
