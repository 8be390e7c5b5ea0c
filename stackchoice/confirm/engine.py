"""The embedded engine: llama.cpp's server with a 135M model, from two pinned packages."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import tempfile
import time
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from stackchoice.confirm.setup import Pins, installed, model_file
from stackchoice.errors import EngineError
from stackchoice.load.child import spawn, stop
from stackchoice.load.endpoint import Endpoint


class EmbeddedEngine:
    """A real engine on this machine, in a process of its own, for as long as a ``with`` block.

    One thread and one slot by default: with more threads than free cores latencies explode, and
    one slot keeps the whole context for the one request.

    Parameters
    ----------
    context_tokens
        Length of the context that is allocated; the slots share it.
    threads
        Threads of the engine, for prefill and for decode.
    slots
        Requests that run at a time; more of them wait. Each gets its part of the context.
    cache_type
        How keys and values are stored, under llama.cpp's name (``f16``, ``q8_0``, ``q4_0`` ...).
    start_timeout_s
        How long loading may take.

    Examples
    --------
    >>> with EmbeddedEngine() as engine:  # doctest: +SKIP
    ...     passport = confirm(engine)
    """

    def __init__(
        self, *, context_tokens: int = 2048, threads: int = 1, slots: int = 1,
        cache_type: str = "f16", start_timeout_s: float = 60,
    ) -> None:  # fmt: skip
        self.context_tokens, self.threads = context_tokens, threads
        self.slots, self.cache_type = slots, cache_type
        self.start_timeout_s = start_timeout_s
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: dict[str, str] = {}
        self._log_tail = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @cached_property
    def model_path(self) -> Path:
        """The model file that is served."""
        return model_file()

    @property
    def is_running(self) -> bool:
        """Whether the engine's process is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id of the running engine."""
        return self._require_running().pid

    @property
    def endpoint(self) -> Endpoint:
        """Address and model name, to be used as any other endpoint."""
        self._require_running()
        return Endpoint(base_url=self._ready["address"], model=self.model_path.stem)

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises
        ------
        EngineError
            When it is not installed, ends, or is not ready in time; with the end of its log.
        """
        if self.is_running:
            return
        model = self.model_path
        self._folder = tempfile.TemporaryDirectory(
            prefix="stackchoice-engine-", ignore_cleanup_errors=True
        )
        folder = Path(self._folder.name)
        try:
            with (folder / "log.txt").open("wb") as log:
                self._process = spawn(
                    "stackchoice.confirm.serve",
                    *("--model", str(model), "--folder", str(folder)),
                    *("--context", str(self.context_tokens), "--threads", str(self.threads)),
                    *("--slots", str(self.slots), "--cache-type", self.cache_type),
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            self._ready = self._wait(folder / "ready.json")
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server; safe to call twice. The end of its log stays readable."""
        self._log_tail = self.log_tail()
        if self._process:
            stop(self._process)
        if self._folder:
            self._folder.cleanup()
        self._process = self._folder = None

    def log_tail(self, lines: int = 20) -> str:
        """Return the last lines of the server's log."""
        path = Path(self._folder.name) / "log.txt" if self._folder else None
        if path is None or not path.is_file():
            return self._log_tail
        return "\n".join(path.read_text("utf-8", "replace").splitlines()[-lines:])

    def peak_memory_bytes(self) -> int | None:
        """Peak resident memory of the engine's process, where the system tells it."""
        try:
            memory = psutil.Process(self.pid).memory_info()
            status = Path(f"/proc/{self.pid}/status")
            for line in status.read_text().splitlines() if status.is_file() else []:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        except (psutil.Error, OSError):
            return None
        return getattr(memory, "peak_wset", None)

    def identity(self) -> dict[str, Any]:
        """Return what the passport's identity part can know from here."""
        pins = Pins.read()
        return {
            "model": pins.model["name"],
            "artifact": self.model_path.name,
            "artifact_revision": f"sha256:{_sha256(self.model_path)}",
            "artifact_bytes": self.model_path.stat().st_size,
            "runtime": pins.runtime["name"],
            # The server itself may say "b0-unknown"; the package's version is what was installed.
            "runtime_build": installed(pins.runtime["package"]),
            "driver": f"none (CPU), {platform.system()} {platform.release()}",
            "weight_format": pins.model["weight_format"],
            "kv_format": self._ready.get("kv_format"),
            "recurrent_state_format": "none: the model has no recurrent state",
            "speculative_decoder": "none",
            "settings": {
                "threads": self.threads,
                "slots": self.slots,
                "context_tokens": self.context_tokens,
            },
        }

    def _require_running(self) -> subprocess.Popen[bytes]:
        if self._process is None or not self.is_running:
            raise EngineError("the embedded engine is not running; use it inside its with block")
        return self._process

    def _wait(self, ready: Path) -> dict[str, str]:
        assert self._process is not None
        deadline = time.monotonic() + self.start_timeout_s
        while not ready.exists():
            if self._process.poll() is not None:
                raise EngineError(
                    f"the embedded engine ended while starting (exit {self._process.returncode}); "
                    f"the end of its log:\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise EngineError(
                    f"the embedded engine was not ready after {self.start_timeout_s:g} s; raise "
                    f"start_timeout_s or free a core; the end of its log:\n{self.log_tail()}"
                )
            time.sleep(0.02)
        return dict(json.loads(ready.read_text()))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
