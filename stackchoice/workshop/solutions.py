"""Execute the solutions and keep what they print: ``python -m stackchoice.workshop.solutions``.

Outputs come from recorded runs, so that anybody gets the same. Widgets are left out, because a
stored one needs a kernel.
"""

import os
from pathlib import Path

import nbclient
import nbformat

from stackchoice.errors import ReportError
from stackchoice.facts.write import write_whole
from stackchoice.notebooks import notebooks_dir
from stackchoice.workshop.trials import VARIABLE

_WIDGET = "application/vnd.jupyter.widget-view+json"


def execute(path: Path) -> None:
    """Run one solution from top to bottom and write it back with its outputs."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False, record_timing=False,
    )  # fmt: skip
    client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if _WIDGET not in o.get("data", {})]
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    write_whole(path, nbformat.writes(notebook) + "\n", ReportError)


def main() -> None:
    """Execute every solution of the workshop."""
    os.environ[VARIABLE] = "recorded"
    for path in sorted((notebooks_dir() / "workshop" / "solutions").glob("*.ipynb")):
        execute(path)
        print(path.name)


if __name__ == "__main__":
    main()
