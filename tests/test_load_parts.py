"""The pure parts of the load client, each against an independent derivation."""

import math
import statistics
from itertools import islice
from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from stackchoice.errors import StackchoiceError
from stackchoice.load.arrivals import Closed, Constant, Poisson, Replay, offsets
from stackchoice.load.health import ClientHealth, Floor
from stackchoice.load.meter import Meter
from stackchoice.load.plan import Plan, SpendCap
from stackchoice.load.records import Repetition, Spread
from stackchoice.load.rules import load_rules
from stackchoice.load.stats import gap, nested, t_quantile
from stackchoice.load.summary import judge_client
from stackchoice.load.ticking import Histogram
from stackchoice.load.traffic import read_traffic
from stackchoice.load.wire import End, Exchange, Framing

RULES = load_rules()


@pytest.mark.parametrize(("name", "floor"), RULES.percentile_floors.items())
def test_a_floor_is_the_smallest_n_at_which_the_second_largest_bounds_the_percentile(
    name: str, floor: int
) -> None:
    q = 1 - int(name[1:]) / 100

    def chance(n: int) -> float:  # at most one of n samples is above the percentile
        return sum(comb(n, k) * q**k * (1 - q) ** (n - k) for k in (0, 1))

    assert chance(floor) <= 0.01 < chance(floor - 1)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=200), st.floats(0.01, 1))
def test_a_histogram_is_an_eighth_of_an_octave_off_at_most(values: list[int], share: float) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    true = sorted(values)[math.ceil(len(values) * share) - 1]
    assert true <= histogram.at(share) <= true * 1.125 + 1
    assert histogram.largest == max(values)


HEADS = [
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n",
]


