"""Request logs: every format that proxies and traces write, measured, and nothing quoted."""

import contextlib
import csv
import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stackchoice.errors import StackchoiceError, TrafficError
from stackchoice.present.traffictext import describe
from stackchoice.traffic import measure_log, rows
from stackchoice.traffic.reuse import Reuse
from stackchoice.traffic.section import workload_inputs

SECRET = "quetzalcoatl-42-hunter2"
START = datetime(2026, 11, 2, 8, tzinfo=UTC)


@pytest.fixture
def measured(facts, tmp_path):
    def measure(rows, name="log.jsonl", **options):
        path = tmp_path / name
        if name.endswith(".csv"):
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        else:
            lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return measure_log(path, facts, **options)

    return measure


def at(seconds):
    return (START + timedelta(seconds=seconds)).isoformat()


def litellm(seconds, text, *, taken=None, made=20, took=4.0, **more):
    """One line as LiteLLM's logging payload has it, bodies included."""
    taken = len(text) // 4 if taken is None else taken
    start = (START + timedelta(seconds=seconds)).timestamp()
    return {
        "id": f"chatcmpl-{seconds}-{len(text)}", "status": "success", "startTime": start,
        "endTime": start + took, "completionStartTime": start + 0.5, "prompt_tokens": taken,
        "completion_tokens": made, "model": "m", "end_user": more.pop("user", "u"),
        "messages": [{"role": "system", "content": "policy " * 200}, {"role": "user",
                     "content": text}],
        "model_parameters": more,
        "response": {"choices": [{"message": {"content": "ok"}}], "usage": {
            "prompt_tokens": taken, "completion_tokens": made,
            "prompt_tokens_details": {"cached_tokens": taken // 2},
            "completion_tokens_details": {"reasoning_tokens": made // 4},
        }},
    }  # fmt: skip


class TestFormats:
    def test_litellm_payloads(self, measured):
        rows = [litellm(60 * i, f"question {i} " * 50, taken=500) for i in range(40)]
        found = measured(rows)
        assert found.requests == 40
        assert found.input_tokens.mean == 500
        assert found.latency_s["p50"] == 4
        assert found.ttft_s["mean"] == pytest.approx(0.5)
        assert found.seller_cached_share == pytest.approx(0.5)
        assert found.reasoning_share_of_output == pytest.approx(0.25)
        assert found.shares["thinking"] == 1
        assert found.shares["json_schema"] == found.shares["tools"] == 0

    def test_openai_bodies_show_schema_tools_and_images(self, measured):
        def row(i, **request):
            return {
                "timestamp": at(i),
                "request": {"messages": [{"role": "user", "content": "x" * 400}], **request},
                "response": {"status_code": 200, "body": {"usage": {"prompt_tokens": 90,
                                                                    "completion_tokens": 9}}},
            }  # fmt: skip

        image = [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]
        found = measured(
            [
                row(0, response_format={"type": "json_schema", "json_schema": {"name": "s"}}),
                row(1, response_format={"type": "text"}),
                row(2, tools=[{"type": "function", "function": {"name": "f"}}]),
                {**row(3), "request": {"messages": [{"role": "user", "content": image}]}},
            ]
        )
        assert found.shares["json_schema"] == found.shares["tools"] == 0.25
        assert found.shares["images"] == 0.25

    def test_json_kept_as_text_in_a_table(self, measured):
        """Spend logs exported as CSV keep bodies as JSON in a cell."""
        rows = [
            {"request_id": i, "startTime": at(i), "endTime": at(i + 3), "prompt_tokens": 50,
             "completion_tokens": 5,
             "messages": json.dumps([{"role": "user", "content": "y" * 300}]),
             "proxy_server_request": json.dumps({"response_format": {"type": "json_object"}})}
            for i in range(5)
        ]  # fmt: skip
        found = measured(rows, "spend.csv")
        assert found.shares["json_schema"] == 1
        assert found.latency_s["mean"] == 3

    def test_an_azure_trace(self, measured):
        rows = [
            {"TIMESTAMP": "2023-11-16 18:15:46.6805900", "ContextTokens": 374,
             "GeneratedTokens": 44},
            {"TIMESTAMP": "2023-11-16 18:15:50.9951690", "ContextTokens": 396,
             "GeneratedTokens": 109},
        ]  # fmt: skip
        found = measured(rows, "azure.csv")
        assert found.span_s == pytest.approx(4.314579, abs=1e-5)
        assert any("without a zone" in note for note in found.notes)

    def test_a_mooncake_trace_counts_milliseconds_and_blocks_of_512(self, measured):
        """The two rows of its README share the first 12 ids: 12 * 512 = 6,144 tokens."""
        first = [*range(46, 58), 2353, 2354]
        rows = [
            {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": first},
            {"timestamp": 30535, "input_length": 6472, "output_length": 26,
             "hash_ids": [*range(46, 58), 2366]},
        ]  # fmt: skip
        found = measured(rows)
        assert found.span_s == pytest.approx(3.053)
        assert found.reused.share == pytest.approx(6144 / (6955 + 6472))

    def test_the_same_columns_with_a_session_count_seconds(self, measured):
        """RAGPulse names its columns like Mooncake and counts seconds."""
        row = {"input_length": 3112, "output_length": 192, "hash_ids": {"sys_prompt": [1]},
               "session_id": "s"}  # fmt: skip
        found = measured([{"timestamp": "82", **row}, {"timestamp": "93", **row}])
        assert found.span_s == 11

    def test_burstgpt(self, measured):
        row = {"Model": "ChatGPT", "Total tokens": 490, "Log Type": "Conversation log"}
        rows = [
            {"Timestamp": 5, "Request tokens": 472, "Response tokens": 18, **row},
            {"Timestamp": 45, "Request tokens": 1087, "Response tokens": 230, **row},
            {"Timestamp": 60, "Request tokens": 0, "Response tokens": 0, **row},
        ]  # fmt: skip
        found = measured(rows, "b.csv")
        assert (found.requests, found.span_s) == (2, 40)
        assert found.skipped[0].rows == 1
        assert found.skipped[0].first_line == 4

    def test_a_benchmark_result_of_lists(self, facts, tmp_path):
        path = tmp_path / "bench.json"
        path.write_text(json.dumps({
            "backend": "vllm", "input_lens": [100, 200], "output_lens": [10, 20],
            "ttfts": [0.2, 0.4], "itls": [[0.1] * 9, [0.1] * 19],
        }, indent=2), encoding="utf-8")  # fmt: skip
        found = measure_log(path, facts)
        assert found.input_tokens.mean == 150
        assert found.latency_s["p50"] == pytest.approx(1.1)
        assert found.arrival_per_s is None

    @pytest.mark.parametrize("wrap", ["array", "pretty", "gzip", "bom", "crlf"])
    def test_however_json_is_laid_out(self, facts, tmp_path, wrap):
        rows = [{"ts": at(i), "input_tokens": 10, "output_tokens": 2} for i in range(7)]
        path = tmp_path / "log.json"
        text = "\n".join(json.dumps(r) for r in rows)
        if wrap == "array":
            text = json.dumps(rows)
        elif wrap == "pretty":
            text = "\n".join(json.dumps(r, indent=2) for r in rows)
        elif wrap == "bom":
            text = "\ufeff" + text
        raw = text.replace("\n", "\r\n").encode() if wrap == "crlf" else text.encode()
        path.write_bytes(gzip.compress(raw) if wrap == "gzip" else raw)
        assert measure_log(path, facts).requests == 7

    def test_a_letter_may_lie_across_two_chunks(self, tmp_path, monkeypatch):
        """It was decoded in two halves, each of which is no letter."""
        monkeypatch.setattr(rows, "CHUNK", 5)
        path = tmp_path / "log.json"
        path.write_text('[{"user": "ääääääää"},\n {"user": "öö"}]', encoding="utf-8")
        assert [row["user"] for _, row in rows.read_rows(path)] == ["ääääääää", "öö"]

    @pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
    def test_however_a_table_is_separated(self, facts, tmp_path, mark):
        path = tmp_path / "log.csv"
        path.write_text(f"time{mark}Prompt Tokens{mark}completion-tokens\n{at(0)}{mark}7{mark}3\n",
                        encoding="utf-8")  # fmt: skip
        assert measure_log(path, facts).input_tokens.mean == 7

    def test_anthropic_counts_its_cache_beside_the_input(self, measured):
        usage = {"input_tokens": 100, "cache_read_input_tokens": 800,
                 "cache_creation_input_tokens": 100, "output_tokens": 5}  # fmt: skip
        assert measured([{"time": at(0), "usage": usage}]).input_tokens.mean == 1000

    def test_a_multimodal_trace_counts_its_images(self, measured):
        rows = [{"TIMESTAMP": at(i), "NumImages": i % 2, "ContextTokens": 900,
                 "GeneratedTokens": 9} for i in range(10)]  # fmt: skip
        assert measured(rows, "mm.csv").shares["images"] == 0.5

    @pytest.mark.parametrize("row", [
        {"start_time": at(0), "prompt_tokens": 7, "completion_tokens": 3},
        {"createdAt": at(0), "promptTokens": 7, "completionTokens": 3},
        {"created_at": at(0), "tokens_prompt": "7", "tokens_completion": "3"},
        {"@timestamp": at(0), "attributes": {"gen_ai.usage.input_tokens": 7,
                                             "gen_ai.usage.output_tokens": 3}},
        {"startTime": at(0), "usage": {"input": 7, "output": 3}},
        {"id": "b", "custom_id": "c", "response": {"status_code": 200, "body": {
            "created": 1_793_606_400, "usage": {"prompt_tokens": 7, "completion_tokens": 3}}}},
        {"kwargs": {"standard_logging_object": {"startTime": 1_793_606_400.5,
                                                "prompt_tokens": 7, "completion_tokens": 3}}},
    ])  # fmt: skip
    def test_however_others_name_and_nest_it(self, measured, row):
        found = measured([row])
        assert (found.input_tokens.mean, found.output_tokens.mean) == (7, 3)
        assert found.first is not None


class TestTimes:
    @pytest.mark.parametrize("per", [1, 1e3, 1e6, 1e9])
    def test_epochs_are_told_by_their_size(self, measured, per):
        rows = [
            {"timestamp": int((START.timestamp() + s) * per), "input_tokens": 1, "output_tokens": 1}
            for s in (0, 90)
        ]
        found = measured(rows)
        assert found.span_s == pytest.approx(90)
        assert found.first == "2026-11-02 08:00 UTC"

    def test_a_bare_small_number_is_of_no_known_unit(self, measured):
        rows = [{"t0": 1, "time": 10 * i, "input_tokens": 1, "output_tokens": 1} for i in range(3)]
        found = measured(rows)
        assert found.arrival_per_s is None
        assert any("--time-unit" in note for note in found.notes)
        assert measured(rows, time_unit="s").span_s == 20
        assert measured(rows, time_unit="ms").span_s == pytest.approx(0.02)

    @pytest.mark.parametrize(
        ("dates", "days"),
        [(["11/11/2026", "12/11/2026", "13/11/2026"], 2), (["11/12/2026", "11/13/2026"], 1),
         (["11.11.2026", "12.11.2026"], 1)],
    )  # fmt: skip
    def test_one_date_tells_how_all_are_read(self, measured, dates, days):
        rows = [{"created at": f"{d} 09:00:00", "prompt tokens": 9, "completion tokens": 9}
                for d in dates]  # fmt: skip
        assert measured(rows, "log.csv").span_s == days * 86_400

    def test_dates_that_may_be_two_days_are_unknown_and_lengths_are_not(self, measured):
        """Two days of November, or the second of November and of December."""
        rows = [{"time": f"{d} 9:00 PM", "prompt tokens": 9, "completion tokens": 9}
                for d in ("11/02/2026", "12/02/2026")]  # fmt: skip
        found = measured(rows, "log.csv")
        assert (found.span_s, found.input_tokens.mean) == (None, 9)
        assert any("may be two days" in note for note in found.notes)
        same = [{**row, "time": "11/11/2026 9:00 PM"} for row in rows]
        assert measured(same, "log.csv").first is not None

    def test_an_export_of_openrouter(self, measured):
        row = {"generation_id": "g", "created_at": "2026-04-13T10:00:00Z", "tokens_prompt": 100,
               "tokens_completion": 50, "tokens_reasoning": 20, "tokens_cached": 25}  # fmt: skip
        found = measured([row], "log.csv")
        assert (found.seller_cached_share, found.reasoning_share_of_output) == (0.25, 0.4)

    def test_zones_are_brought_together(self, measured):
        stamps = ["2026-11-02T09:00:00+01:00", "2026-11-02T08:10:00Z", "2026-11-02 08:20:00"]
        found = measured([{"ts": t, "input_tokens": 1, "output_tokens": 1} for t in stamps])
        assert found.span_s == 1200
        assert any("beside others with one" in note for note in found.notes)

    def test_order_does_not_matter_to_arrivals_and_is_said(self, measured):
        rows = [{"ts": at(i * 7), "input_tokens": 1, "output_tokens": 1} for i in range(50)]
        found, mixed = measured(rows), measured(rows[::-1])
        assert found.peak == mixed.peak
        assert any("out of order" in note for note in mixed.notes)

    def test_littles_law(self, measured):
        """One request each 2 s that takes 4 s: two in flight."""
        rows = [{"start_time": at(2 * i), "end_time": at(2 * i + 4), "input_tokens": 1,
                 "output_tokens": 1} for i in range(100)]  # fmt: skip
        assert measured(rows).concurrency == pytest.approx(2)

    def test_a_latency_without_a_unit_is_seconds_only_where_it_can_be_nothing_else(self, measured):
        def rows(took):
            return [{"ts": at(i), "latency": took, "input_tokens": 1, "output_tokens": 99}
                    for i in range(9)]  # fmt: skip

        assert measured(rows(4.2)).latency_s["p50"] == pytest.approx(4.2)
        found = measured(rows(4200))
        assert found.latency_s is None
        assert found.concurrency is None
        assert measured(rows(4200), time_unit="ms").latency_s["p50"] == pytest.approx(4.2)


class TestVolume:
    def day(self, days, hours, each=60):
        """``each`` requests an hour in the working hours, twice that in the last one."""
        return [
            {"ts": (START + timedelta(days=d, hours=h, seconds=3600 * i / n)).isoformat(),
             "input_tokens": 1000, "output_tokens": 100}
            for d in range(days) for h in range(hours)
            for n in [each * (2 if h == hours - 1 else 1)] for i in range(n)
        ]  # fmt: skip

    def test_a_fortnight_of_working_hours(self, measured):
        found = measured(self.day(14, 8))
        assert found.active_days == 14
        assert found.active_hours_per_day == pytest.approx(8)
        assert found.requests_per_day == pytest.approx(540)
        low, high = found.requests_per_day_range
        assert low <= 540 <= high < 570
        assert found.mtok_per_month == pytest.approx(540 * 365.25 / 12 * 1100 / 1e6)
        # 540 requests over 8 hours are 1.125 a minute; the last hour has 2 a minute.
        assert found.peak.factor == pytest.approx(2 * 60 / 67.5, rel=0.1)

    def test_the_window_is_as_long_as_the_traffic_needs(self, measured):
        assert measured(self.day(2, 8, each=60)).peak.window_s == 900
        assert measured(self.day(2, 8, each=3600)).peak.window_s == 60
        assert measured(self.day(2, 8), window_s=60).peak.window_s == 60

    def test_less_than_a_day_gives_both_ends_and_no_peak_factor(self, measured):
        found = measured(self.day(1, 2))
        assert found.peak.factor is None
        assert "less than a day" in found.peak.why
        assert found.requests_per_day is None
        low, high = found.requests_per_day_range
        assert low == 180
        assert high == pytest.approx(180 * 12, rel=0.02)
        inputs = workload_inputs(found)
        assert "value" not in inputs["requests_per_day"]
        assert "peak_factor" not in inputs

    def test_too_few_requests_have_no_peak(self, measured):
        rows = [{"ts": at(i * 4000), "input_tokens": 1, "output_tokens": 1} for i in range(40)]
        assert measured(rows).peak.factor is None

    def test_distributions_are_exact(self, measured):
        rows = [{"ts": at(i), "input_tokens": i, "output_tokens": 1} for i in range(1, 101)]
        found = measured(rows).input_tokens
        assert (found.p10, found.p50, found.p90, found.p95, found.max) == (10, 50, 90, 95, 100)
        assert found.mean == 50.5


class TestReuse:
    def test_a_system_prompt_shared_by_users(self, measured):
        """1,600 characters of policy, then something of one's own: each user's first asks pay."""
        rows = [litellm(60 * i, f"{i:04d}" * 100, taken=500, user=f"u{i}") for i in range(50)]
        found = measured(rows).reused
        shared = (7 + 1400 + 6) // 64 * 64 / (7 + 1400 + 6 + 400)
        assert found.across_share == pytest.approx(shared * 49 / 50, rel=0.02)
        assert found.within_share == 0

    def test_a_conversation_is_resent_within_its_session(self, measured):
        rows, said = [], ""
        for turn in range(6):
            said += f"turn {turn} " * 80
            rows.append({"ts": at(turn), "session_id": "s", "prompt": said,
                         "input_tokens": len(said) // 4, "output_tokens": 5})  # fmt: skip
        found = measured(rows)
        assert found.turns_per_session == 6
        assert found.reused.across_share == 0
        # of 1 + 2 + ... + 6 equal parts, 0 + 1 + ... + 5 came before
        assert found.reused.within_share == pytest.approx(15 / 21, rel=0.05)

    def test_what_is_written_gives_back_the_prefill_that_was_measured(self, measured):
        rows, said = [], {}
        for turn in range(8):
            for user in range(3):
                said[user] = said.get(user, "") + f"user {user} says {turn} " * 40
                rows.append({"ts": at(turn), "user": f"u{user}", "prompt": said[user],
                             "input_tokens": len(said[user]) // 4, "output_tokens": 5})  # fmt: skip
        found = measured(rows)
        inputs = workload_inputs(found)
        turns = inputs["turns_per_session"]["value"] if "turns_per_session" in inputs else 1
        shared = inputs["shared_prefix_tokens"]["value"] / found.input_tokens.mean
        resent = inputs.get("resent_share", {"value": 0})["value"] * (turns - 1) / turns
        assert (1 - shared) * (1 - resent) == pytest.approx(1 - found.reused.share, abs=0.02)

    def test_a_redacted_prompt_is_none(self, measured):
        rows = [{"ts": at(i), "messages": "redacted-by-litellm", "input_tokens": 5,
                 "output_tokens": 5} for i in range(20)]  # fmt: skip
        assert measured(rows).reused is None
        half = [{"ts": at(i), "prompt": "cut short…", "input_tokens": 900, "output_tokens": 5}
                for i in range(20)]  # fmt: skip
        assert measured(half).reused is None

    def test_memory_is_bounded_and_what_was_forgotten_is_said(self):
        reuse = Reuse(most_blocks=100)
        for i in range(50):
            reuse.add(reuse.hash_blocks(range(i * 10, i * 10 + 10)), session=i)
        assert len(reuse._seen) == 100
        assert reuse.forgotten == 400

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=20))
    def test_a_prompt_is_never_reused_beyond_itself(self, picks):
        reuse = Reuse()
        for pick in picks:
            blocks = list(reuse.hash_blocks(range(pick * 3)))
            shared, own = reuse.add(blocks, session=pick % 2)
            assert shared + own <= len(blocks)


class TestBadRows:
    def test_each_reason_is_counted_with_its_first_line(self, measured):
        good = {"ts": at(0), "input_tokens": 5, "output_tokens": 5}
        found = measured([
            good, "{broken", json.dumps([1, 2]), {**good, "input_tokens": -1},
            {**good, "input_tokens": "many"}, {"ts": at(1)}, {**good, "ts": "yesterday"},
            {**good, "status": "failure"}, {**good, "status_code": 429}, {"id": "a", **good},
            {"id": "a", **good}, {**good, "output_tokens": 0},
        ])  # fmt: skip
        assert found.requests == 2
        assert found.rows == 12
        assert {(s.reason.split(" ")[0], s.rows, s.first_line) for s in found.skipped} == {
            ("broken", 1, 2), ("not", 1, 3), ("a", 2, 4), ("no", 1, 6), ("failed", 3, 8),
            ("the", 1, 11),
        } | {("a", 1, 7)}  # fmt: skip

    @pytest.mark.parametrize(
        "text", ["", "   \n", "a,b\n1,2\n", "\x00\x01", "[]", "{}", "not a log"]
    )
    def test_a_file_without_requests_is_one_clear_error(self, facts, tmp_path, text):
        path = tmp_path / "log"
        path.write_text(text)
        with pytest.raises(TrafficError, match=r"log: .*"):
            measure_log(path, facts)

    def test_a_missing_file(self, facts, tmp_path):
        with pytest.raises(TrafficError, match="cannot be read"):
            measure_log(tmp_path / "none.jsonl", facts)

    @settings(max_examples=60, deadline=None)
    @given(raw=st.binary(max_size=300))
    def test_no_bytes_break_it(self, facts, tmp_path_factory, raw):
        path = tmp_path_factory.mktemp("fuzz") / "log.jsonl"
        path.write_bytes(raw)
        with contextlib.suppress(StackchoiceError):
            measure_log(path, facts)

    @pytest.mark.parametrize("bad", [
        {"input_tokens": 10**400}, {"input_tokens": float("nan")}, {"input_tokens": float("inf")},
        {"input_tokens": 1.5}, {"input_tokens": True}, {"input_tokens": "1e400"}, {"ts": 10**400},
        {"ts": "0001-01-01"}, {"ts": "9999-12-31T23:59:59-23:59"}, {"ts": float("inf")},
        {"ts": -5}, {"ts": "x" * 10_000},
    ])  # fmt: skip
    def test_numbers_and_times_beyond_reason_are_left_out(self, measured, bad):
        good = {"ts": at(0), "input_tokens": 5, "output_tokens": 5}
        found = measured([good, {**good, **bad}])
        assert (found.requests, found.skipped[0].first_line) == (1, 2)

    @settings(max_examples=150, deadline=None)
    @given(data=st.data())
    def test_no_values_under_known_names_break_it(self, facts, tmp_path_factory, data):
        names = [name.split("/")[0] for field in facts.log_columns.fields for name in field.names]
        leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
        values = st.recursive(
            leaves,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from([*names, "type", "content"]), inner, max_size=3)
            ),
            max_leaves=8,
        )
        row = data.draw(
            st.dictionaries(st.sampled_from([*names, *facts.log_columns.containers]), values)
        )
        good = {"prompt_tokens": 9, "completion_tokens": 3}
        path = tmp_path_factory.mktemp("fuzz") / "log.jsonl"
        path.write_text(json.dumps({**row, "usage": good}) + "\n" + json.dumps(row) + "\n")
        with contextlib.suppress(StackchoiceError):
            found = measure_log(path, facts)
            workload_inputs(found)
            describe(found)

    def test_one_model_of_several(self, measured):
        rows = [{"ts": at(i), "model": m, "input_tokens": n, "output_tokens": 1}
                for i, (m, n) in enumerate([("a", 10), ("b", 1000), ("a", 30)])]  # fmt: skip
        assert any("2 models" in note for note in measured(rows).notes)
        assert measured(rows, model="a").input_tokens.mean == 20


class TestPrivacy:
    def planted(self, i):
        row = litellm(60 * i, f"{SECRET} {i} " * 40, taken=300, user=f"{SECRET}-user-{i % 3}")
        return {**row, "session_id": f"{SECRET}-{i % 4}", "model": SECRET, "metadata": {SECRET: 1},
                f"column {SECRET}": SECRET}  # fmt: skip

    def test_no_output_holds_what_a_row_holds(self, measured):
        found = measured([self.planted(i) for i in range(30)])
        for text in (json.dumps(found.to_json()), describe(found), repr(found),
                     json.dumps(workload_inputs(found))):  # fmt: skip
            assert SECRET not in text

    @pytest.mark.parametrize("broken", [
        lambda row: json.dumps(row)[:-5], lambda row: {**row, "prompt_tokens": SECRET},
        lambda row: {**row, "startTime": SECRET}, lambda row: {SECRET: SECRET},
        lambda row: json.dumps([SECRET]),
    ])  # fmt: skip
    def test_no_error_quotes_a_row(self, measured, broken):
        with pytest.raises(TrafficError) as error:
            measured([broken(self.planted(i)) for i in range(3)])
        assert SECRET not in str(error.value)
        assert error.value.__cause__ is None

    def test_a_table_without_a_header_is_not_quoted_either(self, facts, tmp_path):
        path = tmp_path / "log.csv"
        path.write_text(f"{SECRET},12\n{SECRET},13\n")
        with pytest.raises(TrafficError) as error:
            measure_log(path, facts)
        assert SECRET not in str(error.value)

    def test_keys_die_with_the_process(self):
        """The same name has another key in another process, so that none can be looked up."""
        assert Reuse().key("a") != Reuse().key("a")
        same = Reuse()
        assert same.key("a") == same.key("a")
