"""What the tensors themselves say: modules, how each is stored, and how many bytes that takes."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from stackchoice.facts.quant_formats import QuantFormats
from stackchoice.read.safetensors import Tensor

FP8 = ("F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ")
BYTE_SCALES = ("U8", "F8_E8M0")
#: Suffixes that only modules with quantised activations need.
INPUT_SCALES = (".input_scale", ".input_global_scale", "_input_scale")
SCALES = (".weight_scale_inv", ".weight_scale", ".scale", "_weight_scale_inv", "_weight_scale")
NUMBER = re.compile(r"(?:^|\.)(?:layers|blk|h|blocks)\.(\d{1,6})(?:\.|$)")


class Module(NamedTuple):
    """One module: its part of the model, its storage, and everything stored for it.

    ``storage`` is a storage of ``quant_formats.yaml`` or the id of an encoding; ``matrix`` is
    whether it multiplies (two dimensions or more); ``group`` the weights of one scale as seen.
    """

    name: str
    part: str
    storage: str
    size: int
    matrix: bool
    group: int | None = None
    input_scale: bool = False


def modules_of(tensors: Iterable[Tensor], formats: QuantFormats, mlx_group: int) -> list[Module]:
    """Put tensors together to modules and tell how each is stored.

    Parameters
    ----------
    mlx_group
        Weights of one scale in MLX's affine mode, which shapes alone do not tell.
    """
    dotted = frozenset(s for s in formats.suffixes.names if s.startswith("."))
    joined = tuple(sorted((s for s in formats.suffixes.names if s not in dotted), key=len))
    together: dict[str, dict[str, Tensor]] = {}
    for tensor in tensors:
        cut = len(tensor.name) - len(_suffix(tensor.name, dotted, joined))
        together.setdefault(tensor.name[:cut], {})[tensor.name[cut:]] = tensor
    part = part_finder(formats)
    return [_module(name, parts, part(name), formats, mlx_group)
            for name, parts in together.items()]  # fmt: skip


def _suffix(name: str, dotted: frozenset[str], joined: tuple[str, ...]) -> str:
    """Return the longest known ending of a tensor's name that leaves some name before it."""
    found, at = "", len(name)
    for _ in range(3):  # the longest ending has three dots
        at = name.rfind(".", 0, at)
        if at <= 0:
            break
        if name[at:] in dotted:
            found = name[at:]
    if not found and name.endswith(joined):
        found = next(s for s in reversed(joined) if name.endswith(s))
    return found if len(found) < len(name) else ""


def part_finder(formats: QuantFormats) -> Callable[[str], str]:
    """Return the function that names the part of the model a module is in."""
    rows = [(row.part, re.compile(row.pattern)) for row in formats.parts.rows]

    @lru_cache(maxsize=65_536)
    def of_shape(name: str) -> str:
        return next(part for part, pattern in rows if pattern.search(name[:500] or "."))

    digits = re.compile(r"\d+")
    return lambda name: of_shape(digits.sub("0", name))


def _module(
    name: str, parts: dict[str, Tensor], part: str, formats: QuantFormats, mlx_group: int
) -> Module:
    size = sum(t.size for t in parts.values())
    storage, group = _storage(parts, formats, mlx_group)
    matrix = any(len(t.shape) >= 2 for s, t in parts.items() if "scale" not in s.lower())
    inputs = any(s in parts for s in INPUT_SCALES)
    return Module(name, part, storage, size, matrix or storage == "exl3", group, inputs)


