"""A panel is a view of the scenario file: same reader, same decision, nothing lost."""

import pytest
from markupsafe import escape

from stackchoice import decide, dump_scenario, load_scenario, save_scenario
from stackchoice.errors import ScenarioError
from stackchoice.facts import Evidence
from stackchoice.present.defended import DecisionPanel
from stackchoice.present.dropped import DropPanel
from stackchoice.present.fields import FIELDS, described, shown, written
from stackchoice.present.kernels import KernelPanel
from stackchoice.present.logs import LogPanel
from stackchoice.present.money_panel import MoneyPanel
from stackchoice.present.panels import PremisePanel, SizingPanel
from stackchoice.present.ranking import RankingPanel, moved
from stackchoice.present.report import prepare
from stackchoice.present.traffic_panel import TrafficPanel
from stackchoice.present.widgets import ScenarioPanel, saved_or
from stackchoice.scenario import MachineChoice, Scenario, parse_scenario


@pytest.fixture
def panel(facts, tmp_path):
    return ScenarioPanel(load_scenario("json-chat"), facts, save_to=tmp_path / "mine.yaml")


def test_an_untouched_panel_holds_the_scenario_and_its_decision(panel, facts):
    assert load_scenario("json-chat") == panel.scenario
    assert decide(load_scenario("json-chat"), facts) == panel.decision
    assert panel.decision.verdict in panel.view.value


def test_every_field_writes_back_what_it_shows():
    """Showing an input and reading it again changes neither value nor range."""
    scenario = load_scenario("json-chat")
    for field in FIELDS.values():
        again = parse_scenario(written(scenario, field.path, shown(scenario, field.path)))
        assert shown(scenario, field.path) == shown(again, field.path)


def test_a_change_decides_again_like_the_file_and_the_report(panel, facts, tmp_path):
    """Widget, command line and report give one Decision for the same values."""
    panel.fields["constraints.data_may_leave"].value = "no"
    panel.fields["workload.users"].value = "400, 100 to 500"
    assert panel.error == ""
    assert panel.decision.recommended == "SGLang"
    panel.save()
    assert "Saved to" in panel.message.value
    saved = load_scenario(tmp_path / "mine.yaml")
    assert panel.scenario == saved
    assert decide(saved, facts) == panel.decision
    assert prepare(tmp_path / "mine.yaml").decision == panel.decision


def test_saved_inputs_survive_a_run_of_the_notebook_anew(panel, tmp_path):
    path = tmp_path / "mine.yaml"
    assert load_scenario("json-chat") == saved_or(path, "json-chat")
    panel.fields["team.engineers"].value = "7"
    panel.save()
    assert saved_or(path, "json-chat").team.engineers.value == 7


@pytest.mark.parametrize(
    ("path", "text", "word"),
    [
        ("workload.users", "200 people", "'200 people'"),
        ("workload.users", "30 to 3", "swap them"),
        ("workload.context_tokens", "8192.5", "8192.5"),
        ("team.ops_share_each", "2", "at most 1"),
        ("workload.peak_factor", "nan", "nan"),
    ],
)
def test_a_wrong_value_is_refused_like_in_a_file_and_the_last_valid_one_stays(
    panel, path, text, word
):
    before = panel.scenario, panel.decision, panel.fields[path].value
    panel.fields[path].value = text
    assert path in panel.error
    assert word in panel.error
    assert "\n" not in panel.error
    assert before == (panel.scenario, panel.decision, panel.fields[path].value)
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(written(panel.scenario, path, text), "panel")
    assert panel.error == str(refused.value)


def test_a_valid_value_takes_the_error_away(panel):
    panel.fields["workload.users"].value = "many"
    assert ">users: &#39;many&#39; is no number" in panel.form.places["workload.users"].value
    panel.fields["workload.users"].value = "300"
    assert panel.error == ""
    assert {place.value for place in panel.form.places.values()} == {""}
    assert panel.message.value == ""


