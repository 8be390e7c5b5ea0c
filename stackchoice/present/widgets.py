"""Widgets over a scenario: every change goes through the file reader and one call of decide().

A panel is a view of a scenario file. Where no browser listens (papermill, a plain script) it
is an object like any other, with the scenario and the decision in it.
"""

import contextlib
import os
import re
from pathlib import Path

import ipywidgets
from markupsafe import Markup

from stackchoice.choose import decide
from stackchoice.choose.against import against
from stackchoice.errors import StackchoiceError
from stackchoice.facts import Facts
from stackchoice.facts.write import text_at
from stackchoice.present.controls import listed, saved_html, status_html, text_field
from stackchoice.present.fields import FIELDS, described, shown, written
from stackchoice.present.folded import Folded
from stackchoice.present.form import ROW, SOURCE, Form
from stackchoice.present.inputs import control, weights
from stackchoice.present.page import Reasons
from stackchoice.present.tables import comparison_table, decision_table
from stackchoice.present.view import View
from stackchoice.scenario import (
    Scenario,
    dump_scenario,
    load_scenario,
    parse_scenario,
    save_scenario,
)

#: What a name of a scenario has a hyphen for.
NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")
#: Fields beside those of the scenario.
PATH, OTHER = "path", "other"


def saved_or(path: str | Path, name: str) -> Scenario:
    """Return the scenario saved at ``path``, or the named one where nothing was saved yet."""
    return load_scenario(path if os.path.exists(path) else name)


