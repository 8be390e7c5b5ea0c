"""Files are written whole, and never over what the writer has not seen."""

import os
import resource
import stat
import subprocess
import sys
import threading

import pytest

from stackchoice.errors import ScenarioError
from stackchoice.facts.write import text_at, write_whole


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
