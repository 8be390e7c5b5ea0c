"""Ten thousand broken checkpoints: no crash, no hang, memory within a bound.

``python tests/benchmarks/mutate.py [NUMBER] [SEED]``
"""

import resource
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutations import corpus, mutants

from stackchoice import load_facts
from stackchoice.errors import CheckpointError
from stackchoice.present.checkpoint import describe_checkpoint
from stackchoice.read import inspect_checkpoint


def main(number: int, seed: int) -> None:
    """Read them all and print what happened."""
    facts = load_facts()
    with tempfile.TemporaryDirectory() as folder:
        paths = corpus(Path(folder))
        before = [inspect_checkpoint(p, facts).model_dump_json() for p in paths]
        refused, slowest, largest, crashes = 0, (0.0, ""), (0, ""), []
        start = time.perf_counter()
        for what, path in mutants(paths, folder, number, seed):
            tracemalloc.start()
            began = time.perf_counter()
            try:
                found = inspect_checkpoint(path, facts)
                describe_checkpoint(found)
                found.model_dump_json()
            except CheckpointError:
                refused += 1
            except Exception as error:
                crashes.append(f"{what}: {error!r}")
            slowest = max(slowest, (time.perf_counter() - began, what))
            largest = max(largest, (tracemalloc.get_traced_memory()[1], what))
            tracemalloc.stop()
        equal = [inspect_checkpoint(p, facts).model_dump_json() for p in paths] == before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{number} mutants in {time.perf_counter() - start:.0f} s: {refused} refused, "
          f"{number - refused - len(crashes)} read, {len(crashes)} crashed")  # fmt: skip
    print(f"slowest {slowest[0]:.3f} s ({slowest[1]!a}); most memory {largest[0] / 2**20:.1f} MiB "
          f"({largest[1]!a}); process {peak:.0f} MiB")  # fmt: skip
    print(f"valid corpus reads equal: {equal}")
    for crash in crashes[:20]:
        print("crash:", crash)
    sys.exit(bool(crashes) or not equal)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000,
         int(sys.argv[2]) if len(sys.argv) > 2 else 1)  # fmt: skip
