"""One load run against one endpoint: warm-up, floor, repetitions, and every request kept."""

import datetime as dt
import gc
import json
import secrets
import statistics
from collections.abc import Callable, Iterable
from time import perf_counter_ns
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts.datum import Record, sure
from stackchoice.load.arrivals import Closed, Replay, offsets
from stackchoice.load.drive import Drive, raise_file_limit
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.journal import entry
from stackchoice.load.loop import Loop
from stackchoice.load.meter import Meter
from stackchoice.load.plan import Plan
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Failure, Phase, Sample
from stackchoice.load.traffic import Arrival, read_traffic
from stackchoice.load.wire import Exchange

Emit = Callable[[dict[str, Any]], None]

#: Words of every prompt beside the drawn ones.
_FIXED_WORDS = 20
_HEALTH_EVERY_NS = 1_000_000_000


class Service(Record):
    """What one request at a time takes, by the warm-up; None where it gave no answer."""

    end_to_end_s: float = 0.0
    ttft_s: float | None = None
    itl_s: float | None = None
    tokens: int | None = None
    tokens_a_word: float = 1.0
    other_tokens: float = _FIXED_WORDS

    def words_for(self, tokens: int) -> int:
        """Words to draw for a prompt of so many tokens; what it really has is in ``usage``."""
        return max(1, round((tokens - self.other_tokens) / self.tokens_a_word))


