"""Choose how to serve an open-weight language model, and prove the choice.

>>> from stackchoice import decide, load_facts, load_scenario
>>> decision = decide(load_scenario("json-chat"), load_facts())
>>> decision.best_self_hosted
'SGLang'
"""

from stackchoice.choose import Decision, decide
from stackchoice.errors import StackchoiceError
from stackchoice.facts import Datum, Evidence, Facts, load_facts
from stackchoice.scenario import Scenario, dump_scenario, load_scenario, save_scenario
from stackchoice.version import VERSION as __version__

__all__ = [
    "Datum", "Decision", "Evidence", "Facts", "Scenario", "StackchoiceError", "__version__",
    "decide", "dump_scenario", "load_facts", "load_scenario", "save_scenario",
]  # fmt: skip