def test_not_known_is_a_choice(panel):
    panel.fields["workload.users"].value = "not known"
    assert not panel.scenario.workload.users.known
    assert panel.decision.cost.volume is None


def test_what_nobody_stands_behind_is_assumed(panel):
    panel.fields["team.engineers"].value = "4"
    assert panel.scenario.team.engineers.evidence_class is Evidence.ASSUMED
    panel.answered_by.value = "Ana"
    panel.fields["team.engineers"].value = "5"
    assert panel.scenario.team.engineers.answered_by == "Ana"
    assert panel.scenario.team.engineers.evidence_class is Evidence.STATED


def test_untouched_inputs_keep_their_origin(panel):
    panel.fields["workload.users"].value = "300"
    shipped = load_scenario("json-chat").workload
    assert shipped.output_tokens == panel.scenario.workload.output_tokens


def test_another_model_voids_the_budget_that_was_stated_for_the_first(panel):
    panel.fields["model.id"].value = "openai/gpt-oss-20b"
    assert panel.error == ""
    assert panel.scenario.candidates.stated_budget is None
    assert panel.decision.fit.model == "openai/gpt-oss-20b"


def test_hostile_text_is_escaped(panel, tmp_path):
    panel.fields["team.upgrades"].value = "<img src=x onerror=alert(1)>"
    panel.fields["workload.users"].value = "<script>alert(1)</script>"
    panel.path.value = str(tmp_path / "no" / "<b>.yaml")
    assert "&lt;script" in panel.form.places["workload.users"].value
    panel.save()
    assert "&lt;b&gt;" in panel.form.places["path"].value
    assert "<img" not in panel.view.value


def test_a_failed_save_says_why(panel, tmp_path):
    panel.path.value = str(tmp_path / "missing" / "mine.yaml")
    panel.save()
    assert "cannot be written" in panel.form.places["path"].value


def test_ranking_follows_traffic_model_and_machine(facts):
    names = ("json-chat", "apple-one-user")
    ranking = RankingPanel({name: load_scenario(name) for name in names}, facts)
    assert ranking.decision.best_self_hosted == "SGLang"
    ranking.fields["traffic"].value = "apple-one-user"
    assert ranking.fields["machine"].value == "m4_max_128"
    assert ranking.decision == decide(load_scenario("apple-one-user"), facts)
    ranking.fields["machine"].value = "l4"
    assert ranking.decision.best_self_hosted != "MLX-LM"
    assert ranking.decision.verdict.split(":")[0] in ranking.view.value


def test_moving_nowhere_changes_nothing():
    scenario = load_scenario("shared-prefix")
    assert dump_scenario(scenario) == dump_scenario(moved(scenario, machine="h100_sxm"))


def test_a_changed_case_says_so_and_never_what_it_is_no_longer(panel, facts, tmp_path):
    """Title and situation of the worked case speak of its model, team and card."""
    for path, value in {
        "model.id": "meta-llama/Llama-3.3-70B-Instruct",
        "candidates.machines.0.count": "2",
        "candidates.machines.0.devices_per_replica": "2",
        "workload.users": "80",
    }.items():
        panel.fields[path].value = value
        assert panel.error == ""
    told = panel.scenario
    assert told.title == "Llama-3.3-70B-Instruct on 2 x H100 SXM 80GB for 80 users"
    assert told.title == panel.fields["title"].value == panel.decision.title
    assert told.situation.startswith("Changed in the notebook, from the case 'JSON chat for 200")
    assert "Qwen" not in told.situation
    for word in ("Model", "Users", "Devices a replica takes"):
        assert word in told.situation
    panel.save()
    saved = load_scenario(tmp_path / "mine.yaml")
    assert saved == panel.scenario
    assert saved.name == panel.decision.scenario == "mine"  # a report takes its file name


