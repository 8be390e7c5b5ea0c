"""The fault matrix: what goes wrong, the class that counts it, and what the user is told.

Every row goes through ``confirm`` as a user's run does, with its own process and its own log.
"""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import trustme
from jupyter_client.manager import KernelManager
from odd_server import OddServer, Piece, answer_of, http, refusal, require_engine, well_behaved
from test_load_reference import FAULTS

from stackchoice.confirm import Endpoint, Passport, Plan, confirm
from stackchoice.errors import EndpointError
from stackchoice.load.floor import reference_server
from stackchoice.load.script import Fault, Script

SHORT = Plan(requests=3, floor=False, output_tokens=16, prompt_words=8, idle_s=20, timeout_s=30)
#: Canaries of the basic set and the warm-up, which go before the timed requests.
BEFORE = 6

#: Fault, the class (None: no failure), and a word of what is said of it.
ROWS = [
    *FAULTS,
    (Fault.HUGE_LINE, None, ""),
    (Fault.NO_USAGE, None, ""),
    (Fault.LOW_USAGE, None, ""),
    (Fault.HIGH_USAGE, None, ""),
    (Fault.WRONG_MODEL, None, ""),
    (Fault.OTHER_SERVER, None, ""),
]


@pytest.fixture(scope="module")
def every_fault() -> Iterator[Passport]:
    """One run in which each timed request meets another fault, and every second one none."""
    faults = [fault for row in ROWS for fault in (row[0], None)]
    script = Script(ttft_s=0.02, itl_s=0.002, tokens=20, faults=(None,) * BEFORE + tuple(faults))
    plan = Plan(requests=len(faults), floor=False, output_tokens=32, prompt_words=8, idle_s=1,
                timeout_s=20)  # fmt: skip
    with reference_server(script) as endpoint:
        yield confirm(endpoint, plan=plan)


@pytest.mark.parametrize(
    ("row", "fault", "failure", "said"),
    [(n, *row) for n, row in enumerate(ROWS)],
    ids=[f"{fault}: {failure}" for fault, failure, _ in ROWS],
)
def test_each_fault_is_in_its_class_and_its_neighbour_is_clean(
    every_fault: Passport, row: int, fault: Fault, failure: object, said: str
) -> None:
    broken, clean = every_fault.samples[2 * row : 2 * row + 2]
    if fault is Fault.LENGTH:  # an answer to a load may use up its limit
        assert (broken.failure, broken.finish_reason) == (None, "length")
    else:
        assert broken.failure == failure
        assert said in broken.failure_detail
    assert (clean.failure, clean.completion_tokens, clean.finish_reason) == (None, 20, "stop")


def test_nothing_is_lost_and_each_is_counted_once(every_fault: Passport) -> None:
    p, expected = every_fault, Counter(f.value for fault, f, _ in FAULTS if fault != Fault.LENGTH)
    assert p.results.requests == 2 * len(ROWS) == len(p.samples)
    assert {k: n for k, n in p.validity.failures.items() if n} == expected
    assert p.results.errors == expected.total()
    assert (p.validity.usage_missing, p.validity.usage_contradicted) == (1, 2)
    assert p.validity.other_model == 1
    assert p.results.usable == p.results.decode_tokens_per_s.n
    assert p.results.usable + len(p.validity.discarded) == p.results.requests
    reasons = Counter(d.reason.partition(":")[0] for d in p.validity.discarded)
    del reasons["all tokens arrived in one read"]  # a busy client: no rate, and no failure
    assert reasons == expected + Counter({"tokens unknown": 3})


def test_another_model_that_answers_makes_the_run_invalid(every_fault: Passport) -> None:
    said = " ".join(every_fault.validity.reasons)
    assert "answers name 'another', and 'reference' was asked for; ask for it by the name" in said
    with OddServer() as server:
        alias = confirm(Endpoint(base_url=server.url, model="org/odd"), plan=SHORT)
        other = confirm(Endpoint(base_url=server.url, model="m"), plan=SHORT)
        known = confirm(Endpoint(base_url=server.url, model="m"), plan=SHORT,
                        identity={"model": "odd"})  # fmt: skip
    assert "answers name" not in " ".join((*alias.validity.reasons, *known.validity.reasons))
    assert other.label == "INVALID"


