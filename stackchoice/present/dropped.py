"""Any file of a user by its path: scenario, checkpoint, log, requests, benchmark, passport."""

import contextlib
import json
import os
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import ipywidgets
from markupsafe import Markup

from stackchoice.choose import decide
from stackchoice.confirm import Passport
from stackchoice.errors import InputError, StackchoiceError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.own import OVERLAY_VARIABLE
from stackchoice.facts.place import data_dir
from stackchoice.facts.write import ordinary
from stackchoice.facts.yaml import shown
from stackchoice.importers import import_results
from stackchoice.logs import read_log_by_name
from stackchoice.notebooks import OWN_FACTS
from stackchoice.own_model import SIZE, own_model, save_own_model, unknown_of
from stackchoice.present.arms import arms_context
from stackchoice.present.checkpoint import describe_checkpoint
from stackchoice.present.controls import WIDE, text_field
from stackchoice.present.fields import NOT_KNOWN
from stackchoice.present.form import ROW
from stackchoice.present.kept import Kept
from stackchoice.present.logs import SAMPLE, log_table
from stackchoice.present.page import Reasons, Section, section
from stackchoice.present.panel import Panel
from stackchoice.present.tables import decision_table
from stackchoice.present.traffic import traffic_table
from stackchoice.present.typed import typed_amount
from stackchoice.present.widgets import ScenarioPanel
from stackchoice.read import inspect_checkpoint
from stackchoice.read.bounded import MAX_CONFIG_BYTES, read_bytes
from stackchoice.scenario import load_scenario
from stackchoice.traffic import measure_log

