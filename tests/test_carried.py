"""A choice carried out: launch lines that start, the plan before buying, the review board."""

import argparse
import json
import shlex
import subprocess
import sys
from dataclasses import replace

import pytest

from stackchoice import decide, load_scenario
from stackchoice.choose.carried import Limit
from stackchoice.choose.decide import likely_case
from stackchoice.choose.runnable import of_engine
from stackchoice.confirm.setup import model_file
from stackchoice.facts import Evidence
from stackchoice.facts.records import Setting
from stackchoice.scenario import likely_point, parse_scenario

#: Flags of llama-server as its own README documents them, and the field of its parameters.
LLAMA_SERVER = {"--model": "model", "--ctx-size": "n_ctx", "--parallel": "n_parallel",
                "--n-gpu-layers": "n_gpu_layers"}  # fmt: skip

#: Starts the same server in this process's stead, with what the line says, and prints its slots.
START = """
import json, sys, urllib.request, xllamacpp
asked = json.loads(sys.argv[1])
p = xllamacpp.CommonParams()
p.model.path = asked["model"]
p.n_ctx, p.n_parallel = int(asked["n_ctx"]), int(asked["n_parallel"])
p.n_gpu_layers = int(asked["n_gpu_layers"])
p.hostnames, p.port, p.ui, p.endpoint_slots, p.endpoint_props = ["127.0.0.1"], 0, False, True, True
server = xllamacpp.Server(p)
with urllib.request.urlopen(server.listening_address + "/slots") as answer:
    print("SLOTS " + json.dumps([slot["n_ctx"] for slot in json.load(answer)]))
"""


def own(name, facts):
    decision = decide(load_scenario(name), facts)
    return next(r for r in decision.runnable if "best self-hosted" in r.role), decision


def words(runnable):
    return shlex.split(runnable.commands[-1])


def after(line, flag):
    return line[line.index(flag) + 1]


@pytest.mark.parametrize(
    ("name", "program", "expected"),
    [
        ("internal-api", ["vllm", "serve"], {"--max-model-len": "8192"}),
        ("json-chat", ["python", "-m", "sglang.launch_server"],
         {"--context-length": "8192", "--max-running-requests": "17", "--tp-size": "1",
          "--revision": "1d4bf0f2ff6012fd82039f2fa52739d0dd7c60c0"}),
        ("nvidia-throughput", ["trtllm-serve"], {"--max_seq_len": "8192", "--tp_size": "4"}),
        ("mixed-fleet", ["max", "serve"], {"--max-length": "8192", "--devices": "gpu"}),
        ("apple-one-user", ["mlx_lm.server"], {}),
    ],
)  # fmt: skip
def test_the_line_carries_what_the_arithmetic_assumed(name, program, expected, facts):
    runnable, decision = own(name, facts)
    line = words(runnable)
    assert line[: len(program)] == program
    assert {flag: after(line, flag) for flag in expected} == expected
    assert runnable.release in decision.best_self_hosted_configuration
    assert runnable.source
    assert runnable.relies_on
    assert all(r.source for r in runnable.relies_on)


def test_the_share_of_memory_is_the_engines_own_whatever_is_stated(facts):
    """The reserve of an 80 GB card by hand: chunk 8,192, 41 sequences at once, 58 prefill sizes."""
    runnable, decision = own("json-chat", facts)
    memory = facts.machines["h100_sxm"].memory_gib_reported.value * 1024
    row = decision.fit.rows[-1]
    at_once = (row.memory_bytes - row.weights_bytes) // row.bytes_per_sequence
    reserve = 512 + 8192 * 1.5 + 128 + at_once * 2 + 58 * 8
    share = float(after(words(runnable), "--mem-fraction-static"))
    assert share == round((memory - reserve) / memory, 3)
    assert any("states 1 GB" in note and "takes more" in note for note in runnable.notes)


def test_vllm_is_given_its_releases_own_share(facts):
    runnable, _ = own("internal-api", facts)
    assert after(words(runnable), "--gpu-memory-utilization") == "0.92"
    assert "--kv-cache-memory-bytes" not in words(runnable)
    assert any("public starts" in note for note in runnable.notes)


