"""The machine in front of you, probed and added to the facts under the name "this machine"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackchoice.facts import Datum, Evidence, Facts, Source, load_facts
from stackchoice.facts.records import Machine
from stackchoice.fit.memory import GB, GIB
from stackchoice.fit.stream import read_bytes
from stackchoice.scenario import THIS_MACHINE, Scenario

if TYPE_CHECKING:
    from stackchoice.confirm.probe import ProbedMachine

#: Working set to probe with when the model's size is not known: beyond every cache.
DEFAULT_WORKING_SET_BYTES = 2**28


def facts_for(scenario: Scenario, facts: Facts | None = None) -> Facts:
    """Return the facts a scenario needs; probes this machine where the scenario names it."""
    facts = facts or load_facts()
    if all(choice.id != THIS_MACHINE for choice in scenario.candidates.machines):
        return facts
    from stackchoice.confirm.probe import probe_machine

    return with_machine(facts, probe_machine(working_set_bytes(scenario, facts)))


def working_set_bytes(scenario: Scenario, facts: Facts) -> int:
    """Return the bytes one decode step reads: the size at which bandwidth is to be measured."""
    model = facts.models.get(scenario.model.id)
    sizes = [read_bytes(artifact) for artifact in model.artifacts] if model else []
    known = [size for size in sizes if size]
    return min(known, default=DEFAULT_WORKING_SET_BYTES)


def with_machine(facts: Facts, probed: ProbedMachine) -> Facts:
    """Return the facts with a probed machine added.

    The embedded engine runs on one CPU thread, so the machine stands for its CPU, whatever
    accelerator it may have besides. Available memory, not installed memory, is what there is.
    """
    source = Source(title="probe of this machine", as_of=probed.as_of)

    def measured(value: float, note: str = "") -> Datum[float]:
        return Datum[float](value=value, evidence=Evidence.MEASURED, source=source, note=note)

    machine = Machine(
        id=THIS_MACHINE,
        name=f"this machine ({probed.cpu_name})",
        vendor=probed.cpu_name.split()[0] if probed.cpu_name else "unknown",
        backend="cpu",
        arch=probed.platform,
        memory_gb=measured(probed.memory_total_bytes / GB),
        memory_gib_reported=measured(
            probed.memory_available_bytes / GIB, "memory available to this process now"
        ),
        bandwidth_gb_per_s=measured(
            probed.read_gb_per_s,
            f"one thread reading {probed.working_set_bytes:,} bytes, median of "
            f"{probed.read_passes} passes",
        ),
        note=f"{probed.logical_cores} cores usable",
    )
    return facts.model_copy(update={"machines": {**facts.machines, THIS_MACHINE: machine}})
