"""The report as sections: HTML fragments rendered from a decision, escaped throughout."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from stackchoice.cases import load_case
from stackchoice.choose import Decision, decide
from stackchoice.choose.defend import defend
from stackchoice.confirm import Passport
from stackchoice.errors import ReportError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.write import write_whole
from stackchoice.fit.path.meaning import alternatives, meanings
from stackchoice.present import charts, text
from stackchoice.present.admissions import admission_table
from stackchoice.present.arms import arms_context
from stackchoice.present.curves import volume_chart
from stackchoice.present.numbers import by_class, fit_facts, numbers
from stackchoice.present.page import Drawn, Reasons, Section, page_section, style
from stackchoice.present.record import decision_record
from stackchoice.present.roofs import length_chart, roofline_chart
from stackchoice.present.shape import shape_context
from stackchoice.present.sources import sources
from stackchoice.prices import quotes
from stackchoice.scenario import Scenario
from stackchoice.score import Score, score_public
from stackchoice.score.capacity import ASKS as MEMORY_ASKS
from stackchoice.this_machine import facts_for, with_machine

#: The sections of a report in their order: name -> heading.
SECTIONS = {
    "decision": "Decision",
    "options": "Options, and why each fell",
    "memory": "Hardware fit: the memory budget",
    "speed": "Hardware fit: ceilings and intervals",
    "kernels": "Hardware fit: the kernel path",
    "workload": "Workload shape",
    "people": "Ops capacity",
    "cost": "Cost",
    "change": "What would change the answer",
    "evidence": "How we know: numbers by class",
    "live": "The live run",
    "arms": "Measured arms and the fairness table",
    "fixed": "What was held fixed",
    "predictions": "How good such predictions have been",
    "quality": "Quality evidence",
    "risks": "Risks, and how to leave",
    "runnable": "How to run it",
    "plan": "Before the card is bought",
    "trace": "Trace",
    "inputs": "Inputs",
    "provenance": "Provenance",
}


@dataclass(frozen=True)
class Report:
    """Everything a report shows: a decision with its scenario, facts, date and passport."""

    scenario: Scenario
    facts: Facts
    decision: Decision
    today: date
    passport: Passport | None = None
    arms: tuple[Passport, ...] = ()

    @cached_property
    def _context(self) -> dict[str, Any]:
        shown = numbers(self.decision, self.facts, self.passport)
        return {
            "why": Reasons(self.scenario, self.facts),
            "d": self.decision,
            "scenario": self.scenario,
            "passport": self.passport,
            **arms_context(self.arms, self.facts),
            "today": self.today.isoformat(),
            "classes": text.CLASSES,
            "groups": by_class(shown),
            "sources": sources(self.scenario, self.facts),
            "old": lambda as_of: text.age_mark(as_of, self.today),
            "memory": charts.memory_chart(self.decision.fit),
            "admissions": admission_table(self.decision.fit.admissions),
            "costs": charts.cost_chart(self.decision.cost),
            "curves": volume_chart(self.decision.cost),
            "quotes": quotes(self.facts, self.decision.fit.model, self.today),
            **shape_context(self.decision),
            "decode": self._decode(),
            "roof": roofline_chart(self.decision, self.facts, self.passport),
            "lengths": length_chart(self.decision, self.facts),
            "kernels": self._kernels(),
            "ledger": lambda: self._ledger,
            "defended": lambda: self._defended,
            "speed_scores": self.facts.speed_scores,
        }

    @cached_property
    def _defended(self) -> dict[str, Any]:
        from stackchoice.present.defended import defence_context  # which needs this module

        return defence_context(defend(self.scenario, self.facts))

    @cached_property
    def _ledger(self) -> Score:
        return score_public(MEMORY_ASKS, self.facts)

    def section(self, name: str) -> Section:
        """Render one section of :data:`SECTIONS`; ReportError for another name."""
        if name not in SECTIONS:
            raise ReportError(f"no section {name!r}; write one of: {', '.join(SECTIONS)}")
        return page_section(name, name=name, heading=SECTIONS[name], **self._context)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Bring the style of the sections, and not the whole fact base as text."""
        return {"text/html": f"<style>{style()}</style>", "text/plain": self.scenario.title}

    def _kernels(self) -> dict[str, Any] | None:
        path = self.decision.fit.kernels
        machine, artifact = fit_facts(self.decision, self.facts)
        if path is None or machine is None or artifact is None:
            return None
        model = self.facts.models[self.decision.fit.model]
        return {
            "path": path, "meanings": meanings(path, machine),
            "alternatives": alternatives(model, path, artifact.id, machine, self.facts),
        }  # fmt: skip

    def _decode(self) -> Drawn:
        speed = self.decision.fit.speed
        if self.passport is None:
            return charts.decode_chart(speed, speed.decode if speed else None)
        measured = self.passport.results.decode_tokens_per_s
        return charts.decode_chart(speed, self.passport.prediction, measured)


def prepare(
    scenario: str | Path, *, passport: str | Path = "", arms: Sequence[str | Path] = (),
    out: str | Path = "",
) -> Report:  # fmt: skip
    """Load and decide a scenario for a report.

    Parameters
    ----------
    scenario
        Path of a scenario file, or the name of one that ships with the package.
    passport
        Path of a passport whose live run the report shows; none when empty. A machine that was
        probed for it is the machine that the decision is made for.
    arms
        Passports of further arms, with which the first is compared.
    out
        Where to write the decision as JSON, and beside it as a Markdown record (``.md``);
        nowhere when empty.
    """
    chosen = load_case(scenario)
    live = Passport.load(passport) if passport else None
    probed = live.identity.machine if live else None
    facts = with_machine(load_facts(), probed) if probed else facts_for(chosen)
    decision = decide(chosen, facts)
    today = datetime.now(UTC).date()
    if out:
        write_whole(out, decision.model_dump_json(indent=2) + "\n", ReportError)
        record = decision_record(decision, chosen, today, live)
        write_whole(Path(out).with_suffix(".md"), record, ReportError)
    others = tuple(Passport.load(arm) for arm in arms)
    return Report(scenario=chosen, facts=facts, decision=decision, today=today, passport=live,
                  arms=(live, *others) if live else others)  # fmt: skip
