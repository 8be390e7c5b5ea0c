"""The decision: the worked case, every row of the map, and facts that overrule a push."""

import json
import re
from decimal import Decimal

import pytest

from stackchoice import decide, load_facts, load_scenario
from stackchoice.choose.answer import Field
from stackchoice.choose.decide import likely_case
from stackchoice.choose.selfhosted import judge_all
from stackchoice.confirm.probe import ProbedMachine
from stackchoice.errors import ScenarioError
from stackchoice.facts import Evidence
from stackchoice.scenario import parse_scenario
from stackchoice.this_machine import with_machine

BRIEF_OPTIONS = {
    "vLLM", "SGLang", "TensorRT-LLM", "llama.cpp", "Ollama", "LM Studio", "MLX-LM", "MAX",
    "Transformers", "managed endpoint", "keep what runs today",
}  # fmt: skip


@pytest.fixture(scope="module")
def json_chat():
    return decide(load_scenario("json-chat"), load_facts())


def test_the_worked_case_counts_bytes_per_sequence(json_chat):
    fit = json_chat.fit
    assert fit.kv_bytes_per_token == 65_536
    assert fit.state_bytes_per_sequence == 144 * 2**20 + 3_932_160
    assert fit.bytes_per_sequence == 691_798_016


def test_the_worked_case_keeps_its_three_budgets_apart(json_chat):
    rows = {row.basis: row for row in json_chat.fit.rows}
    assert [row.live_sequences for row in rows.values()] == [36, 33, 41]
    assert rows["stated budget"].pool_bytes == 25_000_000_000


@pytest.mark.parametrize(
    ("basis", "engine", "settings", "live"),
    [
        ("stated budget", "vLLM", "prefix caching off", 34),
        ("stated budget", "vLLM", "the release's defaults", 28),
        ("stated budget", "SGLang", "the release's defaults", 15),
        ("stated budget", "llama.cpp", "the release's defaults", 36),
        ("stated budget", "MAX", "the release's defaults", 40),
        ("published checkpoint on the vendor's GB", "vLLM", "the release's defaults", 26),
        ("published checkpoint on the vendor's GB", "SGLang", "the release's defaults", 14),
        ("published checkpoint on the vendor's GB", "llama.cpp", "the release's defaults", 33),
    ],
)
def test_admission_is_the_engines_not_the_quotients(json_chat, basis, engine, settings, live):
    found = [
        row.live_sequences
        for row in json_chat.fit.admissions
        if (row.basis, row.engine, row.settings) == (basis, engine, settings)
    ]
    assert found == [live]


def test_the_chosen_capacity_is_the_engines_own(json_chat):
    own = next(c for c in json_chat.candidates if c.option == "SGLang")
    assert own.live_sequences == 17
    assert "own admission" in own.reason
    assert any(step.rule == "admission-token-pool" for step in json_chat.trace)


def test_the_worked_case_points_at_sglang_by_rule_and_recommends_managed_on_conditions(json_chat):
    assert json_chat.best_self_hosted == "SGLang"
    assert json_chat.recommended == "managed endpoint"
    step = next(s for s in json_chat.trace if s.text.startswith("best self-hosted answer"))
    assert step.rule == "json-schema"
    assert any("JSON schema" in text for text in json_chat.conditions)
    assert any("data may leave" in text for text in json_chat.conditions)
    assert "conditionally" in json_chat.verdict


def test_a_better_known_seller_outside_the_candidates_is_pointed_out(json_chat, changed, facts):
    assert any(text.startswith("ask DeepInfra too") for text in json_chat.conditions)
    every = decide(changed("json-chat", candidates__sellers="any"), facts)
    assert "DeepInfra" in every.recommended_configuration
    assert not any(text.startswith("ask ") for text in every.conditions)


def test_the_worked_case_in_money(json_chat):
    """60,000 requests of 8,192 in and 300 out; one server; a quarter of an engineer."""
    cost = json_chat.cost
    assert cost.volume.input_tokens == 491_520_000
    assert cost.volume.output_tokens == 18_000_000
    assert cost.managed_usd_per_month == Decimal("260.4384")
    assert float(cost.owned_usd_per_month) == pytest.approx(1674.0294, abs=5e-5)
    assert next(line for line in cost.lines if line.path == "owned").people_usd == 4500
    never = [e for e in cost.break_even if e.mtok_per_month is None]
    assert never, "at ten active hours and a peak of 3.5 a card never earns its cost"
    assert all("never" in e.reason for e in never)