@pytest.mark.parametrize("head", HEADS)
@given(chunks=st.lists(st.binary(min_size=1, max_size=30), max_size=6), data=st.data())
def test_the_end_is_found_where_h11_finds_it_however_the_bytes_are_cut(
    head: bytes, chunks: list[bytes], data: st.DataObject
) -> None:
    body = b"".join(b"%x;a=b\r\n%b\r\n" % (len(c), c) for c in [b"0\r\n\r\n", *chunks])
    raw = head + body + data.draw(st.sampled_from([b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n"]))
    cuts = sorted(data.draw(st.lists(st.integers(1, len(raw) - 1), max_size=8)))
    pieces = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True) if a < b]
    end, framing = End(), Framing()
    over = [(end.feed(p), framing.feed(0, p)) for p in pieces]
    assert over[-1] == (True, True)
    assert not any(ours for ours, _ in over[:-1])
    assert (end.broken, framing.error) == ("", "")


@pytest.mark.parametrize(
    ("raw", "keep", "by_close"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", True, False),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", False, False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", False, False),
        (b"HTTP/1.1 204 No\r\n\r\n", True, False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabc", False, False),
        (b"HTTP/1.1 200 OK\r\n\r\ndata: [DONE]\n\n", False, True),
    ],
)
def test_whether_a_connection_may_be_kept(raw: bytes, keep: bool, by_close: bool) -> None:
    end = End()
    assert end.feed(raw) is True
    assert (end.keep_alive, end.by_close, end.broken) == (keep, by_close, "")


@pytest.mark.parametrize("raw", [b"SSH-2.0-x\r\n", b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\n"
                                 b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"])  # fmt: skip
def test_what_is_no_http_is_over_and_broken(raw: bytes) -> None:
    end = End()
    assert end.feed(raw) is True
    assert end.broken
    assert not end.keep_alive


# Student's t, table of NIST/SEMATECH e-Handbook 1.3.6.7.2 (two-sided 95 %)
@pytest.mark.parametrize(("freedom", "value"), [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228),
                                                (30, 2.042), (100, 1.984)])  # fmt: skip
def test_students_t(freedom: int, value: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(value, abs=5e-4)


def test_an_interval_is_over_launches_and_not_over_requests() -> None:
    found = nested([[10, 11], [12, 13], [11, 12]])
    assert (found.mean, found.over, found.launches, found.repetitions) == (11.5, "launches", 3, 6)
    assert found.between_sd == pytest.approx(statistics.stdev([10.5, 12.5, 11.5]))
    assert found.high - found.mean == pytest.approx(4.3027 * 1 / math.sqrt(3), rel=1e-4)
    assert nested([[10, 11, 12]]).over == "repetitions"
    assert nested([[10, 11, 12]]).between_sd is None
    alone = nested([[10]])
    assert (alone.over, alone.low, alone.within_sd) == ("nothing", None, None)
    assert nested([[], []]) is None


def test_the_coefficient_of_variation_is_the_greater_scatter_over_the_mean() -> None:
    # launch means 10, 12, 14 scatter by 2; within launches by 1 throughout
    found = nested([[9, 10, 11], [11, 12, 13], [13, 14, 15]])
    assert found.variation == pytest.approx(2 / 12)
    assert nested([[9, 10, 11]]).variation == pytest.approx(1 / 10)
    assert nested([[10]]).variation is None


def verdict(a: list[list[float]], b: list[list[float]]) -> str:
    return gap(a, b, assumed_scatter=0.05).verdict


def test_a_gap_must_be_clear_of_one_and_above_the_scatter_between_launches() -> None:
    assert verdict([[20, 20.1], [20.2, 20.1]], [[10, 10.1], [10.05, 10.1]]) == "higher"
    assert verdict([[10, 10.1], [10.05, 10.1]], [[20, 20.1], [20.2, 20.1]]) == "lower"
    assert verdict([[10, 11]], [[10.5, 10.6]]) == "too close"
    # Repetitions agree to a part in a thousand; a launch may still differ by some percent.
    one = gap([[10.30, 10.31, 10.30]], [[10.00, 10.01, 10.00]], assumed_scatter=0.05)
    assert one.low > 1
    assert (one.verdict, "assumed to be 5%" in one.reason) == ("too close", True)
    assert verdict([[12.0, 12.01, 12.0]], [[10.0, 10.01, 10.0]]) == "higher"
    assert verdict([[12.0]], [[10.0, 10.01]]) == "unknown"
    assert gap([[]], [[1.0]], assumed_scatter=0.05) is None


@given(st.integers(0, 1000))
def test_arrivals_follow_from_the_seed(seed: int) -> None:
    load = Poisson(rate_per_s=50)
    first = list(islice(offsets(load, str(seed)), 400))
    assert first == list(islice(offsets(load, str(seed)), 400))
    assert first[0] == 0
    assert first == sorted(first)
    # 399 gaps of mean 20 ms: their sum is within six standard deviations of its mean
    assert abs(first[-1] - 399 / 50) < 6 * math.sqrt(399) / 50


def test_constant_arrivals_and_replays(tmp_path: Path) -> None:
    assert list(islice(offsets(Constant(rate_per_s=4), ""), 4)) == [0, 0.25, 0.5, 0.75]
    path = tmp_path / "t.csv"
    path.write_text("timestamp_s,input_tokens,output_tokens\n7,10,20\n5,11,21\n9,12,22\n")
    assert list(offsets(Replay(path=str(path), speed=2), "")) == [0, 1, 2]


@pytest.mark.parametrize(
    ("text", "trace"),
    [
        ("timestamp_s,input_tokens,output_tokens\n1.5,10,20\n2,11,21\n", None),
        ('{"timestamp": 1500, "input_length": 10, "output_length": 20, "hash_ids": [1]}\n'
         '{"timestamp": 2000, "input_length": 11, "output_length": 21, "hash_ids": [2]}\n',
         "Mooncake"),
        ("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
         "1.5,GPT-4,10,20,30,API log\n2,GPT-4,11,21,32,API log\n", "BurstGPT"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,10,20\n"
         "2023-11-16 18:17:04.4799600,11,21\n", None),
    ],
)  # fmt: skip
def test_traffic_files_of_known_formats(tmp_path: Path, text: str, trace: str | None) -> None:
    path = tmp_path / "traffic"
    path.write_text(text)
    traffic = read_traffic(path)
    assert traffic.trace == trace
    first, second = traffic.arrivals
    assert (first.at_s, first.input_tokens, first.output_tokens) == (0, 10, 20)
    assert (second.at_s, second.input_tokens) == (pytest.approx(0.5), 11)
    assert traffic.rate_per_s == pytest.approx(4)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", ":2: has no input_tokens; a replay needs timestamp_s"),
        ("", "is empty"),
        ("timestamp_s,input_tokens,output_tokens\nsoon,1,1\n", ":2: its time is no time"),
        ("timestamp_s,input_tokens,output_tokens\nnan,1,1\n", ":2: its time is no time"),
        ("timestamp,input_tokens,output_tokens\n3,1,1\n", ":2: its time is missing or of no known"),
        ("timestamp_s,input_tokens,output_tokens\n1,-4,1\n", ":2: input_tokens is no count"),
        ("timestamp_s,input_tokens,output_tokens\n1,4,\n", ":2: has no output_tokens"),
        ('{"timestamp_s": 1, "input_tokens": 1, "output_tokens": 1}\n{"a\n', ":2: broken JSON"),
    ],
)
def test_a_wrong_traffic_file_names_its_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "traffic.csv"
    path.write_text(text)
    with pytest.raises(StackchoiceError) as error:
        read_traffic(path)
    assert said in str(error.value)


def test_a_plan_of_several_streams_needs_a_warm_up() -> None:
    with pytest.raises(ValidationError, match="warmup >= 1"):
        Plan(load=Closed(streams=2), warmup=0)
    assert Plan(warmup=0).warmup == 0
    chat, plain = Plan(), Plan(api="completions")
    assert chat.body("1", "nonce")["messages"][0]["content"].startswith("nonce ")
    assert plain.body("1", "nonce")["prompt"].startswith("nonce ")
    assert chat.body("1", "a") == chat.body("1", "a") != chat.body("2", "a")


def answered(prompt: int, output: int) -> Exchange:
    text = f'{{"usage": {{"prompt_tokens": {prompt}, "completion_tokens": {output}}}}}'
    return Exchange(sent_ns=1, reads=[(2, text.encode())])


def test_spending_is_reserved_at_its_most_settled_by_count_and_stopped_hard() -> None:
    price = {"usd_per_million_input_tokens": "2", "usd_per_million_output_tokens": "10"}
    meter = Meter(SpendCap(usd="0.01", **price))
    assert meter.take("a", 1000, 100) is True
    assert meter.reserved_usd == pytest.approx((2 * (1000 + 64) + 10 * 100) / 1e6)
    meter.settle("a", 1000, answered(200, 50))
    assert (meter.usd, meter.reserved_usd) == (pytest.approx((2 * 200 + 10 * 50) / 1e6), 0)
    # 200 of 1000 bytes were tokens; a quarter more is assumed from now on
    assert meter.most(1000, 0) == pytest.approx(2 * (250 + 64) / 1e6)
    meter.take("b", 1000, 100)
    meter.settle("b", 1000, Exchange(sent_ns=1))  # no answer: it may have been billed in full
    assert meter.usd == pytest.approx((900 + 2 * 314 + 1000) / 1e6)
    meter.take("c", 1000, 100)
    meter.settle("c", 1000, Exchange())  # never sent
    assert meter.usd == pytest.approx((900 + 2 * 314 + 1000) / 1e6)
    sent = 0
    while meter.take(sent, 1000, 100):
        sent += 1
    assert meter.usd + meter.reserved_usd <= 0.01
    assert meter.usd + meter.reserved_usd + meter.most(1000, 100) > 0.01
    assert meter.take("small", 1, 1) is False  # once stopped, it stays so
    assert Meter(None).take("x", 10**9, 10**9) is True


HEALTHY = ClientHealth(
    loop_lag_p99_s=0.001, loop_lag_max_s=0.01, read_wait_p99_s=0.001, read_wait_max_s=0.01,
    slip_p99_s=0.001, slip_max_s=0.01, cpu_share=0.2, peak_connections=8,
)  # fmt: skip


def judged(ttft: float = 0.05, floor: Floor | None = None, **health: object) -> str:
    repetition = Repetition(
        requests=100, completed=100, client_faults=health.pop("client_faults", 0),
        ttft_s=Spread.of([ttft]), health=HEALTHY.model_copy(update=health),
    )  # fmt: skip
    validity = judge_client([repetition], floor, RULES)
    assert validity.valid is (not validity.reasons)
    return "; ".join(validity.reasons)


def floor_of(excess_s: float = 0.0, itl: float | None = 0.0) -> Floor:
    return Floor(load="x", requests=10, ttft_truth_s=0.05, ttft_excess_s=excess_s,
                 ttft_error=excess_s / 0.05, itl_error=itl, health=HEALTHY)  # fmt: skip


def test_a_healthy_client_is_believed() -> None:
    assert judged() == judged(floor=floor_of()) == judged(floor=floor_of(itl=None)) == ""
    assert judged(asked_concurrency=64, achieved_concurrency=63.5) == ""


@pytest.mark.parametrize(
    ("health", "said"),
    [
        ({"asked_concurrency": 64, "achieved_concurrency": 40.0}, "concurrency asked 64, achieved"),
        ({"asked_rate_per_s": 80.0, "achieved_rate_per_s": 70.0}, "rate asked 80, achieved 70"),
        ({"asked_rate_per_s": 80.0, "achieved_rate_per_s": 86.0}, "rate asked 80, achieved 86"),
        ({"loop_lag_p99_s": 0.006}, "loop lag p99 6.0 ms, more than 5.0 ms"),
        ({"slip_p99_s": 0.2, "ttft": 1.0}, "send slip p99 200.0 ms, more than 100.0 ms"),
        ({"asked_rate_per_s": 80.0, "largest_burst": 9}, "9 late requests were sent at once"),
        ({"client_faults": 2}, "2 of 100 requests lost to client faults"),
        ({"floor": floor_of(0.006)}, "TTFT is +6.0 ms off"),
        ({"floor": floor_of(itl=-0.16)}, "ITL is -16.0% off"),
        ({"floor": floor_of(itl=0.06)}, "ITL is +6.0% off"),
    ],
)
def test_a_client_that_did_not_keep_up_makes_the_run_invalid(health: dict, said: str) -> None:
    assert said in judged(**health)


def test_a_slow_first_token_allows_more_lag() -> None:
    assert judged(ttft=1.0, loop_lag_p99_s=0.006) == ""


def test_health_that_nobody_measured_is_no_good_health() -> None:
    validity = judge_client([Repetition(requests=1, completed=1)], None, RULES)
    assert validity.reasons == ("the client's own health is unknown",)
