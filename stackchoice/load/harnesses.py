"""What is known to be wrong in other load generators, from ``data/harnesses.yaml``."""

from packaging.version import InvalidVersion, Version

from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_yaml


def harness(
    name: str, release: str | None = None, *, own_figures: bool = True
) -> tuple[str, tuple[str, ...]]:
    """Return a harness's name and its known faults, each with its source.

    Parameters
    ----------
    release
        Leaves out what is known to be mended in it; None, or one that is no version, leaves
        nothing out.
    own_figures
        Whether the harness's own figures are used, or only what it sent and stamped.
    """
    about = read_yaml(data_dir() / "harnesses.yaml")["harnesses"][name]
    faults = [
        f"{' '.join(fault['text'].split())} ({fault['url']})"
        for fault in about["faults"]
        if (own_figures or fault.get("of") != "summary") and not _mended(fault, release)
    ]
    return about["name"], tuple(faults)


def _mended(fault: dict[str, str], release: str | None) -> bool:
    try:
        return "until" in fault and Version(release or "") >= Version(str(fault["until"]))
    except InvalidVersion:
        return False


def tried_release(name: str) -> str:
    """Return the release of a harness that this one was tried with."""
    return str(read_yaml(data_dir() / "harnesses.yaml")["harnesses"][name]["tried"])
