"""What points where: the rules of the map, and the settings that follow from the arithmetic."""

from typing import Literal

from pydantic import Field

from stackchoice.facts.datum import Record, Source


class Push(Record):
    """One engine a rule pushes toward, and how far: first choice or an alternative."""

    engine: str
    rank: int = Field(default=1, ge=1)
    note: str = ""


class Rule(Record):
    """One cell of the map. ``when`` names predicates that must all hold, ``unless`` none.

    ``precedence`` settles two rules that disagree (higher wins) and ``resolves`` says why in
    words, since a conflict is shown and never averaged away.
    """

    id: str
    question: Literal["workload", "ops"]
    when: list[str]
    unless: list[str] = []
    favours: list[Push]
    precedence: int
    default: bool = False
    text: str
    why: str
    how_far: str
    resolves: str
    source: Source


class Measure(Record):
    """A setting worth trying, when its ``when`` hold and none of its ``unless``.

    ``against`` names measures that it disagrees with, and ``resolves`` what settles them.
    """

    id: str
    when: list[str]
    unless: list[str] = []
    feature: str = ""
    text: str
    why: str
    how_far: str
    against: list[str] = []
    resolves: str = ""
    source: Source
