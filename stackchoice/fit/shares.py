"""What share of the ceiling a single stream reaches, as an interval, and why.

The share falls with fixed costs per token, with depth the cache of which is not known, with several
devices, and by class, engine and device; ``shrink`` fits those effects and their spread.
"""

import math
from collections.abc import Iterable

from stackchoice.facts.load import Facts
from stackchoice.facts.measurements import repository
from stackchoice.facts.shares import ShareModel
from stackchoice.fit.asked import asked_run
from stackchoice.fit.runs import Run, measured_run

#: Prior spread, in logarithms, of each kind of effect.
PRIORS = {
    "one": 10.0, "slope": 0.5, "prompt": 2.0, "devices": 0.4, "class": 0.3, "engine": 0.15,
    "device": 0.3, "cell": 0.2, "source": 0.4,
}  # fmt: skip

#: What rows count that their source warns of: capped power and slow kernels bite arithmetic, and so
#: the prompt, more than they bite reading.
DOUBTFUL = {"decode": 0.1, "prefill": 0.03}

#: Time a layer costs beside its bytes: fused graphs, and kernels that are launched one by one.
LAYER_MICROSECONDS = (20, 100)

#: Scale of what a layer costs a chunk of the prompt beside its arithmetic.
CHUNK_MICROSECONDS = 200

#: Bytes a token leaves in a layer's cache: 8 heads of 128, keys and values, of 16 bits.
CACHE_BYTES_PER_LAYER = 4096

#: Depth beyond which rows of unknown cache scatter more.
DEEP_TOKENS = 4096


def features(run: Run) -> dict[str, float]:
    """Features of a run: slopes in logarithms, classes and members as ones."""
    ceiling = run.ceiling or 1.0
    slopes = _decode if run.phase == "decode" else _prefill
    known = {"one": 1.0, **slopes(run, ceiling)}
    if run.sparse:
        known["slope:sparse"] = 1.0
    if run.reduces:
        # What the link's own time in the ceiling does not explain, and what an unknown one costs.
        known["devices:together"] = 1.0
        if run.link is None:
            known["devices:unknown link"] = 1.0
    if run.kernels == "portable" and run.encoding_family == "16-bit":
        known["class:portable 16-bit"] = 1.0
    kinds = (run.device_class, run.kernels, run.engine_family, run.encoding_family, run.vendor)
    for name in kinds:
        known[f"class:{name}"] = 1.0
    known[f"engine:{run.engine}"] = 1.0
    known[f"device:{run.device}"] = 1.0
    known[f"cell:{run.device} {run.encoding_family}{' sparse' if run.sparse else ''}"] = 1.0
    return known


def _decode(run: Run, ceiling: float) -> dict[str, float]:
    """Fixed time a layer, depth of unknown cache, and splitting over devices."""
    found = {
        f"slope:{us} us a layer": -math.log1p(ceiling * us * 1e-6 * run.layers)
        for us in LAYER_MICROSECONDS
    }
    if run.by_layer and run.devices > 1:
        found["slope:split by layer"] = math.log2(run.devices)
    if run.cache_bytes is None and run.depth_tokens:
        cache = run.depth_tokens * run.layers * CACHE_BYTES_PER_LAYER
        found["slope:depth"] = -math.log1p(cache / (run.active_bytes or cache))
    return found


def _prefill(run: Run, ceiling: float) -> dict[str, float]:
    """Weights and starts of kernels per chunk, attention where its size is not known."""
    prompt, chunk = run.prompt_tokens or 512, run.chunk_tokens
    starts = CHUNK_MICROSECONDS * 1e-6 * run.layers / chunk
    found = {"prompt:starts": -math.log1p(ceiling * starts)}
    if run.total_bytes and run.bandwidth_gb_per_s:
        seconds = run.total_bytes / (run.bandwidth_gb_per_s * 1e9 * chunk * run.devices)
        found["prompt:streaming"] = -math.log1p(ceiling * seconds)
    if not run.attention_operations:
        found["prompt:depth"] = -math.log1p(run.depth_tokens / 8192)
        found["prompt:length"] = -math.log1p(prompt / 16384)
    if run.by_layer and run.devices > 1:
        found["devices:split by layer"] = 1.0
    if run.native_gain > 1:
        found["prompt:narrow arithmetic"] = math.log(run.native_gain)
    return found


def rough(run: Run) -> tuple[str, ...]:
    """Traits that make a run scatter more."""
    traits = {
        "deep": run.cache_bytes is None and run.depth_tokens > DEEP_TOKENS,
        "several devices": run.devices > 1,
        "sparse": run.sparse,
        # Whether portable kernels reach a card's matrix units differs from card to card.
        "portable card": run.kernels == "portable" and run.device_class == "gpu",
        "16-bit": run.encoding_family == "16-bit",
        "other engine": run.engine_family == "other",
        "doubtful": not run.sound,
        "cpu": run.device_class == "cpu",
        "fast": run.phase == "decode" and (run.ceiling or 0) > 150,
    }
    return tuple(name for name, true in traits.items() if true)


def measured_runs(facts: Facts) -> list[Run]:
    """All runs with a known ceiling: rows of the measurements, and plain lines of the ledger."""
    rows = [run for row in facts.measurements if (run := measured_run(row, facts))]
    for case in facts.cases:
        if case["ask"] not in SPEED_ASKS or case["given"].get("speculation"):
            continue
        run = asked_run(case["ask"], case["given"], facts)
        rows.append(
            run.model_copy(
                update={
                    "tokens_per_s": case["answer"]["tokens_per_s"],
                    "source": repository(case["source_url"] or case["case"]),
                }
            )
        )
    return [run for run in rows if run.ceiling]


SPEED_ASKS = ("decode_tokens_per_s", "prefill_tokens_per_s")


def fit_shares(runs: Iterable[Run], phase: str, *, without: str | None = None) -> ShareModel:
    """Fit one phase; ``without`` leaves out every row of one source."""
    from stackchoice.fit.shrink import Point, fit

    points = [
        Point(
            features=features(run), value=math.log((run.tokens_per_s or 0) / (run.ceiling or 1)),
            group=run.source, rough=rough(run), sound=run.sound,
        )
        for run in runs if run.phase == phase and run.source != without
    ]  # fmt: skip
    model = fit(points, PRIORS, doubtful_weight=DOUBTFUL[phase])
    return model.model_copy(update={"phase": phase})
