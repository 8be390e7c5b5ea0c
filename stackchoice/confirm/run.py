"""Confirm a choice by measuring it: one call from plan to passport."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from stackchoice.confirm.assess import assemble
from stackchoice.confirm.canary import load_canaries
from stackchoice.confirm.engine import Engine
from stackchoice.confirm.host import Sampler, host_identity
from stackchoice.confirm.identity import Basis, Identity
from stackchoice.confirm.load import Job
from stackchoice.confirm.passport import Passport, PassportError
from stackchoice.confirm.probe import ProbedMachine
from stackchoice.errors import EndpointError, InputError, StackchoiceError
from stackchoice.facts.datum import Record
from stackchoice.facts.interval import Interval
from stackchoice.load.aiperf_run import find_aiperf
from stackchoice.load.child import spawn, stop
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.journal import Journal, exchange_of, read_events
from stackchoice.load.plan import Plan
from stackchoice.load.reading import read_sample

#: Ways in which people write the one unit that a prediction may have here.
DECODE_UNITS = ("tokens/s", "tok/s", "tokens per second")

#: Steps that a progress bar counts.
COUNTED = ("canary", "canary_after", "warmup", "floor", "timed")
_ERRORS: dict[str, type[StackchoiceError]] = {
    "EndpointError": EndpointError, "InputError": InputError,
}  # fmt: skip

Event = dict[str, Any]


class Progress(Record):
    """One finished step of a run, for a progress bar."""

    step: str
    done: int
    total: int
    text: str


def confirm(
    target: Endpoint | Engine,
    *,
    prediction: Interval | None = None,
    plan: Plan | None = None,
    identity: Identity | Mapping[str, Any] | None = None,
    machine: ProbedMachine | None = None,
    arm: str = "",
    raw_path: Path | str | None = None,
    resume: bool = False,
    reference: Passport | None = None,
    runner_path: Path | None = None,
    cancel: threading.Event | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Passport:
    """Measure an endpoint and hold the result against a prediction.

    The load runs in a child process, so this may be called from a notebook. Order: the server's
    own account, canaries, warm-up, the client floor, the timed load, the first canary again.

    Parameters
    ----------
    target
        An endpoint, or a running engine (then identity, memory and restarts are known).
    prediction
        Decode tokens per second of one stream, as an interval.
    plan
        The load, requests, repetitions and launches, lengths, seed and limits.
    identity
        What is known beside the server, or fields of :class:`Identity`, which are then declared.
        ``settings`` may hold
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
    reference
        The passport of the same model on a stack that is trusted: a canary that fails there too is
        beyond the model, and one that it answers is a broken stack.
    runner_path
        Program or environment of the runner that the plan names; None looks on the path.
    cancel
        Once it is set the run ends at once, and the passport holds what was measured until then.
    on_progress
        Called with each finished step.

    Raises
    ------
    EndpointError
        When the endpoint cannot be used at all. A run that was possible but may not be believed
        gives a passport that says INVALID and why.
    InputError
        When the prediction is of no decode rate, or launches are asked of an endpoint.
    """
    plan = plan or Plan()
    if prediction and prediction.unit not in DECODE_UNITS:
        raise InputError(
            f"prediction in {prediction.unit!r}: this measures decode, give it in 'tokens/s'"
        )
    engine = target if isinstance(target, Engine) else None
    endpoint = engine.endpoint if engine else target
    assert isinstance(endpoint, Endpoint)
    endpoint.api_key()  # a missing key is said before anything starts
    program, release = find_aiperf(runner_path) if plan.runner == "aiperf" else (None, None)
    known = identity if isinstance(identity, Identity) else Identity(**(identity or {}))
    if engine:
        known = known.seen(engine.identity(), Basis.LAUNCHED, engine.name)
    local = engine is not None or endpoint.is_loopback
    if local:
        known = known.seen(host_identity(), Basis.PROBED, "this machine, where the server runs")

    if plan.launches > 1 and engine is None:
        raise InputError(
            f"launches {plan.launches}: only an engine that is started here can be launched again; "
            "give such an engine, or launches=1"
        )
    log = Path(raw_path) if raw_path else None
    # An embedded engine has another port each time it starts, and is the same all the same.
    subject = engine.identity() if engine else endpoint.model_dump()
    header = {"step": "header", "subject": subject, "plan": plan.model_dump(mode="json")}
    total = plan.launches * (
        len(load_canaries(plan.canaries, endpoint.model).canaries)
        + plan.warmup
        + plan.timed
        + 1
        + plan.floor
    )
    peaks: list[int] = []
    restarts = 0
    host: dict[str, Any] = {}
    with _log(log, header, resume) as path:
        done = _done(path)
        steps = sum(map(len, done.values()))
        for launch in range(plan.launches):
            if cancel and cancel.is_set():
                break
            if engine and launch:
                engine.stop()
                engine.start()
                endpoint = engine.endpoint
            pid = engine.pid if engine else None
            job = Job(endpoint=endpoint, plan=plan, log=path, launch=launch,
                      done=sorted(done.get(launch, ())), program=program,
                      context_tokens=_count(known.settings.get("context_tokens")),
                      slots=_count(known.settings.get("slots")))  # fmt: skip
            with _sampled(local, pid) as sampler, closing(_run_child(job, cancel)) as run:
                for step in run:
                    steps += step["step"] in COUNTED
                    if on_progress:
                        on_progress(Progress(**step, done=steps, total=total))
            if sampler:
                host = _most(host, sampler.results())
            if engine:
                restarts += not engine.is_running or engine.pid != pid
                if engine.is_running and (peak := engine.peak_memory_bytes()):
                    peaks.append(peak)
                with path.open("ab") as file:
                    text = engine.log_tail(500)
                    Journal(file).write({"step": "engine_log", "launch": launch, "text": text})
        events = list(parsed(path))
        if cancel and cancel.is_set():
            events.append({"step": "cancelled"})
    if peaks and not host.get("peak_memory_of", "").startswith("all GPUs"):
        host |= {"peak_memory_bytes": max(peaks),
                 "peak_memory_of": "the engine's process, its high-water mark"}  # fmt: skip
    return assemble(
        events,
        arm=arm or endpoint.model,
        endpoint=endpoint,
        plan=plan,
        identity=known.model_copy(update={"machine": machine or known.machine}),
        prediction=prediction,
        harness_revision=_own_version(),
        peak_memory_bytes=max(peaks, default=None),
        host=host,
        restarts=restarts if engine else None,
        raw_log=log.name if log else None,
        reference=reference,
        runner_release=release,
    )


@contextmanager
def _sampled(local: bool, pid: int | None) -> Iterator[Sampler | None]:
    """Sample this machine where the server runs on it."""
    if not local:
        yield None
        return
    with Sampler(pid) as sampler:
        yield sampler


def _most(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Join what launches were sampled to: the highest memory, power averaged, energy summed."""
    if not old:
        return new
    joined = {**old, **new}
    if "peak_memory_bytes" in old and "peak_memory_bytes" in new:
        joined["peak_memory_bytes"] = max(old["peak_memory_bytes"], new["peak_memory_bytes"])
    if "energy_j" in old and "energy_j" in new:
        joined["energy_j"] = old["energy_j"] + new["energy_j"]
        seconds = sum(r["energy_j"] / r["wall_power_w"] for r in (old, new))
        joined["wall_power_w"] = joined["energy_j"] / seconds
    return joined


