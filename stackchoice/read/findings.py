"""What a checkpoint's files say against each other, each with a code that programs can look for."""

from functools import cache
from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml

Kind = Literal["contradiction", "note"]


class Finding(Record):
    """One contradiction, or one thing that readers of this checkpoint get wrong.

    ``where`` names the files and keys; ``values`` what each of them says, in the same order.
    """

    code: str
    kind: Kind
    text: str
    where: list[str] = Field(default=[])
    values: list[str] = Field(default=[])


@cache
def codes() -> dict[str, str]:
    """Return every code with its meaning: ``data/finding_codes.yaml``."""
    return dict(read_yaml(data_dir() / "finding_codes.yaml")["codes"])


def finding(
    code: str, text: str, *said: tuple[str, object], kind: Kind = "contradiction"
) -> Finding:
    """Return a finding; ``said`` are pairs of a place and what it says.

    KeyError for a code that is not listed.
    """
    if code not in codes():
        raise KeyError(code)
    return Finding(code=code, kind=kind, text=text, where=[w for w, _ in said],
                   values=[str(v)[:200] for _, v in said])  # fmt: skip