@pytest.mark.parametrize(
    ("stem", "name"),
    [("qwen-3.5", "qwen-3-5"), ("My Case", "my-case"), ("...", "json-chat"), ("x" * 99, "x" * 61)],
)
def test_a_case_is_called_after_its_file(facts, tmp_path, stem, name):
    """A report takes that name, so a point in it may not bring the former case's back."""
    path = tmp_path / f"{stem}.yaml"
    panel = ScenarioPanel(load_scenario("json-chat"), facts, save_to=path, keep=True)
    panel.set("workload.users", "80")
    assert (panel.error, panel.scenario.name) == ("", name)
    assert load_scenario(path).name == name


@pytest.mark.parametrize("text", ["1.5", "1e9", "two", "0", "1,5", ""])
def test_a_count_is_read_as_it_was_typed_or_refused(panel, text):
    """A field for numbers alone drops the point of 1.5, and asks for fifteen machines."""
    before, field = panel.decision, panel.fields["candidates.machines.0.count"]
    field.value = text
    assert panel.error.startswith("panel: candidates.machines.0.count: ")
    assert (field.value, panel.decision) == ("1", before)


def test_an_entry_of_a_list_is_refused_by_the_name_of_its_list(panel):
    panel.fields["preferences"].value = "cost, speed"
    said = panel.form.places["preferences"].value
    assert "preferences, the first first: &#39;speed&#39; is not one of" in said


def test_a_typed_title_stays_and_going_back_gives_the_case_its_words_back(panel):
    start = panel.scenario
    panel.fields["workload.users"].value = "80"
    panel.fields["workload.users"].value = "200, 200 to 200"
    panel.fields["title"].value = "2026"
    panel.fields["workload.users"].value = "90"
    assert (panel.scenario.title, panel.fields["title"].value) == ("2026", "2026")
    assert start.title in panel.scenario.situation
    panel.fields["title"].value = ""
    assert "title" in panel.error
    again = written(panel.scenario, "workload.users", shown(start, "workload.users"))
    back = described(parse_scenario(again), start, "a", "b")
    assert (back.title, back.situation) == (start.title, start.situation)


def test_the_weights_can_be_chosen_and_go_with_their_model(panel, facts):
    panel.fields["model.id"].value = "meta-llama/Llama-3.3-70B-Instruct"
    weights = panel.fields["model.artifacts"]
    model = facts.models["meta-llama/Llama-3.3-70B-Instruct"]
    assert [value for _, value in weights.options] == ["", *(a.id for a in model.artifacts)]
    weights.value = "nvidia/Llama-3.3-70B-Instruct-FP8"
    assert panel.error == ""
    assert panel.scenario.model.artifacts == ["nvidia/Llama-3.3-70B-Instruct-FP8"]
    assert panel.decision.fit.artifact == "FP8"
    panel.fields["model.id"].value = "Qwen/Qwen3-32B"
    assert (panel.error, panel.scenario.model.artifacts, weights.value) == ("", [], "")


def test_several_named_weights_stay_one_choice(facts):
    model = facts.models["Qwen/Qwen3.8-27B"]
    both = {"id": model.id, "artifacts": [artifact.id for artifact in model.artifacts[:2]]}
    tree = load_scenario("json-chat").model_dump(by_alias=True) | {"model": both}
    panel = ScenarioPanel(parse_scenario(tree), facts)
    assert panel.fields["model.artifacts"].value == ", ".join(both["artifacts"])
    panel.fields["workload.users"].value = "300"
    assert panel.scenario.model.artifacts == both["artifacts"]


def test_the_panel_shows_what_a_conditional_answer_hangs_on(panel):
    assert panel.decision.conditions
    for said in panel.decision.conditions + panel.decision.remarks:
        assert str(escape(said[1:])) in panel.view.value


