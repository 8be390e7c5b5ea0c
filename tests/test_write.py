"""Files are written whole, and never over what the writer has not seen."""

import errno
import fcntl
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from stackchoice.errors import ScenarioError
from stackchoice.facts import write
from stackchoice.facts.write import text_at, write_whole
from stackchoice.present.kept import Kept


def test_a_reader_sees_the_old_text_or_the_new_one(tmp_path):
    path, seen = tmp_path / "f", set()
    write_whole(path, "a" * 10**6, ScenarioError)
    over = threading.Event()

    def read():
        while not over.is_set():
            seen.add(path.read_text()[0] * (path.stat().st_size > 0))

    reader = threading.Thread(target=read)
    reader.start()
    for letter in "bcd" * 5:
        write_whole(path, letter * 10**6, ScenarioError)
    over.set()
    reader.join()
    assert seen <= set("abcd")
    assert os.listdir(tmp_path) == ["f"]


def test_rights_and_links_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    write_whole(real, "1", ScenarioError)
    assert stat.S_IMODE(real.stat().st_mode) == 0o644  # for a team, not for its writer alone
    real.chmod(0o640)
    link.symlink_to(real)
    write_whole(link, "2", ScenarioError)
    assert link.is_symlink()
    assert (real.read_text(), stat.S_IMODE(real.stat().st_mode)) == ("2", 0o640)


@pytest.mark.parametrize("read", [None, "another"])
def test_what_was_not_seen_is_not_replaced(tmp_path, read):
    path = tmp_path / "f"
    path.write_text("theirs")
    with pytest.raises(ScenarioError, match=r"somebody else wrote it; read it again, or choose"):
        write_whole(path, "ours", ScenarioError, read=read)
    assert (path.read_text(), os.listdir(tmp_path)) == ("theirs", ["f"])
    write_whole(path, "ours", ScenarioError, read=text_at(path))
    assert path.read_text() == "ours"


@pytest.mark.parametrize("name", ["no/f", "f" * 300, "f\0", "."])
def test_a_place_that_cannot_be_written_is_one_error(tmp_path, name):
    with pytest.raises(ScenarioError, match="cannot be written"):
        write_whole(f"{tmp_path}/{name}", "1", ScenarioError)
    assert os.listdir(tmp_path) == []


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    """As root, a report for /dev/null took the device's place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for name in ("pipe", "link"):
        with pytest.raises(ScenarioError, match="a pipe or a device, no file"):
            write_whole(tmp_path / name, "1", ScenarioError)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(os.listdir(tmp_path)) == ["link", "pipe"]


def test_a_full_disk_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "f"
    path.write_text("old")
    code = (
        "import sys; from stackchoice.errors import *; from stackchoice.facts.write import *\n"
        "try: write_whole(sys.argv[1], 'x' * 100_000, ScenarioError)\n"
        "except ScenarioError as error: print(error)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000)),
    )  # fmt: skip
    assert "cannot be written (File too large); choose another path, or free" in found.stdout
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["f"])


#: Forks for each step in a folder, kills the child before that step, and says what is left there.
KILLER = """
import json, os, shutil, signal, sys
from pathlib import Path
from stackchoice.errors import *
from stackchoice.facts.write import *

folder = Path(sys.argv[1])
WATCHED = {"open", "fsync", "os.chmod", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}

def die_before(left):
    def step(event, where=""):
        nonlocal left
        if event in WATCHED and str(folder) in repr(where):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    real = os.fsync
    os.fsync = lambda handle: (step("fsync", folder), real(handle))
    sys.addaudithook(step)

def act():
    CODE

for left in range(200):
    PREPARE
    if not (child := os.fork()):
        die_before(left)
        act()
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    files = {f.name: f.read_text()[:3] if f.is_file() else sorted(p.name for p in f.rglob("*"))
             for f in folder.iterdir()}
    print(json.dumps([status, files]))
    if not status:
        break
