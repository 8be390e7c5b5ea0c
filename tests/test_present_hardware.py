"""Question 1 on the screen: the library's numbers, every unit named, nothing raw, nothing lost."""

import re

import pytest

from stackchoice import decide, load_scenario
from stackchoice.errors import InputError, StackchoiceError
from stackchoice.facts import Evidence
from stackchoice.fit import check_premises, launch, size
from stackchoice.fit.admissions import AdmissionRow
from stackchoice.present.admissions import QUOTIENT, admission_table, admissions_chart
from stackchoice.present.drawing import to_svg
from stackchoice.present.hardware import (
    admissions_table,
    cache_chart,
    ledger_table,
    openings_table,
    premises_chart,
    premises_table,
    sizing_table,
    speed_ledger_table,
)
from stackchoice.present.panels import PremisePanel, SizingPanel
from stackchoice.present.report import prepare
from stackchoice.score import score_public
from stackchoice.score.run import Line, Score, Tally

QWEN = "Qwen/Qwen3.8-27B"
HOSTILE = "<script>alert(1)</script></style><img src=x>"
GIB = 2**30


@pytest.fixture(scope="module")
def sizing(facts):
    """One byte a value, 262,144 tokens, and a card on which the full weights do not fit."""
    model = facts.models[QWEN]
    return size(
        model, model.artifact(QWEN), facts.machines["l4"], facts, context_tokens=262_144,
        kv_dtype="fp8", engines=["vllm"],
    )  # fmt: skip


@pytest.fixture(scope="module")
def fit(facts):
    return decide(load_scenario("json-chat"), facts).fit


def texts(chart):
    return re.findall(r"<text[^>]*>([^<]*)</text>", to_svg(chart))


def admitted(basis, live, **changes):
    return AdmissionRow(
        **{
            "engine": "engine", "release": "1.0", "settings": "as it comes", "basis": basis,
            "pool_bytes": 10, "live_sequences": live, "rule": "cells", "rule_text": "slots",
            "printed_pool_tokens": None, "evidence": Evidence.COMPUTED, **changes,
        }
    )  # fmt: skip


class TestAdmissions:
    def test_one_row_a_release_and_setting_one_column_a_budget(self):
        table = admission_table([
            admitted("a", 3, note="rounds"), admitted("a", None, engine="other", rule_text=""),
            admitted("a", 5, settings="prefix caching off"),
            admitted("b", 4, note="rounds"), admitted("b", None, engine="other", rule_text=""),
        ])  # fmt: skip
        assert table.bases == ["a", "b"]
        assert [r.title for r in table.rows] == [
            "engine 1.0, as it comes", "other 1.0, as it comes", "engine 1.0, prefix caching off",
        ]  # fmt: skip
        assert [c.live_sequences for c in table.rows[0].cells.values()] == [3, 4]
        assert list(table.rows[2].cells) == ["a"]
        assert table.rows[1].rule == "no sourced rule"

    def test_a_note_of_every_budget_is_said_once_and_shared(self):
        table = admission_table([
            admitted("a", 3, note="same"), admitted("b", 4, note="same"),
            admitted("a", 3, note="same", engine="twin"),
            admitted("b", 4, note="same", engine="twin"),
            admitted("a", 1, note="75", engine="odd"), admitted("b", 2, note="71", engine="odd"),
        ])  # fmt: skip
        assert table.notes == [
            (["engine 1.0, as it comes", "twin 1.0, as it comes"], [("same", [])]),
            (["odd 1.0, as it comes"], [("75", ["a"]), ("71", ["b"])]),
        ]

    def test_the_chart_holds_every_admission_beside_the_quotient(self, fit):
        chart, spoken = admissions_chart(fit)
        drawn = texts(chart)
        for row in fit.admissions:
            count = "unknown" if row.live_sequences is None else f"{row.live_sequences}"
            words = f"{row.refused}: memory alone" if row.refused else row.settings
            assert f"{row.engine} {row.release}, {words}" in spoken
            assert any(text.startswith(count) for text in drawn)
        assert "Plain quotient: 36 in stated budget, 33 in" in spoken
        assert QUOTIENT in to_svg(chart)

    def test_no_admission_is_a_sentence(self, fit):
        bare = fit.model_copy(update={"admissions": []})
        assert "No engine was asked" in admissions_table(bare).html
        assert to_svg(admissions_chart(bare)[0]).startswith("<svg")

    def test_the_report_shows_them_with_class_and_rule(self):
        html = prepare("json-chat").section("memory").html
        assert html.count("<caption>") == 2
        assert "The number does not travel" in html
        assert "prefix caching off" in html
        assert "the engine's own admission is not sourced" in html.replace("&#39;", "'")
        assert '<span class="badge badge-unknown">unknown<' in html


