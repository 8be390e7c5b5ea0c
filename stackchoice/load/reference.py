"""The reference server: an endpoint whose every send is timed by its own clock.

It speaks enough of the OpenAI protocol to be measured, goes wrong on request, and tells afterwards
what it really did: ``GET /truth`` gives for each request when it arrived and when each event was
written. One thread, one poll loop, prepared bytes, so that one core sends tens of thousands of
events a second.

    stackchoice reference-server --ttft 0.05 --itl 0.005 --tokens 64

A request may carry ``"reference": {...}`` with fields of :class:`Script` that hold for it alone.
"""

import contextlib
import gc
import heapq
import itertools
import json
import selectors
import socket
import struct
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter_ns
from typing import Any

from stackchoice.errors import EngineError
from stackchoice.load.arrived import STAMP, arrival, unchunked
from stackchoice.load.child import exit_with_parent
from stackchoice.load.script import (
    PROMPT_TOKENS,
    Fault,
    Script,
    Step,
    answer,
    plain,
    refusal,
    whole_answer,
)
from stackchoice.load.ticking import wait_for

#: Length of a body whose end is not known yet.
_CHUNKED = 2**62
_NO_LINGER = struct.pack("ii", 1, 0)


@dataclass(slots=True, eq=False)
class _Peer:
    """One connection: what it sent, and the answer that is on its way."""

    sock: socket.socket
    seen: bytearray = field(default_factory=bytearray)
    body: int = 0
    need: int = 0
    closes: bool = False
    steps: list[Step] = field(default_factory=list)
    next: int = 0
    pending: bytes = b""
    asked_ns: int = 0
    fault: Fault | None = None
    log: dict[str, Any] = field(default_factory=dict)


