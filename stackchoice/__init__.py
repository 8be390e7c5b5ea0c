"""Choose how to serve an open-weight language model, and prove the choice.

>>> from stackchoice import decide, load_facts, load_scenario
>>> decision = decide(load_scenario("json-chat"), load_facts())
>>> decision.best_self_hosted
'SGLang'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stackchoice.version import VERSION as __version__

if TYPE_CHECKING:
    from stackchoice.choose import Decision, decide
    from stackchoice.confirm import Passport
    from stackchoice.errors import StackchoiceError
    from stackchoice.facts import Datum, Evidence, Facts, load_facts
    from stackchoice.logs import read_log_by_name
    from stackchoice.passports import compare_files
    from stackchoice.read import inspect_checkpoint
    from stackchoice.scenario import Scenario, dump_scenario, load_scenario, save_scenario
    from stackchoice.sizing import size_by_name
    from stackchoice.traffic import measure_log

__all__ = [
    "Datum", "Decision", "Evidence", "Facts", "Passport", "Scenario", "StackchoiceError",
    "__version__", "compare_files", "decide", "dump_scenario", "inspect_checkpoint", "load_facts",
    "load_scenario", "measure_log", "read_log_by_name", "save_scenario", "size_by_name",
]  # fmt: skip

#: Where each public name lives; its module is imported when the name is first asked for.
HOMES = {
    "choose": ("Decision", "decide"),
    "confirm": ("Passport",),
    "errors": ("StackchoiceError",),
    "facts": ("Datum", "Evidence", "Facts", "load_facts"),
    "logs": ("read_log_by_name",),
    "passports": ("compare_files",),
    "read": ("inspect_checkpoint",),
    "scenario": ("Scenario", "dump_scenario", "load_scenario", "save_scenario"),
    "sizing": ("size_by_name",),
    "traffic": ("measure_log",),
}


def __getattr__(name: str) -> Any:
    for module, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"stackchoice.{module}"), name)
    raise AttributeError(f"module 'stackchoice' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
