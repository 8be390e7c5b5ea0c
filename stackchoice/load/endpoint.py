"""An OpenAI-compatible endpoint: its address, its key from the environment, its errors."""

import ipaddress
import json
import os
import re
from time import perf_counter_ns
from typing import Any
from urllib.parse import SplitResult, urlsplit

import h11
from pydantic import field_validator

from stackchoice.errors import EndpointError
from stackchoice.facts.datum import Record
from stackchoice.load.loop import Loop
from stackchoice.load.wire import Address, Exchange, Limits, Problem

DEFAULT_KEY_ENV = "OPENAI_API_KEY"
#: A server that does not keep a connection closes it within this time of its answer's end.
WATCH_S = 0.1

_FIX = {
    Problem.DNS: "check the host name",
    Problem.REFUSED: "start the server, or check host and port",
    Problem.TLS: "use http:// for a server without TLS, or name the file of its certificate "
    "authority in SSL_CERT_FILE",
    Problem.CONNECT_TIMEOUT: "check host, port, firewall and http or https",
    Problem.NOT_HTTP: "give the address of the HTTP API (https:// where the server wants TLS)",
    Problem.DROPPED: "look at the server's log, or give https:// where it wants TLS",
    Problem.IDLE_TIMEOUT: "check that the address is an HTTP API, or raise the plan's idle_s",
    Problem.TOTAL_TIMEOUT: "raise the plan's timeout_s",
    Problem.CLIENT: "close other programs, or raise the limit on open files (ulimit -n)",
    Problem.TOO_LARGE: "give the address of the API; no model answer is that large",
}


class Endpoint(Record):
    """Where a model is served.

    Parameters
    ----------
    base_url
        ``http://host:port``, with or without a path, ``/v1`` or a trailing slash.
    model
        The model's name at that server.
    api_key_env
        Name of the environment variable that holds the key. When not given, ``OPENAI_API_KEY`` is
        used if set, but never over plain http to another machine.
    """

    base_url: str
    model: str
    api_key_env: str | None = None

    @field_validator("base_url")
    @classmethod
    def _usable(cls, value: str) -> str:
        _split(value)
        path = value.rstrip("/")
        return path.removesuffix("/chat/completions")

    @field_validator("model")
    @classmethod
    def _named(cls, value: str) -> str:
        if not value.strip() or not value.isprintable():
            raise EndpointError(f"model {value!r}: no name; give it as /v1/models lists it")
        return value

    @field_validator("api_key_env")
    @classmethod
    def _a_variable(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise EndpointError(  # not shown: it may be the key
                "api_key_env: that is no name of an environment variable; name one like "
                f"{DEFAULT_KEY_ENV}, and never write the key itself"
            )
        return value

    @property
    def address(self) -> Address:
        """Host, port and whether TLS is spoken."""
        url = _split(self.base_url)
        secure = url.scheme == "https"
        return Address(url.hostname or "", url.port or (443 if secure else 80), secure)

    @property
    def root(self) -> str:
        """Path above the API version, where servers keep ``/props`` and ``/version``."""
        return re.sub(r"/v\d[^/]*(/.*)?$", "", _split(self.base_url).path.rstrip("/"))

    @property
    def api(self) -> str:
        """Path of the API: as given when it names a version, else with ``/v1``."""
        path = _split(self.base_url).path.rstrip("/")
        return path if re.search(r"/v\d[^/]*(/|$)", path) else f"{path}/v1"

    @property
    def is_loopback(self) -> bool:
        """Whether the server is on this machine."""
        host = self.address.host
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def api_key(self) -> str | None:
        """Read the key from the environment; it is never kept in this object.

        EndpointError when the named variable is not set, or holds what no header can carry.
        """
        name = self.api_key_env or DEFAULT_KEY_ENV
        key = os.environ.get(name, "").strip()
        if not key and self.api_key_env:
            raise EndpointError(
                f"api_key_env {name!r}: this environment variable is not set; export {name}=..."
            )
        if not (key.isascii() and key.isprintable()):
            raise EndpointError(
                f"environment variable {name}: holds characters that no HTTP header can carry; "
                "set it to the plain key"
            )
        in_clear = not (self.address.secure or self.is_loopback)
        return None if not key or (in_clear and not self.api_key_env) else key

    def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, *, close: bool = True
    ) -> bytes:
        """Serialise one HTTP/1.1 request; ``close`` asks for the connection's end after it."""
        url = _split(self.base_url)
        data = json.dumps(body).encode() if body is not None else b""
        headers = [
            ("Host", url.netloc.encode("idna").decode()),
            ("User-Agent", "stackchoice"),
            ("Accept", "text/event-stream, application/json"),
            ("Accept-Encoding", "identity"),
            ("Connection", "close" if close else "keep-alive"),
        ]
        if body is not None:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
        if key := self.api_key():
            headers.append(("Authorization", f"Bearer {key}"))
        http = h11.Connection(h11.CLIENT)
        head = http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        return head + data

    def path_of(self, body: dict[str, Any]) -> str:
        """Path that takes this request: chat, or plain completions for one with a prompt."""
        return f"{self.api}/{'completions' if 'prompt' in body else 'chat/completions'}"

    def ask(self, body: dict[str, Any], limits: Limits) -> Exchange:
        """POST one completion on a connection of its own; failures are in the exchange."""
        return self._sent(self.request("POST", self.path_of(body), body), limits)[0]

    def ask_keeping(self, body: dict[str, Any], limits: Limits) -> tuple[Exchange, bool]:
        """Do the same and offer to keep the connection; tell whether the server really does."""
        request = self.request("POST", self.path_of(body), body, close=False)
        return self._sent(request, limits, WATCH_S)

    def get(self, path: str, limits: Limits) -> Exchange:
        """GET one path of the server."""
        return self._sent(self.request("GET", path), limits)[0]

    def post(self, path: str, limits: Limits) -> Exchange:
        """POST an empty object to one path of the server."""
        return self._sent(self.request("POST", path, {}), limits)[0]

    def _sent(self, request: bytes, limits: Limits, watch_s: float = 0) -> tuple[Exchange, bool]:
        measured, kept = _exchange(self.address, request, limits, watch_s)
        measured.redact(self.api_key() or "")
        return measured, kept

    def unreachable(self, failed: Exchange) -> EndpointError:
        """Word an exchange that never became an HTTP answer as an error for the user."""
        assert failed.problem is not None
        detail = f" ({failed.detail})" if failed.detail else ""
        return EndpointError(
            f"{self.base_url}: {failed.problem.value}{detail}; {_FIX[failed.problem]}"
        )


