"""Running a sweep: each arm by its passport, in order, and again where a run is missing."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from stackchoice.confirm import Endpoint, Engine, Passport, Plan, confirm, probe_machine
from stackchoice.confirm.canary import load_canaries
from stackchoice.confirm.identity import Setting
from stackchoice.confirm.passport import PassportError
from stackchoice.errors import EngineError, InputError
from stackchoice.facts.write import text_at, write_whole
from stackchoice.facts.yaml import shown_lines
from stackchoice.load.untrusted import parse_json
from stackchoice.sweep.design import Arm, Design
from stackchoice.sweep.judge import METRICS, Sweep, figure, judge, known_metric

HEADER = "sweep.json"
#: Items of identity in which an engine and its model are known before they start.
STACK = ("model", "model_revision", "artifact_revision", "weight_format", "runtime_build")
#: Gives, for the settings of an arm, what is measured: an engine not yet started, or an endpoint.
Target = Callable[[Mapping[str, Setting]], Engine | Endpoint]


def run_sweep(
    plan: Design,
    target: Target,
    *,
    load: Plan,
    metric: str,
    folder: Path,
    subject: str,
    confirm_peak: bool = True,
    reference: Passport | None = None,
    cancel: threading.Event | None = None,
    on_line: Callable[[str], None] | None = None,
) -> Sweep:
    """Measure a design; what ``folder`` holds of this very sweep already is kept.

    Parameters
    ----------
    target
        Called for each run. An engine is started for one that is missing, and stopped after it.
    load
        The load of every run; the seed goes up with each, so that no prompt comes twice.
    folder
        Where passports and raw logs go.
    subject
        What is swept, in words: a folder holds one sweep of one subject. A run whose engine or
        model has moved since is measured again.
    confirm_peak
        Measure the best arm once more at the end.
    cancel
        Once it is set the sweep ends; finished runs stay, and the next call goes on.
    """
    known_metric(metric)
    for arm in plan.arms:  # what cannot be is said before anything is measured or written
        aim = target(arm.settings)
        if isinstance(aim, Endpoint):
            aim.api_key()
        load_canaries(load.canaries, aim.served_name if isinstance(aim, Engine) else aim.model)
    claim = _claimed(folder, plan, load, subject)
    say = on_line or (lambda _: None)
    runs: dict[int, list[Passport]] = {i: [] for i in range(len(plan.arms))}
    total = len(plan.order) + confirm_peak
    for number, index in enumerate(plan.order, 1):
        if cancel and cancel.is_set():
            return judge(plan, runs, metric)
        say(f"[{number}/{total}] {plan.arms[index].id}")
        passport = _run(plan.arms[index], number, target, load, folder, reference, cancel)
        if passport:
            claim()
            runs[index].append(passport)
            say(f"  {_said(passport, metric)}")
    result = judge(plan, runs, metric)
    stopped = cancel and cancel.is_set()
    best = next((i for i, arm in enumerate(plan.arms) if arm.id == result.peak), None)
    if not confirm_peak or best is None or stopped:
        return result
    say(f"[{total}/{total}] {plan.arms[best].id}: once more, to confirm the peak")
    again = _run(plan.arms[best], total, target, load, folder, reference, cancel)
    return judge(plan, runs, metric, confirming=[again] if again else ())


def _run(
    arm: Arm, number: int, target: Target, load: Plan, folder: Path, reference: Passport | None,
    cancel: threading.Event | None,
) -> Passport | None:  # fmt: skip
    """Give the passport of one run: kept, or measured now; None where it was cancelled."""
    name = f"{number:02d}-{_plain(arm.id)}"
    path = folder / f"{name}.passport.json"
    subject, kept = target(arm.settings), Passport.load(path) if path.is_file() else None
    if kept and not moved_since(kept, subject):
        return kept
    machine = probe_machine() if isinstance(subject, Engine) else None  # before the engine runs
    around: AbstractContextManager[Any] = (
        subject if isinstance(subject, Engine) else nullcontext(subject)
    )
    with around as running:
        passport = confirm(
            running, plan=load.model_copy(update={"seed": load.seed + number}), arm=arm.id,
            identity={"settings": dict(arm.settings)} if isinstance(subject, Endpoint) else None,
            raw_path=folder / f"{name}.raw.jsonl", resume=kept is None, reference=reference,
            machine=machine,
            cancel=cancel,
        )  # fmt: skip
    if cancel and cancel.is_set():
        return None
    passport.save(path)
    return passport


def moved_since(kept: Passport, subject: Engine | Endpoint) -> bool:
    """Whether an engine that is started here, or its model, is another than it was."""
    try:
        now = {**subject.environment(), **subject.identity()} if isinstance(subject, Engine) else {}
    except EngineError:  # not installed any more: what it was is all there is
        return False
    return any(now.get(i) not in (None, getattr(kept.identity, i)) for i in STACK)


def describe(sweep: Sweep) -> str:
    """Return a sweep in a few lines, a table of knobs first."""
    lines = [f"by {sweep.metric} ({sweep.unit}, {'more' if METRICS[sweep.metric][1] else 'less'} "
             "is better); every arm against the baseline"]  # fmt: skip
    names = list(sweep.arms[0].settings)
    head = [*names, "runs", sweep.metric, "ratio", "noise", "told", "validity"]
    table = [head, *(
        [*(str(arm.settings[n]) for n in names), str(len(arm.values)), _number(arm.mean),
         _number(arm.ratio), _share(arm.noise), arm.told, ", ".join(sorted(set(arm.labels)))]
        for arm in sweep.arms
    )]  # fmt: skip
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    lines += ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
              for row in table]  # fmt: skip
    lines += [
        f"{' and '.join(i.knobs)} together: {i.outcome} (inferred: their single effects multiply "
        f"to {_number(i.expected)}, measured {_number(i.measured)})"
        for i in sweep.interactions
    ]
    if sweep.drift is not None:
        lines.append(f"drift of the baseline, first to last run: {sweep.drift:.1%}")
    if sweep.peak is not None:
        agrees = {True: "confirmed by a further run", False: "NOT confirmed by a further run",
                  None: "not confirmed yet: a further run is missing"}[sweep.confirmed]  # fmt: skip
        lines.append(f"peak: {sweep.peak}, {agrees}")
    return "\n".join([*lines, *(f"note: {note}" for note in sweep.notes)])


def _claimed(folder: Path, plan: Design, load: Plan, subject: str) -> Callable[[], None]:
    """Refuse a folder that holds another sweep; give what writes that it holds this one.

    It is called once there is a run: a command that does not start leaves the folder free.
    """
    wanted = {"subject": subject, "load": load.model_dump(mode="json"),
              "design": plan.model_dump(mode="json")}  # fmt: skip
    path = folder / HEADER
    there = text_at(path)
    if there is None:
        text = json.dumps(wanted, indent=2) + "\n"

        def write() -> None:
            if not path.is_file():
                write_whole(path, text, PassportError, read=None)

        return write
    if (held := parse_json(there)) is None:
        raise PassportError(f"{path}: is no header of a sweep; name another folder")
    if held != wanted:
        raise PassportError(
            f"{folder}: holds another sweep (engine, knobs or load differ); name another folder "
            "with --out"
        )
    return lambda: None


def by_url(pairs: Sequence[tuple[Mapping[str, Setting], Endpoint]]) -> Target:
    """Return a target of servers that run already, one for each arm."""

    def target(settings: Mapping[str, Setting]) -> Endpoint:
        for known, endpoint in pairs:
            if dict(known) == dict(settings):
                return endpoint
        wanted = ",".join(f"{k}={v}" for k, v in settings.items())
        raise InputError(f"no address for {wanted}; give --url '{wanted}@http://host:port'")

    return target


def _said(passport: Passport, metric: str) -> str:
    why = [*passport.validity.reasons, *passport.validity.hold][:1]
    label = shown_lines(f"{passport.label}{f' ({why[0]})' if why else ''}")
    return f"{metric} {_number(figure(passport, metric))}, {label}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in "=+-._" else "_" for c in text)[:80]


def check_engine_knobs(names: Sequence[str], allowed: Sequence[str]) -> None:
    """Refuse knobs that an engine does not have.

    InputError naming those that it has.
    """
    unknown = [name for name in names if name not in allowed]
    if unknown:
        raise InputError(
            f"knob {unknown[0]!r}: the engine has none of that name; it has {', '.join(allowed)}"
        )
