"""How each engine's server is started: its program, and the flag that carries each setting."""

from __future__ import annotations

from typing import Literal

from stackchoice.facts.datum import Record, Source

#: What a launch line can carry. ``repository`` and ``file`` are the parts of an artifact's id
#: that names one file of a repository; ``local_file`` is an id that names a file alone.
Setting = Literal[
    "artifact", "repository", "file", "local_file", "revision", "context_tokens",
    "context_of_all_sequences", "live_sequences", "devices", "device_list",
    "share_of_all", "static_share", "share_of_free", "layers_on_accelerator",
    "share_on_accelerator",
]  # fmt: skip


class LaunchFlag(Record):
    """The engine's own name of one setting: a flag, a variable, or empty for positional."""

    setting: Setting
    flag: str
    environment: bool = False


class LaunchForm(Record):
    """How one engine is started. ``before`` are commands of their own, to be given first."""

    engine: str
    program: list[str]
    before: list[list[str]] = []
    flags: list[LaunchFlag]
    note: str = ""
    source: Source
