"""Loads on the real reference server: who counts, what is kept, when it stops."""

import json
import os
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from odd_server import DONE, STREAM_HEAD, chunk, words

from stackchoice.confirm import Endpoint, Passport, confirm
from stackchoice.confirm import Plan as ConfirmPlan
from stackchoice.errors import InputError
from stackchoice.load.arrivals import Closed, Constant, Load, Poisson, Replay
from stackchoice.load.drive import require_files
from stackchoice.load.floor import measure_floor, reference_server, truth_of
from stackchoice.load.journal import exchange_of
from stackchoice.load.loop import Loop
from stackchoice.load.plan import Plan, SpendCap
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Failure, Sample
from stackchoice.load.run import LoadRun, Service
from stackchoice.load.script import Fault, Script
from stackchoice.load.wire import Exchange, Limits, Problem

QUICK = Script(ttft_s=0.02, itl_s=0.002, tokens=20)
PRICES = {"usd_per_million_input_tokens": "1", "usd_per_million_output_tokens": "1"}


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with reference_server(QUICK) as running:
        yield running


def run(endpoint: Endpoint, plan: Plan, done: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    load = LoadRun(endpoint, plan, events.append, done=done)
    truth_of(endpoint)
    load.load(load.warm_up())
    return json.loads(json.dumps(events))  # what a log would hold


def plan_of(load: Load, **more: Any) -> Plan:
    return Plan(load=load, **{"requests": 24, "output_tokens": 20, "prompt_words": 8, **more})


def samples(events: list[dict[str, Any]], step: str = "timed") -> list[Sample]:
    return [read_sample(exchange_of(e), e["request"]) for e in events if e["step"] == step]


@pytest.mark.parametrize("api", ["chat", "completions"])
@pytest.mark.parametrize("connections", ["reuse", "new"])
@pytest.mark.parametrize(
    "load", [Closed(streams=6), Poisson(rate_per_s=60), Constant(rate_per_s=60)]
)
def test_every_timed_request_is_sent_once_kept_and_clean(
    endpoint: Endpoint, load: Load, connections: str, api: str
) -> None:
    events = run(endpoint, plan_of(load, connections=connections, api=api))
    timed = [e for e in events if e["step"] == "timed"]
    assert sorted(e["request_number"] for e in timed) == list(range(24))
    assert {s.failure for s in samples(events)} == {None}
    assert {s.completion_tokens for s in samples(events)} == {20}
    assert any(e["reused"] for e in timed) is (connections == "reuse")
    assert {s.failure for s in samples(events, "tail")} <= {None, Failure.CANCELLED}
    health = [e for e in events if e["step"] == "health"][-1]["health"]
    if isinstance(load, Closed):
        assert health["asked_concurrency"] == 6
        assert 4 < health["achieved_concurrency"] <= 6.2
        assert Counter(e["step"] for e in events)["ramp"] >= 5
    else:
        due = [e["intended_ns"] for e in timed]
        assert all(e["started_ns"] >= e["intended_ns"] for e in timed)
        assert health["asked_rate_per_s"] == pytest.approx(23e9 / (max(due) - min(due)))
    asked = [e["request"] for e in timed]
    texts = [r["prompt"] if api == "completions" else r["messages"][0]["content"] for r in asked]
    assert len({text[:8] for text in texts}) == 24  # a nonce of its own, first of all


def test_one_stream_needs_no_ramp_and_no_tail(endpoint: Endpoint) -> None:
    events = run(endpoint, plan_of(Closed(), requests=4, repetitions=2))
    steps = Counter(e["step"] for e in events)
    assert (steps["timed"], steps["ramp"], steps["tail"]) == (8, 0, 0)
    assert [e["repetition"] for e in events if e["step"] == "timed"] == [0] * 4 + [1] * 4


def test_what_was_kept_is_not_asked_again(endpoint: Endpoint) -> None:
    events = run(endpoint, plan_of(Closed(streams=2), requests=6), done=(0, 1, 4))
    assert sorted(e["request_number"] for e in events if e["step"] == "timed") == [2, 3, 5]


def test_a_replay_keeps_times_and_lengths(endpoint: Endpoint, tmp_path: Path) -> None:
    path = tmp_path / "traffic.csv"
    rows = [(0.00, 60, 5), (0.05, 400, 17), (0.05, 90, 1), (0.2, 60, 12)]
    lines = "\n".join(f"{at},{i},{o}" for at, i, o in rows)
    path.write_text(f"timestamp_s,input_tokens,output_tokens\n{lines}\n")
    events = run(endpoint, plan_of(Replay(path=str(path), speed=2), requests=4, warmup=2))
    timed = sorted((e for e in events if e["step"] == "timed"), key=lambda e: e["request_number"])
    start = timed[0]["intended_ns"]
    assert [(e["intended_ns"] - start) / 1e9 for e in timed] == pytest.approx(
        [0, 0.025, 0.025, 0.1]
    )
    found = [read_sample(exchange_of(e), e["request"]) for e in timed]
    assert [s.completion_tokens for s in found] == [5, 17, 1, 12]
    # words are calibrated by the warm-up's own count of tokens
    assert [s.prompt_tokens for s in found] == pytest.approx([60, 400, 90, 60], rel=0.1)
    with pytest.raises(InputError, match="holds 4 requests, and the plan wants 24"):
        LoadRun(endpoint, plan_of(Replay(path=str(path)), warmup=2), print)


def test_the_spend_cap_stops_the_load_and_keeps_what_was_measured(endpoint: Endpoint) -> None:
    events: list[dict[str, Any]] = []
    cap = SpendCap(usd="0.002", **PRICES)
    load = LoadRun(endpoint, plan_of(Closed(streams=3), requests=100, spend=cap), events.append)
    truth_of(endpoint)
    load.load(load.warm_up())
    counted = [s for s in samples(events) if s.failure is None]
    asked = [e for e in events if e["step"] in ("warmup", "ramp", "timed", "tail")]
    real = [read_sample(exchange_of(e)) for e in asked]
    usd = sum((s.prompt_tokens + s.completion_tokens) / 1e6 for s in real)
    assert 0 < len(counted) < 100
    assert usd == pytest.approx(load.meter.usd)
    assert 0.001 < usd <= 0.002
    assert len(truth_of(endpoint)["requests"]) == len(asked)
    assert [e for e in events if e["step"] == "health"][-1][
        "stopped"
    ] == "the spend cap was reached"
    with pytest.raises(InputError, match="the next request may cost"):
        load.ask(load.plan.body("x", "y"), "canary")


def test_more_streams_than_files_is_an_error_before_anything_is_sent() -> None:
    with pytest.raises(InputError, match=r"need \d+ open files, and \d+ are allowed; run `ulimit"):
        require_files(10**9)


def test_a_connection_that_the_server_closed_is_asked_again_once() -> None:
    """The server keeps its first connection, and closes it as the second request comes."""
    stop = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    body = chunk({"content": "w"}) + stop + DONE
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
    reply = head % len(body) + body
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for close_at_once in (True, False):
            peer, _ = listener.accept()
            peer.recv(65536)
            peer.sendall(reply)
            if close_at_once:
                peer.recv(1)  # the second request is on its way; it is read, then left unanswered
                peer.recv(65536)
            peer.close()

    thread = threading.Thread(target=serve)
    thread.start()
    endpoint = Endpoint(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", model="m")
    request = endpoint.request("POST", "/v1/chat/completions", {"a": 1}, close=False)
    loop, done = Loop(endpoint.address, Limits(), reuse=True), list[Exchange]()
    for count in (1, 2):
        loop.send(request, done.append)
        loop.run(lambda count=count: len(done) == count)
    loop.close()
    thread.join()
    listener.close()
    first, second = done
    assert (first.problem, first.resent, second.problem, second.resent) == (None, False, None, True)
    assert loop.reuse is False


def test_what_is_cancelled_is_no_failure_of_the_server(endpoint: Endpoint) -> None:
    loop, done = Loop(endpoint.address, Limits()), list[Exchange]()
    body = {**plan_of(Closed()).body("a", "b"), "stream": True, "reference": {"fault": "hang_mid"}}
    sent = loop.send(endpoint.request("POST", "/v1/chat/completions", body), done.append)
    loop.run(lambda: len(sent.reads) > 3)
    loop.close()
    assert done[0].problem is Problem.CANCELLED
    assert read_sample(done[0]).failure is Failure.CANCELLED
    assert read_sample(done[0]).text.startswith("word")


def test_tls_is_spoken_and_certificates_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, cert = trustme.CA(), tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(cert))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0))
    stop = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    reply = STREAM_HEAD + b"".join([*words(40, "w" * 2000), stop, DONE])

    def serve() -> None:
        for _ in range(2):
            peer, _ = listener.accept()
            try:
                with context.wrap_socket(peer, server_side=True) as secure:
                    while b"}" not in secure.recv(65536):
                        pass
                    secure.sendall(reply)
                    secure.unwrap()
            except OSError:
                peer.close()  # a client that does not trust us hangs up

    thread = threading.Thread(target=serve)
    thread.start()
    endpoint = Endpoint(base_url=f"https://localhost:{listener.getsockname()[1]}", model="m")
    untrusted = endpoint.ask({"x": 1}, Limits())
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    trusted = read_sample(endpoint.ask({"x": 1}, Limits()))
    thread.join()
    listener.close()
    assert (untrusted.problem, "certificate" in untrusted.detail) == (Problem.TLS, True)
    assert (trusted.failure, len(trusted.text)) == (None, 80_000)