def test_the_decision_as_json_has_the_documented_keys(json_chat):
    tree = json.loads(json_chat.model_dump_json())
    for key in ("kv_bytes_per_token", "state_bytes_per_sequence", "bytes_per_sequence"):
        assert isinstance(tree["fit"][key], int)
    assert {"basis", "pool_bytes", "live_sequences"} <= set(tree["fit"]["rows"][0])
    assert {"managed_usd_per_month", "owned_usd_per_month"} <= set(tree["cost"])
    assert {"name", "status", "reason", "question"} <= set(tree["options"][0])
    assert tree["flips"]
    assert tree["trace"]


def test_every_option_of_the_list_is_there_with_status_and_reason(json_chat):
    assert {o.name for o in json_chat.options} == BRIEF_OPTIONS
    assert all(o.reason for o in json_chat.options)
    assert json_chat.option("MLX-LM").question == "workload shape"
    assert json_chat.option("llama.cpp").question == "hardware fit"
    statuses = [o.status for o in json_chat.options]
    assert statuses == sorted(statuses, key=["chosen", "viable", "eliminated"].index)


def test_every_step_and_every_input_carries_its_evidence(json_chat):
    assert all(isinstance(step.evidence, Evidence) for step in json_chat.trace)
    by_path = {row["input"]: row for row in json_chat.inputs}
    assert by_path["workload.users"]["evidence"] == "stated"
    assert by_path["workload.requests_per_user_per_day"]["evidence"] == "assumed"
    assert by_path["workload.shared_prefix_tokens"]["evidence"] == "unknown"


def test_frames_are_there_to_slice(json_chat):
    assert len(json_chat.to_frame()) == 11
    assert set(json_chat.cost_frame()["path"]) == {"managed", "rented", "owned"}
    assert len(json_chat.fit_frame()) == 3
    assert not json_chat.admissions_frame().empty
    assert len(json_chat.candidates_frame()) >= 10
    assert not json_chat.trace_frame().empty


@pytest.mark.parametrize(
    ("name", "recommended", "best", "rule"),
    [
        ("apple-one-user", "MLX-LM", "MLX-LM", "apple-one-user"),
        ("internal-api", "vLLM", "vLLM", "nvidia-default"),
        ("json-chat", "managed endpoint", "SGLang", "json-schema"),
        ("shared-prefix", "SGLang", "SGLang", "shared-prefix"),
        ("nvidia-throughput", "TensorRT-LLM", "TensorRT-LLM", "nvidia-throughput"),
        ("mixed-fleet", "MAX", "MAX", "mixed-fleet"),
        ("spiky-volume", "managed endpoint", "vLLM", "low-volume-no-rotation"),
        ("reference-run", "Transformers", "Transformers", "reference-run"),
    ],
)
def test_each_row_of_the_map_gives_its_answer(name, recommended, best, rule, facts):
    decision = decide(load_scenario(name), facts)
    assert (decision.recommended, decision.best_self_hosted) == (recommended, best)
    assert any(push.rule == rule and push.holds for push in decision.pushes)


@pytest.mark.parametrize(
    ("name", "change", "option", "question", "says"),
    [
        # a schema is a need, and MLX-LM has no constrained decoding
        ("apple-one-user", {"workload__json_schema": True}, "MLX-LM", "workload shape", "schema"),
        # a 24 GB card cannot hold 54 GB of weights
        ("json-chat", {"candidates__machines": [{"id": "rtx_4090"}]}, "SGLang", "hardware fit",
         "does not fit"),
        # TensorRT-LLM runs on NVIDIA only
        ("nvidia-throughput", {"candidates__machines": [{"id": "mi300x", "count": 64,
         "devices_per_replica": 4}]}, "TensorRT-LLM", "hardware fit", "does not run on rocm"),
        # nobody for any duty vetoes a service
        ("internal-api", {"team__upgrades": "nobody", "team__watches_p99": "nobody",
         "team__awake_at_night": "nobody"}, "vLLM", "ops capacity", "nobody upgrades"),
        ("spiky-volume", {"constraints__data_may_leave": False}, "managed endpoint",
         "constraints", "may not leave"),
        # 16 GB of weights at 864 GB/s cannot be read in a millisecond
        ("internal-api", {"workload__itl_p99_s": 0.001,
         "model__artifacts": ["meta-llama/Llama-3.1-8B"]}, "vLLM", "hardware fit", "ceiling"),
        ("internal-api", {"workload__context_tokens": 500_000}, "vLLM", "hardware fit",
         "context"),
        ("json-chat", {"constraints__licences_acceptable": ["mit"]}, "SGLang", "constraints",
         "licence"),
    ],
)  # fmt: skip
def test_a_hard_fact_overrules_the_push(name, change, option, question, says, changed, facts):
    found = decide(changed(name, **change), facts).option(option)
    assert found.status == "eliminated"
    assert found.question == question
    assert says in found.reason


