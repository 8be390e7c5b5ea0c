"""The house keeps its own plan: direction of imports, size of modules, documentation."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

import stackchoice
from stackchoice.cli import app
from stackchoice.scenario import Scenario
from stackchoice.scenario.scenario import (
    Candidates,
    Constraints,
    MachineChoice,
    ModelChoice,
    Money,
    StatedBudget,
    Team,
    Workload,
)

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "stackchoice"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Each room may import itself and the rooms named here.
MAY_IMPORT = {
    "errors": set(),
    "version": set(),
    "facts": {"errors"},
    "scenario": {"errors", "facts"},
    "fit": {"errors", "facts"},
    "read": {"errors", "facts", "fit"},
    "workload": {"facts", "scenario"},
    "ops": {"facts", "scenario"},
    "cost": {"facts"},
    "capacity": {"facts"},
    "traffic": {"errors", "facts", "scenario"},
    "choose": {
        "errors",
        "version",
        "facts",
        "scenario",
        "fit",
        "workload",
        "ops",
        "cost",
        "capacity",
    },
    "load": {"errors", "facts", "traffic"},
    "confirm": {"errors", "facts", "load", "version"},
    "sweep": {"confirm", "errors", "facts", "load"},
    "carried_out": {"choose", "compare", "confirm", "facts", "load", "read"},
    "importers": {"confirm", "errors", "facts", "load"},
    "compare": {"confirm", "errors", "facts", "fit", "load"},
    "passports": {"compare", "confirm", "errors", "facts", "importers"},
    "notebooks": {"errors", "facts"},
    "this_machine": {"confirm", "facts", "fit", "scenario"},
    "cases": {"choose", "facts", "scenario"},
    "present": {
        "carried_out",
        "cases",
        "choose",
        "compare",
        "confirm",
        "confirmation",
        "cost",
        "errors",
        "facts",
        "fit",
        "kernels",
        "load",
        "logs",
        "notebooks",
        "own_model",
        "read",
        "prices",
        "scenario",
        "score",
        "this_machine",
        "importers",
        "sweep",
        "traffic",
        "version",
        "why",
    },
    "own_model": {"errors", "facts", "fit", "read", "sizing"},
    "why": {
        "capacity",
        "choose",
        "cost",
        "errors",
        "facts",
        "fit",
        "ops",
        "read",
        "scenario",
        "traffic",
        "workload",
    },
    "score": {"errors", "facts", "fit", "read"},
    "workshop": {
        "choose",
        "compare",
        "confirm",
        "confirmation",
        "doctor",
        "errors",
        "facts",
        "fit",
        "kernels",
        "load",
        "logs",
        "notebooks",
        "read",
        "scenario",
    },
    "prices": {"facts"},
}


def room(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stackchoice."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (
                a.name.split(".")[1] for a in node.names if a.name.startswith("stackchoice.")
            )


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_what_stands_before_it(path):
    allowed = MAY_IMPORT.get(room(path))
    if allowed is None:
        return
    assert set(imports(path)) <= allowed | {room(path)}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_can_be_imported_alone(path):
    """Annotations are evaluated then; only the package of an extra may be missing."""
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    try:
        importlib.import_module(name.removesuffix(".__init__"))
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("stackchoice"):
            raise


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_modules_stay_readable(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


def test_the_core_needs_no_screen_network_or_clock():
    banned = {"socket", "ssl", "asyncio", "urllib", "time", "datetime", "altair", "ipywidgets"}
    for path in MODULES:
        if room(path) not in {
            "facts",
            "scenario",
            "fit",
            "workload",
            "ops",
            "cost",
            "capacity",
            "choose",
            "compare",
            "score",
            "why",
        }:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            alias.name.split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
        } | {
            (node.module or "").split(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
        # facts/datum reads the dates that YAML makes of unquoted text, not the clock
        # facts/survey takes the day from its caller
        # facts/write waits for another writer of the same folder; no answer comes from it
        allowed = {"datum.py": "datetime", "survey.py": "datetime", "write.py": "time"}
        known = {allowed.get(path.name)} if room(path) == "facts" else set()
        assert not (names & banned) - known, path


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_needs_what_only_posix_has_to_be_imported(path):
    only = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not only & {name.split(".")[0] for name in names}


def test_contributing_names_every_room():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in PACKAGE.iterdir():
        if path.name.startswith("__") or path.suffix not in ("", ".py"):
            continue
        assert path.name in text, path.name


def test_the_road_of_a_reader_is_short_and_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    road = text.partition("## Read this first")[2].partition("\n## ")[0]
    names = re.findall(r"^\d+\. `([\w/]+\.py)`: ", road, re.M)
    assert len(names) == len(set(names)) == 15
    lines = sum(len((PACKAGE / n).read_text(encoding="utf-8").splitlines()) for n in names)
    assert lines < 3000


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def test_the_docs_document_every_command_and_every_scenario_key():
    guide, text = page("guide.md"), page("scenarios.md")
    for name in get_command(app).commands:
        assert f"`stackchoice {name}" in guide, name
    for record in (Scenario, ModelChoice, Candidates, MachineChoice, StatedBudget, Workload, Team,
                   Money, Constraints):  # fmt: skip
        for key, field in record.model_fields.items():
            assert f"`{field.alias or key}`" in text, f"{record.__name__}.{key}"


def test_public_names_exist():
    for name in stackchoice.__all__:
        assert hasattr(stackchoice, name)
    assert len(stackchoice.__all__) <= 18  # about fifteen


def test_the_command_line_starts_without_what_only_some_commands_need():
    """Every command pays for what is imported at the top of any of them."""
    asked = "import sys, stackchoice.cli; print({'numpy', 'pydantic', 'yaml'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_nothing_in_the_tree_looks_unfinished():
    for path in MODULES:
        assert not re.search(r"\b(TODO|FIXME|XXX)\b", path.read_text(encoding="utf-8")), path


def test_the_guide_names_every_section_of_the_report():
    from stackchoice.present.report import SECTIONS

    text = " ".join(page("guide.md").split())
    listed = re.search(r"in [\w-]+ sections: (.*?)\. A passport", text).group(1)
    assert listed.split("; ") == list(SECTIONS.values())


def test_contributing_tells_the_size_of_every_room():
    sizes = {}
    for path in MODULES:
        name = "(top)" if path.parent == PACKAGE else room(path)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        sizes[name] = sizes.get(name, 0) + lines
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = {n: int(lines.replace(",", "")) for n, lines in
            re.findall(r"^\| `([^`]+)` \| ([\d,]+) \|", text, re.M)}  # fmt: skip
    assert told.keys() == sizes.keys()
    assert {n: told[n] for n in sizes if abs(told[n] / sizes[n] - 1) > 0.2} == {}


#: Who writes by itself: into a folder of the system's own temporary ones, or line by line.
WRITES_BY_ITSELF = {
    "facts/write.py",  # what everybody else uses
    "load/aiperf_run.py", "confirm/engine.py", "confirm/serve.py", "commands/logs.py",  # temporary
    "confirm/run.py", "confirm/load.py",  # a log that grows by whole lines
}  # fmt: skip


def test_whoever_writes_a_file_writes_it_whole():
    """One helper writes files (``facts/write.py``), so that a kill leaves none half written."""
    found = set()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                modes = [a.value for a in [*node.args, *(k.value for k in node.keywords)]
                         if isinstance(a, ast.Constant) and isinstance(a.value, str)]  # fmt: skip
                opened = name in ("open", "fdopen") and any(set(m) & set("wax+") for m in modes)
                if opened or (name in (
                    "write_text", "write_bytes", "mkstemp", "mkdtemp", "NamedTemporaryFile",
                    "copyfile", "copy", "copy2", "copytree", "move", "rename",
                ) and isinstance(node.func, ast.Attribute) and not (
                    name == "copy" and getattr(node.func.value, "id", "") != "shutil"
                )):  # fmt: skip
                    found.add(path.relative_to(PACKAGE).as_posix())
    assert found == WRITES_BY_ITSELF