def test_an_input_that_contradicts_a_first_one_is_brought_beside_it_and_stays(panel):
    """More devices than can be funded: one step further, and in sight without unfolding."""

    def forward():
        return [box.children[0].description for box in panel.children[1].children]

    assert panel.decision.remarks, "two lengths that are both folded contradict one another"
    assert forward() == []
    panel.fields["candidates.machines.0.count"].value = "2"
    disputed = ["Machine is paid for", "Can fund (devices)"]
    assert forward() == disputed
    boxes = [panel.form.boxes[path] for path in panel.fields]
    laid = [box for row in (*panel.children[:2], *panel.children[3].children)
            for box in row.children]  # fmt: skip
    assert all(laid.count(box) == 1 for box in boxes), "every field lies in one place"
    panel.fields["money.can_fund_devices"].value = "2"
    assert not any("can fund" in said for said in panel.decision.remarks)
    assert forward() == disputed, "no field goes from under the hands of who typed in it"
    panel.reload()
    assert forward() == disputed, "nothing was opened, as no such file is there"
    panel.fields["workload.shared_prefix_tokens"].value = "9000"
    assert forward() == [*disputed, "Input (tokens a request)"]


def test_a_field_that_makes_a_contradiction_is_not_moved_under_the_hands(panel):
    panel.fields["candidates.machines.0.count"].value = "1"
    panel.fields["money.can_fund_devices"].value = "0"
    assert any("can fund" in said for said in panel.decision.remarks)
    assert panel.children[1].children == ()


def test_two_notebooks_on_one_scenario_do_not_overwrite_each_other(facts, tmp_path):
    path = tmp_path / "mine.yaml"
    one, two = (ScenarioPanel(saved_or(path, "json-chat"), facts, save_to=path) for _ in range(2))
    one.fields["workload.users"].value = "80"
    one.save()
    theirs = path.read_bytes()
    two.fields["team.engineers"].value = "7"
    two.save()
    assert path.read_bytes() == theirs
    for said in ("somebody else wrote it", "Users: &#39;80&#39; there", "read it again",
                 "choose another name"):  # fmt: skip
        assert said in two.form.places["path"].value
    two.path.value = str(tmp_path / "other.yaml")
    two.save()
    assert load_scenario(tmp_path / "other.yaml").team.engineers.value == 7
    two.path.value = str(path)
    two.reload_button.click()
    assert two.fields["workload.users"].value == "80"
    assert two.fields["team.engineers"].value != "7"
    two.fields["team.engineers"].value = "9"
    two.save_button.click()
    assert "Saved to" in two.message.value
    both = load_scenario(path)
    assert (both.workload.users.value, both.team.engineers.value) == (80, 9)
    one.save()
    assert "Engineers: &#39;9&#39; there" in one.form.places["path"].value


def test_a_file_that_was_there_and_never_read_is_not_overwritten(panel, tmp_path):
    (tmp_path / "mine.yaml").write_text("# by hand\n", encoding="utf-8")
    panel.save()
    assert "somebody else wrote it" in panel.form.places["path"].value
    assert (tmp_path / "mine.yaml").read_text(encoding="utf-8") == "# by hand\n"
    panel.reload()
    assert "holds nothing, not keys and values" in panel.form.places["path"].value


ODD = ["", "nan", "1e400", "1e-320", "9" * 5000, "a\0b", "~nobody-here/x", "../..", "/dev/zero",
       "x" * 300, "\x1b[31m", "<b>", "5 to 1"]  # fmt: skip


@pytest.mark.parametrize("make", [
    KernelPanel, LogPanel, DropPanel, SizingPanel, PremisePanel,
    lambda facts: MoneyPanel(load_scenario("json-chat"), facts),
    lambda facts: TrafficPanel(load_scenario("json-chat"), facts),
])  # fmt: skip
def test_any_text_in_any_field_is_taken_or_refused_in_one_line(facts, make):
    odd = make(facts)
    for name in odd.fields:
        for text in ODD:
            odd.set(name, text)
            assert "\n" not in odd.error
            said = {at: place.value for at, place in odd.form.places.items() if place.value}
            assert list(said) == ([name] if odd.error else [])
            assert "\x1b" not in "".join(said.values())
            assert odd.error or odd.values[name] == text.strip() or text in odd.values[name]


