"""What engines take beside the OpenAI protocol: an emptied cache, answers of one length.

Which engine has what is said by ``data/beside.yaml``. To empty a cache is a side effect on
somebody's server, so nothing here is sent unless the plan asks for it.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from stackchoice.confirm.results import MAX_CACHED_SHARE, WARM_SHARE, Emptied, cached_share
from stackchoice.facts.datum import Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml, shown
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.reading import body_text
from stackchoice.load.records import Sample
from stackchoice.load.run import LoadRun
from stackchoice.load.untrusted import parse_json
from stackchoice.load.wire import Limits

SLOT = "{slot}"
#: A slot is emptied by a request of its own, so a number that no server has is not believed.
MOST_SLOTS = 4096


class Empty(Record):
    """The request that empties a prefix cache, and what the server must be started with."""

    method: str
    path: str
    needs: str
    source: dict[str, Any]


class OneLength(Record):
    """Fields of a request that make an answer as long as its limit."""

    fields: dict[str, bool]
    source: dict[str, Any]


class Beside(Record):
    """One engine: how it is called, its packages, and what it takes."""

    called: tuple[str, ...]
    packages: tuple[str, ...] = ()
    empty: Empty | None = None
    one_length: OneLength | None = None


class Ending(Record):
    """Models that must end by a token of their own format."""

    model_types: tuple[str, ...]
    marks: tuple[str, ...]
    source: dict[str, Any]


class Table(Record):
    """What ``data/beside.yaml`` says."""

    engines: dict[str, Beside]
    ends_by_its_format: Ending


@cache
def table() -> Table:
    """Read ``data/beside.yaml``."""
    return Table.model_validate(read_yaml(data_dir() / "beside.yaml"))


def engine_called(*names: str | None) -> tuple[str, Beside] | None:
    """Return the engine that the first known name means, with its id; None for another."""
    for name in filter(None, names):
        for engine, row in table().engines.items():
            if name.strip().casefold() in row.called:
                return engine, row
    return None


def one_length(
    found: tuple[str, Beside] | None, model_type: str | None, template: str
) -> tuple[dict[str, bool], str]:
    """Return the fields to ask with, and in words what is asked or why nothing is.

    Parameters
    ----------
    model_type
        The model's, where it is known.
    template
        Chat template, as far as the server tells it.
    """
    own = table().ends_by_its_format
    if model_type in own.model_types or any(mark in template for mark in own.marks):
        return {}, "not asked for: this model ends its answers by a token of its own format"
    if found is None:
        return {}, "not asked for: the server does not say which engine it is"
    engine, row = found
    if row.one_length is None:
        return {}, f"not asked for: {engine} is not known to have a request for it"
    unsure = "" if model_type or template else "; whether the model allows it is not known"
    return row.one_length.fields, f"asked for with {', '.join(row.one_length.fields)}{unsure}"


class Emptier:
    """Empties the prefix cache of a server before a repetition, and proves once that it does.

    Parameters
    ----------
    slots
        Slots of the server, where its cache is emptied slot by slot.
    started_here
        The engine was started for this launch.
    """

    def __init__(
        self, endpoint: Endpoint, load: LoadRun, found: tuple[str, Beside] | None,
        slots: int | None, *, started_here: bool,
    ) -> None:  # fmt: skip
        self.endpoint, self.load = endpoint, load
        self.hook = found[1].empty if found else None
        self.paths: list[str] = []
        self.why = ""
        if self.hook is None:
            what = f"{found[0]} has no request" if found else "the server names no engine with one"
            self.why = f"nothing emptied it: {what}"
            if started_here:
                self.why += "; this launch started the engine, so it held canaries and warm-up"
        elif SLOT not in self.hook.path:
            self.paths = [self.hook.path]
        elif slots and slots <= MOST_SLOTS:
            self.paths = [self.hook.path.replace(SLOT, str(n)) for n in range(slots)]
        else:
            said = f"says {slots:,}" if slots else "does not say how many"
            self.why = f"nothing emptied it: the server {said} slots it has"

    def prove(self) -> None:
        """Ask the same twice, empty the cache, and ask again."""
        if not self.paths:
            self.load.emit({"step": "emptied", "why": self.why})
            return
        body = self.load.plan.body("proof", secrets.token_hex(4), output_tokens=1)
        before = [self.load.ask(body, "proof") for _ in range(2)]
        self.empty()
        samples = [*before, self.load.ask(body, "proof")]
        self.load.emit({"step": "emptied_proof", "samples": [s.model_dump() for s in samples]})

    def empty(self, repetition: int = -1) -> None:
        """Send the request; what was answered becomes an event."""
        for path in self.paths:
            status, answer = _post(self.endpoint, path, self.load.plan.limits)
            ok = status == 200 and (parse_json(answer) or {}).get("success") is not False
            needs = "" if ok or self.hook is None else self.hook.needs
            self.load.emit({"step": "emptied", "launch": self.load.launch, "repetition": repetition,
                            "hook": f"POST {path}", "status": status, "ok": ok, "needs": needs,
                            "answer": shown(" ".join(answer.split()), 200)})  # fmt: skip


def _post(endpoint: Endpoint, path: str, limits: Limits) -> tuple[int | None, str]:
    answer = endpoint.post(f"{endpoint.root}{path}", limits)
    status, _, text = body_text(answer)
    return status, text or (answer.detail if answer.problem else "")


def emptied_by(events: Iterable[Mapping[str, Any]]) -> Emptied | None:
    """Return how the cache was emptied, and whether that was proven; None where nobody asked."""
    told = list(events)
    sent = [e for e in told if e["step"] == "emptied"]
    if not sent:
        return None
    if why := next((e["why"] for e in sent if "why" in e), None):
        return Emptied(text=why)
    proofs = [[Sample.model_validate(s) for s in e["samples"]] for e in told
              if e["step"] == "emptied_proof"]  # fmt: skip
    proven, proof = _proof(proofs)
    refused = [e for e in sent if not e["ok"]]
    hook = ", ".join(dict.fromkeys(e["hook"] for e in sent))
    last = (refused or sent)[-1]
    answer = f"status {last['status']}" + (f", {last['answer']}" if last["answer"] else "")
    how = f"REFUSED {len(refused)} of {len(sent)} times" if refused else f"{len(sent)} times"
    needs = f"; it needs {last['needs']}" if last["needs"] else ""
    return Emptied(
        hook=hook, times=len(sent), refused=len(refused), answer=answer, proven=proven,
        text=f"emptied before each repetition by {hook} ({how}: {answer}{needs}); {proof}",
    )  # fmt: skip


def _proof(proofs: Sequence[Sequence[Sample]]) -> tuple[bool | None, str]:
    """Read the proofs of all launches; the worst counts."""
    found = [_one_proof(p) for p in proofs] or [(None, "not proven")]
    order = {False: 0, None: 1, True: 2}
    return min(found, key=lambda pair: order[pair[0]])


def _one_proof(samples: Sequence[Sample]) -> tuple[bool | None, str]:
    _, again, after = samples
    shares = [cached_share([s]) for s in (again, after)]
    if shares[0] is None or shares[1] is None:
        return None, "not proven: answers carry no cached_tokens"
    told = f"{again.cached_tokens} of {again.prompt_tokens} tokens of a repeated prompt"
    if shares[0] < WARM_SHARE:
        return None, f"not proven: only {told} came from the cache before it"
    if shares[1] > MAX_CACHED_SHARE:
        return (
            False,
            f"NOT emptied: {told} came from the cache before it, {after.cached_tokens} after",
        )
    return True, f"proven: {told} came from the cache before it, {after.cached_tokens} after"
