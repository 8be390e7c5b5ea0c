"""Headers of GGUF files: metadata and tensors' names, types and places, never their values.

The ``gguf`` package maps the file and makes an array for every string of the tokenizer, without
checking a length against the file first; a hostile count then decides how much memory goes. So the
header is read here, in one pass, with bounds; the tests write their files with that package.
"""

import hashlib
import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from stackchoice.facts.quant_formats import GgmlType
from stackchoice.read.bounded import AGAIN, MAX_BYTES, file_size, opened, refuse

MAGIC = b"GGUF"
#: Tokenizers of 260,000 tokens with their merges make headers of some 20 MB.
MAX_HEADER_BYTES = 256 * 2**20
MAX_KEYS = 65_536
MAX_TENSORS = 1_000_000
#: Chat templates are the longest texts, of some kilobytes.
MAX_TEXT = 4 * 2**20
MAX_NAME = 65_535
#: Elements of all arrays together; a tokenizer has three or four arrays of up to a million.
MAX_ELEMENTS = 8_000_000
#: Arrays up to this length are kept (per-layer lists); longer ones are passed over.
KEPT = 4_096
MAX_DIMENSIONS = 4
CHUNK = 2**20

#: Metadata types by number: struct letter of the fixed ones; 8 is text, 9 an array.
FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9


class GgufTensor(NamedTuple):
    """One tensor: name, extents (fastest first), number of its type, offset, bytes (if known)."""

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int
    size: int | None


class GgufHeader(NamedTuple):
    """What one GGUF file says of itself; long arrays are their length in ``lengths``."""

    name: str
    file_bytes: int
    sha256: str
    version: int
    metadata: dict[str, Any]
    lengths: dict[str, int]
    tensors: list[GgufTensor]


class _Cursor:
    """Reads forward through a bounded header and hashes what passes."""

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self.file, self.path = file, path
        self.limit = min(size, MAX_HEADER_BYTES)
        self.size, self.at = size, 0
        self.window, self.begin = b"", 0
        self.elements = 0
        self.hash = hashlib.sha256()

    def take(self, count: int) -> bytes:
        """Return the next bytes, which must lie within the file and the limit of headers."""
        if self.at + count > self.limit:
            where = "the file" if self.limit == self.size else "the limit of a header"
            refuse(self.path, f"its header goes beyond {where} ({self.limit:,} bytes)", AGAIN)
        if self.begin + count > len(self.window):
            self.hash.update(self.window[: self.begin])
            read = self.file.read(max(CHUNK, count))
            self.window, self.begin = self.window[self.begin :] + read, 0
            if count > len(self.window):
                refuse(self.path, "ends inside its header", AGAIN)
        part = self.window[self.begin : self.begin + count]
        self.begin += count
        self.at += count
        return part

    def digest(self) -> str:
        """Return the sha256 of everything taken, to be asked once at the end."""
        self.hash.update(self.window[: self.begin])
        return self.hash.hexdigest()

    def number(self, letter: str) -> Any:
        """Return one number of a fixed type."""
        return struct.unpack("<" + letter, self.take(struct.calcsize("=" + letter)))[0]

    def text(self, limit: int) -> str:
        """Return one text; bytes that are not UTF-8 are replaced."""
        length = self.number("Q")
        if length > limit:
            refuse(self.path, f"a text of {length:,} bytes at byte {self.at:,}", AGAIN)
        return self.take(length).decode("utf-8", "replace")

    def value(self, kind: int, depth: int = 0) -> Any:
        """Return one metadata value; a long array is passed over and gives its length."""
        if kind in FIXED:
            return self.number(FIXED[kind])
        if kind == TEXT:
            return self.text(MAX_TEXT)
        if kind != ARRAY or depth > 2:
            refuse(self.path, f"a value of unknown type {kind} at byte {self.at:,}", AGAIN)
        inner, length = self.number("I"), self.number("Q")
        self.elements += length
        if self.elements > MAX_ELEMENTS:
            refuse(self.path, f"an array of {length:,} elements at byte {self.at:,}", AGAIN)
        if inner in FIXED:
            return self._numbers(FIXED[inner], length)
        kept = [self.value(inner, depth + 1) for _ in range(min(length, KEPT))]
        if length > KEPT and inner == TEXT:
            self._pass_texts(length - KEPT)
        elif length > KEPT:
            refuse(self.path, f"{length:,} arrays within an array at byte {self.at:,}", AGAIN)
        return kept if length <= KEPT else _Long(length)

    def _numbers(self, letter: str, length: int) -> Any:
        raw = self.take(length * struct.calcsize("=" + letter))
        if length > KEPT:
            return _Long(length)
        return list(struct.unpack(f"<{length}{letter}", raw))

    def _pass_texts(self, count: int) -> None:
        """Pass over texts as fast as Python allows: tokenizers have hundreds of thousands."""
        for _ in range(count):
            begin = self.begin
            inside = begin + 8 <= len(self.window)
            length = int.from_bytes(
                self.window[begin : begin + 8] if inside else self.take(8), "little"
            )
            if length > MAX_TEXT:
                refuse(self.path, f"a text of {length:,} bytes at byte {self.at:,}", AGAIN)
            end = begin + 8 + length
            if inside and end <= len(self.window) and self.at + 8 + length <= self.limit:
                self.begin, self.at = end, self.at + 8 + length
            else:
                self.take(length + 8 if inside else length)


