"""What is known of other load generators, and wrong in them: ``data/harnesses.yaml``."""

from functools import cache
from typing import Any

from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml


@cache
def known(name: str) -> dict[str, Any]:
    """Return all that is known of a harness."""
    return dict(read_yaml(data_dir() / "harnesses.yaml")["harnesses"][name])


def harness(name: str, *, own_figures: bool = True) -> tuple[str, tuple[str, ...]]:
    """Return a harness's name and its known faults, each with its source.

    Parameters
    ----------
    own_figures
        Whether the harness's own figures are used, or only what it sent and stamped.
    """
    about = known(name)
    faults = [
        f"{' '.join(fault['text'].split())} ({fault['url']})"
        for fault in about["faults"]
        if own_figures or fault.get("of") != "summary"
    ]
    return about["name"], tuple(faults)


def tried_release(name: str) -> str:
    """Return the release of a harness that this one was tried with."""
    return str(known(name)["tried"])
