"""Why an option is out: the check that it failed, and the facts that the check looked at."""

from stackchoice.choose.decide import options
from stackchoice.choose.judge import first_failure
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.managed import seller_checks
from stackchoice.facts.told import Working
from stackchoice.why.case import Decided, Whys

RULE = (
    "a hard fact ends it: licence, software, kernels, memory, then traffic, needs and what the "
    "team can do are asked in this order, and the first that fails is the reason"
)


def fallen(at: Decided) -> Whys:
    """Why each eliminated option is out, by its best configuration."""
    main = at.main
    gone = {o.name: o for o in options(main) if o.status == "eliminated"}
    failures = {
        (j.engine.name, c.title): j.failed
        for j in main.judged if j.engine.name in gone and (c := j.candidate())
    } | {
        (MANAGED, c.title): first_failure(seller_checks(at.case, seller, offer))[0]
        for seller, offer, c in main.offered if MANAGED in gone
    }  # fmt: skip
    for name, option in gone.items():
        work, failed = Working(), failures.get((name, option.configuration))
        for words, known in failed[2] if failed else ():
            work.fact(words, known.value, "", known)
        if option.question == "constraints" and name == MANAGED:
            at.said(work, "constraints.data_may_leave")
        yield f"option:{name}", work.why(
            f"{name} is out: {option.reason}", RULE,
            work.facts[0].evidence if len(work.facts) == 1 else None,
            [f"the question is {option.question}"] if option.question else [],
        )  # fmt: skip
