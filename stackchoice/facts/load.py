"""Read ``data/`` once into typed records and name what was read by its sha256."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from stackchoice.errors import FactsError
from stackchoice.facts.allocation import MemoryFacts
from stackchoice.facts.datum import Record
from stackchoice.facts.frame import frame
from stackchoice.facts.measurements import (
    MeasuredDevice,
    Measurement,
    ServingRow,
    SpeedClasses,
    read_cases,
    read_measurements,
    read_serving,
)
from stackchoice.facts.records import (
    Assumption,
    Efficiency,
    Engine,
    HourPrice,
    Machine,
    Model,
    Seller,
    ServerPrice,
    ShareModel,
)
from stackchoice.facts.rules import Measure, Rule
from stackchoice.facts.traffic import LogColumns, WorkloadPreset
from stackchoice.facts.yaml import read_facts

if TYPE_CHECKING:
    from pandas import DataFrame

#: Which file or folder of ``data/`` holds which record, and the key of its list.
LISTS = {
    "machines.yaml": ("machines", Machine),
    "rules.yaml": ("rules", Rule),
    "assumptions.yaml": ("assumptions", Assumption),
    "thresholds.yaml": ("assumptions", Assumption),
    "efficiency.yaml": ("efficiencies", Efficiency),
    "shares.yaml": ("share_models", ShareModel),
    "prices/gpu_hours.yaml": ("hours", HourPrice),
    "prices/servers.yaml": ("servers", ServerPrice),
    "prices/sellers.yaml": ("sellers", Seller),
    "measured_devices.yaml": ("measured_devices", MeasuredDevice),
    "workloads.yaml": ("workloads", WorkloadPreset),
    "measures.yaml": ("measures", Measure),
}
#: Long tables that are no YAML, and what reads them.
TABLES = {
    "measurements.csv": ("measurements", read_measurements),
    "cases.jsonl": ("cases", read_cases),
    "serving.csv.gz": ("serving", read_serving),
}
FOLDERS = {"models": Model, "engines": Engine}
#: Files whose lists together make the facts about memory.
MEMORY = ("formats.yaml", "allocators.yaml")


class Facts(Record):
    """The whole fact base. ``sha256`` is over every file that went into it."""

    models: dict[str, Model]
    machines: dict[str, Machine]
    engines: dict[str, Engine]
    sellers: dict[str, Seller]
    hours: list[HourPrice]
    servers: list[ServerPrice]
    rules: list[Rule]
    assumptions: dict[str, Assumption]
    efficiencies: list[Efficiency]
    memory: MemoryFacts
    workloads: dict[str, WorkloadPreset]
    measures: list[Measure] = []
    log_columns: LogColumns = Field(exclude=True, repr=False)
    share_models: list[ShareModel] = Field(default=[], exclude=True, repr=False)
    measured_devices: dict[str, MeasuredDevice] = {}
    speed_classes: SpeedClasses = SpeedClasses()
    measurements: list[Measurement] = Field(default=[], exclude=True, repr=False)
    serving: list[ServingRow] = Field(default=[], exclude=True, repr=False)
    cases: list[dict[str, Any]] = Field(default=[], exclude=True, repr=False)
    sha256: str

    def assumed(self, assumption_id: str) -> float:
        """Return the middle value of a named assumption."""
        value = self.assumptions[assumption_id].datum.value
        if value is None:
            raise FactsError(f"assumption {assumption_id!r} has no value in data/assumptions.yaml")
        return value

    def to_frame(self) -> DataFrame:
        """One row per datum: where it stands, value, evidence class, source and date."""
        return frame(_walk(self.model_dump(mode="json"), ""))


def data_dir() -> Path:
    """Return the folder of facts: inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "data"
    return inside if inside.is_dir() else package.parent / "data"


