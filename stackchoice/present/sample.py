"""The committed sample of the report notebook, executed: ``python -m stackchoice.present.sample``.

Pictures are left out of what it keeps (``reports/sample.html`` has them), and what a machine or
a day would change. nbval runs it again with the rules of ``reports/nbval.cfg``.
"""

import re
import sys
import tempfile
from pathlib import Path

import nbformat

from stackchoice.errors import ReportError
from stackchoice.facts.write import write_whole
from stackchoice.notebooks import notebooks_dir
from stackchoice.present.page import SECTION_MIME
from stackchoice.present.render import execute

PICTURE = re.compile(r"<svg.*?</svg>", re.DOTALL)


def write(path: Path) -> None:
    """Run the report notebook as it is, and write it with its sections."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = execute(notebooks_dir() / "report.ipynb", {}, Path(folder) / "executed.ipynb")
    notebook.metadata = {"kernelspec": notebook.metadata.kernelspec,
                         "language_info": {"name": "python"}}  # fmt: skip
    for cell in notebook.cells:
        cell.metadata = {"tags": cell.metadata.get("tags", [])}
        for output in cell.get("outputs", []):
            if SECTION_MIME in output.data:
                output.data["text/html"] = PICTURE.sub("PICTURE", output.data["text/html"])
                cell.metadata["tags"] = ["nbval-check-output"]
    write_whole(path, nbformat.writes(notebook) + "\n", ReportError)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
