"""Inputs of one scenario that cannot all be meant, and which they are."""

from collections.abc import Iterator
from dataclasses import dataclass

from stackchoice.choose.case import Case
from stackchoice.choose.checks import FUND
from stackchoice.scenario.words import label

SENT, WRITTEN, CONTEXT = (f"workload.{name}_tokens" for name in ("input", "output", "context"))


@dataclass(frozen=True)
class Contradiction:
    """What disagrees, in words, and the paths of the inputs that it is about."""

    text: str
    inputs: tuple[str, ...]


def contradictions(case: Case) -> Iterator[Contradiction]:
    """Yield what disagrees at a point: lengths, what can be funded, a preset of sampling."""
    for text, *inputs in (*_lengths(case), *_funds(case), *_sampling(case)):
        yield Contradiction(f"contradiction: {text}", tuple(inputs))


def _lengths(case: Case) -> Iterator[tuple[str, ...]]:
    pairs = [
        (less, more) for less, more in ((SENT, CONTEXT), ("workload.shared_prefix_tokens", SENT))
        if case.point.known(less, more) and case[less] > case[more]
    ]  # fmt: skip
    for less, more in pairs:
        text = f"{label(less)} is {case[less]:,}, more than {label(more)} of {case[more]:,}"
        yield text, less, more
    if pairs or not case.point.known(SENT, WRITTEN, CONTEXT):
        return
    if (both := case[SENT] + case[WRITTEN]) > case[CONTEXT]:
        text = f"input and output together are {both:,} tokens, more than the context of "
        yield f"{text}{case[CONTEXT]:,}", SENT, WRITTEN, CONTEXT


def _funds(case: Case) -> Iterator[tuple[str, ...]]:
    limit = case[FUND]
    for number, choice in enumerate(case.scenario.candidates.machines):
        if limit is not None and not choice.already_owned and choice.count > limit:
            name, at = case.facts.machines[choice.id].name, f"candidates.machines.{number}"
            owned = f"{at}.already_owned"
            yield (
                f"{choice.count} x {name} are candidates, and the input {label(FUND)!r} is "
                f"{limit:g}: what takes more is out; raise it, or say that the machine is paid for",
                f"{at}.count", FUND, owned,
            )  # fmt: skip


def _sampling(case: Case) -> Iterator[tuple[str, ...]]:
    named, thinking = case.scenario.workload.sampling_preset, case["workload.thinking"]
    preset = case.facts.models[case.scenario.model.id].sampling_presets.get(named)
    if preset is not None and thinking is not None and preset.thinking != thinking:
        yield (
            f"thinking is {'on' if thinking else 'off'}, but the sampling preset {named!r} is "
            f"published for thinking {'on' if preset.thinking else 'off'}",
            "workload.thinking",
        )  # fmt: skip