def test_a_peak_that_only_the_slow_end_overfills_is_unknown_not_out(changed, facts):
    """Long replies: 17 to 64 requests in flight against 32 live sequences."""
    busy = changed("json-chat", workload__output_tokens=3000)
    found = decide(busy, facts).option("vLLM")
    assert found.status == "viable"
    assert any("hold the peak" in text for text in found.conditions)
    busier = changed("json-chat", workload__output_tokens=6000)
    found = decide(busier, facts).option("vLLM")
    assert found.status == "eliminated"
    assert "even at the fast end" in found.reason


def test_no_seller_sells_more_context_than_the_model_has(changed, facts):
    decision = decide(changed("spiky-volume", workload__context_tokens=5_000_000), facts)
    assert decision.recommended is None
    assert "the model's context is" in decision.option("managed endpoint").reason


def test_the_assumed_operations_work_is_moved_too(json_chat):
    flip = next(f for f in json_chat.flips if f.input.startswith("operations work"))
    assert flip.to_option == "SGLang"
    assert flip.text in json_chat.conditions


def test_a_sum_carries_the_weakest_class_of_its_parts(json_chat):
    rented = next(line for line in json_chat.cost.lines if line.path == "rented")
    assert (rented.evidence, rented.total_evidence) == (Evidence.COMPUTED, Evidence.ASSUMED)
    assert "machine of RunPod" in rented.note
    closing = json_chat.trace[-1]
    assert (closing.rule, closing.evidence) == ("recommendation", Evidence.ASSUMED)


def test_numbers_in_flips_read_like_numbers(json_chat):
    salary = next(f for f in json_chat.flips if f.input == "money.usd_per_engineer_month")
    assert "10,000 to 25,000" in salary.text


def test_without_the_schema_the_default_comes_back(changed, facts):
    decision = decide(changed("json-chat", workload__json_schema=False), facts)
    assert decision.best_self_hosted == "vLLM"


def test_of_a_vague_case_what_to_find_out_first_is_named(changed, facts):
    """A model, a machine and users: no tokens of a month, no count of sequences."""
    lengths = dict.fromkeys(
        [f"workload__{name}_tokens" for name in ("input", "output", "context")], "not known"
    )
    vague = changed("json-chat", workload__requests_per_user_per_day="not known", **lengths)
    decision = decide(vague, facts)
    named = "requests a user and day, input (tokens a request), output (tokens a request)"
    assert f"find out first: {named}" in decision.verdict
    asked = {u.input: u.text for u in decision.unknowns if u.worth_finding}
    assert "how many sequences the memory holds" in asked["workload.context_tokens"]
    assert {"workload.input_tokens", "workload.output_tokens"} < asked.keys()
    unsure = [text for one in decision.candidates for text in one.unknown]
    assert "whether it fits (unknown: context (tokens))" in unsure


def test_an_unknown_volume_is_not_guessed(changed, facts):
    decision = decide(changed("json-chat", workload__users="not known"), facts)
    assert decision.cost.volume is None
    assert decision.cost.managed_usd_per_month is None
    asked = {u.input: u.text for u in decision.unknowns if u.worth_finding}
    assert "the tokens of a month are unknown" in asked["workload.users"]
    assert decision.recommended is None
    assert "cannot be compared" in decision.verdict
    assert decision.verdict.endswith("find out first: users.")
    assert decision.best_self_hosted == "SGLang"


