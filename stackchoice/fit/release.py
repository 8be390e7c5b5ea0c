"""Which release a text like ``0.21-dev (2026-05-08)`` or ``custom build 2026-05`` means."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

from stackchoice.facts.allocation import release_order
from stackchoice.facts.datum import Record
from stackchoice.facts.records import Engine

NUMBER = re.compile(r"(?<![\d-])v?(\d+\.\d+(?:\.\d+)*(?:[.-]?(?:dev|rc|a|b|post)\d*)*)(?!\d)")
BUILD = re.compile(r"\bb(\d{3,6})\b")
DATE = re.compile(r"\b(20\d\d-\d\d(?:-\d\d)?)\b")
#: What a build without version tags calls itself; it says nothing about the release.
UNTAGGED = re.compile(r"^0\.1\.?dev\d+$")


class Release(Record):
    """A release as far as it is known. ``order`` is None where neither number nor date is."""

    text: str
    order: str | None = None
    inferred_from: str = ""

    @property
    def version(self) -> Version | None:
        """What is compared with ``since`` in the fact base."""
        return None if self.order is None else release_order(self.order)


def read_release(text: str | None, engine: Engine | None = None) -> Release:
    """Read a release out of a free text.

    A number wins; a development build of a release counts as just before it. A date alone means
    the newest release of that day that the fact base holds.
    """
    text = (text or "").strip()
    if build := BUILD.search(text):
        return Release(text=text, order=build.group(1))
    number = NUMBER.search(text)
    if number and not UNTAGGED.match(number.group(1)):
        try:
            order = str(Version(number.group(1)))
        except InvalidVersion:
            return Release(text=text)
        return Release(text=text, order=order)
    date = DATE.search(text)
    if date and engine:
        day = date.group(1).ljust(10, "~")  # a month means its end
        before = [r for r in engine.releases if r.date <= day]
        if before:
            newest = max(before, key=lambda r: (r.date, r.version))
            return Release(text=text, order=newest.version, inferred_from="date")
    return Release(text=text)
