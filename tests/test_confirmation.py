"""From scenario to passport with the real embedded engine."""

import importlib.util
import signal
import subprocess
import sys

import pytest

from stackchoice.choose import decide
from stackchoice.confirm import Passport, Plan
from stackchoice.confirmation import confirm_all, confirm_scenario
from stackchoice.errors import ScenarioError
from stackchoice.facts import load_facts
from stackchoice.load.floor import reference_server
from stackchoice.load.script import Script
from stackchoice.present.confirmedtext import describe
from stackchoice.scenario import load_scenario, save_scenario

engine = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None,
    reason="the embedded engine is not installed; run `stackchoice setup-engine`",
)


@engine
def test_this_machine_is_predicted_before_and_judged_after(tmp_path):
    lines = []
    done = confirm_all(
        "this-machine", plan=Plan(requests=3, floor=False), out=tmp_path, on_line=lines.append
    )
    (passport,), (path,) = done.passports, done.paths
    assert lines[0].startswith("before running")
    assert Passport.load(path) == passport
    # Other programs may be busy here; then the run says so and judges nothing.
    busy = passport.identity.machine.busy_share
    kept_up = passport.validity.client.valid
    assert passport.validity.valid is (busy <= 0.3 and kept_up), passport.validity.reasons
    assert passport.results.decode_tokens_per_s.n == 3
    measured = passport.results.decode_tokens_per_s.median if passport.validity.valid else None
    expected = passport.prediction.verdict(measured)
    assert passport.verdicts == {"decode_tokens_per_s": expected}
    assert expected in ("confirmed", "refuted", "not measured")
    assert "quality of the model" in describe(passport, path)


def test_the_embedded_engine_stands_for_its_own_model_only(changed, tmp_path):
    scenario = changed("this-machine", model__id="Qwen/Qwen3-32B")
    path = save_scenario(scenario, tmp_path / "other.yaml")
    with pytest.raises(ScenarioError, match="holds HuggingFaceTB/SmolLM2-135M-Instruct only"):
        confirm_scenario(str(path), out=tmp_path)


def test_a_scenario_without_this_machine_needs_an_endpoint(tmp_path):
    with pytest.raises(ScenarioError, match="--endpoint"):
        confirm_scenario("json-chat", out=tmp_path)


def test_ctrl_c_leaves_a_passport_marked_partial_and_resume_finishes_it(tmp_path):
    with reference_server(Script(ttft_s=0.1, itl_s=0.01, tokens=16)) as endpoint:
        command = [
            sys.executable, "-m", "stackchoice.cli", "confirm", "--endpoint", endpoint.base_url,
            "--model", endpoint.model, "--requests", "12", "--output-tokens", "16", "--no-floor",
            "--canaries", "basic", "--out", str(tmp_path),
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:  # fmt: skip
            for line in run.stdout:
                if "timed" in line:
                    run.send_signal(signal.SIGINT)
                    break
            _, said = run.communicate(timeout=60)
        assert (run.returncode, "--resume goes on" in said) == (130, True)
        partial = Passport.load(tmp_path / "endpoint.passport.json")
        assert partial.label == "PARTIAL"
        assert 0 < len(partial.samples) < 12
        subprocess.run([*command, "--resume"], check=False, capture_output=True, timeout=60)
        whole = Passport.load(tmp_path / "endpoint.passport.json")
    assert whole.label != "PARTIAL"
    assert len(whole.samples) == 12
    assert whole.samples[: len(partial.samples)] == partial.samples


def test_the_load_that_the_plan_names_is_put_on_after_the_given_one(tmp_path):
    script = Script(ttft_s=0.05, itl_s=0.003, tokens=20)
    with reference_server(script) as endpoint:
        done = confirm_all(
            "json-chat", endpoint_url=endpoint.base_url, model=endpoint.model, out=tmp_path,
            plan=Plan(requests=3, output_tokens=20, prompt_words=8, floor=False), whole_plan=True,
        )  # fmt: skip
    alone, loaded = done.passports
    assert [p.name for p in done.paths] == [
        "json-chat.passport.json", "json-chat-load.passport.json",
    ]  # fmt: skip
    limits = decide(load_scenario("json-chat"), load_facts()).plan.limits
    named = max(x.at_once or 1 for x in limits if x.figure == "requests_per_s")
    assert named > 1
    assert (alone.protocol.concurrency, loaded.protocol.concurrency) == (1, named)
    assert loaded.results.requests == max(3, 2 * named)
    assert loaded.validity.most_in_flight > 0.8 * named
    # Little: so many streams, each of them some 0.11 s busy by the server's script.
    service = script.ttft_s + script.itl_s * (script.tokens - 1)
    assert loaded.results.requests_per_s < 1.05 * named / service
    # It knows no canary: a HOLD decides against, whatever the figures are.
    assert (done.carried.stands, done.carried.refuted) == ("does not stand", True)
    assert {n.outcome for n in done.carried.numbers} == {"not measured"}
