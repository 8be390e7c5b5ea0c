"""What panels show without a decision: a sizing, printed figures, the workload in a log."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from stackchoice.facts.datum import Datum, Evidence
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Machine, Model
from stackchoice.facts.told import Cited, Told, Why, Working
from stackchoice.fit import CacheLayout, PremiseCheck, Sizing
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.memory import GIB
from stackchoice.fit.premises import readings
from stackchoice.fit.sizing import budgets, held_by, layout_or_why, taken_by
from stackchoice.fit.stream import stream_runs
from stackchoice.traffic import Measured
from stackchoice.traffic.section import workload_inputs
from stackchoice.why.fit import Asked, admitted, quotients, telling, told_plan
from stackchoice.why.speed import streams

CHOSEN = "chosen in the panel"
RULE = (
    "under each premise the printed memory holds whole blocks; the premise says how large one is "
    "and how blocks become the printed tokens"
)


def sized(
    found: Sizing, model: Model, artifact: Artifact, machine: Machine, facts: Facts,
    kv_dtype: str | None = None,
) -> Iterator[Why]:  # fmt: skip
    """Yield why a sizing's budgets, admissions and decode speed are what they are.

    Parameters
    ----------
    found
        Of :func:`stackchoice.fit.sizing.size`, asked with everything that follows.
    """
    devices, context = found.devices, found.context_tokens
    config, engines = model.config.value or {}, list(found.cures)
    layout, _ = layout_or_why(config, kv_dtype, facts)
    spaces, taken = taken_by(config, artifact, machine, devices, facts, engines)
    held = layout and held_by(config, devices, kv_dtype, facts, engines)
    asked = Asked(
        model, artifact, machine, devices, held, budgets(artifact, machine, devices, taken),
        context, lambda work: work.fact("context tokens", context, "tokens",
                                        evidence=Evidence.STATED, source=CHOSEN),
        facts, kv_dtype, artifact.stated_format, spaces,
    )  # fmt: skip
    for part in (quotients, admitted):
        yield from (why for _, why in part(asked))
    runs = stream_runs(
        model, artifact, machine, cache_bytes=held.bytes_per_sequence(context) if held else 0,
        devices=devices, classes=facts.speed_classes, links=facts.links.values(),
        engine=next(iter(found.cures), ""),
    )  # fmt: skip
    site = SimpleNamespace(model=model, artifact=artifact, machine=machine, speed=found.speed)
    yield from (why for phase, why in streams(facts, site, runs, "all") if phase == "decode")


def printed(check: PremiseCheck, asked: Launch, config: Datum[Any]) -> Iterator[Why]:
    """Yield why each premise would print what it would.

    Parameters
    ----------
    check
        Of :func:`stackchoice.fit.check_premises` for the launch ``asked``.
    config
        That of the model.
    """
    length = asked.context_tokens
    for premise in check.premises:
        if premise.blocks is None:
            continue
        work = Working()
        layout: CacheLayout = telling(work, asked.layout(), config)
        plan = told_plan(work, asked)
        block = Told(plan.attention_block_tokens or 1, "tokens of an attention block")
        plan = plan.model_copy(update={"attention_block_tokens": block})
        tokens = work.fact("longest request", length, "tokens", evidence=Evidence.STATED,
                           source=CHOSEN)  # fmt: skip
        _, size, prints, holds = readings(plan, layout, tokens)[premise.id]
        size = work.step("bytes of a block", size, "B")
        blocks = work.fact("blocks", premise.blocks, note="found from the printed figures")
        work.step("memory for them", blocks * size / GIB, "GiB")
        work.step("pool that would be printed", prints(blocks), "tokens")
        work.step("concurrency that would be printed", holds(blocks))
        source = asked.memory.fact(asked.engine, "printed_pool", asked.version)
        work.fact("how this release prints its pool", source.value, datum=source)
        yield work.why(premise.text, RULE, Evidence.COMPUTED)


def logged(log: Measured) -> Why:
    """Return where every input that a log answers comes from."""
    inputs = {k: v for k, v in workload_inputs(log).items() if not k.endswith("_distribution")}
    facts = [
        Cited(
            name=name.replace("_", " "), evidence=Evidence(given["evidence"]), source=given["from"],
            value=str(given.get("value", f"{given.get('low')} to {given.get('high')}")),
        )
        for name, given in inputs.items()
    ]  # fmt: skip
    return Why(
        answer=f"the workload in {log.file}", facts=facts, evidence=Evidence.MEASURED,
        rule="what the rows of the log show is counted; what they do not show stays unknown",
        notes=[note for note in (log.peak.definition, log.peak.why, *log.notes) if note],
    )  # fmt: skip
