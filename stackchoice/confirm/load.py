"""Child process of :func:`confirm`: puts the load on and reports JSON lines on standard output.

A process of its own, because a client in a notebook's kernel shares the interpreter with the
drawing of the notebook and measures that as well.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import json
import secrets
import sys
from collections.abc import Callable
from typing import Any

from stackchoice.confirm.canary import Canary, judge, load_canaries
from stackchoice.load.child import exit_with_parent
from stackchoice.load.endpoint import Endpoint
from stackchoice.confirm.plan import Plan
from stackchoice.load.reading import Failure, Sample, body_text, read_sample
from stackchoice.confirm.serverinfo import ask_server, refused_key
from stackchoice.load.wire import Exchange
from stackchoice.errors import EndpointError, StackchoiceError
from stackchoice.facts.datum import Record

Emit = Callable[[dict[str, Any]], None]


class Job(Record):
    """What the child is told: where, how, and which timed requests exist already."""

    endpoint: Endpoint
    plan: Plan
    done: tuple[int, ...] = ()


class Load:
    """One run against one endpoint; every step is emitted as it ends."""

    def __init__(self, job: Job, emit: Emit) -> None:
        self.endpoint, self.plan, self.done = job.endpoint, job.plan, set(job.done)
        self.emit = emit
        self.asks_usage = True

    async def run(self) -> None:
        """Server, canaries, warm-up, timed requests, first canary again, server again."""
        await self._server("server")
        canaries = load_canaries(self.plan.canaries).canaries
        for canary in canaries:
            await self._canary(canary, "canary")
        for number in range(self.plan.requests):
            if number < self.plan.warmup:
                await self._story(number, "warmup")
            elif number not in self.done:
                await self._story(number, "timed")
        await self._canary(canaries[0], "canary_after")
        try:
            await self._server("server_after")
        except EndpointError:  # a server that is gone by now is a result, not an error
            self.emit({"step": "server_gone"})

    async def _server(self, step: str) -> None:
        info = await ask_server(self.endpoint, self.plan.limits)
        self.emit({"step": step, "server": info.model_dump()})

    async def _canary(self, canary: Canary, step: str) -> None:
        answers = [await self._ask(canary.body(), step) for _ in range(canary.repeat)]
        if step == "canary":
            self._insist(answers[0])
        self.emit({"step": step, "outcome": judge(canary, answers).model_dump()})

    async def _story(self, number: int, step: str) -> None:
        await self._ask(self.plan.body(number, secrets.token_hex(4)), step, number)

    def _insist(self, sample: Sample) -> None:
        """Stop at what no further request could change: wrong path, method, model or key."""
        if sample.status in (401, 403):
            raise EndpointError(refused_key(self.endpoint, sample.failure_detail))
        if sample.status in (404, 405) or (sample.status or 0) // 100 == 3:
            raise EndpointError(
                f"{self.endpoint.base_url}: {self.endpoint.api}/chat/completions answers "
                f"{sample.failure_detail}; check the path and the model name "
                f"{self.endpoint.model!r}"
            )

    async def _ask(self, body: dict[str, Any], step: str, number: int | None = None) -> Sample:
        request = {"model": self.endpoint.model, **body, "stream": True}
        sent = request
        if self.asks_usage:
            sent = {**request, "stream_options": {"include_usage": True}}
        started, measured, sample = await self._once(sent)
        if self.asks_usage and _may_dislike_stream_options(sample):
            without = await self._once(request)
            if without[2].status == 200:  # else it was not the stream options
                self.asks_usage = False
                self.emit({"step": "stream_options_refused", "detail": sample.failure_detail})
                sent, (started, measured, sample) = request, without
        self._raw(step, number, started, sent, measured, sample)
        return sample

    async def _once(self, request: dict[str, Any]) -> tuple[str, Exchange, Sample]:
        gc.collect()
        started = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        measured = await self.endpoint.chat(request, self.plan.limits)
        return started, measured, read_sample(measured)

    def _raw(
        self, step: str, number: int | None, started: str, request: dict[str, Any],
        measured: Exchange, sample: Sample,
    ) -> None:  # fmt: skip
        _, headers, text = body_text(measured)
        headers.pop("set-cookie", None)
        self.emit(
            {
                "step": step,
                "request_number": number,
                "started_at": started,
                "request": request,
                "response_headers": headers,
                "response": text,
                "reads": [[at - measured.sent_ns, len(data)] for at, data in measured.reads],
                "sample": sample.model_dump(),
            }
        )


def main() -> None:
    """Read the job from standard input, run it, and report each step as one line."""
    job = Job.model_validate_json(sys.stdin.buffer.readline())
    exit_with_parent()
    gc.disable()  # no pause between a read and its stamp; collected between requests
    gc.freeze()

    def emit(event: dict[str, Any]) -> None:
        # A server may quote the key in its answer, and this is the one way out of here.
        print(json.dumps(_redacted(event, job.endpoint.api_key() or "")), flush=True)

    try:
        asyncio.run(Load(job, emit).run())
    except StackchoiceError as error:
        emit({"step": "error", "kind": type(error).__name__, "detail": str(error)})
    else:
        emit({"step": "end"})


def _redacted(value: Any, key: str) -> Any:
    """Replace the key in every text; what is shorter than 8 is a placeholder and no secret."""
    if isinstance(value, str):
        least = max(8, len(key) // 2)  # a text that was cut may end inside the key
        if len(key) >= 8 and key[:least] in value:
            for length in range(len(key), least - 1, -1):
                value = value.replace(key[:length], "[redacted]")
        return value
    if isinstance(value, dict):
        return {_redacted(k, key): _redacted(v, key) for k, v in value.items()}
    return [_redacted(v, key) for v in value] if isinstance(value, list | tuple) else value


def _may_dislike_stream_options(sample: Sample) -> bool:
    return sample.failure is Failure.REJECTED and sample.status in (400, 422)


if __name__ == "__main__":
    main()
