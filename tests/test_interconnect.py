"""Links between the devices of a replica: their facts, their arithmetic, and what is not known."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice.errors import InputError
from stackchoice.facts.links import LinkPath, path_over
from stackchoice.fit import batch_one_speed
from stackchoice.fit.asked import asked_run
from stackchoice.fit.interconnect import (
    all_reduce_seconds,
    pipeline_speedup,
    tensor_parallel_seconds,
)
from stackchoice.fit.runs import Run
from stackchoice.fit.shares import features
from stackchoice.sizing import describe_sizing, size_by_name

LINK = LinkPath(link="a", gb_per_s=100, all_reduce_us=5)


def test_an_all_reduce_sends_every_byte_out_and_back_but_for_ones_own():
    # 1 MB among 4: each sends 2 x 3/4 MB at 100 GB/s, 15 us, and 5 us beside
    assert all_reduce_seconds(1e6, 4, LINK) == pytest.approx(20e-6)
    assert all_reduce_seconds(1e6, 4, LINK, direct=False) == pytest.approx(40e-6)


def test_a_token_pays_two_all_reduces_a_layer():
    """Llama 3.1 70B on two devices: 80 layers of 8,192 values of two bytes."""
    one = 2 * 80 * (8192 * 2 * 2 * 1 / 2 / 100e9 + 5e-6)
    assert tensor_parallel_seconds(80, 8192, 2, LINK) == pytest.approx(one)
    chunk = 2 * 80 * (512 * 8192 * 2 / 100e9 + 5e-6) / 512
    assert tensor_parallel_seconds(80, 8192, 2, LINK, tokens=512) == pytest.approx(chunk)
    assert chunk < one


@given(st.integers(2, 64), st.floats(1, 1e9), st.floats(1, 1000))
def test_a_faster_link_never_takes_longer(devices, size, rate):
    slow = LinkPath(link="a", gb_per_s=rate)
    fast = LinkPath(link="a", gb_per_s=2 * rate)
    slower = all_reduce_seconds(size, devices, slow)
    assert all_reduce_seconds(size, devices, fast) <= slower
    # never more than twice the bytes over the link, never less than once
    assert size / rate / 1e9 <= slower * (1 + 1e-9) <= 2 * size / rate / 1e9 * (1 + 1e-9)


@given(st.integers(1, 16), st.integers(1, 1000))
def test_a_pipeline_is_never_faster_than_its_devices_nor_slower_than_one(devices, chunks):
    busy = pipeline_speedup(devices, chunks)
    assert 1 - 1e-12 <= busy <= devices + 1e-12
    assert pipeline_speedup(devices, 1) == pytest.approx(1)


def test_what_a_text_names(facts):
    def rate(text, devices=2):
        found = path_over(text, facts.links.values(), devices)
        return found and found.gb_per_s

    assert rate("pcie5 x8") == pytest.approx(8 * 32 / 8 * 128 / 130, rel=0.002)
    assert rate("PCIe Gen4 x16") == pytest.approx(16 * 16 / 8 * 128 / 130, rel=0.002)
    assert rate("PCIe 3.0 x16") == pytest.approx(15.75, rel=0.002)
    assert (rate("nvlink4"), rate("NVLink 4.0"), rate("nvlink3")) == (450, 450, 300)
    assert rate("NVLink5 NVL72", 64) == 900
    # lanes that nobody states, more devices than it joins, a word, nothing
    assert [rate("pcie5"), rate("nvlink4", 16), rate("a cable"), rate(None)] == [None] * 4


def test_every_link_a_machine_names_is_known_and_a_slot_is_none(facts):
    named = {m.id: m.interconnect for m in facts.machines.values() if m.interconnect.known}
    assert len(named) >= 9
    for datum in named.values():
        assert datum.value in facts.links
        assert datum.source is not None
    assert not facts.machines["rtx_5090"].interconnect.known


def run(**more):
    base = {
        "phase": "decode", "device_class": "gpu", "engine_family": "server",
        "encoding_family": "16-bit", "bandwidth_gb_per_s": 1000, "tera_ops_per_s": 100,
        "active_bytes": 100e9, "total_bytes": 100e9, "active_parameters": 50e9, "devices": 4,
        "layer_count": 80, "hidden_size": 8192,
    }  # fmt: skip
    return Run(**base | more)


def test_the_ceiling_adds_the_time_on_the_link():
    bare, linked = run(), run(link=LINK)
    comm = tensor_parallel_seconds(80, 8192, 4, LINK)
    assert bare.ceiling == pytest.approx(40)
    assert linked.ceiling == pytest.approx(1 / (1 / 40 + comm))
    assert run(link=LINK, peer_to_peer=False).ceiling < linked.ceiling
    # whole layers are handed on once, so nothing is reduced
    assert run(link=LINK, by_layer=True).ceiling == pytest.approx(10)
    prompt = run(phase="prefill", prompt_tokens=8192, link=LINK)
    alone = 100e12 * 4 / (2 * 50e9)
    per_token = tensor_parallel_seconds(80, 8192, 4, LINK, tokens=8192)
    assert prompt.ceiling == pytest.approx(1 / (1 / alone + per_token))


def test_layers_handed_on_speed_a_prompt_up_only_when_it_has_chunks():
    alone = 100e12 / (2 * 50e9)
    split = {"phase": "prefill", "by_layer": True, "engine_family": "llama.cpp"}
    assert run(**split, prompt_tokens=512).ceiling == pytest.approx(alone)
    assert run(**split, prompt_tokens=2048).ceiling == pytest.approx(alone * 4 * 4 / 7)


def test_an_unstated_width_is_near_that_of_real_models():
    """Llama 3.1 8B and 70B, and the active part of Qwen3-30B-A3B."""
    for layers, hidden, active in ((32, 4096, 7.5e9), (80, 8192, 69e9), (48, 2048, 3.3e9)):
        guess = run(active_parameters=active, layer_count=layers, hidden_size=None).hidden
        assert 0.7 < guess / hidden < 1.4


def test_a_question_states_link_and_split(facts):
    given = {
        "machine": {"name": "RTX 5090", "count": 2, "bandwidth_gb_per_s": 1792}, "tp": 2,
        "engine": "vllm", "encoding": "bf16", "active_bytes": 10e9, "params": 5e9,
        "interconnect": "pcie5 x8",
    }  # fmt: skip
    ask = "decode_tokens_per_s"
    stated = asked_run(ask, given, facts)
    assert stated.link.link == "pcie5"
    off = asked_run(ask, {**given, "p2p_enabled": False}, facts)
    unknown = asked_run(ask, {k: v for k, v in given.items() if k != "interconnect"}, facts)
    assert off.ceiling < stated.ceiling < unknown.ceiling
    assert unknown.link is None
    assert "devices:unknown link" in features(unknown)
    assert "devices:unknown link" not in features(stated)
    by_layer = asked_run(ask, {**given, "split_mode": "layer"}, facts)
    assert by_layer.ceiling == pytest.approx(1792 / 10, rel=0.01)


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_an_unknown_link_is_wider(facts, phase):
    model = next(m for m in facts.share_models if m.phase == phase)
    known = run(phase=phase, link=LINK, vendor="NVIDIA", engine="vllm", device="rtx_5090")
    unknown = known.model_copy(update={"link": None})
    # one more thing that is not known, whatever the ceilings are
    at = features(known)
    wider = {**at, "devices:unknown link": 1.0}
    assert model.predict(wider)[1] > model.predict(at)[1]
    assert features(unknown).keys() - at.keys() == {"devices:unknown link"}


def test_a_scenario_states_its_link(changed, facts):
    from stackchoice.choose.case import Case
    from stackchoice.choose.place import places
    from stackchoice.choose.site import served, site_of
    from stackchoice.scenario import likely_point

    def ceiling(**more):
        machine = {"id": "rtx_pro_6000_bw", "count": 2, "devices_per_replica": 2, **more}
        scenario = changed("json-chat", candidates__machines=[machine])
        case = Case(scenario, facts, likely_point(scenario, facts))
        speed = served(site_of(places(case)[0], case), case).speed
        return speed.decode_ceiling_tokens_per_s, " ".join(speed.unknown)

    unknown, said = ceiling()
    assert "link between the devices" in said
    stated, said = ceiling(interconnect="pcie5 x16")
    assert stated < unknown
    assert "link" not in said


def test_the_command_names_the_links_it_knows():
    with pytest.raises(InputError, match=r"pcie9.*not known.*nvlink4"):
        size_by_name("Qwen/Qwen3.8-27B", "rtx_5090", context_tokens=8192, devices=2,
                     interconnect="pcie9 x16")  # fmt: skip
    text = describe_sizing(size_by_name("Qwen/Qwen3.8-27B", "l40s", context_tokens=8192, devices=2))
    assert "unknown: the link between the devices" in text


def test_a_link_of_the_machine_is_used_without_being_asked(facts):
    model = facts.models["Qwen/Qwen3.8-27B"]
    artifact, machine = model.artifact("Qwen/Qwen3.8-27B"), facts.machines["h100_sxm"]
    shared = {"devices": 2, "links": facts.links.values()}
    own = batch_one_speed(model, artifact, machine, facts.efficiencies, **shared)
    text = model.config.value
    text = text.get("text_config", text)
    comm = 2 * text["num_hidden_layers"] * (text["hidden_size"] * 2 / 450e9 + 2.3e-6)
    step = artifact.weights_bytes.value / (2 * machine.bandwidth_gb_per_s.value * 1e9)
    assert own.decode_ceiling_tokens_per_s == pytest.approx(1 / (step + comm))
    assert math.isfinite(own.decode.low)
    assert own.unknown == []
