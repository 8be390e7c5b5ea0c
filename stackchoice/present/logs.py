"""A panel for a log: its path, the machine it ran on and the checkpoint that was served."""

import re
from pathlib import Path
from typing import get_args

from stackchoice.facts import Facts
from stackchoice.facts.place import data_dir
from stackchoice.facts.told import Why
from stackchoice.logs import CheckedLog, read_log_by_name
from stackchoice.present.controls import WIDE, dropdown, listed, text_field
from stackchoice.present.kept import Kept
from stackchoice.present.logtext import HEADINGS, MOST_SHOWN, boot_rows, boot_title, grouped
from stackchoice.present.page import Section, section
from stackchoice.present.panel import Panel
from stackchoice.read.log_against import Compared, Outcome
from stackchoice.read.log_patterns import load_languages
from stackchoice.read.log_records import Boot
from stackchoice.why.logs import (
    compared,
    figures,
    kernels,
    meaning,
    ranks,
    refusals,
    samples,
    warnings,
)

#: The choices that name nothing.
BY_TEXT, NOT_NAMED = "told by the log", "not named"
#: Lines that a public start really printed (gpustack runner, pull 251).
SAMPLE = "samples/vllm_start.log"


def log_table(checked: CheckedLog, facts: Facts) -> Section:
    """Return what a log says, boot by boot."""
    checks = checked.checks or [[] for _ in checked.reading.boots]
    boots = [
        (boot_title(number, boot), _told(boot, own, facts))
        for number, (boot, own) in enumerate(zip(checked.reading.boots, checks, strict=True), 1)
    ][:MOST_SHOWN]
    return section("log", reading=checked.reading, boots=boots)


def _told(boot: Boot, checks: list[Compared], facts: Facts) -> list[tuple[str, str, Why | None]]:
    """Return the rows, each with what stands behind it where a row of the language does."""
    rows = boot_rows(boot, checks)
    language = load_languages().get(boot.engine)
    if language is None:
        return [(*row, None) for row in rows]
    own: dict[str, Why | None] = {
        HEADINGS[group]: figures(HEADINGS[group], found, language)
        for group, found in grouped(boot, language).items() if group in HEADINGS
    }  # fmt: skip
    own |= {"ranks": ranks(boot), "samples": samples(boot, language),
            "": meaning(boot, language, facts.memory)}  # fmt: skip
    against = dict(compared(checks, boot, language))
    first: dict[str, dict[str, Why]] = {
        "runs": dict(kernels(boot, language)), "warning": dict(warnings(boot, language)),
        "refused": dict(refusals(boot, language)), **dict.fromkeys(get_args(Outcome), against),
    }  # fmt: skip
    return [
        (heading, text, first[heading].get(re.split(r": | \(", text)[0]) if heading in first
         else own.get(heading))
        for heading, text in rows
    ]  # fmt: skip


class LogPanel(Panel):
    """What a log on this computer says; its first value is a shipped sample.

    Parameters
    ----------
    start
        First values of fields, by name: ``path``, ``machine``, ``served``.
    """

    def __init__(self, facts: Facts, *, keep: str = "", **start: str) -> None:
        values = {
            "path": str(data_dir() / SAMPLE), "machine": BY_TEXT, "served": NOT_NAMED, **start,
        }  # fmt: skip
        machines = [(BY_TEXT, BY_TEXT), *listed(facts.machines)]
        served = [
            (f"{model.name}: {a.label}", f"{model.id} {a.id}")
            for model in facts.models.values() for a in model.artifacts
        ]  # fmt: skip
        fields = {
            "path": text_field("Log (path)", values["path"], WIDE),
            "machine": dropdown("Machine", machines, values["machine"]),
            "served": dropdown("Served", [(NOT_NAMED, NOT_NAMED), *served], values["served"]),
        }
        super().__init__(facts, fields, values, Kept(keep, "engine log"))

    def _answer(self, values: dict[str, str]) -> CheckedLog:
        model, artifact = None, None
        if values["served"] != NOT_NAMED:
            model, _, artifact = values["served"].partition(" ")
        return read_log_by_name(
            Path(values["path"].strip()), model=model, artifact=artifact, facts=self.facts,
            machine=None if values["machine"] == BY_TEXT else values["machine"],
        )  # fmt: skip

    def _table(self) -> Section:
        return log_table(self.result, self.facts)