def _storage(
    parts: dict[str, Tensor], formats: QuantFormats, mlx_group: int
) -> tuple[str, int | None]:
    """Return storage and group size of one module (an unknown dtype is its own name)."""
    scale = next((parts[s] for s in SCALES if s in parts), None)
    if ".trellis" in parts:
        return "exl3", None
    if ".qweight" in parts:
        return _gptq(parts)
    if "_blocks" in parts and "_scales" in parts:
        ratio = _ratio(parts["_blocks"], parts["_scales"], 2)
        return ("mxfp4", 32) if parts["_blocks"].shape[-1:] == (16,) else ("other", ratio)
    if (packed := parts.get(".weight_packed")) is not None:
        if packed.dtype == "I32":
            return "packed_int", None
        return _four_bit(packed, scale)
    weight = parts.get(".weight", parts.get(""))
    if weight is None:
        largest = max(parts.values(), key=lambda t: t.size)
        return formats.dtypes.plain.get(largest.dtype, largest.dtype), None
    if any(s.startswith(".weight.") for s in parts):
        return ("fp4_bnb" if any("fp4" in s for s in parts) else "nf4"), None
    if weight.dtype == "U32" and ".scales" in parts:
        return _mlx(weight, parts[".scales"], ".biases" in parts, mlx_group)
    if weight.dtype in FP8:
        return _fp8(weight, scale, any(s.endswith("_scale_inv") for s in parts))
    if weight.dtype == "I8" and ".SCB" in parts:
        return "int8_bnb", None
    if weight.dtype in ("U8", "I8", "F4") and scale is not None and scale.dtype in (
        *BYTE_SCALES, *FP8
    ):  # fmt: skip
        return _four_bit(weight, scale)
    if weight.dtype == "I8" and scale is not None:
        return "int8", None
    return formats.dtypes.plain.get(weight.dtype, weight.dtype), None


def _ratio(weight: Tensor, scale: Tensor | None, per_element: int) -> int | None:
    """Return weights of one scale along the last dimension, when they divide."""
    if scale is None or not weight.shape or not scale.shape or not scale.shape[-1]:
        return None
    values = weight.shape[-1] * per_element
    return values // scale.shape[-1] if values % scale.shape[-1] == 0 else None


def _four_bit(weight: Tensor, scale: Tensor | None) -> tuple[str, int | None]:
    """Two values a byte: 16 of one scale is NVFP4, 32 is MXFP4."""
    group = _ratio(weight, scale, 1 if weight.dtype == "F4" else 2)
    return {16: "nvfp4", 32: "mxfp4"}.get(group or 0, "other"), group


def _fp8(weight: Tensor, scale: Tensor | None, inverse: bool) -> tuple[str, int | None]:
    """Tell per tensor, channel, block and microscaling apart by the shape of the scales.

    Experts may be stacked: leading dimensions that both share are taken off. Only block formats
    have the name ``scale_inv``, which decides where a weight is no larger than one block.
    """
    if scale is None:
        return "fp8", None
    sizes, scales = list(weight.shape), list(scale.shape)
    while len(sizes) > 2:
        if scales and scales[0] in (1, sizes[0]):
            scales.pop(0)
        sizes.pop(0)
    if set(scales) <= {1} and not (inverse and len(scales) == 2):
        return "fp8", None
    rows, columns = sizes[0], sizes[-1]
    if scales[0] == rows and set(scales[1:]) <= {1}:
        return "fp8_channel", None
    if len(scales) != len(sizes) or not scales[-1]:
        return "fp8", None
    group = -(-columns // scales[-1])
    micro = scale.dtype in BYTE_SCALES and scales[0] == rows and group == 32
    return ("mxfp8", 32) if micro else ("fp8_block", group)


def _gptq(parts: dict[str, Tensor]) -> tuple[str, int | None]:
    """AWQ and GPTQ: zero points are packed like weights, one column of them for each scale."""
    zeros, scales = parts.get(".qzeros"), parts.get(".scales")
    if zeros is None or scales is None or not zeros.shape or not scales.shape[-1:]:
        return "packed_int", None
    bits = 32 * zeros.shape[-1] / scales.shape[-1] if scales.shape[-1] else 0
    return (f"int{int(bits)}" if bits in (2, 3, 4, 8) else "packed_int"), None


def _mlx(weight: Tensor, scales: Tensor, biased: bool, group: int) -> tuple[str, int | None]:
    """MLX packs 32 bits a word; byte scales without biases are the floating modes."""
    words = _ratio(weight, scales, 1)
    if scales.dtype in BYTE_SCALES and not biased:
        found = {2: ("mlx_nvfp4", 16), 4: ("mlx_mxfp4", 32), 8: ("mlx_mxfp8", 32)}
        return found.get(words or 0, ("other", None))
    per_row = weight.shape[-1] * 32 if weight.shape else 0
    values = scales.shape[-1] * group if scales.shape else 0
    bits = per_row / values if values else 0
    return (f"mlx_affine_{int(bits)}" if bits in (2, 3, 4, 5, 6, 8) else "other"), group


def layer_number(name: str) -> int | None:
    """Return the number of a module's layer (``layers.7.``, ``blk.7.``), if it has one."""
    found = NUMBER.search(name)
    return int(found.group(1)) if found else None
