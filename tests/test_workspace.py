"""What engines take beside weights and cache, held against starts that printed it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackchoice import load_facts
from stackchoice.facts import Datum, Evidence
from stackchoice.fit.admission import launch
from stackchoice.fit.memory import GB, GIB, fit_row, usable_bytes
from stackchoice.fit.workspace import RULES, Start, said, workspace

LLAMA, QWEN = "meta-llama/Llama-3.1-8B", "Qwen/Qwen3.8-27B"
FACTS = load_facts()


def start(
    engine, release, machine, model=LLAMA, *, tp=1, weights=15.0, images=None, gib=None, **own
):
    card = FACTS.machines[machine]
    if gib is not None:
        read = Datum[float](value=gib, evidence=Evidence.MEASURED, source=card.memory_gb.source)
        card = card.model_copy(update={"memory_gib_reported": read})
    asked = launch(
        engine, release, FACTS.models[model].config.value, tp=tp, settings=own, facts=FACTS
    )
    return Start(asked, card, tp, weights, lambda: images)


@pytest.mark.parametrize(
    ("release", "machine", "gib", "share", "tp", "weights", "cache"),
    [
        ("0.19.0", "h100_sxm", 79.19, 0.95, 1, 14.99, 58.11),
        ("0.19.0", "h100_sxm", 79.19, 0.95, 2, 7.51, 63.76),
        ("0.19.0", "h100_sxm", 79.19, 0.95, 4, 3.77, 67.44),
        ("0.11.0", "h100_sxm", 79.18, 0.90, 1, 14.99, 51.38),
        # Not among the rows, and of releases whose defaults nobody read: vLLM pull 10511 (2024-12),
        # and two start logs of 2025 on an H100 and an A10G.
        ("0.6.5", "h100_sxm", 79.22, 0.90, 1, 14.96, 53.29),
        ("0.6.5", "h100_sxm", 79.22, 0.90, 2, 7.48, 58.97),
        ("0.6.6", "h100_sxm", 79.14, 0.90, 1, 14.99, 54.93),
        ("0.7.3", "a10g", 22.07, 0.90, 1, 14.99, 4.60),
        # Not among the rows: a start of 0.31.0 in October 2026, at the release's own share.
        ("0.31.0", "a100_80_sxm", 79.25, None, 1, 15.0, 56.21),
    ],
)
def test_a_printed_pool_lies_between_the_ends(release, machine, gib, share, tp, weights, cache):
    own = {} if share is None else {"gpu_memory_utilization": share}
    taken = workspace(start("vllm", release, machine, tp=tp, weights=weights, gib=gib, **own))
    pools = [gib - weights - end / tp / GIB for end in (taken.high, taken.low)]
    assert pools[0] <= cache <= pools[1]
    assert taken.evidence is Evidence.INFERRED


def test_the_sampler_of_many_sequences_is_what_costs():
    """At most 9.96 copies of 4 B for each of 1,024 sequences and 128,256 words, or the layers."""
    many = start("vllm", "0.33.0", "h100_sxm").peak
    few = start("vllm", "0.33.0", "h100_sxm", max_num_seqs=16).peak
    assert many[1] == pytest.approx(9.96 * GIB / (1024 * 262_208) * 1024 * 128_256 / GIB, rel=1e-3)
    assert few == (0.77, 2.92)
    assert start("vllm", "0.33.0", "l40s").peak[0] == pytest.approx(0.77 / 4)


def test_the_largest_image_is_encoded_however_few_tokens_a_step_takes():
    """2.92 GiB is the most of the layers-bound peaks; of the tokens alone it would be 1/4."""
    none, maybe = (
        start("vllm", "0.33.0", "rtx_5090", QWEN, images=images, max_num_seqs=1).peak
        for images in (False, None)
    )
    assert none == (0.77 / 4, 2.92 / 4)
    assert maybe == (0.77 / 4, 2.92)
    assert start("vllm", "0.33.0", "rtx_5090", images=True, max_num_seqs=1).peak == none


def test_graphs_count_from_the_release_that_holds_them_inside():
    graphs = 1.57 * GIB
    before, after = (
        workspace(start("vllm", release, "h100_sxm", gpu_memory_utilization=0.9))
        for release in ("0.19.1", "0.20.2")
    )
    assert after.high - before.high == pytest.approx(graphs, abs=2)


def test_the_reserve_of_sglang_is_computed():
    """Of what the driver's context leaves, 0.51 GiB on one device: 1 - share stays free."""
    taken = workspace(start("sglang", "0.5.23", "h100_sxm", gib=79.18))
    memory = 79.18 * 1024
    share = round((memory - (512 + 8192 * 1.5 + 128 + 512 + 58 * 8)) / memory, 3)
    assert taken.evidence is Evidence.COMPUTED
    assert taken.low == taken.high == pytest.approx((79.18 - share * (79.18 - 0.51)) * GIB, abs=2)


