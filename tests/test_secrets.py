"""A planted key is nowhere: not on disk, in argv or in output; only the named endpoint is asked."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_server import DONE, STREAM_HEAD, USAGE, Body, OddServer, Piece, chunk, http, refusal

from stackchoice.confirm import Endpoint, Plan, Progress, confirm
from stackchoice.confirm.command_engine import CommandEngine
from stackchoice.errors import EndpointError, EngineError
from stackchoice.facts import load_facts
from stackchoice.facts.secrets import without_keys
from stackchoice.load.reading import read_sample
from stackchoice.load.redact import redacted, without_secrets
from stackchoice.load.wire import Exchange
from stackchoice.logs import read_log_by_name
from stackchoice.present.logs import log_table
from stackchoice.present.logtext import describe_log
from stackchoice.read.log_reader import read_log

KEY = "sk-planted/0815-ABCDEFGH+xyz=="
PIECES = [KEY[i : i + 5] for i in range(0, len(KEY), 5)]
CHUNKED = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")


def framed(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def in_chunks(data: bytes, size: int) -> bytes:
    parts = [framed(data[i : i + size]) for i in range(0, len(data), size)]
    return b"".join([*parts, b"0\r\n\r\n"])


STREAMS = {
    "whole": [chunk({"content": KEY})],
    "cut off": [b": you sent " + KEY[:20].encode() + b"...\n\n", chunk({"content": "w"})],
    "token by token": [chunk({"content": piece}) for piece in PIECES],
    "reasoning": [chunk({"reasoning_content": piece}) for piece in PIECES],
    "tool call": [
        chunk({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": piece}}]})
        for piece in PIECES
    ],
    "escaped": [
        b'data: {"choices": [{"index": 0, "delta": {"content": "%b"}}]}\n\n'
        % "".join(f"\\u{ord(c):04x}" for c in KEY).encode()
    ],
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("size", [7, 10**6])
def test_a_key_that_comes_back_is_overwritten_and_the_answer_still_counts(name, size):
    events = b"".join([*STREAMS[name], chunk({}, "stop"), chunk(None, usage=USAGE), DONE])
    raw = CHUNKED + in_chunks(events, size)
    measured = Exchange(sent_ns=1, reads=[(n + 2, raw[n : n + 50]) for n in range(0, len(raw), 50)])
    before = read_sample(measured)
    measured.redact(KEY)
    after = read_sample(measured)
    kept = b"".join(data for _, data in measured.reads)
    assert len(kept) == len(raw)
    assert before.failure is after.failure is None
    assert (after.ttft_s, after.content_chunks) == (before.ttft_s, before.content_chunks)
    said = after.model_dump_json() + kept.decode("latin-1")
    assert not any(KEY[i : i + 15] in said for i in range(len(KEY) - 15))
    assert KEY not in after.text + after.reasoning + str(after.tool_calls)


@given(st.binary(max_size=300), st.text(st.characters(codec="ascii"), min_size=8, max_size=20))
def test_any_bytes_are_taken_and_keep_their_length(raw, secret):
    for data in (raw, CHUNKED + raw, CHUNKED + in_chunks(raw + secret.encode() + raw, 9)):
        assert len(redacted(data, secret)) == len(data)
        assert redacted(data, "") == redacted(data, "short")


def test_secrets_of_the_environment_leave_an_engines_log(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_planted_0815")
    monkeypatch.setenv("TINY_KEY", "none")
    assert without_secrets("a hf_planted_0815 none") == "a [redacted] none"
    engine = CommandEngine([sys.executable, "-c", "import os; print(dict(os.environ)); {port}"],
                           model="m", start_timeout_s=20)  # fmt: skip
    with pytest.raises(EngineError) as error:
        engine.start()
    assert "[redacted]" in str(error.value)
    assert "hf_planted" not in str(error.value)


class Echo(OddServer):
    """Sends the request's headers back, wherever a server might."""

    def _get(self, path: str) -> list[Piece]:
        said = self.heads[-1]
        if path.endswith("/models"):
            tree = {"data": [{"id": "odd", "owned_by": said, "root": f"/m/{KEY}"}]}
        elif path.endswith("info"):
            tree = {"api_key": KEY, "model_path": KEY, "env": {"x": said}, "version": KEY}
        elif path.endswith("/metrics"):
            return [http(f'cache_config_info{{cache_dtype="{KEY}"}} 1\n'.encode())]
        else:
            return refusal(404, said)
        return [http(json.dumps(tree).encode(), kind="application/json", extra=f"Server: {KEY}\r\n"
                     f"Set-Cookie: session={KEY}\r\n")]  # fmt: skip