class ScenarioPanel(ipywidgets.VBox):
    """Change a scenario's inputs and see the decision move.

    Parameters
    ----------
    scenario
        Where to start. Inputs that are not touched keep their origin and answerer; title and
        situation of a case that was changed say so, unless a title was typed.
    facts
        The fact base to decide with.
    save_to
        The path that the save button offers; reload it with :func:`saved_or` after a re-run.
    keep
        Whether every valid change is written there at once, so that it outlives the kernel.

    Attributes
    ----------
    scenario, decision
        The last valid scenario and its decision.
    error
        What the file reader said of the last refused value, else an empty text.
    """

    def __init__(
        self, scenario: Scenario, facts: Facts, *, save_to: str | Path = "", keep: bool = False
    ) -> None:
        self.facts, self.keep, self.error = facts, keep, ""
        self._start, self._title = scenario, ""
        self.scenario, self.decision = scenario, decide(scenario, facts)
        self.answered_by = text_field("Answered by (name)", "")
        self.fields = {field.path: control(field, scenario, facts) for field in FIELDS.values()}
        self.path = text_field("Save to", str(save_to or f"my-{scenario.name}.yaml"))
        self.other = text_field("Compare with (name or path)", scenario.name)
        self.form = Form(self.fields, self.set, {PATH: self.path, OTHER: self.other})
        self.message, self.view = self.form.message, View()
        self.save_button = ipywidgets.Button(description="Save scenario", icon="save")
        self.save_button.on_click(lambda _: self.save())
        self.reload_button = ipywidgets.Button(description="Read it again", icon="refresh")
        self.reload_button.on_click(lambda _: self.reload())
        self.compare_button = ipywidgets.Button(description="Compare", icon="columns")
        self.compare_button.on_click(lambda _: self.compare())
        self.report_button = ipywidgets.Button(description="Write report", icon="file-text")
        self.report_button.on_click(lambda _: self.report())
        self._read: dict[Path, str | None] = {}
        self._remember(self._target)
        self.folded = Folded(self.form)
        self._show()
        super().__init__([*self._boxes(), self.message, self.view])

    def set(self, path: str, text: str) -> None:
        """Put a value into one input, exactly as typing it does."""
        try:
            tree = written(self.scenario, path, text, self.answered_by.value.strip())
            if self.keep:
                tree["name"] = self._name
            scenario = self._described(parse_scenario(tree, SOURCE), titled=path == "title")
            decision = decide(scenario, self.facts)
        except StackchoiceError as error:
            self.error = str(error)
        else:
            self._title = scenario.title if path == "title" else self._title
            self.error, self.scenario, self.decision = "", scenario, decision
            if self.keep:
                self._keep()
        self._show(path)

    def adopt(self, facts: Facts, model: str) -> None:
        """Decide on other facts from now on, and on a model that is new among them."""
        self.facts = facts
        self.set("model.id", model)

    def _keep(self) -> None:
        """Write what stands to the file, unless somebody else wrote it; the button says so then."""
        with contextlib.suppress(StackchoiceError):
            save_scenario(self.scenario, self._target, read=self._read.get(self._target))
            self._read[self._target] = dump_scenario(self.scenario)

    def compare(self) -> None:
        """Show what differs from another scenario, and which step each difference changes."""
        try:
            found = against(load_scenario(self.other.value.strip()), self.scenario, self.facts)
        except StackchoiceError as error:
            self.form.refuse(str(error), OTHER)
        else:
            self.form.say()
            self.view.show(comparison_table(found))

    def save(self) -> bool:
        """Write the scenario to the path in the field, under the name of that file.

        A report takes its file names and its passport by the scenario's name. A file that this
        panel has not read as it is now is not overwritten.
        """
        target = self._target
        try:
            tree = {**self.scenario.model_dump(by_alias=True), "name": self._name}
            named = parse_scenario(tree, SOURCE)
            path = save_scenario(named, target, read=self._read.get(target))
            self.scenario, self.decision = named, decide(named, self.facts)
        except StackchoiceError as error:
            self.form.refuse(f"{error}{self._differences(target)}", PATH)
            return False
        self._remember(target)
        self.form.say(saved_html(path))
        return True

    def report(self) -> None:
        """Save, and write the report of what is saved into ``reports/`` beside the notebook."""
        from stackchoice.present.render import render_report

        file = Path("reports") / f"{self._name}.html"
        if not self.save():
            return
        self.form.say(status_html("Writing the report; some ten seconds ..."))
        try:
            render_report(self._target, [file])
        except StackchoiceError as error:
            self.form.refuse(str(error))
        else:
            link = Markup('Report written to <a href="{0}" target="_blank">{0}</a>')
            self.form.say(status_html(link.format(file.as_posix())))

    def reload(self) -> None:
        """Take what stands in the file; what was changed here since is gone."""
        try:
            self._take(load_scenario(self._target))
        except StackchoiceError as error:
            self.error = str(error)
        else:
            self._remember(self._target)
        self._show(PATH)

    def open_file(self, path: Path) -> Path | None:
        """Go on with another scenario file, which is not written to.

        Where changes are kept it becomes the kept file; what stood there is saved beside it, and
        the path of that is returned.

        ScenarioError when it is no scenario, or cannot be kept; nothing has changed then.
        """
        scenario, target, before = load_scenario(path), self._target, None
        there = text_at(target)
        if self.keep:
            scenario = scenario.model_copy(update={"name": self._name})
            if os.path.exists(target):
                before = target.with_stem(f"{target.stem}-before")
                save_scenario(load_scenario(target), before)
            save_scenario(scenario, target, read=there)
        self._take(scenario)
        self._remember(target)
        self._show()
        return before

    def _take(self, scenario: Scenario) -> None:
        decision = decide(scenario, self.facts)
        self.error, self.scenario, self.decision = "", scenario, decision
        self._start, self._title = scenario, ""
        self.folded.back()

    @property
    def _name(self) -> str:
        """The name of the file, as a scenario may have it: lower-case, hyphens for the rest."""
        name = NOT_IN_NAMES.sub("-", self._target.stem.lower()).strip("-")[:61]
        return name or self.scenario.name

    @property
    def _target(self) -> Path:
        return Path(self.path.value.strip())

    def _remember(self, target: Path) -> None:
        """Keep what a file holds where that is what stands here, as the text it may replace."""
        text = text_at(target)
        with contextlib.suppress(StackchoiceError):
            if text is not None and load_scenario(target) == self.scenario:
                self._read[target] = text

    def _differences(self, target: Path) -> str:
        """Say how a file that is there differs from what stands here; empty where none is."""
        try:
            theirs = load_scenario(target)
        except StackchoiceError:
            return ""
        pairs = [(f.label, shown(theirs, f.path), shown(self.scenario, f.path))
                 for f in FIELDS.values()]  # fmt: skip
        said = [f"{label}: {there!r} there, {here!r} here"
                for label, there, here in pairs if there != here]  # fmt: skip
        return f". It differs in {'; '.join(said)}" if said else ""

    def _described(self, scenario: Scenario, *, titled: bool) -> Scenario:
        """Return the scenario with a title and a situation that are true of it."""
        model = self.facts.models.get(scenario.model.id)
        places = scenario.candidates.machines
        machine = self.facts.machines.get(places[0].id) if places else None
        told = described(
            scenario, self._start, model.name if model else scenario.model.id,
            machine.name if machine else shown(scenario, "candidates.machines.0.id"),
        )  # fmt: skip
        title = scenario.title if titled else self._title
        return told.model_copy(update={"title": title}) if title else told

    def _show(self, changed: str = "") -> None:
        """Make every field, the places beside them and the result say what stands."""
        values = {path: shown(self.scenario, path) for path in self.fields}
        named = weights(self.scenario, self.facts)
        self.form.settle(values, {"model.id": listed(self.facts.models), "model.artifacts": named})
        self.form.refuse(self.error, changed)
        self.folded.bring(self.decision.disputed, changed)
        why = Reasons(self.scenario, self.facts, later=True)
        self.view.show(decision_table(self.decision, why))

    def _boxes(self) -> list[ipywidgets.Widget]:
        """Lay out what is asked first, the rest folded, and what is done with the whole."""
        doing = [self.answered_by, self.form.boxes[PATH], self.save_button, self.reload_button,
                 self.report_button, self.form.boxes[OTHER], self.compare_button]  # fmt: skip
        return [*self.folded.boxes, ipywidgets.HBox(doing, layout=ROW)]
