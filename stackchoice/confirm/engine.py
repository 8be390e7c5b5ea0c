"""Engines that are started here: a server in a process of its own, for as long as a ``with``."""

import hashlib
import json
import platform
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from functools import cache, cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self

from stackchoice.confirm.setup import Pins, installed, model_file
from stackchoice.errors import EngineError, InputError
from stackchoice.load.child import spawn, stop
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.redact import without_secrets


class Engine(ABC):
    """A server that is started and stopped here; subclasses say how."""

    name = "engine"

    def __init__(self, *, start_timeout_s: float = 60) -> None:
        self.start_timeout_s = start_timeout_s
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ""
        self._log = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

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
        return Endpoint(base_url=self._address, model=self.served_name)

    @property
    @abstractmethod
    def served_name(self) -> str:
        """Name of the model in requests."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what the passport's identity part can know from here."""

    def environment(self) -> dict[str, Any]:
        """Return items of identity that the environment it starts from tells; none by default."""
        return {}

    @abstractmethod
    def _spawn(self, folder: Path, log: BinaryIO) -> subprocess.Popen[bytes]:
        """Start the process; its output goes to the log."""

    @abstractmethod
    def _ready(self, folder: Path) -> str | None:
        """Return the address as soon as the server answers, else None."""

    def start(self) -> None:
        """Start the server and wait until it answers.

        EngineError when it is not installed, ends, or is not ready in time; with the end of its
        log.
        """
        if self.is_running:
            return
        self._folder = tempfile.TemporaryDirectory(
            prefix="stackchoice-engine-", ignore_cleanup_errors=True
        )
        folder = Path(self._folder.name)
        try:
            with (folder / "log.txt").open("wb") as log:
                self._process = self._spawn(folder, log)
            self._address = self._wait(folder)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop the server; safe to call twice. The end of its log stays readable."""
        self._log = self.log_tail(2000)
        if self._process:
            stop(self._process)
        if self._folder:
            self._folder.cleanup()
        self._process = self._folder = None

    def log_tail(self, lines: int = 20) -> str:
        """Return the last lines of the server's log."""
        path = Path(self._folder.name) / "log.txt" if self._folder else None
        text = self._log
        if path is not None and path.is_file():
            text = path.read_text("utf-8", "replace")
        return without_secrets("\n".join(text.splitlines()[-lines:]))

    def _require_running(self) -> subprocess.Popen[bytes]:
        if self._process is None or not self.is_running:
            raise EngineError(f"the {self.name} is not running; use it inside its with block")
        return self._process

    def _wait(self, folder: Path) -> str:
        assert self._process is not None
        deadline = time.monotonic() + self.start_timeout_s
        while (address := self._ready(folder)) is None:
            if self._process.poll() is not None:
                raise EngineError(
                    f"the {self.name} ended while starting (exit {self._process.returncode}); "
                    f"the end of its log:\n{self.log_tail()}"
                )
            if time.monotonic() > deadline:
                raise EngineError(
                    f"the {self.name} was not ready after {self.start_timeout_s:g} s; raise "
                    f"start_timeout_s or free a core; the end of its log:\n{self.log_tail()}"
                )
            time.sleep(0.02)
        return address


class EmbeddedEngine(Engine):
    """llama.cpp's server with a 135M model, from two pinned packages.

    One thread and one slot by default: with more threads than free cores latencies explode, and
    one slot keeps the whole context for the one request.

    Parameters
    ----------
    context_tokens
        Length of the context that is allocated; the server divides it among the slots.
    prefix_cache
        Whether a slot keeps its prompt for the next request.
    cache_type
        How keys and values are stored, under llama.cpp's name (``f16``, ``q8_0``, ``q4_0`` ...).
    model, weight_format
        Another GGUF file of the same model, and how its weights are stored.

    Raises
    ------
    InputError
        For a setting that no engine can have.

    Examples
    --------
    >>> with EmbeddedEngine() as engine:  # doctest: +SKIP
    ...     passport = confirm(engine)
    """

    name = "embedded engine"

    def __init__(
        self, *, context_tokens: int = 2048, threads: int = 1, slots: int = 1,
        prefix_cache: bool = True, cache_type: str = "f16", model: Path | None = None,
        weight_format: str | None = None, start_timeout_s: float = 60,
    ) -> None:  # fmt: skip
        super().__init__(start_timeout_s=start_timeout_s)
        counts = {"context_tokens": context_tokens, "threads": threads, "slots": slots}
        for setting, count in counts.items():
            if type(count) is not int or count < 1:
                raise InputError(f"{setting} {count!r}: no count; write a whole number from 1 up")
        if context_tokens < 2 * slots:
            raise InputError(
                f"context_tokens {context_tokens}: {slots} slots share it, and a prompt and its "
                f"answer need a token each; write at least {2 * slots}"
            )
        if prefix_cache not in (True, False):
            raise InputError(
                f"prefix_cache {prefix_cache!r}: neither on nor off; write one of them"
            )
        self.context_tokens, self.threads, self.slots = context_tokens, threads, slots
        self.cache_type = cache_type
        self.prefix_cache, self._model, self._weight_format = prefix_cache, model, weight_format
        self._facts: dict[str, str] = {}

    @cached_property
    def model_path(self) -> Path:
        """The model file that is served."""
        shipped = model_file()  # also says so when the engine is not installed
        return self._model or shipped

    @property
    def served_name(self) -> str:
        """Name of the model in requests: the file's."""
        return self.model_path.stem

    def _spawn(self, folder: Path, log: BinaryIO) -> subprocess.Popen[bytes]:
        return spawn(
            "stackchoice.confirm.serve",
            *("--model", str(self.model_path), "--folder", str(folder)),
            *("--context", str(self.context_tokens), "--threads", str(self.threads)),
            *("--slots", str(self.slots), "--prefix-cache", str(int(self.prefix_cache))),
            *("--cache-type", self.cache_type),
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def _ready(self, folder: Path) -> str | None:
        ready = folder / "ready.json"
        if not ready.exists():
            return None
        self._facts = dict(json.loads(ready.read_text("utf-8")))
        return self._facts["address"]

    def identity(self) -> dict[str, Any]:
        """Return what the passport's identity part can know from here."""
        pins = Pins.read()
        shipped = self._model is None
        return {
            "model": pins.model["name"],
            "model_revision": embedded_revision(),
            "artifact": self.model_path.name,
            "artifact_revision": f"sha256:{_sha256(self.model_path)}",
            "artifact_bytes": self.model_path.stat().st_size,
            "runtime": pins.runtime["name"],
            # The server itself may say "b0-unknown"; the package's version is what was installed.
            "runtime_build": installed(pins.runtime["package"]),
            "driver": f"none (CPU), {platform.system()} {platform.release()}",
            "weight_format": pins.model["weight_format"] if shipped else self._weight_format,
            "kv_format": self._facts.get("kv_format"),
            "recurrent_state_format": "none: the model has no recurrent state",
            "speculative_decoder": "none",
            "settings": {
                "threads": self.threads,
                "slots": self.slots,
                # What one request may use; the flag is for all slots together.
                "context_tokens": self.context_tokens // self.slots,
                "prefix_cache": self.prefix_cache,
            },
        }


def embedded_revision() -> str:
    """Return whose weights an arm has that holds or was made from the embedded model."""
    return f"the weights of sha256:{_sha256(model_file())}"


@cache
def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
