"""Which build a text means, as far as it tells, and whether a change is in it.

``0.24.0``, ``b9479``, ``0.21-dev (2026-05-08)``, ``main 2026-07``, ``2026-09 before pull 40022``,
``main after 2026-03-11 (pull 36806)``: numbers are compared as releases; else the pulls that a
text names; else days.
"""

import re
from functools import cached_property

from packaging.version import InvalidVersion, Version

from stackchoice.errors import InputError
from stackchoice.facts.allocation import release_order
from stackchoice.facts.datum import Record, days_before
from stackchoice.facts.kernels import Change, KernelFacts
from stackchoice.facts.records import Engine
from stackchoice.facts.yaml import shown

NUMBER = re.compile(r"(?<![\d-])v?(\d+\.\d+(?:\.\d+)*(?:[.-]?(?:dev|rc|a|b|post)\d*)*)(?!\d)")
BUILD = re.compile(r"\bb(\d{3,6})\b")
DATE = re.compile(r"\b(20\d\d-\d\d(?:-\d\d)?)\b")
#: What a build without version tags calls itself; it says nothing about the release.
UNTAGGED = re.compile(r"^0\.1\.?dev\d+$")
#: Names of pull requests, with the word that stands before them.
PULL = re.compile(r"(?:\b(before|until|without)\s+)?(?:pull|pr)\s*(?:request\s*)?#?(\d+)", re.I)
AFTER = re.compile(r"\b(after|since|from)\s+(20\d\d-\d\d(?:-\d\d)?)", re.I)
BEFORE = re.compile(r"\b(before|until)\s+(20\d\d-\d\d(?:-\d\d)?)", re.I)
#: What somebody may type as a release: numbers, days and words, nothing that a shell would read.
TYPED = re.compile(r"[A-Za-z0-9 .,+#()_-]{1,80}")
#: A release is cut from the main branch some weeks before its day.
CUT_DAYS = 45
FIRST, LAST = "0000-01-01", "9999-12-31"


class Release(Record):
    """A release as far as it is known. ``order`` is None where neither number nor date is."""

    text: str
    order: str | None = None

    @cached_property
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
            return Release(text=text, order=newest.version)
    return Release(text=text)


class Moment(Release):
    """A build of an engine: its number, or the days between which its source was taken."""

    earliest: str = FIRST
    latest: str = LAST
    holds: list[int] = []
    lacks: list[int] = []

    @property
    def known(self) -> bool:
        """Whether the text says anything about the time."""
        dated = (self.earliest, self.latest) != (FIRST, LAST)
        return bool(self.order or dated or self.holds or self.lacks)


def read_moment(text: str | None, engine: str, facts: KernelFacts) -> Moment:
    """Read what a free text says of a build's time; nothing is guessed beyond it."""
    text = (text or "").strip()
    named = [(word.lower(), int(number)) for word, number in PULL.findall(text)]
    lacks = [pull for word, pull in named if word]
    holds = [pull for word, pull in named if not word]
    earliest, latest = FIRST, LAST
    if found := AFTER.search(text):
        earliest = _day(found.group(2), first=True)
    elif found := BEFORE.search(text):
        latest = _day(found.group(2), first=True)
    elif found := DATE.search(text):
        earliest, latest = _day(found.group(1), first=True), _day(found.group(1), first=False)
    for pull in lacks:
        known = next((c for c in facts.changes if (c.engine, c.pull) == (engine, pull)), None)
        if known and known.done:
            latest = min(latest, _day(known.done, first=False))
    order = read_release(PULL.sub(" ", text)).order
    return Moment(
        text=text, order=order, earliest=earliest, latest=latest, holds=holds, lacks=lacks
    )


def checked_release(
    text: str | None, engine: str, facts: KernelFacts, newest: str | None = None
) -> str | None:
    """Return a release that somebody typed, if it can be placed.

    Parameters
    ----------
    newest
        The newest release of the engine that the fact base holds; beyond it nothing was read.

    Raises
    ------
    InputError
        When it holds no number, day or pull request, more than that, a number as another engine
        counts, or a number above every release that was read.
    """
    if text is None:
        return None
    moment = read_moment(text, engine, facts)
    if not moment.known or not TYPED.fullmatch(text):
        raise InputError(
            f"release {shown(text)!r}: no number, day or pull request; write it as 0.26.0 or "
            "2026-07"
        )
    if newest is None or moment.version is None:
        return text
    if (BUILD.search(text) is None) is newest.startswith("b"):
        raise InputError(f"release {shown(text)!r}: {engine} counts as in {newest}; write it so")
    if moment.version > release_order(newest):
        raise InputError(
            f"release {shown(text)!r} is above {newest}, the newest of {engine} that was read "
            "here, so nothing is known of it; ask for that one"
        )
    return text


def reached(moment: Moment, bound: str, engine: str, facts: KernelFacts) -> bool | None:
    """Whether a build has what came with a bound: a release, or ``pull N`` (None: not known).

    A build of the main branch that is known by its day has everything of a release of that day or
    earlier, and nothing of a release that was cut after it.
    """
    if bound.startswith("pull "):
        return _has_change(moment, facts.change(engine, int(bound[5:])), facts)
    if moment.version is not None:
        return moment.version >= release_order(bound)
    day = facts.date_of(engine, bound)
    if day is None:
        return None
    return _between(moment, days_before(_day(day, first=True), CUT_DAYS), _day(day, first=False))


def _has_change(moment: Moment, change: Change, facts: KernelFacts) -> bool | None:
    if change.pull in moment.holds:
        return True
    if change.pull in moment.lacks or not change.merged:
        return False
    if moment.version is not None:
        if change.release and moment.version >= release_order(change.release):
            return True
        return False if change.without and moment.version <= release_order(change.without) else None
    done = change.done
    if done is None and change.release:
        done = facts.date_of(change.engine, change.release)
    return _between(moment, change.opened, _day(done, first=False) if done else LAST)


def _between(moment: Moment, opened: str, done: str) -> bool | None:
    """Place a build against days between which a change came in."""
    if moment.latest < _day(opened, first=True):
        return False
    return True if moment.earliest >= done else None


def _day(text: str, *, first: bool) -> str:
    """Return the first or last day that a year, month or day names."""
    fill = {4: "-01-01" if first else "-12-31", 7: "-01" if first else "-31"}
    return text + fill.get(len(text), "")
