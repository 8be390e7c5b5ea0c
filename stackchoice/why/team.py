"""Question 3: what the team can give, against what serving by itself asks of it."""

from stackchoice.facts.datum import Evidence
from stackchoice.facts.told import Working
from stackchoice.ops import given_fte, people
from stackchoice.why.case import Decided, Whys

RULE = (
    "nobody for all three duties rules out serving it yourself; nobody or not known for one is "
    "thin cover, and so is less time than owning takes or fewer people than a rotation by night"
)


def capacity(at: Decided) -> Whys:
    """Why the team's capacity speaks against serving by itself, or does not."""
    work, found, point = Working(), at.main.ops, at.case.point
    for duty in found.duties:
        who = None if duty.status == "not known" else duty.who
        work.fact(duty.text, who, evidence=Evidence.STATED, source="the scenario")
    given = at.given(work, "team.engineers", "team.ops_share_each").point
    team = given_fte(given)
    if team is not None:
        work.step("engineers that the team can give", team, "engineers")
    wanted = people(at.facts, "owned", one_user=False, already_owned=False, point=point)
    work.fact("owning takes", wanted.value, "engineers", wanted)
    at.assumed(work, "rotation_engineers")
    said = "a veto: nobody has any duty" if found.veto else (
        "thin cover" if found.thin else "nothing speaks for thin cover"
    )  # fmt: skip
    yield "ops", work.why(f"ops capacity: {said}", RULE, notes=found.thin)
