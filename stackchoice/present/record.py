"""The decision as a Markdown record, in the order of MADR (adr.github.io/madr), and its schema.

``python -m stackchoice.present.record > data/schemas/decision.schema.json`` publishes the schema.
"""

import json
import re
from datetime import date
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from stackchoice.choose import Decision
from stackchoice.confirm import Passport
from stackchoice.facts.yaml import shown
from stackchoice.present import text
from stackchoice.scenario import Scenario
from stackchoice.scenario.words import label

FILTERS = ("number", "usd", "volume", "headline", "engine_name")
#: Longer than any sentence the product writes; a name can be anything.
LONGEST = 2000
#: The published schema, in the fact base's folder.
SCHEMA_FILE = "schemas/decision.schema.json"


def decision_record(
    decision: Decision, scenario: Scenario, today: date, passport: Passport | None = None
) -> str:
    """Return a decision as Markdown: context, drivers, options, outcome, confirmation."""
    env = Environment(
        loader=PackageLoader("stackchoice.present"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, finalize=plain,
    )  # fmt: skip
    env.filters |= {name: getattr(text, name) for name in FILTERS} | {"label": label}
    answered = sorted({row["answered_by"] for row in decision.inputs if row["answered_by"]})
    retest = next(row for row in decision.board if "re-test" in row.question)
    return env.get_template("record.md.j2").render(
        d=decision, scenario=scenario, today=today.isoformat(), passport=passport,
        answered=answered, retest=retest, said={push.rule: push.text for push in decision.pushes},
    )  # fmt: skip


def plain(value: Any) -> str:
    """Return a value as one line of text in which no character is Markdown.

    Names of models and scenarios are anybody's text: links, HTML, emphasis, tables and
    headings in them stay visible and do nothing.
    """
    line = shown(str(value), LONGEST)
    line = re.sub(r"([\\`*_\[\]<>|~&#$])", r"\\\1", line)
    line = re.sub(r"(?i)\b(https?|ftp|mailto)(:)", r"\1\\\2", line)
    line = re.sub(r"(?i)\b(www)(\.)", r"\1\\\2", line)
    return re.sub(r"^(\s*)([-+=]|\d+(?=[.)]))", r"\1\\\2", line) if line[:1] in "-+=" else line


def schema_text() -> str:
    """Return the JSON Schema of a decision as a report writes it."""
    return json.dumps(Decision.model_json_schema(mode="serialization"), indent=1) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")
