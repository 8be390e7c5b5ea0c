"""Page one in a review's order, Why? beside answers, pictures with their numbers, dropped files."""

import json
import re

import pytest

from stackchoice import decide, load_facts, load_scenario
from stackchoice.errors import InputError
from stackchoice.facts import data_dir
from stackchoice.fit.roofline import roofline
from stackchoice.passports import load_arms
from stackchoice.present import text
from stackchoice.present.charts import cost_chart, memory_chart
from stackchoice.present.drawing import frame_of
from stackchoice.present.dropped import DropPanel, dropped
from stackchoice.present.fields import FIELDS, FIRST
from stackchoice.present.page import Reasons, drawing, no_reasons, picture
from stackchoice.present.report import prepare
from stackchoice.present.roofs import length_chart, roofline_chart
from stackchoice.present.sweeping import interaction_chart
from stackchoice.present.tables import decision_table
from stackchoice.present.widgets import ScenarioPanel
from stackchoice.scenario import THIS_MACHINE, parse_scenario
from stackchoice.scenario.words import LABELS, label
from stackchoice.sweep import Knob, design, judge

#: Page one, as a review asks.
PAGE_ONE = [
    "The decision", "What it rests on", "Cost range, USD a month", "Confidence",
    "What would change our mind", "When to look again, and who does",
]  # fmt: skip


@pytest.fixture(scope="module")
def facts():
    return load_facts()


@pytest.fixture(scope="module")
def report():
    return prepare("json-chat")


@pytest.fixture(scope="module")
def decision(report):
    return report.decision


def test_page_one_answers_a_reviews_questions_in_their_order(report):
    page = report.section("decision").html
    assert "How should Qwen/Qwen3.8-27B be served?" in page
    assert re.findall(r"<h2>(.*?)</h2>", page) == PAGE_ONE
    spread = report._defended["defence"].shares
    for share in spread.wins.values():
        assert f" in {text.share(share)}" in page
    for usd in spread.usd_per_month.values():
        assert text.usd(usd.low) in page
        assert text.usd(usd.high) in page
    assert "Nothing was measured." in page
    assert "never" in page


def test_every_section_that_answers_says_why(report):
    for name, answers in {
        "decision": 1, "memory": 3, "speed": 3, "kernels": 1, "workload": 5, "cost": 11,
    }.items():  # fmt: skip
        html = report.section(name).html
        assert html.count('<details class="why">') >= answers, name
    memory = report.section("memory").html
    assert "floor(25,000,000,000 / 691,798,016)" in memory
    assert re.search(r"<strong>36 sequences</strong>", memory)


def test_a_panel_without_a_scenario_tells_no_reasons(decision):
    assert "<details" not in decision_table(decision, no_reasons).html.split("<figure")[0]


def test_hostile_words_of_a_scenario_stay_words_in_a_reason(facts):
    tree = load_scenario("json-chat").model_dump(mode="json", by_alias=True)
    tree["workload"]["context_tokens"]["from"] = "<script>alert(1)</script>"
    why = Reasons(parse_scenario(tree), facts)
    told = str(why("memory:stated budget"))
    assert "&lt;script&gt;" in told
    assert "<script>" not in told


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ({}, "managed endpoint, conditionally"),
        ({"recommended": None}, "Unknown: no recommendation"),
    ],
)
def test_not_knowing_is_a_headline(decision, changes, headline):
    assert text.headline(decision.model_copy(update=changes)) == headline


def test_too_close_and_nothing_left_are_headlines(decision):
    close = [o.model_copy(update={"status": "too close to call"}) for o in decision.options[:2]]
    found = decision.model_copy(update={"recommended": None, "options": close})
    assert text.headline(found).startswith("Too close to call: managed endpoint or ")
    gone = [o.model_copy(update={"status": "eliminated"}) for o in decision.options]
    found = decision.model_copy(update={"recommended": None, "options": gone})
    assert text.headline(found) == "Nothing survives: no recommendation"


def test_every_picture_of_a_report_unfolds_its_numbers(report):
    for name in ("memory", "speed", "workload", "cost", "change"):
        html = report.section(name).html
        assert html.count("<figure") == html.count('<details class="numbers">') > 0, name


