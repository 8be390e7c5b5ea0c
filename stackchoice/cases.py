"""A scenario by its name or path, each name in it known to the facts."""

from pathlib import Path

from stackchoice.choose.decide import check_names
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.yaml import shown
from stackchoice.scenario import Scenario, load_scenario, scenario_path


def load_case(name: str | Path, facts: Facts | None = None) -> Scenario:
    """Return a scenario of which the facts have the model, the machines and all other names.

    Raises
    ------
    ScenarioError
        One text with the file, the value and the fix.
    """
    scenario = load_scenario(name)
    check_names(scenario, facts or load_facts(), shown(str(scenario_path(name))))
    return scenario
