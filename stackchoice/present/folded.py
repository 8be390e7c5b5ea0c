"""How the inputs of a scenario lie: what is asked first, and the rest, which unfolds."""

from collections.abc import Iterable

import ipywidgets
from markupsafe import Markup

from stackchoice.present.fields import COLUMNS, FIRST, GROUPS
from stackchoice.present.form import ROW, Form


class Folded:
    """The fields of a scenario's form, of which most are folded away.

    Attributes
    ----------
    boxes
        In the order in which they lie: first inputs, what was brought beside them, the rest.
    """

    def __init__(self, form: Form) -> None:
        self.form, self._forward = form, ipywidgets.HBox(layout=ROW)
        self._columns: dict[ipywidgets.VBox, list[ipywidgets.Widget]] = {}
        for names in COLUMNS:
            every: list[ipywidgets.Widget] = []
            for name in names:
                every.append(ipywidgets.HTML(Markup("<strong>{}</strong>").format(name)))
                every += [form.boxes[f.path] for f in GROUPS[name] if f.path not in FIRST]
            self._columns[ipywidgets.VBox(every)] = every
        more = ipywidgets.ToggleButton(description="More inputs", icon="chevron-down")
        rest = ipywidgets.HBox(
            list(self._columns), layout=ipywidgets.Layout(flex_flow="row wrap", display="none")
        )
        more.observe(
            lambda change: setattr(rest.layout, "display", "flex" if change["new"] else "none"),
            names="value",
        )
        self.boxes = [form.row(*FIRST), self._forward, more, rest]

    def bring(self, disputed: Iterable[Iterable[str]], changed: str) -> None:
        """Put folded inputs that contradict one of the first beside these, where they stay.

        The field that somebody just changed is moved at no time: it would lose its focus.
        """
        about = [set(one) for one in disputed if set(one) & set(FIRST)]
        paths = set().union(*(one for one in about if changed not in one - set(FIRST)))
        boxes = [self.form.boxes[p] for p in self.form.fields if p in paths - set(FIRST)]
        self._lay((*self._forward.children, *boxes))

    def back(self) -> None:
        """Fold everything in again, as another case is opened."""
        self._lay(())

    def _lay(self, forward: Iterable[ipywidgets.Widget]) -> None:
        self._forward.children = tuple(dict.fromkeys(forward))
        for column, every in self._columns.items():
            column.children = [box for box in every if box not in self._forward.children]
