"""Time what a person waits for: from a changed input to the picture on the page.

Usage: ``python tests/benchmarks/latency.py [--changes 5]``. Needs Debian's Chromium and no network.
Measured in the browser: from the field's change event to the frame after the panel's pictures and
numbers changed. The first change of each panel is not counted.
"""

import argparse
import datetime
import os
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1]))
import lab as jupyter

#: Notebook -> the field that is changed, and the values that it takes in turn.
CHANGED = {
    "00_start.ipynb": ("Users", ["80", "120", "60", "150", "90", "110"]),
    "01_hardware_fit.ipynb": (
        "Context (tokens)",
        ["4096", "16384", "2048", "32768", "1024", "512"],
    ),
    "02_workload_shape.ipynb": ("Published workload", None),
    "03_ops_and_cost.ipynb": ("Users", ["80", "120", "60", "150", "90", "110"]),
    "04_decision.ipynb": ("First preference", ["latency", "privacy", "simplicity", "cost"]),
    "workshop/04_three_questions.ipynb": ("Users", ["80", "120", "60", "150", "90", "110"]),
}
WATCH = """panel => {
  const shown = () => panel.querySelector('.stackchoice-view').innerHTML;
  const before = shown();
  window.waited = new Promise(resolve => {
    let began;
    addEventListener('change', () => { began = performance.now(); }, {once: true, capture: true});
    new MutationObserver((_, observer) => {
      if (began === undefined || !panel.querySelector('figure svg') || shown() === before) return;
      observer.disconnect();
      requestAnimationFrame(() => resolve(performance.now() - began));
    }).observe(panel, {childList: true, subtree: true});
  });
}"""


def waits(notebook: jupyter.Notebook, label: str, values: list[str] | None, changes: int):
    """Yield the milliseconds of each change."""
    panel = notebook.panel(label)
    field = panel.get_by_label(label, exact=True)
    chosen = field.evaluate("field => field.tagName") == "SELECT"
    if values is None:
        values = field.locator("option").all_inner_texts()[1:]
    for number, value in enumerate(islice(cycle(values), changes + 1)):
        notebook.page.wait_for_function(jupyter.READY)
        panel.evaluate(WATCH)
        if chosen:
            field.select_option(value)
        else:
            field.fill(value)
            field.press("Enter")
        waited = notebook.page.evaluate("() => window.waited")
        if number:
            yield waited


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--changes", type=int, default=5, help="timed changes of each panel")
    changes = parser.parse_args().changes
    print(f"{datetime.date.today()}, {os.cpu_count()} cores, load average at the start "
          f"{os.getloadavg()[0]:.1f}\n")  # fmt: skip
    print("| notebook | input | median, ms | largest, ms |\n|---|---|--:|--:|")
    with (
        tempfile.TemporaryDirectory() as folder, jupyter.chromium() as browser,
        jupyter.jupyterlab(Path(folder)) as lab,
    ):  # fmt: skip
        for name, (label, values) in CHANGED.items():
            with lab.open(browser, name) as notebook:
                if errors := notebook.run_all():
                    sys.exit(f"{name}: {errors}")
                found = list(waits(notebook, label, values, changes))
            print(f"| {name} | {label} | {median(found):.0f} | {max(found):.0f} |", flush=True)
    print(f"\nload average at the end {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
