"""A form: fields by name, and beside each a place of its own for what was refused of it."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from stackchoice.present.controls import error_html
from stackchoice.present.keys import keys_stay
from stackchoice.scenario.words import LABELS, label

#: As wide as the field above it, however long its text is.
BELOW = ipywidgets.Layout(width="0", min_width="100%", margin="0")
#: What the file reader calls a form, which nobody who looks at it needs to be told.
SOURCE = "panel"
SECTIONS = "|".join(sorted({path.partition(".")[0] for path in LABELS}))
#: How an error begins: with a form or a scenario by its name, and an input as a file has it.
AT = re.compile(rf"^[a-z0-9-]+: ((?:{SECTIONS})(?:\.\w+)*?)(?:\.value)?(: | )")
ROW = ipywidgets.Layout(flex_flow="row wrap")


class Form:
    """Fields that say what was put in, and places that say what was refused.

    A place is there before anything is refused, so that a refusal takes nobody's focus away, and
    :mod:`stackchoice.present.keys` has screen readers read it with its field. One text stands at
    a time.

    Parameters
    ----------
    fields
        By name.
    entered
        Takes the name of a field and the text that somebody put in.
    aside
        Fields that only get a place: somebody else asks what is in them.

    Attributes
    ----------
    boxes
        Each field with its place, by name.
    message
        What is about no field in particular; a panel shows it below the form.
    """

    def __init__(
        self, fields: Mapping[str, Any], entered: Callable[[str, str], object],
        aside: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        keys_stay()
        self.fields, self.message, self._settling = fields, ipywidgets.HTML(), False
        every = {**fields, **(aside or {})}
        self.places = {name: ipywidgets.HTML(layout=BELOW) for name in every}
        self.boxes = {
            name: ipywidgets.VBox([field, self.places[name]]).add_class("sc-field")
            for name, field in every.items()
        }
        for name, field in fields.items():
            field.observe(self._handler(name, entered), names="value")

    def row(self, *names: str) -> ipywidgets.HBox:
        """Return these fields with their places side by side; all where none is named."""
        return ipywidgets.HBox([self.boxes[name] for name in names or self.boxes], layout=ROW)

    def say(self, html: str = "", beside: str = "") -> None:
        """Show a text beside a field, or below the form where it is no field's; others go."""
        for name, place in self.places.items():
            place.value = html if name == beside else ""
        self.message.value = "" if beside in self.places else html

    def refuse(self, error: str, beside: str = "") -> None:
        """Say what was refused, or that nothing was: an empty text."""
        said = AT.sub(lambda at: f"{label(at[1])}{at[2]}", error)
        self.say(error_html(said) if said else "", beside)

    def settle(self, values: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> None:
        """Show these values, and before them other choices, as nobody's input."""
        self._settling = True
        try:
            for name, choices in (options or {}).items():
                if tuple(self.fields[name].options) != tuple(choices):
                    self.fields[name].options = choices
            for name, value in values.items():
                self.fields[name].value = value
        finally:
            self._settling = False

    def _handler(self, name: str, entered: Callable[[str, str], object]) -> Callable[[Any], None]:
        def changed(change: Any) -> None:
            if not self._settling:
                entered(name, str(change["new"]))

        return changed