class LoadRun:
    """Runs the load of a plan; events go to ``emit`` as they happen.

    Parameters
    ----------
    emit
        Takes each event (a dict that JSON can hold); called between reads, never before a stamp.
    launch
        Which launch of the engine this is, from 0.
    done
        Numbers of timed requests that an earlier, interrupted run has kept.
    """

    def __init__(
        self, endpoint: Endpoint, plan: Plan, emit: Emit, *, launch: int = 0,
        done: Iterable[int] = (),
    ) -> None:  # fmt: skip
        self.endpoint, self.plan, self.emit, self.launch = endpoint, plan, emit, launch
        self.done = set(done)
        self.asks_usage = True
        self.keeps = False
        self.meter = Meter(plan.spend)
        self.arrivals = _arrivals(plan)
        #: Fields that go into each request of the load and its warm-up, and nowhere else.
        self.extra: dict[str, Any] = {}
        #: Called before each repetition, with its number.
        self.before: Callable[[int], None] = lambda repetition: None
        self._key = endpoint.api_key() or ""
        raise_file_limit()

    # One request at a time.

    def ask(self, body: dict[str, Any], step: str, *, expect_stop: bool = False) -> Sample:
        """Send one request on its own and keep it.

        InputError when the spend cap does not allow it.
        """
        request = self.request_of(body)
        started, measured, sample = self._once(request, expect_stop)
        if self.asks_usage and _may_dislike_stream_options(sample):
            self.asks_usage = False
            without = self.request_of(body)
            again = self._once(without, expect_stop)
            if again[2].status == 200:  # else it was not the stream options
                self.emit({"step": "stream_options_refused", "detail": sample.failure_detail})
                request, (started, measured, sample) = without, again
            else:
                self.asks_usage = True
        self.emit(entry(measured, step=step, launch=self.launch, started_at=started,
                        request=request, sample=sample.model_dump(mode="json")))  # fmt: skip
        return sample

    def request_of(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return a body as it is sent: with model, streaming and the wish for usage."""
        request = {"model": self.endpoint.model, **body, "stream": True}
        return request | ({"stream_options": {"include_usage": True}} if self.asks_usage else {})

    def may_send(self, request: dict[str, Any]) -> bool:
        """Whether the spend cap allows this request; what it may cost is taken from it."""
        return self.meter.take(id(request), len(json.dumps(request)), request["max_tokens"])

    def warm_up(self) -> Service:
        """Send the warm-up, one after the other; its prompts share nothing with timed ones."""
        samples: list[Sample] = []
        lengths: dict[int, int] = {}
        for number in range(self.plan.warmup):
            # A replay wants lengths: every second prompt is longer, which tells tokens a word.
            words = self.plan.prompt_words * (4 if number % 2 and self.arrivals else 1)
            body = self.plan.body(
                f"{self.launch}/warmup/{number}", secrets.token_hex(4), words=words
            )
            samples.append(self.ask({**body, **self.extra}, "warmup"))
            if samples[-1].prompt_tokens is not None:
                lengths[words] = samples[-1].prompt_tokens
        good = [s for s in samples if s.failure is None]
        if not good:
            return Service()
        last = good[-1]
        calibrated: dict[str, float] = {}
        if len(lengths) == 2:
            (few, low), (many, high) = sorted(lengths.items())
            if high > low:
                slope = (high - low) / (many - few)
                calibrated = {"tokens_a_word": slope, "other_tokens": low - slope * few}
        return Service(
            end_to_end_s=statistics.median(s.end_to_end_s or 0 for s in good),
            ttft_s=last.ttft_s,
            itl_s=last.itl_s or last.gap_median_s,
            tokens=last.completion_tokens or last.content_chunks,
            **calibrated,
        )

    # The load.

    def load(self, service: Service) -> None:
        """Put the load on, repetition by repetition; what is done already is left out."""
        for repetition in range(self.plan.repetitions):
            first = repetition * self.plan.requests
            numbers = [n for n in range(first, first + self.plan.requests) if n not in self.done]
            if numbers and not self.meter.stopped:
                self.before(repetition)
                self._repeat(repetition, numbers, service)

    def estimate_usd(self) -> float:
        """Dollars the timed requests cost if each uses its whole budget of tokens."""
        size = len(self._bytes("timed", 0, Service()))
        return self.plan.timed * self.meter.most(size, self.plan.output_tokens)

    def _repeat(self, repetition: int, numbers: list[int], service: Service) -> None:
        plan = self.plan
        loop = Loop(self.endpoint.address, plan.limits, reuse=self.keeps)
        marks = {"launch": self.launch, "repetition": repetition, "segment": secrets.token_hex(4)}
        clock = dt.datetime.now(dt.UTC), perf_counter_ns()
        drive: Drive

        def done(phase: Phase, number: int, request: bytes, measured: Exchange) -> None:
            self.meter.settle((phase, number), len(request), measured)
            loop.idle_work.append(lambda: keep(phase, number, request, measured))

        def keep(phase: Phase, number: int, request: bytes, measured: Exchange) -> None:
            measured.redact(self._key)
            after = dt.timedelta(microseconds=(measured.started_ns - clock[1]) / 1000)
            body = json.loads(request.partition(b"\r\n\r\n")[2])
            self.emit(entry(measured, step=phase, request_number=number, **marks,
                            started_at=(clock[0] + after).isoformat(timespec="milliseconds"),
                            request=body))  # fmt: skip
            measured.reads = []

        def snapshot() -> None:
            health = drive.health(so_far=True)
            loop.idle_work.append(lambda: self._emit_health(marks, health.model_dump()))
            loop.at(perf_counter_ns() + _HEALTH_EVERY_NS, snapshot)

        drive = Drive(
            loop, plan.load, numbers, lambda phase, n: self._bytes(phase, n, service), done,
            service_s=service.end_to_end_s, schedule=self.schedule(repetition, numbers),
            may_send=lambda phase, n, size: self.meter.take(
                (phase, n), size, self._most_tokens(phase, n)
            ),
        )  # fmt: skip
        gc.collect()
        loop.at(perf_counter_ns() + _HEALTH_EVERY_NS, snapshot)
        try:
            health = drive.run()
        finally:
            loop.close()
        stopped = "the spend cap was reached" if drive.stopped else ""
        self._emit_health(marks, health.model_dump(), stopped=stopped)

    def _emit_health(self, marks: dict[str, Any], health: dict[str, Any], **more: Any) -> None:
        self.emit({"step": "health", **marks, "health": health, **more})

    def schedule(self, repetition: int, numbers: list[int]) -> Iterable[float]:
        """Seconds after the start at which requests of an open loop are due."""
        load = self.plan.load
        if isinstance(load, Closed):
            return ()
        if isinstance(load, Replay):
            at = [self.arrivals[n % self.plan.requests].at_s / load.speed for n in numbers]
            return [a - at[0] for a in at]
        return offsets(load, f"{self.plan.seed}/{self.launch}/{repetition}/{numbers[0]}")

    def _most_tokens(self, phase: Phase, number: int) -> int:
        if phase == "timed" and self.arrivals:
            return self.arrivals[number % self.plan.requests].output_tokens
        return self.plan.output_tokens

    def body(
        self, number: int, service: Service | None = None, phase: Phase = "timed"
    ) -> dict[str, Any]:
        """Build a request of the load, as yet without model and streaming."""
        words = tokens = None
        if phase == "timed" and self.arrivals:
            arrival = self.arrivals[number % self.plan.requests]
            tokens = arrival.output_tokens
            words = (service or Service()).words_for(arrival.input_tokens)
        seed = f"{self.launch}/{phase}/{number}"
        body = self.plan.body(seed, secrets.token_hex(4), words=words, output_tokens=tokens)
        return {**body, **self.extra}

    def _bytes(self, phase: Phase, number: int, service: Service) -> bytes:
        body = self.request_of(self.body(number, service, phase))
        path = self.endpoint.path_of(body)
        return self.endpoint.request("POST", path, body, close=not self.keeps)

    def _once(self, request: dict[str, Any], expect_stop: bool) -> tuple[str, Exchange, Sample]:
        gc.collect()
        size, tokens = len(json.dumps(request)), request["max_tokens"]
        if not self.meter.take("ask", size, tokens):
            raise InputError(
                f"spend cap {sure(self.plan.spend).usd} USD: {self.meter.usd:.4f} are spent and "
                f"the next request may cost {self.meter.most(size, tokens):.4f}; raise the cap or "
                "ask for fewer and shorter requests"
            )
        started = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        if self.plan.connections == "reuse":
            measured, self.keeps = self.endpoint.ask_keeping(request, self.plan.limits)
        else:
            measured = self.endpoint.ask(request, self.plan.limits)
        self.meter.settle("ask", size, measured)
        return started, measured, read_sample(measured, request, expect_stop=expect_stop)


def _arrivals(plan: Plan) -> tuple[Arrival, ...]:
    if not isinstance(plan.load, Replay):
        return ()
    arrivals = read_traffic(plan.load.path, limit=plan.requests).arrivals
    if len(arrivals) < plan.requests:
        raise InputError(
            f"{plan.load.path}: holds {len(arrivals)} requests, and the plan wants "
            f"{plan.requests}; lower requests"
        )
    return arrivals


def _may_dislike_stream_options(sample: Sample) -> bool:
    return sample.failure is Failure.REJECTED and sample.status in (400, 422)
