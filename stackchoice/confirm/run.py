"""Confirm a choice by measuring it: one call from plan to passport."""

import json
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
from stackchoice.confirm.host import Sampler, born, host_identity, listens, peak_resident
from stackchoice.confirm.identity import Basis, Identity
from stackchoice.confirm.load import Job
from stackchoice.confirm.passport import Passport
from stackchoice.confirm.probe import ProbedMachine
from stackchoice.confirm.rawlog import done_by_launch, parsed, raw_log
from stackchoice.errors import EndpointError, InputError, StackchoiceError
from stackchoice.facts import load_facts
from stackchoice.facts.datum import Record
from stackchoice.facts.interval import Interval
from stackchoice.facts.names import model_called
from stackchoice.facts.values import count_of
from stackchoice.load.aiperf_run import find_aiperf
from stackchoice.load.child import spawn, stop
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.journal import Event, write_event
from stackchoice.load.plan import Plan
from stackchoice.version import VERSION

#: Ways in which people write the one unit that a prediction may have here.
DECODE_UNITS = ("tokens/s", "tok/s", "tokens per second")

#: Steps that a progress bar counts.
COUNTED = ("canary", "canary_after", "warmup", "floor", "timed")
_ERRORS: dict[str, type[StackchoiceError]] = {
    "EndpointError": EndpointError, "InputError": InputError,
}  # fmt: skip


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
    pid: int | None = None,
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
    identity
        What is known beside the server, or fields of :class:`Identity`, which are then declared.
        ``settings`` may hold
        ``context_tokens`` and ``slots`` as configured, to be compared with what the server says.
    machine
        The probed machine, where the endpoint is on it.
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
    pid
        Process of a server of this machine that was started elsewhere: its memory, and whether it
        is the same one at the end.
    cancel
        Once it is set the run ends at once, and the passport holds what was measured until then.

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
    launched = engine.identity() if engine else {}
    installed = engine.environment() if engine else {}
    if engine:
        where = {"endpoint_url": endpoint.base_url, "endpoint_model": endpoint.model}
        known = known.seen({**launched, **where}, Basis.LAUNCHED, engine.name)
    known = known.seen(installed, Basis.INSTALLED, "what its interpreter has installed")
    local = engine is not None or endpoint.is_loopback
    if local:
        known = known.seen(host_identity(), Basis.PROBED, "this machine, where the endpoint is")
    if pid is not None and (engine or not local or born(pid) is None):
        raise InputError(
            f"pid {pid}: no process of this machine that serves {endpoint.base_url}; give one, or "
            "leave it out and its memory stays unknown"
        )
    if plan.launches > 1 and engine is None:
        raise InputError(
            f"launches {plan.launches}: only an engine that is started here can be launched again; "
            "give such an engine, or launches=1"
        )
    model_type = _model_type(known, endpoint) if plan.exact_output else None
    log = Path(raw_path) if raw_path else None
    # An embedded engine has another port each time it starts, and is the same all the same.
    subject = {**installed, **launched} if engine else endpoint.model_dump()
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
    with raw_log(log, header, resume) as path:
        done = done_by_launch(path)
        steps = sum(map(len, done.values()))
        for launch in range(plan.launches):
            if cancel and cancel.is_set():
                break
            if engine and launch:
                engine.stop()
                engine.start()
                endpoint = engine.endpoint
            pid = engine.pid if engine else pid
            began = born(pid) if pid else None
            job = Job(endpoint=endpoint, plan=plan, log=path, launch=launch,
                      done=sorted(done.get(launch, ())), program=program,
                      context_tokens=count_of(known.settings.get("context_tokens")),
                      slots=count_of(known.settings.get("slots")), runtime=known.runtime,
                      model_type=model_type, started_here=engine is not None)  # fmt: skip
            with _sampled(local, pid) as sampler, closing(_run_child(job, cancel)) as run:
                for step in run:
                    steps += step["step"] in COUNTED
                    if on_progress:
                        on_progress(Progress(**step, done=steps, total=total))
            if sampler:
                host = _most(host, sampler.results())
            if pid:
                restarts += born(pid) != began
                if peak := peak_resident(pid):
                    peaks.append(peak)
            if engine:
                with path.open("ab") as file:
                    text = engine.log_tail(500)
                    write_event(file, {"step": "engine_log", "launch": launch, "text": text})
        events = list(parsed(path))
        if cancel and cancel.is_set():
            events.append({"step": "cancelled"})
    sampled = host.get("peak_memory_bytes", 0)
    of_gpus = host.get("peak_memory_of", "").startswith("all GPUs")
    if peaks and not of_gpus and max(peaks) >= sampled:  # else its children hold more
        host |= {"peak_memory_bytes": max(peaks),
                 "peak_memory_of": "the engine's process, its high-water mark"}  # fmt: skip
    if pid and not engine and not of_gpus and listens(pid, endpoint.address.port) is False:
        host["peak_memory_of"] = f"process {pid} as given, which does not listen on this port"
    return assemble(
        events,
        arm=arm or endpoint.model,
        endpoint=endpoint,
        plan=plan,
        identity=known.model_copy(update={"machine": machine or known.machine}),
        prediction=prediction,
        harness_revision=VERSION,
        peak_memory_bytes=max(peaks, default=None),
        host=host,
        restarts=restarts if pid else None,
        raw_log=log.name if log else None,
        reference=reference,
        runner_release=release,
    )


def _model_type(known: Identity, endpoint: Endpoint) -> str | None:
    """Return the ``model_type`` of the model's config, where the fact base has that model."""
    model = model_called((known.model, known.artifact, endpoint.model), load_facts())
    config = model.config.value if model else None
    return (config or {}).get("model_type")


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