def test_what_no_flag_carries_is_said(facts):
    runnable, _ = own("apple-one-user", facts)
    assert any("32768 was assumed" in text for text in runnable.not_set)
    assert any("revision" in text for text in runnable.not_set)


def test_every_engine_has_a_launch_form_with_a_source(facts):
    forms = {form.engine: form for form in facts.launches}
    assert set(forms) == set(facts.engines)
    for form in forms.values():
        assert form.source.url
        assert {flag.setting for flag in form.flags} <= set(Setting.__args__)


def test_a_name_with_shell_in_it_is_one_word(facts):
    """A model's name out of somebody's file is never a command."""
    scenario = load_scenario("internal-api")
    from stackchoice.choose.answer import answer

    main = answer(likely_case(scenario, facts))
    evil = "a/b; rm -rf $HOME `id` 'x'\n--flag"
    bad = replace(main.site, artifact=main.site.artifact.model_copy(update={"id": evil}))
    runnable = of_engine(main.case, main.engine, bad, "test")
    assert evil in words(runnable)
    echoed = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {runnable.commands[-1]}"], capture_output=True, text=True,
        check=True,
    ).stdout.split("\0")  # fmt: skip
    assert evil in echoed


def test_the_line_of_llama_server_starts_with_the_slots_it_names(facts):
    """The embedded engine is that server: its parameters are set from the printed line alone."""
    pytest.importorskip("xllamacpp")
    scenario = load_scenario("this-machine")
    from stackchoice.this_machine import facts_for

    there = facts_for(scenario, facts)
    decision = decide(scenario, there)
    runnable = next(r for r in decision.runnable if r.option == "llama.cpp")
    line = words(runnable)
    assert line[0] == "llama-server"
    parser = argparse.ArgumentParser()
    for flag, field in LLAMA_SERVER.items():
        parser.add_argument(flag, dest=field, required=True)
    asked = vars(parser.parse_args(line[1:]))
    assert asked["model"] == model_file().name
    slots = 2  # as many as this machine's cores can hold; the context of each stays the line's
    each = int(asked["n_ctx"]) // int(asked["n_parallel"])
    asked |= {"model": str(model_file()), "n_ctx": each * slots, "n_parallel": slots}
    done = subprocess.run(
        [sys.executable, "-c", START, json.dumps(asked)], capture_output=True, text=True,
        timeout=120, check=True,
    )  # fmt: skip
    seen = next(row for row in done.stdout.splitlines() if row.startswith("SLOTS "))
    context = likely_point(scenario, there)["workload.context_tokens"]
    assert json.loads(seen.removeprefix("SLOTS ")) == [context] * slots


def test_a_seller_is_named_with_what_is_unknown_of_it(decision):
    bought = decision.runnable[0]
    assert bought.role == "recommended"
    assert (bought.seller, bought.artifact) == ("Novita", "qwen/qwen3.8-27b")
    assert any(text.startswith("rate limits: unknown") for text in bought.limits)
    assert not bought.commands


def test_the_plan_is_priced_and_capped(facts, decision):
    """Six hours of one H100 at the cheapest on-demand price; 600 of 60,000 requests."""
    plan = decision.plan
    price = min(
        p.usd_per_device_hour for p in facts.hours
        if p.machine == "h100_sxm" and p.kind == "on demand"
    )  # fmt: skip
    assert plan.rental.usd == price * 6
    assert plan.rental.usd_cap >= 2 * plan.rental.usd
    bill = decision.cost.managed_usd_per_month
    assert plan.metered.usd == pytest.approx(bill / 100)
    assert plan.metered.usd_cap >= 2 * plan.metered.usd
    assert plan.metered.flips_above_usd_per_month > bill


def test_the_limits_are_derived_and_judge(decision):
    carry = next(x for x in decision.plan.limits if x.measure.startswith("requests a second"))
    # 200 users x 10 requests in 10 h, 3.5 times that at the peak, on one replica at 70 %
    assert carry.pass_at_least == pytest.approx(200 * 10 / 36_000 * 3.5 / 0.7)
    assert carry.verdict(carry.pass_at_least) == "pass"
    assert carry.verdict(carry.pass_at_least * 0.99) == "fail"
    schema = next(x for x in decision.plan.limits if "schema" in x.measure)
    assert (schema.verdict(0), schema.verdict(1)) == ("pass", "fail")
    admitted = next(x for x in decision.plan.limits if "admits" in x.measure)
    assert [admitted.verdict(n) for n in (17, 10, 1)] == ["pass", "between", "fail"]
    assert all(limit.derived_from for limit in decision.plan.limits)


