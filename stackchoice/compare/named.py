"""What a passport's texts mean in the fact base: model, artifact, machine, engine, preset."""

import re

from stackchoice.confirm.identity import Identity
from stackchoice.confirm.passport import Protocol
from stackchoice.facts import Facts
from stackchoice.facts.names import model_called, plain_name
from stackchoice.facts.records import Artifact, Engine, Machine, Model

#: Words of a product's name that others leave out.
FILLERS = ("nvidia", "geforce", "amd", "intel", "gpu", "edition", "server", "the")


def model_of(identity: Identity, facts: Facts) -> Model | None:
    """Return the model of the fact base that the identity names; None unless it is exactly one."""
    return model_called((identity.model, identity.artifact), facts)


def artifact_of(identity: Identity, model: Model, facts: Facts) -> Artifact | None:
    """Return the model's artifact that the identity names, by its file or by its encoding.

    The model's name alone says nothing of the file, although one artifact often has it too.
    """
    named = [
        a for a in model.artifacts
        if identity.artifact and plain_name(a.id) == plain_name(identity.artifact)
    ]  # fmt: skip
    wanted = canonical_weights(identity.weight_format, facts)
    coded = [
        a for a in model.artifacts
        if wanted and wanted in (canonical_weights(a.encoding, facts), a.label.lower())
    ]  # fmt: skip
    both = [a for a in named if a in coded]
    for group in (both, coded, named if wanted is None else []):
        if len(group) == 1:
            return group[0]
    return None


def machine_of(identity: Identity, facts: Facts) -> Machine | None:
    """Return the machine whose name stands in the GPU's text; the longest such name, if one is."""
    if not identity.gpu:
        return None
    text = set(_words(identity.gpu))
    # What stands behind "+" or in brackets (the host's memory, an edition) others leave out.
    names = {m.id: _words(re.split(r"[+(]", m.name)[0]) for m in facts.machines.values()}
    hits = {i: w for i, w in names.items() if w and set(w) <= text}
    longest = max(map(len, hits.values()), default=0)
    best = [i for i, w in hits.items() if len(w) == longest]
    return facts.machines[best[0]] if len(best) == 1 else None


def engine_of(identity: Identity, facts: Facts) -> Engine | None:
    """Return the engine that the runtime's text names."""
    text = re.sub(r"[^a-z0-9]", "", (identity.runtime or "").lower())
    known = {re.sub(r"[^a-z0-9]", "", n.lower()): e
             for e in facts.engines.values() for n in (e.id, e.name)}  # fmt: skip
    hits = [name for name in known if name and text.startswith(name)]
    return known[max(hits, key=len)] if hits else None


def canonical_weights(text: str | None, facts: Facts) -> str | None:
    """Return one name for a weight format however an engine writes it."""
    if not text:
        return None
    found = facts.memory.weight_format(text)
    return found.id if found else text.lower()


def canonical_cache(text: str | None, facts: Facts) -> str | None:
    """Return one name for a cache format however an engine writes it; "auto" is none."""
    if not text or text.lower() == "auto":
        return None
    found = facts.memory.kv_format(text) or facts.memory.kv_format(text.lower())
    return found.id if found else text.lower()


def preset_name(protocol: Protocol, model: Model | None) -> str | None:
    """Name the published preset whose settings were used.

    Settings that were given decide: each must be the preset's, and temperature must be among them.
    """
    given = protocol.sampling_settings
    if not given or "temperature" not in given:
        return None
    if given["temperature"] == 0:
        return "greedy"
    found = [
        name for name, preset in (model.sampling_presets.items() if model else ())
        if all(preset.settings.get(k) == v for k, v in given.items())
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def _words(text: str) -> list[str]:
    return [w for w in re.findall(r"[a-z0-9]+", text.lower()) if w not in FILLERS]
