"""What the fields of a form need of the page: their keys, their whole labels, what is said of them.

JupyterLab takes letters and arrows for cells unless text is being typed: in a focused dropdown
"x" would cut the cell and an arrow leave it. Its command registry leaves alone what says so.
A field that has a place for refusals is described by it, so that a screen reader reads it there.
"""

from functools import cache

import anywidget


class Keys(anywidget.AnyWidget):
    """Marks fields of widgets as they take the focus; it works without being shown."""

    _esm = """
    export default {
      initialize() {
        if (globalThis.stackchoiceKeys) return;
        globalThis.stackchoiceKeys = true;
        let places = 0;
        document.addEventListener('focusin', ({target}) => {
          if (target.matches('.jupyter-widgets select, .jupyter-widgets button'))
            target.setAttribute('data-lm-suppress-shortcuts', '');
          const said = target.closest('.sc-field')?.querySelector('.widget-html-content');
          if (!said || !target.matches('input, select')) return;
          said.id ||= `sc-said-${++places}`;
          target.setAttribute('aria-describedby', said.id);
        });
      },
    };
    """
    _css = """
    .sc-field .widget-label {
      height: auto; white-space: normal; line-height: 1.1; align-self: center;
    }
    """


@cache
def keys_stay() -> Keys:
    """Return the one that this kernel needs."""
    return Keys()
