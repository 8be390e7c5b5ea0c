"""Scenario files: values, ranges, not known; lossless; one clear error with the line."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from stackchoice import decide, dump_scenario, load_facts, load_scenario, save_scenario
from stackchoice.cases import load_case
from stackchoice.choose.quantiles import assumed_ranges
from stackchoice.errors import ScenarioError
from stackchoice.facts import Evidence, data_dir
from stackchoice.present.fields import FIELDS
from stackchoice.present.render import render_report
from stackchoice.scenario import Input, ends, likely_point, parse_scenario, scenario_inputs
from stackchoice.scenario.words import LABELS

GOOD = """\
name: x
title: X
model: {id: Qwen/Qwen3.8-27B}
candidates:
  machines:
    - id: h100_sxm
workload:
  users: 200
  requests_per_user_per_day: {low: 5, value: 10, high: 20, from: logs, answered_by: Ana}
  peak_factor: not known
  context_tokens: 8192
"""
SHIPPED = sorted(path.stem for path in (data_dir() / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_scenarios_round_trip_without_loss(name, tmp_path):
    scenario = load_scenario(name)
    assert load_scenario(save_scenario(scenario, tmp_path / "copy.yaml")) == scenario


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("users: 200", "users: 200 people", 8, ["200 people", "plain number"]),
        ("users: 200", "userz: 200", 8, ["userz", "did you mean 'users'"]),
        ("context_tokens: 8192", "context_tokens: 8k", 11, ["8k", "8192"]),
        ("context_tokens: 8192", "context_tokens: -5", 11, ["-5", "above 0"]),
        ("context_tokens: 8192", "ttft_p99_ms: 500", 11, ["did you mean 'ttft_p99_s'"]),
        ("context_tokens: 8192", "ttft_p99_s: 500 ms", 11, ["500 ms", "the unit stands in"]),
        ("context_tokens: 8192", "json_schema: maybe", 11, ["maybe", "true, false or not known"]),
        ("context_tokens: 8192", "context_tokens: .nan", 11, ["nan"]),
        ("context_tokens: 8192", "itl_p99_s: 50", 11, ["50 is", "of at most 10, in seconds"]),
        ("context_tokens: 8192", "ttft_p99_s: 500", 11, ["500 is", "of at most 120, in seconds"]),
        ("context_tokens: 8192", "growth_per_month: 10", 11, ["10 is", "of at most 1"]),
        ("users: 200", "users: 1,000", 8, ["'1,000' is no number;", "such as 1000"]),
        ("low: 5", "low: 50", 9, ["low 50", "above high"]),
        ("low: 5, value: 10, high: 20", "low: 5", 9, ["both low and high"]),
        ("- id: h100_sxm", "- {id: h100_sxm, devices_per_replica: 2}", 6, ["above count 1"]),
        ("name: x", "name: X Y", 1, ["X Y"]),
        ("  users: 200", "\tusers: 200", 8, ["YAML"]),
        ("users: 200", "users: 1\n  users: 2", 9, ['duplicate key "users"; keep one']),
        ("- id: h100_sxm", "- idd: h100_sxm", 6, ["idd", "did you mean 'id'"]),
        ("users: 200", "<<: {users: 200}", 8, ["merge keys", "write the keys out"]),
        ("users: 200", "users: !!python/name:os.system 1", 8, ["tags", "plain value"]),
        ("users: 200", "users: !!omap [a: 1]", 8, ["tags"]),
        ("title: X", "title: !!binary aGk=", 2, ["tags"]),
        ("users: 200", f"users: {'[' * 99}{']' * 99}", 8, ["nested more than 40"]),
        ("users: 200", f"users: 0x{'F' * 6000}", 8, ["24,000 bits"]),
        ("users: 200", f"users: {'a' * 9000}", 8, ["aaa…", "plain number"]),
        ("users: 200", "users: true", 8, ["true is not a number"]),
        ("users: 200", "users: 1e-320", 8, ["nearer to 0", "1e-09"]),
        ("8192", "true", 11, ["true is not a number"]),
        ("users: 200", '"us\\ners": 200', 8, ["us\\ners", "did you mean 'users'"]),
        ("title: X", "title: X\n1: 2", 3, ["1: unknown key"]),
        ("title: X", 'title: "a\\e[31mb"', 2, ["control characters", "one line"]),
        ("users: 200", "volume_pattern: {low: spiky, high: steady}", 8, ["a range needs numbers"]),
        ("users: 200", "tools: {low: false, high: true}", 8, ["a range needs numbers"]),
        ("name: x", "name: ../../x", 1, ["../../x", "lower-case letters"]),
        ("title: X", "title: X\nteam:", 3, ["write its keys below it"]),
        ("title: X", "title: X\nteam: {awake_at_night: no}", 3, ["'no' names nobody"]),
        ("name: x", "%YAML 1.1\n---\nname: x", 2, ["only YAML 1.2"]),
    ],
)
def test_a_wrong_file_gets_one_error_with_line_value_reason_and_fix(old, new, line, says, tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    text = str(caught.value)
    assert text.startswith(f"{path}:{line}:")
    assert "\n" not in text
    for part in says:
        assert part in text


def test_aliases_missing_keys_and_non_mappings_are_refused(tmp_path):
    path = tmp_path / "bad.yaml"
    for text, says in [
        ("a: &x [1]\nb: *x\n", "aliases"),
        ("- 1\n", "holds a list, not keys"),
        ("name: x\n", "is missing"),
        ("", "holds nothing, not keys"),
    ]:
        path.write_text(text)
        with pytest.raises(ScenarioError, match=says):
            load_scenario(path)


def test_what_is_no_small_file_is_refused(tmp_path):
    for path in (tmp_path, "a" * 5000, "a" * 5000 + ".yaml", "\0.yaml"):
        with pytest.raises(ScenarioError):
            load_scenario(path)
    if Path("/dev/zero").exists():
        with pytest.raises(ScenarioError, match="a pipe or a device"):
            load_scenario("/dev/zero")


@pytest.mark.parametrize("written", ["unknown", "?", "Not Known", " not known "])
def test_who_may_be_not_known_in_any_spelling(written, changed):
    assert changed("json-chat", team__upgrades=written).team.upgrades == "not known"


def test_an_unknown_name_lists_the_shipped_scenarios():
    with pytest.raises(ScenarioError, match="json-chat"):
        load_scenario("jsonchat")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"format": "stackchoice-passport/2", "arm": "a"}, "but a passport; .* --passport"),
        ({"architectures": ["LlamaForCausalLM"]}, "but a model's config; .*stackchoice inspect"),
        ({"model_type": "llama"}, "but a model's config"),
        ({"recommended": "vllm", "title": "t", "candidates": []}, "but a decision"),
    ],
)
def test_a_file_of_another_kind_is_called_what_it_is(keys, says, tmp_path):
    (tmp_path / "it.json").write_text(json.dumps(keys))
    with pytest.raises(ScenarioError, match=says):
        load_scenario(tmp_path / "it.json")
    (tmp_path / "it.json").write_text(json.dumps({**keys, "workload": {}}))
    with pytest.raises(ScenarioError, match="unknown key"):
        load_scenario(tmp_path / "it.json")


def test_the_other_ending_of_a_file_is_asked_about(tmp_path):
    (tmp_path / "mine.yaml").write_text("a: 1\n")
    with pytest.raises(ScenarioError, match=r"no such file; did you mean mine\.yaml\?"):
        load_scenario(tmp_path / "mine.yml")


def test_an_input_without_origin_or_answerer_is_assumed():
    assert Input[int](value=3).evidence_class is Evidence.ASSUMED
    assert Input[int](value=3, answered_by="Ana").evidence_class is Evidence.STATED
    assert Input[int](value=3, origin="x", evidence="measured").evidence_class is Evidence.MEASURED


def test_not_known_falls_back_on_a_labelled_assumption():
    scenario, facts = load_scenario("json-chat"), load_facts()
    point = likely_point(scenario, facts)
    assumed = facts.assumptions["peak_factor"].datum
    assert point["workload.peak_factor"] == assumed.value
    assert point.inputs["workload.peak_factor"].evidence is Evidence.ASSUMED
    assert ends(scenario, facts)["workload.peak_factor"] == (assumed.low, assumed.high)
    assert point["workload.shared_prefix_tokens"] is None


def test_saving_into_a_missing_folder_loses_nothing(tmp_path):
    target = tmp_path / "no" / "x.yaml"
    with pytest.raises(ScenarioError, match="cannot be written"):
        save_scenario(load_scenario("json-chat"), target)
    assert list(tmp_path.iterdir()) == []


@given(
    low=st.integers(1, 1000), middle=st.integers(0, 1000), high=st.integers(0, 1000),
    who=st.text(st.characters(codec="utf-8", exclude_categories=("C",)), max_size=30),
)  # fmt: skip
def test_any_input_survives_the_file(low, middle, high, who):
    value = {"low": low, "value": low + middle, "high": low + middle + high, "answered_by": who}
    tree = {
        "name": "x", "title": "t", "model": {"id": "m"}, "candidates": {},
        "workload": {"context_tokens": value},
    }  # fmt: skip
    scenario = parse_scenario(tree)
    path = Path(_folder()) / "x.yaml"
    path.write_text(dump_scenario(scenario), encoding="utf-8")
    assert load_scenario(path) == scenario


def _folder(kept=[]):  # noqa: B006 - one folder for all examples
    import tempfile

    if not kept:
        kept.append(tempfile.mkdtemp())
    return kept[0]


def test_every_input_and_every_assumed_range_has_words(facts):
    """A tornado, a form and a report call a quantity by the same words."""
    every = [*scenario_inputs(load_scenario("json-chat")),
             *(f"assumed.{key}" for key in assumed_ranges(facts)),
             *FIELDS]  # fmt: skip
    assert [path for path in every if path not in LABELS] == []


@pytest.mark.parametrize("key", ["regions_allowed", "licences_acceptable"])
def test_what_is_allowed_may_be_a_list_or_not_known(key, changed, facts):
    """Not known is a condition and ends nothing; a text is neither and is refused."""
    path = f"constraints__{key}"
    for spelt in ("not known", "?"):
        unknown = changed("json-chat", **{path: spelt})
        assert getattr(unknown.constraints, key) == "not known"
        assert parse_scenario(YAML(typ="safe").load(dump_scenario(unknown))) == unknown
        found = decide(unknown, facts)
        assert found.recommended == decide(changed("json-chat"), facts).recommended
        asked = [text for c in found.candidates for text in c.unknown]
        assert any("in which regions" in text or "which licences" in text for text in asked)
    with pytest.raises(ScenarioError, match=r"'EU' is no list; write one, such as \[EU\]"):
        changed("json-chat", **{path: "EU"})


@pytest.mark.parametrize(
    ("old", "new"), [("id: h100_sxm", "id: h100_smx"), ("Qwen3.8-27B", "Qwen3.8-72B")]
)
def test_a_name_that_the_facts_lack_is_told_with_the_file_it_stands_in(tmp_path, old, new):
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    for load in (load_case, lambda path: render_report(path, [tmp_path / "x.md"])):
        with pytest.raises(ScenarioError, match="did you mean") as told:
            load(path)
        assert str(told.value).startswith(f"{path}: ")
