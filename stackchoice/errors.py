"""The errors meant for the user. Each text says the value, why it is wrong, and the fix."""

import difflib
from collections.abc import Iterable

#: A list of known names that is longer than this is cut where a command shows the whole.
SHORT_LIST = 12
#: How many names are shown of such a list.
MOST_NAMES = 5


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


def known_names(name: str, known: Iterable[str], kind: str = "") -> str:
    """Return the end of an error about an unknown name: the names that were meant, or all.

    Parameters
    ----------
    kind
        What ``stackchoice facts`` calls the list, where it shows it.
    """
    names = sorted(known)
    if not names:
        return "none is known here; leave it out"
    asked = name.casefold()
    folded = {other: other.casefold() for other in names}
    meant = [n for n, low in folded.items() if len(asked) > 2 and asked in low]
    near = difflib.get_close_matches(asked, list(folded.values()), 3, 0.75)
    meant += [n for n in names if folded[n] in near and n not in meant]
    hint = f"did you mean {' or '.join(meant[:MOST_NAMES])}? " if meant else ""
    if not kind or len(names) <= SHORT_LIST:
        return f"{hint}known: {', '.join(names)}"
    hint = hint or f"known: {', '.join(names[:MOST_NAMES])} and others; "
    return f"{hint}`stackchoice facts {kind}` lists all {len(names)}"
