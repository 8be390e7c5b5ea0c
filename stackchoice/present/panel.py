"""What the panels share: texts that are tried together, and refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from stackchoice.errors import InputError, StackchoiceError
from stackchoice.facts import Facts
from stackchoice.facts.yaml import shown
from stackchoice.present.page import Section
from stackchoice.present.widgets import error_html


class Panel(ipywidgets.VBox):
    """Fields of text and choice, a message and a view. ``values`` are the last valid texts.

    A change is tried on all values together; what cannot be is refused in one line, and the last
    valid values and result stay.
    """

    #: What each panel does in its own way: work the values out, and show the last result.
    _answer: Callable[[dict[str, str]], Any]
    _table: Callable[[], Section]

    def __init__(self, facts: Facts, fields: dict[str, Any], values: dict[str, str]) -> None:
        self.facts, self.fields, self.values, self.error = facts, fields, values, ""
        self.message, self.view = ipywidgets.HTML(), ipywidgets.HTML()
        self._settling = False
        self.result = self._answer(values)
        for name, field in fields.items():
            field.observe(self._handler(name), names="value")
        self._show()
        row = ipywidgets.Layout(flex_flow="row wrap")
        super().__init__([ipywidgets.HBox(list(fields.values()), layout=row), self.message,
                          self.view])  # fmt: skip

    def set(self, name: str, text: str) -> None:
        """Put a value into one field, exactly as typing it does.

        InputError for no field, or no choice of its list.
        """
        if name not in self.fields:
            raise InputError(f"no field {name!r}; it is one of: {', '.join(self.fields)}")
        try:
            if isinstance(field := self.fields[name], ipywidgets.Dropdown) and text not in [
                value for _, value in field.options
            ]:
                raise InputError(f"{name} {shown(text)!r}: not in the list; choose one that is")
            values = self._follow({**self.values, name: text}, name)
            result = self._answer(values)
        except StackchoiceError as error:
            self.error = " ".join(str(error).split())
        else:
            self.error, self.values, self.result = "", values, result
        self._show()

    def _follow(self, values: dict[str, str], changed: str) -> dict[str, str]:
        """Return the values with what a change of one field brings along."""
        return values

    def _handler(self, name: str) -> Callable[[Any], None]:
        def changed(change: Any) -> None:
            if not self._settling:
                self.set(name, str(change["new"]))

        return changed

    def _show(self) -> None:
        self._settling = True
        try:
            for name, field in self.fields.items():
                field.value = self.values[name]
        finally:
            self._settling = False
        self.message.value = error_html(self.error) if self.error else ""
        self.view.value = self._table().html
