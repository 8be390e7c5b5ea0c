"""Child process of :func:`confirm`: canaries, warm-up, floor, the load, and canaries again.

A process of its own, because a client in a notebook's kernel shares the interpreter with the
drawing of the notebook and measures that as well. It writes the raw log itself; what it tells its
parent is for the eye, and is dropped rather than waited for.
"""

import contextlib
import gc
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from stackchoice.confirm.account import ServerInfo
from stackchoice.confirm.beside import Beside, Emptier, engine_called, one_length
from stackchoice.confirm.canary import Canary, load_canaries
from stackchoice.confirm.judged import judge
from stackchoice.confirm.probes import Prober
from stackchoice.confirm.serverinfo import ask_counters, ask_server, ask_template, refused_key
from stackchoice.errors import EndpointError, InputError, StackchoiceError
from stackchoice.facts.datum import Record
from stackchoice.load.aiperf_run import AiperfRun
from stackchoice.load.child import exit_with_parent
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.floor import measure_floor
from stackchoice.load.journal import line_of, write_event
from stackchoice.load.plan import Plan
from stackchoice.load.records import Failure, Sample
from stackchoice.load.run import Emit, LoadRun, Service

_OUT = 1


class Job(Record):
    """What the child is told: where, how, where to write, and which timed requests exist.

    ``context_tokens`` and ``slots`` are what is configured, ``runtime`` and ``model_type`` what is
    measured, where that is known; ``program`` is the other runner's, where the plan names one.
    """

    endpoint: Endpoint
    plan: Plan
    log: Path
    launch: int = 0
    done: tuple[int, ...] = ()
    context_tokens: int | None = None
    slots: int | None = None
    runtime: str | None = None
    model_type: str | None = None
    started_here: bool = False
    program: Path | None = None


class Launch:
    """One launch measured; every step is emitted as it ends."""

    def __init__(self, job: Job, emit: Emit) -> None:
        self.endpoint, self.plan, self.emit = job.endpoint, job.plan, emit
        self.launch, self.job, self.answered = job.launch, job, False
        kind = partial(AiperfRun, program=job.program) if job.program else LoadRun
        self.load = kind(job.endpoint, job.plan, emit, launch=job.launch, done=job.done)

    def run(self) -> None:
        """Server, canaries, warm-up, floor, load, first canary again, server again."""
        said = self._server("server")
        canaries = load_canaries(self.plan.canaries, self.endpoint.model).canaries
        for canary in canaries:
            self._canary(canary, "canary")
        engine = engine_called(said.engine, self.job.runtime)
        service = self._warm_up(engine)
        slots = self.job.slots or said.slots
        if self.plan.probes and not self.launch:
            limits = self.job.context_tokens or said.context_tokens, slots
            for event in Prober(self.endpoint, self.plan, self.load).run(*limits):
                self.emit({"step": "probed", **event})
        self._spending()
        if self.plan.floor:
            drive = self.load.drive_reference if isinstance(self.load, AiperfRun) else None
            floor = measure_floor(self.plan, service, drive)
            self.emit({"step": "floor", "launch": self.launch, "floor": floor.model_dump()})
        if self.plan.cold:
            emptier = Emptier(self.endpoint, self.load, engine, said.slots or slots,
                              started_here=self.job.started_here)  # fmt: skip
            emptier.prove()
            self.load.before = emptier.empty
        before = ask_counters(self.endpoint, self.plan.limits)
        self.load.load(service)
        if before:
            after = ask_counters(self.endpoint, self.plan.limits)
            self.emit({"step": "counted", "before": before, "after": after})
        with contextlib.suppress(InputError):  # the spend cap may be reached by now
            self._canary(canaries[0], "canary_after")
        try:
            self._server("server_after")
        except EndpointError:  # a server that is gone by now is a result, not an error
            self.emit({"step": "server_gone"})
        if self.plan.spend:
            self.emit({"step": "spent", "launch": self.launch, "usd": self.load.meter.usd})

    def _warm_up(self, engine: tuple[str, Beside] | None) -> Service:
        """Warm up as the load will ask; without answers of one length where that is refused."""
        if self.plan.exact_output:
            template = ask_template(self.endpoint, self.plan.limits)
            self.load.extra, text = one_length(engine, self.job.model_type, template)
            self.emit({"step": "exact_output", "text": text, "asked": bool(self.load.extra)})
        service = self.load.warm_up()
        if self.load.extra and service.tokens is None and self.plan.warmup:
            self.load.extra = {}
            self.emit({"step": "exact_output", "asked": False,
                       "text": "asked for and refused, so not asked for in the load"})  # fmt: skip
            service = self.load.warm_up()
        return service

    def _server(self, step: str) -> ServerInfo:
        info = ask_server(self.endpoint, self.plan.limits)
        self.emit({"step": step, "server": info.model_dump()})
        return info

    def _spending(self) -> None:
        """Say what the timed requests may cost; refuse a plan that cannot end below its cap."""
        if (cap := self.plan.spend) is None:
            return
        estimate = self.load.estimate_usd()
        self.emit({"step": "estimate", "usd": estimate, "cap_usd": float(cap.usd)})
        left = float(cap.usd) - self.load.meter.usd
        if estimate > left:
            raise InputError(
                f"spend cap {cap.usd} USD: {left:.4f} are left, and {self.plan.timed} requests may "
                f"cost {estimate:.4f}; raise the cap or ask for fewer and shorter requests"
            )

    def _canary(self, canary: Canary, step: str) -> None:
        answers = [self.load.ask(canary.body(), step) for _ in range(canary.repeat)]
        if step == "canary":
            self._insist(answers[0], plain=not (canary.tools or canary.response_format))
        self.emit({"step": step, "outcome": judge(canary, answers).model_dump()})

    def _insist(self, sample: Sample, *, plain: bool) -> None:
        """Stop at what no further request could change: wrong path, method, model or key.

        A gateway says 400 for a model that it does not know, and before any canary passed that is
        not the fault of what one of them asks for.
        """
        refused = plain and sample.failure is Failure.REJECTED and self.plan.api == "chat"
        if refused and not self.answered and sample.status in (400, 422):
            raise EndpointError(
                f"{self.endpoint.base_url}: refuses a plain request ({sample.failure_detail}); "
                f"check the model name {self.endpoint.model!r} and the key"
            )
        self.answered = self.answered or sample.status == 200
        if sample.status in (401, 403):
            raise EndpointError(refused_key(self.endpoint, sample.failure_detail))
        if sample.status in (404, 405) or (sample.status or 0) // 100 == 3:
            raise EndpointError(
                f"{self.endpoint.base_url}: {self.endpoint.api}/chat/completions answers "
                f"{sample.failure_detail}; check the path and the model name "
                f"{self.endpoint.model!r}"
            )


