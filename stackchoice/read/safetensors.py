"""Headers of safetensors files: names, types and sizes of tensors, never their values.

The ``safetensors`` package maps the file and hands out tensors; it gives no header of a file
that is truncated, and no sizes without opening each tensor. The format is eight bytes of length
and a JSON object, so it is read here, with every number checked against the file.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from stackchoice.read.bounded import AGAIN, MAX_BYTES, file_size, opened, parse_json, refuse

#: The format's own limit is 100 MB; this holds 200,000 tensors, more than any published shard.
MAX_HEADER_BYTES = 32 * 2**20
LENGTH = 8


class Tensor(NamedTuple):
    """One stored tensor: its name, dtype as the file says it, shape, bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int


class Header(NamedTuple):
    """What one file says of itself."""

    name: str
    file_bytes: int
    sha256: str
    tensors: list[Tensor]
    metadata: dict[str, str]


def read_header(path: Path, bits: dict[str, int]) -> Header:
    """Read the header of one safetensors file.

    Parameters
    ----------
    bits
        Bits of an element by dtype; a dtype that is not in it is taken at its stored size.

    Raises
    ------
    CheckpointError
        When the length, the JSON or an offset cannot be true of this file.
    """
    size = file_size(path)
    if size < LENGTH:
        refuse(path, f"has {size} bytes; a safetensors file begins with a length of 8", AGAIN)
    with opened(path) as file:
        length = int.from_bytes(file.read(LENGTH), "little")
        if length > min(MAX_HEADER_BYTES, size - LENGTH):
            refuse(path, f"its header claims {length:,} bytes; the file has {size:,} and "
                   f"{MAX_HEADER_BYTES:,} is the limit", AGAIN)  # fmt: skip
        raw = file.read(length)
    if len(raw) != length:
        refuse(path, "ends inside its header", AGAIN)
    tree = parse_json(raw, path, "its header")
    metadata = tree.pop("__metadata__", None)
    tensors = _tensors(tree, size - LENGTH - length, bits, path)
    digest = hashlib.sha256(raw).hexdigest()
    return Header(path.name, size, digest, tensors, _strings(metadata))


def _tensors(tree: dict[str, Any], data: int, bits: dict[str, int], path: Path) -> list[Tensor]:
    """Check that the tensors fill the data of the file, end to end, and return them."""
    found = sorted(_spans(tree, bits, path))
    at = 0
    for begin, end, tensor in found:
        if begin != at:
            kind = "overlap" if begin < at else "leave a hole"
            refuse(path, f"tensors {kind} at byte {at:,} ({tensor.name})", AGAIN)
        at = end
    if at > data:
        refuse(path, f"holds {data:,} of the {at:,} bytes that its header lists: truncated",
               "the download did not end; download it again")  # fmt: skip
    if at < data:
        refuse(path, f"has {data - at:,} bytes that its header does not list", AGAIN)
    return [tensor for _, _, tensor in found]


def _spans(tree: dict[str, Any], bits: dict[str, int], path: Path) -> Iterator[Any]:
    for name, entry in tree.items():
        if not isinstance(entry, dict):
            refuse(path, f"tensor {name!r} is not described by an object", AGAIN)
        dtype, shape = entry.get("dtype"), entry.get("shape")
        offsets = entry.get("data_offsets")
        if not (isinstance(dtype, str) and _naturals(shape) and _naturals(offsets)):
            refuse(path, f"tensor {name!r} lacks a dtype, a shape or offsets that can be", AGAIN)
        if len(offsets) != 2 or offsets[0] > offsets[1]:
            refuse(path, f"tensor {name!r} has offsets {offsets[:3]}", AGAIN)
        count = 1
        for extent in shape:
            count *= extent
            if count > MAX_BYTES:
                refuse(path, f"tensor {name!r} has a shape beyond any file", AGAIN)
        size = offsets[1] - offsets[0]
        if dtype in bits and size * 8 != count * bits[dtype]:
            refuse(path, f"tensor {name!r}, {dtype} of {shape[:8]}, claims {size:,} bytes", AGAIN)
        yield *offsets, Tensor(name, dtype[:40], tuple(shape), size)


def _naturals(values: object) -> TypeGuard[list[int]]:
    if type(values) is not list or len(values) > 32:
        return False
    return all(type(value) is int and 0 <= value <= MAX_BYTES for value in values)


def _strings(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict):
        return {}
    return {k: v for k, v in metadata.items() if isinstance(v, str)}