def parsed(path: Path) -> Iterator[Event]:
    """Read a raw log back, with each timed request parsed; done after the run, on purpose."""
    for event in read_events(path):
        if event["step"] == "timed":
            sample = read_sample(exchange_of(event), event["request"])
            event = {**event, "sample": sample.model_dump(mode="json")}
        for name in ("response", "reads", "request"):
            event.pop(name, None)
        yield event


def _run_child(job: Job, cancel: threading.Event | None = None) -> Generator[Event]:
    """Run one launch's load and yield its steps; the child is gone when this ends."""
    with tempfile.TemporaryFile() as errors:
        over = threading.Event()
        process = spawn("stackchoice.confirm.load", stdout=subprocess.PIPE, stderr=errors)
        try:
            assert process.stdin
            assert process.stdout
            process.stdin.write(job.model_dump_json().encode() + b"\n")
            process.stdin.flush()
            if cancel:
                threading.Thread(
                    target=_end_when, args=(process, cancel, over), daemon=True
                ).start()
            for line in process.stdout:
                if not line.endswith(b"\n"):
                    break  # cut off by the child's end
                event = json.loads(line)
                if event["step"] == "end":
                    return
                if event["step"] == "error":
                    raise _ERRORS.get(event["kind"], StackchoiceError)(event["detail"])
                yield event
            if cancel and cancel.is_set():
                return
            errors.seek(0)
            tail = errors.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            raise StackchoiceError(
                f"the load process ended early: {' / '.join(tail) or 'no message'}; run it again, "
                "with resume=True to keep what was measured"
            )
        finally:
            over.set()
            stop(process)


def _end_when(
    process: subprocess.Popen[bytes], cancel: threading.Event, over: threading.Event
) -> None:
    """End a child that is cancelled; every request that ended is in its log by then."""
    while not over.wait(0.05):
        if cancel.is_set():
            process.terminate()
            return


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@contextmanager
def _log(path: Path | None, header: Event, resume: bool) -> Iterator[Path]:
    """Give a log that holds the header and what is kept of this very run."""
    with tempfile.TemporaryDirectory(prefix="stackchoice-") as folder:
        if path is None:
            path, resume = Path(folder) / "raw.jsonl", False
        try:
            old = _kept(path, header) if resume and path.exists() and path.stat().st_size else ()
            path.parent.mkdir(parents=True, exist_ok=True)
            # Rewritten whole and renamed: a half-written last line goes, nothing else can be lost.
            handle, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            with os.fdopen(handle, "wb") as whole:
                journal = Journal(whole)
                for event in (header, *old):
                    journal.write(event)
            os.chmod(part, 0o644)
            os.replace(part, path)
        except OSError as error:
            raise PassportError(
                f"{path}: cannot be written ({error.strerror}); give a path in a writable folder"
            ) from None
        yield path


def _kept(path: Path, header: Event) -> list[Event]:
    first, *events = read_events(path) if path.stat().st_size else [{}]
    if first != header:
        raise PassportError(
            f"{path}: holds another run (endpoint or plan differ); give another raw_path, or "
            "resume=False to replace it"
        )
    return [event for event in events if event.get("step") in ("timed", "health", "probed")]


def _done(path: Path) -> dict[int, set[int]]:
    """Numbers of timed requests that are there already, by launch."""
    found: dict[int, set[int]] = {}
    for event in read_events(path):
        if event["step"] == "timed":
            found.setdefault(event["launch"], set()).add(event["request_number"])
    return found


def _own_version() -> str:
    try:
        return importlib.metadata.version("stackchoice")
    except importlib.metadata.PackageNotFoundError:
        return "unknown: run from a source tree"
