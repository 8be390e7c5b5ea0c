"""Addresses, keys and one real exchange: what goes wrong is said once and clearly."""

import socket

import pytest
from odd_server import DONE, STOP, STREAM_HEAD, OddServer, Piece, http, words

from stackchoice.confirm import Endpoint
from stackchoice.confirm.serverinfo import ask_server
from stackchoice.errors import EndpointError
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Failure
from stackchoice.load.wire import Limits

QUICK = Limits(connect_s=5, idle_s=5, total_s=10)
CHAT = {"messages": [{"role": "user", "content": "hello"}]}


def endpoint(url: str, **more: str) -> Endpoint:
    return Endpoint(base_url=url, model="odd", **more)


@pytest.mark.parametrize(
    ("url", "api", "root", "port"),
    [
        ("http://h:8000", "/v1", "", 8000),
        ("http://h:8000/", "/v1", "", 8000),
        ("http://h/v1", "/v1", "", 80),
        ("https://h/v1/", "/v1", "", 443),
        ("https://h/openai", "/openai/v1", "/openai", 443),
        ("https://h/openai/v1/", "/openai/v1", "/openai", 443),
        ("https://h/v1/chat/completions", "/v1", "", 443),
        ("https://h/v1beta/openai", "/v1beta/openai", "", 443),
        ("http://[::1]:9/v1", "/v1", "", 9),
    ],
)
def test_the_usual_ways_to_write_an_address(url: str, api: str, root: str, port: int) -> None:
    e = endpoint(url)
    assert (e.api, e.root, e.address.port) == (api, root, port)
    assert e.address.host in ("h", "::1")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("localhost:8000", "does not start with http"),
        ("", "does not start with http"),
        ("ftp://h", "does not start with http"),
        ("http://", "does not start with http"),
        ("http://h:99999", "not a usable address"),
        ("http://h:x", "not a usable address"),
        ("http://[::1", "not a usable address"),
        ("http://h:0", "port 0"),
        ("http://h\r\nX: y", "control characters"),
        ("http://a..b", "no valid host name"),
    ],
)
def test_a_bad_address_says_value_reason_and_fix(url: str, reason: str) -> None:
    with pytest.raises(EndpointError) as error:
        endpoint(url)
    assert repr(url) in str(error.value)
    assert reason in str(error.value)
    assert "http://localhost:8000/v1" in str(error.value)


@pytest.mark.parametrize("name", ["", " ", "a\x1b[2J"])
def test_a_model_needs_a_name(name: str) -> None:
    with pytest.raises(EndpointError, match="give it as /v1/models lists it"):
        Endpoint(base_url="http://h", model=name)


def test_a_password_in_the_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(EndpointError, match="api_key_env") as error:
        endpoint("http://me:hunter2@h/v1")
    assert "hunter2" not in str(error.value)


def test_the_key_comes_from_the_environment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("MY_KEY", " sk-mine\n")
    e = endpoint("https://h", api_key_env="MY_KEY")
    assert e.api_key() == "sk-mine"
    assert "sk-mine" not in repr(e) + e.model_dump_json()
    assert b"Authorization: Bearer sk-mine\r\n" in e.request("GET", "/v1/models")
    assert endpoint("https://h").api_key() is None


def test_the_default_key_is_not_sent_in_clear_to_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-default")
    assert endpoint("https://h").api_key() == "sk-default"
    assert endpoint("http://127.0.0.1:1").api_key() == "sk-default"
    assert endpoint("http://h").api_key() is None
    assert endpoint("http://h", api_key_env="OPENAI_API_KEY").api_key() == "sk-default"


def test_a_key_that_is_not_there_or_not_sendable_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    with pytest.raises(EndpointError, match=r"NO_KEY.*not set; export NO_KEY"):
        endpoint("https://h", api_key_env="NO_KEY").api_key()
    monkeypatch.setenv("ODD_KEY", "sk-a\nX-Evil: 1")
    with pytest.raises(EndpointError, match="ODD_KEY") as error:
        endpoint("https://h", api_key_env="ODD_KEY").api_key()
    assert "sk-a" not in str(error.value)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def asked(url: str) -> None:
    ask_server(endpoint(url), QUICK)