class _Long(int):
    """The length of an array that was not kept."""


def read_header(path: Path, types: dict[int, GgmlType]) -> GgufHeader:
    """Read the header of one GGUF file, of version 2 or 3.

    CheckpointError when a length, a count or an offset cannot be true of this file.
    """
    size = file_size(path)
    with opened(path) as file:
        return _header(_Cursor(file, path, size), types)


def _header(cursor: _Cursor, types: dict[int, GgmlType]) -> GgufHeader:
    path = cursor.path
    if cursor.size < 24 or cursor.take(4) != MAGIC:
        refuse(path, "does not begin as a GGUF file does", "name a .gguf file")
    version = cursor.number("I")
    if version not in (2, 3):
        refuse(path, f"is GGUF version {version}; 2 and 3 are read", "convert the model again")
    tensors, keys = cursor.number("Q"), cursor.number("Q")
    if tensors > MAX_TENSORS or keys > MAX_KEYS:
        refuse(path, f"claims {tensors:,} tensors and {keys:,} keys", AGAIN)
    metadata: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    for _ in range(keys):
        key = cursor.text(MAX_NAME)
        if key in metadata or key in lengths:
            refuse(path, f"has the key {key!r} twice", AGAIN)
        value = cursor.value(cursor.number("I"))
        if isinstance(value, _Long):
            lengths[key] = int(value)
        else:
            metadata[key] = value
    found = _tensors(cursor, tensors, types)
    data = _aligned(cursor.at, metadata.get("general.alignment", 32), path)
    return GgufHeader(
        path.name, cursor.size, cursor.digest(), version, metadata, lengths,
        _placed(found, max(cursor.size - data, 0), path),
    )  # fmt: skip


def _tensors(cursor: _Cursor, count: int, types: dict[int, GgmlType]) -> list[GgufTensor]:
    rows, names = [], set()
    for _ in range(count):
        name = cursor.text(MAX_NAME)
        dimensions = cursor.number("I")
        if name in names or dimensions > MAX_DIMENSIONS:
            refuse(cursor.path, f"tensor {name!r} comes twice, or has {dimensions} extents", AGAIN)
        names.add(name)
        shape = tuple(cursor.number("Q") for _ in range(dimensions))
        elements = 1
        for extent in shape:
            elements *= extent
            if elements > MAX_BYTES:
                refuse(cursor.path, f"tensor {name!r} has a shape beyond any file", AGAIN)
        kind, offset = cursor.number("I"), cursor.number("Q")
        known, size = types.get(kind), None
        if known is not None:
            if shape and shape[0] % known.block:
                refuse(cursor.path, f"tensor {name!r}, {known.name}, has rows of {shape[0]}: no "
                       f"multiple of {known.block}", AGAIN)  # fmt: skip
            size = elements // known.block * known.bytes
        rows.append(GgufTensor(name, shape, kind, offset, size))
    return rows


def _aligned(at: int, alignment: Any, path: Path) -> int:
    if not isinstance(alignment, int) or not 1 <= alignment <= 2**20:
        refuse(path, f"aligns its data to {alignment!r}", AGAIN)
    return -(-at // alignment) * alignment


def _placed(tensors: list[GgufTensor], data: int, path: Path) -> list[GgufTensor]:
    """Check that tensors lie in the file one after the other; size unknown types by their place."""
    placed = []
    ordered = sorted(tensors, key=lambda t: t.offset)
    for tensor, after in zip(ordered, [*ordered[1:], None], strict=False):
        end = after.offset if after else data
        if tensor.offset + (tensor.size or 0) > min(end, data):
            if after is None or tensor.offset + (tensor.size or 0) > data:
                refuse(path, f"tensor {tensor.name!r} ends beyond the file: truncated",
                       "the download did not end; download it again")  # fmt: skip
            refuse(path, f"tensors {tensor.name!r} and {after.name!r} overlap", AGAIN)
        size = tensor.size if tensor.size is not None else max(end - tensor.offset, 0)
        placed.append(tensor._replace(size=size))
    return placed
