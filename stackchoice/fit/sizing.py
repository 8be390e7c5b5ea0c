"""Question 1 for one model on one machine, without a scenario: cache, budgets, admission, cures."""

from collections.abc import Iterable
from typing import Any

from stackchoice.errors import InputError, UnknownCacheError
from stackchoice.facts.datum import Datum, Record
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Machine, Model
from stackchoice.fit.admissions import AdmissionRow, admission_rows, lightest, workspaces_of
from stackchoice.fit.cache import CacheLayout, LayerGroup, cache_layout, held_layout
from stackchoice.fit.config import text_config
from stackchoice.fit.cures import Cures, Situation, cures
from stackchoice.fit.measured import MeasuredRate
from stackchoice.fit.memory import FitRow, fit_row, nominal_bytes, usable_bytes
from stackchoice.fit.speed import Speed, batch_one_speed
from stackchoice.fit.workspace import said


class Premise(Record):
    """The cache of one sequence under one reading of the config; only one of them is true."""

    name: str
    layers: int
    kv_heads: int
    bytes_per_token: int
    bytes_at_context: int
    true: bool


class Sizing(Record):
    """What fits, in which engine release, and what would help where it does not."""

    model: str
    artifact: str
    machine: str
    devices: int
    context_tokens: int
    kv_dtype: str
    layers: list[LayerGroup] = []
    kv_bytes_per_token: float | None = None
    state_bytes_per_sequence: int | None = None
    bytes_per_sequence: int | None = None
    premises: list[Premise] = []
    rows: list[FitRow]
    workspace: str = ""
    admissions: list[AdmissionRow] = []
    speed: Speed | None = None
    cures: dict[str, Cures] = {}
    note: str = ""


def size(
    model: Model,
    artifact: Artifact,
    machine: Machine,
    facts: Facts,
    *,
    context_tokens: int,
    devices: int = 1,
    kv_dtype: str | None = None,
    engines: list[str] | None = None,
    interconnect: str | None = None,
    measured: Iterable[MeasuredRate] = (),
) -> Sizing:
    """Answer question 1 for one artifact on some devices of a machine.

    Parameters
    ----------
    engines
        Engines to work cures out for; none when not given, since cures search the whole fact base.
        Speed is that of the engine where one is given, else of any.
    interconnect, measured
        What is between the devices, and rates measured on this set-up; see ``batch_one_speed``.

    Raises
    ------
    InputError
        When the context or the number of devices is less than one.
    """
    for name, value in (("context_tokens", context_tokens), ("devices", devices)):
        if value < 1:
            raise InputError(f"{name}: {value} is less than one; give a whole number from 1 on")
    config = model.config.value or {}
    layout, unread = layout_or_why(config, kv_dtype, facts)
    per_sequence = layout.bytes_per_sequence(context_tokens) if layout else None
    held = layout and held_by(config, devices, kv_dtype, facts, engines)
    limit, beyond = model.context_tokens.value, ""
    if limit is not None and context_tokens > limit:
        beyond = (
            f"the model's context is {limit:,} tokens; {context_tokens:,} are asked, so no engine "
            "serves this without another rope setting"
        )
    note = "; ".join(text for text in (unread, beyond) if text)
    spaces, taken = taken_by(config, artifact, machine, devices, facts, engines)
    one = held.bytes_per_sequence(context_tokens) if held else None
    rows = [
        fit_row(**asked, bytes_per_sequence=one)
        for asked in budgets(artifact, machine, devices, taken, note)
    ]
    admissions = admission_rows(
        config, machine, rows, context_tokens=context_tokens, devices=devices, facts=facts,
        kv_dtype=kv_dtype, file_format=artifact.stated_format, workspaces=spaces,
    )  # fmt: skip
    situation = Situation(
        engine="", model=model, artifact=artifact, machine=machine, tp=devices,
        context_tokens=context_tokens, kv_dtype=kv_dtype,
    )  # fmt: skip
    return Sizing(
        model=model.id,
        artifact=artifact.label,
        machine=machine.name,
        devices=devices,
        context_tokens=context_tokens,
        kv_dtype=layout.kv_dtype if layout else kv_dtype or "unknown",
        layers=layout.groups if layout else [],
        kv_bytes_per_token=layout and layout.kv_bytes_per_token,
        state_bytes_per_sequence=layout and layout.state_bytes_per_sequence,
        bytes_per_sequence=per_sequence,
        premises=premises(config, context_tokens, facts, kv_dtype),
        rows=rows,
        workspace=said(taken, devices),
        admissions=admissions,
        speed=batch_one_speed(
            model, artifact, machine, facts.efficiencies, devices=devices,
            cache_bytes=one or 0, shares=facts.share_models, classes=facts.speed_classes,
            engine=engines[0] if engines and len(engines) == 1 else "",
            links=facts.links.values(), interconnect=interconnect, measured=measured,
            cache_at=held.bytes_per_sequence if held else None,
        ),
        cures={
            engine: cures(situation.model_copy(update={"engine": engine}), facts)
            for engine in engines or []
        },
        note=note,
    )  # fmt: skip