class ReferenceServer:
    """Serves one :class:`Script` on a loopback port until :meth:`run` is left.

    Attributes
    ----------
    truth
        One entry for each request: ``id`` (the request's ``user``), ``received_ns`` (its last byte,
        by the kernel's stamp where there is one), ``sent`` (pairs of time and tokens, taken just
        before each write that completes tokens), ``fault``. Times are ``perf_counter_ns``.
    """

    def __init__(self, script: Script, port: int = 0, host: str = "127.0.0.1") -> None:
        self.script = script
        self.truth: list[dict[str, Any]] = []
        self.in_flight = self.peak_in_flight = 0
        self._listener = socket.create_server((host, port), backlog=4096)
        self._listener.setblocking(False)
        self.port = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._due: list[tuple[int, int, _Peer]] = []
        self._sequence = itertools.count()
        self._layout = lru_cache(256)(answer)
        self._asked = 0

    def run(self) -> None:
        """Serve for ever."""
        due = self._due
        while True:
            wait = (due[0][0] - perf_counter_ns()) / 1e9 if due else 1.0
            for key, mask in wait_for(self._selector, wait):
                if key.data is None:
                    self._accept()
                elif mask & selectors.EVENT_READ:
                    self._read(key.data)
                elif mask & selectors.EVENT_WRITE:
                    self._flush(key.data)
            now = perf_counter_ns()
            while due and due[0][0] <= now:
                peer = heapq.heappop(due)[2]
                if peer.sock.fileno() >= 0:
                    self._write_due(peer)

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                sock, _ = self._listener.accept()
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if STAMP is not None:
                    sock.setsockopt(socket.SOL_SOCKET, STAMP, 1)
                self._selector.register(sock, selectors.EVENT_READ, _Peer(sock))

    def _read(self, peer: _Peer) -> None:
        try:
            if sys.platform == "win32" or STAMP is None:
                data, kernel = peer.sock.recv(2**18), None
            else:
                data, kernel, _, _ = peer.sock.recvmsg(2**18, 64)
        except BlockingIOError:
            return
        except OSError:
            data, kernel = b"", None
        if not data:
            self._close(peer)
            return
        peer.seen += data
        if not peer.need:
            blank = peer.seen.find(b"\r\n\r\n") + 4
            if blank < 4:
                return
            peer.body = peer.need = blank
            for line in peer.seen[:blank].lower().split(b"\r\n"):
                if line.startswith(b"content-length:"):
                    peer.need += int(line[15:])
                elif line.startswith(b"transfer-encoding:"):
                    peer.need = _CHUNKED
                elif line.startswith(b"expect:") and len(peer.seen) == blank:
                    peer.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        if peer.need == _CHUNKED and peer.seen.endswith(b"\r\n0\r\n\r\n"):
            peer.seen[peer.body :] = unchunked(peer.seen[peer.body :])
            peer.need = len(peer.seen)
        if len(peer.seen) >= peer.need:
            peer.asked_ns = arrival(kernel)
            head, body = bytes(peer.seen[: peer.body]), bytes(peer.seen[peer.body : peer.need])
            del peer.seen[: peer.need]
            peer.need = 0
            try:
                self._asked_for(peer, head, body)
            except (ValueError, AttributeError, TypeError) as error:  # no request of this protocol
                peer.steps, peer.fault, peer.log, peer.next = [refusal(error)], None, {}, 0
                self._later(peer)

    def _asked_for(self, peer: _Peer, head: bytes, body: bytes) -> None:
        method, path, _ = head.split(b" ", 2)
        if method == b"GET":
            peer.steps, peer.fault = [Step(after_ns=0, data=self._told(path.decode()))], None
            peer.log = {}
        else:
            self._asked += 1
            request = json.loads(body)
            script = self.script
            if own := request.get("reference"):
                script = Script.model_validate({**script.model_dump(), **own})
            peer.fault = script.fault if self._asked % script.fault_every == 0 else None
            if self._asked <= len(script.faults):
                peer.fault = script.faults[self._asked - 1]
            peer.closes = script.framing == "close"
            chat = path.endswith(b"/chat/completions")
            asked = request.get("max_tokens") or request.get("max_completion_tokens") or 10**6
            streamed = request.get("stream", False)
            steps = self._layout(script, peer.fault, asked, chat=chat)
            prompt = body.count(b" ") + 1
            if streamed:
                last = steps[-1].data.replace(PROMPT_TOKENS % 0, PROMPT_TOKENS % prompt)
                peer.steps = [*steps[:-1], steps[-1]._replace(data=last)]
            else:
                peer.steps = [whole_answer(script, steps, asked, prompt)]
            peer.log = {"id": request.get("user"), "received_ns": peer.asked_ns, "sent": [],
                        "fault": peer.fault}  # fmt: skip
            self.truth.append(peer.log)
            self.in_flight += 1
            self.peak_in_flight = max(self.peak_in_flight, self.in_flight)
        peer.next = 0
        if peer.fault is Fault.HANG_FIRST:
            return
        if peer.fault in (Fault.RESET_FIRST, Fault.REFUSED):
            if peer.fault is Fault.REFUSED:
                self._selector.unregister(self._listener)
                self._listener.close()
            self._close(peer, reset=True)
            return
        self._later(peer)

    def _later(self, peer: _Peer) -> None:
        when = peer.asked_ns + peer.steps[peer.next].after_ns
        heapq.heappush(self._due, (when, next(self._sequence), peer))

    def _write_due(self, peer: _Peer) -> None:
        """Write every step that is due, one system call each."""
        now = perf_counter_ns()
        steps, sent = peer.steps, peer.log.get("sent")
        while peer.next < len(steps) and peer.asked_ns + steps[peer.next].after_ns <= now:
            if peer.pending:  # the reader does not keep up; goes on once this is written
                return
            step = steps[peer.next]
            peer.next += 1
            now = perf_counter_ns()
            if step.tokens and sent is not None:
                sent.append((now, step.tokens))
            try:
                done = peer.sock.send(step.data)
            except BlockingIOError:
                done = 0
            except OSError:
                self._over(peer)
                self._close(peer)
                return
            if done < len(step.data):
                peer.pending = step.data[done:]
                both = selectors.EVENT_READ | selectors.EVENT_WRITE
                self._selector.modify(peer.sock, both, peer)
        if peer.pending:
            return
        if peer.next < len(steps):
            self._later(peer)
        else:
            self._ended(peer)

    def _flush(self, peer: _Peer) -> None:
        try:
            peer.pending = peer.pending[peer.sock.send(peer.pending) :]
        except BlockingIOError:
            return
        except OSError:
            self._over(peer)
            self._close(peer)
            return
        if not peer.pending:
            self._selector.modify(peer.sock, selectors.EVENT_READ, peer)
            if peer.next < len(peer.steps):
                self._later(peer)
            else:
                self._ended(peer)

    def _ended(self, peer: _Peer) -> None:
        if peer.fault is Fault.HANG_MID:
            return
        self._over(peer)
        if peer.fault in (Fault.RESET_MID, Fault.CLOSE_MID):
            self._close(peer, reset=peer.fault is Fault.RESET_MID)
        elif peer.closes:
            self._close(peer)

    def _over(self, peer: _Peer) -> None:
        if peer.log:
            self.in_flight -= 1
            peer.log = {}

    def _close(self, peer: _Peer, *, reset: bool = False) -> None:
        self._over(peer)
        with contextlib.suppress(KeyError, ValueError, OSError):
            self._selector.unregister(peer.sock)
            if reset:
                peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        peer.sock.close()

    def _told(self, path: str) -> bytes:
        if path.endswith("/models"):
            return plain(200, {"object": "list", "data": [{"id": self.script.model}]})
        if path == "/health":
            return plain(200, {})
        if path == "/truth":
            told, self.truth = self.truth, []
            return plain(200, {"requests": told, "peak_in_flight": self.peak_in_flight})
        if path == "/script":
            return plain(200, self.script.model_dump(mode="json"))
        return plain(404, {"error": {"message": "not here"}})


def serve(script: Script, port: int = 0) -> None:
    """Print the address, then serve until interrupted; EngineError where the port cannot be had."""
    try:
        server = ReferenceServer(script, port)
    except OSError as error:
        raise EngineError(f"port {port}: {error.strerror}; give another, or 0") from None
    print(f"http://127.0.0.1:{server.port}/v1", flush=True)
    gc.freeze()
    gc.disable()  # nothing here makes cycles, and a collection would be a pause in the truth
    with contextlib.suppress(KeyboardInterrupt):
        server.run()


if __name__ == "__main__":  # as a child, with its script as the one argument
    exit_with_parent()
    serve(Script.model_validate_json(sys.argv[1]))
