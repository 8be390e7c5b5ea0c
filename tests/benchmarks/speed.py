"""Time a decision for every shipped scenario, the loading of facts, the ledger and one report.

Usage: ``python tests/benchmarks/speed.py [--runs 5]``. Needs no network. Functions are timed in
this process after one untimed call; commands are whole processes, start and imports included.
"""

import argparse
import datetime
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

from stackchoice.choose import decide
from stackchoice.facts import load
from stackchoice.facts.load import data_dir, load_facts
from stackchoice.scenario import load_scenario
from stackchoice.this_machine import facts_for

COMMAND = (sys.executable, "-c", "from stackchoice.cli import main; main()")
REPORTED = "json-chat"


def own_seconds() -> float:
    """Return CPU seconds of this process."""
    return time.process_time()


def child_seconds() -> float:
    """Return CPU seconds of the processes that ended."""
    used = os.times()
    return used.children_user + used.children_system


def timed(
    work: Callable[[], object], runs: int, cpu: Callable[[], float]
) -> tuple[float, float, float]:
    """Return the median and the largest CPU seconds, and the median wall seconds."""
    used, passed = [], []
    for _ in range(runs):
        began, clock = cpu(), time.perf_counter()
        work()
        used.append(cpu() - began)
        passed.append(time.perf_counter() - clock)
    return median(used), max(used), median(passed)


def load_afresh() -> None:
    """Read the fact base from its files, whatever was read before."""
    load._load.cache_clear()
    load_facts()


def command(*words: str) -> None:
    """Run one command of the product and fail with what it said."""
    run = subprocess.run([*COMMAND, *words], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"stackchoice {' '.join(words)}: {run.stderr.strip()}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each row")
    runs = parser.parse_args().runs
    facts = load_facts()
    print(f"{datetime.date.today()}, Python {platform.python_version()}, {platform.machine()}, "
          f"median of {runs}, facts {facts.sha256[:12]}\n")  # fmt: skip
    print("| what | CPU s, median | CPU s, worst | wall s, median |\n|---|--:|--:|--:|")

    def row(what: str, work: Callable[[], object], cpu: Callable[[], float] = own_seconds) -> None:
        if cpu is own_seconds:
            work()
        print("| {} | {:.3f} | {:.3f} | {:.3f} |".format(what, *timed(work, runs, cpu)), flush=True)

    row("`load_facts`, from the files", load_afresh)
    for path in sorted((data_dir() / "scenarios").glob("*.yaml")):
        scenario = load_scenario(str(path))
        row(f"`decide` {path.stem}", partial(decide, scenario, facts_for(scenario)))
    with tempfile.TemporaryDirectory() as out:
        for words in (
            ["--help"], ["score", str(data_dir() / "cases.jsonl")],
            ["decide", REPORTED], ["report", REPORTED, "--out", out],
        ):  # fmt: skip
            name = " ".join(Path(word).name if "/" in word else word for word in words[:2])
            row(f"`stackchoice {name}`", partial(command, *words), child_seconds)


if __name__ == "__main__":
    main()