def test_what_runs_today_is_an_option_and_wins_when_it_works_and_costs_least(changed, facts):
    today = {"what": "a small model on the old server", "usd_per_month": 300, "works": True}
    decision = decide(changed("json-chat", current=today), facts)
    assert decision.recommended == "keep what runs today"
    dear = decide(changed("json-chat", current={**today, "usd_per_month": 20_000}), facts)
    assert dear.recommended == "managed endpoint"
    assert dear.option("keep what runs today").status == "viable"
    broken = decide(changed("json-chat", current={**today, "works": False}), facts)
    assert broken.option("keep what runs today").status == "eliminated"


def test_totals_that_nearly_agree_are_too_close_to_call(changed, facts):
    total = decide(load_scenario("json-chat"), facts).option("managed endpoint").usd_per_month
    today = {"what": "old server", "usd_per_month": float(total) * 0.97, "works": True}
    decision = decide(changed("json-chat", current=today), facts)
    assert decision.recommended is None
    assert decision.verdict.startswith("Too close to call")
    assert decision.option("managed endpoint").status == "too close to call"
    assert decision.option("keep what runs today").status == "too close to call"


def test_what_is_not_known_to_fit_is_not_recommended(changed, facts):
    """Weights of unknown size: nothing is chosen, and the verdict says what to find out."""
    model = next(m for m in facts.models.values() for a in m.artifacts if not a.weights_bytes.known)
    artifact = next(a for a in model.artifacts if not a.weights_bytes.known)
    scenario = changed(
        "internal-api", model__id=model.id, model__artifacts=[artifact.id],
        candidates__machines=[{"id": "h100_sxm"}],
    )  # fmt: skip
    decision = decide(scenario, facts)
    assert decision.best_self_hosted is None
    assert decision.recommended is None


def test_data_that_may_not_leave_is_not_priced_on_a_rented_machine(changed, facts):
    decision = decide(changed("json-chat", constraints__data_may_leave=False), facts)
    assert {line.path for line in decision.cost.lines} == {"owned"}


def test_an_unknown_context_leaves_the_fit_unknown(changed, facts):
    decision = decide(changed("json-chat", workload__context_tokens="not known"), facts)
    assert {row.live_sequences for row in decision.fit.rows} == {None}


def test_a_flip_is_true_on_both_sides(changed, facts):
    """Deciding just before and just after the printed value gives the two answers."""
    scenario = changed(
        "json-chat", constraints__data_may_leave=True,
        workload__requests_per_user_per_day={"low": 3, "value": 10, "high": 5000},
        candidates__machines=[{"id": "h100_sxm", "count": 200}],
        workload__active_hours_per_day=24, workload__peak_factor=1.0,
        workload__output_tokens=300, money__can_fund_devices=200,
    )  # fmt: skip
    decision = decide(scenario, facts)
    flip = next(f for f in decision.flips if f.input == "workload.requests_per_user_per_day")
    assert flip.to_option is not None

    def at(value):
        return decide(changed_to(scenario, value, changed), facts).recommended

    assert at(flip.at * 0.999) == decision.recommended
    assert at(flip.at * 1.001) != decision.recommended


def changed_to(scenario, value, changed):
    tree = scenario.model_dump(mode="json", by_alias=True)
    tree["workload"]["requests_per_user_per_day"] = value
    return parse_scenario(tree)


def test_the_order_of_candidates_does_not_matter(changed, facts):
    machines = [{"id": "h100_sxm"}, {"id": "rtx_4090"}, {"id": "l40s"}]
    one = decide(changed("json-chat", candidates__machines=machines), facts)
    two = decide(changed("json-chat", candidates__machines=machines[::-1]), facts)
    assert (one.recommended, one.best_self_hosted_configuration) == (
        two.recommended, two.best_self_hosted_configuration,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model__id": "no/such"}, "model.id 'no/such'"),
        ({"model__artifacts": ["no/such"]}, "model.artifacts 'no/such'"),
        ({"candidates__machines": [{"id": "h900"}]}, "candidates.machines 'h900'"),
        ({"candidates__sellers": ["nobody-inc"]}, "candidates.sellers 'nobody-inc'"),
        ({"candidates__machines": [{"id": "this machine"}]}, "was not probed"),
        ({"workload__sampling_preset": "wild"}, "sampling_preset 'wild'"),
    ],
)
def test_a_name_the_facts_do_not_have_is_one_clear_error(change, says, changed, facts):
    with pytest.raises(ScenarioError, match=says):
        decide(changed("json-chat", **change), facts)


