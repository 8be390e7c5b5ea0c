"""The Markdown record: MADR's order, and nobody's text is Markdown in it."""

import json
from datetime import date
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice import decide, load_facts, load_scenario
from stackchoice.errors import ReportError
from stackchoice.facts import data_dir
from stackchoice.present.record import SCHEMA_FILE, decision_record, plain, schema_text
from stackchoice.present.render import outputs

MADR = ("## Context and problem statement", "## Decision drivers", "## Considered options",
        "## Decision outcome", "### Consequences", "### Confirmation",
        "## Pros and cons of the options", "## More information")  # fmt: skip


@pytest.fixture(scope="module")
def record():
    scenario = load_scenario("json-chat")
    return decision_record(decide(scenario, load_facts()), scenario, date(2026, 11, 29))


def test_the_order_is_that_of_madr(record):
    places = [record.index(heading) for heading in MADR]
    assert places == sorted(places)


def test_the_record_says_the_figures_and_never(record):
    """Managed 260, owned 1,674 and with people 7,216 USD; no volume makes owning cheaper."""
    for text in ("260 USD a month", "1,674 USD a month", "7,216 USD with people", 
                 "never cheaper than the managed endpoint",
                 "conflict, settled: low, spiky or unpredictable volume",
                 "against output that must be valid JSON points at SGLang (SGLang)",
                 "Decision makers: lead, product"):  # fmt: skip
        assert text in record


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[x](http://evil.example)", r"\[x\](http\://evil.example)"),
        ("<img src=x onerror=alert(1)>", r"\<img src=x onerror=alert(1)\>"),
        ("a | b", r"a \| b"),
        ("# big", r"\# big"),
        ("- item", r"\- item"),
        ("1. item", "1. item"),
        ("www.evil.example", r"www\.evil.example"),
        ("two\nlines", "two\\\\nlines"),
        ("\x1b[31mred", r"\\x1b\[31mred"),
    ],
)
def test_markdown_in_a_name_does_nothing(text, expected):
    assert plain(text) == expected


@given(st.text())
def test_any_text_is_one_line_without_live_characters(text):
    line = plain(text)
    assert "\n" not in line
    bare = line.replace("\\\\", "")
    for mark in "`*_[]<>|":
        assert bare.count(mark) == bare.count("\\" + mark)


def test_hostile_names_stay_text():
    scenario = load_scenario("json-chat")
    odd = scenario.model_copy(update={"title": "<script>alert(1)</script>\n# [x](http://e)"})
    record = decision_record(decide(odd, load_facts()), odd, date(2026, 11, 29))
    assert "<script>" not in record
    assert "\n# [x]" not in record


def test_a_path_chooses_its_format_and_a_folder_gets_all(tmp_path):
    assert outputs("n", [Path("a/b.pdf"), Path("c")]) == [
        Path("a/b.pdf"), Path("c/n.html"), Path("c/n.json"), Path("c/n.md"),
    ]  # fmt: skip
    with pytest.raises(ReportError, match=r"no \.docx file; end it in one of"):
        outputs("n", [Path("a.docx")])


def test_a_decision_is_written_as_the_published_schema_says():
    text = (data_dir() / SCHEMA_FILE).read_text(encoding="utf-8")
    assert text == schema_text(), "run: python -m stackchoice.present.record > data/" + SCHEMA_FILE
    schema = json.loads(text)
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for name in ("json-chat", "spiky-volume", "apple-one-user"):
        written = json.loads(decide(load_scenario(name), load_facts()).model_dump_json())
        validator.validate(written)
        assert list(validator.iter_errors({**written, "options": "none"}))