#: Endings of scenario files, which alone of all these are YAML.
SCENARIOS = (".yaml", ".yml")
#: How gzip and UTF-16 begin, which readers take; and files that hold no text at all.
TAKEN, NO_TEXT = (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"), (b"%PDF", b"PK\x03\x04")
#: Where the size of the weights is given that a lone config does not say.
WEIGHTS = "weights"
#: Endings of files that hold weights.
TENSORS = (".gguf", ".safetensors")


def dropped(path: Path, facts: Facts) -> Section:
    """Return what a file or folder says, whatever kind it is.

    Its kind is told by what it holds. A text that several readers could take is given to the one
    that asks for most: a benchmark's result, then a request log, then an engine's log.

    InputError when no reader knows it.
    """
    if not os.path.exists(path):
        raise InputError(f"{shown(str(path))}: there is no such file; give the path of one")
    if path.suffix.lower() in SCENARIOS:
        scenario = load_scenario(path)
        return decision_table(decide(scenario, facts), Reasons(scenario, facts, later=True))
    if path.is_dir() or path.suffix.lower() in TENSORS or _is_config(path):
        text = describe_checkpoint(inspect_checkpoint(path, facts))
        return section("text", title=path.name, text=text)
    _is_text(path)
    for reader in READERS.values():
        with contextlib.suppress(StackchoiceError):
            return reader(path, facts)
    raise InputError(
        f"{shown(path.name)}: no scenario, no checkpoint and no {', no '.join(READERS)}; "
        "`stackchoice passport import`, `traffic` and `readlog` say what each of them misses"
    )


def _is_text(path: Path) -> None:
    """Refuse what no reader of a text could take, before each of them reads it."""
    try:
        with ordinary(path).open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        reason = f"cannot be read ({error.strerror}); give the path of a file"
        raise InputError(f"{shown(path.name)}: {reason}") from None
    if not head.strip():
        raise InputError(f"{shown(path.name)}: holds nothing at its start; give the whole file")
    if not head.startswith(TAKEN) and (b"\0" in head or head.startswith(NO_TEXT)):
        raise InputError(
            f"{shown(path.name)}: is no text; unpack an archive, then give the path of its folder "
            "or of a text file in it"
        )


def _is_config(path: Path) -> bool:
    """Whether a file is a model's config: an object that names its architecture or model type."""
    if path.suffix.lower() != ".json":
        return False
    try:
        tree = json.loads(read_bytes(path, MAX_CONFIG_BYTES))
    except (StackchoiceError, ValueError, RecursionError):
        return False
    return isinstance(tree, dict) and bool({"architectures", "model_type"} & set(tree))


def _arms(arms: list[Passport], facts: Facts) -> Section:
    return section("arms", name="arms", heading="Measured", **arms_context(arms, facts))


def _engine_log(path: Path, facts: Facts) -> Section:
    checked = read_log_by_name(path, facts=facts)
    if not checked.reading.boots:
        raise InputError(f"{shown(path.name)}: no line of an engine's start; give its whole log")
    return log_table(checked, facts)


#: Readers of one file, in the order in which they are asked.
READERS: dict[str, Callable[[Path, Facts], Section]] = {
    "passport": lambda path, facts: _arms([Passport.load(path)], facts),
    "benchmark": lambda path, facts: _arms(import_results(path), facts),
    "request log": lambda path, facts: traffic_table(measure_log(path, facts)),
    "engine log": _engine_log,
}


class DropPanel(Panel):
    """What any file on this computer says; its first value is a shipped sample of a log.

    Parameters
    ----------
    path
        What to start with.
    form
        The panel that a scenario is opened in, once its path is typed here.
    """

    def __init__(
        self, facts: Facts, path: str = "", *, form: ScenarioPanel | None = None, keep: str = ""
    ) -> None:
        self._opens_in: ScenarioPanel | None = None  # a path that was kept is shown, not opened
        path = path or str(data_dir() / SAMPLE)
        field = text_field("File or folder (path)", path, WIDE)
        self.weights = text_field("Its weights (GB)", NOT_KNOWN)
        aside = {WEIGHTS: self.weights}
        super().__init__(facts, {"path": field}, {"path": path}, Kept(keep, "file"), aside)
        self._opens_in = form
        self.model_button = ipywidgets.Button(description="Use this model", icon="plus")
        self.model_button.on_click(lambda _: self.own_model())
        if form is not None:
            use = ipywidgets.HBox([self.model_button, self.form.boxes[WEIGHTS]], layout=ROW)
            self.children = (self.children[0], use, *self.children[1:])

    children: tuple[Any, ...]
    result: Section

    def own_model(self) -> None:
        """Keep the model that was dropped in among one's own facts, and choose it in the form."""
        folder = Path(os.environ.get(OVERLAY_VARIABLE) or OWN_FACTS).resolve()
        path = Path(os.path.expanduser(self.values["path"].strip()))
        try:
            size = self.weights.value.strip()
            given = None if size in ("", NOT_KNOWN) else typed_amount(size, "its weights (GB)")
        except InputError as error:
            self.form.refuse(str(error), WEIGHTS)
            return
        try:
            model = own_model(path, date.today(), weights_gb=given, facts=self.facts)
            written = save_own_model(model, folder)
            os.environ[OVERLAY_VARIABLE] = str(folder)  # for what is started from here: a report
            self.facts = load_facts()
        except StackchoiceError as error:
            self.form.refuse(str(error), "path")
            return
        chosen = "not chosen"
        if self._opens_in is not None:
            self._opens_in.adopt(self.facts, model.id)
            if not self._opens_in.error:
                chosen = "chosen"
        missing = unknown_of(model)
        said = Markup("{} is {} in the form above and kept in {}; unknown of it: {}{}")
        fill = "; give that size below and use it again" if SIZE in missing else ""
        self.form.say(
            said.format(model.id, chosen, written, ", ".join(missing) or "nothing", fill), "path"
        )

    def _answer(self, values: dict[str, str]) -> Section:
        self.weights.value = NOT_KNOWN  # another file has weights of its own
        if not (text := values["path"].strip()):
            raise InputError("no path: give that of a file or a folder")
        path = Path(os.path.expanduser(text))
        form = self._opens_in
        if form is None or path.suffix.lower() not in SCENARIOS:
            return dropped(path, self.facts)
        before = form.open_file(path)
        return section("opened", path=path, form=form, before=before)

    def _table(self) -> Section:
        return self.result
