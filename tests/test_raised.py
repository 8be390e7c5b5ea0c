"""What a docstring says is raised is what is raised."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "stackchoice"
#: Commands end every error in one line, and their docstrings are the help.
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if p.parent.name != "commands")
#: A handler of one of these takes every error of ours.
ALL = {"Exception", "BaseException", "StackchoiceError"}


def raised(function):
    """Names of the errors that a function itself raises and does not catch."""

    def walk(node, caught):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            return
        if isinstance(node, ast.Raise):
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = error.id if isinstance(error, ast.Name) else ""
            if name[:1].isupper() and name.endswith("Error") and not caught & {name, *ALL}:
                yield name
        for child in ast.iter_child_nodes(node):
            inner = caught
            if isinstance(node, ast.Try) and child in node.body:
                names = (n for h in node.handlers if h.type for n in ast.walk(h.type))
                inner = caught | {n.id for n in names if isinstance(n, ast.Name)}
            yield from walk(child, inner)

    return {name for child in function.body for name in walk(child, set())}


def public_functions(tree):
    """Yield every public function with its docstring; of ``__init__`` that is the class's."""
    for owner in (tree, *(n for n in tree.body if isinstance(n, ast.ClassDef))):
        told = ast.get_docstring(owner) or "" if owner is not tree else ""
        for node in owner.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if node.name == "__init__":
                    yield node, told
                elif not node.name.startswith("_") and not getattr(owner, "name", "").startswith(
                    "_"
                ):
                    yield node, ast.get_docstring(node) or ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_public_function_names_the_errors_it_raises(path):
    for function, told in public_functions(ast.parse(path.read_text(encoding="utf-8"))):
        assert not {name for name in raised(function) if name not in told}, function.name