def _exchange(
    address: Address, request: bytes, limits: Limits, watch_s: float = 0
) -> tuple[Exchange, bool]:
    """Send one request on a new connection and read its response; failures are returned.

    Beside it stands whether the connection is still there ``watch_s`` later.
    """
    loop = Loop(address, limits, reuse=watch_s > 0)
    finished: list[Exchange] = []
    try:
        loop.send(request, finished.append)
        loop.run(lambda: bool(finished))
        until = finished[0].ended_ns + round(watch_s * 1e9)
        loop.run(lambda: not loop.kept or perf_counter_ns() >= until)
        return finished[0], loop.kept > 0
    finally:
        loop.close()


def _split(value: str) -> SplitResult:
    """Split an address, refusing what could not be requested or must not be kept."""
    # What may hold a password or a key is not repeated.
    told = "base_url" if re.search(r"[@?#]", value) else repr(value)

    def bad(reason: str) -> EndpointError:
        return EndpointError(f"{told}: {reason}; give an address like http://localhost:8000/v1")

    if not value.isprintable() or " " in value:
        raise bad("holds spaces or control characters")
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError as error:
        why = "" if told == "base_url" else f" ({error})"
        raise bad(f"not a usable address{why}") from None
    if "@" in url.netloc:
        raise bad("holds a password; name an environment variable in api_key_env")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise bad("does not start with http:// or https:// and a host")
    if port == 0 or url.query or url.fragment:
        raise bad("has port 0, a query or a fragment")
    try:
        url.hostname.encode("idna")
    except UnicodeError:
        raise bad("has no valid host name") from None
    if not url.path.isascii():
        raise bad("has a path outside ASCII")
    return url
