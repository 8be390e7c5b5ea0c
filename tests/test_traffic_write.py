"""A workload goes into a scenario file: comments stay, nothing is overwritten unasked."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from stackchoice import decide, load_scenario
from stackchoice.cli import app
from stackchoice.errors import ScenarioError, StackchoiceError, TrafficError
from stackchoice.facts.load import data_dir
from stackchoice.scenario import with_preset
from stackchoice.scenario.preset import preset_inputs
from stackchoice.traffic.write import into_scenario, new_scenario

LOG = [
    {"timestamp": f"2026-11-{2 + d:02d}T{8 + h:02d}:{m:02d}:00Z", "user": f"u{m % 7}",
     "input_tokens": 2000, "output_tokens": 150, "status": "success"}
    for d in range(9) for h in range(10) for m in range(60)
]  # fmt: skip


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "requests.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in LOG), encoding="utf-8")
    return path


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.yaml"
    shutil.copy(data_dir() / "scenarios" / "json-chat.yaml", path)
    return path


def run(*args):
    return CliRunner().invoke(app, ["traffic", *(str(a) for a in args)])


def test_only_the_workload_changes_and_comments_stay(mine, log):
    before = mine.read_text(encoding="utf-8").splitlines()
    mine.write_text(
        "\n".join(before).replace("workload:", "workload:  # ours").replace(
            "  users:", "  # who asks\n  users:") + "\n", encoding="utf-8")  # fmt: skip
    result = run(log, "--into", mine, "--replace")
    assert result.exit_code == 0, result.output
    after = mine.read_text(encoding="utf-8").splitlines()
    assert "workload:  # ours" in after
    assert "  # who asks" in after
    stays = ("title", "  sellers", "team", "  engineers")
    kept = [line for line in before if line.startswith(stays)]
    assert all(line in after for line in kept)
    head = before.index("workload:")
    assert after[:head] == before[:head]
    assert after[-9:] == before[-9:]


def test_what_was_measured_is_what_is_decided_on(mine, log, facts):
    run(log, "--into", mine, "--replace")
    scenario = load_scenario(mine)
    work = scenario.workload
    assert (work.users.value, work.input_tokens.value, work.output_tokens.value) == (7, 2000, 150)
    assert work.requests_per_day.value == pytest.approx(600)
    assert work.input_tokens.evidence == "measured"
    assert work.input_tokens.origin.startswith("measured from requests.jsonl, 5,400 requests, 8.4")
    volume = decide(scenario, facts).cost.volume
    assert volume.requests == pytest.approx(600 * 30.44, rel=1e-3)
    assert volume.input_tokens == pytest.approx(600 * 30.44 * 2000, rel=1e-3)


def test_nothing_is_overwritten_unasked(mine, log, tmp_path):
    text = mine.read_bytes()
    with pytest.raises(TrafficError, match=r"has users, input_tokens.* --replace"):
        into_scenario(mine, {"users": {"value": 1}, "input_tokens": {"value": 2}})
    assert mine.read_bytes() == text
    with pytest.raises(TrafficError, match="is there already"):
        new_scenario(mine, {})
    assert mine.read_bytes() == text


def test_what_is_not_known_may_be_filled_in(mine):
    assert into_scenario(mine, {"peak_factor": {"value": 2.5, "from": "a log"}}) == ["peak_factor"]
    assert load_scenario(mine).workload.peak_factor.value == 2.5


def test_twice_is_once(mine, log):
    run(log, "--into", mine, "--replace")
    text = mine.read_text(encoding="utf-8")
    assert "nothing new" in run(log, "--into", mine).output
    assert mine.read_text(encoding="utf-8") == text


def test_a_value_that_cannot_be_leaves_the_file_as_it_was(mine):
    text = mine.read_bytes()
    with pytest.raises(ScenarioError):
        into_scenario(mine, {"peak_factor": {"value": -1}}, replace=True)
    assert mine.read_bytes() == text


def test_a_new_scenario_waits_for_a_model(log, tmp_path, facts):
    new = tmp_path / "My Traffic.yaml"
    assert run(log, "-o", new).exit_code == 0
    scenario = load_scenario(new)
    assert scenario.name == "my-traffic"
    with pytest.raises(ScenarioError, match="not chosen"):
        decide(scenario, facts)


def test_a_new_scenario_like_another_decides_at_once(log, tmp_path, facts):
    new = tmp_path / "next.yaml"
    run(log, "-o", new, "--like", "json-chat")
    scenario = load_scenario(new)
    assert scenario.model == load_scenario("json-chat").model
    assert decide(scenario, facts).recommended


def test_json_has_the_measurement_and_the_section(log):
    found = json.loads(run(log, "--json").output)
    assert found["requests"] == 5400
    assert found["workload"]["input_tokens"]["value"] == 2000


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ([], "nothing to measure"), (["--preset", "none"], "known: azure"),
        (["{log}", "--time-unit", "h"], "s or ms"),
        (["{log}", "-o", "a.yaml", "--into", "b.yaml"], "exclude each other"),
        (["{log}", "--preset", "ragpulse"], "too much"),
    ],
)  # fmt: skip
def test_calls_that_cannot_be(log, args, words):
    result = run(*[a.replace("{log}", str(log)) for a in args])
    assert isinstance(result.exception, StackchoiceError)
    assert words in str(result.exception)


class TestPresets:
    def test_every_preset_reads_as_a_workload_and_has_a_source(self, facts, changed):
        for preset in facts.workloads.values():
            scenario = with_preset(changed("json-chat", workload__preset=preset.id), facts)
            assert scenario.workload.preset == preset.id
            for key, value in preset_inputs(preset).items():
                if "from" in value:
                    assert value["from"].startswith(f"preset {preset.id}: "), key
                    assert value["evidence"] in ("computed", "reported", "inferred")

    def test_it_fills_in_only_what_the_scenario_does_not_say(self, facts, changed):
        scenario = with_preset(changed("json-chat", workload__preset="ragpulse"), facts)
        work = scenario.workload
        assert work.input_tokens == load_scenario("json-chat").workload.input_tokens
        assert work.peak_factor.value == 4.62
        assert work.turns_per_session.value == 1.78
        assert work.shared_prefix_tokens.value == 924
        assert work.input_distribution.p50 == 3139

    def test_an_unknown_one_is_refused(self, facts, changed):
        with pytest.raises(ScenarioError, match="not a published workload"):
            decide(changed("json-chat", workload__preset="none"), facts)

    def test_published_means(self, facts):
        """Means and counts as the publications give them."""
        azure, kimi = facts.workloads["azure-conversation-2023"], facts.workloads
        assert (azure.requests, round(azure.input_distribution.mean)) == (19_366, 1_155)
        assert round(azure.output_distribution.mean) == 211
        assert kimi["mooncake-conversation"].inputs["input_tokens"].value == 12_035
        assert kimi["mooncake-conversation"].inputs["output_tokens"].value == 343
        assert kimi["mooncake-toolagent"].inputs["input_tokens"].value == 8_596
        assert kimi["mooncake-toolagent"].inputs["shared_prefix_tokens"].value == round(
            0.59 * 8_596
        )

    def test_a_preset_decides(self, facts, changed):
        tree = {f"workload__{key}": "not known" for key in ("input_tokens", "output_tokens",
                "context_tokens")}  # fmt: skip
        scenario = changed("json-chat", workload__preset="azure-conversation-2023", **tree)
        decision = decide(scenario, facts)
        shown = {row["input"]: row for row in decision.inputs}["workload.input_tokens"]
        assert shown["value"] == 1155
        assert shown["evidence"] == "computed"
