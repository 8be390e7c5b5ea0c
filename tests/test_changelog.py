"""One user-facing sentence a fragment, so that two branches never write into the same line."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = ("feature", "bugfix", "doc", "removal", "misc")
FRAGMENTS = [p for p in sorted((ROOT / "changelog.d").iterdir()) if p.name != ".gitkeep"]


def test_a_fragment_is_one_short_text_of_a_known_kind():
    for path in FRAGMENTS:
        assert re.fullmatch(rf"\+[a-z0-9-]+\.({'|'.join(KINDS)})\.md", path.name), path.name
        text = path.read_text(encoding="utf-8")
        assert text.endswith(".\n"), path.name
        assert "\n\n" not in text, path.name
        assert not text.startswith(("-", "*", "#")), path.name
        assert len(text) <= 500, path.name


def test_the_fragments_make_a_changelog():
    made = subprocess.run(
        [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9"],
        cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=True,
    ).stdout  # fmt: skip
    assert "## 9.9" in made
    said = " ".join(made.split())
    for path in FRAGMENTS:
        assert " ".join(path.read_text(encoding="utf-8").split()) in said
