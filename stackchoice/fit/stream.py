"""One stream on a machine as a run: the bytes it reads, the rates it is held against."""

from collections.abc import Iterable
from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.config_defaults import config_keys
from stackchoice.facts.links import Link
from stackchoice.facts.measurements import SpeedClasses
from stackchoice.facts.records import Artifact, Machine, Model
from stackchoice.fit.config import has_experts, text_config, whole
from stackchoice.fit.kinds import passes
from stackchoice.fit.rates import compute_rates
from stackchoice.fit.runs import SPARSE_BELOW, Run, link_over, set_up


def stream_runs(
    model: Model, artifact: Artifact, machine: Machine, *, cache_bytes: int = 0, devices: int = 1,
    classes: SpeedClasses | None = None, engine: str = "", operand: str | None = None,
    links: Iterable[Link] = (), interconnect: str | None = None,
) -> dict[str, Run]:  # fmt: skip
    """Return a single stream in ``decode`` and ``prefill``, as shares of ceilings are fitted on.

    ``executed`` is prefill at the peak rate of the arithmetic that runs. The arguments are those
    of :func:`batch_one_speed`.
    """
    top_rate, rate = compute_rates(artifact, machine, operand)
    base = _run(model, artifact, machine, classes, engine, devices, cache_bytes, rate)
    base = base.model_copy(update={"link": link_over(machine, interconnect, devices, links)})
    prefill = base.model_copy(update={"phase": "prefill"})
    executed = prefill.model_copy(update={"tera_ops_per_s": top_rate})
    return {"decode": base, "prefill": prefill, "executed": executed}


def read_bytes(artifact: Artifact, model: Model | None = None) -> int | None:
    """Bytes of weights that one decode step reads: all of them, unless the file says less.

    Unknown for a mixture of experts, or a loop over layers, of which nobody counted what a token
    touches, and for a model that denoises several tokens at a time: all of its weights, once,
    would make a ceiling many times too low, or too high.
    """
    known, config = artifact.read_bytes_per_token, model.config.value if model else None
    if config and _denoises(config):
        return None
    if known.known:
        return known.value
    if config and (has_experts(config) or _loops(config)):
        return None
    return artifact.weights_bytes.value


def _denoises(config: dict[str, Any]) -> bool:
    kind = str(text_config(config).get("model_type") or "")
    return config_keys().denoised.match(kind) is not None


def _loops(config: dict[str, Any]) -> bool:
    return layers_run(config) != whole(text_config(config), "num_hidden_layers")


def layers_run(config: dict[str, Any]) -> int | None:
    """Return how many layers a token runs through; None where the config cannot be read."""
    text = text_config(config)
    layers = whole(text, "num_hidden_layers")
    try:
        return layers and passes(text, layers)
    except UnknownCacheError:
        return None


def _run(
    model: Model, artifact: Artifact, machine: Machine, classes: SpeedClasses | None,
    engine: str, devices: int, cache_bytes: int, rate: float | None,
) -> Run:  # fmt: skip
    encoding = classes.encoding(artifact.encoding) if classes else None
    total, read = artifact.weights_bytes.value, read_bytes(artifact, model)
    text = text_config(model.config.value or {})
    known = set_up(machine, "", engine, encoding.family if encoding else "any", devices, rate,
                   classes or SpeedClasses())  # fmt: skip
    if not (classes and engine):
        known["engine_family"] = "any"
    return Run(
        phase="decode", total_bytes=total, active_bytes=read, cache_bytes=cache_bytes,
        bandwidth_gb_per_s=machine.bandwidth_gb_per_s.value,
        active_parameters=model.active_parameters.value or model.parameters.value,
        sparse=bool(total and read and read < SPARSE_BELOW * total),
        layer_count=layers_run(model.config.value or {}), hidden_size=whole(text, "hidden_size"),
        **known,
    )  # fmt: skip
