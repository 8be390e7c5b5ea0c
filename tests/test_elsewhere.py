"""What other systems do in their own way, as far as it can be tried on this one."""

import ast
import os
import re
import selectors
import subprocess
import sys
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest
from pydantic import BaseModel
from test_fuzz_readers import READERS

from stackchoice import load_facts, load_scenario
from stackchoice.confirm.arms import arm_names
from stackchoice.confirm.command_engine import CommandEngine, words_of
from stackchoice.errors import InputError, ScenarioError
from stackchoice.load.ticking import wait_for
from stackchoice.scenario import parse_scenario
from stackchoice.scenario.scenario import DEVICES
from stackchoice.sweep.run import _plain

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", READERS)
def test_lines_may_end_as_on_windows(tmp_path: Path, name: str) -> None:
    reader = READERS[name]
    path = tmp_path / ("config.json" if name == "checkpoint" else f"f{reader.ends[0]}")

    def read(raw: bytes) -> Any:
        path.write_bytes(raw)
        found = reader.read(path)
        return found.model_dump() if isinstance(found, BaseModel) else found

    unix = re.sub(rb"\r?\n", b"\n", reader.good)
    assert without_size(read(unix.replace(b"\n", b"\r\n"))) == without_size(read(unix))


def without_size(found: Any) -> Any:
    """Leave out what counts or hashes the bytes of a file."""
    text = re.sub(r"\b[0-9a-f]{12,64}\b", "", repr(found))
    return re.sub(r"(bytes\w*['\"]?[=:] ?)\d+", r"\1", text)


@pytest.mark.parametrize(
    ("command", "unix", "windows"),
    [
        (r"C:\py\python.exe -m vllm --port {port}", ["C:pypython.exe", "-m"],
         [r"C:\py\python.exe", "-m"]),
        (r'"C:\Program Files\x.exe" --a "b c"', ["C:\\Program Files\\x.exe", "--a", "b c"],
         [r"C:\Program Files\x.exe", "--a", "b c"]),
        ("serve --name 'it is' # no comment", ["serve", "--name", "it is", "#"],
         ["serve", "--name", "'it", "is'", "#"]),
        (r"\\server\share\run.bat --x", ["\\servershare" + "run.bat", "--x"],
         [r"\\server\share\run.bat", "--x"]),
    ],
)  # fmt: skip
def test_a_command_is_split_as_its_system_does(
    command: str, unix: list[str], windows: list[str]
) -> None:
    assert words_of(command, windows=False)[: len(unix)] == unix
    assert words_of(command, windows=True)[: len(windows)] == windows


def test_an_open_quote_is_said() -> None:
    with pytest.raises(InputError, match="close the quotes"):
        CommandEngine('serve "{port}', model="m")


def test_no_scenario_is_called_like_a_device() -> None:
    tree = load_scenario("json-chat").model_dump(by_alias=True)
    for name in DEVICES:
        with pytest.raises(ScenarioError, match=f"name: '{name}' names a device on Windows"):
            parse_scenario({**tree, "name": name})
    assert parse_scenario({**tree, "name": "console"}).name == "console"


def fits_windows(name: str) -> bool:
    """Whether Windows takes a name of a file, by Microsoft's rules of naming files."""
    stem = name.partition(".")[0].rstrip().lower()
    return not (
        re.search(r'[<>:"/\\|?*\x00-\x1f]', name) or name[-1:] in (".", " ", "") or stem in DEVICES
    )


def test_the_rules_for_names_are_those_of_python() -> None:
    reserved = getattr(os.path, "isreserved", None)
    for name in (*DEVICES, "console", "a", "com", "lpt10"):
        for end in ("", ".html", ".passport.json"):
            known = PureWindowsPath(f"{name}{end}")
            told = reserved and __import__("ntpath").isreserved(known)
            if reserved is None and sys.version_info < (3, 13):
                told = known.is_reserved()
            if told is not None and name[-1] != "0":  # COM0 is refused by Windows alone
                assert fits_windows(known.name) is not told, known


def test_every_file_of_the_project_can_be_checked_out_and_installed_on_windows() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.splitlines()
    names = listed or [p.relative_to(ROOT).as_posix() for p in (ROOT / "data").rglob("*")]
    assert [name for name in names if not all(map(fits_windows, name.split("/")))] == []
    assert len({name.lower() for name in names}) == len(names)
    # 260 are the limit; site-packages below a user's folder and a virtual environment takes 100.
    assert max(map(len, names)) < 150


@pytest.mark.parametrize(
    "text", ["a=1,b=2", 'x="C:\\d":<y>|?*', "dots...", "nul", "ä/ö", "t" * 300]
)
def test_names_of_runs_are_names_everywhere(text: str) -> None:
    assert fits_windows(f"01-{_plain(text)}.passport.json")
    assert len(_plain(text)) <= 80


def test_names_of_arms_are_names_everywhere() -> None:
    assert all(fits_windows(f"{arm.replace(':', '-')}.passport.json") for arm in arm_names())


def test_waiting_for_nothing_is_no_error() -> None:
    """Windows refuses to select of nothing, and a load may have no connection for a time."""
    with selectors.SelectSelector() as nothing:
        assert wait_for(nothing, 0.01) == wait_for(nothing, -1) == []


@pytest.mark.parametrize(
    "console",
    [{"PYTHONIOENCODING": "cp1252"}, {"PYTHONIOENCODING": "ascii"},
     {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}],
    ids=["cp1252", "ascii", "C"],
)  # fmt: skip
def test_a_console_without_unicode_shows_all_the_same(console: dict[str, str]) -> None:
    found = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-m", "stackchoice.cli", "facts", "vllm",
         "--limit", "9999"],
        env={**os.environ, **console}, capture_output=True, check=False,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout.strip().endswith(b"fact base " + load_facts().sha256[:12].encode())
    if console["PYTHONIOENCODING"] != "cp1252":
        assert b"\\u" in found.stdout or b"\\x" in found.stdout


def test_no_module_asks_at_its_import_for_what_only_unix_has() -> None:
    """Nor does any start processes by fork, or hang on the event loop of one system."""
    for path in sorted((ROOT / "stackchoice").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = {a.name for a in node.names} if isinstance(node, ast.Import) else set()
            names |= {str(node.module)} if isinstance(node, ast.ImportFrom) else set()
            assert not names & {"asyncio", "multiprocessing", "pty"}, path
            if node in tree.body:
                assert not names & {"fcntl", "grp", "pwd", "resource", "termios"}, path
