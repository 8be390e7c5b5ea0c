"""Ceilings and intervals, re-derived; and what a full replica serves."""

import pytest

from stackchoice.facts import Datum, Evidence, Source
from stackchoice.facts.interval import Interval
from stackchoice.facts.records import Efficiency
from stackchoice.fit import batch_one_speed, request_seconds, requests_per_s
from stackchoice.fit.speed import efficiency

SOURCE = Source(url="https://example.org", as_of="2026-01-01")


def share(phase, low, middle, high, **more):
    return Efficiency(
        device_class=more.pop("device_class", "gpu"), phase=phase, low=low, middle=middle,
        high=high, rows=5, groups=2, evidence="computed", source=SOURCE, **more,
    )  # fmt: skip


SHARES = [share("decode", 0.4, 0.6, 0.8), share("prefill", 0.3, 0.5, 0.7)]


@pytest.fixture
def qwen(facts):
    model = facts.models["Qwen/Qwen3.8-27B"]
    return model, model.artifact("Qwen/Qwen3.8-27B-FP8")


def test_decode_ceiling_is_bandwidth_over_bytes_read(qwen, facts):
    """GH200: about 4 TB/s over 30.8 GB is about 130 tokens/s; 63.1 were measured (reported)."""
    model, artifact = qwen
    machine = facts.machines["gh200_96"]
    speed = batch_one_speed(model, artifact, machine, facts.efficiencies)
    expected = machine.bandwidth_gb_per_s.value * 1e9 / artifact.weights_bytes.value
    assert speed.decode_ceiling_tokens_per_s == pytest.approx(expected)
    assert expected == pytest.approx(130, rel=0.02)
    assert speed.decode.low < 63.1 < speed.decode.high
    assert speed.itl_floor_s == pytest.approx(1 / expected)


def test_the_cache_is_read_beside_the_weights(qwen, facts):
    model, artifact = qwen
    machine = facts.machines["h100_sxm"]
    bare = batch_one_speed(model, artifact, machine, SHARES)
    deep = batch_one_speed(model, artifact, machine, SHARES, cache_bytes=10**10)
    assert deep.bytes_per_decode_step == bare.bytes_per_decode_step + 10**10
    assert deep.decode_ceiling_tokens_per_s < bare.decode_ceiling_tokens_per_s


def test_the_interval_is_the_share_of_the_ceiling_with_its_class(qwen, facts):
    model, artifact = qwen
    speed = batch_one_speed(model, artifact, facts.machines["h100_sxm"], SHARES)
    ceiling = speed.decode_ceiling_tokens_per_s
    assert speed.decode.low == pytest.approx(0.4 * ceiling)
    assert speed.decode.high == pytest.approx(0.8 * ceiling)
    assert speed.decode.evidence is Evidence.COMPUTED


def test_one_thread_adds_unpacking_to_reading(facts):
    model = facts.models["HuggingFaceTB/SmolLM2-135M-Instruct"]
    artifact = model.artifacts[0]
    machine = facts.machines["h100_sxm"].model_copy(
        update={
            "backend": "cpu",
            "bandwidth_gb_per_s": Datum[float](value=20.0, evidence="measured", source=SOURCE),
        }
    )
    rates = [share("decode", 4, 8, 14, device_class="cpu", threads="one", basis="GB/s unpacked")]
    speed = batch_one_speed(model, artifact, machine, rates, threads="one")
    read = speed.bytes_per_decode_step
    assert speed.decode.low == pytest.approx(1 / (read / 20e9 + read / 4e9))
    assert speed.decode.high == pytest.approx(1 / (read / 20e9 + read / 14e9))
    assert speed.decode.high < speed.decode_ceiling_tokens_per_s


def test_an_unknown_bandwidth_is_unknown_speed(qwen, facts):
    model, artifact = qwen
    machine = facts.machines["h100_sxm"].model_copy(update={"bandwidth_gb_per_s": Datum[float]()})
    speed = batch_one_speed(model, artifact, machine, SHARES)
    assert speed.decode is None
    assert speed.decode_ceiling_tokens_per_s is None
    assert "memory bandwidth" in speed.unknown


def test_a_class_without_measurements_has_no_interval(qwen, facts):
    model, artifact = qwen
    speed = batch_one_speed(model, artifact, facts.machines["h100_sxm"], [])
    assert speed.decode is None
    assert speed.decode_ceiling_tokens_per_s is not None


def test_a_full_replica_shares_prefill_and_decode_time(qwen, facts):
    model, artifact = qwen
    speed = batch_one_speed(model, artifact, facts.machines["h100_sxm"], SHARES)
    shape = {"cache_bytes": 10**8, "prefill_tokens": 1000, "output_tokens": 100}
    seconds = [
        request_seconds(speed, artifact, share=end, batch=20, **shape)
        for end in ("low", "middle", "high")
    ]
    rate = requests_per_s(seconds, 20)
    prefill_s = 1000 / speed.prefill.low
    step_s = (artifact.weights_bytes.value + 20 * 10**8) / (
        0.4 * facts.machines["h100_sxm"].bandwidth_gb_per_s.value * 1e9
    )
    assert rate.low == pytest.approx(1 / (prefill_s + 100 * step_s / 20))
    assert rate.low < rate.middle < rate.high
    assert rate.evidence is Evidence.INFERRED
    alone = request_seconds(speed, artifact, share="low", batch=20, **shape)
    assert alone == (pytest.approx(prefill_s), pytest.approx(100 * step_s))


def test_efficiency_is_kept_by_class_of_machine(facts):
    mac, card = facts.machines["m4_max_128"], facts.machines["h100_sxm"]
    assert efficiency(facts.efficiencies, mac, "decode").device_class == "unified"
    assert efficiency(facts.efficiencies, card, "decode").device_class == "gpu"


@pytest.mark.parametrize(
    ("low", "high", "measured", "verdict"),
    [
        (10, 20, 15, "confirmed"), (10, 20, 10, "confirmed"), (10, 20, 21, "refuted"),
        (10, 41, 15, "not informative"), (10, 41, 50, "refuted"), (10, 20, None, "not measured"),
        (0, 20, 15, "not informative"),
    ],
)  # fmt: skip
def test_a_wide_interval_is_never_confirmed(low, high, measured, verdict):
    interval = Interval(low=low, middle=(low + high) / 2, high=high, unit="tokens/s",
                        evidence="assumed")  # fmt: skip
    assert interval.verdict(measured) == verdict