def test_a_preset_that_contradicts_thinking_is_said(changed, facts):
    decision = decide(changed("json-chat", workload__thinking=True), facts)
    assert any(text.startswith("contradiction") for text in decision.remarks)


def test_this_machine_is_the_probed_one(facts):
    probed = ProbedMachine(
        platform="Linux x86_64", cpu_name="Test CPU", physical_cores=2, logical_cores=2,
        memory_total_bytes=8 * 2**30, memory_available_bytes=4 * 2**30,
        working_set_bytes=10**8, read_gb_per_s=10.0, read_gb_per_s_low=9.0,
        read_gb_per_s_high=11.0, read_passes=5, as_of="2026-11-29",
    )  # fmt: skip
    decision = decide(load_scenario("this-machine"), with_machine(facts, probed))
    assert decision.recommended == "llama.cpp"
    artifact = facts.models["HuggingFaceTB/SmolLM2-135M-Instruct"].artifacts[0]
    read = artifact.read_bytes_per_token.value or artifact.weights_bytes.value
    speed = decision.fit.speed
    depth = 200 + 64 // 2
    cache = depth * 30 * 2 * 3 * 64 * 2
    assert speed.decode_ceiling_tokens_per_s == pytest.approx(10e9 / (read + cache))
    assert speed.decode.informative
    assert speed.decode.high < speed.decode_ceiling_tokens_per_s


def test_a_machine_without_reported_bytes_says_assumed(changed, facts):
    machine = next(m.id for m in facts.machines.values()
                   if not m.memory_gib_reported.known and m.backend == "cuda")  # fmt: skip
    decision = decide(changed("json-chat", candidates__machines=[{"id": machine}]), facts)
    row = next(r for r in decision.fit.rows if "reports" in r.basis)
    assert row.evidence is Evidence.ASSUMED
    assert "assumed" in row.note


def test_every_model_is_decided_or_unknown(changed, facts):
    """A model whose cache nobody modelled says so; it neither crashes nor counts sequences."""
    for model in facts.models.values():
        scenario = changed(
            "nvidia-throughput",
            model__id=model.id,
            candidates__machines=[{"id": "h200_sxm", "count": 8, "devices_per_replica": 8}],
        )
        decision = decide(scenario, facts)
        assert decision.candidates, model.id
        fit_unknown = [c for c in decision.candidates if c.live_sequences is None]
        for candidate in fit_unknown:
            assert candidate.status == "eliminated" or any(
                text.startswith("whether it fits (unknown") for text in candidate.unknown
            ), (model.id, candidate)


def test_owned_hardware_without_known_days_has_no_bill_and_no_traceback(changed, facts):
    scenario = changed(
        "apple-one-user", workload__days_per_month="not known",
    )  # fmt: skip
    cost = decide(scenario, facts).cost
    assert cost.owned_usd_per_month is None
    assert "days per month" in next(line.note for line in cost.lines if line.path == "owned")


def test_a_range_of_what_runs_today_is_decided_at_its_middle_and_both_ends(changed, facts):
    current = {"what": "old", "works": True, "usd_per_month": {"low": 100, "high": 5000}}
    decision = decide(changed("json-chat", current=current), facts)
    assert decision.option("keep what runs today").usd_per_month == 2550
    assert "current.usd_per_month" in {flip.input for flip in decision.flips}
    current["usd_per_month"] = {"low": 100, "high": 300}
    assert decide(changed("json-chat", current=current), facts).recommended == (
        "keep what runs today"
    )


def test_lengths_that_contradict_each_other_are_said(changed, facts):
    scenario = changed("json-chat", workload__input_tokens=100_000)
    found = [text for text in decide(scenario, facts).remarks if "contradiction" in text]
    assert found == [
        "contradiction: input (tokens a request) is 100,000, more than context (tokens) of 8,192"
    ]


