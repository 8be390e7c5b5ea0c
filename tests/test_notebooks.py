"""Every notebook runs from top to bottom, and its results are the library's."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import papermill
import pytest

from stackchoice import decide, load_scenario, save_scenario
from stackchoice.notebooks import notebooks_dir
from stackchoice.present.page import SECTION_MIME
from stackchoice.present.report import SECTIONS
from stackchoice.score.capacity import ASKS

NOTEBOOKS = sorted(
    path for path in notebooks_dir().rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
)
#: They alone carry outputs; tests/test_workshop.py has nbval check them.
SOLUTIONS = [path for path in NOTEBOOKS if "solutions" in path.parts]
LONGEST_DEF = 5


def read(path):
    return nbformat.read(path, as_version=4)


def run(name, tmp_path, **parameters):
    """Execute a notebook in an empty folder and return it."""
    return papermill.execute_notebook(
        notebooks_dir() / name, tmp_path / f"run-{Path(name).name}", parameters,
        kernel_name="python3", progress_bar=False, cwd=tmp_path,
        extra_arguments=["--log-level=ERROR"],
    )  # fmt: skip


def variables(name, tmp_path, code, **parameters):
    """Execute a notebook with a last cell of the test's own and return what that cell ends in."""
    notebook = read(notebooks_dir() / name)
    cell = nbformat.v4.new_code_cell(code, metadata={"tags": ["result"]})
    notebook.cells.append(cell)
    asked = tmp_path / "asked.ipynb"
    nbformat.write(notebook, asked)
    return result(run(asked, tmp_path, **parameters))


def result(notebook):
    """Return the text of the cell tagged ``result``."""
    (cell,) = (c for c in notebook.cells if "result" in c.metadata.get("tags", []))
    return ast.literal_eval(cell.outputs[0].data["text/plain"])


def named(path):
    return str(path.relative_to(notebooks_dir()))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_committed_notebooks_hold_no_outputs(path):
    notebook = read(path)
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    if path not in SOLUTIONS:
        assert all(not c.outputs and c.execution_count is None for c in code(notebook))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_notebooks_are_thin(path):
    """No arithmetic and no functions: inputs, one call, one picture.

    Where a learner is asked to do a sum by hand, in a cell tagged ``exercise``, the solution
    does it; nothing else does, and no function is hidden there either.
    """
    cells = code(read(path))
    assert sum("parameters" in c.metadata.get("tags", []) for c in cells) <= 1
    for cell in cells:
        nodes = list(ast.walk(ast.parse(cell.source)))
        by_hand = path in SOLUTIONS and "exercise" in cell.metadata.get("tags", [])
        assert by_hand or not any(isinstance(n, ast.BinOp) for n in nodes), cell.source
        assert not any(isinstance(n, ast.Lambda | ast.ClassDef) for n in nodes)
        for function in (n for n in nodes if isinstance(n, ast.FunctionDef)):
            assert function.end_lineno - function.lineno < LONGEST_DEF


def test_start_answers_at_once_and_like_the_library(tmp_path, facts):
    expected = decide(load_scenario("json-chat"), facts).verdict
    assert expected == variables("00_start.ipynb", tmp_path, "decision.verdict")


def test_start_picks_up_what_was_saved(tmp_path, facts, changed):
    mine = changed("json-chat", constraints__data_may_leave=False)
    save_scenario(mine, tmp_path / "my-json-chat.yaml")
    assert decide(mine, facts).verdict == variables("00_start.ipynb", tmp_path, "decision.verdict")


def test_hardware_fit_holds_the_librarys_numbers(tmp_path, facts):
    """Budgets, admissions, premises, openings, the two premises and the score, as variables."""
    found = variables("01_hardware_fit.ipynb", tmp_path, """
{
    "decision": decision.model_dump_json(),
    "budgets": [row.live_sequences for row in decision.fit.rows],
    "admitted": [a.live_sequences for a in decision.fit.admissions],
    "premises": [p.bytes_at_context for p in one.premises],
    "headroom": [row.pool_bytes for o in openings for row in o.rows],
    "fits": [row.fits for o in openings for row in o.rows],
    "panel": (panel.error, panel.sizing.context_tokens),
    "first": (printed.error, printed.check.reproducing, printed.check.separable),
    "second": (second.reproducing, second.separable),
    "right": {ask: tally.right for ask, tally in score.by_ask.items()},
    "wrong": sum(tally.wrong for tally in score.by_ask.values()),
}
""", scenario="json-chat")  # fmt: skip
    expected = decide(load_scenario("json-chat"), facts)
    assert json.loads(found["decision"]) == expected.model_dump(mode="json")
    assert found["budgets"] == [36, 33, 41]
    assert found["admitted"] == [a.live_sequences for a in expected.fit.admissions]
    assert {34, 28, 15, 36} <= set(found["admitted"])
    assert [size / 2**30 for size in found["premises"]] == [192, 32, 8]
    assert all(found["fits"])
    assert min(found["headroom"]) > 0
    assert found["panel"] == ("", 8192)
    both = ["all_layers", "grouped_blocks_over_groups"]
    assert found["first"] == ("", both, False)
    assert set(both) <= set(found["second"][0])
    assert not found["second"][1]
    assert set(found["right"]) == set(ASKS)
    assert found["wrong"] == 0


def test_hardware_fit_takes_another_scenario(tmp_path, facts):
    live = "[row.live_sequences for row in decision.fit.rows]"
    found = variables("01_hardware_fit.ipynb", tmp_path, live, scenario="apple-one-user")
    expected = decide(load_scenario("apple-one-user"), facts)
    assert found == [row.live_sequences for row in expected.fit.rows]


