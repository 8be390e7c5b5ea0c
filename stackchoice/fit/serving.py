"""Time per token and to first token of a server with many streams on one replica.

A step reads the weights its streams touch and every cache, multiplies for each stream, and shares
the chips with the prompts that arrive meanwhile; ``shrink`` fits what real engines add to that.
"""

import hashlib
import math
from collections.abc import Iterable
from typing import Any

from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Evidence, Record
from stackchoice.facts.interval import Interval
from stackchoice.facts.load import Facts
from stackchoice.facts.measurements import ServingRow
from stackchoice.facts.records import Machine
from stackchoice.facts.shares import ShareModel
from stackchoice.fit.cache import cache_layout
from stackchoice.fit.config import text_config, whole
from stackchoice.fit.interconnect import tensor_parallel_seconds
from stackchoice.fit.measured import Z80, calibrate
from stackchoice.fit.parameters import count_parameters
from stackchoice.fit.rates import rate_of
from stackchoice.fit.runs import link_over
from stackchoice.fit.shrink import Point, fit

#: Bits a weight, scales and 16-bit parts included, by the precision a row names.
BITS = {"fp4": 4.9, "int4": 4.6, "fp8": 8.5, "bf16": 16.0, "": 16.0}

PRIORS = {"one": 10.0, "slope": 0.6, "class": 0.3, "cell": 0.2, "source": 0.3}

#: Spread, in logarithms, of one row around its own set-up's habit; loads differ within a set-up.
ROW_SPREAD = {"tpot": 0.17, "ttft": 0.45}


class Load(Record):
    """Roofline seconds of one step and one prompt, and the classes that modify them."""

    memory_s: float
    compute_s: float
    link_s: float
    prompts_s: float
    first_s: float
    sparse: bool