def main() -> None:
    """Read the job from standard input, run it, and report each step as one line."""
    job = Job.model_validate_json(sys.stdin.buffer.readline())
    exit_with_parent()
    gc.disable()  # no pause between a read and its stamp; collected between requests
    gc.freeze()
    _wait_for_reader(False)
    last: dict[str, Any] = {"step": "end"}
    try:
        with job.log.open("ab") as file:

            def emit(event: dict[str, Any]) -> None:
                write_event(file, event)
                if text := _text(event):
                    with contextlib.suppress(BlockingIOError):  # a reader that does not keep up
                        os.write(_OUT, line_of({"step": event["step"], "text": text}))

            Launch(job, emit).run()
    except StackchoiceError as error:
        last = {"step": "error", "kind": type(error).__name__, "detail": str(error)}
    except OSError as error:  # a full disk
        detail = (
            f"{job.log}: cannot be written ({error.strerror}); free some space and go on with "
            "--resume, which keeps what was measured"
        )
        last = {"step": "error", "kind": "StackchoiceError", "detail": detail}
    _wait_for_reader(True)
    os.write(_OUT, line_of(last))


def _wait_for_reader(wait: bool) -> None:
    """Say whether a step waits until somebody reads it; on Windows it always does."""
    if sys.platform != "win32":
        os.set_blocking(_OUT, wait)


def _text(event: dict[str, Any]) -> str:
    """One line for people, empty for events that are not a step of their own; nothing is parsed."""
    if outcome := event.get("outcome"):
        return f"canary {outcome['id']}: {outcome['result']}"
    if floor := event.get("floor"):
        return f"client floor: TTFT {floor['ttft_error']:+.1%} of the reference server's truth"
    if probe := event.get("probe"):
        return f"probe of {probe} answered"
    if event["step"] == "estimate":
        return f"estimate: at most {event['usd']:.4f} USD of {event['cap_usd']:.4f}"
    if event["step"] == "emptied" and "hook" in event:
        return f"prefix cache: {event['hook']} answered {event['status']}"
    if event["step"] not in ("warmup", "timed"):
        return ""
    if event["problem"]:
        return f"{event['step']} request: {event['problem']}"
    whole = (event["ended_ns"] - event["sent_ns"]) / 1e9
    first = f"first byte {event['reads'][0][0] / 1e9:.3f} s, " if event["reads"] else ""
    return f"{event['step']} request: {first}{whole:.3f} s in all"


if __name__ == "__main__":
    main()
