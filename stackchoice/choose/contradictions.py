"""Inputs of one scenario that cannot all be meant, and those that nobody gave."""

from collections.abc import Iterator
from dataclasses import dataclass

from stackchoice.choose.case import Case
from stackchoice.choose.checks import FUND
from stackchoice.choose.decision import Flip, UnknownInput
from stackchoice.scenario import scenario_inputs
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


def unknowns(case: Case, changes: list[Flip]) -> list[UnknownInput]:
    """Name every input nobody gave, and whether finding it could change or give an answer."""
    asked = _asked(case)
    matters = {flip.input: flip for flip in changes if flip.to_option is not None}
    moved = {flip.input for flip in changes}
    found = []
    for path, item in scenario_inputs(case.scenario).items():
        if item.known:
            continue
        if path in matters:
            text = matters[path].text
        elif path in asked:
            text = f"{label(path)}: not known, so {asked[path]}"
        elif path in moved:
            text = "no value in its assumed range changes the answer"
        else:
            text = "not given, so nothing was eliminated or sized by it"
        worth = path in matters or path in asked
        found.append(UnknownInput(input=path, worth_finding=worth, text=text))
    return found


def _asked(case: Case) -> dict[str, str]:
    """Return what is unknown as long as an input is, where somebody is to be served."""
    if case.scenario.workload.purpose != "serving":
        return {}
    month = "the tokens of a month are unknown, and what they cost at a managed endpoint"
    room = "how many sequences the memory holds is unknown"
    context = {"workload.context_tokens": room} if case.flow.context_tokens is None else {}
    return {**dict.fromkeys(case.flow.missing, month), **context}


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
