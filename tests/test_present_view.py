"""Panels send words and rows; the same section, drawn here, is what a report shows."""

import json
import re

import pytest

from stackchoice import decide, load_scenario
from stackchoice.present.charts import memory_chart
from stackchoice.present.drawing import Filled
from stackchoice.present.kernels import KernelPanel
from stackchoice.present.money_panel import MoneyPanel
from stackchoice.present.panels import SizingPanel
from stackchoice.present.tables import decision_table
from stackchoice.present.view import View


@pytest.fixture(scope="module")
def sizing(facts):
    return SizingPanel(facts, context_tokens="8192")


def sent(view):
    """What the page is given, as it crosses."""
    return json.loads(json.dumps(view.get_state(["shown", "specs"]), allow_nan=False))


def test_every_figure_has_its_picture_and_is_read_out(sizing):
    shown = sent(sizing.view)["shown"]
    labels = re.findall(r'<figure [^>]*aria-label="([^"]+)"></figure>', shown["bare"])
    assert len(labels) == len(shown["pictures"]) == 4
    assert "<svg" not in shown["bare"]


def test_a_change_sends_rows_and_no_specification_again(facts):
    panel, messages = MoneyPanel(load_scenario("json-chat"), facts), []
    panel.view.observe(lambda change: messages.append(change["name"]), names=["shown", "specs"])
    panel.set("workload.users", "120")
    assert messages == ["shown"]
    keys = [picture["key"] for picture in sent(panel.view)["shown"]["pictures"]]
    assert set(keys) == set(sent(panel.view)["specs"])


def test_words_and_pictures_are_of_one_answer(facts):
    panel = SizingPanel(facts)
    for context in ("4096", "16384"):
        panel.set("context_tokens", context)
        shown = sent(panel.view)["shown"]
        memory = next(
            picture["rows"]["rows"] for picture in shown["pictures"]
            if any(row.get("part") == "weights" for row in picture["rows"]["rows"])
        )  # fmt: skip
        for row in panel.sizing.rows:
            assert f"live sequences {row.sequences}" in shown["bare"]
            assert any(f"{row.sequences} live sequences" in one["end"] for one in memory)


def test_the_same_section_drawn_here_holds_the_same_rows(sizing):
    html = sizing.view.section.html
    assert html.count("<svg") == 4
    assert re.sub(r"<svg.*?</svg>", "", html, flags=re.S) == sizing.view.value
    for picture in sent(sizing.view)["shown"]["pictures"]:
        for row in picture["rows"]["rows"]:
            assert row["end"].split("[")[0].strip() in html


def test_what_a_browser_draws_holds_no_mark_that_turns_text_round(facts):
    decision = decide(load_scenario("json-chat"), facts)
    row = decision.fit.rows[0].model_copy(update={"basis": "a\u202eb\x1b[31mc"})
    fit = decision.fit.model_copy(update={"rows": [row]})
    view = View()
    view.show(decision_table(decision.model_copy(update={"fit": fit})))
    text = json.dumps(sent(view), ensure_ascii=False)
    assert "\u202e" not in text
    assert "\\u001b" not in text


def test_what_is_not_finite_is_left_out_of_a_picture(facts):
    chart, _ = memory_chart(decide(load_scenario("json-chat"), facts).fit)
    rows = [{**chart.rows["rows"][0], "value": value} for value in (float("inf"), float("nan"))]
    assert [row["value"] for row in Filled(chart.built, {"rows": rows}).harmless["rows"]] == [
        None, None,
    ]  # fmt: skip


def test_a_panel_without_pictures_sends_words_alone(facts):
    shown = sent(KernelPanel(facts).view)["shown"]
    assert shown["bare"]
    assert shown["pictures"] == []
