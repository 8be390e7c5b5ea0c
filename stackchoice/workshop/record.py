"""Record what is shown where no engine is installed: the workshop's runs and the sample passport.

``python -m stackchoice.workshop.record DAY`` on a machine that does nothing else.
"""

import contextlib
import json
import sys
import threading

import psutil

from stackchoice.confirm import EmbeddedEngine, Plan, confirm, probe_machine
from stackchoice.errors import ReportError
from stackchoice.facts.place import data_dir
from stackchoice.facts.write import write_whole
from stackchoice.workshop.arms import BASELINE, CLAIMS, SPARE
from stackchoice.workshop.trials import run, setups

_PLAN = Plan(requests=4, output_tokens=48, prompt_words=160)
#: The sample passport: small, and with every limit of the server proven.
_SAMPLE = Plan(requests=5, output_tokens=32, prompt_words=24, floor=False,
               probes=("cache", "context", "slots"))  # fmt: skip
#: The load client's process, and its share of each second on the third claim.
_CLIENT, _RUNS_S, _STOPPED_S = "stackchoice.confirm.load", 0.3, 0.7


def record_trials(day: str) -> None:
    """Run every trial here and keep all of them."""
    found = run(*setups(), source="engine")
    probed = probe_machine(2**27)
    origin = f"measured on {day}: {probed.cpu_name}, one thread of the engine"
    tree = {"origin": origin, "trials": [t.model_dump(mode="json") for t in found.values()]}
    _write("trials.json", json.dumps(tree, indent=1))


def record_arms() -> None:
    """Measure the arms of lesson 5, each with one thing wrong, and one for lesson 6."""
    _keep(BASELINE, _PLAN)
    _keep(CLAIMS[0], _PLAN.model_copy(update={"prompts": "same"}))
    _keep(CLAIMS[1], _PLAN.model_copy(update={"output_tokens": 16}))
    _starved(CLAIMS[2], _PLAN)
    _keep(SPARE, _PLAN)


def _starved(name: str, plan: Plan) -> None:
    """Measure with a client that is stopped again and again, as on a host that takes its CPU."""
    over = threading.Event()
    thief = threading.Thread(target=_take_turns_away, args=(over,), daemon=True)
    thief.start()
    try:
        _keep(name, plan)
    finally:
        over.set()
        thief.join()


def _take_turns_away(over: threading.Event) -> None:
    """Stop the load client for most of each second; it goes on when this ends."""
    while not over.wait(_RUNS_S):
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if _CLIENT in child.cmdline():
                    child.suspend()
                    over.wait(_STOPPED_S)
                    child.resume()


def record_sample() -> None:
    """Measure the passport that the confirmation panel shows where nothing can be measured."""
    _keep("embedded, recorded", _SAMPLE, file="../samples/embedded.passport.json", slots=2)


def _keep(name: str, plan: Plan, *, file: str | None = None, slots: int = 1) -> None:
    with EmbeddedEngine(slots=slots) as engine:
        passport = confirm(engine, plan=plan, arm=name)
    print(passport.arm, passport.label, *passport.validity.reasons, sep="\n  ")
    _write(file or f"passports/{passport.arm}.json", passport.model_dump_json(indent=1))


def _write(name: str, text: str) -> None:
    write_whole(data_dir() / "workshop" / name, text + "\n", ReportError, folders=True)


if __name__ == "__main__":
    record_trials(sys.argv[1])
    record_arms()
    record_sample()
