"""What others send cannot run, restyle or forge anything where it is printed."""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from odd_server import DONE, STREAM_HEAD, USAGE, Body, OddServer, Piece, chunk, event, http, refusal
from pydantic import ValidationError

from stackchoice.confirm import Passport
from stackchoice.errors import StackchoiceError
from stackchoice.facts.load import data_dir
from stackchoice.passports import compare_files, import_file

FORGED = "VALID: all is well"
EVIL = (
    "\x1b[31mred\x1b]8;;http://evil.example\x07link\x9b2J\u202erev\u2066\r\n" + FORGED +
    "\t<img src=x onerror=alert(1)></script><script>alert(2)</script>[md](javascript:alert(1))"
    "=cmd|' /C calc'!A0"
)  # fmt: skip
#: Names of columns that other programs calculate with when a cell of them begins a formula.
FORMULA = re.compile(r"(?m)^[=+@]")


def printed(folder: Path, *words: str) -> str:
    found = subprocess.run([sys.executable, "-m", "stackchoice.cli", *words], cwd=folder,
                           capture_output=True, check=False)  # fmt: skip
    text = (found.stdout + found.stderr).decode()
    assert "Traceback" not in text
    assert all(c.isprintable() or c == "\n" for c in text)
    assert FORGED not in [line.strip()[: len(FORGED)] for line in text.split("\n")]
    assert not FORMULA.search(text)
    return text


class Evil(OddServer):
    """Says the worst in every field that is read."""

    def _get(self, path: str) -> list[Piece]:
        tree: dict[str, Any] = {
            "data": [{"id": EVIL, "max_model_len": 4096, "owned_by": EVIL, "root": EVIL}],
            "version": EVIL, "model_path": EVIL, "build_info": EVIL, "total_slots": 1,
            "chat_template": EVIL, "default_generation_settings": {"n_ctx": 4096, EVIL: EVIL},
            "internal_states": [{"kv_cache_dtype": EVIL, EVIL: EVIL}],
        }  # fmt: skip
        server = re.sub(r"[\r\n]", "", EVIL).encode("latin-1", "replace").decode("latin-1")
        return [http(json.dumps(tree).encode(), extra=f"Server: {server}\r\n")]


def evil_answer(body: Body) -> list[Piece]:
    bad: list[list[Piece]] = [
        refusal(429, EVIL), [STREAM_HEAD, event({"error": {"message": EVIL}})],
        [STREAM_HEAD, b"data: " + EVIL.encode() + b"\n\n"], [http(EVIL.encode(), kind="text/html")],
        refusal(500, EVIL),
    ]  # fmt: skip
    number = len(servers[0].asked)
    if number % 2:
        return bad[number // 2 % len(bad)]
    tokens = [piece for _ in range(9) for piece in (chunk({"content": EVIL}), 0.002)]
    end = [event({"model": EVIL, "choices": [{"index": 0, "delta": {}, "finish_reason": EVIL}]}),
           chunk(None, usage={**USAGE, "completion_tokens": 9}), DONE]  # fmt: skip
    return [STREAM_HEAD, *tokens, *end]


servers: list[Evil] = []


@pytest.fixture
def evil() -> Iterator[Evil]:
    with Evil(evil_answer) as server:
        servers[:] = [server]
        yield server


def test_a_hostile_server_prints_nothing_of_its_own(evil: Evil, tmp_path: Path) -> None:
    text = printed(tmp_path, "confirm", "this-machine", "--endpoint", evil.url, "--model", "odd",
                   "--no-floor", "--requests", "6", "--output-tokens", "16", "--probe", "slots",
                   "--out", ".")  # fmt: skip
    assert "\\x1b[31mred" in text  # it is told, and does nothing
    kept = (tmp_path / "this-machine.passport.json").read_text(encoding="utf-8")
    assert "\\u001b" not in kept


def hostile_passport() -> dict[str, Any]:
    """The recorded passport with the worst in every text that its format allows."""
    tree = json.loads((data_dir() / "samples" / "embedded.passport.json").read_text("utf-8"))
    for path in list(leaves(tree)):
        changed = copy.deepcopy(tree)
        *parents, last = path
        node = changed
        for key in parents:
            node = node[key]
        node[last] = EVIL if node[last] is None else node[last] + EVIL
        try:
            Passport.model_validate(json.loads(json.dumps(changed)))
        except ValidationError:
            continue
        tree = changed
    return tree


def leaves(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(node, dict | list):
        pairs = node.items() if isinstance(node, dict) else enumerate(node[:1])
        for key, value in pairs:
            yield from leaves(value, (*path, key))
    elif isinstance(node, str) or node is None:
        yield path


def test_a_hostile_passport_prints_nothing_of_its_own(tmp_path: Path) -> None:
    tree = hostile_passport()
    assert json.dumps(tree).count("onerror") > 60
    (tmp_path / "evil.passport.json").write_text(json.dumps(tree), encoding="utf-8")
    for words in (
        ["passport", "show", "evil.passport.json"],
        ["passport", "validate", "evil.passport.json"],
        ["compare", "evil.passport.json", "rtx5090-none"],
    ):
        printed(tmp_path, *words)


@pytest.mark.parametrize(
    "text",
    ["", "[" * 100_000, "{}", '{"format": "stackchoice-passport/2"}', "\0", "null", '"x"', EVIL,
     '{"format": "stackchoice-passport/9"}', "1" + "0" * 5000],
)  # fmt: skip
@pytest.mark.parametrize(
    "read", [Passport.load, import_file, lambda path: compare_files(["rtx5090-none", path])]
)
def test_what_is_no_passport_ends_in_one_line(tmp_path: Path, read: Any, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StackchoiceError) as error:
        read(path)
    assert str(error.value).isprintable()
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_doctor_in_a_hostile_folder_prints_nothing_of_it(tmp_path: Path) -> None:
    name = re.sub(r"[/\r]", "", EVIL)[:100]
    folder = tmp_path / name
    folder.mkdir()
    assert "writing here" in printed(folder, "doctor")


def test_there_is_no_spreadsheet_export() -> None:
    """Nothing here writes CSV or workbooks, so no cell can become a formula."""
    package = Path(__file__).parents[1] / "stackchoice"
    for path in package.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        assert not re.search(r"csv\.(writer|DictWriter)|to_csv|to_excel|openpyxl|xlsx", source), (
            path
        )