def test_a_storm_of_refusals_is_no_success_and_says_so() -> None:
    script = Script(ttft_s=0.0, itl_s=0.0, tokens=20, fault=Fault.STATUS_429,
                    faults=(None,) * (BEFORE + 2))  # fmt: skip
    plan = Plan.model_validate(
        {**SHORT.model_dump(), "requests": 200, "load": {"kind": "closed", "streams": 8}}
    )
    with reference_server(script) as endpoint:
        p = confirm(endpoint, plan=plan)
    assert p.validity.failures["admission_rejected"] == p.results.errors >= 198
    assert p.label == "INVALID"
    assert "usable samples" in p.validity.reasons[0]


# Nothing to measure: an error before anything is kept.


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:{closed}", "no connection (Connection refused); start the server"),
        ("http://nowhere.invalid", "check the host name"),
        ("https://127.0.0.1:{plain}", "use http:// for a server without TLS"),
        ("http://127.0.0.1:{tls}", "give https:// where it wants TLS"),
        ("https://127.0.0.1:{tls}", "SSL_CERT_FILE"),
        ("http://127.0.0.1:{silent}", "check that the address is an HTTP API, or raise"),
        ("https://127.0.0.1:{silent}", "check host, port, firewall and http or https"),
    ],
)
def test_what_cannot_be_reached_is_one_error_with_its_fix(
    ports: dict[str, int], url: str, said: str, tmp_path: Path
) -> None:
    plan = SHORT.model_copy(update={"idle_s": 1, "connect_s": 1})
    with pytest.raises(EndpointError) as error:
        confirm(Endpoint(base_url=url.format(**ports), model="m"), plan=plan)
    assert said in str(error.value)
    assert str(error.value).isprintable()


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """A closed port, a plain server, one whose certificate nobody knows, and a silent one."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    secure = socket.create_server(("127.0.0.1", 0))
    silent = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                with secure.accept()[0] as sock, context.wrap_socket(sock, server_side=True) as tls:
                    tls.recv(1)
            except ssl.SSLError:
                continue
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    with OddServer() as plain:
        yield {"closed": closed_port(), "plain": plain.port, "silent": silent.getsockname()[1],
               "tls": secure.getsockname()[1]}  # fmt: skip
    secure.close()
    silent.close()


# The engine and the machine.


class Swapped(OddServer):
    """Another release answers at the same address after some requests."""

    def _get(self, path: str) -> list[Piece]:
        if path.endswith("/version"):
            version = "0.26.0" if len(self.asked) < BEFORE + 3 else "0.27.0"
            return [http(json.dumps({"version": version}).encode(), kind="application/json")]
        return super()._get(path)


def test_an_engine_swapped_between_repetitions_makes_the_run_invalid() -> None:
    with Swapped() as server:
        plan = SHORT.model_copy(update={"repetitions": 2})
        p = confirm(Endpoint(base_url=server.url, model="odd"), plan=plan)
    assert p.results.usable == 6
    assert p.label == "INVALID"
    assert "another server answers than at first (version 0.26.0, then 0.27.0)" in " ".join(
        p.validity.reasons
    )


STEPPING = """
import datetime, itertools, time
steps = itertools.cycle((0, 7200, -7200, 3600))
wall, stamp = time.time, datetime.datetime
time.time = lambda: wall() + next(steps)
time.time_ns = lambda: int(time.time() * 1e9)
class Stepping(stamp):
    @classmethod
    def now(cls, tz=None):
        return stamp.now(tz) + datetime.timedelta(seconds=next(steps))
