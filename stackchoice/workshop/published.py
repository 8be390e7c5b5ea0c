"""The published series of lessons 7 and 8: passports that ship, reported and not measured here."""

from functools import cache

from stackchoice.compare import compare
from stackchoice.compare.attribution import Attribution
from stackchoice.confirm import Passport
from stackchoice.errors import FactsError
from stackchoice.facts.load import load_facts
from stackchoice.facts.place import data_dir
from stackchoice.workshop.table import Table

BEFORE, AFTER = "gh200-0.19.1-draft2", "gh200-0.26.0-draft2"
CACHING, FOUR, BOTH = f"{AFTER}-cache", "gh200-0.26.0-draft4", "gh200-0.26.0-draft4-cache"


@cache
def shipped(name: str) -> Passport:
    """Return a passport of ``data/passports``."""
    return Passport.load(data_dir() / "passports" / f"{name}.passport.json")


def rate(name: str, phase: str = "decode") -> float:
    """Return the published rate of a phase, tokens a second.

    FactsError when the passport has none.
    """
    found = getattr(shipped(name).results, f"{phase}_tokens_per_s")
    if found is None:
        raise FactsError(f"{name}: holds no {phase} rate; restore data/passports from git")
    return float(found.median)


def knobs_table() -> Table:
    """Two knobs, one at a time and together."""
    told = {
        "two drafts, caching off": AFTER, "four drafts, caching off": FOUR,
        "two drafts, caching on": CACHING, "four drafts, caching on": BOTH,
    }  # fmt: skip
    return Table(
        [{"run": text, "decode tokens/s": rate(name), "class": "reported"}
         for text, name in told.items()]
    )  # fmt: skip


def releases_pair() -> Table:
    """One set-up before and after an upgrade of the engine."""
    return Table(
        [
            {"vLLM": shipped(name).identity.runtime_build, "decode tokens/s": rate(name),
             "prefill tokens/s": rate(name, "prefill"), "class": "reported"}
            for name in (BEFORE, AFTER)
        ]
    )  # fmt: skip


def attribution() -> Attribution:
    """Return what may be inferred of the step between the two releases."""
    return compare([shipped(BEFORE), shipped(AFTER)], load_facts()).pairs[0].attribution
