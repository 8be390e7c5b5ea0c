"""The files of one checkpoint, found and read: what is on disk, before anything is concluded."""

import hashlib
import os
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from stackchoice.facts.load import Facts
from stackchoice.facts.values import count_of, dict_of, text_of
from stackchoice.read import gguf, safetensors
from stackchoice.read.bounded import (
    MAX_CONFIG_BYTES,
    MAX_INDEX_BYTES,
    MAX_SHARDS,
    file_size,
    member,
    parse_json,
    read_bytes,
    read_start,
    refuse,
)
from stackchoice.read.folder import SPLIT, gguf_models, listing, names_of, snapshot

#: Files beside the config that may declare quantisation, and the key of the declaration in each.
SIDE_FILES = {
    "hf_quant_config.json": "quantization", "quantization_config.json": "",
    "quantize_config.json": "", "quant_config.json": "",
}  # fmt: skip
PRESETS = "generation_config.json"
INDEXES = ("model.safetensors.index.json", "pytorch_model.safetensors.index.json")
TEMPLATES = ("chat_template.jinja", "chat_template.json")
#: Weights that only running code can read; they are named and left alone.
PICKLES = (".bin", ".pt", ".pth", ".ckpt")
CHUNK = 2**20


class Checkpoint(BaseModel):
    """Everything read, by file. ``missing`` are files that an index or a split set names."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    path: Path
    format: str
    config: dict[str, Any] = {}
    config_file: str = ""
    sides: dict[str, dict[str, Any]] = {}
    presets: dict[str, Any] = {}
    chat_template: bool = False
    index_map: dict[str, str] = {}
    index_total: int | None = None
    headers: list[Any] = []
    gguf: list[Any] = []
    towers: list[Any] = []
    missing: list[str] = []
    skipped: str = ""
    names: list[str] = []
    digests: dict[str, tuple[int, str]] = {}

    def manifest(self) -> str:
        """Return the sha256 that names this checkpoint by its small parts.

        Over one line for each file, sorted by name: ``name NUL size NUL sha256 LF``, where sha256
        is of the whole file for JSON files and of the header for files of tensors.
        """
        return _digest(self.digests)


def _digest(rows: dict[str, tuple[int, str]]) -> str:
    digest = hashlib.sha256()
    for name in sorted(rows):
        size, sha = rows[name]
        digest.update(f"{name}\0{size}\0{sha}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def content_hash(checkpoint: Checkpoint) -> str:
    """Return the sha256 over the whole content of every file of the manifest, in the same form."""
    folder = checkpoint.path if checkpoint.path.is_dir() else checkpoint.path.parent
    rows = {}
    for name, (size, _) in checkpoint.digests.items():
        digest = hashlib.sha256()
        with (folder / name).open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
        rows[name] = (size, digest.hexdigest())
    return _digest(rows)


def open_checkpoint(path: Path, facts: Facts) -> Checkpoint:
    """Read what a path holds: a folder, a GGUF file or split set, a safetensors file, a config.

    CheckpointError when there is nothing to read, or a file is broken, truncated, too large or
    hostile.
    """
    if not os.path.exists(path):
        refuse(path, "no such file or folder", "name a folder of a checkpoint or one of its files")
    if os.path.isdir(path):
        return _folder(snapshot(path), facts)
    file_size(path)
    if path.suffix == ".gguf" or read_start(path, 4) == gguf.MAGIC:  # Ollama's have no suffix
        return _gguf(path, facts)
    if path.suffix == ".safetensors":
        return _folder(path.parent, facts, only=path)
    if path.suffix == ".json":
        return _lone(path)
    refuse(path, "is no folder, .gguf, .safetensors or .json file", "name one of these")


def _folder(folder: Path, facts: Facts, only: Path | None = None) -> Checkpoint:
    names = listing(folder)
    found = Checkpoint(path=only or folder, format="config", names=names_of(folder, only))
    shards = [n for n in names if n.endswith(".safetensors")]
    if only is None and not shards and (ggufs := gguf_models(names)):
        if len(ggufs) > 1:
            refuse(folder, f"holds {len(ggufs)} GGUF models ({', '.join(ggufs[:4])}, …)",
                   "name one of the files")  # fmt: skip
        return _gguf(folder / ggufs[0], facts, folder)
    _small_files(found, folder, names)
    index = next((n for n in INDEXES if n in names), None)
    if only is not None:
        shards = [only.name]
    elif index:
        shards = _index(found, folder, index)
    for name in shards:
        place = member(folder, name, index or "the folder")
        if name not in names:
            found.missing.append(name)
            continue
        header = safetensors.read_header(place, facts.quant_formats.dtypes.bits)
        found.headers.append(header)
        found.digests[name] = (header.file_bytes, header.sha256)
    mlx = any(h.metadata.get("format") == "mlx" for h in found.headers)
    mlx = mlx or bool(dict_of(found.config.get("quantization")))
    other = [n for n in names if n.endswith(PICKLES)]
    if other and not found.headers:
        found.skipped = f"{len(other)} files of pickled tensors, such as {other[0]}"
    found.format = "mlx" if mlx else "safetensors" if found.headers or found.missing else "config"
    if not found.config and not found.headers and not found.sides and not found.missing:
        refuse(folder, "holds no config.json, no safetensors and no GGUF file",
               "name the folder of a checkpoint")  # fmt: skip
    return found


def _small_files(found: Checkpoint, folder: Path, names: list[str]) -> None:
    for name in ("config.json", PRESETS, *SIDE_FILES, "tokenizer_config.json", *TEMPLATES):
        if name not in names:
            continue
        place = member(folder, name, "the folder")
        if name in TEMPLATES:
            found.chat_template = file_size(place) > 0
            continue
        tree = _keep(found, place, name)
        if name == "config.json":
            found.config, found.config_file = tree, name
        elif name == PRESETS:
            found.presets = tree
        elif name == "tokenizer_config.json":
            found.chat_template = found.chat_template or bool(tree.get("chat_template"))
        else:
            found.sides[name] = _declaration(tree, name)
    if own := text_of(found.config.get("_name_or_path")):
        found.names.append(own)


def _keep(
    found: Checkpoint, place: Path, name: str, limit: int = MAX_CONFIG_BYTES
) -> dict[str, Any]:
    """Read one JSON file once: its tree, and its line of the manifest."""
    raw = read_bytes(place, limit)
    found.digests[name] = (len(raw), hashlib.sha256(raw).hexdigest())
    return parse_json(raw, place, "the file")


def _declaration(tree: dict[str, Any], name: str) -> dict[str, Any]:
    key = SIDE_FILES.get(name, "")
    inner = dict_of(tree.get(key)) if key else tree
    return inner or dict_of(tree.get("quantization")) or tree


def _index(found: Checkpoint, folder: Path, name: str) -> list[str]:
    place = member(folder, name, "the folder")
    raw = _keep(found, place, name, MAX_INDEX_BYTES)
    weights = raw.get("weight_map")
    if not isinstance(weights, dict) or not all(isinstance(v, str) for v in weights.values()):
        refuse(place, "has no 'weight_map' of tensor names to file names", "download it again")
    shards = sorted(set(weights.values()))
    if len(shards) > MAX_SHARDS:
        refuse(place, f"names {len(shards):,} files", f"{MAX_SHARDS:,} is the limit")
    found.index_map = weights
    found.index_total = count_of(dict_of(raw.get("metadata")).get("total_size"))
    return shards


def _lone(path: Path) -> Checkpoint:
    """A config.json or a side file by itself, with its partner of the same name beside it."""
    found = Checkpoint(path=path, format="config", names=[])
    tree = _keep(found, path, path.name)
    side = next((s for s in SIDE_FILES if path.name.endswith(s)), None)
    quantised = dict_of(tree.get("quantization"))
    if side or ("producer" in tree and "quant_algo" in quantised):
        found.sides[path.name] = _declaration(tree, side or "hf_quant_config.json")
    else:
        found.config, found.config_file = tree, path.name
        for name in SIDE_FILES:
            partner = path.with_name(path.name.removesuffix("config.json") + name)
            if path.name.endswith("config.json") and partner.is_file():
                place = member(path.parent, partner.name, "the folder")
                found.sides[partner.name] = _declaration(_keep(found, place, partner.name), name)
    name = path.name.removesuffix(".json").removesuffix("config").rstrip("_-.")
    name = name or path.absolute().parent.name
    found.names += [n.replace("--", "/") for n in (name, text_of(tree.get("_name_or_path"))) if n]
    return found


def _gguf(path: Path, facts: Facts, folder: Path | None = None) -> Checkpoint:
    types = facts.quant_formats.ggml_by_number
    place = member(path.parent, path.name, "the folder")
    found = Checkpoint(path=folder or path, format="gguf", names=[path.stem])
    split = SPLIT.match(path.name)
    numbers = range(1, int(split.group(3)) + 1) if split else (1,)
    if len(numbers) > MAX_SHARDS:
        refuse(path, f"says it is one of {len(numbers):,} files", f"{MAX_SHARDS:,} is the limit")
    for number in numbers:
        name = path.name
        if split:
            name = f"{split.group(1)}-{number:05d}-of-{split.group(3)}.gguf"
            place = member(path.parent, name, "the split set")
        if not place.exists():
            found.missing.append(name)
            continue
        header = gguf.read_header(place, types)
        found.gguf.append(header)
        found.digests[name] = (header.file_bytes, header.sha256)
    towers = [n for n in listing(path.parent) if n.lower().startswith(("mmproj", "mm-proj"))]
    for name in towers if folder else []:
        if name.endswith(".gguf"):
            header = gguf.read_header(member(path.parent, name, "the folder"), types)
            found.towers.append(header)
            found.digests[name] = (header.file_bytes, header.sha256)
    first = found.gguf[0].metadata if found.gguf else {}
    found.chat_template = any("tokenizer.chat_template" in h.metadata for h in found.gguf)
    if own := text_of(first.get("general.name")):
        found.names.append(own)
    found.presets = {
        k.removeprefix("general.sampling."): v for k, v in first.items()
        if k.startswith("general.sampling.")
    }  # fmt: skip
    return found