def test_nobody_listening_is_one_error() -> None:
    with pytest.raises(EndpointError, match=r"no connection .*; start the server"):
        asked(f"http://127.0.0.1:{free_port()}")


def test_an_unknown_host_is_one_error() -> None:
    with pytest.raises(EndpointError, match=r"name not found .*; check the host name"):
        asked("http://nowhere.invalid")


def test_tls_to_a_plain_server_is_one_error() -> None:
    with OddServer() as server, pytest.raises(EndpointError, match=r"TLS failed .*; use http://"):
        asked(server.url.replace("http:", "https:"))


class Rude(OddServer):
    def _get(self, path: str) -> list[Piece]:
        return self.reply({"path": path})


@pytest.mark.parametrize(
    ("sent", "said"),
    [(b"220 mail.example ESMTP\r\n", "not an HTTP server"), (None, "connection dropped")],
)
def test_a_server_of_another_protocol_or_none_is_one_error(sent: Piece, said: str) -> None:
    with Rude(lambda _: [sent]) as server, pytest.raises(EndpointError, match=said):
        asked(server.url)


def test_a_refused_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-wrong")
    page = http(b'{"error": {"message": "bad key"}}', status=401, kind="application/json")
    with Rude(lambda _: [page]) as server:
        e = endpoint(server.url, api_key_env="MY_KEY")
        with pytest.raises(EndpointError, match=r"bad key.*the key in MY_KEY was sent") as error:
            ask_server(e, QUICK)
    assert "sk-wrong" not in str(error.value)


def test_a_server_may_say_nothing_of_itself() -> None:
    with Rude(lambda _: [http(b"[1, 2]", kind="application/json")]) as server:
        info = ask_server(endpoint(server.url), QUICK)
    assert info.model_ids == ()
    assert info.context_tokens is None


def chat(pieces: list[Piece], limits: Limits = QUICK) -> tuple[Failure | None, str]:
    with OddServer(lambda _: pieces) as server:
        sample = read_sample(endpoint(server.url).ask(CHAT, limits))
    return sample.failure, sample.failure_detail


def test_silence_ends_at_the_idle_limit() -> None:
    limits = Limits(idle_s=0.2, total_s=30)
    failure, detail = chat([STREAM_HEAD, *words(2), 20.0], limits)
    assert (failure, detail) == (Failure.TIMEOUT, "silent for too long (0.2 s)")


def test_a_drip_ends_at_the_total_limit() -> None:
    drip: list[Piece] = [piece for _ in range(400) for piece in (b":\n", 0.05)]
    failure, detail = chat([STREAM_HEAD, *drip], Limits(idle_s=10, total_s=0.4))
    assert (failure, detail) == (Failure.TIMEOUT, "not finished in time (0.4 s)")


def test_a_giant_answer_ends_at_the_byte_limit() -> None:
    failure, detail = chat([STREAM_HEAD, *words(5000)], Limits(max_bytes=50_000))
    assert failure is Failure.OVERSIZED
    assert "more than 50000 bytes" in detail


def test_a_dropped_connection_is_a_transport_failure() -> None:
    head = STREAM_HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert chat([head, b"5\r\ndata:\r\n", 0.05, None])[0] is Failure.TRANSPORT


def test_a_byte_at_a_time_is_read_as_the_whole() -> None:
    whole = STREAM_HEAD + b"".join([*words(3), STOP, DONE])
    assert chat([piece for b in whole for piece in (bytes([b]), 0.0)]) == (None, "")


def test_each_read_is_stamped_in_order_after_sending() -> None:
    with OddServer() as server:
        measured = endpoint(server.url).ask(CHAT, QUICK)
    stamps = [at for at, _ in measured.reads]
    assert stamps == sorted(stamps)
    assert stamps[0] > measured.sent_ns > 0
    assert len(stamps) > 10
