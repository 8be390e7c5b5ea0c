"""From a scenario to a live run: predict first, measure second, then compare the two."""

import threading
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from stackchoice.carried_out import CarriedOut, carried_out
from stackchoice.cases import load_case
from stackchoice.choose import Decision, decide
from stackchoice.confirm import (
    Endpoint,
    Engine,
    Identity,
    Passport,
    Plan,
    ProbedMachine,
    Progress,
    confirm,
    probe_machine,
)
from stackchoice.confirm.arms import EMBEDDED, arm
from stackchoice.confirm.passport import PassportError
from stackchoice.confirm.setup import Pins
from stackchoice.errors import ScenarioError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.interval import Interval
from stackchoice.facts.write import write_whole
from stackchoice.facts.yaml import shown_lines
from stackchoice.fit import Speed
from stackchoice.load.arrivals import Closed
from stackchoice.read.log_against import Compared, against, predicted_by
from stackchoice.read.log_reader import read_log
from stackchoice.scenario import THIS_MACHINE, Scenario
from stackchoice.this_machine import facts_for, with_machine, working_set_bytes


class Confirmed(NamedTuple):
    """A confirmation: the runs with their files, and what they say of the decision, if of one."""

    passports: list[Passport]
    paths: list[Path]
    carried: CarriedOut | None


def confirm_scenario(scenario: str | None, **options: Any) -> tuple[Passport, Path]:
    """Confirm with one load; the options of :func:`confirm_all`, and its passport and file."""
    done = confirm_all(scenario, **options)
    return done.passports[-1], done.paths[-1]


