"""The two downloads and the log of lesson 3, read with the product's own readers."""

from pathlib import Path

from stackchoice.errors import InputError
from stackchoice.facts.load import Facts
from stackchoice.facts.place import data_dir
from stackchoice.kernels import ModelWall, model_wall
from stackchoice.logs import CheckedLog
from stackchoice.read.log_against import against, predicted_by
from stackchoice.read.log_reader import read_log
from stackchoice.read.log_records import Hardware

#: Two folders that both say NVFP4.
DOWNLOADS = ("download-a-NVFP4", "download-b-NVFP4")
START_LOG = "nvfp4_start.log"
#: The machine and release of the lesson.
MACHINE, ENGINE = "rtx_5090", "vllm==0.26.0"


def download(name: str) -> Path:
    """Return the folder of one of the downloads.

    InputError when it is neither.
    """
    if name not in DOWNLOADS:
        raise InputError(f"no download {name!r}; it is one of: {', '.join(DOWNLOADS)}")
    return data_dir() / "samples" / name


def wall(name: str, facts: Facts, machine: str = MACHINE) -> ModelWall:
    """Return what the lesson's release does with a download on a machine."""
    return model_wall(str(download(name)), engine=ENGINE, machine=machine, facts=facts)


def check_log(name: str, facts: Facts) -> CheckedLog:
    """Read the start log and hold the predicted path of a download against it."""
    card = facts.machines[MACHINE]
    reading = read_log(data_dir() / "samples" / START_LOG, facts.memory,
                       hardware=Hardware(capability=card.cuda_capability))  # fmt: skip
    path = wall(name, facts).path
    checks = [against(predicted_by(path), boot) for boot in reading.boots] if path else []
    return CheckedLog(reading=reading, checks=checks)
