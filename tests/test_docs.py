"""What is written about the command line is what the command line takes."""

import html
import re
import shlex
import textwrap
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import stackchoice
from stackchoice.cli import app

ROOT = Path(__file__).parents[1]
COMMANDS = typer.main.get_command(app).commands
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "notebooks").rglob("*.md")),
]
REFERENCE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def sections():
    """Return the reference by command: a heading with its name begins each part."""
    _, *parts = re.split(r"^## `stackchoice ([\w-]+)`$", REFERENCE, flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def written():
    """Yield every command line in the pages, in code blocks and between backticks."""
    for page in PAGES:
        text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
        blocks = re.findall(r"^(?: {4}|)(?:\$ )?(?:\.venv/bin/)?(stackchoice .*)$", text, re.M)
        for line in [*blocks, *re.findall(r"`(?:\$ )?(stackchoice [^`]*)`", text)]:
            if line.split()[1] in COMMANDS or line.split()[1].startswith("-"):
                yield pytest.param(line, id=f"{page.name}: {line[:60]}")


def arguments(line):
    """Return the words of a line: of alternatives the first, ``1`` for every placeholder."""
    line = re.sub(r"\\?\|[^\s\]]*", "", line.replace(" \\| ", " ")).translate(
        dict.fromkeys(b"[]{}")
    )
    words = shlex.split(line.replace("...", ""), comments=True)[1:]
    return ["1" if re.fullmatch("[A-Z]+", word) else word for word in words]


def test_the_reference_has_every_command_and_no_other():
    assert list(sections()) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_reference_has_every_option_with_its_help(name):
    command, text = COMMANDS[name], " ".join(html.unescape(sections()[name]).split())
    assert " ".join(command.help.split()) in text
    for parameter in command.params:
        assert parameter.help, f"{name} {parameter.name} is not documented"
        assert " ".join(parameter.help.split()) in text
        for option in parameter.opts:
            assert option in text
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help"}
    assert set(re.findall(r"^\* `.*?(--[\w-]+)", sections()[name], flags=re.M)) <= options


@pytest.mark.parametrize("line", [*written()])
def test_every_written_command_is_taken(line):
    name, *rest = arguments(line)
    if rest and "[OPTIONS]" not in line:
        COMMANDS[name].make_context(name, rest)
    else:  # a name alone, or a line of usage that the help wrote
        assert name in COMMANDS or name == "--version"


def test_the_python_of_the_pages_runs():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"(?:^    .*\n|^\n)+", text, flags=re.M)
    programs = [b for b in map(textwrap.dedent, blocks) if b.strip().startswith("from ")]
    assert len(programs) >= 2
    for program in programs:
        exec(program, {})


def test_what_the_guide_shows_of_a_shipped_file_is_what_is_printed(monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^    \$ stackchoice (\w+ data/.*\n(?:    .*\n|\n)+)", text, re.M)
    line, _, shown = block.partition("\n")
    printed = CliRunner().invoke(app, shlex.split(line), catch_exceptions=False).stdout
    assert textwrap.dedent(shown).strip() == printed.strip()


def test_every_page_that_a_page_points_to_is_there():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_public_name_is_in_the_readme():
    text = PAGES[0].read_text(encoding="utf-8")
    assert not [n for n in stackchoice.__all__ if n != "__version__" and n not in text]