def test_a_picture_in_a_notebook_has_its_numbers_as_a_frame(decision):
    shown = picture(memory_chart(decision.fit))
    assert set(shown.frame["part"]) == {"weights", "workspace", "live sequences", "left over"}
    weights = shown.frame[shown.frame["part"] == "weights"]["value"]
    assert list(weights) == [54.0, 55.563006776, 55.563006776]
    assert "Memory budgets" in shown.spoken
    assert len(frame_of(cost_chart(decision.cost)[0])) == 9


@pytest.mark.parametrize("name", ["json-chat", "shared-prefix", "apple-one-user"])
def test_live_sequences_fall_with_length_as_each_release_admits(name, facts):
    scenario = load_scenario(name)
    decision, length = decide(scenario, facts), scenario.workload.context_tokens.value
    chart, spoken = length_chart(decision, facts)
    frame = frame_of(chart)
    for engine, group in frame.groupby("engine"):
        assert list(group["live"]) == sorted(group["live"], reverse=True), engine
    at = {row.engine: row.live for row in frame[frame["tokens"] == length].itertuples()}
    admitted = {
        f"{r.engine} {r.release}": r.live_sequences for r in decision.fit.admissions
        if r.basis == decision.fit.rows[-1].basis and r.settings == "the release's defaults"
    }  # fmt: skip
    assert at
    assert all(admitted[name] == live for name, live in at.items())
    assert all(name in spoken for name in at)


def test_the_roof_is_bandwidth_then_peak_and_a_stream_stands_under_it(decision, facts):
    model = facts.models[decision.fit.model]
    active = model.active_parameters.value
    speed, weights = decision.fit.speed, decision.fit.rows[-1].weights_bytes
    roof = roofline(speed, active_parameters=active, weights_bytes=weights, prompt_tokens=8192)
    assert roof.peak == pytest.approx(989)
    assert roof.bandwidth_gb_per_s == pytest.approx(3350)
    assert roof.ridge == pytest.approx(989e12 / 3350e9)
    for stand in roof.stands:
        assert stand.low <= stand.middle <= stand.high <= roof.roof(stand.intensity) * 1.0000001
    decode = roof.stands[0]
    assert decode.intensity == pytest.approx(2 * active / speed.bytes_per_decode_step)
    assert decode.middle == pytest.approx(speed.decode.middle * 2 * active / 1e12)
    chart, spoken = roofline_chart(decision, facts)
    assert "decode, predicted" in spoken
    assert drawing((chart, spoken)).startswith("<svg")


def test_two_knobs_of_a_published_series_are_reported_and_not_told_apart():
    starts = load_arms([f"gh200-0.26.0-{name}" for name in
                        ("draft2", "draft4", "draft2-cache", "draft4-cache")])  # fmt: skip
    knobs = [Knob(name="drafts", values=(2, 4)), Knob(name="cache", values=(False, True))]
    sweep = judge(design(knobs, [("drafts", "cache")]), {i: [p] for i, p in enumerate(starts)},
                  "decode_tokens_per_s")  # fmt: skip
    chart, spoken = interaction_chart(sweep)
    assert sorted(frame_of(chart)["value"]) == [151, 160, 169.9, 175]
    assert "[reported]" in spoken
    assert "[measured]" not in spoken
    assert "not known" in spoken


def test_the_first_form_asks_at_most_eight_things_and_the_rest_unfolds(facts):
    panel = ScenarioPanel(load_scenario("json-chat"), facts)
    assert len(FIRST) <= 8
    assert set(FIRST) < set(FIELDS)
    first, forward, more, rest = panel.children[:4]
    assert forward.children == ()
    assert [box.children[0] for box in first.children] == [panel.fields[path] for path in FIRST]
    assert rest.layout.display == "none"
    more.value = True
    assert rest.layout.display == "flex"


