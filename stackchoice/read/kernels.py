"""A checkpoint's parts handed to the kernel path of an engine release on a machine."""

from __future__ import annotations

from stackchoice.errors import InputError
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.records import WeightPart
from stackchoice.fit.moment import checked_release
from stackchoice.fit.path import paths
from stackchoice.read.declared import Said
from stackchoice.read.inspection import Inspection

#: Cache formats by the ids that encodings have.
CACHE = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "auto": ""}


def container_of(said: Said | None) -> str:
    """Return the checkpoint format that engines choose a loader by.

    ModelOpt files that name an algorithm for each layer are another format than those with one.
    """
    if said is None:
        return ""
    listed = bool(said.of("quantized_layers"))
    method = said.method.lower()
    return f"{method}_mixed" if method.startswith("modelopt") and listed else method


def weight_parts(found: Inspection, facts: Facts) -> list[WeightPart]:
    """Return the parts of an inspected checkpoint in the words of the kernel facts."""
    container = {"gguf": "gguf", "mlx": "mlx"}.get(found.format, "")
    container = container or container_of(found.declared[0] if found.declared else None)
    plain = next((p.encoding for p in found.parts if not _quantised(p.encoding, facts)), "bf16")
    rows = []
    for part in found.parts:
        encoding = part.encoding
        if part.part == "attention":
            encoding = CACHE.get(encoding, encoding) or plain
        own = container if part.part != "attention" and _quantised(encoding, facts) else ""
        rows.append(WeightPart(part=part.part, encoding=encoding, container=own,
                               modules=part.modules, bytes=part.bytes))  # fmt: skip
    return rows


def _quantised(encoding_id: str, facts: Facts) -> bool:
    encoding = facts.encodings.get(encoding_id)
    return encoding is None or encoding.quantised


def with_paths(
    found: Inspection, engine: str | None, machine: str | None, facts: Facts | None = None
) -> Inspection:
    """Return the report with the kernel path of each part.

    Parameters
    ----------
    engine
        ``NAME`` or ``NAME==RELEASE``; the newest release where none is given.
    machine
        A machine of the fact base.

    Raises
    ------
    InputError
        When one of the two is missing or not known.
    """
    facts = facts or load_facts()
    if not engine or not machine:
        raise InputError("--engine and --machine belong together; give both or neither")
    name, _, release = engine.partition("==")
    if name not in facts.engines:
        raise InputError(f"engine {name!r} is not known; known: {', '.join(facts.engines)}")
    if machine not in facts.machines:
        raise InputError(f"machine {machine!r} is not known; known: {', '.join(facts.machines)}")
    parts = weight_parts(found, facts)
    release = checked_release(release or None, name, facts.kernels)
    path = paths(parts, name, release, facts.machines[machine], facts)
    return found.model_copy(update={"path_there": path})
