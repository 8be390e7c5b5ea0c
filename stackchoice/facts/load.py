"""Read ``data/`` once into typed records and name what was read by its sha256."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from stackchoice.errors import FactsError
from stackchoice.facts.allocation import MemoryFacts
from stackchoice.facts.config_defaults import (
    ConfigDefaults,
    ConfigKeys,
    class_defaults,
    config_keys,
)
from stackchoice.facts.datum import Record
from stackchoice.facts.encodings import Encoding
from stackchoice.facts.files import checked, keyed, read_tree, rows_of
from stackchoice.facts.frame import datum_rows, frame
from stackchoice.facts.kernels import KernelFacts
from stackchoice.facts.links import Link
from stackchoice.facts.measurements import (
    MeasuredDevice,
    Measurement,
    ServingRow,
    SpeedClasses,
    Table,
)
from stackchoice.facts.own import OVERLAY_VARIABLE, check_own, checked_folder, own_table, stamps
from stackchoice.facts.place import data_dir, no_collector
from stackchoice.facts.prices import HourPrice, Seller, ServerPrice
from stackchoice.facts.quant_formats import QuantFormats
from stackchoice.facts.records import (
    Assumption,
    Efficiency,
    Engine,
    LaunchForm,
    Machine,
    Model,
    Upkeep,
)
from stackchoice.facts.rules import Measure, Rule
from stackchoice.facts.shares import ShareModel, SpeedScore
from stackchoice.facts.traffic import LogColumns, WorkloadPreset
from stackchoice.facts.yaml import YamlError

if TYPE_CHECKING:
    from pandas import DataFrame

#: Which file or folder of ``data/`` holds which record, and the key of its list.
LISTS: dict[str, tuple[str, type[Record]]] = {
    "machines.yaml": ("machines", Machine),
    "encodings.yaml": ("encodings", Encoding),
    "rules.yaml": ("rules", Rule),
    "assumptions.yaml": ("assumptions", Assumption),
    "thresholds.yaml": ("assumptions", Assumption),
    "efficiency.yaml": ("efficiencies", Efficiency),
    "shares.yaml": ("share_models", ShareModel),
    "launch.yaml": ("launches", LaunchForm),
    "config_defaults.yaml": ("config_defaults", ConfigDefaults),
    "upkeep.yaml": ("upkeep", Upkeep),
    "prices/gpu_hours.yaml": ("hours", HourPrice),
    "prices/servers.yaml": ("servers", ServerPrice),
    "prices/sellers.yaml": ("sellers", Seller),
    "measured_devices.yaml": ("measured_devices", MeasuredDevice),
    "workloads.yaml": ("workloads", WorkloadPreset),
    "measures.yaml": ("measures", Measure),
    "links.yaml": ("links", Link),
    "speed_ledger.yaml": ("speed_scores", SpeedScore),
}
#: Long tables that are no YAML, and the key of their rows.
TABLES = {"measurements.csv": "measurements", "cases.jsonl": "cases", "serving.csv.gz": "serving"}
FOLDERS: dict[str, type[Record]] = {"models": Model, "engines": Engine}
#: Lists whose records have an id that is theirs alone.
KEYED = ("models", "machines", "engines", "sellers", "assumptions", "measured_devices",
         "encodings", "links", "workloads", "config_defaults")  # fmt: skip
#: Files that are one record, under their key or alone.
SINGLE: dict[str, tuple[str, type[Record]]] = {
    "speed_classes.yaml": ("speed_classes", SpeedClasses),
    "log_columns.yaml": ("log_columns", LogColumns),
    "quant_formats.yaml": ("quant_formats", QuantFormats),
    "config_keys.yaml": ("config_keys", ConfigKeys),
}
#: Files whose lists together make the facts about memory.
MEMORY = ("formats.yaml", "workspace.yaml", "allocators.yaml")
#: A folder whose files together make the facts about kernels; a file's ``engine`` is its rows'.
KERNELS = "kernels"


class Facts(Record):
    """The whole fact base. ``sha256`` is over every file that went into it.

    Examples
    --------
    >>> from stackchoice import load_facts
    >>> memory = load_facts().machines["h100_sxm"].memory_gb
    >>> memory.value, memory.evidence.value, memory.source.title
    (80.0, 'stated', 'huggingface.js, hardware-nvidia.ts')
    """

    models: dict[str, Model]
    machines: dict[str, Machine]
    engines: dict[str, Engine]
    sellers: dict[str, Seller]
    hours: list[HourPrice]
    servers: list[ServerPrice]
    launches: list[LaunchForm] = []
    upkeep: list[Upkeep] = []
    rules: list[Rule]
    assumptions: dict[str, Assumption]
    efficiencies: list[Efficiency]
    memory: MemoryFacts
    workloads: dict[str, WorkloadPreset]
    measures: list[Measure] = []
    log_columns: LogColumns = Field(exclude=True, repr=False)
    kernels: KernelFacts
    encodings: dict[str, Encoding] = {}
    quant_formats: QuantFormats = Field(exclude=True, repr=False)
    share_models: list[ShareModel] = Field(default=[], exclude=True, repr=False)
    speed_scores: list[SpeedScore] = Field(default=[], exclude=True, repr=False)
    measured_devices: dict[str, MeasuredDevice] = {}
    links: dict[str, Link] = {}
    config_defaults: dict[str, ConfigDefaults] = Field(default={}, exclude=True, repr=False)
    config_keys: ConfigKeys = Field(exclude=True, repr=False)
    speed_classes: SpeedClasses = SpeedClasses()
    tables: dict[str, list[Table]] = Field(default={}, exclude=True, repr=False)
    overlay: list[str] = []
    sha256: str

    @property
    def measurements(self) -> list[Measurement]:
        """Single-stream speeds that others measured, one's own among them."""
        return self._table("measurements")

    @property
    def serving(self) -> list[ServingRow]:
        """Engines under load, as others measured them."""
        return self._table("serving")

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The public ledger: questions with their answers."""
        return self._table("cases")

    def _table(self, key: str) -> list[Any]:
        return [row for table in self.tables.get(key, ()) for row in table.rows]

    def assumed(self, assumption_id: str) -> float:
        """Return the middle value of a named assumption; FactsError where it has none."""
        value = self.assumptions[assumption_id].datum.value
        if value is None:
            raise FactsError(f"assumption {assumption_id!r} has no value in data/assumptions.yaml")
        return value

    def assuming(self, values: dict[str, float]) -> Facts:
        """Return the facts with some assumptions at other values."""
        moved = {
            key: self.assumptions[key].model_copy(
                update={"datum": self.assumptions[key].datum.model_copy(update={"value": value})}
            )
            for key, value in values.items()
        }
        return self.model_copy(update={"assumptions": {**self.assumptions, **moved}})

    def to_frame(self) -> DataFrame:
        """One row per datum: where it stands, value, evidence class, source and date."""
        return frame(datum_rows(self.model_dump(mode="json")))


def load_facts(folder: Path | str | None = None, overlay: Path | str | None = None) -> Facts:
    """Load and check the fact base.

    Parameters
    ----------
    folder
        A ``data/`` folder; the package's own when not given.
    overlay
        A folder of one's own facts in the same layout (:data:`~stackchoice.facts.own.OVERLAID`,
        ``models/``, ``engines/``): a record with a known id replaces it, everything else is added.
        The folder named in ``STACKCHOICE_FACTS`` when not given.

    Raises
    ------
    FactsError
        With file, line, value, reason and fix when a datum is malformed or unsourced.

    Examples
    --------
    >>> from stackchoice import load_facts
    >>> facts = load_facts()
    >>> "vllm" in facts.engines, len(facts.sha256)
    (True, 64)
    """
    own = overlay or os.environ.get(OVERLAY_VARIABLE)
    try:
        with no_collector():
            overlaid = checked_folder(Path(own), FOLDERS) if own else None
            seen = stamps(overlaid) if overlaid else ()
            return _load(Path(folder) if folder else data_dir(), overlaid, seen)
    except YamlError as error:
        raise FactsError(str(error)) from None


@cache
def _load(folder: Path, overlay: Path | None, seen: tuple[Any, ...]) -> Facts:
    if not folder.is_dir():
        raise FactsError(f"{folder}: no such folder of facts; reinstall the package or name data/")
    digest = hashlib.sha256()
    class_defaults()  # read with the facts, so that nothing after them reads a file
    config_keys()
    read: dict[str, Any] = _tree(folder, digest, whole=True)
    lists: dict[str, Any] = {}
    for name in MEMORY:
        lists |= read_tree(folder / name, folder, digest)
    read["memory"] = checked(MemoryFacts, lists, folder / MEMORY[-1])
    for name, (key, record) in SINGLE.items():
        tree = read_tree(folder / name, folder, digest)
        read[key] = checked(record, tree.get(key, tree), folder / name)
    read["kernels"] = _kernels(folder, digest)
    own: dict[str, Any] = _tree(overlay, digest) if overlay else {}
    if overlay:
        check_own(own, read, overlay)
    for key in KEYED:
        read[key] = keyed(read[key], key) | keyed(own.get(key, []), key)
    for key in set(own) - set(KEYED):
        read[key] += own[key]
    names = [f"{key}: {row.id if key in KEYED else 'added'}" for key in own for row in own[key]]
    read["tables"] = {key: read.pop(key) for key in TABLES.values()}
    return Facts(**read, overlay=list(dict.fromkeys(names)), sha256=digest.hexdigest())


def _tree(folder: Path, digest: Any, whole: bool = False) -> dict[str, list[Any]]:
    """Read the lists, folders and tables of a folder of facts; all must be there if ``whole``."""
    read: dict[str, list[Any]] = {}
    for name, (key, record) in LISTS.items():
        read.setdefault(key, [])
        if whole or (folder / name).exists():
            rows = rows_of(read_tree(folder / name, folder, digest), key, folder / name)
            read[key] += [checked(record, row, folder / name) for row in rows]
    for name, record in FOLDERS.items():
        read[name] = [
            checked(record, read_tree(path, folder, digest), path)
            for path in sorted((folder / name).glob("*.yaml"))
        ]
    for name, key in TABLES.items():
        read[key] = []
        path = folder / name
        if whole or path.exists():
            raw = path.read_bytes() if whole else own_table(path)
            table = Table(path=path, raw=raw)
            digest.update(name.encode() + b"\0" + table.raw + b"\0")
            read[key] = [table]
            if not whole:
                table.rows  # noqa: B018 one's own are checked at once
    return read


def _kernels(folder: Path, digest: Any) -> KernelFacts:
    lists: dict[str, list[Any]] = {}
    for path in sorted((folder / KERNELS).glob("*.yaml")):
        tree = read_tree(path, folder, digest)
        engine = tree.pop("engine", None)
        for key, rows in tree.items():
            named = [{"engine": engine, **row} if engine else row for row in rows]
            lists.setdefault(key, []).extend(named)
    return checked(KernelFacts, lists, folder / KERNELS)
