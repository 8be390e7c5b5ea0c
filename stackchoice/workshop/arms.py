"""The arms of lesson 5, recorded, one fair and three to expose; and one's own for lesson 6.

The fault of an arm is read from its passport by the rules that judge every run; nothing here knows
which file holds which.
"""

from collections.abc import Mapping
from pathlib import Path

from stackchoice.compare import fairness
from stackchoice.confirm import Passport, Plan
from stackchoice.confirm.results import MAX_CACHED_SHARE
from stackchoice.confirmation import confirm_scenario
from stackchoice.errors import InputError
from stackchoice.facts.load import load_facts
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import shown
from stackchoice.workshop.table import Table
from stackchoice.workshop.trials import source_of

#: The arm that the others are shown against, and those in which something is wrong or not.
BASELINE = "baseline"
CLAIMS = ("claim-1", "claim-2", "claim-3")
#: Items of which two runs always differ, and records that other rows sum up.
NOISE = (
    "endpoint url", "started at", "ended at", "raw log", "client", "floor", "repetitions",
    "peak memory bytes", "ttft interval s", "itl interval s", "output tokens per s interval",
)  # fmt: skip
#: Passport of this very engine for those who cannot measure one of their own.
SPARE = "spare"
#: Small enough for a busy laptop, large enough for the rules of validity.
PLAN = Plan(requests=3, output_tokens=32, prompt_words=64)


def arm(name: str) -> Passport:
    """Return a recorded passport of the workshop.

    InputError when there is none of this name.
    """
    names = (BASELINE, *CLAIMS, SPARE)
    if name not in names:
        raise InputError(f"no arm {shown(name)!r}; it is one of: {', '.join(names)}")
    return Passport.load(data_dir() / "workshop" / "passports" / f"{name}.json")


def fault_of(claim: Passport, baseline: Passport) -> str:
    """Return what makes an arm unfit for a comparison with the baseline; ``none`` if nothing does.

    The client comes first: when it cannot be believed, neither can anything it says.
    """
    if claim.validity.client is not None and not claim.validity.client.valid:
        return "client-bound"
    if any(c.result == "failed" for c in claim.validity.canaries_before):
        return "broken answers"
    if (claim.validity.largest_cached_share or 0) > MAX_CACHED_SHARE:
        return "warm cache"
    if claim.protocol.output_budget_tokens != baseline.protocol.output_budget_tokens:
        return "unequal outputs"
    return "none"


def fair_table(first: str, second: str) -> Table:
    """Return the six items of a fair comparison of two arms: identical, different or unknown."""
    pair = fairness(arm(first), arm(second), load_facts())
    return Table(
        [
            {"item": item.title, "status": item.status,
             "where": "; ".join(f"{p.name}: {p.first} | {p.second}" for p in item.parts
                                if p.status != "identical")}
            for item in pair
        ]
    )  # fmt: skip


def arms_frame(*names: str, differing: bool = False) -> Table:
    """Return the four parts of passports side by side, one row per item.

    Parameters
    ----------
    differing
        Leave out what is the same in all of them, and :data:`NOISE`.
    """
    return passports_frame({name: arm(name) for name in names}, differing=differing)


def passports_frame(passports: Mapping[str, Passport], *, differing: bool = False) -> Table:
    """Do the same for any passports by name."""
    rows = {n: {(part, item): text for part, item, text in p.rows()} for n, p in passports.items()}
    keys = dict.fromkeys(key for found in rows.values() for key in found)
    table = [
        {"part": part, "item": item, **{n: rows[n].get((part, item), "") for n in rows}}
        for part, item in keys
    ]
    if not differing:
        return Table(table)
    return Table([r for r in table if len({r[n] for n in rows}) > 1 and r["item"] not in NOISE])


def my_passport() -> Passport:
    """Predict for this machine, measure its embedded engine, and return the passport."""
    if source_of() == "recorded":
        return arm(SPARE)
    passport, path = confirm_scenario("this-machine", plan=PLAN, out=Path("reports"), on_line=print)
    print(f"wrote {path}")
    return passport


def passport_lines(passport: Passport) -> list[str]:
    """Return what a passport comes to, in a few lines."""
    reasons = passport.validity.reasons or passport.validity.warnings
    verdicts = [f"prediction of {k.replace('_', ' ')}: {v}" for k, v in passport.verdicts.items()]
    return [f"{passport.arm}: {passport.label}", *reasons, *verdicts]