class TestCharts:
    def test_premises_are_192_32_and_8_gib(self, sizing):
        chart, spoken = premises_chart(sizing)
        per_head = 2 * 256 * 262_144
        expected = [64 * 24 * per_head, 64 * 4 * per_head, 16 * 4 * per_head]
        assert [size / GIB for size in expected] == [192, 32, 8]
        assert [p.bytes_at_context for p in sizing.premises] == expected
        for gib in ("192.00 GiB", "32.00 GiB", "8.00 GiB"):
            assert gib in spoken
        assert any(text.startswith("GiB") for text in texts(chart))
        assert spoken.count("this is the model") == 1

    def test_layer_kinds_say_how_they_grow(self, sizing, facts):
        chart, spoken = cache_chart(sizing)
        assert "full attention, 16 layers: 8.59 GB = 8.00 GiB; grows with every token" in spoken
        assert "the same at any length" in spoken
        assert any(text.startswith("GiB") for text in texts(chart))
        gemma = facts.models["google/gemma-3-27b-it"]
        windowed = size(gemma, gemma.artifacts[0], facts.machines["h100_sxm"], facts,
                        context_tokens=8192)  # fmt: skip
        assert "grows up to 1,024 tokens" in cache_chart(windowed)[1]


class TestTables:
    def test_cures_stand_in_order_with_their_two_effects_apart(self, sizing):
        html = sizing_table(sizing).html
        cures = sizing.cures["vllm"]
        places = [html.index(f'<th scope="row">{cure.kind}</th>') for cure in cures.cures]
        assert places == sorted(places)
        assert "speed is another effect" in html
        for cure in cures.cures:
            assert cure.gained_sequences == cure.live_sequences - cures.now.live_sequences
            assert cure.gained_tokens == cure.pool_tokens - cures.now.printed_pool_tokens
            assert cure.admission.evidence is Evidence.INFERRED  # rests on other models' starts
        assert all(what in html for what in cures.fell)

    def test_openings_show_the_headroom(self, facts):
        model = facts.models[QWEN]
        weights = model.artifact(QWEN)
        opened = [
            size(model, weights, facts.machines["l40s"], facts, context_tokens=8192, devices=n)
            for n in (1, 2)
        ]
        html = openings_table(opened).html
        alone, sharded = (o.rows[0] for o in opened)
        assert alone.pool_bytes == 48 * 10**9 - weights.weights_bytes.value - alone.workspace_bytes
        room = 96 * 10**9 - weights.weights_bytes.value
        assert sharded.pool_bytes == room - sharded.workspace_bytes
        assert (alone.fits, sharded.fits) == (False, True)
        assert f"{alone.pool_bytes / 10**9:,.2f} GB" in html
        assert f"{sharded.left_over_bytes / 10**9:,.2f} GB" in html

    def test_two_premises_and_what_would_decide(self, facts):
        html = premises_table(PremisePanel(facts).check).html
        assert "Both readings give the printed 448,448 tokens to the token" in html
        assert html.count("(preferred by source)") == 1
        assert "6.70x" in html

    def test_one_kind_of_layer_leaves_nothing_to_tell_apart(self, facts):
        asked = launch("vllm", "0.19.1", facts.models["meta-llama/Llama-3.1-8B"].config.value,
                       settings={"max_model_len": 8192}, facts=facts)  # fmt: skip
        check = check_premises(asked, printed_tokens=16 * 10_000)
        assert check.alike
        assert not check.would_decide
        assert "nothing to tell apart" in premises_table(check).html

    def test_figures_that_fit_nothing_or_contradict_each_other_say_so(self, facts):
        panel = PremisePanel(facts, printed_tokens="448449")
        assert "No premise gives" in panel.view.value
        panel.set("printed_tokens", "448448")
        panel.set("concurrency", "6.70")
        assert "Only one premise stands" in panel.view.value
        panel.set("concurrency", "3.00")
        assert "contradicts" in panel.view.value

    def test_the_ledger_counts_what_the_library_counts(self, facts):
        score = score_public(["kv_bytes_per_token", "fits"], facts)
        assert set(score.by_ask) == {"kv_bytes_per_token", "fits"}
        html = ledger_table(score).html
        for ask, tally in score.by_ask.items():
            row = html[html.index(ask.replace("_", " ")) :].split("</tr>")[0]
            assert f'<td class="num">{tally.right}</td>' in row

    def test_the_speed_ledger_is_quoted_as_it_is_kept(self, facts):
        html = speed_ledger_table(facts).html
        assert facts.speed_scores[0].source.title in html
        for score in facts.speed_scores:
            cells = f"{score.coverage:.1%}</td>", f"{score.median_high_over_low:.2f}</td>"
            assert all(cell in html for cell in cells), score.ask