def test_a_kept_panel_writes_each_change_and_a_new_kernel_starts_from_it(facts, tmp_path):
    path = tmp_path / "mine.yaml"
    panel = ScenarioPanel(load_scenario("json-chat"), facts, save_to=path, keep=True)
    assert not path.exists()
    panel.set("workload.users", "80")
    panel.set("workload.shared_prefix_tokens", "not known")
    assert panel.error == ""
    kept = load_scenario(path)
    assert (kept.name, kept.workload.users.value) == ("mine", 80)
    assert decide(kept, facts) == panel.decision
    panel.set("workload.users", "eighty")
    assert load_scenario(path) == kept


def test_a_panel_compares_with_another_scenario(facts):
    panel = ScenarioPanel(load_scenario("json-chat"), facts)
    panel.set("workload.users", "80")
    panel.compare()
    assert '<th scope="row">users</th>' in panel.view.value
    panel.other.value = "no-such-case"
    panel.compare()
    assert 'role="alert"' in panel.form.places["other"].value


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        ("download-a-NVFP4", "text"),
        ("download-a-NVFP4/config.json", "text"),
        ("embedded.passport.json", "arms"),
        ("vllm_start.log", "log"),
    ],
)
def test_a_dropped_file_is_known_by_what_it_holds(sample, kind, facts):
    assert dropped(data_dir() / "samples" / sample, facts).name == kind


def test_a_dropped_request_log_and_benchmark_are_told_apart(facts, tmp_path):
    log = tmp_path / "requests.jsonl"
    row = {"timestamp_s": 0, "input_tokens": 900, "output_tokens": 40}
    log.write_text("".join(json.dumps({**row, "timestamp_s": 60 * i}) + "\n" for i in range(50)))
    assert dropped(log, facts).name == "traffic"
    bench = tmp_path / "bench.json"
    bench.write_text(json.dumps([{
        "build_commit": "abc", "model_type": "llama 8B Q4_0", "n_prompt": 512, "n_gen": 0,
        "avg_ts": 100.0, "stddev_ts": 1.0, "samples_ts": [99.0, 101.0], "backends": "CPU",
        "model_filename": "m.gguf", "model_size": 1, "model_n_params": 1, "n_depth": 0,
        "n_batch": 512,
    }]))  # fmt: skip
    assert dropped(bench, facts).name == "arms"


def test_a_file_that_nobody_knows_is_refused_in_one_line(facts, tmp_path):
    (tmp_path / "poem.txt").write_text("roses are red")
    panel = DropPanel(facts)
    before = panel.view.value
    panel.set("path", str(tmp_path / "poem.txt"))
    assert panel.error.startswith("poem.txt: no scenario, no checkpoint and no passport")
    assert "\n" not in panel.error
    assert panel.view.value == before
    with pytest.raises(InputError, match="no such file"):
        dropped(tmp_path / "absent.log", facts)


@pytest.mark.parametrize(
    "name", [p.stem for p in sorted((data_dir() / "scenarios").glob("*.yaml"))
             if THIS_MACHINE not in p.read_text(encoding="utf-8")]
)  # fmt: skip
def test_what_is_shown_first_calls_an_input_by_its_words(name, facts):
    """No page one and no panel's verdict holds a key of the scenario file."""
    report = prepare(name)
    decision = report.decision
    page = re.sub(r"<style.*?</style>", "", report.section("decision").bare, flags=re.DOTALL)
    panel = " ".join(
        [decision.verdict, *decision.remarks, *decision.conditions, *decision.held_fixed]
    )
    keys = {path.rpartition(".")[2] for path in LABELS if "_" in path.rpartition(".")[2]}
    assert "devices_per_replica" in keys
    for said in (re.sub(r"<[^>]+>", " ", page), panel, text.headline(decision)):
        assert not keys & set(re.findall(r"\w+", said))
        assert not re.search(r"\b(workload|money|team|constraints|candidates)\.\w", said)


def test_what_would_change_it_says_an_input_once_and_a_switch_in_words(report):
    shown = report.section("change").html
    assert "if no, the answer becomes SGLang" in shown
    assert "if yes, nothing changes" in shown
    for flip in report.decision.flips:
        assert f"<td>{label(flip.input)}: " not in shown
    for raw in (" is false", " at true", "ops fte"):
        assert raw not in shown
