"""Confirm a choice by measuring it: one call from plan to passport."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TextIO

from stackchoice.confirm.assess import assemble
from stackchoice.confirm.canary import load_canaries
from stackchoice.load.child import spawn, stop
from stackchoice.load.endpoint import Endpoint
from stackchoice.confirm.engine import EmbeddedEngine
from stackchoice.confirm.load import Job
from stackchoice.confirm.passport import Identity, Passport, PassportError
from stackchoice.confirm.plan import Plan
from stackchoice.confirm.probe import ProbedMachine
from stackchoice.errors import EndpointError, StackchoiceError
from stackchoice.facts.datum import Record
from stackchoice.facts.interval import Interval

#: Ways in which people write the one unit that a prediction may have here.
DECODE_UNITS = ("tokens/s", "tok/s", "tokens per second")

Event = dict[str, Any]


class Progress(Record):
    """One finished step of a run, for a progress bar."""

    step: str
    done: int
    total: int
    text: str


def confirm(
    target: Endpoint | EmbeddedEngine,
    *,
    prediction: Interval | None = None,
    plan: Plan | None = None,
    identity: Mapping[str, Any] | None = None,
    machine: ProbedMachine | None = None,
    arm: str = "",
    raw_path: Path | str | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Passport:
    """Measure an endpoint and hold the result against a prediction.

    The load runs in a child process, so this may be called from a notebook. Order: the server's
    own account, canaries, warm-up, timed requests one at a time, the first canary again.

    Parameters
    ----------
    target
        An endpoint, or a running embedded engine (then identity, memory and restarts are known).
    prediction
        Decode tokens per second of one stream, as an interval.
    plan
        Repetitions, lengths, seed and limits.
    identity
        Fields of :class:`Identity` that the server cannot tell. ``settings`` may hold
        ``context_tokens`` and ``slots`` as configured, to be compared with what the server says.
    machine
        The probed machine, where the endpoint is on it.
    arm
        Name of this arm in a comparison.
    raw_path
        File for raw requests and answers as JSON lines, written as each request ends. Without
        ``resume`` an existing file is replaced.
    resume
        Take timed requests that ``raw_path`` holds already, of the same plan and endpoint.
    on_progress
        Called with each finished step.

    Raises
    ------
    EndpointError
        When the endpoint cannot be used at all. A run that was possible but may not be believed
        gives a passport that says INVALID and why.
    """
    plan = plan or Plan()
    if prediction and prediction.unit not in DECODE_UNITS:
        raise ValueError(
            f"prediction in {prediction.unit!r}: this measures decode, give it in 'tokens/s'"
        )
    engine = target if isinstance(target, EmbeddedEngine) else None
    endpoint = engine.endpoint if engine else target
    assert isinstance(endpoint, Endpoint)
    endpoint.api_key()  # a missing key is said before anything starts
    known = Identity(**{**(engine.identity() if engine else {}), **(identity or {})})
    pid = engine.pid if engine else None

    log = Path(raw_path) if raw_path else None
    # An embedded engine has another port each time it starts, and is the same all the same.
    subject = engine.identity() if engine else endpoint.model_dump()
    header = {"step": "header", "subject": subject, "plan": plan.model_dump()}
    with _open_log(log, header, resume) as (kept, file):
        job = Job(endpoint=endpoint, plan=plan, done=[e["request_number"] for e in _timed(kept)])
        events = list(kept)
        total = len(load_canaries(plan.canaries).canaries) + plan.requests + 1
        done = len(job.done)
        with closing(_run_child(job)) as run:
            for event in run:
                events.append(event)
                if file:
                    file.write(json.dumps(event) + "\n")
                    file.flush()
                if (text := _text(event)) and on_progress:
                    done += 1
                    on_progress(Progress(step=event["step"], done=done, total=total, text=text))
        if file and engine:
            file.write(json.dumps({"step": "engine_log", "text": engine.log_tail(500)}) + "\n")
    return assemble(
        events,
        arm=arm or endpoint.model,
        endpoint=endpoint,
        plan=plan,
        identity=known.model_copy(update={"machine": machine or known.machine}),
        prediction=prediction,
        harness_revision=_own_version(),
        peak_memory_bytes=engine.peak_memory_bytes() if engine and engine.is_running else None,
        restarts=None if engine is None else int(not engine.is_running or engine.pid != pid),
        raw_log=log.name if log else None,
    )


def _run_child(job: Job) -> Generator[Event]:
    """Run the load and yield its events; the child is gone when this ends, however it ends."""
    with tempfile.TemporaryFile() as errors:
        process = spawn("stackchoice.confirm.load", stdout=subprocess.PIPE, stderr=errors)
        try:
            assert process.stdin
            assert process.stdout
            process.stdin.write(job.model_dump_json().encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                if not line.endswith(b"\n"):
                    break  # cut off by the child's end
                event = json.loads(line)
                if event["step"] == "end":
                    return
                if event["step"] == "error":
                    kind = EndpointError if event["kind"] == "EndpointError" else StackchoiceError
                    raise kind(event["detail"])
                yield event
            errors.seek(0)
            tail = errors.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            raise StackchoiceError(
                f"the load process ended early: {' / '.join(tail) or 'no message'}; run it again, "
                "with resume=True to keep what was measured"
            )
        finally:
            stop(process)


@contextmanager
def _open_log(
    path: Path | None, header: Event, resume: bool
) -> Iterator[tuple[list[Event], TextIO | None]]:
    """Open the raw log for appending and give what it holds of this very run."""
    if path is None:
        yield [], None
        return
    kept: list[Event] = []
    try:
        if resume and path.exists() and path.stat().st_size:
            kept = _kept(path, header)
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(event) + "\n" for event in (header, *kept)]
        # Rewritten whole and renamed: a half-written last line goes, and nothing else can be lost.
        handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as whole:
            whole.writelines(lines)
        os.chmod(part, 0o644)
        os.replace(part, path)
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise PassportError(
            f"{path}: cannot be written ({error.strerror}); give a path in a writable folder"
        ) from None
    with file:
        yield kept, file


def _kept(path: Path, header: Event) -> list[Event]:
    events = []
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            break  # the line that was being written when the run was killed
    if not events or events[0] != header:
        raise PassportError(
            f"{path}: holds another run (endpoint or plan differ); give another raw_path, or "
            "resume=False to replace it"
        )
    return _timed(events)


def _timed(events: list[Event]) -> list[Event]:
    return [event for event in events if event.get("step") == "timed"]


def _text(event: Event) -> str:
    """One line for people, empty for events that are not a step of their own."""
    if outcome := event.get("outcome"):
        return f"canary {outcome['id']}: {outcome['result']}"
    if event["step"] not in ("warmup", "timed"):
        return ""
    sample = event["sample"]
    if sample["failure"]:
        return f"{event['step']} request: {sample['failure']}"
    rate = sample["decode_tokens_per_s"]
    rated = f"{rate:.1f} tokens/s" if rate else "decode rate unknown"
    return f"{event['step']} request: TTFT {sample['ttft_s']:.3f} s, {rated}"


def _own_version() -> str:
    try:
        return importlib.metadata.version("stackchoice")
    except importlib.metadata.PackageNotFoundError:
        return "unknown: run from a source tree"
