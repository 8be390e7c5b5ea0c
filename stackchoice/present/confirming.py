"""The widget of a live run: start, watch, cancel, and what it says of the decision."""

import importlib.util
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import ipywidgets
from markupsafe import Markup

from stackchoice.carried_out import CarriedOut, Checked
from stackchoice.confirm import Passport, Plan
from stackchoice.confirm.arms import EMBEDDED, arm_names
from stackchoice.confirm.canary import canary_files
from stackchoice.confirmation import Confirmed, confirm_all
from stackchoice.errors import EndpointError, InputError, StackchoiceError
from stackchoice.facts.place import data_dir
from stackchoice.load.untrusted import visible
from stackchoice.present.controls import dropdown, text_field
from stackchoice.present.form import ROW, Form
from stackchoice.present.page import Section, section
from stackchoice.scenario import load_scenario

#: A run of the embedded engine that was recorded, for where it is not installed.
RECORDED = "samples/embedded.passport.json"
LONG = 300
#: Fields with a whole number, and what tells of others whether there is such a thing.
COUNTS = ("requests", "output_tokens", "prompt_words")
CHECKS: dict[str, Callable[[str], object]] = {
    "scenario": load_scenario, "canaries": canary_files,
}  # fmt: skip


class ConfirmPanel(ipywidgets.VBox):
    """A live run: canaries first, then the load, then predicted against measured.

    The run is in processes of its own; this only waits in a thread. Cancelling ends it, and what
    was measured until then is in the passport and in the raw log, from which it can go on.

    Parameters
    ----------
    scenario
        Whose decision is to be confirmed; empty: nothing is predicted.
    endpoint, model
        An endpoint; without one the engine of ``arm`` is started on this machine.
    requests, output_tokens, prompt_words
        The load of one stream.
    out
        Folder for passports and raw logs.

    Attributes
    ----------
    done, error
        The finished (or cancelled) confirmation, and what was said of a refused one.
    """

    def __init__(
        self, scenario: str = "this-machine", *, endpoint: str = "", model: str = "",
        arm: str = EMBEDDED, requests: int = 5, output_tokens: int = 32, prompt_words: int = 32,
        canaries: str = "basic", out: Path | str = "reports",
    ) -> None:  # fmt: skip
        self.out, self.error = Path(out), ""
        self.done: Confirmed | None = None
        self._thread: threading.Thread | None = None
        self._cancel = threading.Event()
        self.fields = {
            "scenario": text_field("Scenario", scenario),
            "endpoint": text_field("Endpoint (empty: start one)", endpoint),
            "model": text_field("Model name there", model),
            "arm": dropdown("Engine to start", [(n, n) for n in arm_names()], arm),
            "canaries": text_field("Canaries", canaries),
            "requests": text_field("Requests", str(requests)),
            "output_tokens": text_field("Answer (tokens)", str(output_tokens)),
            "prompt_words": text_field("Prompt (words)", str(prompt_words)),
        }
        self.start_button = ipywidgets.Button(description="Measure", icon="play")
        self.cancel_button = ipywidgets.Button(description="Cancel", icon="stop", disabled=True)
        self.start_button.on_click(lambda _: self.start())
        self.cancel_button.on_click(lambda _: self.cancel())
        self.progress = ipywidgets.IntProgress(min=0, max=1, description="Steps")
        self.form = Form(self.fields, lambda name, _: self._refused(name))
        self.message, self.view = self.form.message, ipywidgets.HTML()
        super().__init__([
            self.form.row(),
            ipywidgets.HBox([self.start_button, self.cancel_button, self.progress], layout=ROW),
            self.message, self.view,
        ])  # fmt: skip

    @property
    def running(self) -> bool:
        """Whether a run is on."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def result(self) -> Section:
        """What was found, as a section; a recorded run where nothing was measured."""
        return confirmed_table(self.done) if self.done else recorded_table()

    def start(self, *, resume: bool = False) -> None:
        """Begin; while one runs, or where a field cannot be, nothing happens."""
        if self.running or self._refused():
            return
        self._cancel.clear()
        self.done = None
        self._settle(running=True)
        self._thread = threading.Thread(target=self._work, args=(resume,), daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End the run at once; what was measured is kept."""
        self._cancel.set()

    def wait(self, timeout_s: float | None = None) -> None:
        """Wait for the end of the run."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def start_if_installed(self) -> None:
        """Measure where there is something to measure: an endpoint, or the embedded engine.

        What was found is left to :attr:`result`; the panel itself shows later runs.
        """
        if self.fields["endpoint"].value or importlib.util.find_spec("xllamacpp"):
            self.start()
            self.wait()
            self.view.value = ""

    def _refused(self, changed: str = "") -> bool:
        """Say which field cannot be, the changed one first; whether there is one."""
        names = sorted(self.fields, key=lambda name: name != changed)
        faults = ((name, _fault(name, str(self.fields[name].value).strip())) for name in names)
        name, self.error = next((found for found in faults if found[1]), ("", ""))
        self.form.refuse(self.error, name)
        return bool(self.error)

    def _work(self, resume: bool) -> None:
        values = {name: str(field.value).strip() for name, field in self.fields.items()}
        try:
            counts = {name: _whole(name, values[name]) for name in COUNTS}
            plan = Plan(**counts, canaries=values["canaries"], floor=False)
            self.done = confirm_all(
                values["scenario"] or None, endpoint_url=values["endpoint"] or None,
                model=values["model"] or None, arm=values["arm"], plan=plan, resume=resume,
                out=self.out, cancel=self._cancel, on_line=self._line,
            )  # fmt: skip
            self.view.value = confirmed_table(self.done).html
        except (StackchoiceError, ValueError) as error:
            self.error = " ".join(str(error).split())
            at_endpoint = isinstance(error, EndpointError) and values["endpoint"]
            self.form.refuse(self.error, "endpoint" if at_endpoint else "")
        finally:
            self._settle(running=False)

    def _line(self, text: str) -> None:
        """Show a step; it begins with how many are done of how many."""
        done, _, total = text[1:].partition("]")[0].partition("/")
        if text.startswith("[") and done.isdigit() and total.isdigit():
            self.progress.max, self.progress.value = int(total), int(done)
        said = Markup('<div class="sc"><p role="status">{}</p></div>')
        self.message.value = said.format(visible(text, LONG))

    def _settle(self, *, running: bool) -> None:
        self.start_button.disabled = running
        self.cancel_button.disabled = not running


def _fault(name: str, text: str) -> str:
    """Return why a field cannot be, as far as that is known before the run; else nothing."""
    try:
        if name in COUNTS:
            _whole(name, text)
        elif text and name in CHECKS:
            CHECKS[name](text)
    except StackchoiceError as error:
        return " ".join(str(error).split())
    return ""


def _whole(name: str, text: str) -> int:
    if not text.isdigit() or not int(text):
        raise InputError(f"{name.replace('_', ' ')}: {text!r} is no whole number; write digits")
    return int(text)


def recorded_table() -> Section:
    """Return the recorded run of the embedded engine."""
    passport = Passport.load(data_dir() / RECORDED)
    note = "Recorded earlier, on another machine: nothing was measured here just now."
    return _table([passport], None, note)


def recorded_arms(done: Confirmed | None) -> list[tuple[str, Passport]]:
    """Return the arms to draw: those that were measured, and the recorded one beside them."""
    recorded = Passport.load(data_dir() / RECORDED)
    return [*((p.arm, p) for p in (done.passports if done else ())), (recorded.arm, recorded)]


def confirmed_table(done: Confirmed) -> Section:
    """Return runs, their canaries, and predicted against measured."""
    return _table(done.passports, done.carried, "")


def _table(passports: Sequence[Passport], carried: CarriedOut | None, note: str) -> Section:
    return section(
        "confirming", note=note, carried=carried,
        passports=[
            {"title": visible(p.arm, 80), "label": p.label, "rows": _rows(p),
             "canaries": [(c.id, c.result, visible("; ".join(filter(None, (c.reason, c.note))),
                                                   LONG))
                          for c in (*p.validity.canaries_before, *p.validity.canaries_after)]}
            for p in passports
        ],
        numbers=[_number_row(n) for n in carried.numbers] if carried else [],
        whys=[visible(w, LONG) for w in carried.why] if carried else [],
    )  # fmt: skip


def _rows(p: Passport) -> list[tuple[str, str]]:
    r, v = p.results, p.validity
    measured = [
        ("TTFT, s", r.ttft_s), ("time per token, s", r.itl_s), ("whole answer, s", r.end_to_end_s),
        ("decode, tokens/s", r.decode_tokens_per_s),
    ]  # fmt: skip
    rows = [(name, f"{value} [measured]" if value else "unknown") for name, value in measured]
    return [
        *rows,
        *(("not valid", visible(text, LONG)) for text in v.reasons),
        *(("hold", visible(text, LONG)) for text in v.hold),
        *(("warning", visible(text, LONG)) for text in v.warnings),
        *(("probe", visible(text, LONG)) for text in p.notes),
    ]


def _number_row(n: Checked) -> tuple[str, ...]:
    span = "none" if n.predicted is None else f"{n.predicted[0]:,.3g} to {n.predicted[1]:,.3g}"
    seen = "unknown" if n.measured is None else f"{n.measured:,.4g} {n.unit} [{n.evidence.value}]"
    return n.measure, span, n.must or "none", seen, n.outcome, n.why
