"""The real engine: canaries with a reference arm, limits, sweeps, quantisations, resuming.

No test asserts a time; effects that are told apart here are several times as large as any noise.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from odd_server import require_engine

from stackchoice.confirm import EmbeddedEngine, Passport, Plan, Progress, confirm
from stackchoice.confirm.arms import arm, arm_names
from stackchoice.errors import EngineError, InputError
from stackchoice.facts import load_facts
from stackchoice.load.arrivals import Closed
from stackchoice.sweep import design, judge, parse_knob, run_sweep

SHORT = Plan(requests=3, floor=False, output_tokens=16, prompt_words=8)
#: What an agent needs of a stack, with short limits for a model that talks on.
OWN = """
version: 1
canaries:
  - id: echo
    messages: [{role: user, content: "Repeat this word: banana"}]
    max_tokens: 24
    expect: {contains: [banana]}
  - id: json-schema
    messages: [{role: user, content: "Reply with a JSON object that names the capital of France."}]
    max_tokens: 48
    response_format: {type: json_schema, json_schema: {name: capital, strict: true, schema: {
      type: object, properties: {capital: {type: string, maxLength: 20}}, required: [capital],
      additionalProperties: false}}}
    expect: {json_keys: {capital: string}}
  - id: exact
    messages: [{role: user, content: "Repeat this sentence and nothing else: The harbour was quiet."}]
    max_tokens: 24
    expect: {as_reference: true}
  - id: tool-call
    messages: [{role: user, content: "What is the weather in Paris? Use the tool."}]
    max_tokens: 24
    tools: [{type: function, function: {name: get_weather, parameters: {type: object,
             properties: {city: {type: string}}}}}]
    expect: {tool: {name: get_weather}}
  - id: recall
    messages:
      - {role: user, content: "My cat is called Banana. Remember it."}
      - {role: assistant, content: "Your cat is called Banana."}
      - {role: user, content: "What is my cat called?"}
    max_tokens: 24
    expect: {contains: [Banana]}
  - id: needle
    needle: {sentence: "The secret number is 7481.", words: 120, depths: [0.2, 0.8]}
    messages: [{role: user, content: "{haystack}\\n\\nWhat is the secret number?"}]
    max_tokens: 24
    expect: {contains: ["7481"]}
