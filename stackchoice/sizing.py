"""Question 1 by name: a model of the fact base or a file, a machine, a context; and its text."""

import os
from pathlib import Path
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts import Datum, Evidence, Facts, load_facts
from stackchoice.facts.links import path_over
from stackchoice.facts.names import artifact_named, named
from stackchoice.facts.records import Artifact, Model
from stackchoice.facts.yaml import shown, shown_lines
from stackchoice.fit.memory import GB
from stackchoice.fit.sizing import Sizing, size
from stackchoice.own_rates import own_rates
from stackchoice.read.bounded import MAX_CONFIG_BYTES, parse_json, read_bytes

#: As a scenario allows.
MAX_CONTEXT_TOKENS, MAX_DEVICES, MAX_WEIGHTS_GB = 100_000_000, 1024, 1_000_000


def size_by_name(
    model: str,
    machine: str,
    *,
    context_tokens: int,
    artifact: str | None = None,
    weights_gb: float | None = None,
    devices: int = 1,
    kv_dtype: str | None = None,
    engine: str | None = None,
    interconnect: str | None = None,
    measured: Path | str | None = None,
    facts: Facts | None = None,
) -> Sizing:
    """Look the names up and size.

    Parameters
    ----------
    model
        Id of a model in the fact base, or the path of a ``config.json``.
    weights_gb
        Size of the weights in decimal GB, for a config.json (unknown when not given).
    engine
        Engine to work cures out for; none when not given.
    interconnect
        What is between the devices, such as ``nvlink4`` or ``pcie5 x8``.
    measured
        A CSV of rates measured on this set-up, or a passport.

    Raises
    ------
    InputError, CheckpointError
        When a name is not in the fact base or the file cannot be read: value, reason, fix.

    Examples
    --------
    A token of this model takes 2 x 2 heads x 256 values x 2 bytes in each of 10 layers.

    >>> from stackchoice import size_by_name
    >>> found = size_by_name("Qwen/Qwen3.6-35B-A3B", "h100_sxm", context_tokens=8192)
    >>> found.kv_bytes_per_token == 2 * 2 * 256 * 2 * 10
    True
    """
    facts = facts or load_facts()
    if interconnect is not None and path_over(interconnect, facts.links.values(), 2) is None:
        raise InputError(
            f"interconnect {shown(interconnect)!r} is not known; give a kind and, where it has "
            f"them, its lanes (pcie5 x8); known: {', '.join(facts.links)}"
        )
    path = Path(model)
    _check_sizes(context_tokens, devices, weights_gb, kv_dtype, facts)
    if model not in facts.models and (path.suffix == ".json" or os.path.exists(model)):
        chosen = model_of_config(path, weights_gb)
    else:
        chosen = named("model", model, facts.models, ", or give the path of a config.json")
        if weights_gb is not None:
            raise InputError(
                f"weights_gb {weights_gb:g} belongs to a config.json; the weights of {model} are "
                "known, leave it out"
            )
    card = named("machine", machine, facts.machines)
    if engine is not None:
        named("engine", engine, facts.engines)
    taken = (
        artifact_named(artifact, chosen) if artifact is not None
        else max(chosen.artifacts, key=lambda a: a.weight_bits.value or 0)
    )  # fmt: skip
    found = size(
        chosen, taken, card, facts, context_tokens=context_tokens, devices=devices,
        kv_dtype=kv_dtype, engines=[engine] if engine else None, interconnect=interconnect,
        measured=own_rates(measured) if measured else (),
    )  # fmt: skip
    if model in facts.models or weights_gb is not None:
        return found
    unsaid = "a config does not say how large its weights are; give it as --weights-gb"
    note = "; ".join(text for text in (found.note, unsaid) if text)
    return found.model_copy(update={"note": note})


def _check_sizes(
    context_tokens: int, devices: int, weights_gb: float | None, kv_dtype: str | None, facts: Facts
) -> None:
    """Refuse numbers that no machine has, before the arithmetic meets them."""
    for name, value, most in (
        ("context", context_tokens, MAX_CONTEXT_TOKENS), ("devices", devices, MAX_DEVICES)
    ):  # fmt: skip
        if not 1 <= value <= most:
            raise InputError(f"{name} {shown(value)} is not possible; write 1 to {most:,}")
    check_weights(weights_gb)
    if kv_dtype is not None and facts.memory.kv_format(kv_dtype) is None:
        known = [one.id for one in facts.memory.kv_formats]
        raise InputError(
            f"kv_dtype {shown(kv_dtype)!r} is not known; write one of {', '.join(known)}"
        )


