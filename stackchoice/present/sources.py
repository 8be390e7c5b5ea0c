"""Which sources stand behind a decision: collected from the facts it touches."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from stackchoice.facts.datum import Source
from stackchoice.facts.load import Facts
from stackchoice.scenario import Scenario


def sources(scenario: Scenario, facts: Facts) -> list[Source]:
    """Return the sources of the model, machines, engines, prices, rules and assumptions used.

    Newest first; each source once.
    """
    machines = {choice.id for choice in scenario.candidates.machines}
    touched = [
        facts.models[scenario.model.id],
        *(facts.machines[name] for name in machines),
        *facts.engines.values(),
        *(offer for s in facts.sellers.values() if (offer := s.offer(scenario.model.id))),
        *(hour for hour in facts.hours if hour.machine in machines),
        *(server for server in facts.servers if server.machine in machines),
        *facts.rules,
        *facts.assumptions.values(),
        *facts.efficiencies,
    ]
    found = {
        (source.url, source.title, source.as_of): source
        for record in touched
        for source in _walk(record)
    }
    return sorted(found.values(), key=lambda s: (s.as_of, s.label), reverse=True)


def _walk(node: Any) -> Iterator[Source]:
    if isinstance(node, Source):
        yield node
    elif isinstance(node, BaseModel):
        for _, child in node:
            yield from _walk(child)
    elif isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from _walk(child)
