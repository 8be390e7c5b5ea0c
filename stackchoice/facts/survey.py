"""Every fact with its source and age, and which have grown too old to be relied on."""

from datetime import date

from stackchoice.facts.datum import Evidence, Record, is_future, last_day
from stackchoice.facts.frame import datum_rows
from stackchoice.facts.load import Facts

#: The assumption that says after how many days facts of a kind are to be looked up again.
LIMITS = {"sellers": "stale_days_prices", "hours": "stale_days_prices",
          "servers": "stale_days_prices", "engines": "stale_days_engines"}  # fmt: skip
OTHERS = "stale_days_others"


class Known(Record):
    """One fact: where it stands, what it says, how it is known and how old it is."""

    datum: str
    value: str
    evidence: str
    source: str
    as_of: str
    age_days: int | None
    stale: bool
    future: bool
    note: str


def survey(facts: Facts, today: date, words: str = "") -> list[Known]:
    """Return the facts whose name, value, source or note holds every word of ``words``.

    Age counts from the last day that ``as_of`` can mean ("2026-05" is the 31st of May); an
    assumption has none. A fact is stale when it is older than its kind's limit
    (``stale_days_*`` in data/thresholds.yaml). A date that is still to come is a slip, or a price
    that does not hold yet: neither would ever grow stale.
    """
    found = []
    for row in datum_rows(facts.model_dump(mode="json", exclude={"memory"})):
        kind = row["datum"].split(".")[0]
        limit = facts.assumed(LIMITS.get(kind, OTHERS))
        own = row["evidence"] in (Evidence.ASSUMED, "unknown")
        age = (today - last_day(row["as_of"])).days if row["as_of"] and not own else None
        known = Known(
            datum=row["datum"], value="unknown" if row["value"] is None else str(row["value"]),
            evidence=row["evidence"], source=row["source"] or "", as_of=row["as_of"] or "",
            age_days=None if age is None else max(age, 0),
            stale=age is not None and age > limit,
            future=is_future(row["as_of"] or "", today), note=row["note"],
        )  # fmt: skip
        text = " ".join((known.datum, known.value, known.evidence, known.source, known.note))
        if all(word in text.lower() for word in words.lower().split()):
            found.append(known)
    return found
