"""The whole run: a real engine on the main path, odd servers beside it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from odd_server import (
    STREAM_HEAD,
    Body,
    OddServer,
    Piece,
    answer_of,
    chunk,
    http,
    refusal,
    require_engine,
    well_behaved,
    words,
)

from stackchoice.confirm import (
    EmbeddedEngine,
    Endpoint,
    Passport,
    PassportError,
    Plan,
    Progress,
    confirm,
    probe_machine,
)
from stackchoice.errors import EndpointError, InputError
from stackchoice.facts import Evidence
from stackchoice.facts.interval import Interval
from stackchoice.load.arrivals import Closed
from stackchoice.load.wire import Exchange

CHUNKED_HEAD = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
SHORT = Plan(requests=3, floor=False, output_tokens=16, prompt_words=20, idle_s=20, timeout_s=30)
ANY_SPEED = Interval(low=1, middle=2, high=1e6, unit="tokens/s", evidence=Evidence.COMPUTED)


@pytest.fixture(scope="module")
def engine() -> Iterator[EmbeddedEngine]:
    require_engine()
    with EmbeddedEngine() as running:
        yield running


def test_a_real_engine_gives_a_valid_passport(engine: EmbeddedEngine, tmp_path: Path) -> None:
    steps: list[Progress] = []
    raw = tmp_path / "raw.jsonl"
    probed = probe_machine(engine.model_path.stat().st_size)
    machine = probed.model_copy(update={"busy_share": 0.0})  # whatever else runs here just now
    p = confirm(engine, prediction=ANY_SPEED, plan=SHORT, machine=machine, arm="embedded",
                raw_path=raw, on_progress=steps.append)  # fmt: skip
    assert beside_the_client(p) == []
    judged = "not informative" if p.validity.valid else "not measured"
    assert p.verdicts == {"decode_tokens_per_s": judged}
    assert (p.results.requests, p.results.usable, p.results.errors) == (3, 3, 0)
    assert (p.results.restarts, p.results.energy_j) == (0, None)
    assert p.results.peak_memory_bytes > engine.model_path.stat().st_size
    assert {c.result for c in p.validity.canaries_before} == {"passed"}
    assert [c.id for c in p.validity.canaries_after] == ["capital"]
    assert p.validity.realised_context_tokens == p.validity.configured_context_tokens == 2048
    assert p.protocol.prefix_cache_state.startswith("cold")
    assert p.identity.server.owned_by == "llamacpp"
    assert p.identity.machine == machine
    assert p.identity.driver.startswith("none (CPU)")
    for sample in p.samples:
        assert sample.completion_tokens == sample.content_chunks == 16
        assert sample.prompt_tokens > 20
        assert 0 < sample.first_byte_s <= sample.ttft_s < sample.end_to_end_s
        between = sample.end_to_end_s - sample.ttft_s  # a busy client reads several at first
        assert sample.itl_s * (16 - sample.first_tokens) == pytest.approx(between)
        assert sample.server_decode_tokens_per_s > 0
    assert [(s.done, s.total) for s in steps] == [(i, 9) for i in range(1, 10)]
    assert Passport.load(p.save(tmp_path / "p.json")) == p

    events = [json.loads(line) for line in raw.read_text().splitlines()]
    timed = [e for e in events if e["step"] == "timed"]
    openings = [e["request"]["messages"][0]["content"][:8] for e in timed]
    assert len(set(openings)) == 3
    assert all("data: [DONE]" in e["response"] and e["reads"] for e in timed)
    assert "listening" in next(e["text"] for e in events if e["step"] == "engine_log")


def test_it_can_be_called_where_an_event_loop_runs(engine: EmbeddedEngine) -> None:
    async def cell() -> Passport:
        return confirm(engine, plan=SHORT.model_copy(update={"requests": 1}))

    p = asyncio.run(cell())
    assert beside_the_client(p) == ["usable samples: 1, fewer than 3"]
    assert p.results.usable == 1
    assert p.verdicts == {}


def beside_the_client(p: Passport) -> list[str]:
    """Reasons against a run, without those of a client that a busy machine held up."""
    return [r for r in p.validity.reasons if r not in p.validity.client.reasons]


def measured(reply: Callable[[Body], list[Piece]], **more: object) -> tuple[Passport, OddServer]:
    with OddServer(reply) as server:
        endpoint = Endpoint(base_url=server.url, model="odd", api_key_env=more.pop("key", None))
        return confirm(endpoint, prediction=ANY_SPEED, plan=SHORT, **more), server


def stories(reply: Callable[[Body], list[Piece]]) -> Callable[[Body], list[Piece]]:
    """Behave well for canaries and oddly for what is timed."""
    return lambda body: well_behaved(body) if answer_of(body) else reply(body)


def test_an_odd_but_correct_server_is_valid() -> None:
    p, server = measured(well_behaved)
    assert beside_the_client(p) == []
    assert p.validity.realised_context_tokens == 4096
    assert len(server.asked) == 5 + 1 + 3 + 1
    assert all(body["temperature"] == 0 and body["stream"] for body in server.asked)


def test_a_server_that_refuses_stream_options_is_asked_without() -> None:
    def reply(body: Body) -> list[Piece]:
        if "stream_options" in body:
            return refusal(422, "extra fields not permitted: stream_options")
        return well_behaved(body)

    p, server = measured(reply)
    assert sum("stream_options" in body for body in server.asked) == 1
    assert p.protocol.usage_requested is False
    assert "refuses stream_options" in p.validity.warnings[0]
    assert p.label == "INVALID"  # tokens stay unknown, so no decode rate is usable
    assert p.results.ttft_s.n == 3
    assert p.results.decode_tokens_per_s is None


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (lambda _: refusal(429, "busy"), "admission_rejected"),
        (lambda _: refusal(400, "maximum context length is 10"), "context_rejected"),
        (lambda _: [CHUNKED_HEAD, b"5\r\ndata:\r\n", 0.05, None], "transport"),
        (lambda _: [STREAM_HEAD, *words(3), b'data: {"error": "died"}\n\n'], "mid_stream_error"),
        (lambda _: [STREAM_HEAD, *words(3)], "truncated_stream"),
        (lambda _: [STREAM_HEAD, chunk({}, "stop"), b"data: [DONE]\n\n"], "no_tokens"),
    ],
)
def test_failures_under_load_are_counted_and_make_the_run_invalid(
    reply: Callable[[Body], list[Piece]], failure: str
) -> None:
    p, _ = measured(stories(reply))
    counted = p.validity.failures
    assert counted[failure] == p.results.errors == 3
    assert p.verdicts == {"decode_tokens_per_s": "not measured"}


def test_a_wrong_canary_puts_a_fast_run_on_hold() -> None:
    def reply(body: Body) -> list[Piece]:
        if answer_of(body) == "Paris.":
            return [STREAM_HEAD, chunk({"content": "\x1b[31mLondon"}, "stop")]
        return well_behaved(body)

    p, _ = measured(reply)
    assert p.results.usable == 3
    assert p.validity.correctness == "failed"
    assert not p.usable
    assert p.validity.completed_but_wrong == 2
    assert p.validity.canaries_before[0].text == "\\x1b[31mLondon"
    assert p.verdicts == {"decode_tokens_per_s": "not measured"}


def test_a_server_that_dies_during_the_run_is_a_result() -> None:
    def reply(body: Body) -> list[Piece]:
        if answer_of(body):
            return well_behaved(body)
        server.die()
        return [None]

    with OddServer(reply) as server:
        p = confirm(Endpoint(base_url=server.url, model="odd"), plan=SHORT)
    assert p.validity.failures["transport"] == 3
    assert p.validity.canaries_after[0].result == "failed"
    assert "no longer answered" in " ".join(p.validity.warnings)


def test_a_warm_cache_is_warned_of() -> None:
    warm = {"prompt_tokens_details": {"cached_tokens": 150}}
    p, _ = measured(lambda body: well_behaved(body, usage=warm))
    assert p.validity.largest_cached_share == 0.75
    assert p.protocol.prefix_cache_state.startswith("partly warm")


class Counting(OddServer):
    """Tells of its cache on ``/metrics`` alone, as vLLM does by default."""

    def _get(self, path: str) -> list[Piece]:
        if not path.endswith("/metrics"):
            return super()._get(path)
        asked = 100 * len(self.asked)
        lines = (f"vllm:prefix_cache_queries_total {asked}",
                 f"vllm:prefix_cache_hits_total {asked / 2}",
                 f"vllm:num_preemptions_total {len(self.asked)}")  # fmt: skip
        return [http("\n".join(lines).encode() + b"\n", kind="text/plain")]


def test_a_warm_cache_and_preemptions_are_read_from_counters() -> None:
    silent = {"prompt_tokens_details": None}
    with Counting(lambda body: well_behaved(body, usage=silent)) as server:
        p = confirm(Endpoint(base_url=server.url, model="odd"), plan=SHORT)
    assert (p.validity.largest_cached_share, p.validity.counted_cached_share) == (None, 0.5)
    assert p.protocol.cache == "partly warm"
    assert p.validity.preemptions == 3  # one for each of the three timed requests
    assert "3 preemptions" in " ".join(p.validity.warnings)
    assert "50% of a prompt" in " ".join(p.validity.warnings)


@pytest.mark.parametrize(
    ("status", "said"),
    [(404, "check the path"), (401, "no key was sent"), (400, "refuses a plain request")],
)
def test_what_cannot_be_used_at_all_is_an_error(
    status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(EndpointError, match=said):
        measured(lambda _: refusal(status, "go away"))


def test_the_key_is_sent_and_kept_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret-0815")

    def reply(body: Body) -> list[Piece]:
        return [*well_behaved(body)[:-1], b": you are sk-secret-0815\n\n", b"data: [DONE]\n\n"]

    raw = tmp_path / "raw.jsonl"
    p, server = measured(reply, key="MY_KEY", raw_path=raw)
    assert all("Bearer sk-secret-0815" in head for head in server.heads)
    assert "you are [redacted]" in raw.read_text()
    assert "sk-secret" not in raw.read_text() + p.model_dump_json()


def test_a_secret_is_overwritten_in_place_wherever_it_was_cut() -> None:
    def redacted(secret: str, *reads: bytes) -> list[bytes]:
        exchange = Exchange(reads=list(enumerate(reads)))
        exchange.redact(secret)
        assert [len(data) for _, data in exchange.reads] == [len(data) for data in reads]
        return [data for _, data in exchange.reads]

    assert redacted("sk-secret-0815", b"it is sk-sec", b"ret-0815, or sk-secret-0...") == [
        b"it is [redac", b"ted]****, or [redacted]*..."
    ]  # fmt: skip
    assert redacted("a/b/c/d/e", b'{"key": "a\\/b\\/c\\/d\\/e"}') == [b'{"key": "[redacted]***"}']
    assert redacted("none", b"none") == [b"none"]
    cookie = b"HTTP/1.1 200 OK\r\nSet-Cookie: id=1\r\n\r\n"
    assert redacted("", cookie) == [cookie.replace(b"id=1", b"****")]


def test_a_prediction_in_another_unit_is_refused() -> None:
    per_token = ANY_SPEED.model_copy(update={"unit": "ms"})
    with pytest.raises(InputError, match=r"'ms'.*give it in 'tokens/s'"):
        confirm(Endpoint(base_url="http://h", model="m"), prediction=per_token)


def test_an_interrupt_ends_the_load_and_resume_goes_on(tmp_path: Path) -> None:
    raw = tmp_path / "raw.jsonl"

    def interrupt(progress: Progress) -> None:
        if progress.step == "timed":
            raise KeyboardInterrupt

    with OddServer() as server:
        endpoint = Endpoint(base_url=server.url, model="odd")
        with pytest.raises(KeyboardInterrupt):
            confirm(endpoint, plan=SHORT, raw_path=raw, on_progress=interrupt)
        with raw.open("a") as file:
            file.write('{"step": "timed", "half a line')
        kept = sum(json.loads(x)["step"] == "timed" for x in raw.read_text().splitlines()[:-1])
        asked = len(server.asked)
        p = confirm(endpoint, plan=SHORT, raw_path=raw, resume=True)
        with pytest.raises(PassportError, match="holds another run"):
            confirm(endpoint, plan=Plan(), raw_path=raw, resume=True)
    assert kept == 1
    assert len(server.asked) - asked == 5 + 1 + (3 - kept) + 1
    assert (p.results.requests, beside_the_client(p)) == (3, [])


def test_a_killed_run_leaves_no_load_and_keeps_its_samples(tmp_path: Path) -> None:
    raw = tmp_path / "raw.jsonl"
    with OddServer() as server:
        code = (
            "from stackchoice.confirm import *\n"
            f"confirm(Endpoint(base_url={server.url!r}, model='odd'), "
            f"plan=Plan(requests=10000, floor=False), raw_path={str(raw)!r})"
        )
        with subprocess.Popen([sys.executable, "-c", code]) as run:
            end = time.monotonic() + 30
            while time.monotonic() < end and not (raw.exists() and '"timed"' in raw.read_text()):
                time.sleep(0.05)
            os.kill(run.pid, signal.SIGKILL)
        assert '"step": "timed"' in raw.read_text()
        time.sleep(1)
        asked = len(server.asked)
        time.sleep(1)
        assert len(server.asked) == asked


def test_a_busy_machine_makes_the_run_invalid_and_judges_nothing(engine: EmbeddedEngine) -> None:
    probed = probe_machine(2**20).model_copy(update={"busy_share": 0.9})
    p = confirm(engine, prediction=ANY_SPEED, plan=SHORT, machine=probed)
    assert p.label == "INVALID"
    assert "90% of this machine's CPU" in p.validity.reasons[0]
    assert p.verdicts == {"decode_tokens_per_s": "not measured"}


def test_launches_of_the_real_engine_are_nested_and_measured_under_a_load() -> None:
    require_engine()
    plan = SHORT.model_copy(update={"load": Closed(streams=2), "requests": 2, "launches": 2})
    with EmbeddedEngine() as running:
        first = running.pid
        p = confirm(running, plan=plan)
        assert running.pid != first
    assert [(r.launch, r.number, r.requests) for r in p.results.repetitions] == [
        (0, 0, 2),
        (1, 0, 2),
    ]
    assert p.results.ttft_interval_s.over == "launches"
    assert p.results.ttft_interval_s.between_sd is not None
    assert (p.results.errors, p.results.restarts) == (0, 0)
    assert p.protocol.arrival_pattern.startswith("closed loop of 2 streams")


def test_an_address_cannot_be_launched_again() -> None:
    with pytest.raises(InputError, match="launches 2: only an engine that is started here"):
        confirm(Endpoint(base_url="http://h", model="m"), plan=Plan(launches=2))


def test_an_engine_killed_under_load_is_noticed() -> None:
    require_engine()
    killed = []

    def kill(progress: Progress) -> None:
        if progress.step == "timed" and not killed:
            killed.append(running.pid)
            os.kill(running.pid, signal.SIGKILL)

    with EmbeddedEngine() as running:
        plan = SHORT.model_copy(update={"requests": 6, "load": Closed(streams=2)})
        p = confirm(running, plan=plan, on_progress=kill)
    assert killed
    assert p.results.restarts == 1
    assert 0 < p.validity.failures["transport"] < 6
    assert p.label == "INVALID"
    assert "no longer answered" in " ".join(p.validity.warnings)


def test_the_spend_cap_refuses_a_plan_before_its_load() -> None:
    cap = {"usd": "0.01", "usd_per_million_input_tokens": "1",
           "usd_per_million_output_tokens": "1"}  # fmt: skip
    plan = Plan.model_validate({**SHORT.model_dump(), "requests": 1000, "spend": cap})
    with (
        OddServer() as server,
        pytest.raises(InputError, match=r"spend cap 0\.01 USD: .* are left"),
    ):
        confirm(Endpoint(base_url=server.url, model="odd"), plan=plan)
    assert len(server.asked) == 5 + 1  # canaries and the warm-up