def test_a_limit_says_pass_fail_or_between():
    limit = Limit(measure="x", unit="s", pass_at_most=1, fail_above=2,
                  evidence=Evidence.STATED, derived_from="stated")  # fmt: skip
    assert [limit.verdict(v) for v in (0.5, 1, 1.5, 2, 2.5)] == [
        "pass", "pass", "between", "between", "fail",
    ]  # fmt: skip


def test_what_straddles_the_limit_is_the_measurement(changed, facts):
    """Where the peak needs what only the fast end carries, throughput decides."""
    scenario = changed("json-chat", workload__requests_per_user_per_day=20)
    plan = decide(scenario, facts).plan
    assert plan.measurement.startswith("requests a second")
    assert "straddle" in plan.why


def test_nothing_is_rented_for_a_machine_that_is_there(facts):
    plan = decide(load_scenario("nvidia-throughput"), facts).plan
    assert plan.rental.usd == 0
    assert plan.metered is None


def test_the_board_hears_who_said_what_or_that_nobody_did(facts):
    rows = {row.question: row for row in decide(load_scenario("json-chat"), facts).board}
    assert len(rows) == 8
    assert rows["May the data leave?"].answer == "nobody said"
    assert not rows["May the data leave?"].said
    assert "lead: engineers" in rows["Who answered what?"].answer
    assert "lead upgrades" in rows["Who owns the re-test after an upgrade?"].answer
    legal = {row.question: row for row in decide(load_scenario("spiky-volume"), facts).board}
    assert legal["May the data leave?"].answer == "yes (legal)"
    assert "nobody watches p99" in legal["Who owns the re-test after an upgrade?"].answer


def test_the_plan_is_data_and_round_trips(decision):
    from stackchoice.choose import Decision

    again = Decision.model_validate_json(decision.model_dump_json())
    assert again.plan == decision.plan
    assert again.runnable == decision.runnable


def test_preferences_decide_in_their_order(changed, facts):
    """Owning keeps the data on one's own machine; the seller is cheaper and simpler."""

    def wins(*preferences):
        scenario = changed(
            "json-chat", constraints__data_may_leave=True, preferences=list(preferences)
        )
        return decide(scenario, facts)

    assert wins("cost").recommended == "managed endpoint"
    assert wins("privacy").recommended == "SGLang"
    assert "privacy" in wins("privacy", "cost").verdict
    assert wins("simplicity", "privacy").recommended == "managed endpoint"
    # nobody published how fast the seller answers, so latency is passed over, and said
    late = wins("latency", "cost")
    assert late.recommended == "managed endpoint"
    assert "passed over" in late.verdict


def test_a_preference_stands_once(changed):
    from stackchoice.errors import ScenarioError

    tree = load_scenario("json-chat").model_dump(mode="json", by_alias=True)
    tree["preferences"] = ["cost", "cost"]
    with pytest.raises(ScenarioError, match="twice"):
        parse_scenario(tree)


def test_throughput_beyond_the_p99_limit_does_not_win_an_interactive_scenario(changed, facts):
    """The batch that fills the fleet takes 15 ms a token or more even at the fast end."""
    limits = {"workload__itl_p99_s": 0.012}
    batch = decide(changed("nvidia-throughput", **limits), facts)
    assert batch.recommended == "TensorRT-LLM"
    live = decide(changed("nvidia-throughput", workload__interactive=True, **limits), facts)
    option = live.option("TensorRT-LLM")
    assert option.status == "eliminated" or any("under load" in c for c in option.conditions)
    strict = decide(
        changed("nvidia-throughput", workload__interactive=True, workload__itl_p99_s=0.01), facts
    ).option("TensorRT-LLM")
    assert strict.status == "eliminated"
    assert "time per token, p99 at most 0.01 s" in strict.reason or "ceiling" in strict.reason
