"""Charts say in words what they show, and are drawn offline."""

import re

from stackchoice.facts import Evidence
from stackchoice.facts.interval import Interval
from stackchoice.fit import Speed
from stackchoice.present.charts import cost_chart, decode_chart, memory_chart
from stackchoice.present.drawing import to_svg


def texts(svg):
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_memory_rows_stay_apart_and_say_their_unit(decision):
    chart, spoken = memory_chart(decision.fit)
    svg = to_svg(chart)
    assert [row.live_sequences for row in decision.fit.rows] == [36, 33, 41]
    for live in ("36", "33", "41"):
        assert f"live sequences {live} (assumed)" in spoken
        assert any(f"{live} live sequences [assumed]" in text for text in texts(svg))
    assert any("decimal GB" in text for text in texts(svg))


def test_a_count_that_is_unknown_is_said(decision):
    unknown = decision.fit.rows[0].model_copy(update={"live_sequences": None})
    chart, spoken = memory_chart(decision.fit.model_copy(update={"rows": [unknown]}))
    assert "live sequences: unknown" in texts(to_svg(chart))
    assert spoken.endswith("live sequences unknown.")


def test_a_svg_loads_nothing_and_holds_no_ids_that_could_clash(decision):
    for chart, _ in (memory_chart(decision.fit), cost_chart(decision.cost)):
        svg = to_svg(chart)
        assert "href" not in svg
        assert " id=" not in svg
        assert "<script" not in svg


def test_text_from_elsewhere_is_escaped_in_a_chart(decision):
    hostile = decision.fit.rows[0].model_copy(update={"basis": "<script>alert(1)</script>"})
    chart, _ = memory_chart(decision.fit.model_copy(update={"rows": [hostile]}))
    assert "<script" not in to_svg(chart)


def test_cost_names_every_path_with_its_class(decision):
    chart, spoken = cost_chart(decision.cost)
    for line in decision.cost.lines:
        assert f"{line.path} ({line.what})" in spoken
        assert line.evidence.value in spoken
    assert "USD a month" in texts(to_svg(chart))


def test_no_path_with_a_price_is_said(decision):
    empty = decision.cost.model_copy(update={"lines": []})
    assert cost_chart(empty)[1].endswith("No path has a price.")


def test_decode_shows_interval_against_measured():
    predicted = Interval(low=10, middle=20, high=30, unit="tokens/s", evidence=Evidence.COMPUTED)
    chart, spoken = decode_chart(Speed(decode_ceiling_tokens_per_s=40.0), predicted)
    assert "measured" not in spoken
    assert "ceiling [computed]: at most 40 tokens/s" in spoken
    assert "predicted [computed]: middle 20 tokens/s, 10 to 30" in spoken
    assert len(to_svg(chart)) > 0


def test_unknown_ceiling_draws_an_empty_chart():
    chart, _ = decode_chart(None, None)
    assert to_svg(chart).startswith("<svg")