def budgets(
    artifact: Artifact, machine: Machine, devices: int, taken: Datum[int], note: str = ""
) -> list[dict[str, Any]]:
    """Return both memory budgets, each as what :func:`fit_row` asks for beside a sequence."""
    parts = {"weights_bytes": artifact.weights_bytes, "workspace_bytes": taken}
    usable = usable_bytes(machine, devices)
    notes = "; ".join(text for text in (note, usable.note) if text)
    return [
        {"basis": "the vendor's GB", "memory_bytes": nominal_bytes(machine, devices),
         "note": note, **parts},
        {"basis": "the memory the machine reports", "memory_bytes": usable, "note": notes,
         **parts},
    ]  # fmt: skip


def premises(
    config: dict[str, Any], context_tokens: int, facts: Facts, kv_dtype: str | None = None
) -> list[Premise]:
    """Return the cache as classic attention, as grouped-query everywhere, and as it is.

    ``layers x 2 x heads x head_dim x bytes``: with every query head's own keys and values, with
    the config's key-value heads in every layer, and by the layers that really keep tokens.
    Empty where the config is of another kind (latent attention, say).
    """
    text = text_config(config)
    layout, _ = layout_or_why(config, kv_dtype, facts)
    heads, layers = text.get("num_attention_heads"), text.get("num_hidden_layers")
    if layout is None or not heads or not layers:
        return []
    kv_heads = text.get("num_key_value_heads") or heads
    if not all(type(n) is int and n > 0 for n in (heads, layers, kv_heads)):
        return []
    keeping = [g for g in layout.groups if g.kind == "full_attention" and g.layers]
    if not keeping or "kv_lora_rank" in text:
        return []
    per_head = sum(g.bytes_per_token for g in keeping) / sum(g.layers for g in keeping) / kv_heads

    every_head, every_layer = layers * heads * per_head, layers * kv_heads * per_head
    real = sum(g.layers for g in layout.groups if g.bytes_per_token)
    kept = layout.bytes_per_sequence(context_tokens) - layout.state_bytes_per_sequence
    rows = (
        ("every query head keeps its own (MHA)", layers, heads, every_head,
         every_head * context_tokens, False),
        ("key-value heads in every layer (GQA)", layers, kv_heads, every_layer,
         every_layer * context_tokens, real == layers and len(layout.groups) == 1),
        ("the layers that keep tokens, as they are", real, kv_heads, layout.kv_bytes_per_token,
         kept, True),
    )  # fmt: skip
    return [
        Premise(name=name, layers=count, kv_heads=wide, bytes_per_token=int(tokens),
                bytes_at_context=int(total), true=true)
        for name, count, wide, tokens, total, true in rows
    ]  # fmt: skip


def taken_by(
    config: dict[str, Any], artifact: Artifact, machine: Machine, devices: int, facts: Facts,
    engines: list[str] | None = None,
) -> tuple[dict[str, Datum[int]], Datum[int]]:  # fmt: skip
    """Return what each engine takes beside weights and cache, and what the budgets are given.

    That of the engine asked about, else of the one that takes least.
    """
    spaces = workspaces_of(
        config, machine, devices=devices, facts=facts, weights_bytes=artifact.weights_bytes.value,
    )  # fmt: skip
    named = {engine: spaces[engine] for engine in engines or [] if engine in spaces}
    return spaces, lightest(named or spaces, config, facts, artifact.stated_format)


def held_by(
    config: dict[str, Any], devices: int, kv_dtype: str | None, facts: Facts,
    engines: list[str] | None = None,
) -> CacheLayout:  # fmt: skip
    """Return what a replica's devices hold together, as the engine asked about spreads it."""
    whole = any(facts.speed_classes.splits_by_layer(engine) for engine in engines or [])
    return held_layout(config, 1 if whole else devices, kv_dtype, memory=facts.memory)


def layout_or_why(
    config: dict[str, Any], kv_dtype: str | None, facts: Facts
) -> tuple[CacheLayout | None, str]:
    """Return the layers of a config, or why they cannot be read."""
    try:
        return cache_layout(config, kv_dtype, memory=facts.memory), ""
    except UnknownCacheError as error:
        return None, str(error)
