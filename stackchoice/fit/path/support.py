"""Has this release caught up with this architecture: feature by feature, yes, no or unknown."""

from typing import Any, Literal

from stackchoice.errors import StackchoiceError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.facts.datum import Datum, Evidence, Record, entry
from stackchoice.facts.load import Facts
from stackchoice.facts.records import SEEN_BY, Engine
from stackchoice.fit.admission import admit
from stackchoice.fit.config import architecture_of, text_config
from stackchoice.fit.path.resolve import KernelPath
from stackchoice.fit.release import Moment, reached, read_moment, read_release

Answer = Literal["yes", "no", "unknown"]
#: Rules of admission that follow an engine's own allocator.
OWN_RULES = ("block_groups", "token_pool", "cells")
RECURRENT = ("linear_attention", "mamba")
ANSWER: dict[bool | None, Answer] = {True: "yes", False: "no", None: "unknown"}
#: Features without which nothing starts.
GATES = ("file format", "registered")


class Feature(Record):
    """One feature of one release for one architecture. ``since`` is the first release known."""

    name: str
    answer: Answer
    since: str = ""
    evidence: Evidence | None = None
    source: str = ""
    note: str = ""


def caught_up(
    config: dict[str, Any],
    engine_id: str,
    release: str | None,
    facts: Facts,
    path: KernelPath | None = None,
    *,
    vision: bool = False,
    file_format: str = "",
) -> list[Feature]:
    """Return what a release has of an architecture.

    Parameters
    ----------
    config
        The model's ``config.json``.
    path
        The kernel path of its weights, for the quantisation; left out when not given.
    vision
        Whether the model takes images.
    file_format
        ``safetensors``, ``gguf`` or ``mlx``; not asked for when empty.
    """
    engine = facts.engines[engine_id]
    release = release or engine.latest.version
    moment = read_moment(release, engine_id, facts.kernels)
    name = architecture_of(config)
    found = [_format(engine, file_format)] if file_format else []
    registered = engine.architectures.get(name, Datum[str]())
    found += [_since("registered", registered, engine.id, moment, facts),
              _cache(config, engine, release, facts)]  # fmt: skip
    text = text_config(config)
    if any(text.get(key) or config.get(key) for key in config_keys().draft_layers):
        found.append(_supported("draft head", "draft_head", engine, name, moment, facts))
    if _recurrent(text):
        found.append(_prefix_caching(engine, release, facts))
    if vision or config.get("vision_config"):
        found.append(_supported("vision", "vision", engine, name, moment, facts))
    if path is not None:
        found.append(_quantisation(path))
    return found


def loads_there(path: KernelPath, features: list[Feature]) -> tuple[bool | None, str]:
    """Whether a release loads a checkpoint at all, and by which answer it does not.

    Its file format, its architecture and the kernels of its parts must all be there.
    """
    gates = [f for f in features if f.name in GATES]
    for gate in gates:
        if gate.answer == "no":
            return False, f"{gate.name}: no" + (f", first {gate.since}" if gate.since else "")
    if path.loads is False:
        return False, "a part has no kernel here"
    open_ = [f.name for f in gates if f.answer == "unknown"]
    open_ += ["the kernels of a part"] if path.loads is None else []
    return (None, f"unknown: {', '.join(open_)}") if open_ else (True, "")


def _feature(
    name: str, has: bool | None, known: Datum[Any], note: str, since: str = ""
) -> Feature:  # fmt: skip
    """Return a feature that a fact tells of, with the class and source of that fact."""
    return Feature(
        name=name, answer=ANSWER[has], since=since, note=note,
        evidence=known.evidence if known.known else None,
        source=known.source.label if known.source else "",
    )  # fmt: skip


def _format(engine: Engine, file_format: str) -> Feature:
    known = entry(engine.formats, file_format)
    note = f"{file_format} files" + (f"; {known.note}" if known.note else "")
    return _feature("file format", known.value, known, note)


def _supported(
    label: str, feature: str, engine: Engine, name: str, moment: Moment, facts: Facts
) -> Feature:
    row = next(
        (r for r in facts.kernels.support
         if (r.engine, r.feature) == (engine.id, feature)
         and (name in r.architectures or "*" in r.architectures)), None,
    )  # fmt: skip
    return _since(label, row.since if row else Datum[str](), engine.id, moment, facts)


def _since(label: str, known: Datum[str], engine_id: str, moment: Moment, facts: Facts) -> Feature:
    """Answer from a first release: ``any``, ``no``, or a number to compare with."""
    if known.value is None:
        return Feature(name=label, answer="unknown", note=known.note or "no source tells")
    if known.value in ("any", "no"):
        return _feature(label, known.value == "any", known, known.note)
    seen = known.value.removeprefix(SEEN_BY)
    has = reached(moment, seen, engine_id, facts.kernels)
    if seen != known.value:  # an older release may have it as well
        return _feature(label, has or None, known, known.note)
    return _feature(label, has, known, known.note, seen)


def _cache(config: dict[str, Any], engine: Engine, release: str, facts: Facts) -> Feature:
    """Whether the release's own allocator is modelled for this cache."""
    label = "cache modelled"
    try:
        found = admit(
            engine.id, release, config, pool_bytes=2**36, context_tokens=4096,
            settings={"max_num_batched_tokens": 8192}, facts=facts,
        )  # fmt: skip
    except StackchoiceError as error:
        return Feature(name=label, answer="unknown", note=str(error))
    note = "; ".join(found.notes)
    if found.live_sequences is None:
        return Feature(name=label, answer="unknown", note=note or "no sourced rule")
    own = found.rule in OWN_RULES
    return Feature(
        name=label, answer="yes" if own else "unknown", evidence=found.evidence,
        note=note if own else "a plain quotient: the engine's own rule is not sourced",
    )  # fmt: skip


def _prefix_caching(engine: Engine, release: str, facts: Facts) -> Feature:
    """Whether prefix caching is on for models with recurrent state."""
    label = "prefix caching with recurrent state"
    version = read_release(release, engine).version
    rows = [
        f for f in facts.memory.allocators
        if (f.engine, f.key, f.family) == (engine.id, "prefix_caching", "hybrid")
    ]  # fmt: skip
    datum = facts.memory.fact(engine.id, "prefix_caching", version, "hybrid") if rows else Datum()
    if datum.value is None:
        return Feature(name=label, answer="unknown", note="no source tells for such models")
    first = next((f.since for f in rows if f.value.value is True), "")
    return _feature(label, datum.value, datum, datum.note or "the release's default", first)


def _quantisation(path: KernelPath) -> Feature:
    label = "its quantisation"
    if path.loads is None:
        note = next((p.prefill.note for p in path.parts if p.loads is None), "parts not known")
        return Feature(name=label, answer="unknown", note=note)
    said = path.refusals() or path.fallbacks or path.parts
    phase = said[0].prefill
    return Feature(
        name=label, answer="yes" if path.loads else "no",
        since=phase.releases.removeprefix("from "), evidence=phase.evidence,
        source=phase.source.label if phase.source else "",
        note=phase.arithmetic_text + (f"; {phase.note}" if phase.note else ""),
    )  # fmt: skip


def _recurrent(text: dict[str, Any]) -> bool:
    kinds = text.get("layer_types") or []
    pattern = text.get("hybrid_override_pattern") or ""
    return (
        any(kind in RECURRENT for kind in kinds if isinstance(kind, str))
        or (isinstance(pattern, str) and "M" in pattern)
        or bool(text.get("linear_attn_config"))
        or bool(text.get("full_attention_interval") and text.get("linear_num_value_heads"))
    )
