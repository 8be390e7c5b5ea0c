"""A log by name: the machine and the checkpoint of the fact base that it belongs to."""

from pathlib import Path

from pydantic import Field

from stackchoice.errors import InputError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.datum import Record
from stackchoice.facts.names import artifact_named, named
from stackchoice.facts.records import Artifact
from stackchoice.facts.yaml import shown
from stackchoice.fit.path import artifact_parts, paths
from stackchoice.read.log_against import Compared, against, predicted_by
from stackchoice.read.log_reader import read_log
from stackchoice.read.log_records import Hardware, LogReading


class CheckedLog(Record):
    """A read log, with the predicted kernel path of each boot held against it."""

    reading: LogReading
    checks: list[list[Compared]] = Field(default=[], description="one list for each boot")


def read_log_by_name(
    path: Path,
    *,
    machine: str | None = None,
    engine: str | None = None,
    model: str | None = None,
    artifact: str | None = None,
    facts: Facts | None = None,
) -> CheckedLog:
    """Look the names up, read the log, and hold the predicted kernel path against it.

    Parameters
    ----------
    machine
        Id of the machine; what the log itself says of the chip when not given.
    model, artifact
        The checkpoint that was served; with one artifact in the fact base it is that one.

    Raises
    ------
    InputError
        When a name is not in the fact base: value, reason, fix.
    LogError
        When the file cannot be read.

    Examples
    --------
    >>> from stackchoice import read_log_by_name
    >>> from stackchoice.facts import data_dir
    >>> found = read_log_by_name(data_dir() / "samples" / "vllm_start.log", machine="h100_sxm")
    >>> [boot.engine for boot in found.reading.boots]
    ['vllm']
    """
    facts = facts or load_facts()
    chosen = None if machine is None else named("machine", machine, facts.machines)
    served = _artifact(model, artifact, facts)
    bits = served.weight_bits.value if served else None
    hardware = Hardware(
        capability=chosen.cuda_capability if chosen else None,
        weight_bits=None if bits is None else round(bits),
        activation_bits=served.activation_bits.value if served else None,
    )
    reading = read_log(path, facts.memory, engine=engine, hardware=hardware)
    checks = []
    if chosen and served and model:
        parts = artifact_parts(facts.models[model], served, facts)
        for boot in reading.boots:
            expected = paths(parts, boot.engine, boot.release or "unknown", chosen, facts)
            checks.append(against(predicted_by(expected), boot))
    return CheckedLog(reading=reading, checks=checks)


def _artifact(model: str | None, artifact: str | None, facts: Facts) -> Artifact | None:
    if model is None:
        if artifact is not None:
            raise InputError(f"artifact {shown(artifact)!r}: of which model? give --model as well")
        return None
    known = named("model", model, facts.models)
    if artifact is not None:
        return artifact_named(artifact, known)
    if len(known.artifacts) > 1:
        raise InputError(
            f"model {model!r}: it has {len(known.artifacts)} artifacts; name one with --artifact: "
            f"{', '.join(a.id for a in known.artifacts)}"
        )
    return next(iter(known.artifacts), None)
