"""The fair comparison: fairness before figures, five verdicts, inference that says it is one."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from passport_samples import arm, figure, sample

from stackchoice.compare import ITEMS, compare, fairness
from stackchoice.compare.attribution import attribute, ceiling
from stackchoice.compare.frames import fairness_frame, figure_frame, passport_frame, sample_frame
from stackchoice.compare.metrics import Slo
from stackchoice.compare.moved import moved
from stackchoice.compare.named import machine_of, model_of, preset_name
from stackchoice.confirm.canary import CanaryOutcome
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.passport import Lengths, Protocol
from stackchoice.errors import InputError
from stackchoice.passports import compare_files, load_arms, read_slo, shipped
from stackchoice.present.comparedtext import describe, describe_passport

PASSED = (CanaryOutcome(id="sum", result="passed"),)
FAILED = (CanaryOutcome(id="sum", result="failed", failure="wrong answer", reason="holds none"),)


def verdict(a, b, facts, **more):
    return compare([a, b], facts, **more).pairs[0]


def test_an_arm_that_is_faster_in_everything_is_better(facts):
    found = compare([arm("slow"), arm("fast", speed=1.5)], facts)
    assert found.winner == "fast"
    pair = found.pair("fast", "slow")
    assert pair.seen_from("fast") == "better"
    assert pair.seen_from("slow") == "worse"
    ttft = next(f for f in pair.figures if f.metric == "ttft_s")
    assert ttft.ratio == pytest.approx(1 / 1.5 if pair.first == "fast" else 1.5)


def test_a_gap_below_the_scatter_between_launches_is_too_close(facts):
    # Scatter between launches is about 10 %, the gap 5 %.
    a, b = arm("a", jitter=0.1), arm("b", speed=1.05, jitter=0.1)
    assert verdict(a, b, facts).verdict == "too close"


def test_one_repetition_ranks_nothing_however_large_the_gap(facts):
    pair = verdict(arm("a", launches=1), arm("b", speed=3, launches=1), facts)
    assert pair.verdict == "not comparable"
    assert "scatter is unknown" in pair.reason
    assert all(f.told == "not comparable" for f in pair.figures if f.ratio)


def test_an_arm_on_hold_never_wins(facts):
    held = arm("b", speed=5, validity={"hold": ("canary sum failed",), "canaries_before": FAILED})
    found = compare([arm("a"), held], facts)
    assert found.pairs[0].verdict == "hold"
    assert found.winner is None
    assert "canary sum failed" in found.pairs[0].reason
    assert all(f.told == "not comparable" for f in found.pairs[0].figures)
    assert held.label == "HOLD"


def test_an_invalid_arm_is_not_compared(facts):
    spoiled = arm("b", speed=5, validity={"valid": False, "reasons": ("too busy",)})
    pair = verdict(arm("a"), spoiled, facts)
    assert pair.verdict == "not comparable"
    assert "too busy" in pair.reason


CHANGES = {
    "model": {"identity": {"model_revision": "other"}},
    "precision": {"identity": {"kv_format": "bf16"}},
    "decoding": {"protocol": {"sampling_settings": {"temperature": 1.0}}},
    "lengths": {"protocol": {"output_lengths": Lengths(mean=90, p50=90)}},
    "arrivals": {"protocol": {"concurrency": 9}},
    "window": {"protocol": {"cache": "warm", "prefix_cache_state": "warm"}},
}
GONE = {
    "model": {"identity": {"model_revision": None}},
    "precision": {"identity": {"kv_format": "auto"}},
    "decoding": {"protocol": {"sampling_settings": None, "sampling": None}},
    "lengths": {"protocol": {"input_lengths": None}},
    "arrivals": {"protocol": {"arrival_pattern": None}},
    "window": {"protocol": {"cache": None, "prefix_cache_state": None}},
}


@pytest.mark.parametrize("item", ITEMS)
def test_each_of_the_six_stops_a_ranking_when_it_differs(facts, item):
    pair = verdict(arm("a"), arm("b", speed=2, **CHANGES[item]), facts)
    assert {i.id: i.status for i in pair.fairness} == {
        i: "different" if i == item else "identical" for i in ITEMS
    }
    assert pair.verdict == "not comparable"
    assert ITEMS[item] in pair.reason


def without(item):
    """An arm that does not say one item, whatever the base says."""
    fields = GONE[item]
    base = arm("b", speed=2)
    identity = base.identity.model_copy(update=fields.get("identity", {}))
    protocol = base.protocol.model_copy(update=fields.get("protocol", {}))
    return base.model_copy(update={"identity": identity, "protocol": protocol})


@pytest.mark.parametrize("item", ITEMS)
def test_unknown_never_ranks_and_a_word_for_it_is_visible(facts, item):
    silent = without(item)
    pair = verdict(arm("a"), silent, facts)
    assert next(i.status for i in pair.fairness if i.id == item) == "unknown"
    assert pair.verdict == "not comparable"
    said = verdict(arm("a"), silent, facts, same=[item])
    found = next(i for i in said.fairness if i.id == item)
    assert (found.status, bool(found.said)) == ("identical", True)
    assert said.verdict == "worse"


def test_what_differs_on_purpose_is_ranked_and_said(facts):
    other = arm("b", speed=2, **CHANGES["precision"])
    pair = verdict(arm("a"), other, facts, vary=["precision"])
    assert pair.verdict == "worse"
    assert "differ on purpose" in pair.reason
    # Saying that something is the same does not make different values equal.
    assert verdict(arm("a"), other, facts, same=["precision"]).verdict == "not comparable"
    with pytest.raises(InputError, match=r"--vary 'lengths'.*never ranked"):
        compare([arm("a"), other], facts, vary=["lengths"])


def test_better_in_one_and_worse_in_another_is_a_trade_off(facts):
    fast = arm("b", speed=1.5)
    slow_start = [
        r.model_copy(update={"ttft_s": figure(0.5 + 0.001 * r.launch)})
        for r in fast.results.repetitions
    ]
    results = fast.results.model_copy(
        update={"repetitions": tuple(slow_start), "ttft_s": figure(0.5)}
    )
    mixed = fast.model_copy(update={"results": results})
    pair = verdict(arm("a"), mixed, facts)
    assert pair.verdict == "too close"
    assert "trade-off" in pair.reason
    assert verdict(arm("a"), mixed, facts, by="output_tokens_per_s").verdict == "worse"
    assert verdict(arm("a"), mixed, facts, by="ttft_s").verdict == "better"


def test_a_doubled_tail_takes_the_victory(facts):
    a = arm("a", end_to_end_s=figure(1.4, p99=2.0))
    b = arm("b", speed=1.5, end_to_end_s=figure(0.93, p99=4.0))
    pair = verdict(a, b, facts)
    assert pair.verdict == "too close"
    assert "p99" in pair.reason


def test_goodput_counts_requests_that_meet_the_objective(facts):
    def with_samples(name, ttfts):
        base = arm(name)
        kept = tuple(
            sample(t, launch=r.launch, repetition=r.number)
            for r in base.results.repetitions for t in ttfts
        )  # fmt: skip
        return base.model_copy(update={"samples": kept})

    good, poor = with_samples("a", [0.1] * 20), with_samples("b", [0.1] * 10 + [0.9] * 10)
    found = compare([good, poor], facts, slo=Slo(ttft_s=0.5), by="goodput_per_s")
    row = next(f for f in found.pairs[0].figures if f.metric == "goodput_per_s")
    assert (row.first, row.second) == (pytest.approx(2.0), pytest.approx(1.0))
    assert found.pairs[0].verdict == "better"
    assert read_slo("ttft=0.5,itl=0.03") == Slo(ttft_s=0.5, itl_s=0.03)
    for bad in ("ttft", "speed=1", "ttft=-1", "ttft=nan"):
        with pytest.raises(InputError, match="no objective"):
            read_slo(bad)


def test_too_few_arms_and_unknown_names_are_errors(facts):
    with pytest.raises(InputError, match="two or more"):
        compare([arm()], facts)
    with pytest.raises(InputError, match="no figure"):
        compare([arm("a"), arm("b")], facts, by="speed")
    with pytest.raises(InputError, match="none of the six"):
        compare([arm("a"), arm("b")], facts, same=["clock"])


speeds = st.floats(0.2, 5)
arms_ = st.builds(
    lambda name, speed, jitter, launches, change, hold: arm(
        name, speed=speed, jitter=jitter, launches=launches,
        **(CHANGES | {"none": {}})[change],
        **({"validity": {"hold": ("x",)}} if hold else {}),
    ),
    st.sampled_from("abc"), speeds, st.floats(0, 0.2), st.integers(1, 4),
    st.sampled_from([*CHANGES, "none", "none", "none", "none", "none"]), st.booleans(),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(arms_, min_size=2, max_size=3))
def test_the_order_of_arms_never_matters_and_hold_never_wins(facts, arms):
    first = compare(arms, facts)
    for order in itertools.permutations(arms):
        assert compare(order, facts) == first
    for pair in first.pairs:
        mirrored = {"better": "worse", "worse": "better"}
        assert pair.seen_from(pair.second) == mirrored.get(pair.verdict, pair.verdict)
        unfair = any(i.status != "identical" for i in pair.fairness)
        if unfair:
            assert pair.verdict in ("not comparable", "hold")
    held = {a.name for a in first.arms if a.correctness == "failed"}
    assert first.winner not in held
    for pair in first.pairs:
        if held & {pair.first, pair.second}:
            assert pair.verdict == "hold"


@settings(max_examples=40, deadline=None)
@given(arms_)
def test_an_arm_against_itself_is_too_close(facts, one):
    pair = verdict(one, one, facts)
    assert pair.verdict in ("hold", "too close")
    renamed = one.model_copy(update={"arm": "z"})
    assert verdict(one, renamed, facts).verdict in ("hold", "too close")


def test_attribution_reads_the_pattern_and_lists_what_moved(facts):
    new = arm("b", decode=1.4, identity={"runtime_build": "0.28.0"})
    old = arm("a")
    found = attribute(old, new, facts, alike=True)
    assert found.pattern == "decode alone"
    assert found.decode_ratio == pytest.approx(1.4)
    assert "consistent with" in found.text
    names = {(m.kind, m.name) for m in found.causes}
    assert ("identity", "runtime build") in names
    # Known from the fact base: hybrid models cache prefixes by default since 0.28.0 only; for this
    # unnamed model, whatever moved between the two releases is listed with its source.
    assert all(m.source for m in found.causes if m.kind == "default")


@pytest.mark.parametrize(
    ("decode", "prefill", "pattern"),
    [(1.4, 1, "decode alone"), (1, 1.4, "prefill alone"), (1.4, 1.4, "both together"),
     (1.4, 0.6, "apart"), (1, 1, "neither moved")],
)  # fmt: skip
def test_patterns(facts, decode, prefill, pattern):
    found = attribute(arm("a"), arm("b", decode=decode, prefill=prefill), facts, alike=True)
    assert found.pattern == pattern
    assert not found.explained
    if pattern not in ("neither moved",):
        assert "unexplained" in found.text


def test_nothing_is_attributed_between_unlike_workloads(facts):
    pair = verdict(arm("a"), arm("b", decode=2, **CHANGES["lengths"]), facts)
    assert pair.attribution.pattern == "not comparable"


def test_one_thing_that_moved_is_named(facts):
    one = arm("b", decode=1.4, identity={"settings": {"draft": 4}})
    found = attribute(arm("a", identity={"settings": {"draft": 2}}), one, facts, alike=True)
    assert found.explained
    assert "setting draft: 2 -> 4" in found.text


def test_defaults_that_changed_between_releases_are_marked(facts):
    a = Identity(runtime="vLLM", runtime_build="0.19.1", model="Qwen/Qwen3.8-27B")
    b = a.model_copy(update={"runtime_build": "0.28.0"})
    found, _ = moved(a, b, facts)
    defaults = {m.name: (m.first, m.second) for m in found if m.kind == "default"}
    assert defaults["prefix_caching"] == ("no", "yes")
    given_ = a.model_copy(update={"settings": {"prefix_caching": False}})
    assert "prefix_caching" not in {m.name for m in moved(given_, b, facts)[0]}


def test_presets_are_named(facts):
    model = facts.models["Qwen/Qwen3.8-27B"]
    thinking = Protocol(sampling_settings={"temperature": 1.0, "top_p": 0.95, "top_k": 20})
    instruct = Protocol(sampling_settings={"temperature": 0.7, "top_p": 0.8})
    assert preset_name(thinking, model) == "thinking"
    assert preset_name(instruct, model) == "instruct"
    assert preset_name(Protocol(sampling_settings={"temperature": 0}), model) == "greedy"
    assert preset_name(Protocol(sampling_settings={"temperature": 0.3}), model) is None
    assert preset_name(Protocol(sampling_settings={"top_p": 0.95}), model) is None
    x, y = (
        arm(n, identity={"model": "Qwen/Qwen3.8-27B"},
            protocol={"sampling_settings": p.sampling_settings})
        for n, p in (("a", thinking), ("b", instruct))
    )  # fmt: skip
    part = next(i for i in fairness(x, y, facts) if i.id == "decoding").parts[0]
    assert part.first.startswith("thinking (temperature 1")
    assert part.second.startswith("instruct (temperature 0.7")


def test_names_are_looked_up_and_never_guessed(facts):
    assert model_of(Identity(model="qwen3.8-27b-q4.gguf"), facts) is None
    assert model_of(Identity(model="/models/Qwen3.8-27B"), facts).id == "Qwen/Qwen3.8-27B"
    gpu = Identity(gpu="NVIDIA GeForce RTX 5090", model="Qwen/Qwen3.8-27B")
    assert machine_of(gpu, facts).id == "rtx_5090"
    assert machine_of(Identity(gpu="NVIDIA"), facts) is None
    # The model alone does not tell the file, so there is no roofline.
    alone = arm("a", identity=gpu.model_dump(exclude={"origins"}, exclude_none=True) | {
        "weight_format": None})  # fmt: skip
    alone = alone.model_copy(
        update={"identity": alone.identity.model_copy(update={"weight_format": None}),
                "protocol": Protocol(concurrency=1)}
    )  # fmt: skip
    assert ceiling(alone, facts) is None


# The published campaign and the published article, printed by the product.


def by_name(name):
    return load_arms([name])[0]


def test_the_campaign_gives_its_conclusions(facts):
    found = compare_files(
        ["rtx5090-none", "rtx5090-turboquant-mtp3", "rtx5090-turboquant-mtp3-stock"], facts=facts
    )
    slow, fast = by_name("rtx5090-none"), by_name("rtx5090-turboquant-mtp3")
    assert slow.results.decode_tokens_per_s.median == 71.8
    assert fast.results.decode_tokens_per_s.median == 151.27
    assert [c.id for c in fast.validity.canaries_before] == [
        "exact output", "JSON", "tool call", "coding", "multi-turn"]  # fmt: skip
    assert found.pair("rtx5090-none", "rtx5090-turboquant-mtp3").verdict == "not comparable"
    stock = "rtx5090-turboquant-mtp3-stock"
    assert all(p.verdict == "hold" for p in found.pairs if stock in (p.first, p.second))
    assert found.winner is None
    text = describe(found)
    assert "correctness HOLD" in text


def test_the_campaigns_context_claims_and_discards_are_part_of_the_result(facts):
    text = describe(compare_files(["rtx5090-262k", "rtx5090-long-context", "rtx5090-quality"],
                                  facts=facts))  # fmt: skip
    assert "configured for 262,144 tokens of context, realised 42,624" in text
    assert "recall shown at 261,212 input tokens" in text
    assert text.count("fault of the controller") == 2
    assert len(by_name("rtx5090-long-context").validity.canaries_before) == 3


def test_the_article_gives_its_attribution(facts):
    found = compare_files(["gh200-0.19.1-draft2", "gh200-0.26.0-draft2"], facts=facts)
    why = found.pairs[0].attribution
    assert why.decode_ratio == pytest.approx(160.0 / 112.0)  # +43 %
    assert why.prefill_ratio == pytest.approx(6249 / 6266)
    assert why.pattern == "decode alone"
    assert {"runtime build", "torch", "toolkit"} <= {m.name for m in why.causes}
    assert not why.explained  # torch and CUDA moved with the engine
    plain = by_name("gh200-0.19.1")
    top = ceiling(plain, facts)
    # 4 TB/s over 30.8 GB is the article's 130 tokens/s; the fact base has its own two numbers.
    assert 110 < top.tokens_per_s < 140
    assert top.share == pytest.approx(63.1 / top.tokens_per_s)


def test_caching_costs_decode_and_the_control_is_kept(facts):
    off, on = by_name("gh200-0.26.0-draft2"), by_name("gh200-0.26.0-draft2-cache")
    assert off.validity.cache_probe.speedup == 1.01
    assert on.validity.cache_probe.control == 1.01
    found = compare([off, on], facts).pairs[0].attribution
    assert found.decode_ratio == pytest.approx(151.0 / 160.0)
    assert [m.name for m in found.causes] == ["enable_prefix_caching"]
    unexplained = attribute(by_name("gh200-0.26.0-draft4"), by_name("gh200-0.26.0-draft4-cache"),
                            facts, alike=True)  # fmt: skip
    assert unexplained.decode_ratio == pytest.approx(169.9 / 175.0)


def test_every_shipped_passport_is_reported_with_its_source():
    assert len(shipped()) == 12
    for name in shipped():
        passport = by_name(name)
        assert passport.arm == name
        assert passport.results.evidence.value == "reported"
        assert passport.source is not None
        assert passport.validity.valid is None


def test_frames_have_a_row_for_each_thing(facts):
    found = compare([arm("a"), arm("b", speed=2)], facts)
    assert set(fairness_frame(found)["item"]) == set(ITEMS.values())
    assert set(figure_frame(found)["told"]) <= {"better", "worse", "too close", "not comparable"}
    frame = passport_frame(arm())
    assert {"identity", "protocol", "validity", "results"} == set(frame["part"])
    row = frame[frame["item"] == "model_revision"].iloc[0]
    assert (row["value"], row["origin"]) == ("abc", "read from the engine: /test")
    assert list(sample_frame(arm())["ttft_s"]) == []
    json.loads(found.model_dump_json())


def test_hostile_text_is_escaped_in_the_terminal(facts):
    bad = "x\x1b[31m\u202e<script>"
    hostile = arm(bad, identity={"model": bad, "settings": {bad: bad}},
                  validity={"warnings": (bad,)})  # fmt: skip
    for text in (describe(compare([arm("a"), hostile], facts)), describe_passport(hostile)):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "\\x1b[31m" in text
