"""Why an option is out; of one that is not, what it was asked and what goes before it."""

from collections.abc import Iterable, Iterator

from stackchoice.choose.decision import Option
from stackchoice.choose.judge import Check, Cites, first_failure
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.managed import seller_checks
from stackchoice.choose.options import options
from stackchoice.choose.recommend import KEEP
from stackchoice.choose.selfhosted import Judged
from stackchoice.choose.site import Site
from stackchoice.facts.datum import Evidence
from stackchoice.facts.told import Why, Working
from stackchoice.why.case import Decided, Whys

ORDER = "licence, software, kernels, memory, then traffic, needs and what the team can do are asked"
OUT = f"a hard fact ends it: {ORDER} in this order, and the first that fails is the reason"
KEPT = f"no hard fact ended it: {ORDER}; what is unknown does not end it and is a condition"


def told(at: Decided) -> Whys:
    """Why each option is where it stands in the list, by its best configuration."""
    main, found = at.main, options(at.main)
    names = {option.name for option in found}
    judged = {
        (j.engine.name, c.title): j
        for j in main.judged if j.engine.name in names and (c := j.candidate())
    }  # fmt: skip
    sold = {c.title: list(seller_checks(at.case, seller, offer))
            for seller, offer, c in main.offered}  # fmt: skip
    for option in found:
        own = judged.get((option.name, option.configuration))
        asked = sold.get(option.configuration) if option.name == MANAGED else None
        out = option.status == "eliminated"
        yield f"option:{option.name}", _out(at, option, own, asked) if out else _kept(
            at, option, own, asked or []
        )  # fmt: skip


def _out(at: Decided, option: Option, own: Judged | None, asked: list[Check] | None) -> Why:
    work = Working()
    failed = own.failed if own else first_failure(asked)[0] if asked else None
    _cited(at, work, failed[2] if failed else ())
    return work.why(
        f"{option.name} is out: {option.reason}", OUT,
        work.facts[0].evidence if len(work.facts) == 1 else None,
        [f"the question is {option.question}"] if option.question else [],
    )  # fmt: skip


def _kept(at: Decided, option: Option, own: Judged | None, asked: list[Check]) -> Why:
    work = Working()
    notes = list(_asked(at, work, own.checks() if own else asked))
    if own and own.site:
        _figures(work, own.site)
    return work.why(
        f"{option.name}: {option.status}", KEPT, option.evidence, [*notes, *_behind(at, option)]
    )


def _cited(at: Decided, work: Working, cites: Cites) -> None:
    """Take what one check looked at into the facts: from the fact base, or from the scenario."""
    for one in cites:
        if isinstance(one, str):
            at.said(work, one)
        else:
            work.fact(one[0], one[1].value, "", one[1])


def _asked(at: Decided, work: Working, checks: Iterable[Check]) -> Iterator[str]:
    """Take what the checks looked at into the facts, and tell of each question how it went."""
    held = dict[str, list[bool | None]]()
    unknown = dict[str, list[str]]()
    for question, holds, text, *cites in checks:
        held.setdefault(question, []).append(holds)
        if holds is None:
            unknown.setdefault(question, []).append(text)
        _cited(at, work, cites[0] if cites else ())
    for asked, answers in held.items():
        missing = unknown.get(asked, [])
        stands = f"{asked}: {len(answers)} asked, {len(answers) - len(missing)} hold, none fails"
        yield stands + (f"; unknown: {'; '.join(missing)}" if missing else "")


def _figures(work: Working, site: Site) -> None:
    """Write down what the peak asks of the replicas that are there, and what they have."""
    weak, slow = site.row.evidence, Evidence.INFERRED
    work.fact("live sequences of a replica", site.live_sequences, "sequences", evidence=weak)
    work.fact("replicas there", site.replicas_there, evidence=Evidence.STATED, note="the scenario")
    for end, flight, replicas in zip(
        ("fast", "slow"), (site.needed_at_fast_end, site.needed_concurrency),
        site.replicas_needed or (None, None), strict=True,
    ):  # fmt: skip
        work.fact(f"in flight at the peak, {end} end", flight, "requests", evidence=slow)
        work.fact(f"replicas for the peak, {end} end", replicas, evidence=slow)


def _behind(at: Decided, option: Option) -> Iterator[str]:
    """Say what puts a survivor behind the best self-hosted one, and behind the recommended one."""
    main = at.main
    best, rule, first = main.engine, main.best_rule, main.verdict.option
    if best and rule and option.name not in (best.name, MANAGED, KEEP):
        engine = next(e for e in at.facts.engines.values() if e.name == option.name)
        naming = [p for p in main.pushes if p.holds and engine.id in {f.engine for f in p.favours}]
        if rule in naming:
            why = "which names it as a later choice"
        elif naming:
            why = "which goes before " + ", ".join(f"{p.rule} ({p.precedence})" for p in naming)
        else:
            why = "and no rule that holds points at it"
        yield (f"behind {best.name} by rule {rule.rule} (precedence {rule.precedence}): "
               f"{rule.text}, {why}")  # fmt: skip
    if first != option.name:
        yield f"behind {first}: {main.verdict.because}" if first else main.verdict.because
    else:
        yield main.verdict.because
