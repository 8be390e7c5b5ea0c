"""What a model class assumes where its config is silent."""

from __future__ import annotations

from stackchoice.facts.datum import Evidence, Record, Source


class ConfigDefaults(Record):
    """Defaults of one ``model_type``, under the keys of ``config.json``."""

    id: str
    values: dict[str, bool | int]
    evidence: Evidence = Evidence.STATED
    source: Source