@pytest.mark.parametrize(("images", "wide"), [(None, True), (True, False), (False, False)])
def test_a_vision_tower_makes_it_a_range_where_nobody_said_images(images, wide):
    taken = workspace(start("sglang", "0.5.23", "h100_sxm", QWEN, images=images))
    assert (taken.low < taken.high) is wide


@pytest.mark.parametrize(("tp", "gib"), [(64, 11.0), (1, 0.1)])
def test_a_reserve_above_the_memory_takes_all_of_it(tp, gib):
    """For 64 devices the reserve alone is above 12 GB; the driver's context is above 0.1 GiB."""
    taken = workspace(start("sglang", "0.5.23", "h100_sxm", tp=tp, gib=gib))
    assert taken.low == taken.value == taken.high == round(gib * GIB) * tp


def test_a_share_of_the_rest_falls_with_the_weights():
    light, heavy = (
        workspace(start("tensorrt-llm", None, "h100_sxm", weights=w)).value for w in (10.0, 60.0)
    )
    assert light - heavy == pytest.approx(0.1 * 50 * GIB, abs=2)


def test_an_engine_without_a_rule_gets_the_widest_and_says_so():
    taken = workspace(start("lm-studio", None, "rtx_5090"))
    others = [workspace(start(e, None, "rtx_5090")) for e in
              ("vllm", "sglang", "llama.cpp", "max", "mlx-lm", "tensorrt-llm")]  # fmt: skip
    assert taken.low == min(o.low for o in others)
    assert taken.high == max(o.high for o in others)
    assert "no rule of lm-studio" in said(taken)


def test_starts_on_apple_silicon_say_nothing_of_a_cuda_card():
    taken = workspace(start("mlx-lm", None, "h100_sxm"))
    assert taken.note == "no start of mlx-lm on cuda: the widest of the others"
    assert taken.high > workspace(start("vllm", None, "h100_sxm")).low
    assert workspace(start("mlx-lm", None, "m4_max_128")).high == round(5.36 * GIB)


def test_every_rule_of_the_data_is_followed_and_every_row_is_an_engine_s():
    named = {f.value.value for f in FACTS.memory.allocators if f.key == "budget"}
    assert named == set(RULES)
    assert {row.engine for row in FACTS.memory.workspaces} <= set(FACTS.engines)
    assert all(row.source.url for row in FACTS.memory.workspaces)


def test_what_fits_at_the_least_alone_is_counted_apart():
    card = FACTS.machines["h100_sxm"]
    taken = workspace(start("vllm", None, "h100_sxm"))
    weights = FACTS.models[QWEN].artifacts[0].weights_bytes
    row = fit_row("b", memory_bytes=usable_bytes(card, 1), weights_bytes=weights,
                  workspace_bytes=taken, bytes_per_sequence=GB)  # fmt: skip
    room = usable_bytes(card, 1).value - weights.value
    assert row.live_sequences == (room - taken.high) // GB
    assert row.most_sequences == (room - taken.low) // GB
    assert row.pool_with(taken, least=True) == room - taken.low


@given(
    engine=st.sampled_from(sorted(FACTS.engines)), machine=st.sampled_from(sorted(FACTS.machines)),
    model=st.sampled_from(sorted(FACTS.models)), tp=st.sampled_from([1, 2, 8, 64]),
    end=st.floats(0, 1),
)  # fmt: skip
@settings(deadline=None, max_examples=60)
def test_the_ends_are_in_order_and_below_the_memory_there_is(engine, machine, model, tp, end):
    taken = workspace(start(engine, None, machine, model, tp=tp), end=end)
    if taken.value is None:
        assert FACTS.machines[machine].memory_gb.value is None
        return
    assert 0 <= taken.low <= taken.value <= taken.high
    assert taken.high <= usable_bytes(FACTS.machines[machine], tp).value + tp