"""


def killed_at_each_step(folder: Path, act: str, prepare: str) -> list[dict[str, Any]]:
    """Return what a folder held after each kill, and last of all after a write that ended."""
    code = KILLER.replace("CODE", act).replace("PREPARE", prepare)
    found = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    states = [json.loads(line) for line in found.stdout.splitlines()]
    assert [status for status, _ in states] == [signal.SIGKILL] * (len(states) - 1) + [0]
    return [files for _, files in states]


def test_killed_at_any_step_a_file_is_old_or_new_and_the_next_write_clears_up(tmp_path):
    states = killed_at_each_step(
        tmp_path,
        'write_whole(folder / "f", "new" * 100_000, ScenarioError)',
        '(folder / "f").write_text("old")',
    )
    assert {s["f"] for s in states} == {"old", "new"} or {s["f"] for s in states[:-1]} == {"old"}
    assert len(states) > 6  # held, made, given its rights, filled, synced, in place
    assert max(map(len, states)) == 2  # a part of one write, never of two
    assert states[-1] == {"f": "new"}


def test_killed_at_any_step_files_of_one_write_are_each_whole(tmp_path):
    states = killed_at_each_step(
        tmp_path,
        'write_together({folder / n: b"new" * 9999 for n in "abc"}, ReportError)',
        '[(folder / n).write_text("old") for n in "abc"]',
    )
    assert {s[n] for s in states for n in "abc"} == {"old", "new"}
    assert max(map(len, states)) == 6
    assert states[-1] == dict.fromkeys("abc", "new")


def test_killed_at_any_step_a_folder_is_whole_or_not_there(tmp_path):
    states = killed_at_each_step(
        tmp_path,
        """
    with made_whole(folder / "f", folder=True) as (part,):
        for name in "xy":
            write_whole(part / name, name, ScenarioError)""",
        "shutil.rmtree(folder / 'f', ignore_errors=True)",
    )
    assert all(s.get("f") in (None, ["x", "y"]) for s in states)
    assert max(map(len, states)) == 1
    assert states[-1] == {"f": ["x", "y"]}


HAMMER = """
import sys
from stackchoice.present.kept import Kept
kept = Kept(sys.argv[1], sys.argv[2])
for n in range(int(sys.argv[3])):
    values = {"a": str(n), "b": str(n)}
    assert kept.write({}, values) == ""
    assert kept.read() == values or sys.argv[2] == "shared"
"""


def test_notebooks_that_write_at_once_keep_the_inputs_of_all(tmp_path):
    path = tmp_path / "my-inputs.json"
    names = ["one", "two", "shared", "shared"]
    running = [
        subprocess.Popen([sys.executable, "-c", HAMMER, str(path), name, "40"]) for name in names
    ]
    assert [process.wait() for process in running] == [0] * 4
    kept = {name: Kept(path, name).read() for name in names}
    assert kept == {name: {"a": "39", "b": "39"} for name in names}
    assert os.listdir(tmp_path) == ["my-inputs.json"]


def test_of_writers_that_have_seen_the_same_one_wins_and_the_others_are_told(tmp_path):
    path, told = tmp_path / "f", list[str]()
    path.write_text("seen by all")

    def write(text):
        try:
            write_whole(path, text, ScenarioError, read="seen by all")
        except ScenarioError as error:
            told.append(str(error))

    threads = [threading.Thread(target=write, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 7
    assert all("somebody else wrote it" in text for text in told)


@pytest.mark.parametrize("busy", [True, False])
def test_where_no_lock_is_to_be_had_the_file_is_written_all_the_same(tmp_path, monkeypatch, busy):
    """A file system without locks, or somebody who holds one too long; nothing is swept then."""

    def refused(handle, how):
        raise BlockingIOError if busy else OSError(errno.EBADF, "no lock here")

    left = tmp_path / f".f.x{write.PART}"
    left.touch()
    monkeypatch.setattr(fcntl, "flock", refused)
    monkeypatch.setattr(write, "WAIT_S", 0.05)
    write_whole(tmp_path / "f", "1", ScenarioError)
    assert sorted(os.listdir(tmp_path)) == [left.name, "f"]
