"""The question of the kernel path, answered from quantisation file, engine, release and chip."""

from typing import Any

from stackchoice.facts.load import Facts
from stackchoice.facts.records import WeightPart
from stackchoice.fit.asked import find_machine
from stackchoice.fit.path import PhasePath, chip_named, chip_of, paths
from stackchoice.read.uses import container
from stackchoice.score.given import Answer, Given, Unknown, engine_id, files_of


def kernel_path(given: Given, facts: Facts) -> Answer:
    """Answer with what prefill multiplies; of a mixed file for the modules of fewest bits."""
    engine = engine_id(given.get("engine"), facts)
    if engine is None:
        raise Unknown(f"no kernels of engine {given.get('engine')!r} are known")
    gpu = given.get("gpu") or given.get("machine") or {}
    if forced := _forced(given.get("settings") or {}):
        raise Unknown(f"{forced} is set by hand; what is known is the automatic choice")
    chip = chip_named(gpu.get("arch"), facts.kernels)
    if chip is None and not gpu.get("arch") and gpu.get("name"):
        machine = find_machine(gpu, facts)
        chip = chip_of(machine, facts.kernels) if machine else None
    if chip is None:
        raise Unknown(f"architecture {gpu.get('arch')!r} is no chip of the fact base")
    found = [
        paths([part], engine, given.get("engine_version") or "", chip, facts).parts[0].prefill
        for part in parts_of(given, facts)
    ]
    answers = [_answer(phase) for phase in found]
    if any(answer != answers[0] for answer in answers):
        raise Unknown("the files contradict each other, and the answer depends on which is read")
    return answers[0]


def parts_of(given: Given, facts: Facts) -> list[WeightPart]:
    """Return the modules of fewest bits that the files of a question declare.

    Unknown when nothing is declared, or in words that no table here names.
    """
    _, saids = files_of(given, facts)
    if unread := next((s.unread for s in saids if s.unread and not s.best), ""):
        raise Unknown(f"the encoding cannot be read: {unread}")
    declared = [(said, group) for said in saids for group in said.best]
    bits = [facts.encodings[g.encoding].weight_bits for _, g in declared]
    fewest = min((b for b in bits if b is not None), default=None)
    if fewest is None:
        raise Unknown("no file declares how the weights are stored")
    chosen = {
        (_part(g), g.encoding, container(said, g.encoding, facts))
        for (said, g), own in zip(declared, bits, strict=True) if own == fewest
    }  # fmt: skip
    return [
        WeightPart(part=part, encoding=encoding, container=container)
        for part, encoding, container in sorted(chosen)
    ]


def _forced(settings: dict[str, Any]) -> str:
    """Return a setting that names a backend, unless it leaves the choice to the engine."""
    return next(
        (f"{key}={value}" for key, value in settings.items()
         if "backend" in key and "attention" not in key and value not in (None, "auto")), "",
    )  # fmt: skip


def _part(group: Any) -> str:
    """Return the part that a group is of: experts where its modules are, else matrices."""
    listed = [name for name in group.names if "experts" in name and "shared" not in name]
    return "moe" if group.part == "moe" or listed else "linear"


def _answer(phase: PhasePath) -> Answer:
    if phase.loads is None or phase.arithmetic is None:
        raise Unknown(phase.note or "what is multiplied is not known")
    if phase.loads and phase.as_checkpoint_declares is None:
        raise Unknown("the file declares no activations")
    bits = phase.weight_bits if phase.loads else None
    return {
        "weight_bits": int(bits) if bits is not None and bits == int(bits) else bits,
        "activation_bits": phase.activation_bits if phase.loads else None,
        "arithmetic": phase.arithmetic, "native": phase.native,
        "as_checkpoint_declares": phase.as_checkpoint_declares,
    }  # fmt: skip