def test_equal_configurations_do_not_hang_on_the_order_of_the_machines(changed, facts):
    """Without a context length nothing tells the capacity of the two machines apart."""
    machines = [{"id": "h200_sxm"}, {"id": "h100_sxm", "already_owned": True}]
    found = {
        decide(
            changed("json-chat", workload__context_tokens="not known", candidates__machines=order),
            facts,
        ).best_self_hosted_configuration
        for order in (machines, machines[::-1])
    }
    assert len(found) == 1
    assert "H100" in found.pop()


@pytest.mark.parametrize("name", ["json-chat", "nvidia-throughput", "apple-one-user"])
def test_decide_reads_no_file_clock_or_network(name, monkeypatch, facts):
    scenario = load_scenario(name)

    def refuse(*_, **__):
        raise AssertionError("decide must be pure")

    monkeypatch.setattr("stackchoice.facts.load._load", refuse)
    for target in ("builtins.open", "pathlib.Path.open", "time.time", "socket.socket"):
        monkeypatch.setattr(target, refuse)
    decision = decide(scenario, facts)
    monkeypatch.undo()
    assert decision == decide(scenario, facts)


def test_a_count_in_a_reason_carries_its_class(facts):
    reasons = [c.reason for c in decide(load_scenario("json-chat"), facts).candidates]
    counted = [reason for reason in reasons if "live sequences by" in reason]
    assert counted
    assert all("(assumed)" in reason for reason in counted)


def test_a_configuration_on_several_devices_says_how_many(changed, facts):
    two = [{"id": "h100_sxm", "count": 2, "devices_per_replica": 2}]
    decision = decide(changed("json-chat", candidates__machines=two), facts)
    titles = [c.title for c in decision.candidates if c.machine]
    assert titles
    assert all("2 x H100 SXM 80GB" in title for title in titles)


def test_devices_that_nobody_stated_are_tried_in_doublings_and_the_fewest_that_serve_taken(
    changed, facts
):
    dense = {"id": "Qwen/Qwen3-32B", "artifacts": ["Qwen/Qwen3-32B"]}
    four = [{"id": "h100_sxm", "count": 4}]
    tree = changed("shared-prefix", model=dense, candidates__machines=four).model_dump(
        mode="json", by_alias=True, exclude_defaults=True
    )
    del tree["workload"]["sampling_preset"]  # one of the other model's
    large = parse_scenario(tree)
    decision = decide(large, facts)
    tried = {c.devices for c in decision.candidates if c.engine == "vLLM"}
    assert tried == {1, 2, 4}
    # 65.5 GB of weights and the engine's workspace leave a card room for one sequence of 4.3 GB
    alone = [c for c in decision.candidates if c.engine == "vLLM" and c.devices == 1]
    assert all(c.status == "eliminated" and c.question == "hardware fit" for c in alone)
    # Four replicas of one hold 4 sequences, fewer than 3,000 users have in flight; 80 have fewer.
    assert "2 x H100" in decision.best_self_hosted_configuration
    tree["workload"]["users"]["value"] = 80
    few = decide(parse_scenario(tree), facts)
    assert few.best_self_hosted_configuration.endswith("bf16 · H100 SXM 80GB")
    tree["workload"]["users"]["value"] = 900_000
    many = decide(parse_scenario(tree), facts)
    assert many.best_self_hosted is None
    assert many.fit.note.startswith("replicas of 1, 2, 4 devices were tried")
    assert "none serves" in many.fit.note
    four_cards = int(decision.fit.note.partition("; on 4 the memory holds ")[2].split()[0])
    # 8 heads of 128 in 64 layers, keys and values of two bytes, 16,384 tokens; 4 x 79.18 GiB, of
    # which 15 to 17 GB each are the engine's
    one, room = 64 * 8 * 128 * 2 * 2 * 16384, 4 * 79.18 * 2**30 - 65.52e9
    assert (room - 4 * 17e9) // one <= four_cards <= (room - 4 * 15e9) // one
    assert "the fewest of those tried (1, 2, 4) that serve: assumed" in decision.fit.note
    assert set(decision.fit.note.split("; workspace")[:1]) <= set(decision.held_fixed)
    assert any(text.startswith("workspace 15") for text in decision.held_fixed)
    stated = changed("shared-prefix", candidates__machines=[{**four[0], "devices_per_replica": 2}])
    assert {c.devices for c in decide(stated, facts).candidates if c.engine == "vLLM"} == {2}


