"""A raw server for tests that can misbehave, and the door to the real engine."""

import asyncio
import json
import os
import threading
from collections.abc import Callable
from typing import Any, Self

import pytest

from stackchoice.confirm.setup import model_file
from stackchoice.errors import EngineError

#: What a reply is made of: bytes to write, seconds to wait, None to cut the connection.
Piece = bytes | float | None
Body = dict[str, Any]
USAGE = {"prompt_tokens": 200, "prompt_tokens_details": {"cached_tokens": 0}}


def chunk(delta: Body | None = None, finish: str | None = None, **more: Any) -> bytes:
    """One server-sent event with one choice."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return event({"model": "odd", "choices": choices, **more})


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
STOP = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'


def http(
    body: bytes, *, status: int = 200, kind: str = "text/event-stream", extra: str = ""
) -> bytes:
    head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{extra}"
    return head.encode() + b"\r\n" + body


def refusal(status: int, message: str) -> list[Piece]:
    return [http(json.dumps({"error": {"message": message}}).encode(), status=status,
                 kind="application/json")]  # fmt: skip


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"  # until close


def words(count: int, text: str = "w ") -> list[bytes]:
    return [chunk({"content": text}) for _ in range(count)]


def answer_of(body: Body) -> str:
    """The right answer to the canaries; empty for anything else."""
    asked = body["messages"][-1]["content"]
    if asked.startswith("Words:"):
        return ""
    right = {
        "JSON": '{"capital": "Paris"}',
        "capital": "Paris.",
        "week": "seven",
        "banana": "Banana",
    }
    return next((text for part, text in right.items() if part in asked), "")


def well_behaved(body: Body, *, usage: Body | None = None) -> list[Piece]:
    """Answer a canary right, anything else with 16 tokens or more, some milliseconds apart."""
    answer = answer_of(body)
    tokens = [chunk({"content": answer})] if answer else words(min(20, body.get("max_tokens", 20)))
    paced = [piece for token in tokens for piece in (token, 0.002)]
    counts = {**USAGE, "completion_tokens": len(tokens), **(usage or {})}
    asked = "stream_options" in body
    end = [chunk({}, "stop"), *([chunk(None, usage=counts)] if asked else []), DONE]
    return [STREAM_HEAD, chunk({"role": "assistant", "content": None}), *paced, *end]


class OddServer:
    """Serves ``reply(body)`` to each chat request on a loopback port, in a thread of its own."""

    def __init__(self, reply: Callable[[Body], list[Piece]] = well_behaved) -> None:
        self.reply = reply
        self.asked: list[Body] = []
        self.heads: list[str] = []

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)))
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()
        self._thread.join()

    def die(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._handle, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await reader.readexactly(1)
            if first == b"\x16":  # a TLS greeting
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            if head.startswith("GET"):
                pieces = self._get(head.split()[1])
            else:
                length = next(
                    int(line.split(":")[1])
                    for line in head.splitlines()
                    if line.lower().startswith("content-length")
                )
                body = json.loads(await reader.readexactly(length))
                self.asked.append(body)
                pieces = self.reply(body)
            for piece in pieces:
                if piece is None:
                    writer.transport.abort()
                elif isinstance(piece, bytes):
                    writer.write(piece)
                    await writer.drain()
                else:
                    await asyncio.sleep(piece)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has what it wanted, or has given up
        finally:
            writer.close()

    def _get(self, path: str) -> list[Piece]:
        if path.endswith("/models"):
            return [
                http(b'{"data": [{"id": "odd", "max_model_len": 4096}]}', kind="application/json")
            ]
        return refusal(404, "not here")


def require_engine() -> None:
    """Skip where the embedded engine is not installed, except in CI, where that is a failure."""
    try:
        model_file()
    except EngineError as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(str(error))