def load(row: ServingRow, facts: Facts) -> Load | None:
    """Return the roofline of a row; None where model or machine are not known well enough.

    Weights touched: of ``E`` experts, ``E x (1 - (1 - k / E) ** streams)`` on the mean, since each
    stream picks ``k`` nearly alone. Rates of narrow arithmetic fall back to the next wider one.
    """
    model, machine = facts.models.get(row.model), facts.machines.get(row.machine)
    config = (model.config.value if model else None) or {}
    counts = count_parameters(config)
    if counts is None or machine is None:
        return None
    bandwidth = machine.bandwidth_gb_per_s.value
    narrow = {"fp4": ("fp4", "fp8"), "fp8": ("fp8",)}.get(row.precision, ())
    rate = rate_of(machine, *narrow, "16-bit")
    if not (bandwidth and rate):
        return None
    share = counts.routed_active / counts.routed if counts.routed else 0.0
    touched = 1 - (1 - share) ** row.concurrency
    weights = (counts.shared + counts.routed * touched) * counts.passes
    weights += counts.head or counts.embedding
    try:
        cache = cache_layout(config).bytes_per_sequence(row.input_tokens + row.output_tokens // 2)
    except UnknownCacheError:
        cache = 0
    operations = 2 * counts.prefill_active
    per_prompt = operations * row.input_tokens / (rate * 1e12 * row.tp)
    return Load(
        memory_s=(weights * BITS.get(row.precision, 8.5) / 8 + row.concurrency * cache)
        / (bandwidth * 1e9 * row.tp),
        compute_s=operations * row.concurrency / (rate * 1e12 * row.tp),
        link_s=_link_seconds(row, config, machine, facts),
        prompts_s=per_prompt * row.concurrency / row.output_tokens,
        first_s=per_prompt,
        sparse=counts.routed > 0,
    )


def _link_seconds(row: ServingRow, config: dict[str, Any], machine: Machine, facts: Facts) -> float:
    """Return seconds on the machine's own link of one step of all streams (0: not known).

    Prompts reduce large messages that engines overlap; what they cost there is fitted.
    """
    path = link_over(machine, None, row.tp, facts.links.values())
    text = text_config(config)
    layers, hidden = whole(text, "num_hidden_layers"), whole(text, "hidden_size")
    if path is None or layers is None or hidden is None:
        return 0.0
    streams = row.concurrency
    return streams * tensor_parallel_seconds(layers, hidden, row.tp, path, tokens=streams)


def _features(row: ServingRow, at: Load) -> dict[str, float]:
    step = at.memory_s + at.compute_s + at.link_s
    return {
        "one": 1.0,
        "slope:link": math.log1p(at.link_s / (at.memory_s + at.compute_s)),
        "slope:prompts": math.log1p(at.prompts_s / step),
        "slope:5 ms a step": math.log1p(0.005 / step),
        "slope:1 ms a step": math.log1p(0.001 / step),
        "slope:compute": math.log1p(at.compute_s / at.memory_s),
        "slope:streams": math.log(row.concurrency / 16),
        "slope:devices": math.log2(row.tp / 4),
        "slope:sparse streams": math.log(row.concurrency / 16) if at.sparse else 0.0,
        "slope:input": math.log(row.input_tokens / 1024),
        "slope:output": math.log(row.output_tokens / 1024),
        "slope:attention dp": math.log2(row.attention_dp),
        f"class:{'sparse' if at.sparse else 'dense'}": 1.0,
        f"class:{row.backend}": 1.0,
        f"class:{row.machine}": 1.0,
        f"class:precision {row.precision}": 1.0,
        f"class:model {row.model}": 1.0,
        f"cell:{row.backend} {row.machine}": 1.0,
        f"cell:{row.backend} {row.precision}": 1.0,
        f"cell:{row.backend} {row.model}": 1.0,
        f"cell:{row.machine} {row.model}": 1.0,
    }


def _base_s(at: Load, what: str) -> float:
    return at.memory_s + at.compute_s + at.link_s + (at.first_s if what == "ttft" else 0.0)


def group(row: ServingRow) -> str:
    """Name what is held out together: model, backend and machine."""
    return f"{row.model} {row.backend} {row.machine}"


def held_out(row: ServingRow) -> bool:
    """Whether a row's group is for testing: the last hexadecimal digit of its hash below 4."""
    return int(hashlib.sha256(group(row).encode()).hexdigest()[-1], 16) < 4


def fit_serving(rows: Iterable[ServingRow], facts: Facts, what: str = "tpot") -> ShareModel:
    """Fit ``"tpot"`` or ``"ttft"`` over the roofline; rows of unknown models are left out."""
    points = []
    for row in rows:
        at = load(row, facts)
        if at is None:
            continue
        seconds = (row.tpot_ms if what == "tpot" else row.ttft_ms) / 1000
        points.append(
            Point(
                features=_features(row, at), group=group(row),
                value=math.log(seconds / _base_s(at, what)), rough=_rough(at),
            )
        )  # fmt: skip
    return fit(points, PRIORS)


def _rough(at: Load) -> tuple[str, ...]:
    return ("sparse",) if at.sparse else ()


def predict(
    row: ServingRow,
    facts: Facts,
    model: ShareModel,
    what: str = "tpot",
    measured: Iterable[ServingRow] = (),
) -> Interval | None:
    """Return milliseconds per token or to first token; None where the roofline is not known.

    ``measured`` rows of the same model, backend, machine, precision and ``tp`` move the middle by
    their mean error, shrunk by how little it can vary, and narrow the spread.
    """
    at = load(row, facts)
    if at is None:
        return None
    low, middle, high = (math.log(f) for f in model.factors(_features(row, at), _rough(at)))
    errors = []
    for seen in measured:
        if (there := load(seen, facts)) is not None:
            value = (seen.tpot_ms if what == "tpot" else seen.ttft_ms) / 1000
            expected = model.factors(_features(seen, there), _rough(there))[1]
            errors.append(math.log(value / _base_s(there, what) / expected))
    if errors:
        shift, spread = calibrate(errors, (high - low) / (2 * Z80), ROW_SPREAD[what])
        middle += shift
        low, high = middle - Z80 * spread, middle + Z80 * spread
    low, middle, high = (1000 * _base_s(at, what) * math.exp(x) for x in (low, middle, high))
    return Interval(
        low=low, middle=middle, high=high, unit="ms", evidence=Evidence.INFERRED,
        rests_on=[f"{model.rows} serving measurements in {model.groups} groups"]
        + ([f"{len(errors)} rows of the same set-up"] if errors else []),
    )  # fmt: skip
