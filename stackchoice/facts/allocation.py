"""Facts about memory: formats of stored values, and what each engine release does by default.

Which release follows which rule is data; ``fit/`` holds the rules that these names choose.
"""

from functools import cached_property, lru_cache
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, get_args

from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field

from stackchoice.facts.datum import Datum, Record, Source, sure

Scalar = float | int | bool | str

#: What is as old as anybody looked comes before every release.
OLDEST = Version("0")
UNKNOWN = Datum[Any]()


@lru_cache(maxsize=1024)
def release_order(text: str) -> Version:
    """Order releases and builds alike (``b8920`` is build 8920); ValueError for no version."""
    try:
        return Version(text.removeprefix("b"))
    except InvalidVersion:
        raise ValueError(f"release {text!r} is not a version that can be ordered") from None


def _orderable(text: str) -> str:
    if text:
        release_order(text)
    return text


#: A release that can be ordered, or empty where none bounds it.
ReleaseText = Annotated[str, AfterValidator(_orderable)]


class KvFormat(Record):
    """How an engine stores one cached value.

    ``scale_bytes_per_head`` are added for the keys and again for the values of each head and
    token. The two records are bytes per token and layer of layouts that are not values times
    bits: an MLA latent, a compressed layer's entry.
    """

    id: str
    aliases: list[str] = []
    bits: Datum[float] = Datum[float]()
    scale_bytes_per_head: int = Field(default=0, ge=0)
    latent_record_bytes: Datum[int] = Datum[int]()
    compressed_record_bytes: Datum[int] = Datum[int]()
    engines: list[str] = Field(default=[], description="empty: not limited to some engines")
    note: str = ""


class WeightFormat(Record):
    """Bits per weight of an encoding, scales included."""

    id: str
    aliases: list[str] = []
    bits: Datum[float]


class LayerRecord(Record):
    """A size, in bytes or tokens, that a reference implementation fixes and no config gives."""

    id: str
    datum: Datum[float]
    meaning: str


class AllocatorFact(Record):
    """One behaviour of an engine from a release on. ``since`` empty: as old as anybody looked.

    ``family`` limits the fact to models with that trait (``hybrid``, ``sliding``, ``latent``);
    empty means every model.
    """

    engine: str
    key: str
    since: ReleaseText = ""
    family: str = ""
    value: Datum[Scalar]


#: Parts of what a start takes on a device beside weights and cache.
Part = Literal["activation", "other", "graphs", "context"]


class WorkspaceRow(Record):
    """What one start of a server took on a device beside weights and cache, part by part, in GiB.

    ``release`` is empty where the source names none. A part that was not printed is None.
    ``backend`` is said where starts on another say nothing.
    ``vocabulary`` and ``sequences`` are what the sampler's buffers were made for, ``bound_by`` is
    what the peak was taken by.
    """

    engine: str
    release: str = ""
    model: str
    devices: int = Field(ge=1)
    backend: str = ""
    batched_tokens: int | None = None
    sequences: int | None = None
    vocabulary: int | None = None
    activation: float | None = Field(default=None, ge=0)
    bound_by: Literal["layers", "sampler", ""] = ""
    other: float | None = Field(default=None, ge=0)
    graphs: float | None = Field(default=None, ge=0)
    context: float | None = Field(default=None, ge=0)
    source: Source
    note: str = ""

    @property
    def copies(self) -> float | None:
        """How often the profiling run's peak holds 4 bytes for each sequence and word."""
        if not (self.activation and self.sequences and self.vocabulary):
            return None
        return self.activation * 2**30 / (4 * self.sequences * self.vocabulary)


class Starts(NamedTuple):
    """The least and the most GiB of a device that starts printed for a part, and which did."""

    least: float
    most: float
    rows: frozenset[int]


NO_STARTS = Starts(0.0, 0.0, frozenset())


