"""The sweep shares work between candidates; its answers are those of the single admission."""

import random

import pytest

from stackchoice.choose.against import moves
from stackchoice.facts.allocation import release_order
from stackchoice.facts.records import SEEN_BY
from stackchoice.fit.admission import admit, launch
from stackchoice.fit.memory import GIB, usable_bytes
from stackchoice.fit.path.support import caught_up
from stackchoice.fit.sweep import STATUS, sweep
from stackchoice.fit.workspace import Start, workspace

MODELS = ["Qwen/Qwen3.8-27B", "meta-llama/Llama-3.1-8B", "openai/gpt-oss-20b",
          "google/gemma-3-27b-it", "deepseek-ai/DeepSeek-R1"]  # fmt: skip
MACHINES = ["h100_sxm", "rtx_4090", "rtx_5090", "mi300x", "b200_sxm"]


@pytest.fixture(scope="module")
def swept(facts):
    machines = [m for m in MACHINES if m in facts.machines]
    return sweep(facts, models=MODELS, machines=machines, contexts=(4096, 40_000))


def test_every_candidate_stands_once(swept, facts):
    releases = sum(len(e.releases) for e in facts.engines.values())
    artifacts = sum(len(facts.models[m].artifacts) for m in MODELS)
    assert len(swept) == artifacts * len(swept.machines) * releases * 2
    assert set(swept.status) <= set(range(len(STATUS)))


def test_the_shared_answer_is_the_single_one(swept, facts):
    """Weights and the release's own workspace off the memory; then its own admission."""
    chance = random.Random(5)
    artifacts = {a.id: (m, a) for m in facts.models.values() for a in m.artifacts}
    asked = [i for i in range(len(swept)) if STATUS[swept.status[i]] in ("fits", "does not fit")]
    seen = set()
    for i in chance.sample(asked, 120):
        model, artifact = artifacts[swept.artifacts[swept.artifact[i]]]
        machine = facts.machines[swept.machines[swept.machine[i]]]
        engine, release = swept.releases[swept.release[i]].split()
        weights = artifact.weights_bytes.value
        asked = launch(engine, release, model.config.value, facts=facts)
        taken = workspace(Start(asked, machine, weights=weights / GIB)).value
        pool = usable_bytes(machine, 1).value - weights - taken
        if pool <= 0:
            assert (STATUS[swept.status[i]], swept.live[i]) == ("does not fit", 0)
            continue
        found = admit(
            engine, release, model.config.value, pool_bytes=pool, device=machine, facts=facts,
            context_tokens=swept.contexts[swept.context[i]],
        )  # fmt: skip
        assert found.live_sequences == swept.live[i], (engine, release, artifact.id)
        seen.add(engine)
    assert len(seen) >= 4


def test_what_rules_out_is_the_first_release_that_has_it(swept, facts):
    for i, status in enumerate(swept.status):
        if STATUS[status] != "architecture not implemented":
            continue
        engine_id, release = swept.releases[swept.release[i]].split()
        artifact = swept.artifacts[swept.artifact[i]]
        model = next(m for m in facts.models.values() if any(a.id == artifact for a in m.artifacts))
        name = model.config.value["architectures"][0]
        since = facts.engines[engine_id].architectures[name].value
        assert since == "no" or release_order(since) > release_order(release)


def test_it_reads_as_a_frame(facts):
    small = sweep(facts, models=MODELS[:1], machines=["h100_sxm"], engines=["vllm"],
                  contexts=(8192,))  # fmt: skip
    table = small.to_frame()
    assert len(table) == len(small)
    assert set(table["status"]) <= set(STATUS)
    newest = table[(table["release"] == "vllm 0.33.0") & (table["artifact"] == "Qwen/Qwen3.8-27B")]
    # At the most that the release's defaults take: up to ten copies of 1,024 x 248,320 x 4 B.
    assert newest["live_sequences"].item() == 11


def test_an_architecture_that_an_older_release_may_have_is_open_before_the_one_that_was_seen(facts):
    """``by X``: X was seen to have it and no older one was read."""
    engine, name = next(
        (e, name) for e in facts.engines.values() for name, since in e.architectures.items()
        if (since.value or "").startswith(SEEN_BY)
    )  # fmt: skip
    seen = engine.architectures[name].value.removeprefix(SEEN_BY)
    assert engine.implements(name, seen) == (True, "")
    assert engine.implements(name, "0.0.1") == (None, "")
    config = {"architectures": [name]}
    for release, answer in ((seen, "yes"), ("0.0.1", "unknown")):
        found = {f.name: f for f in caught_up(config, engine.id, release, facts)}["registered"]
        assert (found.answer, found.since) == (answer, "")
    older, newer = (engine.latest.model_copy(update={"version": v}) for v in ("0.0.1", seen))
    assert f"implements {name}" not in moves(facts, engine, older, newer)
