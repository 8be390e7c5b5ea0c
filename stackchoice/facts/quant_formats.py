"""How checkpoints say which encoding they have: the words of their files, as tables."""

from functools import cached_property
from typing import Generic, TypeVar

from pydantic import Field

from stackchoice.facts.datum import Record, Source

T = TypeVar("T")


class Rows(Record, Generic[T]):
    """Rows of one source, in the order in which they are tried."""

    source: Source
    rows: list[T]


class Words(Record, Generic[T]):
    """What each word of one source means."""

    source: Source
    ids: dict[str, T]

    def get(self, word: object) -> T | None:
        """Return the meaning of a word, whatever its case; None for anything unknown."""
        if not isinstance(word, str):
            return None
        wanted = word.strip().lower()
        return next((v for k, v in self.ids.items() if k.lower() == wanted), None)


class Method(Record):
    """A ``quant_method``: an encoding by itself, or the rule that goes on from it.

    ``own_kernels``: a library of its own multiplies, so what an engine does with the same encoding
    from other files says nothing.
    """

    names: list[str]
    rule: str = ""
    encoding: str = ""
    part: str = Field(default="", description="the only part that is quantised; empty: all")
    own_kernels: bool = False


class Storage(Record):
    """What a group's ``weights`` must say to be this storage; None asks nothing."""

    storage: str
    type: str
    bits: int
    format: str | None = None
    group_size: int | None = None
    strategy: str | None = None


class PartName(Record):
    """A part of a model, by a pattern in its modules' names."""

    part: str
    pattern: str


class Promise(Record):
    """A word in a model's name and the families of encodings that keep it."""

    word: str
    families: list[str]


class GgmlType(Record):
    """A tensor type of GGUF: ``bytes`` for ``block`` values."""

    number: int
    name: str
    block: int
    bytes: int
    encoding: str = ""


class GgmlFile(Record):
    """A ``general.file_type`` of GGUF and the tensor type that most of it should have."""

    number: int
    name: str
    type: str


class GgufWindow(Record):
    """Which layers slide where a GGUF file leaves it to the engine."""

    architectures: list[str]
    period: int
    full_first: bool = False
    chunk: int = 0


class GgufRecurrent(Record):
    """The kind of state of the recurrent layers of some GGUF architectures."""

    architectures: list[str]
    kind: str
    every_layer: bool = False


class Adopter(Record):
    """Whether an engine takes the sampling presets of a checkpoint's file as its defaults."""

    engine: str
    file: str
    adopts: bool
    how: str
    source: Source


class Dtypes(Record):
    """Bits of a stored element by dtype, and the dtypes that are no quantisation."""

    source: Source
    bits: dict[str, int]
    plain: dict[str, str]


class Suffixes(Record):
    """Endings of the tensors that together are one module."""

    source: Source
    names: list[str]


class QuantFormats(Record):
    """Everything above."""

    methods: Rows[Method]
    algos: Words[str]
    storages: Rows[Storage]
    pairs: Words[dict[str, str]]
    number_words: Words[tuple[str, int]]
    torchao: Words[str]
    kv: Words[str]
    expert_words: Words[str]
    dtypes: Dtypes
    suffixes: Suffixes
    parts: Rows[PartName]
    promises: Rows[Promise]
    sampling_adopters: list[Adopter]
    ggml_types: Rows[GgmlType]
    ggml_files: Rows[GgmlFile]
    gguf_keys: Words[str]
    gguf_windows: Rows[GgufWindow]
    gguf_recurrent: Rows[GgufRecurrent]

    @cached_property
    def ggml_by_number(self) -> dict[int, GgmlType]:
        """The tensor types of GGUF by their numbers."""
        return {row.number: row for row in self.ggml_types.rows}

    def ggml_file(self, number: object) -> GgmlFile | None:
        """Return what a ``general.file_type`` means."""
        return next((row for row in self.ggml_files.rows if row.number == number), None)

    def method(self, name: object) -> Method | None:
        """Return what a ``quant_method`` means, whatever its case."""
        if not isinstance(name, str):
            return None
        return next((m for m in self.methods.rows if name.lower() in m.names), None)
