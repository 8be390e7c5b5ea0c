"""One's own facts over the package's, and how old a fact is."""

import re
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackchoice import decide, load_facts, load_scenario
from stackchoice.commands.knowing import facts_command
from stackchoice.errors import FactsError
from stackchoice.facts.datum import is_future, last_day
from stackchoice.facts.place import data_dir
from stackchoice.facts.survey import survey
from stackchoice.present.report import prepare

HOURS = """hours:
  - {machine: h100_sxm, seller: ours, kind: reserved, terms: 12 months, starts: '2026-11-01',
     usd_per_device_hour: '0.70', source: {title: contract 4711, as_of: '2026-11-01'}}
"""
CARD = """machines:
  - id: rtx_5090
    name: our 5090
    vendor: NVIDIA
    backend: cuda
    arch: sm_120
    memory_gb: {value: 31, source: {title: the label, as_of: '2026-11'}}
    bandwidth_gb_per_s: {value: 1700, source: {title: the label, as_of: '2026-11'}}
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "prices").mkdir()
    (tmp_path / "prices" / "gpu_hours.yaml").write_text(HOURS, encoding="utf-8")
    (tmp_path / "machines.yaml").write_text(CARD, encoding="utf-8")
    return tmp_path


def test_own_facts_are_added_and_known_ids_replaced(own):
    """A price is one more price; a machine of the same id is another machine."""
    plain, facts = load_facts(), load_facts(overlay=own)
    assert facts.machines["rtx_5090"].name == "our 5090"
    assert len(facts.machines) == len(plain.machines)
    assert len(facts.hours) == len(plain.hours) + 1
    assert facts.hours[-1].usd_per_device_hour == Decimal("0.70")
    assert facts.overlay == ["machines: rtx_5090", "hours: added"]
    assert facts.sha256 != plain.sha256


def test_the_environment_names_the_folder(own, monkeypatch):
    monkeypatch.setenv("STACKCHOICE_FACTS", str(own))
    assert load_facts().machines["rtx_5090"].name == "our 5090"
    decision = decide(load_scenario("json-chat"), load_facts())
    assert decision.own_facts == ["machines: rtx_5090", "hours: added"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rules.yaml", "rules: []", "may not hold 'rules.yaml'"),
        ("machine.yaml", CARD, "may not hold 'machine.yaml'"),
        ("measurements.csv", "id,tokens_per_s\n1," + "9" * 200_000, "no CSV of measurements"),
        ("old/models/m.yaml", "id: m", "may not hold 'old/models/m.yaml'"),
        ("machines.yaml", CARD.replace("vendor", "vendr"), "vendor: Field required"),
        ("machines.yaml", CARD.replace("31, source", "31, sourc"), "sourc"),
    ],
)  # fmt: skip
def test_what_would_not_be_read_is_refused(tmp_path, name, text, message):
    """A misspelt file or key must not be passed over in silence."""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(FactsError, match=message):
        load_facts(overlay=tmp_path)


def test_a_changed_file_is_read_again_in_the_same_process(own):
    assert load_facts(overlay=own) is load_facts(overlay=own)
    path = own / "machines.yaml"
    path.write_text(CARD.replace("our 5090", "their longer 5090"), encoding="utf-8")
    assert load_facts(overlay=own).machines["rtx_5090"].name == "their longer 5090"
    path.write_text(CARD.replace("vendor", "vendr"), encoding="utf-8")
    with pytest.raises(FactsError, match="vendor: Field required"):
        load_facts(overlay=own)


def test_a_folder_that_is_not_there_is_said(tmp_path):
    with pytest.raises(FactsError, match="no such folder of facts"):
        load_facts(overlay=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "day"),
    [("2026", date(2026, 12, 31)), ("2026-02", date(2026, 2, 28)),
     ("2024-02", date(2024, 2, 29)), ("2026-12", date(2026, 12, 31)),
     ("2026-05-03", date(2026, 5, 3))],
)  # fmt: skip
def test_a_date_means_its_last_day(text, day):
    assert last_day(text) == day


def test_prices_grow_stale_after_sixty_days():
    """The limit is an assumption of the fact base, and the price rows carry their start date."""
    rows = survey(load_facts(), date(2027, 12, 1), "hours h100_sxm")
    assert rows
    assert all(row.stale for row in rows)
    assert {row.evidence for row in rows} == {"stated"}


def test_none_of_our_facts_is_dated_after_the_day_it_is_built():
    """Such a one would never grow stale; the whole of data/ is looked at, whatever reads it."""
    today = date.today()
    dated = [
        (path.name, as_of)
        for path in data_dir().rglob("*.yaml")
        for as_of in re.findall(
            r"\b(?:as_of|day): ['\"]?(\d{4}(?:-\d\d){0,2})", path.read_text("utf-8")
        )
    ]
    assert len(dated) > 500
    assert [(name, as_of) for name, as_of in dated if is_future(as_of, today)] == []
    assert [row for row in survey(load_facts(), today) if row.future] == []


def test_a_fact_of_ones_own_that_is_dated_in_the_future_is_said(own, monkeypatch, capsys):
    path = own / "prices" / "gpu_hours.yaml"
    path.write_text(HOURS.replace("2026-11-01", "2999-01-01"), encoding="utf-8")
    (row,) = survey(load_facts(overlay=own), date(2026, 11, 29), "h100_sxm contract")
    assert (row.future, row.stale, row.age_days) == (True, False, 0)
    facts_command(["contract"], stale=True, own=own)
    said = capsys.readouterr().out
    assert "DATED IN THE FUTURE: correct the date, or it never grows stale" in said
    assert "1 fact, 0 of them stale, 1 dated in the future" in said
    monkeypatch.setenv("STACKCHOICE_FACTS", str(own))
    shown = prepare("json-chat").section("provenance")._repr_mimebundle_()["text/html"]
    assert '2999-01-01 <strong class="old">dated in the future</strong>' in shown


@settings(deadline=None, max_examples=20)
@given(st.dates(min_value=date(2026, 1, 1), max_value=date(2030, 1, 1)))
def test_every_fact_has_an_age_or_says_why_not(today):
    for row in survey(load_facts(), today, "machines"):
        assert (row.age_days is None) == (row.evidence in ("assumed", "unknown"))