class Peaks(NamedTuple):
    """Peaks of profiling runs: the layers' in GiB, a batched token and the most; copies."""

    least_per_token: float
    most_per_token: float
    most: float
    copies: float
    vocabulary: int


class MemoryFacts(Record):
    """Everything above, with look-ups."""

    kv_formats: list[KvFormat]
    weight_formats: list[WeightFormat]
    layer_records: list[LayerRecord]
    allocators: list[AllocatorFact]
    workspaces: list[WorkspaceRow] = []

    def starts(self, engine: str, part: Part, several: bool, backend: str = "") -> Starts:
        """Return what starts of an engine printed for a part, on one device or on several.

        Where none has as many devices those of any number stand in.
        """
        everywhere = self._starts.get((engine, part, several, ""), NO_STARTS)
        return self._starts.get((engine, part, several, backend), everywhere)

    @cached_property
    def _starts(self) -> dict[tuple[str, str, bool, str], Starts]:
        found: dict[tuple[str, str, bool, str], Starts] = {}
        engines = {row.engine for row in self.workspaces}
        backends = {"", *(row.backend for row in self.workspaces)}
        for engine, part, backend in product(engines, get_args(Part), backends):
            rows = [
                (number, row.devices > 1, size)
                for number, row in enumerate(self.workspaces)
                if row.engine == engine
                and row.backend in ("", backend)
                and (size := getattr(row, part)) is not None
            ]
            for several in (False, True) if rows else ():
                taken = [row for row in rows if row[1] is several] or rows
                sizes = [size for _, _, size in taken]
                rows_of = frozenset(number for number, _, _ in taken)
                found[engine, part, several, backend] = Starts(min(sizes), max(sizes), rows_of)
        return found

    @cached_property
    def peaks(self) -> Peaks:
        """What vLLM's profiling runs were seen to hold at their peak."""
        rows = [row for row in self.workspaces if row.engine == "vllm" and row.activation]
        layers = [(sure(row.activation), row.batched_tokens) for row in rows
                  if row.bound_by == "layers" and row.batched_tokens]  # fmt: skip
        tokens = [size / count for size, count in layers]
        return Peaks(
            min(tokens), max(tokens), max(size for size, _ in layers),
            max(row.copies or 0.0 for row in rows if row.bound_by == "sampler"),
            max(row.vocabulary or 0 for row in rows),
        )  # fmt: skip

    def kv_format(self, name: str) -> KvFormat | None:
        """Return the cache format of that id or alias."""
        return next((f for f in self.kv_formats if name in (f.id, *f.aliases)), None)

    def weight_format(self, name: str) -> WeightFormat | None:
        """Return the weight encoding of that id or alias, whatever its case."""
        wanted = name.lower()
        return next((f for f in self.weight_formats if wanted in (f.id, *f.aliases)), None)

    def record(self, record_id: str) -> int:
        """Return a fixed size by its id."""
        return int(next(r.datum.value for r in self.layer_records if r.id == record_id) or 0)

    def fact(self, engine: str, key: str, release: Version | None, family: str = "") -> Datum[Any]:
        """Return what ``engine`` does at ``release`` (None: the newest that is known).

        A fact of the model's ``family`` beats the general one. Unknown is a datum without value.
        """
        for wanted in dict.fromkeys((family, "")):
            for since, value in self._by_key.get((engine, key, wanted), ()):
                if release is None or since is None or since <= release:
                    return value
        return UNKNOWN

    @cached_property
    def _by_key(self) -> dict[tuple[str, str, str], list[tuple[Version | None, Datum[Any]]]]:
        """The facts of each engine, key and family, the newest first."""
        found: dict[tuple[str, str, str], list[tuple[Version | None, Datum[Any]]]] = {}
        for f in self.allocators:
            since = release_order(f.since) if f.since else None
            found.setdefault((f.engine, f.key, f.family), []).append((since, f.value))
        for rows in found.values():
            rows.sort(key=lambda row: row[0] or OLDEST, reverse=True)
        return found
