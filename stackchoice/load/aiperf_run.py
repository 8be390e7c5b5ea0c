"""A plan's load put on by AIPerf, in a process and an environment of its own."""

import datetime as dt
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from stackchoice.errors import EngineError, InputError
from stackchoice.facts.values import dict_of
from stackchoice.facts.yaml import shown
from stackchoice.load.aiperf import (
    RECORDS,
    Bodies,
    exchange_of_record,
    files,
    health_of,
    hold_to_schedule,
)
from stackchoice.load.arrivals import Closed, Load, offsets
from stackchoice.load.child import spawn, stop
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.floor import reference_body
from stackchoice.load.harnesses import tried_release
from stackchoice.load.health import ClientHealth
from stackchoice.load.journal import entry
from stackchoice.load.plan import Plan
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Sample
from stackchoice.load.run import LoadRun, Service
from stackchoice.load.script import Script
from stackchoice.load.untrusted import parse_json
from stackchoice.load.wire import Exchange, Problem

#: Its services start and end; a slow machine takes most of a minute.
_AROUND_S = 180
#: An environment of its own: not this package, and a tokenizer that lies beside its file.
_WITHOUT = ("PYTHONPATH", "PYTHONHOME", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def find_aiperf(where: Path | None) -> tuple[Path, str]:
    """Return AIPerf's program and its release.

    Parameters
    ----------
    where
        The program, or the folder of a virtual environment; None looks on the path.

    Raises
    ------
    EngineError
        When it is not there or does not tell its release.
    """
    how = (
        "install it in an environment of its own (python3 -m venv ENV; ENV/bin/pip install "
        f"aiperf=={tried_release('aiperf')}) and give that folder with --runner-path"
    )
    found = shutil.which("aiperf") if where is None else None
    places = [where, where / "bin" / "aiperf", where / "Scripts" / "aiperf.exe"] if where else []
    program = next((p.absolute() for p in places if p.is_file()), Path(found) if found else None)
    if program is None:
        raise EngineError(f"{where or 'aiperf'}: no program of AIPerf; {how}")
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, encoding="utf-8", errors="replace",
            timeout=120, check=False,
        ).stdout  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineError(f"{program}: does not run ({error}); {how}") from None
    release = re.search(r"\d+\.\d+\.\d+\S*", said)
    if release is None:
        raise EngineError(f"{program}: does not tell its release; {how}")
    return program, shown(release.group(), 40)


def put_on(
    program: Path, endpoint: Endpoint, plan: Plan, load: Load, bodies: Bodies,
    at_s: Sequence[float], ramp_s: float,
) -> tuple[dict[str, Exchange], ClientHealth]:  # fmt: skip
    """Let AIPerf send requests; give the exchanges by our ids, each of them, and its health.

    InputError for a closed loop with too few requests to show its concurrency. EngineError when
    AIPerf does not end well or in time.
    """
    if isinstance(load, Closed) and load.streams > 1 and len(bodies) < 2 * load.streams:
        raise InputError(
            f"requests {len(bodies)}: AIPerf's concurrency shows between the first and the last "
            f"start of a stream; give at least {2 * load.streams}"
        )
    with tempfile.TemporaryDirectory(prefix="stackchoice-") as name:
        folder = Path(name)
        for file, text in files(
            endpoint, plan, load, bodies, at_s, ramp_s, key=endpoint.api_key() is not None
        ).items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        longest = len(bodies) * plan.timeout_s if isinstance(load, Closed) else plan.timeout_s
        _run(program, folder, _AROUND_S + max(at_s, default=0) + longest)
        kept: dict[str, Exchange] = {}
        with (folder / "result" / RECORDS).open(encoding="utf-8") as lines:
            for line in lines:
                ours, measured = exchange_of_record(dict_of(parse_json(line)))
                if ours in bodies:
                    measured.redact(endpoint.api_key() or "")
                    kept[ours] = measured
    if not kept:
        raise EngineError("AIPerf: no record of any request; run it again and look at its log")
    if not isinstance(load, Closed):
        hold_to_schedule([kept.get(ours) for ours in bodies], at_s)
    health = health_of(load, kept.values())
    at = min(x.started_ns for x in kept.values())
    for ours in bodies:
        lost = Exchange(started_ns=at, sent_ns=at, ended_ns=at, problem=Problem.CLIENT)
        lost.detail = "AIPerf has no record of it"
        kept.setdefault(ours, lost)
    return kept, health


