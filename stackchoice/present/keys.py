"""Keys that a field needs stay with the field.

JupyterLab takes letters and arrows for cells unless text is being typed: in a focused dropdown
"x" would cut the cell and an arrow leave it. Its command registry leaves alone what says so.
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
        document.addEventListener('focusin', ({target}) => {
          if (target.matches('.jupyter-widgets select, .jupyter-widgets button'))
            target.setAttribute('data-lm-suppress-shortcuts', '');
        });
      },
    };
    """


@cache
def keys_stay() -> Keys:
    """Return the one that this kernel needs."""
    return Keys()