def check_weights(weights_gb: float | None) -> None:
    """InputError where a size of weights is none that a model has."""
    if weights_gb is not None and not 0 < weights_gb <= MAX_WEIGHTS_GB:
        raise InputError(
            f"weights_gb {weights_gb:g} is not possible; write more than 0 and at most "
            f"{MAX_WEIGHTS_GB:,}, or leave it out when it is not known"
        )


def model_of_config(path: Path, weights_gb: float | None = None) -> Model:
    """Return a model that is only a ``config.json``: its layers known, its parameters not.

    CheckpointError, InputError, UnknownCacheError, ConfigError when the file cannot be read or is
    no config.
    """
    config = parse_json(read_bytes(path, MAX_CONFIG_BYTES), path, "config.json")
    return config_model(path.name, config, weights_gb)


def config_model(name: str, config: dict[str, Any], weights_gb: float | None = None) -> Model:
    """Return a model of which only the config is known, with one artifact."""
    note = "read from the file given"
    weights = Datum[int]()
    if weights_gb is not None:
        weights = Datum[int](
            value=round(weights_gb * GB), evidence=Evidence.ASSUMED, note="given with the command"
        )
    return Model(
        id=name,
        name=name,
        licence=Datum[str](),
        config=Datum[dict[str, Any]](value=config, evidence=Evidence.ASSUMED, note=note),
        parameters=Datum[int](),
        active_parameters=Datum[int](),
        context_tokens=Datum[int](),
        modalities=Datum[list[str]](),
        artifacts=[
            Artifact(
                id=name, label="as given", format="safetensors", encoding="unknown",
                weights_bytes=weights,
            )
        ],
    )  # fmt: skip


def describe_sizing(found: Sizing) -> str:
    """Return a sizing as text for a terminal."""
    lines = [
        f"{found.model}, {found.artifact}, on {found.devices} x {found.machine}, "
        f"{found.context_tokens:,} tokens, cache {found.kv_dtype}"
    ]
    if found.note:
        lines.append(f"  {found.note}")
    lines += [
        f"  {g.layers} layers {g.kind}: {g.bytes_per_token:,} B "
        + ("a token" if g.ratio == 1 else f"every {g.ratio} tokens")
        + (f" up to {g.window_tokens:,} tokens" if g.window_tokens else "")
        + (f", state {g.state_bytes:,} B" if g.state_bytes else "")
        for g in found.layers
    ]
    if found.bytes_per_sequence is not None:
        lines.append(f"  one sequence: {found.bytes_per_sequence:,} B (computed)")
    over = found.rows[0].bytes_per_sequence
    if over and found.bytes_per_sequence and over > found.bytes_per_sequence:
        lines.append(
            f"  over {found.devices} devices it takes {over:,} B (computed): what does not divide "
            "is on each"
        )
    if found.workspace:
        lines.append(f"  {found.workspace}")
    shared = f" of all {found.devices} devices' memory" if found.devices > 1 else ""
    for row in found.rows:
        pool = "unknown" if row.pool_bytes is None else f"{row.pool_bytes / GB:,.2f} GB"
        lines.append(
            f"  {row.basis}: {pool} left, {row.sequences} live by quotient{shared} "
            f"({row.evidence.value})"
        )
    for admitted in found.admissions:
        counted = f"{admitted.sequences} ({admitted.evidence.value})"
        if admitted.refused:
            counted = admitted.refused
        elif admitted.rule == "quotient":
            counted += ", by quotient: its own admission is not sourced"
        if admitted.unsure and not admitted.refused:
            counted += f"; {admitted.unsure}"
        lines.append(
            f"    {admitted.engine} {admitted.release}, {admitted.settings}, on {admitted.basis}: "
            f"{counted}"
        )
    fits = any(row.live_sequences for row in found.rows)
    if fits and found.speed is not None:
        decode, ceiling = found.speed.decode, found.speed.decode_ceiling_tokens_per_s
        lines.append(
            "  how fast one stream decodes is unknown" if decode is None or ceiling is None
            else f"  one stream decodes {decode.low:,.1f} to {decode.high:,.1f} tokens/s, at most "
            f"{ceiling:,.1f} ({decode.evidence.value}; {'; '.join(decode.rests_on)})"
        )  # fmt: skip
        lines += [f"  unknown: {what}" for what in found.speed.unknown]
    for engine, cures in found.cures.items():
        for cure in cures.cures:
            freed = f", {cure.freed_bytes / GB:,.1f} GB freed a device" if cure.freed_bytes else ""
            lines.append(
                f"  cure for {engine}: {cure.kind}, {cure.what}: {cure.live_sequences} sequences "
                f"({cure.admission.evidence.value}){freed}; {cure.note}"
            )
        lines += [f"  {what} falls: {why}" for what, why in cures.fell.items()]
    return shown_lines(*lines)
