"""Trials on the embedded engine: one knob, one effect; a recorded run where there is no engine.

A trial is no benchmark. It has few requests, no canaries and no client floor, and its effects are
large enough to be seen all the same. ``STACKCHOICE_WORKSHOP`` chooses: ``engine``, ``recorded``, or
``auto`` (the engine where it is installed).
"""

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from pydantic import Field

from stackchoice.confirm import EmbeddedEngine
from stackchoice.confirm.serverinfo import ask_server
from stackchoice.confirm.setup import model_file
from stackchoice.errors import EngineError, InputError
from stackchoice.facts.datum import Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml, shown
from stackchoice.load.plan import Plan
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Sample
from stackchoice.load.untrusted import visible
from stackchoice.workshop.table import Table

VARIABLE = "STACKCHOICE_WORKSHOP"
SOURCES = ("auto", "engine", "recorded")
_TEXT = 300
#: Columns of whole numbers, also where one of them is unknown.
_COUNTS = ("prompt tokens", "from cache", "answer tokens")
#: Seconds that one request of a trial may take on a slow machine.
_PATIENCE_S = 240


class Setup(Record):
    """What a trial does; see ``data/workshop/trials.yaml``."""

    prompt_words: int = Field(default=16, ge=1)
    output_tokens: int = Field(default=16, ge=1)
    requests: int = Field(default=1, ge=1, le=16)
    users: int = Field(default=1, ge=1, le=16)
    same: bool = False
    question: str = ""
    context_tokens: int = 2048
    slots: int = 1
    cache_type: str = "f16"

    @property
    def engine(self) -> tuple[int, int, str]:
        """What the engine is started with; trials that agree in it share one start."""
        return self.context_tokens, self.slots, self.cache_type


class Trial(Record):
    """One finished trial. Times are seconds; None is unknown."""

    name: str
    setup: Setup
    realised_context_tokens: int | None = None
    realised_slots: int | None = None
    wall_s: float
    samples: tuple[Sample, ...]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Give one row per request, with the names of the field and their units."""
        for number, s in enumerate(self.samples, 1):
            decode = None if s.ttft_s is None or s.end_to_end_s is None else (
                s.end_to_end_s - s.ttft_s)  # fmt: skip
            yield {
                "trial": self.name, "request": number, "prompt tokens": s.prompt_tokens,
                "from cache": s.cached_tokens, "answer tokens": s.completion_tokens,
                "TTFT s": s.ttft_s, "rest of the answer s": decode,
                "decode tokens/s": s.decode_tokens_per_s,
                "end to end s": s.end_to_end_s, "failure": s.failure_detail or "",
            }  # fmt: skip


class Trials(dict[str, Trial]):
    """Finished trials by name, and where they come from (``origin``)."""

    def __init__(self, found: Iterable[Trial], origin: str) -> None:
        super().__init__((t.name, t) for t in found)
        self.origin = origin

    def to_frame(self) -> Table:
        """Return one row per request."""
        table = Table([row for trial in self.values() for row in trial.rows()]).round(3)
        return table.astype(dict.fromkeys(_COUNTS, "Int64"))

    def starts_frame(self) -> Table:
        """Return one row per trial: what the engine was asked for, and what it realised."""
        return Table(
            [
                {"trial": t.name, "context configured": t.setup.context_tokens,
                 "context realised": t.realised_context_tokens, "slots": t.realised_slots,
                 "cache": t.setup.cache_type, "all answered after s": round(t.wall_s, 2)}
                for t in self.values()
            ]
        )  # fmt: skip

    def answers_frame(self) -> Table:
        """Return what the model said, one row per request."""
        return Table([{"trial": t.name, "said": s.text} for t in self.values() for s in t.samples])


@cache
def setups() -> Mapping[str, Setup]:
    """Read the trials by name."""
    tree = read_yaml(data_dir() / "workshop" / "trials.yaml")["trials"]
    return {name: Setup(**fields) for name, fields in tree.items()}


def run(*names: str, source: str | None = None) -> Trials:
    """Run trials here, or show recorded ones where the engine is not installed.

    Parameters
    ----------
    source
        ``auto``, ``engine`` or ``recorded``; the environment's when not given.

    Raises
    ------
    InputError
        When a name or the source is not known.
    EngineError
        When the engine was asked for and is not there or does not start.
    """
    known = setups()
    for name in names:
        if name not in known:
            raise InputError(f"no trial {shown(name)!r}; it is one of: {', '.join(known)}")
    if source_of(source) == "recorded":
        return recorded(*names)
    return Trials(_measured({name: known[name] for name in names}), "measured here, just now")


def source_of(source: str | None = None) -> str:
    """Return ``engine`` or ``recorded``: what was asked for, else what is possible.

    InputError for another word.
    """
    wanted = source or os.environ.get(VARIABLE) or "auto"
    if wanted not in SOURCES:
        raise InputError(f"{VARIABLE} {shown(wanted)!r}: give one of {', '.join(SOURCES)}")
    if wanted != "auto":
        return wanted
    try:
        model_file()
    except EngineError:
        return "recorded"
    return "engine"


def recorded(*names: str) -> Trials:
    """Return trials that were measured before, with the machine and the day."""
    tree = json.loads((data_dir() / "workshop" / "trials.json").read_text(encoding="utf-8"))
    found = {t["name"]: Trial.model_validate(t) for t in tree["trials"]}
    return Trials((found[name] for name in names), tree["origin"])


def _measured(wanted: Mapping[str, Setup]) -> Iterator[Trial]:
    by_engine: dict[tuple[int, int, str], list[str]] = {}
    for name, setup in wanted.items():
        by_engine.setdefault(setup.engine, []).append(name)
    done: dict[str, Trial] = {}
    for (context, slots, cache_type), names in by_engine.items():
        with EmbeddedEngine(context_tokens=context, slots=slots, cache_type=cache_type) as engine:
            for name in names:
                done[name] = _trial(name, wanted[name], engine)
    return (done[name] for name in wanted)


def _trial(name: str, setup: Setup, engine: EmbeddedEngine) -> Trial:
    """Send the requests of one trial, so many at once as there are users."""
    plan = Plan(timeout_s=_PATIENCE_S)
    said = ask_server(engine.endpoint, plan.limits)
    # Nothing of an earlier trial may be in the cache, and requests of one share only what is asked.
    nonces = [f"{name} {0 if setup.same else n}" for n in range(setup.requests)]

    def ask(nonce: str) -> Sample:
        body = plan.body(nonce, nonce, words=setup.prompt_words, output_tokens=setup.output_tokens)
        if setup.question:
            body["messages"] = [{"role": "user", "content": setup.question}]
        body |= {"model": engine.endpoint.model, "stream": True}
        body["stream_options"] = {"include_usage": True}
        sample = read_sample(engine.endpoint.ask(body, plan.limits), body)
        return sample.model_copy(update={"text": visible(sample.text, _TEXT)})

    began = time.perf_counter()
    with ThreadPoolExecutor(setup.users) as users:
        samples = list(users.map(ask, nonces))
    return Trial(
        name=name, setup=setup, realised_context_tokens=said.context_tokens,
        realised_slots=said.slots, wall_s=time.perf_counter() - began, samples=samples,
    )  # fmt: skip
