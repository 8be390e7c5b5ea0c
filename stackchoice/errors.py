"""The errors meant for the user. Each text says the value, why it is wrong, and the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

#: A list of known names that is longer than this is cut to those that were meant, where any were.
SHORT_LIST = 12
#: What searches the whole of a list that is too long to print.
SEARCH = "`stackchoice facts WORD`"


class StackchoiceError(Exception):
    """Root of every error meant for the user; the command line prints it without traceback.

    Examples
    --------
    >>> from stackchoice import StackchoiceError, load_scenario
    >>> try:
    ...     load_scenario("no-such-scenario")
    ... except StackchoiceError as error:
    ...     print(type(error).__name__)
    ScenarioError
    """


class FactsError(StackchoiceError):
    """The fact base in ``data/`` is missing, malformed or unsourced."""


class ScenarioError(StackchoiceError):
    """A scenario holds a wrong value; the text names file, line, value, reason and fix."""


class InputError(StackchoiceError):
    """A value given to a panel or to a call cannot be; the text says value, reason and fix."""


class UnknownCacheError(StackchoiceError):
    """A model's config has a layer kind whose cache arithmetic is not known here."""


class UnknownRuleError(StackchoiceError):
    """No sourced rule tells how an engine release shares out its memory in this case."""


class EngineError(StackchoiceError):
    """The embedded engine is not installed, did not start or stopped."""


class EndpointError(StackchoiceError):
    """An endpoint could not be reached or does not speak the protocol."""


class ReportError(StackchoiceError):
    """A report could not be rendered."""


class ScoreError(StackchoiceError):
    """A file of questions could not be read."""


class TrafficError(StackchoiceError):
    """A request log could not be read; the text never quotes what stands in it."""


class CheckpointError(StackchoiceError):
    """A file of a checkpoint is broken, truncated, too large or hostile: value, reason, fix."""


def known_names(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the names that were meant, or all."""
    names = sorted(known)
    if not names:
        return "none is known here; leave it out"
    asked = name.casefold()
    folded = {other: other.casefold() for other in names}
    meant = [n for n, low in folded.items() if len(asked) > 2 and asked in low]
    near = difflib.get_close_matches(asked, list(folded.values()), 3, 0.75)
    meant += [n for n in names if folded[n] in near and n not in meant]
    if meant and len(names) > SHORT_LIST:
        return f"did you mean {' or '.join(meant[:5])}? {SEARCH} searches all {len(names)}"
    hint = f"did you mean {' or '.join(meant[:5])}? " if meant else ""
    return f"{hint}known: {', '.join(names)}"
