"""What is known to be wrong in other load generators, from ``data/harnesses.yaml``."""

from typing import Any

from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml


def harness(name: str, *, own_figures: bool = True) -> tuple[str, tuple[str, ...]]:
    """Return a harness's name and its known faults, each with its source.

    Parameters
    ----------
    own_figures
        Whether the harness's own figures are used, or only what it sent and stamped.
    """
    about = _about(name)
    faults = [
        f"{' '.join(fault['text'].split())} ({fault['url']})"
        for fault in about["faults"]
        if own_figures or fault.get("of") != "summary"
    ]
    return about["name"], tuple(faults)


def tried_release(name: str) -> str:
    """Return the release of a harness that this one was tried with."""
    return str(_about(name)["tried"])


def _about(name: str) -> dict[str, Any]:
    return dict(read_yaml(data_dir() / "harnesses.yaml")["harnesses"][name])