def test_what_an_engine_admits_says_what_keeps_it_from_serving(changed, facts):
    """No kernel for the file, as the list of options says; or nobody read whether it loads it."""
    decision = decide(
        changed("json-chat", workload__sampling_preset="", candidates__stated_budget=None,
                model={"id": "meta-llama/Llama-3.3-70B-Instruct",
                       "artifacts": ["nvidia/Llama-3.3-70B-Instruct-FP8"]}), facts
    )  # fmt: skip
    config = facts.models["meta-llama/Llama-3.3-70B-Instruct"].config
    assert decision.fit.cache_evidence is config.evidence is Evidence.INFERRED
    rows = {row.engine: row for row in decision.fit.admissions}
    out = {
        c.engine
        for c in decision.candidates
        if c.question == "hardware fit" and "kernel" in c.reason
    }
    assert out
    assert all("no kernel" in rows[engine].refused for engine in out)
    unread = {e.name for e in facts.engines.values() if e.loads("safetensors") is None}
    assert {name for name, row in rows.items() if row.unsure} == unread & set(rows)
    assert rows["vLLM"].unsure == rows["vLLM"].refused == ""


#: A workload of short chats, with what a sum needs and no more.
CHATS = {
    "requests_per_user_per_day": 10, "days_per_month": 30, "input_tokens": 8192,
    "output_tokens": 300, "context_tokens": 8192, "json_schema": True, "tools": False,
    "images": False,
}  # fmt: skip


def test_what_is_not_known_to_start_is_neither_recommended_nor_launched(changed, facts):
    """One H100 holds Llama-3.3-70B in FP8, and beside the most that vLLM takes no sequence."""
    llama = {
        "model": {"id": "meta-llama/Llama-3.3-70B-Instruct",
                  "artifacts": ["nvidia/Llama-3.3-70B-Instruct-FP8"]},
        "candidates": {"machines": [{"id": "h100_sxm", "count": 2}], "sellers": ["novita"]},
        "workload": {**CHATS, "users": 80},
    }  # fmt: skip
    decision = decide(changed("json-chat", **llama), facts)
    assert decision.best_self_hosted is None
    assert "no rule points at a self-hosted option that survives" in decision.verdict
    assert any(
        "2 x H100 SXM 80GB" in text and "(devices)' is 1" in text for text in decision.remarks
    )
    assert decision.option("MAX").reason.startswith("fit unknown")
    funded = decide(changed("json-chat", **llama, money__can_fund_devices=2), facts)
    assert funded.best_self_hosted_configuration.endswith("2 x H100 SXM 80GB")
    assert not any("can fund" in text for text in funded.remarks)


def test_a_heavy_shared_prefix_makes_a_full_pool_unknown_and_not_out(changed, facts):
    """70 sequences of 8,192 tokens, of which 6,000 stand once: up to 8,192 / 2,192 times as many.

    Nor is the answer an engine that nobody knows to load the file.
    """
    deepseek = {
        "model": {"id": "deepseek-ai/DeepSeek-V3.2", "artifacts": []},
        "candidates": {"machines": [{"id": "h200_sxm", "count": 8, "devices_per_replica": 8}]},
        "workload": {**CHATS, "users": 2000}, "money__can_fund_devices": 8,
    }  # fmt: skip
    alone = decide(changed("json-chat", **deepseek), facts)
    assert alone.best_self_hosted is None
    deepseek["workload"]["shared_prefix_tokens"] = 6000
    decision = decide(changed("json-chat", **deepseek), facts)
    assert decision.best_self_hosted == "SGLang"
    served = next(c for c in decision.candidates
                  if c.engine == "SGLang" and c.artifact == "FP8 (block)")  # fmt: skip
    found = 6000 // 64 * 64  # whole pages
    most = served.live_sequences * 8192 / (8192 - found)
    assert any(f"at most {most:,.0f} with what is shared" in text for text in served.unknown)


