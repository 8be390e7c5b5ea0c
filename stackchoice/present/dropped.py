"""Any file that people have, by its path: checkpoint, log, requests, benchmark, passport."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

from stackchoice.confirm import Passport
from stackchoice.errors import InputError, StackchoiceError
from stackchoice.facts import Facts
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import shown
from stackchoice.importers import import_results
from stackchoice.logs import read_log_by_name
from stackchoice.present.arms import arms_context
from stackchoice.present.checkpoint import describe_checkpoint
from stackchoice.present.logs import SAMPLE, log_table
from stackchoice.present.page import Section, section
from stackchoice.present.panel import Panel
from stackchoice.present.traffic import traffic_table
from stackchoice.present.widgets import text_field
from stackchoice.read import inspect_checkpoint
from stackchoice.read.bounded import MAX_CONFIG_BYTES, read_bytes
from stackchoice.traffic import measure_log

#: Endings of files that hold weights.
WEIGHTS = (".gguf", ".safetensors")


def dropped(path: Path, facts: Facts) -> Section:
    """Return what a file or folder says, whatever kind it is.

    Its kind is told by what it holds. A text that several readers could take is given to the one
    that asks for most: a benchmark's result, then a request log, then an engine's log.

    Raises
    ------
    InputError
        When no reader knows it.
    """
    if not os.path.exists(path):
        raise InputError(f"{shown(str(path))}: there is no such file; give the path of one")
    if path.is_dir() or path.suffix.lower() in WEIGHTS or _is_config(path):
        text = describe_checkpoint(inspect_checkpoint(path, facts))
        return section("text", title=path.name, text=text)
    for reader in READERS.values():
        with contextlib.suppress(StackchoiceError):
            return reader(path, facts)
    raise InputError(
        f"{shown(path.name)}: no checkpoint and no {', '.join(READERS)}; "
        "`stackchoice --help` lists the command for each, which says what it misses"
    )


def _is_config(path: Path) -> bool:
    """Whether a file is a model's config: an object that names its architecture or model type."""
    if path.suffix.lower() != ".json":
        return False
    try:
        tree = json.loads(read_bytes(path, MAX_CONFIG_BYTES))
    except (StackchoiceError, ValueError, RecursionError):
        return False
    return isinstance(tree, dict) and bool({"architectures", "model_type"} & set(tree))


def _passport(path: Path, facts: Facts) -> Section:
    return _arms([Passport.load(path)], facts)


def _benchmark(path: Path, facts: Facts) -> Section:
    return _arms(import_results(path), facts)


def _arms(arms: list[Passport], facts: Facts) -> Section:
    return section("arms", name="arms", heading="Measured", **arms_context(arms, facts))


def _requests(path: Path, facts: Facts) -> Section:
    return traffic_table(measure_log(path, facts))


def _engine_log(path: Path, facts: Facts) -> Section:
    checked = read_log_by_name(path, facts=facts)
    if not checked.reading.boots:
        raise InputError(f"{shown(path.name)}: no line of an engine's start; give its whole log")
    return log_table(checked)


#: Readers of one file, in the order in which they are asked.
READERS: dict[str, Callable[[Path, Facts], Section]] = {
    "passport": _passport, "benchmark": _benchmark, "request log": _requests,
    "engine log": _engine_log,
}  # fmt: skip


class DropPanel(Panel):
    """What any file on this computer says; its first value is a shipped sample of a log.

    Parameters
    ----------
    facts
        The fact base.
    path
        What to start with.
    """

    result: Section

    def __init__(self, facts: Facts, path: str = "") -> None:
        path = path or str(data_dir() / SAMPLE)
        super().__init__(facts, {"path": text_field("File or folder (path)", path)}, {"path": path})

    def _answer(self, values: dict[str, str]) -> Section:
        return dropped(Path(os.path.expanduser(values["path"].strip())), self.facts)

    def _table(self) -> Section:
        return self.result
