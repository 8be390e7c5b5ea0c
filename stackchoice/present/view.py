"""What a panel shows: a section whose pictures the browser draws, with the Vega that Altair uses.

Drawing here takes 40 to 130 ms a picture at every change, most of it for measuring text; a browser
that keeps the picture and is given other rows takes one or two.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import traitlets
import vl_convert

from stackchoice.present.drawing import filled
from stackchoice.present.page import Section


class View(anywidget.AnyWidget):
    """The place of a section; words and pictures of one answer arrive in one message.

    Attributes
    ----------
    section
        What is shown.
    """

    _esm = Path(__file__).with_name("view.js")
    shown: Any = traitlets.Dict({"bare": "", "pictures": []}).tag(sync=True)
    specs: Any = traitlets.Dict().tag(sync=True)

    def __init__(self) -> None:
        drawing()
        self.section = Section("", "")
        super().__init__()
        self.on_msg(self._unfolded)

    def show(self, section: Section) -> None:
        """Show a section in place of what was shown."""
        self.section = section
        pictures = [filled(chart) for chart, _ in section.drawn]
        with self.hold_sync():
            self.specs = {one.built.key: one.built.vega for one in pictures}
            rows = [{"key": one.built.key, "rows": one.harmless} for one in pictures]
            self.shown = {"bare": section.bare, "pictures": rows}

    def _unfolded(self, _: Any, asked: dict[str, str], __: Any) -> None:
        """Answer a "Why?" that was empty when it was unfolded."""
        if self.section.told is not None:
            self.send({"key": asked["why"], "html": self.section.told(asked["why"])})

    @property
    def value(self) -> str:
        """The words of what is shown, as HTML with empty figures."""
        return self.section.bare


@cache
def drawing() -> anywidget.AnyWidget:
    """Return the one widget of this kernel that brings Vega to the page, from this machine."""
    bundle = vl_convert.javascript_bundle(
        "(globalThis.stackchoiceVega ??= Promise.withResolvers()).resolve(vegaEmbed);"
        "export default { initialize() {} };"
    )

    class Drawing(anywidget.AnyWidget):
        _esm = bundle

    return Drawing()