def test_ops_and_cost_shows_what_the_library_says(tmp_path, facts):
    found = variables("03_ops_and_cost.ipynb", tmp_path, """
{
    "decision": decision.model_dump_json(),
    "people": [str(line.people_usd) for line in busier.cost.lines],
    "curves": [curve.name for curve in decision.cost.curves],
    "panel": (panel.error, panel.decision == decision),
}
""", scenario="json-chat")  # fmt: skip
    expected = decide(load_scenario("json-chat"), facts)
    assert json.loads(found["decision"]) == expected.model_dump(mode="json")
    assert [float(usd) for usd in found["people"]] == [900, 7200, 9000], "twice the work"
    assert found["curves"][0] == "managed"
    assert found["panel"] == ("", True)


@pytest.mark.parametrize("name", ["apple-one-user", "mixed-fleet"])
def test_ops_and_cost_takes_another_scenario(name, tmp_path, facts):
    totals = "[str(line.total_usd) for line in decision.cost.lines]"
    found = variables("03_ops_and_cost.ipynb", tmp_path, totals, scenario=name)
    assert found == [str(line.total_usd) for line in decide(load_scenario(name), facts).cost.lines]


def test_workload_shape_holds_the_librarys_numbers(tmp_path, facts):
    """The decision, the panel's scenario and decision, and a log that was given by path."""
    log = tmp_path / "requests.csv"
    rows = [f"2026-11-02T08:{i % 60:02d}:00Z,{1000 + i},90" for i in range(200)]
    log.write_text("time,input_tokens,output_tokens\n" + "\n".join(rows), encoding="utf-8")
    found = variables("02_workload_shape.ipynb", tmp_path, """
{
    "decision": decision.model_dump_json(),
    "requests": panel.found.requests,
    "input": panel.scenario.workload.input_tokens.value,
    "verdict": panel.decision.verdict,
    "error": panel.error,
}
""", scenario="shared-prefix", log=str(log))  # fmt: skip
    expected = decide(load_scenario("shared-prefix"), facts)
    assert json.loads(found["decision"]) == expected.model_dump(mode="json")
    assert (found["requests"], found["input"], found["error"]) == (200, 1100, "")
    assert found["verdict"]


def test_workload_shape_starts_from_a_published_workload(tmp_path, facts):
    found = variables("02_workload_shape.ipynb", tmp_path, "[panel.found.id, panel.error]")
    assert found == ["ragpulse", ""]


def test_report_writes_the_decision(tmp_path, facts):
    out = tmp_path / "decision.json"
    notebook = run("report.ipynb", tmp_path, scenario="spiky-volume", out=str(out))
    expected = decide(load_scenario("spiky-volume"), facts)
    assert expected.model_dump(mode="json") == json.loads(out.read_text(encoding="utf-8"))
    outputs = [output for cell in code(notebook) for output in cell.outputs]
    assert list(SECTIONS) == [o.data[SECTION_MIME] for o in outputs if SECTION_MIME in o.data]


def test_confirmation_measures_the_engine_or_shows_the_recorded_run(tmp_path):
    found = variables("05_confirmation.ipynb", tmp_path, """
{
    "error": panel.error,
    "runs": [p.results.requests for p in panel.done.passports] if panel.done else [],
    "stands": panel.done.carried.stands if panel.done else "",
    "arms": [name for name, _ in arms],
}
""", out=str(tmp_path))  # fmt: skip
    assert found["error"] == ""
    assert found["arms"][-1] == "embedded, recorded"
    assert found["runs"] in ([3], [])
    assert found["stands"] in ("stands", "stands so far", "not decided", "does not stand", "")


def test_the_executed_sample_is_what_its_notebook_gives(tmp_path):
    """nbval runs it again; days and pictures apart, every section is the same."""
    reports = Path(__file__).parents[1] / "reports"
    for name in ("sample.ipynb", "nbval.cfg"):
        (tmp_path / name).write_bytes((reports / name).read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    sample, lesson = read(tmp_path / "sample.ipynb"), read(notebooks_dir() / "report.ipynb")
    assert [c.source for c in sample.cells] == [c.source for c in lesson.cells]
    checked = [c for c in code(sample) if "nbval-check-output" in c.metadata.tags]
    assert [c.outputs[0].data[SECTION_MIME] for c in checked] == list(SECTIONS)
    text = (reports / "sample.ipynb").read_text("utf-8")
    assert not re.search(r'"/(?:tmp|home|work|root)/|<svg', text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--nbval-lax", "--nbval-sanitize-with",
         "nbval.cfg", "--rootdir", str(tmp_path), "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, f"run make sample: {done.stdout[-3000:]}"


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_decision_notebook_defends_the_answer_the_library_gives(tmp_path, facts):
    asked = """
{
    "answer": (decision.recommended, decision.best_self_hosted),
    "panel": (panel.decision.recommended, round(sum(panel.defence.shares.wins.values()), 6)),
    "answers": side_by_side.answers,
    "releases": [row.release for row in releases],
}
"""
    found = variables("04_decision.ipynb", tmp_path, asked)
    expected = decide(load_scenario("json-chat"), facts)
    assert found["answer"] == (expected.recommended, expected.best_self_hosted)
    assert found["panel"] == (expected.recommended, 1.0)
    assert "managed endpoint" in found["answers"][1]
    assert found["releases"][-1] == facts.engines["vllm"].latest.version