def _run(program: Path, folder: Path, limit_s: float) -> None:
    without = [part for name in _WITHOUT for part in ("-u", name)]
    log = folder / "aiperf.log"
    with log.open("wb") as out:
        line = [*without, str(program), "profile", "--config", "aiperf.yaml"]
        process = spawn("stackchoice.load.guard", *line, stdout=out, stderr=subprocess.STDOUT,
                        cwd=folder)  # fmt: skip
        try:
            status = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            status = -1
        finally:
            stop(process)
    # A status of its own for "every request failed" is a result: its records are there.
    if not (folder / "result" / RECORDS).exists():
        text = re.sub(r"[\u2500-\u257f\s]+", " ", log.read_text("utf-8", "replace"))
        reason = re.search(r"Reason: (.*?) ?(?:Cause:|Service:|Log File:|$)", text)
        tail = reason.group(1) if reason else text[-300:]
        ended = f"not done after {limit_s:.0f} s" if status == -1 else f"exit status {status}"
        raise EngineError(f"AIPerf: {ended}: {shown(tail, 600)}; correct that and run it again")


class AiperfRun(LoadRun):
    """The load of a plan on AIPerf's workers; what goes before and after it is this client's.

    Parameters
    ----------
    program
        AIPerf's program; the others are those of :class:`LoadRun`.
    """

    def __init__(self, *given: Any, program: Path, **more: Any) -> None:
        super().__init__(*given, **more)
        self.program = program

    def _repeat(self, repetition: int, numbers: list[int], service: Service) -> None:
        """Put one repetition on; it is kept as a whole or not at all."""
        bodies = {f"timed/{n}": self.request_of(self.body(n, service)) for n in numbers}
        sizes = {ours: len(json.dumps(body)) for ours, body in bodies.items()}
        for ours, n in zip(bodies, numbers, strict=True):
            if not self.meter.take(ours, sizes[ours], self._most_tokens("timed", n)):
                raise InputError("spend cap: AIPerf sends a repetition as a whole, and it may cost "
                                 "more than is left; raise the cap or ask for less")  # fmt: skip
        at_s = list(islice(self.schedule(repetition, numbers), len(numbers)))
        marks = {"launch": self.launch, "repetition": repetition,
                 "segment": f"aiperf-{numbers[0]}"}  # fmt: skip
        kept, health = put_on(self.program, self.endpoint, self.plan, self.plan.load, bodies, at_s,
                              service.end_to_end_s)  # fmt: skip
        now = dt.datetime.now(dt.UTC), time.perf_counter_ns()
        for ours, n in zip(bodies, numbers, strict=True):
            self.meter.settle(ours, sizes[ours], kept[ours])
            ago = dt.timedelta(microseconds=(now[1] - kept[ours].started_ns) / 1000)
            self.emit(entry(kept[ours], step="timed", request_number=n, **marks,
                            started_at=(now[0] - ago).isoformat(timespec="milliseconds"),
                            request=bodies[ours]))  # fmt: skip
        self._emit_health(marks, health.model_dump())

    def drive_reference(
        self, endpoint: Endpoint, load: Load, count: int, script: Script, plan: Plan
    ) -> tuple[dict[str, Sample], ClientHealth]:
        """Do to the reference server what :func:`stackchoice.load.floor.drive_reference` does."""
        names = [f"timed/{n}" for n in range(count)]
        bodies = {ours: reference_body(endpoint, script, plan, ours) for ours in names}
        open_loop = not isinstance(load, Closed)
        at_s = list(islice(offsets(load, f"{plan.seed}/floor"), count)) if open_loop else []  # type: ignore[arg-type]
        service = script.ttft_s + script.itl_s * script.tokens
        kept, health = put_on(self.program, endpoint, plan, load, bodies, at_s, service)
        return {ours: read_sample(measured) for ours, measured in kept.items()}, health
