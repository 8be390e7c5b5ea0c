"""The public names: typed, documented with an example that runs, and imported when asked for."""

import doctest
import inspect
import re
import subprocess
import sys

import pytest

import stackchoice

NAMES = [name for name in stackchoice.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example_that_runs(name):
    thing = getattr(stackchoice, name)
    (test,) = [
        found
        for found in doctest.DocTestFinder(recurse=False).find(thing, name, globs={})
        if found.examples
    ]
    failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert not failed


@pytest.mark.parametrize("name", NAMES)
def test_every_public_function_is_typed(name):
    thing = getattr(stackchoice, name)
    if inspect.isfunction(thing):
        signature = inspect.signature(thing)
        assert signature.return_annotation is not inspect.Signature.empty
        assert all(
            parameter.annotation is not inspect.Parameter.empty
            for parameter in signature.parameters.values()
        )


#: Of each public function and each error that it documents, a call that ends in that error.
ENDS = {
    ("compare_files", "InputError"): lambda f: f(["gh200-0.19.1"]),
    ("compare_files", "PassportError"): lambda f: f(["no-such", "gh200-0.19.1"]),
    ("decide", "ScenarioError"): lambda f: f(_renamed("no-such"), stackchoice.load_facts()),
    ("inspect_checkpoint", "CheckpointError"): lambda f: f("no-such"),
    ("load_facts", "FactsError"): lambda f: f(overlay="broken"),
    ("load_scenario", "ScenarioError"): lambda f: f("broken/machines.yaml"),
    ("measure_log", "TrafficError"): lambda f: f("broken", stackchoice.load_facts()),
    ("read_log_by_name", "InputError"): lambda f: f("a.log", machine="no-such"),
    ("read_log_by_name", "LogError"): lambda f: f("broken"),
    ("save_scenario", "ScenarioError"): lambda f: f(_renamed("x"), "no-such/a.yaml"),
    ("size_by_name", "CheckpointError"): lambda f: f("broken", "l4", context_tokens=1),
    ("size_by_name", "InputError"): lambda f: f("no-such", "l4", context_tokens=1),
}


def _raises(name):
    text = inspect.getdoc(getattr(stackchoice, name))
    return text.partition("Raises\n------\n")[2].partition("\n\n")[0]


def _renamed(model):
    scenario = stackchoice.load_scenario("json-chat")
    return scenario.model_copy(update={"model": scenario.model.model_copy(update={"id": model})})


@pytest.mark.parametrize(("name", "error"), ENDS)
def test_every_documented_error_is_raised_as_that_error(name, error, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "machines.yaml").write_text("machines: [", encoding="utf-8")
    with pytest.raises(stackchoice.StackchoiceError) as caught:
        ENDS[name, error](getattr(stackchoice, name))
    assert type(caught.value).__name__ == error


def test_every_documented_error_has_such_a_call():
    told = {
        (name, error)
        for name in NAMES
        if inspect.isfunction(getattr(stackchoice, name))
        for error in re.findall(r"\b[A-Z]\w+Error\b", _raises(name))
    }
    assert told == set(ENDS)


def test_importing_the_package_imports_nothing_heavy():
    code = "import stackchoice, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"pandas", "numpy", "pydantic", "typer", "yaml", "jinja2", "altair"} & set(loaded)
