"""What the embedded engine consists of: pinned packages, how to install and to find them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path

from stackchoice.errors import EngineError
from stackchoice.facts.datum import AsOf, Record
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml

SETUP = "run `stackchoice setup-engine`"


class Pins(Record):
    """What ``data/embedded.yaml`` pins."""

    runtime: dict[str, str]
    model: dict[str, str]
    as_of: AsOf

    @classmethod
    def read(cls) -> Pins:
        """Read the pins of this release."""
        return cls(**read_yaml(data_dir() / "embedded.yaml"))

    @property
    def packages(self) -> dict[str, str]:
        """Package name to pinned version."""
        return {part["package"]: part["version"] for part in (self.runtime, self.model)}


def setup_engine(wheelhouse: Path | None = None) -> list[str]:
    """Install the pinned engine and model into this Python; return what was installed.

    What is already there at the pinned version is left alone, so a second call does nothing and
    needs no network.

    Parameters
    ----------
    wheelhouse
        A folder of wheels to install from, without a network.

    Raises
    ------
    EngineError
        When the folder or its wheels, or pip, is missing, or pip fails.
    """
    source, fix = [], "check the network and that this Python has pip"
    if wheelhouse is not None:
        if not any(wheelhouse.glob("*.whl")):
            raise EngineError(f"{wheelhouse}: no folder of wheels; give the one that was built")
        source = ["--no-index", "--find-links", str(wheelhouse)]
        fix = f"check that this Python has pip and that {wheelhouse} was built on one like it"
    pins = Pins.read()
    missing = [f"{p}=={v}" for p, v in pins.packages.items() if installed(p) != v]
    if not missing:
        return []
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input",
               "--disable-pip-version-check", *source, *missing]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="replace", check=False
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise EngineError(
            f"pip could not install {' '.join(missing)} (exit {done.returncode}): "
            f"{' / '.join(lines[-3:])}; {fix}, or run: {' '.join(command)}"
        )
    return missing


def model_file() -> Path:
    """Return the pinned model file, without running its package's code.

    EngineError when engine or model are not installed.
    """
    pins = Pins.read()
    runtime, model = pins.runtime["package"], pins.model["package"]
    if installed(runtime) is None:
        raise EngineError(f"the embedded engine ({runtime}) is not installed; {SETUP}")
    spec = importlib.util.find_spec(pins.model["module"])
    folders = list(spec.submodule_search_locations or []) if spec else []
    for path in (Path(folder) / pins.model["file"] for folder in folders):
        if path.is_file():
            return path
    raise EngineError(f"the embedded model ({model}) is not installed; {SETUP}")


def installed(package: str) -> str | None:
    """Return the installed version of a package, without importing it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
