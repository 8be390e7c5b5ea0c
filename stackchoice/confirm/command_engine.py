"""Any server that a command starts: engines of one's own, each in its own environment."""

import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from stackchoice.confirm.engine import Engine
from stackchoice.confirm.environment import environment_of, program_of
from stackchoice.errors import InputError
from stackchoice.load.child import spawn
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.reading import body_text
from stackchoice.load.wire import Limits

#: Waiting for a server that loads: each try is short, what loads late is asked again.
_TRY = Limits(connect_s=0.5, idle_s=2, total_s=3)
PORT = "{port}"


class CommandEngine(Engine):
    """A server that one command starts on a port of the loopback address.

    Parameters
    ----------
    command
        A line without a shell. ``{port}`` is a free port, ``{name}`` the value of a setting.
        The environment is this one's; a release in an environment of its own is named by its path.
    settings
        What fills the places of the command; they go into the passport as given.
    ready_path
        Path that answers with status 200 when the server is ready.
    folder
        Where it is started; here, when not given.

    Raises
    ------
    InputError
        When the command has no ``{port}``, or a quote that is not closed.
    """

    def __init__(
        self, command: str | Sequence[str], *, model: str,
        settings: Mapping[str, Any] | None = None, ready_path: str = "/v1/models",
        name: str = "server", known: Mapping[str, Any] | None = None,
        start_timeout_s: float = 600, folder: Path | None = None,
    ) -> None:  # fmt: skip
        super().__init__(start_timeout_s=start_timeout_s)
        try:
            self.command = words_of(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise InputError(f"command {command!r}: {error}; close the quotes") from None
        if not any(PORT in part for part in self.command):
            raise InputError(
                f"command {' '.join(self.command)!r}: has no {PORT}; write it where the port goes"
            )
        self.model, self.settings, self.ready_path = model, dict(settings or {}), ready_path
        self.name, self.known = name, dict(known or {})
        self._port, self.folder = 0, folder
        line = self.line(0)  # a place without a setting, or no program, is said now
        if program_of(line, folder) is None:
            raise InputError(
                f"command {line[0]!r}: no such program; name one on the path, or give its path"
            )

    @property
    def served_name(self) -> str:
        """Name of the model in requests."""
        return self.model

    def identity(self) -> dict[str, Any]:
        """Return what was given: the command's first word says which installation it is."""
        return {"model": self.model, "settings": self.settings, **self.known}

    def environment(self) -> dict[str, Any]:
        """Return what the interpreter of the command has installed."""
        return self._environment

    @cached_property
    def _environment(self) -> dict[str, Any]:
        return environment_of(self.line(0), self.folder)

    def line(self, port: int) -> list[str]:
        """Return the command with its places filled.

        InputError when a place has no setting.
        """
        try:
            return [part.format(port=port, **self.settings) for part in self.command]
        except (LookupError, ValueError, AttributeError, TypeError) as error:
            given = ", ".join(self.settings) or "none"
            raise InputError(
                f"command: no setting for {error}; settings are {given}; write {{{{ for a brace"
            ) from None

    def _spawn(self, folder: Path, log: BinaryIO) -> subprocess.Popen[bytes]:
        self._port = free_port()
        line = self.line(self._port)
        log.write(f"+ {shlex.join(line)}\n".encode())
        log.flush()
        return spawn("stackchoice.load.guard", *line, stdout=log, stderr=subprocess.STDOUT,
                     cwd=self.folder or os.getcwd())  # fmt: skip

    def _ready(self, folder: Path) -> str | None:
        address = f"http://127.0.0.1:{self._port}"
        answer = Endpoint(base_url=address, model=self.model).get(self.ready_path, _TRY)
        return address if not answer.problem and body_text(answer)[0] == 200 else None

    @property
    def pid(self) -> int:
        """Process id of the server, which the guard started."""
        guard = self._require_running().pid
        try:
            children = psutil.Process(guard).children()
        except psutil.Error:
            children = []
        return children[0].pid if children else guard


def words_of(command: str, *, windows: bool = sys.platform == "win32") -> list[str]:
    """Split a command line as this system's shell does; ValueError for a quote left open.

    On Windows a backslash is a part of a path, and double quotes alone quote.
    """
    reader = shlex.shlex(command, posix=True)
    reader.whitespace_split, reader.commenters = True, ""
    if windows:
        reader.escape, reader.quotes = "", '"'
    return list(reader)


def free_port() -> int:
    """Return a port of the loopback address that is free just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
