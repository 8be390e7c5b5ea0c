"""Question 2 on paper: sections escape, say unknown, and hold the decision's numbers."""

import json
import re

import pytest

from stackchoice import decide
from stackchoice.present.shape import binding_chart, phases_chart
from stackchoice.present.traffic import lengths_chart, reuse_table, traffic_table, workload_tables
from stackchoice.present.traffic_panel import TrafficPanel, with_workload
from stackchoice.traffic import measure_log

PARTS = ("needs", "volume", "seconds", "settings", "reuse", "peak")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "<b>requests.jsonl"
    rows = [
        {"ts": f"2026-11-0{2 + d}T{h:02d}:{m:02d}:00Z", "input_tokens": 900 + m,
         "output_tokens": 80, "prompt": f"policy {'x' * 4000} {m}", "user": f"u{m % 5}"}
        for d in range(3) for h in range(8, 18) for m in range(60)
    ]  # fmt: skip
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def test_the_section_says_where_the_volume_comes_from(facts, changed):
    decision = decide(changed("json-chat"), facts)
    html = workload_tables(decision, *PARTS).html
    assert "the team&#39;s user count" in html
    assert "product" in html
    assert "SGLang 0.5.23" in html
    assert "bandwidth binds" in html.lower().replace("&nbsp;", " ")


def test_unknown_lengths_say_unknown(facts, changed):
    scenario = changed("json-chat", workload__output_tokens="not known")
    html = workload_tables(decide(scenario, facts), *PARTS).html
    assert "lengths or speed are not known" in html
    assert re.search(r"\bnan\b", html.lower()) is None


def test_charts_speak_their_numbers(facts, changed):
    shape = decide(changed("json-chat"), facts).shape
    _, spoken = phases_chart(shape)
    assert f"{shape.phases.prefill_s.middle:.3g} s" in spoken
    _, spoken = binding_chart(shape)
    assert f"bandwidth {100 * shape.binding.bandwidth:.0f} %" in spoken
    assert phases_chart(None)[1].endswith("Unknown.")
    assert binding_chart(None)[1].endswith("Unknown.")


def test_a_log_is_shown_escaped_with_its_numbers(facts, log):
    found = measure_log(log, facts)
    html = traffic_table(found).html
    assert "<b>requests" not in html
    assert "1,800 requests" in html
    assert "median" in lengths_chart(found)[1]


def test_releases_differ_in_what_they_find(facts):
    html = reuse_table(
        facts, "Qwen/Qwen3.8-27B", {"vllm": ["0.33.0"], "sglang": ["0.5.23"], "max": ["26.7.0"]},
        prompt_tokens=8192, shared_tokens=7000,
    ).html  # fmt: skip
    assert "0 tokens" in html
    assert "6,976 tokens" in html
    assert "where passes end was not read" in html


class TestPanel:
    def test_a_log_replaces_the_traffic_and_nothing_else(self, facts, changed, log):
        base = changed("json-chat")
        panel = TrafficPanel(base, facts, preset="ragpulse")
        assert panel.scenario.workload.turns_per_session.value == 1.78
        panel.set("log", str(log))
        assert panel.error == ""
        assert panel.found.requests == 1800
        assert panel.scenario.workload.users.value == 5
        assert panel.scenario.team == base.team
        assert panel.decision == decide(panel.scenario, facts)

    def test_a_wrong_path_is_one_line_and_the_last_result_stays(self, facts, changed):
        panel = TrafficPanel(changed("json-chat"), facts, preset="ragpulse")
        before = panel.decision
        panel.set("log", "/nowhere/log.jsonl")
        assert "cannot be read" in panel.error
        assert 'role="alert"' in panel.form.places["log"].value
        assert panel.decision is before
        assert panel.fields["log"].value == ""

    def test_saving_overwrites_nothing(self, facts, changed, tmp_path):
        panel = TrafficPanel(changed("json-chat"), facts, preset="ragpulse")
        panel.path.value = str(tmp_path / "mine.yaml")
        panel.save()
        assert "Saved to" in panel.message.value
        panel.save()
        assert "is there already" in panel.form.places["path"].value
        assert panel.message.value == ""

    def test_no_inputs_change_nothing(self, changed):
        base = changed("json-chat")
        assert with_workload(base, {}) is base