def echo(body: Body) -> list[Piece]:
    number = len(server_of[0].asked)
    if number % 5 == 1:
        return refusal(500, server_of[0].heads[-1])
    if number % 5 == 2:
        return refusal(400, f"bad key {KEY}")
    if number % 5 == 3:
        return [STREAM_HEAD, b"data: {broken " + KEY.encode() + b"\n\n"]
    name = list(STREAMS)[number % len(STREAMS)]
    return [STREAM_HEAD, *STREAMS[name], chunk({}, "stop", model=KEY),
            chunk(None, usage={**USAGE, "completion_tokens": 7}), DONE]  # fmt: skip


server_of: list[Echo] = []


@pytest.fixture
def server() -> Iterator[Echo]:
    with Echo(echo) as running:
        server_of[:] = [running]
        yield running


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "OPENAI_API_KEY": KEY, **more}
    return subprocess.run([sys.executable, "-m", "stackchoice.cli", *words], cwd=folder, env=env,
                          capture_output=True, text=True, check=False, timeout=200)  # fmt: skip


def test_confirm_sweep_and_report_never_show_or_keep_the_key(server: Echo, tmp_path: Path) -> None:
    there = ["--endpoint", server.url, "--model", "odd"]
    short = ["--no-floor", "--requests", "10", "--output-tokens", "16", "--prompt-words", "8"]
    shown = [
        run(tmp_path, "confirm", "this-machine", *there, *short),
        run(tmp_path, "confirm", *there, *short, "--json", "--streams", "2"),
        run(tmp_path, "sweep", "--knob", "a=1,2", "--model", "odd", "--no-floor", "--requests", "3",
            *("--url", f"a=1@{server.url}", "--url", f"a=2@{server.url}")),
        run(tmp_path, "report", "this-machine"),
        run(tmp_path, "passport", "show", "reports/endpoint.passport.json"),
    ]  # fmt: skip
    assert any(f"Bearer {KEY}" in head for head in server.heads)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.suffix for path in kept} >= {".json", ".jsonl", ".html", ".md"}
    for text in (*(p.stdout + p.stderr for p in shown), *(b.decode() for b in kept.values())):
        assert KEY not in text
        assert KEY[:15] not in text
        assert "Traceback" not in text
    timed = Path(tmp_path / "reports" / "endpoint.raw.jsonl").read_text(encoding="utf-8")
    assert "[redacted]" in timed


def test_the_key_is_in_no_argument_of_a_process(
    server: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    seen: list[str] = []

    def look(_: Progress) -> None:
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):  # it may end while it is looked at
                seen.extend(child.cmdline())

    confirm(Endpoint(base_url=server.url, model="odd"), on_progress=look,
            plan=Plan(requests=3, floor=False))  # fmt: skip
    assert "stackchoice.confirm.load" in seen
    assert not any(KEY in word for word in seen)


@pytest.mark.parametrize(
    "url",
    [f"http://u:{KEY}@h", f"http://h/v1?key={KEY}", f"http://h#{KEY}", f"http://u:{KEY} @h",
     f"ftp://u:{KEY}@h", f"//{KEY}@h"],
)  # fmt: skip
def test_a_key_in_an_address_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    found = run(tmp_path, "confirm", "--endpoint", url, "--model", "m")
    assert found.returncode == 2
    assert len(found.stderr.splitlines()) == 1
    assert "sk-planted" not in found.stdout + found.stderr
    assert os.listdir(tmp_path) == []


class Recorder:
    """Listens, and counts who comes."""

    def __enter__(self) -> Recorder:
        self.visits = 0
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def _serve(self) -> None:
        while True:
            try:
                self.sock.accept()[0].close()
            except OSError:
                return
            self.visits += 1


def test_only_the_named_endpoint_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Recorder() as other:
        elsewhere = f"http://127.0.0.1:{other.port}/v1"
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, elsewhere)
        monkeypatch.setenv("OPENAI_BASE_URL", elsewhere)
        moved = http(b"{}", status=307, kind="application/json", extra=f"Location: {elsewhere}\r\n")
        with OddServer() as plain:
            confirm(Endpoint(base_url=plain.url, model="odd"), plan=Plan(requests=3, floor=False))
        with (
            OddServer(lambda _: [moved]) as server,
            pytest.raises(EndpointError, match=rf"redirected to {elsewhere}; give that address"),
        ):
            confirm(Endpoint(base_url=server.url, model="odd"), plan=Plan(requests=3, floor=False))
        assert other.visits == 0