def test_what_follows_from_the_peak_is_no_better_known_than_the_peak(changed, facts):
    assumed = decide(load_scenario("json-chat"), facts)
    told = {"from": "a log of May", "answered_by": "ops"}
    known = decide(
        changed("json-chat", **{
            f"workload__{name}": {"value": value, **told}
            for name, value in {
                "users": 200, "requests_per_user_per_day": 10, "active_hours_per_day": 10,
                "peak_factor": 3, "input_tokens": 4000, "output_tokens": 300,
            }.items()
        }), facts
    )  # fmt: skip
    for decision, evidence in ((assumed, Evidence.ASSUMED), (known, Evidence.INFERRED)):
        little = next(step for step in decision.trace if step.rule == "little")
        rate = next(limit for limit in decision.plan.limits if limit.figure == "requests_per_s")
        classes = {decision.fit.needed_evidence, decision.shape.peak.evidence, little.evidence,
                   rate.evidence}  # fmt: skip
        assert classes == {evidence}


def test_what_counts_as_low_volume_is_one_small_replica_whatever_larger_ones_were_tried(
    changed, facts
):
    def fastest(**more):
        four = [{"id": "h100_sxm", "count": 4, **more}]
        case = likely_case(changed("shared-prefix", candidates__machines=four), facts)
        return Field(judge_all(case)).fastest_per_s

    # One card serves too few with some engines, whose smallest replica is of two.
    one, two, four = (fastest(devices_per_replica=n) for n in (1, 2, 4))
    assert one <= fastest() <= two < four


@pytest.mark.parametrize("users", [200, 20_000])
def test_where_nothing_survives_the_machine_named_does_and_one_replica_less_does_not(
    facts, changed, users
):
    def there(choice):
        return decide(
            changed(
                "json-chat", candidates__machines=[choice], candidates__stated_budget=None,
                constraints__data_may_leave=False, workload__users=users,
                money__can_fund_devices=None,
            ), facts,
        )  # fmt: skip

    fallen = there({"id": "l4"})
    assert fallen.recommended is None
    told = r"what would do: (\d+) x (.*?)(?: in (\d+) replicas)?, with "
    count, name, replicas = re.match(told, fallen.remarks[0]).groups()
    count, replicas = int(count), int(replicas or 1)
    size = count // replicas
    choice = {"id": next(m.id for m in facts.machines.values() if m.name == name),
              "count": count, "devices_per_replica": size}  # fmt: skip
    held = there(choice)
    assert held.best_self_hosted is not None
    assert not any(text.startswith("what would do") for text in held.remarks)
    least = {"count": count - size} if replicas > 1 else {
        "count": max(1, size // 2), "devices_per_replica": max(1, size // 2)}  # fmt: skip
    less = there(choice | least)
    known = [c for c in less.candidates
             if c.title == less.best_self_hosted_configuration and not c.unknown]  # fmt: skip
    assert bool(known) == (count == 1)


def test_more_devices_than_a_scenario_can_name_are_not_named(facts, changed):
    fallen = decide(
        changed("json-chat", candidates__machines=[{"id": "l4"}], workload__users=1e9,
                candidates__stated_budget=None, constraints__data_may_leave=False), facts,
    )  # fmt: skip
    assert re.match(r"what would do is unknown: .* up to 100,000 in all", fallen.remarks[0])


def test_what_would_do_is_not_said_where_people_are_missing_or_a_way_is_open(
    facts, changed, json_chat
):
    nobody = dict.fromkeys(
        ("team__upgrades", "team__watches_p99", "team__awake_at_night"), "nobody"
    )
    alone = decide(changed("json-chat", constraints__data_may_leave=False, **nobody), facts)
    assert alone.recommended is None
    for decision in (alone, json_chat):
        assert not any(text.startswith("what would do") for text in decision.remarks)


def test_what_is_too_large_everywhere_is_told_on_the_most_devices(changed, facts):
    """A terabyte of weights on 16 cards of 80 GB: replicas of 1, 2, 4 and 8 are tried."""
    kimi = {
        "model": {"id": "moonshotai/Kimi-K2-Instruct", "artifacts": []},
        "candidates": {"machines": [{"id": "h100_sxm", "count": 16}], "sellers": []},
    }
    decision = decide(changed("json-chat", **kimi), facts)
    assert decision.option("vLLM").configuration.endswith("8 x H100 SXM 80GB")
