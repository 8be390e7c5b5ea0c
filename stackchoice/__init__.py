"""Choose how to serve an open-weight language model, and prove the choice.

>>> from stackchoice import decide, load_facts, load_scenario
>>> decision = decide(load_scenario("json-chat"), load_facts())
>>> decision.best_self_hosted
'SGLang'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stackchoice.version import VERSION as __version__

if TYPE_CHECKING:
    from stackchoice.choose import Decision, decide
    from stackchoice.errors import StackchoiceError
    from stackchoice.facts import Datum, Evidence, Facts, load_facts
    from stackchoice.scenario import Scenario, dump_scenario, load_scenario, save_scenario

__all__ = [
    "Datum", "Decision", "Evidence", "Facts", "Scenario", "StackchoiceError", "__version__",
    "decide", "dump_scenario", "load_facts", "load_scenario", "save_scenario",
]  # fmt: skip

#: Where each public name lives; its module is imported when the name is first asked for.
HOMES = {
    "choose": ("Decision", "decide"),
    "errors": ("StackchoiceError",),
    "facts": ("Datum", "Evidence", "Facts", "load_facts"),
    "scenario": ("Scenario", "dump_scenario", "load_scenario", "save_scenario"),
}


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"stackchoice.{module}"), name)
    raise AttributeError(f"module 'stackchoice' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