def test_the_floor_is_measured_against_the_servers_truth() -> None:
    seen = Service(end_to_end_s=3.0, ttft_s=0.5, itl_s=0.01, tokens=250)
    floor = measure_floor(plan_of(Closed(streams=4), output_tokens=250), seen)
    assert "4 streams" in floor.load
    assert floor.requests >= 8
    assert floor.ttft_truth_s >= 0.1  # the observed one is cut to a tenth of a second
    assert floor.itl_truth_s == pytest.approx(0.01, rel=0.2)
    assert floor.ttft_excess_s > 0
    assert floor.health.asked_concurrency == 4


def confirmed(endpoint: Endpoint, load: Load, **more: Any) -> Passport:
    settings = {"requests": 30, "output_tokens": 20, "prompt_words": 8, **more}
    return confirm(endpoint, plan=ConfirmPlan(load=load, **settings))


def test_a_passport_of_a_load_counts_each_class_and_holds_the_floor() -> None:
    script = QUICK.model_copy(update={"fault": Fault.STATUS_429, "fault_every": 5})
    with reference_server(script) as endpoint:
        p = confirmed(endpoint, Closed(streams=4), repetitions=2)
    assert p.results.requests == 60
    assert p.validity.admission_rejected == p.results.errors > 5
    assert sum(p.validity.failures.values()) == p.results.errors
    assert [(r.launch, r.number, r.requests) for r in p.results.repetitions] == [
        (0, 0, 30),
        (0, 1, 30),
    ]
    assert p.results.ttft_interval_s.over == "repetitions"
    assert p.results.ttft_s.p50 is not None
    assert p.results.ttft_s.percentile_text("p99").startswith("n too small")
    assert p.validity.floor.requests > 0
    assert p.validity.client.rules_sha256
    assert p.protocol.concurrency == 4
    assert p.validity.correctness == "failed"  # the reference server knows none of the canaries


def test_a_dead_server_leaves_no_descriptor_behind() -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    with reference_server(QUICK) as endpoint:
        address = endpoint
    for _ in range(20):
        assert read_sample(address.ask({"x": 1}, Limits(connect_s=1))).failure is Failure.TRANSPORT
    if before:
        assert len(os.listdir("/proc/self/fd")) <= before
