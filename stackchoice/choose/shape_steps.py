"""Question 2 in numbers, as steps of the trace."""

from __future__ import annotations

from stackchoice.choose.decision import Step
from stackchoice.choose.shape import Shape
from stackchoice.facts.datum import Evidence


def shape_steps(numbers: Shape | None) -> list[Step]:
    """What the traffic does to the best self-hosted configuration."""
    steps = []
    if numbers and numbers.phases and numbers.binding:
        phases, binding = numbers.phases, numbers.binding
        steps.append(
            Step(
                question="workload shape", rule="phases", evidence=binding.evidence,
                text=f"a request takes {phases.prefill_s.middle:,.2f} s in prefill and "
                f"{phases.decode_s.middle:,.2f} s in decode beside {phases.batch - 1} others; "
                f"{binding.binds} binds",
                facts=[f"{name} {getattr(binding, name):.0%} of the chip's time"
                       for name in ("compute", "bandwidth", "capacity")],
            )
        )  # fmt: skip
    if numbers and numbers.peak:
        peak = numbers.peak
        steps.append(
            Step(
                question="workload shape", rule="replicas-at-peak", evidence=peak.evidence,
                text=f"{peak.peak_per_s:,.3g} requests/s take {peak.fast.total} to "
                f"{peak.slow.total} replicas, {peak.slow.spares} of them spare; "
                f"{peak.replicas_there} are there",
                facts=["the more of: rate under the cap, Erlang's C on the slots admitted"],
            )
        )  # fmt: skip
    for dispute in numbers.disputes if numbers else ():
        steps.append(
            Step(
                question="workload shape", rule="conflict", evidence=Evidence.INFERRED,
                text=f"{' against '.join(dispute.measures)}: {dispute.resolution}",
            )
        )  # fmt: skip
    return steps