def confirm_all(
    scenario: str | None,
    *,
    endpoint_url: str | None = None,
    model: str | None = None,
    key_variable: str | None = None,
    arm: str = EMBEDDED,
    arm_model: str | None = None,
    plan: Plan | None = None,
    whole_plan: bool = False,
    identity: Identity | None = None,
    keep_raw: bool = True,
    resume: bool = False,
    reference: Passport | None = None,
    runner_path: Path | None = None,
    pid: int | None = None,
    log: Path | None = None,
    out: Path = Path("reports"),
    cancel: threading.Event | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Confirmed:
    """Predict, measure, save the passports, and hold them against the decision's plan.

    Parameters
    ----------
    scenario
        Path or name of a scenario; its decision is the prediction. None: nothing is predicted.
    endpoint_url, model, key_variable
        An endpoint to measure; without it an engine is started on this machine.
    arm, arm_model
        Which engine is started here (:func:`stackchoice.confirm.arms.arm_names`), on what.
    plan
        Load, requests, repetitions and limits; one stream by default.
    whole_plan
        Also put on the load that the decision's plan names, where an endpoint is measured.
    identity
        What is known of the arm beside what its server says (:mod:`stackchoice.arm_identity`).
    keep_raw
        Keep raw requests, answers and the engine's log beside the passport, and the beginning of
        each answer in it. Without, neither is on disk after the run, which cannot be resumed.
    reference
        Passport of the same model on a stack that is trusted, for the canaries.
    runner_path
        Program or environment of the runner that the plan names.
    pid
        Process of a server of this machine that was started elsewhere.
    log
        The engine's log, for the kernels that really ran; an engine started here has its own.
    out
        Folder for ``NAME.passport.json`` and the raw ``NAME.raw.jsonl``.
    cancel
        Ends the run; what was measured until then is kept.
    on_line
        Receives one line of text per finished step.

    Raises
    ------
    ScenarioError
        When an engine of this machine cannot stand for the scenario.
    EndpointError, EngineError
        When the endpoint or the engine cannot be reached.
    PassportError
        When the folder cannot be made.
    """
    loaded = load_case(scenario) if scenario else None
    name = loaded.name if loaded else "endpoint" if endpoint_url else arm.replace(":", "-")
    facts, machine, target = _subject(
        loaded, endpoint_url, model, key_variable, arm, arm_model, out / "arms"
    )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PassportError(
            f"{out}: cannot be made a folder ({error.strerror}); name another with --out"
        ) from None
    decision = decide(loaded, facts) if loaded else None
    prediction = _announce(decision.fit.speed if decision else None, on_line)
    loads = _loads(plan or Plan(), decision if whole_plan and endpoint_url else None)
    passports, paths = [], []
    around: Any = target if isinstance(target, Engine) else nullcontext(target)
    with around as running:
        for suffix, load in loads:
            if cancel and cancel.is_set():
                break
            path = out / f"{name}{suffix}.passport.json"
            passport = confirm(
                running, plan=load, prediction=prediction, machine=machine,
                arm=f"{name}{suffix}", identity=identity,
                raw_path=out / f"{name}{suffix}.raw.jsonl" if keep_raw else None,
                resume=resume, reference=reference, cancel=cancel, runner_path=runner_path, pid=pid,
                on_progress=None if on_line is None else lambda p: on_line(_line(p)),
            )  # fmt: skip
            passport = passport if keep_raw else without_texts(passport)
            passport.save(path)
            passports.append(passport)
            paths.append(path)
        if log is None and keep_raw and isinstance(running, Engine):
            log = out / f"{name}.engine.log"
            write_whole(log, running.log_tail(10_000) + "\n", PassportError)
    if decision is None:
        return Confirmed(passports, paths, None)
    kernels = _kernels(decision, log, facts)
    return Confirmed(passports, paths, carried_out(decision, passports, facts, kernels))


def without_texts(passport: Passport) -> Passport:
    """Return a passport without a word of what was answered."""

    def bare(outcomes: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(c.model_copy(update={"text": ""}) for c in outcomes)

    v = passport.validity
    canaries = {name: bare(getattr(v, name)) for name in ("canaries_before", "canaries_after")}
    validity = v.model_copy(update=canaries)
    empty = {"text": "", "reasoning": "", "tool_calls": ()}
    samples = tuple(s.model_copy(update=empty) for s in passport.samples)
    return passport.model_copy(update={"validity": validity, "samples": samples})


def _loads(plan: Plan, decision: Decision | None) -> list[tuple[str, Plan]]:
    """Return the loads of a confirmation: the given one, and the one that the decision names."""
    loads = [("", plan)]
    limits = decision.plan.limits if decision and decision.plan else []
    most = max((x.at_once or 1 for x in limits if x.figure == "requests_per_s"), default=1)
    if most > 1:
        more = {"load": Closed(streams=most), "requests": max(plan.requests, 2 * most)}
        loads.append(("-load", Plan.model_validate({**plan.model_dump(), **more})))
    return loads


def _kernels(decision: Decision, log: Path | None, facts: Facts) -> list[Compared]:
    """Hold the predicted kernel path against the last boot of a log."""
    if log is None or decision.fit.kernels is None:
        return []
    reading = read_log(log, facts.memory)
    if not reading.boots:
        return []
    return against(predicted_by(decision.fit.kernels), reading.boots[-1])


def _subject(
    scenario: Scenario | None, url: str | None, model: str | None, key: str | None, name: str,
    arm_model: str | None, folder: Path,
) -> tuple[Facts, ProbedMachine | None, Endpoint | Engine]:  # fmt: skip
    """Give the facts that a decision is made on, the probed machine, and what is measured."""
    if url is not None:
        endpoint = Endpoint(base_url=url, model=model or "", api_key_env=key)
        return facts_for(scenario) if scenario else load_facts(), None, endpoint
    facts = load_facts()
    if scenario is None:
        return facts, probe_machine(), arm(name, model=arm_model, folder=folder)
    if all(choice.id != THIS_MACHINE for choice in scenario.candidates.machines):
        raise ScenarioError(
            f"{scenario.name}: none of its machines is {THIS_MACHINE!r}; give the "
            "endpoint and model name (--endpoint, --model) of a server on the machine you mean"
        )
    machine = probe_machine(working_set_bytes(scenario, facts))
    holds = Pins.read().model["name"]
    if name.startswith(EMBEDDED) and holds != scenario.model.id:
        raise ScenarioError(
            f"{scenario.name}: the embedded engine holds {holds} only, not "
            f"{scenario.model.id}; start a server for it and give its endpoint and model name"
        )
    return with_machine(facts, machine), machine, arm(name, model=arm_model, folder=folder)


def _announce(speed: Speed | None, on_line: Callable[[str], None] | None) -> Interval | None:
    """Say what is predicted before anything runs, and return it."""
    prediction = speed.decode if speed else None
    if on_line is not None:
        text = "nothing is predicted for it" if prediction is None else interval_text(prediction)
        on_line(f"before running: {text}")
        if speed is not None and speed.decode_ceiling_tokens_per_s is not None:
            ceiling = speed.decode_ceiling_tokens_per_s
            on_line(f"before running: the bandwidth ceiling is {ceiling:,.1f} tokens/s")
    return prediction


def interval_text(found: Interval) -> str:
    return (
        f"{found.low:,.1f} to {found.high:,.1f} {found.unit}, middle {found.middle:,.1f} "
        f"({found.evidence.value}; {'; '.join(found.rests_on)})"
    )


def _line(progress: Progress) -> str:
    return shown_lines(f"[{progress.done}/{progress.total}] {progress.text}")
