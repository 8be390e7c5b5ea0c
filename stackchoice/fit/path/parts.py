"""Which parts a published artifact has, and how each is stored."""

from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Machine, Model, WeightPart
from stackchoice.fit.config import has_experts
from stackchoice.fit.path.resolve import KernelPath, paths


def artifact_parts(model: Model, artifact: Artifact, facts: Facts) -> list[WeightPart]:
    """Return the parts of an artifact; empty where nobody read how it is stored.

    Weights that are not quantised need no reading: every matrix is of the one type.
    """
    if artifact.parts.value is not None:
        return artifact.parts.value
    encoding = facts.encodings.get(artifact.encoding)
    if encoding is None or encoding.quantised:
        return []
    names = ["linear", "moe"] if has_experts(model.config.value or {}) else ["linear"]
    return [WeightPart(part=name, encoding=encoding.id) for name in names]


def artifact_path(
    model: Model, artifact: Artifact, engine_id: str, release: str | None, machine: Machine,
    facts: Facts,
) -> KernelPath | None:  # fmt: skip
    """Return the path of an artifact; None where its parts are not known."""
    parts = artifact_parts(model, artifact, facts)
    return paths(parts, engine_id, release, machine, facts) if parts else None