def load_facts(folder: Path | str | None = None) -> Facts:
    """Load and check the fact base.

    Parameters
    ----------
    folder
        A ``data/`` folder; the package's own when not given.

    Raises
    ------
    FactsError
        With file, line, value, reason and fix when a datum is malformed or unsourced.
    """
    return _load(Path(folder) if folder else data_dir())


@cache
def _load(folder: Path) -> Facts:
    if not folder.is_dir():
        raise FactsError(f"{folder}: no such folder of facts; reinstall the package or name data/")
    digest = hashlib.sha256()
    read: dict[str, list[Any]] = {}
    for name, (key, record) in LISTS.items():
        rows = _file(folder / name, folder, digest)
        read.setdefault(key, [])
        read[key] += [_record(record, row, folder / name) for row in rows.get(key, [])]
    for name, record in FOLDERS.items():
        read[name] = [
            _record(record, _file(path, folder, digest), path)
            for path in sorted((folder / name).glob("*.yaml"))
        ]
    lists: dict[str, Any] = {}
    for name in MEMORY:
        lists |= _file(folder / name, folder, digest)
    memory = _record(MemoryFacts, lists, folder / MEMORY[-1])
    classes = folder / "speed_classes.yaml"
    read["speed_classes"] = _record(SpeedClasses, _file(classes, folder, digest), classes)
    columns = folder / "log_columns.yaml"
    read["log_columns"] = _record(LogColumns, _file(columns, folder, digest), columns)
    for name, (key, reader) in TABLES.items():
        digest.update(name.encode() + b"\0" + (folder / name).read_bytes() + b"\0")
        read[key] = reader(folder / name)
    by_id = {
        k: _keyed(read[k], k)
        for k in (
            "models",
            "machines",
            "engines",
            "sellers",
            "assumptions",
            "measured_devices",
            "workloads",
        )
    }
    return Facts(**{**read, **by_id}, memory=memory, sha256=digest.hexdigest())


def _file(path: Path, folder: Path, digest: Any) -> dict[str, Any]:
    raw = path.read_bytes()
    digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + raw + b"\0")
    return _resolve_sources(read_facts(path), path)


def _resolve_sources(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    """Replace ``source: key`` by the entry of the file's own ``sources:`` table."""
    table = tree.pop("sources", {})

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            key = node.get("source")
            if isinstance(key, str):
                if key not in table:
                    raise FactsError(
                        f"{path}: source {key!r} is not in the file's sources: table; "
                        f"known: {', '.join(table) or 'none'}"
                    )
                node = {**node, "source": table[key]}
            return {k: walk(v) if k != "source" else v for k, v in node.items()}
        return [walk(v) for v in node] if isinstance(node, list) else node

    return walk(tree)


def _record(record: type[Record], row: Any, path: Path) -> Any:
    try:
        return record.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        name = row.get("id", "") if isinstance(row, dict) else ""
        raise FactsError(f"{path}: {name} {where}: {first['msg']}") from None


def _keyed(rows: list[Any], what: str) -> dict[str, Any]:
    keyed = {row.id: row for row in rows}
    if len(keyed) != len(rows):
        twice = sorted({r.id for r in rows if sum(x.id == r.id for x in rows) > 1})
        raise FactsError(f"data: {what} given twice: {', '.join(twice)}; keep one of each")
    return keyed


def _walk(node: Any, where: str) -> list[dict[str, Any]]:
    if isinstance(node, dict) and "evidence" in node and "value" in node:
        source = node["source"] or {}
        return [
            {
                "datum": where,
                "value": node["value"],
                "evidence": node["evidence"] if node["value"] is not None else "unknown",
                "source": source.get("url") or source.get("title"),
                "as_of": source.get("as_of"),
                "note": node["note"],
            }
        ]
    pairs = (
        node.items() if isinstance(node, dict)
        else ((row.get("id", i) if isinstance(row, dict) else i, row) for i, row in enumerate(node))
        if isinstance(node, list) else ()
    )  # fmt: skip
    return [row for key, child in pairs for row in _walk(child, f"{where}.{key}".lstrip("."))]
