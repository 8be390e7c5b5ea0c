"""Every notebook runs from top to bottom, and its results are the library's."""

import ast
import json

import nbformat
import papermill
import pytest

from stackchoice import decide, load_scenario, save_scenario
from stackchoice.notebooks import notebooks_dir
from stackchoice.present.report import SECTION_MIME, SECTIONS

NOTEBOOKS = sorted(notebooks_dir().rglob("*.ipynb"))
ROOM = [path for path in NOTEBOOKS if path.name in ("00_start.ipynb", "report.ipynb")]


def read(path):
    return nbformat.read(path, as_version=4)


def run(name, tmp_path, **parameters):
    """Execute a notebook in an empty folder and return it."""
    return papermill.execute_notebook(
        notebooks_dir() / name, tmp_path / name, parameters, kernel_name="python3",
        progress_bar=False, cwd=tmp_path, extra_arguments=["--log-level=ERROR"],
    )  # fmt: skip


def result(notebook):
    """Return the text of the cell tagged ``result``."""
    (cell,) = (c for c in notebook.cells if "result" in c.metadata.get("tags", []))
    return ast.literal_eval(cell.outputs[0].data["text/plain"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_committed_notebooks_hold_no_outputs(path):
    notebook = read(path)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(not c.outputs and c.execution_count is None for c in code(notebook))


@pytest.mark.parametrize("path", ROOM, ids=lambda p: p.name)
def test_notebooks_are_thin(path):
    """No arithmetic and no functions: inputs, one call, one picture."""
    for cell in code(read(path)):
        nodes = list(ast.walk(ast.parse(cell.source)))
        assert not any(isinstance(n, ast.BinOp | ast.FunctionDef | ast.Lambda) for n in nodes)


def test_start_answers_at_once_and_like_the_library(tmp_path, facts):
    expected = decide(load_scenario("json-chat"), facts).verdict
    assert expected == result(run("00_start.ipynb", tmp_path))


def test_start_picks_up_what_was_saved(tmp_path, facts, changed):
    mine = changed("json-chat", constraints__data_may_leave=False)
    save_scenario(mine, tmp_path / "my-json-chat.yaml")
    assert decide(mine, facts).verdict == result(run("00_start.ipynb", tmp_path))


def test_report_writes_the_decision(tmp_path, facts):
    out = tmp_path / "decision.json"
    notebook = run("report.ipynb", tmp_path, scenario="spiky-volume", out=str(out))
    expected = decide(load_scenario("spiky-volume"), facts)
    assert expected.model_dump(mode="json") == json.loads(out.read_text(encoding="utf-8"))
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    assert list(SECTIONS) == [o.data[SECTION_MIME] for o in outputs if SECTION_MIME in o.data]


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]
