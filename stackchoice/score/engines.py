"""Which engine of the fact base a question's text names."""

from __future__ import annotations

from stackchoice.facts.load import Facts


def engine_id(text: object, facts: Facts) -> str | None:
    """Return the id of an engine that the text names exactly, a remark in brackets aside.

    A fork carries another name and is not its engine.
    """
    if not isinstance(text, str) or not text:
        return None
    name = text.split("(")[0].strip().lower()
    by_name = {e.name.lower(): e.id for e in facts.engines.values()}
    return name if name in facts.engines else by_name.get(name)