def test_hostile_text_is_escaped(facts, sizing, fit):
    named = sizing.model_copy(
        update={"model": HOSTILE, "machine": HOSTILE, "artifact": HOSTILE, "note": HOSTILE}
    )
    bad = [a.model_copy(update={"engine": HOSTILE, "basis": "stated budget", "note": HOSTILE})
           for a in fit.admissions[:1]]  # fmt: skip
    check = PremisePanel(facts).check.model_copy(update={"preferred_why": HOSTILE})
    score = Score(lines=[Line(id=HOSTILE, ask="fits", reason=HOSTILE)], by_ask={HOSTILE: Tally()},
                  outside=[HOSTILE])  # fmt: skip
    for section in (
        sizing_table(named), openings_table([named]), premises_table(check), ledger_table(score),
        admissions_table(fit.model_copy(update={"admissions": bad})),
    ):  # fmt: skip
        assert "<script" not in section.html
        assert "<img" not in section.html
        assert section.html.count("</style>") == 1


class TestSizingPanel:
    @pytest.fixture
    def panel(self, facts):
        return SizingPanel(facts)

    def test_an_untouched_panel_is_one_call(self, panel, facts):
        model = facts.models[QWEN]
        expected = size(model, model.artifacts[0], facts.machines["h100_sxm"], facts,
                        context_tokens=8192, engines=["vllm"])  # fmt: skip
        assert panel.sizing == expected
        assert panel.view.value == sizing_table(expected).bare

    def test_every_field_moves_the_result(self, panel):
        panel.fields["machine"].value = "l40s"
        panel.fields["devices"].value = "2"
        panel.fields["context_tokens"].value = "262144"
        panel.fields["cache_type"].value = "fp8"
        panel.fields["engine"].value = "none"
        assert panel.error == ""
        sizing = panel.sizing
        assert (sizing.machine, sizing.devices, sizing.kv_dtype) == ("L40S", 2, "fp8")
        assert (sizing.context_tokens, sizing.cures) == (262_144, {})

    def test_another_model_brings_its_own_weights(self, panel, facts):
        panel.fields["model"].value = "openai/gpt-oss-20b"
        assert panel.error == ""
        ids = [a.id for a in facts.models["openai/gpt-oss-20b"].artifacts]
        assert [value for _, value in panel.fields["artifact"].options] == ids
        assert panel.fields["artifact"].value == ids[0]
        assert panel.sizing.model == "openai/gpt-oss-20b"

    @pytest.mark.parametrize(
        ("field", "text"),
        [
            ("context_tokens", "8k"), ("context_tokens", ""), ("context_tokens", "-1"),
            ("context_tokens", "9" * 30), ("devices", "0"), ("devices", "1.5"),
            ("devices", "<img src=x>"), ("model", "no such model"), ("devices", "1,000"),
            ("context_tokens", "8.192"), ("devices", "²"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_is_one_line_and_the_last_valid_stays(self, panel, field, text):
        before = panel.sizing, panel.values, panel.view.value
        panel.set(field, text)
        assert panel.error
        assert "\n" not in panel.error
        assert "<img" not in panel.form.places[field].value
        assert before == (panel.sizing, panel.values, panel.view.value)
        assert panel.fields[field].value == panel.values[field]
        panel.set("devices", "2")
        assert (panel.error, panel.message.value) == ("", "")

    def test_no_such_field(self, panel):
        with pytest.raises(InputError, match="no field 'colour'"):
            panel.set("colour", "red")

    def test_every_model_can_be_shown(self, facts):
        panel = SizingPanel(facts, engine="none")
        for model in facts.models:
            panel.set("model", model)
            assert panel.error == ""
            assert panel.sizing.model == model


class TestPremisePanel:
    @pytest.fixture
    def panel(self, facts):
        return PremisePanel(facts)

    def test_it_opens_with_the_figures_that_prove_too_little(self, panel):
        assert panel.check.printed_tokens == 286 * 1568 == 1145 // 4 * 1568
        assert panel.check.reproducing == ["all_layers", "grouped_blocks_over_groups"]
        assert not panel.check.separable

    def test_a_printed_count_has_commas_and_the_engine_its_name(self, panel):
        panel.set("printed_tokens", "448,448")
        assert (panel.error, panel.check.printed_tokens) == ("", 448_448)
        assert panel.check.preferred_why.startswith("vLLM 0.")

    def test_concurrency_decides(self, panel):
        panel.fields["concurrency"].value = "6.70"
        assert panel.check.separable
        assert panel.check.preferred == "grouped_blocks_over_groups"

    @pytest.mark.parametrize(
        ("field", "text", "word"),
        [
            ("printed_tokens", "lots", "'lots'"), ("printed_tokens", "0", "'0'"),
            ("printed_tokens", "9" * 40, "from 1 to"), ("memory_gib", "nan", "'nan'"),
            ("memory_gib", "inf", "'inf'"), ("memory_gib", "-3", "'-3'"),
            ("release", "newest", "'newest'"), ("release", "", "''"),
            ("engine", "sglang", "SGLang"), ("devices", "1,000", "1000 or 1"),
            ("printed_tokens", "448,44", "no whole number"), ("context_tokens", "long", "'long'"),
            ("model", "google/gemma-3-27b-it", "max_num_batched_tokens"),
            ("cache_type", "q4_0", "q4_0"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_is_one_line_and_the_last_valid_stays(self, panel, field, text, word):
        before = panel.check, panel.values
        panel.set(field, text)
        assert word in panel.error
        assert "\n" not in panel.error
        assert before == (panel.check, panel.values)
        chosen = field in ("engine", "model", "cache_type")
        assert panel.fields[field].value == (text if chosen else panel.values[field])

    def test_memory_may_be_unknown(self, panel):
        panel.set("memory_gib", "not known")
        assert panel.error == ""
        assert any("Available KV cache memory" in line for line in panel.check.would_decide)

    def test_every_model_is_answered_or_refused_in_one_line(self, panel, facts):
        for model in facts.models:
            panel.set("model", model)
            assert panel.error == "" or "\n" not in panel.error


def test_a_size_of_nothing_is_an_error(facts):
    model = facts.models[QWEN]
    with pytest.raises(StackchoiceError, match="less than one"):
        size(model, model.artifacts[0], facts.machines["l4"], facts, context_tokens=0)
