"""A folder of wheels for a room without internet.

``python -m stackchoice.workshop.wheelhouse DIR`` makes it. It holds the package, its notebooks,
everything they need and the embedded engine with its model, for this system and this Python. Run it
once on each kind of laptop, into the same folder.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from stackchoice.confirm.setup import Pins
from stackchoice.errors import EngineError, StackchoiceError
from stackchoice.facts.place import data_dir
from stackchoice.facts.write import write_whole

EXTRA = "notebooks"


def commands(root: Path, folder: Path) -> list[list[str]]:
    """Return the two calls of pip, into a folder: the package with all it needs, then the engine.

    EngineError when ``root`` is no checkout; an installed package cannot be built again.
    """
    if not (root / "pyproject.toml").is_file():
        raise EngineError(
            f"{root}: no checkout of stackchoice; run this in one, its wheel is built there"
        )
    pip = [sys.executable, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-input",
           "--wheel-dir", str(folder)]  # fmt: skip
    pins = [f"{name}=={version}" for name, version in Pins.read().packages.items()]
    return [[*pip, f"{root}[{EXTRA}]"], [*pip, "--no-deps", *pins]]


def instructions(folder: Path) -> str:
    """Return what each participant runs, with nothing but this folder."""
    return (
        f"python -m venv .venv\n"
        f".venv/bin/python -m pip install --no-index --find-links {folder} 'stackchoice[{EXTRA}]'\n"
        f".venv/bin/stackchoice setup-engine --wheelhouse {folder}\n"
        f".venv/bin/stackchoice lab\n"
        f"(on Windows the programs are in .venv\\Scripts)"
    )


def main() -> None:
    """Build the wheelhouse and say how to install from it."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "wheelhouse")
    try:
        with tempfile.TemporaryDirectory(prefix="stackchoice-") as made:  # pip writes in place
            for command in commands(data_dir().parent, Path(made)):
                if subprocess.run(command, check=False).returncode:
                    raise EngineError(f"pip failed: {' '.join(command)}; see its message above")
            for wheel in sorted(Path(made).glob("*.whl")):
                write_whole(folder / wheel.name, wheel.read_bytes(), EngineError, folders=True)
    except StackchoiceError as error:
        sys.exit(f"stackchoice: {error}")
    except KeyboardInterrupt:
        sys.exit("stackchoice: stopped before the end; the same command begins again")
    size = sum(f.stat().st_size for f in folder.glob("*.whl"))
    print(f"{folder}: {len(list(folder.glob('*.whl')))} wheels, {size / 1e6:,.0f} MB; on a laptop:")
    print(instructions(folder))


if __name__ == "__main__":
    main()