#: As engines and people write them; what is named like a key and is none stays.
GIVEN = [
    "+ vllm serve Q/Q --api-key {} --hf-token={} --max-num-seqs 8192 --tokenizer Q/Qwen3",
    "args: {'api_key': ['{}'], 'hf_token': '{}', 'password': '{}', 'tokenizer': 'Q/Qwen3'} 8192",
    "args: {'extra': \"{'token': '{}'}\", 'max_num_batched_tokens': 8192, 'tokenizer': 'Q/Qwen3'}",
    "Namespace(api_key='{}', admin_api_key={}, max_num_tokens=8192, tokenizer='Q/Qwen3')",
    "HF_TOKEN={} max_num_tokens=8192, Authorization: Bearer {}, tokenizer='Q/Qwen3'",
    "https://user:{}@host:8000/v1 max_num_batched_tokens=8192 tokenizer='Q/Qwen3'",
    "+ vllm serve --api-key {} {} {},{} --max-num-seqs 8192 --tokenizer Q/Qwen3",
    "args: {'api_key': ['{}', '{}'], 'max_num_seqs': 8192, 'tokenizer': 'Q/Qwen3'}",
    "api_key=SecretStr('{}'), password='a b {}', pwd=p@{} passphrase: {} 8192 Q/Qwen3",
    '{\\"api_key\\": \\"{}\\", \\"max_tokens\\": 8192, \\"tokenizer\\": \\"Q/Qwen3\\"}',
    "AZURE_OPENAI_KEY={} Authorization: Basic {} Q/Qwen3 8192",
]


@pytest.mark.parametrize("text", GIVEN)
def test_what_a_text_calls_a_key_is_taken_out_of_it(text):
    said = without_keys(text.replace("{}", KEY))
    assert "planted" not in said
    assert "8192" in said
    assert "Q/Qwen3" in said


@pytest.mark.parametrize(
    "text",
    ["print_info: EOS token        = 128009 '<|eot_id|>'", "token=None, api_key=null",
     "token throughput: 1,234 tokens per second", "http://host:8000/v1/models", "max_tokens: 4096",
     "(Worker_TP0 pid=447) GPU KV cache size: 364,000 tokens, key heads: 8",
     "max_tokens=4096, tokenizer='Q/Q', token_pool=abcd, eos_token='</s>', pad_token: <pad>"],
)  # fmt: skip
def test_what_is_no_key_stays(text):
    assert without_keys(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [("--api-key 12345678", "--api-key [redacted]"), ("password=1234567", "password=[redacted]"),
     ("https://hf_0123456789abcdef@host/x", "https://[redacted]@host/x")],
)  # fmt: skip
def test_digits_alone_and_names_of_users_may_be_keys(text, left):
    assert without_keys(text) == left


@pytest.mark.parametrize("text", ["-", "--a", "A_KEY_", "api_key='", "ab://x:", "token "])
def test_a_line_at_its_limit_takes_no_longer_than_its_length(text):
    """By the square of it a line of dashes took ten minutes."""
    assert without_keys(text * (65_536 // len(text)))


def test_a_key_in_the_command_line_of_a_log_is_shown_by_nobody(tmp_path: Path) -> None:
    log = tmp_path / "vllm.log"
    log.write_text(
        f"+ vllm serve Qwen/Qwen3-8B --api-key {KEY}\n"
        "INFO 09-01 10:00:00 [api_server.py:1896] vLLM API server version 0.11.0\n"
        "INFO 09-01 10:00:00 [utils.py:233] non-default args: {'model': 'Qwen/Qwen3-8B', "
        f"'api_key': ['{KEY}'], 'hf_token': '{KEY}', 'max_model_len': 4096}}\n"
        "INFO 09-01 10:00:10 [gpu_worker.py:298] Available KV cache memory: 50.00 GiB\n"
    )
    reading = read_log(log, load_facts().memory)
    assert reading.boots[0].settings["max_model_len"] == 4096
    table = log_table(read_log_by_name(log), load_facts())._repr_mimebundle_()["text/html"]
    assert "50" in table
    assert "planted" not in table + describe_log(reading) + reading.model_dump_json()


def test_a_key_in_a_swept_command_is_not_kept(tmp_path: Path) -> None:
    command = f"{sys.executable} -c 'import sys; print(sys.argv); {{port}} {{k}}' --api-key {KEY}"
    found = run(tmp_path, "sweep", "--command", command, "--knob", "k=1,2", "--model", "m",
                "--no-floor")  # fmt: skip
    assert found.returncode == 2
    kept = "".join(p.read_text("utf-8") for p in tmp_path.rglob("*") if p.is_file())
    assert "planted" not in kept + found.stdout + found.stderr


BARE = ["sk-proj-abcDEF0123456789abcdef99", "hf_AbCdEfGhIjKlMnOpQrStUvWxYz012345",
        "nvapi-" + "x" * 60 + "1", "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "AKIAIOSFODNN7EXAMPLE"]  # fmt: skip


@pytest.mark.parametrize("key", BARE)
def test_a_key_without_a_name_is_known_by_how_it_begins(key: str) -> None:
    said = without_keys(f"using '{key}', retrying")
    assert key[8:] not in said
    assert said.startswith("using '")
    assert said.endswith("[redacted]', retrying")


@pytest.mark.parametrize("text", ["hf_transfer_enabled_for_all_files", "desk-1234567890123456789",
                                  "sk-0123", "mask-12345678901234567890"])  # fmt: skip
def test_other_words_stay(text: str) -> None:
    assert without_keys(text) == text