def test_devices_of_a_replica_may_be_not_known_again(facts):
    panel = ScenarioPanel(load_scenario("nvidia-throughput"), facts)
    field = panel.fields["candidates.machines.0.devices_per_replica"]
    assert field.value == "4"
    field.value = "not known"
    assert panel.error == ""
    assert field.value == "not known"
    assert panel.scenario.candidates.machines[0].devices_per_replica is None
    field.value = "99"
    assert "above count 64" in panel.error
    assert panel.scenario.candidates.machines[0].devices_per_replica is None


def test_a_refused_choice_can_be_stepped_past(facts):
    """By key a list is left one choice at a time, so no refusal may put the choice back."""
    panel = PremisePanel(facts)
    before = panel.check
    for _, engine in panel.fields["engine"].options:
        panel.fields["engine"].value = engine
        assert panel.fields["engine"].value == engine
        assert panel.check == before
        assert bool(panel.error) == (engine != "vllm")
        assert ("last answer" in panel.form.places["engine"].value) == bool(panel.error)
    panel.fields["engine"].value = "sglang"
    panel.fields["concurrency"].value = "6.70"
    assert panel.error, "the engine is still refused"
    assert "last answer" in panel.form.places["concurrency"].value
    assert panel.form.places["engine"].value == ""
    assert panel.fields["concurrency"].value == panel.values["concurrency"]
    panel.fields["engine"].value = "vllm"
    panel.fields["concurrency"].value = "6.70"
    assert (panel.error, panel.check.separable) == ("", True)


def test_what_was_changed_outlives_the_kernel_and_nothing_else_does(facts, tmp_path):
    keep = str(tmp_path / "inputs.json")
    case = load_scenario("json-chat")
    makes = {
        "sizing": (lambda: SizingPanel(facts, keep=keep), "machine", "l40s"),
        "kernels": (lambda: KernelPanel(facts, keep=keep), "model", "openai/gpt-oss-20b"),
        "printed": (lambda: PremisePanel(facts, keep=keep), "concurrency", "6.70"),
        "traffic": (lambda: TrafficPanel(case, facts, keep=keep), "preset", "ragpulse"),
        "money": (lambda: MoneyPanel(case, facts, keep=keep), "money.server_usd", "24000"),
        "ranking": (lambda: RankingPanel({"a": case}, facts, keep=keep), "machine", "l4"),
        "decision": (
            lambda: DecisionPanel({"a": case}, facts, draws=200, keep=keep),
            "first",
            "privacy",
        ),
    }
    for make, name, text in makes.values():
        make().set(name, text)
    for make, name, text in makes.values():
        again = make()
        assert (again.values[name], again.fields[name].value, again.error) == (text, text, "")
    assert SizingPanel(facts, keep=keep, devices="2").values["devices"] == "2"
    assert SizingPanel(facts).values["machine"] == "h100_sxm"


@pytest.mark.parametrize("text", [
    "", "[]", "{", '{"sizing": 3}', '{"sizing": {"machine": "no such"}}',
    '{"sizing": {"colour": "red"}}', '{"sizing": {"devices": "<b>"}}', "\x00",
])  # fmt: skip
def test_a_spoilt_file_of_kept_inputs_is_said_and_the_first_values_stand(facts, tmp_path, text):
    keep = tmp_path / "inputs.json"
    keep.write_text(text)
    panel = SizingPanel(facts, keep=str(keep))
    assert panel.error.startswith("what was kept cannot be used: ")
    assert 'role="alert"' in panel.message.value
    assert "<b>" not in panel.message.value
    assert panel.values["machine"] == "h100_sxm"


