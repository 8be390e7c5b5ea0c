"""What the panels share: texts that are tried together, and refused in one line."""

from collections.abc import Callable, Iterable
from typing import Any

import ipywidgets

from stackchoice.errors import InputError, StackchoiceError
from stackchoice.facts import Facts
from stackchoice.facts.told import Why
from stackchoice.facts.yaml import shown
from stackchoice.present.form import Form
from stackchoice.present.kept import Kept
from stackchoice.present.page import Section, joined, section
from stackchoice.present.view import View

#: What is said beside a refused choice, which stays chosen so that the next one can be reached.
STANDS = "; what stands below is the last answer that could be given"


class Panel(ipywidgets.VBox):
    """Fields of text and choice, each with a place for its refusal, a message and a view.

    A change is tried on all values together; what cannot be is refused in one line beside the
    field that was changed, and the last valid values and result stay. A text is put back then; a
    choice stays chosen, or nobody could step past it by key.

    Every panel takes ``facts``, the fact base, and ``keep``, the path of the file in which what was
    changed outlives the kernel; nothing is kept where it is empty.

    Attributes
    ----------
    values, result
        The last valid texts by field, and what came of them.
    error
        What was said of the last refused value, else an empty text.
    """

    #: What each panel does in its own way: work the values out, and show the last result.
    _answer: Callable[[dict[str, str]], Any]
    _table: Callable[[], Section]

    def __init__(
        self, facts: Facts, fields: dict[str, Any], values: dict[str, str],
        keep: Kept | None = None, aside: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.facts, self.fields, self.error = facts, fields, ""
        self.form, self.view = Form(fields, self.set, aside), View()
        self.message = self.form.message
        self._refused, self._unkept = dict[str, str](), ""
        self._start, self._keep = values, keep or Kept()
        self.values, self.result = self._begin(values)
        self.why_button = ipywidgets.ToggleButton(description="Why?", icon="question")
        self.why_button.observe(lambda _: self._draw(), names="value")
        self._show()
        why = [self.why_button] if type(self)._why is not Panel._why else []
        super().__init__([self.form.row(*fields), self.message, *why, self.view])

    def set(self, name: str, text: str) -> None:
        """Put a value into one field, exactly as typing it does.

        InputError for no field, or no choice of its list.
        """
        if name not in self.fields:
            raise InputError(f"no field {name!r}; it is one of: {', '.join(self.fields)}")
        values = {**self.values, **self._refused}
        try:
            self._listed(name, text, values)
            values = self._follow({**values, name: text}, name)
            result = self._answer(values)
        except StackchoiceError as error:
            self.error = " ".join(str(error).split())
            self._refused = {
                key: value for key, value in values.items()
                if isinstance(self.fields[key], ipywidgets.Dropdown) and value != self.values[key]
            }  # fmt: skip
        else:
            self.error, self.values, self.result, self._refused = "", values, result, {}
            self._unkept = self._keep.write(self._start, values)
        self._show(name)

    def _begin(self, values: dict[str, str]) -> tuple[dict[str, str], Any]:
        """Return what was kept and its result; the first values where that cannot be any more."""
        try:
            if kept := self._keep.read():
                found = {**values, **kept}
                for name, text in kept.items():
                    self._listed(name, text, found)
                return found, self._answer(found)
        except StackchoiceError as error:
            self.error = " ".join(f"what was kept cannot be used: {error}".split())
        return values, self._answer(values)

    def _listed(self, name: str, text: str, values: dict[str, str]) -> None:
        """Refuse a field that is not there, and a choice that is not in its list."""
        field = self.fields.get(name)
        if field is None:
            raise InputError(f"no field {name!r}; it is one of: {', '.join(self.fields)}")
        if isinstance(field, ipywidgets.Dropdown):
            options = self._options(values).get(name, field.options)
            if text not in [value for _, value in options]:
                raise InputError(f"{name} {shown(text)!r}: not in the list; choose one that is")

    def _why(self) -> Iterable[Why]:
        """Return what stands behind the last result, where the view itself does not tell."""
        return ()

    def _options(self, values: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
        """Return the lists that hang on other fields."""
        return {}

    def _follow(self, values: dict[str, str], changed: str) -> dict[str, str]:
        """Return the values with what a change of one field brings along."""
        return values

    def _show(self, changed: str = "") -> None:
        values = {**self.values, **self._refused}
        self.form.settle(values, self._options(values))
        if self.error:
            self.form.refuse(self.error + (STANDS if self._refused else ""), changed)
        else:
            self.form.refuse(self._unkept)
        self._draw()

    def _draw(self) -> None:
        """Show the result, and before it what stands behind it: worked out when asked for."""
        parts = [self._table()]
        if self.why_button.value:
            parts.insert(0, section("reasons", reasons=list(self._why())))
        self.view.show(joined("panel", *parts))
