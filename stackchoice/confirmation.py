"""From a scenario to a live run: predict first, measure second, then compare the two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from stackchoice.choose import decide
from stackchoice.confirm import (
    EmbeddedEngine,
    Endpoint,
    Identity,
    Passport,
    Plan,
    Progress,
    confirm,
    probe_machine,
)
from stackchoice.confirm.passport import PassportError
from stackchoice.confirm.results import Spread
from stackchoice.confirm.setup import Pins
from stackchoice.errors import ScenarioError
from stackchoice.facts import load_facts
from stackchoice.facts.interval import Interval
from stackchoice.fit import Speed
from stackchoice.scenario import THIS_MACHINE, Scenario, load_scenario
from stackchoice.this_machine import facts_for, with_machine, working_set_bytes


def confirm_scenario(
    scenario: str | None,
    *,
    endpoint_url: str | None = None,
    model: str | None = None,
    key_variable: str | None = None,
    plan: Plan | None = None,
    identity: Identity | None = None,
    keep_raw: bool = True,
    resume: bool = False,
    out: Path = Path("reports"),
    on_line: Callable[[str], None] | None = None,
) -> tuple[Passport, Path]:
    """Predict, measure, and save the passport.

    Parameters
    ----------
    scenario
        Path or name of a scenario; its decision is the prediction. None: nothing is predicted.
    endpoint_url, model, key_variable
        An endpoint to measure; without it the embedded engine is started on this machine.
    plan
        Load, requests, repetitions and limits; one stream by default.
    identity
        What is known of the arm beside what its server says (:mod:`stackchoice.arm_identity`).
    keep_raw
        Keep raw requests, answers and the engine's log beside the passport, and the beginning of
        each answer in it. Without, neither is on disk after the run, which cannot be resumed.
    out
        Folder for ``NAME.passport.json`` and the raw ``NAME.raw.jsonl``.
    on_line
        Receives one line of text per finished step.

    Raises
    ------
    ScenarioError
        When the embedded engine cannot stand for the scenario.
    EndpointError, EngineError
        When the endpoint or the engine cannot be reached.
    """
    loaded = load_scenario(scenario) if scenario else None
    name = loaded.name if loaded else "endpoint"
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PassportError(
            f"{out}: cannot be made a folder ({error.strerror}); name another with --out"
        ) from None
    raw, target_path = out / f"{name}.raw.jsonl", out / f"{name}.passport.json"
    shared = {
        "plan": plan or Plan(), "raw_path": raw if keep_raw else None, "resume": resume,
        "arm": name, "identity": identity,
        "on_progress": None if on_line is None else lambda p: on_line(_line(p)),
    }  # fmt: skip
    if endpoint_url is not None:
        target = Endpoint(base_url=endpoint_url, model=model or "", api_key_env=key_variable)
        speed = decide(loaded, facts_for(loaded)).fit.speed if loaded else None
        prediction = _announce(speed, on_line)
        passport = confirm(target, prediction=prediction, **shared)
    else:
        assert loaded is not None
        passport = _embedded(loaded, shared, on_line)
    if not keep_raw:
        passport = without_texts(passport)
    passport.save(target_path)
    return passport, target_path


def without_texts(passport: Passport) -> Passport:
    """Return a passport without a word of what was answered."""

    def bare(outcomes: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(c.model_copy(update={"text": ""}) for c in outcomes)

    v = passport.validity
    canaries = {name: bare(getattr(v, name)) for name in ("canaries_before", "canaries_after")}
    validity = v.model_copy(update=canaries)
    samples = tuple(s.model_copy(update={"text": "", "reasoning": ""}) for s in passport.samples)
    return passport.model_copy(update={"validity": validity, "samples": samples})


def describe(passport: Passport, path: Path) -> str:
    """Return a live run in a few lines."""
    lines = []
    prediction = passport.prediction
    if prediction is not None:
        lines.append(f"predicted: {_interval(prediction)}")
    results = passport.results
    for label, spread, unit, scale in (
        ("decode", results.decode_tokens_per_s, "tokens/s", 1),
        ("prefill", results.prefill_tokens_per_s, "tokens/s", 1),
        ("TTFT", results.ttft_s, "ms", 1000),
        ("ITL", results.itl_s, "ms", 1000),
        ("end to end", results.end_to_end_s, "ms", 1000),
    ):
        lines.append(f"measured {label}: {_spread(spread, unit, scale)}")
    passed = sum(c.result == "passed" for c in passport.validity.canaries_before)
    lines.append(
        f"canaries: {passed} of {len(passport.validity.canaries_before)} passed "
        "(correctness of the stack, not quality of the model)"
    )
    if floor := passport.validity.floor:
        lines.append(
            f"client floor: TTFT {floor.ttft_error:+.1%}, ITL "
            + ("unknown" if floor.itl_error is None else f"{floor.itl_error:+.1%}")
            + f" of the reference server's truth ({floor.requests} requests, {floor.load})"
        )
    lines += [f"not valid: {reason}" for reason in passport.validity.reasons]
    lines += [f"on HOLD: {reason}" for reason in passport.validity.hold]
    lines += [f"warning: {text}" for text in passport.validity.warnings]
    lines += [
        f"prediction of {what.replace('_per_s', '/s').replace('_', ' ')}: {verdict}"
        for what, verdict in passport.verdicts.items()
    ]
    return "\n".join([*lines, f"wrote {path}"])


def _embedded(
    scenario: Scenario, shared: dict[str, Any], on_line: Callable[[str], None] | None
) -> Passport:
    if all(choice.id != THIS_MACHINE for choice in scenario.candidates.machines):
        raise ScenarioError(
            f"{scenario.name}: none of its machines is {THIS_MACHINE!r}; give --endpoint and "
            "--model of a server on the machine you mean"
        )
    facts = load_facts()
    machine = probe_machine(working_set_bytes(scenario, facts))
    holds = Pins.read().model["name"]
    if holds != scenario.model.id:
        raise ScenarioError(
            f"{scenario.name}: the embedded engine holds {holds} only, not "
            f"{scenario.model.id}; start a server for it and give --endpoint and --model"
        )
    decision = decide(scenario, with_machine(facts, machine))
    prediction = _announce(decision.fit.speed, on_line)
    with EmbeddedEngine() as engine:
        return confirm(engine, prediction=prediction, machine=machine, **shared)


def _announce(speed: Speed | None, on_line: Callable[[str], None] | None) -> Interval | None:
    """Say what is predicted before anything runs, and return it."""
    prediction = speed.decode if speed else None
    if on_line is not None:
        text = "nothing is predicted for it" if prediction is None else _interval(prediction)
        on_line(f"before running: {text}")
        if speed is not None and speed.decode_ceiling_tokens_per_s is not None:
            ceiling = speed.decode_ceiling_tokens_per_s
            on_line(f"before running: the bandwidth ceiling is {ceiling:,.1f} tokens/s")
    return prediction


def _interval(found: Interval) -> str:
    return (
        f"{found.low:,.1f} to {found.high:,.1f} {found.unit}, middle {found.middle:,.1f} "
        f"({found.evidence.value}; {'; '.join(found.rests_on)})"
    )


def _line(progress: Progress) -> str:
    return f"[{progress.done}/{progress.total}] {progress.step}: {progress.text}"


def _spread(spread: Spread | None, unit: str, scale: float) -> str:
    if spread is None:
        return "unknown"
    return (
        f"{spread.median * scale:,.1f} {unit} (median of {spread.n}, "
        f"{spread.low * scale:,.1f} to {spread.high * scale:,.1f})"
    )
