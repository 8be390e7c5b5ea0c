"""YAML read safely, with the line of every key, so that an error can name its place."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    ScalarEvent,
)

from stackchoice.errors import StackchoiceError
from stackchoice.facts.write import ordinary, write_whole

#: A scenario is a page or two, and the reader that knows lines is slow.
MAX_BYTES = 2**18
#: The largest of our own tables are some hundred kilobytes.
MAX_FACTS_BYTES = 4 * 2**20
#: Longer than any line that is printed for people.
LONGEST_LINE = 4000
#: Ours need five levels; a parser that recurses needs a bound.
MAX_DEPTH = 40


class YamlError(StackchoiceError):
    """A YAML file could not be read; the text names file, line, reason and fix."""


def read_yaml(path: Path, *, with_lines: bool = False) -> Any:
    """Read one YAML mapping from a file.

    Parameters
    ----------
    path
        The file. At most 256 KiB, no aliases (they can blow up), no merge keys, tags or
        repeated keys, and no older YAML (in which ``1:30`` is a number).
    with_lines
        Keep ruamel's commented tree, which knows lines and comments; else plain dicts.

    Raises
    ------
    YamlError
        When the file is missing, too large, not UTF-8 or not a YAML mapping.
    """
    text = _text(path, MAX_BYTES)
    with _parsing(path):
        _refuse(text, path)
        tree = YAML(typ="rt" if with_lines else "safe", pure=True).load(text)
    return _mapping(tree, path)


def read_facts(path: Path) -> dict[str, Any]:
    """Read one file of the fact base, by the C parser: ten times faster, and without lines.

    YamlError when the file is missing, too large, not UTF-8, not a YAML mapping, or has aliases.
    """
    text = _text(path, MAX_FACTS_BYTES)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with _parsing(path):
        # Most files hold no star, and one without has no alias: they are parsed once.
        if "*" in text and any(
            isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)
        ):
            raise YamlError(f"{path}: YAML aliases (*name) are not accepted; write the value out")
        tree = yaml.load(text, Loader=loader)
    return _mapping(tree, path)


def write_facts(path: Path, tree: dict[str, Any], header: str = "") -> None:
    """Write a file of the fact base that was worked out, one record a line."""
    text = yaml.safe_dump(tree, sort_keys=False, default_flow_style=None, width=10_000)
    write_whole(path, header + text, YamlError)


def refuse_unclear(path: Path) -> None:
    """Refuse a file of facts in which a key stands twice, or a text would break what is shown.

    YamlError as :func:`read_facts`, and with the line of the key or of the text.
    """
    read_facts(path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    todo: list[Any] = [yaml.compose(_text(path, MAX_FACTS_BYTES), Loader=loader)]
    while todo:
        node = todo.pop()
        line = node.start_mark.line + 1
        if isinstance(node, yaml.SequenceNode):
            todo += node.value
        elif isinstance(node, yaml.MappingNode):
            seen = set()
            for key, value in node.value:
                todo += (key, value)
                if (name := str(key.value)) in seen:
                    line = key.start_mark.line + 1
                    raise YamlError(f"{path}:{line}: key {shown(name)!r} stands twice; keep one")
                seen.add(name)
        elif not node.value.strip().isprintable():
            what = "holds line breaks or control characters; write one line"
            raise YamlError(f"{path}:{line}: '{shown(node.value, 60)}' {what}")


def shown(value: Any, limit: int = 120) -> str:
    """Return a value as one short line for an error text, whatever was in the file."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except ValueError:  # Python does not print an integer of more than 4300 digits
        bits = f"number of {value.bit_length():,} bits" if isinstance(value, int) else "value"
        return f"a {bits} too long to print"
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= limit else f"{text[:limit]}…"


def shown_lines(*lines: str) -> str:
    """Return lines for a terminal, in which no name can make a line of its own or a colour."""
    return "\n".join(shown(line, LONGEST_LINE) for line in lines)


def bounded_text(path: Path, limit: int, refused: type[StackchoiceError], fix: str) -> str:
    """Read a text file of at most ``limit`` bytes.

    StackchoiceError of the kind ``refused``, with ``fix``, when the file is missing, too large or
    not UTF-8.
    """
    try:
        with ordinary(path).open("rb") as file:  # it may grow meanwhile
            raw = file.read(limit + 1)
        if len(raw) > limit:
            raise refused(f"{path}: too large ({limit:,} bytes are the limit); {fix}")
        return raw.decode("utf-8-sig")
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", "no such name")
        if isinstance(error, UnicodeDecodeError):
            reason = "not UTF-8 text"
        raise refused(f"{path}: cannot be read ({reason}); {fix}") from None


def _text(path: Path, limit: int) -> str:
    return bounded_text(path, limit, YamlError, "give the path of a YAML file")


@contextmanager
def _parsing(path: Path) -> Iterator[None]:
    """Say of what either parser refuses where it stands."""
    try:
        yield
    except (MarkedYAMLError, yaml.MarkedYAMLError) as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 0
        problem, twice, _ = (error.problem or "").partition(" with value ")  # of a duplicate key
        keep = "; keep one" if twice else ""
        raise YamlError(f"{path}:{line}: not valid YAML: {shown(problem)}{keep}") from None
    except (YAMLError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise YamlError(f"{path}: not valid YAML: {shown(str(error).splitlines()[0])}") from None


def _mapping(tree: Any, path: Path) -> dict[str, Any]:
    if not isinstance(tree, dict):
        what = "nothing" if tree is None else "a list" if isinstance(tree, list) else "one value"
        raise YamlError(f"{path}: holds {what}, not keys and values; write `key: value` lines")
    return tree


def _refuse(text: str, path: Path) -> None:
    """Refuse what YAML allows and a file of plain values never needs, with its line."""
    depth = 0
    for event in YAML(typ="rt").parse(text):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if reason := _unwanted(event, depth):
            raise YamlError(f"{path}:{event.start_mark.line + 1}: {reason}")


def _unwanted(event: Event, depth: int) -> str:
    if depth > MAX_DEPTH:
        return f"nested more than {MAX_DEPTH} deep; write plain keys and values"
    if isinstance(event, AliasEvent):
        return "YAML aliases (*name) are not accepted; write the value out"
    if isinstance(event, DocumentStartEvent) and event.version not in (None, (1, 2)):
        return "only YAML 1.2 is read; leave out the %YAML line"
    if isinstance(event, ScalarEvent | CollectionStartEvent) and event.tag is not None:
        return f"YAML tags ({shown(str(event.tag), 40)}) are not accepted; write a plain value"
    if isinstance(event, ScalarEvent) and event.value == "<<" and event.implicit[0]:
        return "YAML merge keys (<<) are not accepted; write the keys out"
    return ""
