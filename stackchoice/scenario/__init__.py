"""The scenario file: its types, its reader, and the points a decision is made at."""

from stackchoice.scenario.inputs import Input
from stackchoice.scenario.point import (
    ASSUMED_WHEN_UNKNOWN,
    Known,
    Point,
    ends,
    likely_point,
    scenario_inputs,
)
from stackchoice.scenario.preset import with_preset
from stackchoice.scenario.read import (
    dump_scenario,
    load_scenario,
    parse_scenario,
    save_scenario,
    scenario_path,
)
from stackchoice.scenario.scenario import (
    MOST_DEVICES,
    NOBODY,
    THIS_MACHINE,
    MachineChoice,
    Preference,
    Scenario,
)

__all__ = [
    "ASSUMED_WHEN_UNKNOWN", "MOST_DEVICES", "NOBODY", "THIS_MACHINE", "Input", "Known",
    "MachineChoice", "Point", "Preference", "Scenario", "dump_scenario", "ends", "likely_point",
    "load_scenario", "parse_scenario", "save_scenario", "scenario_inputs", "scenario_path",
    "with_preset",
]  # fmt: skip