def test_what_cannot_be_kept_is_said_and_the_answer_follows(facts, tmp_path):
    panel = SizingPanel(facts, keep=str(tmp_path / "absent" / "inputs.json"))
    panel.set("machine", "l40s")
    assert (panel.sizing.machine, panel.error) == ("L40S", "")
    assert "not kept for the next kernel" in panel.message.value


def test_a_dropped_scenario_opens_in_the_form_and_overwrites_nothing(facts, changed, tmp_path):
    theirs = save_scenario(changed("shared-prefix"), tmp_path / "theirs.yaml")
    text = theirs.read_text()
    mine = tmp_path / "mine.yaml"
    form = ScenarioPanel(load_scenario("json-chat"), facts, save_to=mine, keep=True)
    form.set("workload.users", "80")
    drop = DropPanel(facts, form=form)
    drop.set("path", str(theirs))
    assert drop.error == ""
    expected = decide(load_scenario("shared-prefix"), facts)
    assert (form.scenario.name, form.decision.verdict) == ("mine", expected.verdict)
    assert expected.verdict in drop.view.value
    assert load_scenario(mine).workload == load_scenario("shared-prefix").workload
    assert load_scenario(tmp_path / "mine-before.yaml").workload.users.value == 80
    form.set("workload.users", "90")
    assert load_scenario(mine).workload.users.value == 90
    assert theirs.read_text() == text
    (tmp_path / "half.yaml").write_text("schema_version: 1\nname: half\n")
    drop.set("path", str(tmp_path / "half.yaml"))
    assert "title: is missing" in drop.error
    assert form.scenario.workload.users.value == 90


def test_a_kept_path_of_a_scenario_is_shown_and_not_opened_again(facts, changed, tmp_path):
    theirs = save_scenario(changed("shared-prefix"), tmp_path / "theirs.yaml")
    form = ScenarioPanel(load_scenario("json-chat"), facts, save_to=tmp_path / "mine.yaml")
    DropPanel(facts, str(theirs), form=form)
    assert form.scenario == load_scenario("json-chat")


@pytest.mark.parametrize(("name", "content", "said"), [
    ("a.pdf", b"%PDF-1.7\n1 0 obj", "is no text"), ("a.zip", b"PK\x03\x04rest", "is no text"),
    ("a.log", b"", "holds nothing"), ("b.log", b" \n\n", "holds nothing"),
    ("a.json", b"\0" * 5000, "is no text"), ("a.yaml", b"%PDF", "not valid YAML"),
])  # fmt: skip
def test_a_file_of_another_kind_is_refused_at_once(facts, tmp_path, name, content, said):
    panel = DropPanel(facts)
    (tmp_path / name).write_bytes(content)
    panel.set("path", str(tmp_path / name))
    assert said in panel.error
    panel.set("path", str(tmp_path))
    assert "name the folder of a checkpoint" in panel.error
    panel.set("path", " ")
    assert panel.error.startswith("no path")


def test_a_file_of_two_gigabytes_is_not_read(facts, tmp_path):
    for end in ("log", "json", "yaml", "gguf"):
        with (tmp_path / f"big.{end}").open("wb") as file:
            file.truncate(2 * 2**30)
        panel = DropPanel(facts)
        panel.set("path", str(tmp_path / f"big.{end}"))
        assert panel.error


#: Keys of a scenario that no form asks for, and why not: CONTRIBUTING.md.
NOT_ASKED = {
    "schema_version", "name", "situation", "current", "candidates.stated_budget",
    "workload.preset", "workload.sampling_preset", "workload.input_distribution",
    "workload.output_distribution", "team.engine_work",
}  # fmt: skip


