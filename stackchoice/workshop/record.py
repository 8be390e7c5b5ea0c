"""Record what the workshop falls back to: ``python -m stackchoice.workshop.record DAY``."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import sys
from collections.abc import Iterator
from pathlib import Path

from stackchoice.confirm import EmbeddedEngine, Passport, Plan, confirm, probe_machine
from stackchoice.facts.load import data_dir
from stackchoice.load.arrivals import Closed
from stackchoice.workshop.arms import BASELINE, CLAIMS, SPARE
from stackchoice.workshop.trials import run, setups

_PLAN = Plan(requests=4, output_tokens=48, prompt_words=160)
_ELSEWHERE = 24


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
    with _other_work():
        _keep(CLAIMS[2], _PLAN.model_copy(update={"load": Closed(streams=4), "requests": 6}))
    _keep(SPARE, _PLAN)


def _keep(name: str, plan: Plan) -> Passport:
    with EmbeddedEngine() as engine:
        passport = confirm(engine, plan=plan, arm=name)
    print(name, passport.label, *passport.validity.reasons, sep="\n  ")
    _write(f"passports/{name}.json", passport.model_dump_json(indent=1))
    return passport


@contextlib.contextmanager
def _other_work() -> Iterator[None]:
    """Keep the machine busy, as where the load generator shares it with others."""
    workers = [multiprocessing.Process(target=_spin, daemon=True) for _ in range(_ELSEWHERE)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def _spin() -> None:
    while True:
        pass


def _write(name: str, text: str) -> None:
    path = Path(data_dir()) / "workshop" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    record_trials(sys.argv[1])
    record_arms()
