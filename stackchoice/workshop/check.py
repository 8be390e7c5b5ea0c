"""``check(name, answer)``: right by what the product computes, or what to look at."""

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
    """How an answer was taken: ``ok`` is None while nothing was answered."""

    name: str
    ok: bool | None
    text: str

    @property
    def label(self) -> str:
        """What happened, in a word or three."""
        return {True: "right", False: "not yet", None: "not answered yet"}[self.ok]

    def __repr__(self) -> str:
        return f"{self.label}: {self.text}"

    def _repr_html_(self) -> str:
        return Markup('<div role="status" style="{}"><strong>{}</strong>: {}</div>').format(
            _STYLE.format(_COLOURS[self.ok]), self.label, self.text
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
        return Checked(name, False, str(error))


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
            return Checked(name, True, f"{_figure(expected.right)} {asked.unit}".strip())
        trap = next(
            (t for t, wrong in expected.traps.items() if _near(value, wrong, asked.tolerance)), None
        )
        scaled = any(_near(value * by, expected.right, asked.tolerance) for by in SCALES)
        look = f"{OTHER_UNIT} {asked.unit}." if asked.unit and scaled else asked.look
        return Checked(name, False, asked.traps.get(trap or "", look))
    said = read_words(answer)
    choices = {read_words(choice): choice for choice in asked.choices}
    if choices and said not in choices:
        return Checked(name, False, f"answer one of: {', '.join(asked.choices)}")
    accepted = expected.right if isinstance(expected.right, tuple) else (expected.right,)
    if said in map(read_words, accepted):
        return Checked(name, True, next(a for a in accepted if said == read_words(a)))
    trap = next((t for t, wrong in expected.traps.items() if said == read_words(wrong)), None)
    return Checked(name, False, asked.traps.get(trap or "", asked.look))


def _near(value: float, right: Any, tolerance: float) -> bool:
    return abs(value - float(right)) <= tolerance * abs(float(right)) + 1e-9


def _figure(value: Any) -> str:
    """Word a computed figure: whole numbers whole, others with the digits that a hand needs."""
    number = float(value)
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.2f}"