def test_a_form_asks_for_every_key_of_a_scenario_but_those_that_are_named():
    found = set()
    for section, field in Scenario.model_fields.items():
        inner = getattr(field.annotation, "model_fields", None)
        found |= {f"{section}.{key}" for key in inner} if inner else {section}
    found |= {f"candidates.machines.0.{key}" for key in MachineChoice.model_fields}
    assert found - {"candidates.machines"} - NOT_ASKED == set(FIELDS)


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("constraints.regions_allowed", "EU, US", ["EU", "US"]),
        ("constraints.regions_allowed", "anywhere", []),
        ("constraints.regions_allowed", "not known", "not known"),
        ("constraints.licences_acceptable", "any", []),
        ("candidates.sellers", "any", "any"),
        ("candidates.machines.0.interconnect", "pcie5 x8", "pcie5 x8"),
        ("candidates.machines.0.interconnect", "the machine's own", None),
        ("workload.interactive", "no", False),
        ("preferences", "privacy, cost", ["privacy", "cost"]),
    ],
)
def test_the_form_writes_the_file_that_the_command_line_reads(panel, facts, path, text, value):
    panel.fields[path].value = text
    assert (panel.error, panel.fields[path].value) == ("", text)
    panel.save()
    read = load_scenario(panel.path.value)
    assert read == panel.scenario
    assert decide(read, facts) == panel.decision
    for key in path.split("."):
        read = read[int(key)] if key.isdigit() else getattr(read, key)
    assert read == value


def test_a_refusal_that_names_another_field_stands_beside_the_one_that_was_changed(facts):
    panel = ScenarioPanel(load_scenario("json-chat"), facts)
    path = "candidates.machines.0.devices_per_replica"
    panel.fields[path].value = "4"
    assert "above count 1" in panel.form.places[path].value
    assert [at for at, place in panel.form.places.items() if place.value] == [path]


@pytest.mark.parametrize(
    ("text", "write"),
    [
        ("1.000", "1000 or 1<"),
        ("1,000", "1000 or 1<"),
        ("12.500", "12500 or 12.5<"),
        ("18.125", "18125 or 18.1250<"),
        ("1.000.000", "1000000<"),
        ("1,000 to 2000", "1000 or 1<"),
        ("10, 1.000 to 2000", "1000 or 1<"),
    ],
)
def test_a_number_that_can_be_read_in_two_ways_is_refused_with_what_to_write(panel, text, write):
    before, path = panel.scenario, "workload.users"
    panel.fields[path].value = text
    assert f"users: &#39;{text.split(' ')[-3 if ' to ' in text else 0]}" in (
        panel.form.places[path].value
    )
    assert f"can be read in two ways; write {write}" in panel.form.places[path].value
    assert panel.scenario is before


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("workload.resent_share", "0.125", 0.125),
        ("money.server_usd", "18.1250", 18.125),
        ("workload.users", "1000", 1000),
        ("workload.users", "1000, 500 to 2000", 1000),
        ("workload.users", "15, 10-20", 15),
        ("workload.users", "15, 10 – 20", 15),
        ("workload.users", "1e-3", 0.001),
    ],
)
def test_a_plain_number_is_taken_and_shown_so_that_it_is_taken_again(panel, path, text, value):
    panel.fields[path].value = text
    section, name = path.split(".")
    assert (panel.error, getattr(getattr(panel.scenario, section), name).value) == ("", value)
    again = shown(panel.scenario, path)
    panel.set(path, again)
    assert (panel.error, shown(panel.scenario, path)) == ("", again)


def test_an_unknown_name_is_refused_by_the_label_of_its_field_with_what_may_be_said(panel):
    panel.fields["candidates.sellers"].value = "nobody-inc"
    said = panel.form.places["candidates.sellers"].value
    assert ">sellers &#39;nobody-inc&#39; is not in the fact base; known: " in said
    assert "or write any" in said
    assert "candidates.sellers" not in said


def test_a_budget_that_another_machine_voids_is_said(panel):
    panel.set("candidates.machines.0.id", "h200_sxm")
    assert "The memory budget stated there is left out" in panel.scenario.situation