datetime.datetime = Stepping
"""


def test_a_clock_that_steps_moves_no_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wall clock of the load's process jumps by hours at every look."""
    (tmp_path / "sitecustomize.py").write_text(STEPPING)
    paths = (str(tmp_path), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    with OddServer() as server:
        p = confirm(Endpoint(base_url=server.url, model="odd"), plan=SHORT)
    stamps = {p.protocol.started_at[:13], p.protocol.ended_at[:13]}
    assert len(stamps) == 2  # the jumps were there
    for sample in p.samples:
        assert 0 < sample.ttft_s < sample.end_to_end_s < 60
    assert 0 < p.results.repetitions[0].duration_s < 60
    assert (p.results.usable, p.results.errors) == (3, 0)


def command(folder: Path, url: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "stackchoice.cli", "confirm", "--endpoint", url, "--model", "odd",
            "--no-floor", "--requests", "40", "--output-tokens", "16", "--prompt-words", "8",
            "--out", str(folder), *more]  # fmt: skip


def timed(raw: Path) -> int:
    """Whole lines alone: a line may be cut after any byte, a brace of an answer too."""
    *whole, _cut = raw.read_bytes().split(b"\n")
    return sum(json.loads(line)["step"] == "timed" for line in whole)


def loads(server: OddServer) -> int:
    return sum(not answer_of(body) and "Words:" in str(body) for body in server.asked)


def test_a_full_disk_ends_in_one_line_and_what_was_measured_is_kept(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    raw = tmp_path / "endpoint.raw.jsonl"
    with OddServer() as server:
        full = subprocess.run(
            command(tmp_path, server.url), capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, 120_000)),
        )  # fmt: skip
        assert full.returncode == 2
        (line,) = full.stderr.splitlines()
        assert "cannot be written (File too large); free some space and go on with --res" in line
        kept, asked = timed(raw), loads(server)
        assert 3 < kept < 40
        assert sorted(os.listdir(tmp_path)) == ["endpoint.raw.jsonl"]
        again = subprocess.run(command(tmp_path, server.url, "--resume"), capture_output=True,
                               text=True, check=False)  # fmt: skip
        assert not again.stderr
        assert loads(server) - asked == 1 + 40 - kept  # the warm-up, and what was missing
    p = Passport.load(tmp_path / "endpoint.passport.json")
    assert (p.results.requests, p.results.usable) == (40, 40)


@pytest.mark.skipif(sys.platform != "linux", reason="a folder that not even root may write to")
def test_a_folder_that_cannot_be_written_is_said_before_anything_is_asked() -> None:
    with OddServer() as server:
        found = subprocess.run(command(Path("/proc/nowhere"), server.url), capture_output=True,
                               text=True, check=False)  # fmt: skip
        assert not server.asked
    assert found.returncode == 2
    (line,) = found.stderr.splitlines()
    assert "/proc/nowhere: cannot be made a folder" in line
    assert "name another with --out" in line


def test_a_killed_notebook_leaves_no_process_and_loses_no_request(tmp_path: Path) -> None:
    require_engine()
    raw = tmp_path / "raw.jsonl"
    kernel = KernelManager(kernel_name="python3")
    kernel.start_kernel(cwd=tmp_path)
    client = kernel.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)
        client.execute(
            "from stackchoice.confirm import *\n"
            "with EmbeddedEngine() as e:\n"
            "    confirm(e, plan=Plan(requests=5000, floor=False, output_tokens=16,"
            f" prompt_words=8), raw_path={str(raw)!r})"
        )
        end = time.monotonic() + 120
        while time.monotonic() < end and not (raw.exists() and timed(raw)):
            time.sleep(0.05)
        process = psutil.Process(kernel.provisioner.pid)
        children = process.children(recursive=True)
        assert {"stackchoice.confirm.load", "stackchoice.confirm.serve"} <= {
            word for child in children for word in child.cmdline()
        }
        os.kill(process.pid, signal.SIGKILL)
        assert not psutil.wait_procs(children, timeout=60)[1]
        assert timed(raw)
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)


def test_a_server_that_lies_about_everything_ends_in_a_passport(tmp_path: Path) -> None:
    """Wrong types, endless lists, deep nesting and numbers without end, on every path."""
    deep = b'{"data": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    huge = b'{"version": 1' + b"0" * 10_000 + b', "total_slots": 1e999, "data": [null, 3, {}]}'

    class Liar(OddServer):
        def _get(self, path: str) -> list[Piece]:
            return [http(deep if len(self.heads) % 2 else huge, kind="application/json")]

    def reply(body: dict) -> list[Piece]:
        number = len(liar.asked)
        if number % 3 == 1:
            return [http(deep), None]
        if number % 3 == 2:
            return refusal(500, "x" * 10**6)
        return well_behaved(body, usage={"prompt_tokens": 10**400, "completion_tokens": -1})

    with Liar(reply) as liar:
        p = confirm(Endpoint(base_url=liar.url, model="odd"), plan=SHORT)
    assert p.label == "INVALID"
    assert Passport.load(p.save(tmp_path / "p.json")) == p
    assert (tmp_path / "p.json").stat().st_size < 2**20
