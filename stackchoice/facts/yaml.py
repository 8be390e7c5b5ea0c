"""YAML read safely, with the line of every key, so that an error can name its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent

from stackchoice.errors import StackchoiceError

#: A scenario or fact file is a page or two; anything near this is not one.
MAX_BYTES = 4 * 2**20


class YamlError(StackchoiceError):
    """A YAML file could not be read; the text names file, line, reason and fix."""


def read_yaml(path: Path, *, with_lines: bool = False) -> Any:
    """Read one YAML mapping from a file.

    Parameters
    ----------
    path
        The file. At most 4 MiB, no aliases (they can blow up), no repeated keys.
    with_lines
        Keep ruamel's commented tree, which knows lines and comments; else plain dicts.

    Raises
    ------
    YamlError
        When the file is missing, too large, not UTF-8 or not a YAML mapping.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise YamlError(
                f"{path}: {size} bytes is too large; a file of {MAX_BYTES} is the limit"
            )
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise YamlError(
            f"{path}: cannot be read ({reason}); give the path of a YAML file"
        ) from None
    try:
        if any(isinstance(event, AliasEvent) for event in YAML(typ="rt").parse(text)):
            raise YamlError(f"{path}: YAML aliases (*name) are not accepted; write the value out")
        tree = YAML(typ="rt" if with_lines else "safe", pure=True).load(text)
    except MarkedYAMLError as error:
        line = (error.problem_mark or error.context_mark).line + 1  # type: ignore[union-attr]
        raise YamlError(f"{path}:{line}: not valid YAML: {error.problem}") from None
    except (YAMLError, RecursionError, ValueError) as error:
        raise YamlError(f"{path}: not valid YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(tree, dict):
        raise YamlError(f"{path}: holds {type(tree).__name__}, not a mapping of keys to values")
    return tree