"""  # noqa: E501


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    require_engine()


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("canaries") / "agent.yaml"
    path.write_text(OWN)
    return str(path)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    """A load with one canary, for sweeps of many launches."""
    path = tmp_path_factory.mktemp("quick") / "one.yaml"
    path.write_text(
        "version: 1\ncanaries:\n  - {id: capital, max_tokens: 24, expect: {contains: [Paris]},\n"
        "     messages: [{role: user, content: Name the capital city of France.}]}\n"
    )
    return SHORT.model_copy(update={"canaries": str(path)})


@pytest.fixture(scope="module")
def reference(canaries: str) -> Passport:
    """The shipped weights: the trusted arm, with every probe."""
    plan = SHORT.model_copy(update={"canaries": canaries, "probes": ("cache", "context", "slots")})
    with EmbeddedEngine(context_tokens=2048, slots=2) as engine:
        return confirm(engine, plan=plan, arm="q4_1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("arms")


def results(passport: Passport) -> dict[str, str]:
    return {c.id: c.result for c in passport.validity.canaries_before}


def test_canaries_of_an_agent_on_a_small_model(reference: Passport) -> None:
    found = results(reference)
    assert found.pop("tool-call") == "failed"  # the model is too small; nobody knows that yet
    assert found.pop("exact") == "recorded"
    assert set(found.values()) == {"passed"}
    assert {"echo", "recall", "needle-20%", "needle-80%", "json-schema"} == set(found)
    assert reference.validity.correctness == "failed"
    tool = next(c for c in reference.validity.canaries_before if c.id == "tool-call")
    assert "no reference arm" in tool.note


def test_limits_are_proven_by_requests(reference: Passport) -> None:
    probe = reference.validity.cache_probe
    assert probe.cached_tokens > 0.8 * probe.prefix_tokens
    assert "prefix cache on" in probe.speedup_text
    # 2048 tokens for two slots: just under half of it is answered, just over refused.
    assert reference.validity.realised_context_tokens == 1024
    assert any("are refused" in note for note in reference.notes)
    assert reference.validity.most_in_flight == 2
    assert any("4 requests at once on 2 slots" in note for note in reference.notes)
    assert reference.protocol.cache == "cold"


def test_the_same_stack_again_is_off_hold_by_its_reference(
    reference: Passport, canaries: str
) -> None:
    plan = SHORT.model_copy(update={"canaries": canaries})
    with EmbeddedEngine(context_tokens=2048, slots=2) as engine:
        again = confirm(engine, plan=plan, reference=reference)
    assert results(again)["tool-call"] == "beyond the model"
    assert results(again)["exact"] == "passed"  # greedy, the same weights, the same words
    assert again.validity.hold == ()


def test_a_coarser_quantisation_is_held_by_what_the_reference_answers(
    reference: Passport, canaries: str, folder: Path
) -> None:
    plan = SHORT.model_copy(update={"canaries": canaries})
    pytest.importorskip("gguf")
    with arm("llama.cpp:q4_0", folder=folder) as engine:
        coarse = confirm(engine, plan=plan, reference=reference, arm="q4_0")
    with arm("llama.cpp:q8_0", folder=folder) as engine:
        wide = confirm(engine, plan=plan, reference=reference, arm="q8_0")
    sizes = [p.identity.artifact_bytes for p in (coarse, reference, wide)]
    assert sizes == sorted(sizes)
    assert "Q4_0" in coarse.identity.weight_format
    failed = [c for c in coarse.validity.canaries_before if c.result == "failed"]
    assert failed
    assert all("the stack is broken" in c.note for c in failed)
    # A busy machine may make the run INVALID besides, which says nothing about the answers.
    assert (coarse.validity.correctness, wide.validity.hold) == ("failed", ())
    from stackchoice.compare import compare

    found = compare([wide, coarse], load_facts())
    assert found.winner != "q4_0"


def test_slots_are_what_waiting_requests_lack(tmp_path: Path, quick: Plan) -> None:
    load = quick.model_copy(update={"load": Closed(streams=4), "requests": 4})
    sweep = run_sweep(
        design([parse_knob("slots=1,4")]),
        lambda s: EmbeddedEngine(context_tokens=2048, slots=int(s["slots"])),
        load=load, metric="ttft_s", folder=tmp_path, subject="embedded", confirm_peak=False,
    )  # fmt: skip
    assert [len(a.values) for a in sweep.arms] == [2, 2]
    assert sweep.arms[1].settings == {"slots": 4}
    # Of four at once on one slot three wait for whole answers of others before their first token.
    assert sweep.arms[1].mean < sweep.arms[0].mean
    slots = {p.identity.slots for p in map(Passport.load, tmp_path.glob("*.passport.json"))}
    assert slots == {1, 4}


def test_a_prefix_cache_that_is_off_is_seen(reference: Passport, quick: Plan) -> None:
    plan = design([parse_knob("prefix_cache=on,off")])
    assert [arm.settings["prefix_cache"] for arm in plan.arms] == [True, False]
    with EmbeddedEngine(prefix_cache=bool(plan.arms[1].settings["prefix_cache"])) as engine:
        seen = confirm(engine, plan=quick.model_copy(update={"probes": ("cache",)}))
    on, off = judge(plan, {0: [reference], 1: [seen]}, "cache_speedup").arms
    assert min(on.values) > max(off.values)
    assert reference.validity.cache_probe.cached_tokens > 0
    assert seen.validity.cache_probe.cached_tokens == 0


def test_a_cancelled_run_keeps_what_it_measured(tmp_path: Path, quick: Plan) -> None:
    cancel, raw = threading.Event(), tmp_path / "raw.jsonl"
    plan = quick.model_copy(update={"requests": 50})

    def stop(progress: Progress) -> None:
        if progress.step == "timed":
            cancel.set()

    with EmbeddedEngine() as engine:
        p = confirm(engine, plan=plan, raw_path=raw, cancel=cancel, on_progress=stop)
    assert 0 < p.results.requests < 50
    assert p.label == "PARTIAL"
    assert not p.usable
    assert "cancelled" in " ".join(p.validity.reasons)


def test_a_killed_client_goes_on_where_it_was(tmp_path: Path) -> None:
    raw = tmp_path / "raw.jsonl"
    code = (
        "from stackchoice.confirm import *\n"
        "with EmbeddedEngine() as e:\n"
        "    confirm(e, plan=Plan(requests=6, floor=False, output_tokens=16, prompt_words=8),"
        f" raw_path={str(raw)!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as client:
        end = time.monotonic() + 120
        while time.monotonic() < end and not (raw.exists() and '"timed"' in raw.read_text()):
            time.sleep(0.05)
        os.kill(client.pid, signal.SIGKILL)
    kept = raw.read_text().count('"step": "timed"')
    assert kept
    asked: list[str] = []
    plan = SHORT.model_copy(update={"requests": 6})
    with EmbeddedEngine() as engine:
        p = confirm(engine, plan=plan, raw_path=raw, resume=True,
                    on_progress=lambda step: asked.append(step.step))  # fmt: skip
    assert p.results.requests == p.results.usable == 6
    assert asked.count("timed") <= 6 - kept + 1  # the last one may be cut in the log


def test_arms_that_are_not_installed_say_so(folder: Path) -> None:
    assert arm_names() == ["llama.cpp", "llama.cpp:q8_0", "llama.cpp:q4_0", "mlx", "transformers"]
    with pytest.raises(InputError, match="no such engine"):
        arm("other", folder=folder)
    with pytest.raises(EngineError, match="mlx is unavailable: mlx-lm is not installed"):
        arm("mlx", model="m", folder=folder)
