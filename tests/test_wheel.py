"""The wheel as a user gets it: built, installed beside nothing of the checkout, and used."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _run(*command, cwd, **environment):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": "", **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--disable-pip-version-check", "--wheel-dir", folder, ROOT, cwd=folder)  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Return a runner of Python with the installed package first, in a folder of its own."""
    folder, elsewhere = (tmp_path_factory.mktemp(name) for name in ("installed", "elsewhere"))
    _run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
         "--disable-pip-version-check", "--target", folder, wheel, cwd=elsewhere)  # fmt: skip

    def run(*arguments):
        return _run(sys.executable, *arguments, cwd=elsewhere, PYTHONPATH=str(folder))

    run.folder, run.elsewhere = folder, elsewhere
    return run


def test_the_wheel_holds_every_module_and_every_datum(wheel):
    inside = set(zipfile.ZipFile(wheel).namelist())
    caches = {"__pycache__", ".ipynb_checkpoints"}
    files = {
        path.relative_to(ROOT).as_posix()
        for folder in ("stackchoice", "data", "notebooks")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not caches & set(path.parts)
    }
    wanted = {name if name.startswith("stackchoice/") else f"stackchoice/{name}" for name in files}
    assert not wanted - inside
    assert "stackchoice/py.typed" in inside
    assert {name.split("/")[0] for name in inside if ".dist-info" not in name} == {"stackchoice"}


def test_the_installed_package_is_the_one_that_runs(installed):
    where = installed("-c", "import stackchoice; print(stackchoice.__file__)").strip()
    assert Path(where).is_relative_to(installed.folder)


def test_it_decides_fits_scores_and_knows_its_facts(installed):
    run = ("-m", "stackchoice.cli")
    decided = json.loads(installed(*run, "decide", "json-chat", "--json"))
    assert decided["best_self_hosted"] == "SGLang"
    sized = json.loads(installed(*run, "fit", "Qwen/Qwen3.6-35B-A3B", "--machine", "h100_sxm",
                                 "--context", "8192", "--json"))  # fmt: skip
    assert sized["kv_bytes_per_token"] == 2 * 2 * 256 * 2 * 10
    assert "facts" in installed(*run, "facts", "h100_sxm")
    questions = installed.folder / "stackchoice" / "data" / "cases.jsonl"
    few = installed.elsewhere / "few.jsonl"
    lines = questions.read_text(encoding="utf-8").splitlines()[:3]
    few.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(json.loads(installed(*run, "score", few, "--json"))["lines"]) == 3


def test_it_renders_a_report_and_copies_its_notebooks(installed):
    installed("-m", "stackchoice.cli", "report", "json-chat", "-o", "out.html")
    assert "json-chat" in (installed.elsewhere / "out.html").read_text(encoding="utf-8")
    copy = "from stackchoice.notebooks import notebooks_to_edit as n; from pathlib import Path; "
    installed("-c", copy + "n(Path('mine'))")
    mine = {p.relative_to(installed.elsewhere / "mine") for p in
            (installed.elsewhere / "mine").rglob("*.ipynb")}  # fmt: skip
    ours = {p.relative_to(ROOT / "notebooks") for p in (ROOT / "notebooks").rglob("*.ipynb")}
    assert mine == ours
