"""The design of a sweep: which settings are measured, and in which order. Pure."""

import math
import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from stackchoice.confirm.identity import Setting
from stackchoice.errors import InputError
from stackchoice.facts.datum import Record
from stackchoice.facts.values import typed

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_WORDS: dict[str, Setting] = {"on": True, "true": True, "off": False, "false": False}
#: More arms are a search, and every arm costs two runs.
MOST_ARMS = 64
MOST_ROUNDS = 100


class Knob(Record):
    """One setting and its values; the first is the baseline."""

    name: str
    values: tuple[Setting, ...] = Field(min_length=2)


class Arm(Record):
    """One combination of settings, and what it is for."""

    id: str
    settings: dict[str, Setting]
    role: Literal["baseline", "knob", "interaction"]
    knobs: tuple[str, ...] = ()


class Design(Record):
    """Arms, and the order of their runs (by number of the arm).

    The order goes forth and back (A B C C B A): each arm is measured twice, a drift that is even
    moves all means alike, and the two runs of the baseline, first and last, show it.
    """

    knobs: tuple[Knob, ...]
    arms: tuple[Arm, ...]
    order: tuple[int, ...]


def parse_knob(text: str) -> Knob:
    """Read ``name=first,second,...``; numbers, on and off are what they say.

    InputError when it is none.
    """
    name, mark, values = text.partition("=")
    found = tuple(_value(v.strip()) for v in values.split(",") if v.strip())
    if not mark or not _NAME.match(name.strip()):
        raise InputError(f"knob {text!r}: no name with values; write one like slots=1,4")
    if len(found) < 2:
        raise InputError(f"knob {text!r}: fewer than two values; the first is the baseline")
    if endless := [v for v in found if isinstance(v, str) and _endless(v)]:
        raise InputError(f"knob {text!r}: {endless[0]} is no setting; write a finite number")
    if len({(isinstance(v, bool), v) for v in found}) < len(found):
        raise InputError(f"knob {text!r}: a value stands twice; name each once")
    return Knob(name=name.strip(), values=found)


def design(
    knobs: Sequence[Knob], interactions: Sequence[tuple[str, str]] = (), *, rounds: int = 1
) -> Design:
    """Lay out a sweep: a baseline, each other value by itself, and pairs that are asked for.

    Parameters
    ----------
    interactions
        Pairs of knobs whose last values are also measured together, as an arm of their own.
    rounds
        How often the order goes forth and back.

    Raises
    ------
    InputError
        When a knob stands twice, a pair names none, or arms or rounds are too many.
    """
    by_name = {knob.name: knob for knob in knobs}
    if not knobs:
        raise InputError("no knob: nothing to sweep; give one like slots=1,4")
    if len(by_name) < len(knobs):
        raise InputError("a knob stands twice; give all its values in one")
    base: dict[str, Setting] = {knob.name: knob.values[0] for knob in knobs}
    arms = [Arm(id="baseline", settings=base, role="baseline")]
    for knob in knobs:
        arms += [
            Arm(id=f"{knob.name}={_shown(v)}", settings={**base, knob.name: v}, role="knob",
                knobs=(knob.name,))
            for v in knob.values[1:]
        ]  # fmt: skip
    for pair in interactions:
        unknown = [name for name in pair if name not in by_name]
        if unknown or pair[0] == pair[1]:
            raise InputError(
                f"interaction {','.join(pair)!r}: not two different knobs; they are "
                f"{', '.join(by_name)}"
            )
        both = {name: by_name[name].values[-1] for name in pair}
        name = "+".join(f"{k}={_shown(v)}" for k, v in both.items())
        arms.append(Arm(id=name, settings={**base, **both}, role="interaction", knobs=pair))
    if len(arms) > MOST_ARMS:
        raise InputError(f"{len(arms)} arms: more than {MOST_ARMS}; sweep fewer values at a time")
    if not 1 <= rounds <= MOST_ROUNDS:
        raise InputError(f"{rounds} rounds: not possible; write 1 to {MOST_ROUNDS}")
    forth = list(range(len(arms)))
    order = tuple((forth + forth[::-1]) * rounds)
    return Design(knobs=tuple(knobs), arms=tuple(arms), order=order)


def _value(text: str) -> Setting:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return typed(text)


def _endless(text: str) -> bool:
    """Whether a text is a number, but not a finite one."""
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False


def _shown(value: Setting) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
