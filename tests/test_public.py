"""The public names: typed, documented with an example that runs, and imported when asked for."""

import doctest
import inspect
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


def test_importing_the_package_imports_nothing_heavy():
    code = "import stackchoice, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"pandas", "numpy", "pydantic", "typer", "yaml", "jinja2", "altair"} & set(loaded)
