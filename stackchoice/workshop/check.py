"""``check(name, answer)``: right by what the product computes, or what to look at."""

import re
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from stackchoice.errors import InputError
from stackchoice.workshop import worked, yours
from stackchoice.workshop.asked import Question, load_questions, question
from stackchoice.workshop.reading import read_number, read_words, unanswered
from stackchoice.workshop.table import Table

#: Questions that need nothing given.
SOLVERS = {**worked.SOLVERS, **yours.ARMS}
#: What lies between units of one kind: thousands, 1,024s, and one taken for the other.
SCALES = {base**power for base in (1000, 1024, 1.024) for power in (-3, -2, -1, 1, 2, 3)}
OTHER_UNIT = "The digits are right, the unit is not (KB is 1000 bytes, KiB 1024): the answer is in"
_STYLE = (
    "border-left:.4em solid {}; padding:.3em .8em; margin:.2em 0;"
    "color:var(--jp-content-font-color1, inherit);"
)
_COLOURS = {True: "#2e7d32", False: "#b3541e", None: "#607d8b"}


@dataclass(frozen=True)
class Checked:
    """How an answer to ``ask`` was taken: ``ok`` is None while nothing was answered."""

    name: str
    ok: bool | None
    text: str
    ask: str = ""

    @property
    def label(self) -> str:
        """What happened, in a word or three."""
        return {True: "right", False: "not yet", None: "not answered yet"}[self.ok]

    def __repr__(self) -> str:
        return f"{self.label}: {self.text}"

    def _repr_html_(self) -> str:
        asked = Markup("{}<br>").format(self.ask) if self.ask else ""
        return Markup('<div role="status" style="{}">{}<strong>{}</strong>: {}</div>').format(
            _STYLE.format(_COLOURS[self.ok]), asked, self.label, self.text
        )


def check(name: str, answer: Any = None, given: Any = None) -> Checked:
    """Say whether an answer is right, or what to look at.

    Parameters
    ----------
    name
        Name of the question; ``questions()`` lists them.
    answer
        A number, a text, a number with a unit, a choice, or ``True`` and ``False`` for yes and no.
    given
        What the question is about, where it is the learner's own: trials, a passport, a decision.

    Raises
    ------
    InputError
        When there is no question of this name.
    """
    asked = question(name)
    if unanswered(answer):
        choices = f" Answer one of: {', '.join(asked.choices)}." if asked.choices else ""
        unit = f" Answer in {asked.unit}." if asked.unit and asked.unit not in asked.ask else ""
        return Checked(name, None, f"{asked.ask}{unit}{choices}")
    if name in yours.SOLVERS and given is None:
        return Checked(name, None, f"give what it is about: check({name!r}, answer, given=...)")
    try:
        return _compared(name, asked, answer, _expected(name, asked, given))
    except InputError as error:
        return Checked(name, False, str(error), asked.ask)


def questions(lesson: int | None = None) -> Table:
    """Return the questions of a lesson, or all: name, what is asked, in which unit or choices."""
    rows = [
        {"name": name, "lesson": q.lesson, "asks": q.ask,
         "answer": " / ".join(q.choices) or q.unit or q.kind}
        for name, q in load_questions().items()
        if lesson in (None, q.lesson)
    ]  # fmt: skip
    return Table(rows, columns=["name", "lesson", "asks", "answer"])


def _expected(name: str, asked: Question, given: Any) -> worked.Expected:
    if asked.right:
        return worked.Expected(asked.right)
    return yours.SOLVERS[name](given) if name in yours.SOLVERS else SOLVERS[name]()


def _compared(name: str, asked: Question, answer: Any, expected: worked.Expected) -> Checked:
    if asked.kind == "number":
        value = read_number(answer, asked.unit)
        if _near(value, expected.right, asked.tolerance):
            figure = f"{_figure(expected.right)} {asked.unit}".strip()
            return Checked(name, True, figure, asked.ask)
        trap = next(
            (t for t, wrong in expected.traps.items() if _near(value, wrong, asked.tolerance)), None
        )
        scaled = any(_near(value * by, expected.right, asked.tolerance) for by in SCALES)
        look = f"{OTHER_UNIT} {asked.unit}." if asked.unit and scaled else asked.look
        return Checked(name, False, asked.traps.get(trap or "", look), asked.ask)
    said = read_words(answer)
    if asked.choices and (chosen := _chosen(said, asked.choices)) is None:
        return Checked(name, False, f"answer one of: {', '.join(asked.choices)}", asked.ask)
    said = read_words(chosen) if asked.choices else said
    accepted = expected.right if isinstance(expected.right, tuple) else (expected.right,)
    if said in map(read_words, accepted):
        right = next(a for a in accepted if said == read_words(a))
        return Checked(name, True, right, asked.ask)
    trap = next((t for t, wrong in expected.traps.items() if said == read_words(wrong)), None)
    return Checked(name, False, asked.traps.get(trap or "", asked.look), asked.ask)


def _chosen(said: str, choices: tuple[str, ...]) -> str | None:
    """Return the choice that was named, whole or by words that only one of them has."""
    whole = [choice for choice in choices if read_words(choice) == said]
    part = [c for c in choices if _terms(said) <= _terms(read_words(c))]
    found = whole or part
    return found[0] if len(found) == 1 else None


def _terms(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _near(value: float, right: Any, tolerance: float) -> bool:
    return abs(value - float(right)) <= tolerance * abs(float(right)) + 1e-9


def _figure(value: Any) -> str:
    """Word a computed figure: whole numbers whole, others with the digits that a hand needs."""
    number = float(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.2f}"
