"""What the courseware asks: texts from ``data/workshop/questions.yaml``, by name."""

from __future__ import annotations

from functools import cache
from typing import Literal

from pydantic import Field, model_validator

from stackchoice.errors import InputError
from stackchoice.facts.datum import Record
from stackchoice.facts.files import checked
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml, shown

Kind = Literal["number", "choice", "text"]


class Question(Record):
    """One question of a lesson.

    Attributes
    ----------
    unit
        What a bare number means; a number with a unit is converted.
    tolerance
        Share by which a number may be off, for rounding by hand.
    look
        Said of a wrong answer: where to look, and never the answer.
    traps
        Said instead of ``look`` where the answer is a known wrong one, by the trap's name; the
        value of a trap is computed like the right one.
    right
        The right choice, where it is knowledge and not a figure.
    """

    lesson: int
    ask: str
    kind: Kind = "number"
    unit: str = ""
    tolerance: float = Field(default=0.005, ge=0, lt=0.2)
    choices: tuple[str, ...] = ()
    right: str = ""
    look: str
    traps: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Question:
        if (self.kind == "choice") != bool(self.choices):
            raise ValueError("a choice has choices, and nothing else has")
        if self.right and self.right not in self.choices:
            raise ValueError(f"right {self.right!r} is none of the choices")
        return self


@cache
def load_questions() -> dict[str, Question]:
    """Read every question; the order is the order of the lessons.

    FactsError when the file is malformed.
    """
    path = data_dir() / "workshop" / "questions.yaml"
    rows = read_yaml(path)["questions"]
    return {name: checked(Question, tree, path) for name, tree in rows.items()}


def question(name: str) -> Question:
    """Return a question by name.

    InputError when there is none of this name; the text lists those of the same lesson, else all.
    """
    known = load_questions()
    if name in known:
        return known[name]
    alike = [n for n in known if n.split(".")[0] == str(name).split(".")[0]] or list(known)
    raise InputError(f"no question {shown(str(name))!r}; it is one of: {', '.join(alike)}")
