"""Sweep every candidate (artifact x machine x release x context) and say how long it took.

Usage: ``python tests/benchmarks/sweep.py [--candidates 100000]`` (all when not given). No network.
Prints CPU seconds without loading facts, the greatest resident memory, and what came out.
"""

import argparse
import datetime
import platform
import resource
import time

from stackchoice.facts.load import load_facts
from stackchoice.fit.sweep import STATUS, sweep


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=None)
    most = parser.parse_args().candidates
    facts = load_facts()
    began, clock = time.process_time(), time.perf_counter()
    found = sweep(facts, most=most)
    used, passed = time.process_time() - began, time.perf_counter() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"{datetime.date.today()}, Python {platform.python_version()}, {platform.machine()}, "
          f"facts {facts.sha256[:12]}")  # fmt: skip
    print(f"{len(found):,} candidates in {used:.2f} CPU s ({passed:.2f} s), peak {peak:,.0f} MB, "
          f"{used / len(found) * 1e5:.2f} CPU s for 100,000")  # fmt: skip
    for code, words in enumerate(STATUS):
        print(f"  {(found.status == code).sum():>8,} {words}")


if __name__ == "__main__":
    main()
