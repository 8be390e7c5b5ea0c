"""The embedded model stored in another format, made here with ggml's own Python package.

The engine's package has no entry for quantising, so the ``gguf`` package does it. What comes out
holds what the shipped file kept: a Q8_0 made from Q4_1 answers like the Q4_1 and is only larger.
"""

from pathlib import Path
from typing import Any

from stackchoice.errors import EngineError
from stackchoice.facts.write import made_whole

#: Formats that the package packs, by the names that engines print, with general.file_type.
FORMATS = {"q8_0": 7, "q4_0": 2}


def requantised(source: Path, kind: str, folder: Path) -> Path:
    """Return ``source`` with its matrices stored as ``kind``; made once, then kept in ``folder``.

    EngineError for a missing package, or a file that cannot be written.
    """
    stem = source.stem.rpartition(".")[0] or source.stem
    target = folder / f"{stem}.{kind.upper()}.gguf"
    if target.is_file() and target.stat().st_mtime >= source.stat().st_mtime:
        return target
    try:
        import gguf
    except ImportError:
        raise EngineError(
            "the gguf package is not installed, so no other format can be made; run `pip install "
            "'stackchoice[quantise]'`"
        ) from None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with made_whole(target) as (part,):
            _write(gguf, source, part, kind)
    except OSError as error:
        raise EngineError(
            f"{target}: cannot be written ({error.strerror}); name another folder with --out"
        ) from None
    return target


def _write(gguf: Any, source: Path, target: Path, kind: str) -> None:
    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        inner = field.types[-1] if len(field.types) > 1 else None
        writer.add_key_value(name, field.contents(), field.types[0], inner)
    writer.add_file_type(FORMATS[kind])
    wanted = gguf.GGMLQuantizationType[kind.upper()]
    plain = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16)
    for tensor in reader.tensors:
        data, now = tensor.data, tensor.tensor_type
        if now not in plain and now != wanted:
            data, now = gguf.quants.quantize(gguf.quants.dequantize(data, now), wanted), wanted
        writer.add_tensor(tensor.name, data, raw_dtype=now)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
