"""Public measurements that the speed intervals are fitted from, and how runs are grouped."""

import csv
import gzip
import json
import re
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from stackchoice.errors import FactsError
from stackchoice.facts.datum import Datum, Record, Source
from stackchoice.facts.files import checked

Blank = BeforeValidator(lambda text: None if text == "" else text)
Family = Literal["16-bit", "8-bit", "4-bit"]
DeviceClass = Literal["gpu", "unified", "cpu"]


class Measurement(Record):
    """One public single-stream speed: tokens/s of decode or prefill on ``device_count`` devices."""

    source_url: str
    source_group: str
    engine: str
    backend: str
    device: str
    device_count: int = Field(ge=1)
    model: str
    params_b: float = Field(gt=0)
    active_params_b: float = Field(gt=0)
    encoding: str
    weight_bytes_gib: Annotated[float | None, Blank] = None
    phase: Literal["decode", "prefill"]
    prompt_tokens: Annotated[int | None, Blank] = None
    context_depth: Annotated[int | None, Blank] = None
    tokens_per_s: float = Field(gt=0)
    note: str = ""


class ServingRow(Record):
    """One aggregated-serving measurement: ``concurrency`` streams on ``tp`` devices."""

    model: str
    backend: str
    machine: str
    precision: str = ""
    tp: int = Field(ge=1)
    attention_dp: int = Field(default=1, ge=1)
    concurrency: int = Field(ge=1)
    input_tokens: int = Field(ge=1)
    output_tokens: int = Field(ge=1)
    ttft_ms: float = Field(gt=0)
    tpot_ms: float = Field(gt=0)


class MeasuredDevice(Record):
    """A device that people measured on and that is no candidate machine here."""

    id: str
    name: str
    vendor: str = ""
    device_class: DeviceClass
    bandwidth_gb_per_s: Datum[float]
    bf16_dense_tflops: Datum[float] = Datum[float]()
    int8_dense_tops: Datum[float] = Datum[float]()


class Encoding(Record):
    """What a text that names an encoding means: family, bits a weight, bits multiplied in."""

    match: str
    family: Family
    bits: float = Field(gt=0)
    activation_bits: int = 16
    source: Source


class EngineFamily(Record):
    """Engines whose kernels behave alike in the measurements."""

    id: str
    engines: list[str]


class LayerSplit(Record):
    """Engines that give each device whole layers unless told otherwise."""

    engines: Datum[list[str]]


class SpeedClasses(Record):
    """How runs are grouped for the intervals."""

    engine_families: list[EngineFamily] = []
    layer_splits: list[LayerSplit] = []
    encodings: list[Encoding] = []

    def splits_by_layer(self, engine: str) -> bool:
        """Whether one stream on several devices reads from one at a time."""
        return any(engine.lower() in (row.engines.value or []) for row in self.layer_splits)

    def engine_family(self, engine: str) -> str:
        """Return the family of an engine, ``other`` where it has none."""
        name = engine.lower()
        return next((f.id for f in self.engine_families if name in f.engines), "other")

    def encoding(self, text: str) -> Encoding | None:
        """Return what the first matching pattern says of an encoding (None: not known)."""
        return next((e for e in self.encodings if re.search(e.match, text.lower())), None)


def repository(source_url: str) -> str:
    """Return the unit that is held out together: owner/name of a repository, else the host."""
    parts = re.sub(r"^https?://(www\.)?", "", source_url).split("/")
    return "/".join(parts[1:3]) if parts[0] == "github.com" else parts[0]


class Table(Record):
    """A long table as its bytes: read with the facts, parsed once somebody asks for its rows."""

    path: Path
    raw: bytes = Field(repr=False)

    @cached_property
    def rows(self) -> list[Any]:
        """The rows as records; columns that no record has are left out. Lines of JSON stay dicts.

        FactsError with file, line, value and reason where a row is malformed, or there is none.
        """
        packed = self.path.suffix == ".gz"
        text = (gzip.decompress(self.raw) if packed else self.raw).decode()
        record = ROWS[self.path.name]
        lines = (json.loads(line) for line in text.splitlines() if line)
        rows = _rows(text, record, self.path) if record else list(lines)
        if not rows:
            raise FactsError(f"{self.path}: holds no row; write some, or remove the file")
        return rows


#: Which record a row of a table is; None: a line is a JSON object (the public ledger).
ROWS: dict[str, type[Record] | None] = {
    "measurements.csv": Measurement,
    "serving.csv.gz": ServingRow,
    "cases.jsonl": None,
}


def _rows(text: str, record: type[Any], path: Path) -> list[Any]:
    try:
        rows = list(csv.DictReader(text.splitlines()))
    except csv.Error as error:  # a field of megabytes
        raise FactsError(f"{path}: is no CSV of measurements ({error}); correct it") from None
    return [
        checked(record, {k: v for k, v in row.items() if k in record.model_fields},
                f"{path}:{number}")
        for number, row in enumerate(rows, start=2)
    ]  # fmt: skip
