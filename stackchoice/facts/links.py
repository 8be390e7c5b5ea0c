"""What devices talk over: bandwidth one way, shortest all-reduce, and how many it joins."""

import re
from collections.abc import Iterable

from pydantic import Field

from stackchoice.facts.datum import Datum, Evidence, Record, weakest


class Link(Record):
    """A kind of interconnect; ``match`` finds it in a text that names one.

    ``gb_per_s`` is what one device sends, one way; a link made of lanes says it per lane.
    ``all_reduce_us`` is the shortest all-reduce that anyone reported over it. ``devices`` are
    as many as it joins (null: as many as the host has slots for).
    """

    id: str
    match: str
    gb_per_s: Datum[float] = Datum[float]()
    gb_per_s_per_lane: Datum[float] = Datum[float]()
    all_reduce_us: Datum[float] = Datum[float]()
    devices: int | None = Field(default=None, ge=2)


#: Widths that a slot can have.
LANES = (1, 2, 4, 8, 12, 16, 32)


class LinkPath(Record):
    """A link as it is built in: GB/s one way, microseconds of the shortest all-reduce."""

    link: str
    gb_per_s: float = Field(gt=0)
    all_reduce_us: float = Field(default=0, ge=0)
    evidence: Evidence = Evidence.COMPUTED


def names_link(text: str, link: Link) -> bool:
    """Whether a text such as ``pcie5 x8`` names a kind of link."""
    return re.search(link.match, text.lower()) is not None


def path_over(text: str | None, links: Iterable[Link], devices: int) -> LinkPath | None:
    """Return the path that a text such as ``nvlink4`` or ``pcie5 x8`` names.

    None where nothing known is named, where lanes are not said, or where the link does not join
    that many devices: what is between them then is not known.
    """
    words = (text or "").lower()
    link = next((one for one in links if names_link(words, one)), None)
    if link is None or (link.devices and devices > link.devices):
        return None
    lanes = re.search(r"\bx\s?(\d+)\b", words)
    rate, known = link.gb_per_s.value, link.gb_per_s.evidence
    if link.gb_per_s_per_lane.value and lanes:
        if int(lanes[1]) not in LANES:
            return None
        rate = link.gb_per_s_per_lane.value * int(lanes[1])
        known = link.gb_per_s_per_lane.evidence
    if not rate:
        return None
    return LinkPath(
        link=link.id, gb_per_s=rate, all_reduce_us=link.all_reduce_us.value or 0,
        evidence=weakest(known, link.all_reduce_us.evidence),
    )  # fmt: skip
