"""AIPerf as the runner: its files, its real recorded output, and its program in a process."""

import copy
import json
import os
import re
import shlex
import stat
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from typer.testing import CliRunner

from stackchoice.cli import app
from stackchoice.confirm import Endpoint, confirm
from stackchoice.errors import EngineError, InputError, StackchoiceError
from stackchoice.importers import import_results
from stackchoice.load.aiperf import exchange_of_record, files, health_of, hold_to_schedule
from stackchoice.load.aiperf_job import write_job
from stackchoice.load.aiperf_run import find_aiperf
from stackchoice.load.arrivals import Closed, Constant, Poisson, offsets
from stackchoice.load.floor import reference_server
from stackchoice.load.health import ClientHealth, Floor
from stackchoice.load.plan import Plan
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Failure, Repetition, Spread
from stackchoice.load.rules import load_rules
from stackchoice.load.script import Script
from stackchoice.load.summary import judge_client
from stackchoice.load.wire import Exchange, Problem

#: A run of AIPerf 0.13.0 on 2026-11-29: 6 requests in 2 streams to the reference server, of which
#: every third died inside its stream; ``truth.json`` is what that server did.
RECORDED = Path(__file__).parent / "data" / "aiperf-0.13.0"
WHERE = Endpoint(base_url="https://host.example/api/v1", model="m", api_key_env="SOME_KEY")


def recorded(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDED / name).read_text().splitlines()]


def by_id(name: str) -> dict[str, dict[str, Any]]:
    return {x["metadata"]["conversation_id"]: x for x in recorded(name)}


def test_streams_that_died_are_found_in_raw_records_and_not_in_the_summary() -> None:
    (summary,) = import_results(RECORDED / "profile_export_aiperf.json")
    assert (summary.results.requests, summary.results.errors) == (6, 0)
    assert any("counted as a success" in fault for fault in summary.protocol.harness_faults)
    (raw,) = import_results(RECORDED / "profile_export_raw.jsonl")
    assert (raw.results.requests, raw.results.usable, raw.results.errors) == (6, 4, 2)
    assert {k: n for k, n in raw.validity.failures.items() if n} == {"mid_stream_error": 2}
    assert not any("counted as a success" in fault for fault in raw.protocol.harness_faults)
    assert raw.protocol.harness_revision == summary.protocol.harness_revision == "0.13.0"
    assert raw.protocol.sampling_settings == {"temperature": 0}
    assert raw.identity.model == summary.identity.model == "reference"
    # Its ITL takes dead streams for short fast ones: 40 % too good; the server's was 10 ms.
    assert summary.results.itl_s.median < 0.007 < 0.009 < raw.results.itl_s.median < 0.011


def test_a_clean_stream_has_the_times_that_aiperf_itself_gives() -> None:
    theirs = by_id("profile_export.jsonl")
    truth = {t["id"]: t for t in json.loads((RECORDED / "truth.json").read_text())["requests"]}
    clean = 0
    for record in recorded("profile_export_raw.jsonl"):
        ours, measured = exchange_of_record(record)
        sample = read_sample(measured, record["payload"])
        if sample.failure:
            assert (sample.failure, truth[ours]["fault"]) == (Failure.MID_STREAM_ERROR, "error_mid")
            continue
        clean += 1
        metrics, about = theirs[ours]["metrics"], theirs[ours]["metadata"]
        assert sample.ttft_s * 1e3 == pytest.approx(metrics["time_to_first_token"]["value"])
        assert sample.end_to_end_s * 1e3 == pytest.approx(metrics["request_latency"]["value"])
        waited = (about["request_start_ns"] - about["credit_issued_ns"]) / 1e9
        assert sample.intended_ttft_s == pytest.approx(sample.ttft_s + waited)
        assert sample.completion_tokens == 6
        told = truth[ours]
        assert sample.ttft_s > (told["sent"][0][0] - told["received_ns"]) / 1e9
    assert clean == 4


@pytest.mark.parametrize(
    ("status", "error", "failure"),
    [
        (429, {"code": 429, "type": "X", "message": '{"error": "full"}'}, "admission_rejected"),
        (400, {"code": 400, "type": "Bad", "message": "context length is 10"}, "context_rejected"),
        (500, {"code": 500, "type": "X", "message": "broken"}, "server_error"),
        (200, {"type": "ClientPayloadError", "message": "cut"}, "transport"),
        (None, {"type": "ClientConnectorError", "message": "refused"}, "transport"),
        (None, {"type": "SocketTimeoutError", "message": "slow"}, "timeout"),
        (None, {"type": "RequestCancellationError", "message": "over"}, "cancelled"),
        (200, None, "no_tokens"),
    ],
)  # fmt: skip
def test_what_went_wrong_is_counted_in_its_class(
    status: int | None, error: dict[str, Any] | None, failure: str
) -> None:
    about = {"conversation_id": "a", "request_start_ns": 10**18, "request_end_ns": 10**18 + 5}
    record = {"metadata": about, "start_perf_ns": 7, "status": status, "error": error,
              "responses": []}  # fmt: skip
    ours, measured = exchange_of_record(record)
    assert (ours, measured.started_ns, measured.ended_ns) == ("a", 7, 12)
    assert read_sample(measured).failure == failure


@pytest.mark.parametrize(
    "record",
    [
        {}, {"metadata": {"request_start_ns": "x"}, "responses": 3, "status": True},
        {"metadata": {}, "start_perf_ns": -1, "status": 200, "responses": [None, {"packets": [1]}]},
        {"status": 200, "responses": [{"text": "x", "content_type": "a\r\nb: c"}], "error": []},
    ],
)  # fmt: skip
def test_a_record_may_be_anything(record: dict[str, Any]) -> None:
    assert read_sample(exchange_of_record(record)[1]).failure


def test_its_files_hold_every_request_word_for_word_and_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret-secret")
    load = Poisson(rate_per_s=5)
    plan = Plan(load=load, seed=7, api="completions", connections="new")
    bodies = {f"timed/{n}": {"prompt": f"say {n}", "max_tokens": 16} for n in range(3)}
    at_s = [at for at, _ in zip(offsets(load, "x"), bodies, strict=False)]
    texts = files(WHERE, plan, load, bodies, at_s, 0.0, key=True)
    assert "sk-secret" not in "".join(texts.values())
    lines = [json.loads(line) for line in texts["requests.jsonl"].splitlines()]
    assert [(x["session_id"], x["payload"]) for x in lines] == list(bodies.items())
    assert [x["timestamp"] for x in lines] == pytest.approx([at * 1000 for at in at_s])
    tree = yaml.safe_load(texts["aiperf.yaml"])["benchmark"]
    assert tree["endpoint"]["url"] + tree["endpoint"]["path"] == (
        "https://host.example/api/v1/completions"
    )
    assert (tree["endpoint"]["apiKey"], tree["endpoint"]["connectionReuse"]) == (
        "${SOME_KEY}",
        "never",
    )
    assert tree["phases"] == [{"name": "profiling", "type": "fixed_schedule"}]
    closed = files(WHERE, plan, Closed(streams=2), bodies, [], 0.4, key=False)
    tree = yaml.safe_load(closed["aiperf.yaml"])["benchmark"]
    assert tree["phases"][0] == {"name": "profiling", "type": "concurrency", "requests": 3,
                                 "concurrency": 2, "concurrencyRamp": 0.4}  # fmt: skip
    assert "apiKey" not in tree["endpoint"]


def spans(*pairs: tuple[float, float]) -> list[Exchange]:
    return [Exchange(started_ns=int(a * 1e9), intended_ns=int(a * 1e9), ended_ns=int(b * 1e9))
            for a, b in pairs]  # fmt: skip


def test_concurrency_is_the_mean_in_flight_while_all_streams_ran() -> None:
    # Two streams, the second from 2 s on; one rests from 4 s to 5 s; the last start is at 6 s.
    health = health_of(Closed(streams=2), spans((1, 4), (2, 6), (5, 9), (6, 9)))
    assert health.achieved_concurrency == pytest.approx((2 + 1 + 1 + 2) / 4 + 1 / 4)
    assert health.loop_lag_p99_s is None


def test_an_open_loop_is_held_to_the_plans_times() -> None:
    exchanges = spans((10.0, 11), (11.2, 12), (12.0, 13))
    hold_to_schedule(exchanges, [0.0, 1.0, 2.0])
    assert [x.intended_ns / 1e9 for x in exchanges] == pytest.approx([10, 11, 12])
    health = health_of(Constant(rate_per_s=1), exchanges)
    assert (health.asked_rate_per_s, health.achieved_rate_per_s) == (1, 1)
    assert health.slip_max_s == pytest.approx(0.2)
    late = spans((10.0, 11), (11.5, 12), (13.0, 14))
    hold_to_schedule(late, [0.0, 1.0, 2.0])
    assert health_of(Constant(rate_per_s=1), late).achieved_rate_per_s == pytest.approx(2 / 3)


def repetition(**health: Any) -> Repetition:
    ttft = Spread.of([0.05] * 20)
    return Repetition(requests=20, completed=20, ttft_s=ttft, health=ClientHealth(**health))


def test_one_client_that_is_outgrown_is_told_of_the_other_runner() -> None:
    rules, healthy = load_rules(), {"loop_lag_p99_s": 0.0, "slip_p99_s": 0.0}
    floor = Floor(load="x", requests=9, ttft_truth_s=0.05, ttft_excess_s=0.03, ttft_error=0.6,
                  health=ClientHealth(**healthy))  # fmt: skip
    (said,) = judge_client([repetition(**healthy)], floor, rules).reasons
    assert "--runner aiperf" in said
    (said,) = judge_client([repetition(slip_p99_s=0.0)], floor, rules, "aiperf").reasons
    assert "--runner aiperf" not in said
    assert "larger machine" in said
    (said,) = judge_client([repetition(slip_p99_s=0.0)], None, rules, "aiperf").reasons
    assert "floor was not measured" in said
    still = repetition(**healthy, asked_concurrency=4, achieved_concurrency=0.0)
    assert "asked 4, achieved 0" in judge_client([still], None, rules).reasons[0]


#: Stands for AIPerf where it is not installed: puts no load on, and writes what AIPerf wrote.
STAND_IN = """#!{python}
import json, os, sys, time
if sys.argv[1] == "--version":
    sys.exit(print("aiperf 0.13.0"))
assert "PYTHONPATH" not in os.environ and "HF_HUB_OFFLINE" not in os.environ
if os.environ.get("STAND_IN") == "fails":
    print("│    Reason: no such model │")
    sys.exit(1)
if os.environ.get("STAND_IN") == "hangs":
    open({mark!r}, "w").write(str(os.getpid()))
    time.sleep(600)
raw = [json.loads(line) for line in open({raw!r})]
os.makedirs("result")
with open("result/profile_export_raw.jsonl", "w") as out:
    for n, line in enumerate(open("requests.jsonl")):
        asked, told = json.loads(line), raw[n % len(raw)]
        told["metadata"]["conversation_id"] = asked["session_id"]
        out.write(json.dumps(dict(told, payload=asked["payload"])) + chr(10))
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """AIPerf itself where ``STACKCHOICE_AIPERF`` names it, else what it once wrote."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if given := os.environ.get("STACKCHOICE_AIPERF"):
        return Path(given)
    path = tmp_path / "env" / "bin" / "aiperf"
    path.parent.mkdir(parents=True)
    path.write_text(STAND_IN.format(python=sys.executable, mark=str(tmp_path / "running"),
                                    raw=str(RECORDED / "profile_export_raw.jsonl")))  # fmt: skip
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path.parents[1]


PLAN = Plan(load=Closed(streams=2), requests=6, output_tokens=16, prompt_words=8, floor=False,
            runner="aiperf")  # fmt: skip


def test_the_load_is_the_others_and_all_else_is_ours(program: Path, tmp_path: Path) -> None:
    raw = tmp_path / "x.raw.jsonl"
    with reference_server(Script(ttft_s=0.02, itl_s=0.002)) as endpoint:
        passport = confirm(endpoint, plan=PLAN, runner_path=program, raw_path=raw)
    assert passport.protocol.harness.startswith("AIPerf 0.13.0: its workers send and stamp")
    assert any("opening of the connection" in f for f in passport.protocol.harness_faults)
    assert passport.validity.canaries_before
    assert len(passport.samples) == 6
    assert passport.results.usable <= 6
    assert "its floor was not measured" in " ".join(passport.validity.reasons)
    steps = [json.loads(line)["step"] for line in raw.read_text().splitlines()]
    assert steps.count("timed") == 6
    assert steps.index("warmup") < steps.index("timed") < steps.index("canary_after")
    asked = [json.loads(line).get("request") for line in raw.read_text().splitlines()]
    assert len({a["messages"][0]["content"] for a in asked if a and "stream" in a}) > 6


def test_what_aiperf_says_when_it_fails_is_one_line(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", "fails")
    with reference_server(Script()) as endpoint:
        with pytest.raises(Exception, match=r"^AIPerf: exit status 1: no such model; correct"):
            confirm(endpoint, plan=PLAN, runner_path=program)
        with pytest.raises(InputError, match="give at least 8"):
            confirm(endpoint, plan=PLAN.model_copy(update={"load": Closed(streams=4)}),
                    runner_path=program)  # fmt: skip


def test_a_cancelled_run_ends_aiperf_too(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAND_IN", "hangs")
    cancel, mark = threading.Event(), tmp_path / "running"

    def watch() -> None:
        while not (mark.exists() and mark.read_text()):
            time.sleep(0.02)
        cancel.set()

    threading.Thread(target=watch, daemon=True).start()
    with reference_server(Script(ttft_s=0.01, itl_s=0.001)) as endpoint:
        passport = confirm(endpoint, plan=PLAN, runner_path=program, cancel=cancel)
    assert "the run was cancelled before its end" in passport.validity.reasons
    end = time.monotonic() + 20
    while psutil.pid_exists(int(mark.read_text())) and time.monotonic() < end:
        time.sleep(0.05)
    assert not psutil.pid_exists(int(mark.read_text()))


def test_a_missing_program_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"no program of AIPerf; install it .*aiperf==0\.13\.0"):
        find_aiperf(tmp_path)


def test_files_for_another_machine_refer_to_the_key_and_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret-secret")
    folder = tmp_path / "load"
    done = CliRunner().invoke(app, [
        "confirm", "--endpoint", WHERE.base_url, "--model", "m", "--key-variable", "SOME_KEY",
        "--streams", "4", "--requests", "9", "--repetitions", "2", "--runner", "aiperf",
        "--write-only", str(folder),
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "--declare concurrency=4" in done.output
    texts = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob("*.*")
             if p.is_file()}  # fmt: skip
    assert "sk-secret" not in done.output + "".join(texts.values())
    config, job = yaml.safe_load_all(texts["job.yaml"])
    items = {i["path"]: i["key"] for i in
             job["spec"]["template"]["spec"]["volumes"][0]["configMap"]["items"]}  # fmt: skip
    assert {path: config["data"][key] for path, key in items.items()} == {
        name: text for name, text in texts.items() if name != "job.yaml"
    }
    pod = job["spec"]["template"]["spec"]
    assert_as_the_api_wants(config, "ConfigMap")
    assert_as_the_api_wants(job, "Job")
    assert pod["initContainers"][0]["env"] == [{
        "name": "SOME_KEY",
        "valueFrom": {"secretKeyRef": {"name": "stackchoice-load", "key": "SOME_KEY"}},
    }]  # fmt: skip
    numbers = [json.loads(line)["session_id"] for r in (1, 2)
               for line in texts[f"repetition-{r}/requests.jsonl"].splitlines()]  # fmt: skip
    assert numbers == [f"timed/{n}" for n in range(18)]
    with pytest.raises(InputError, match="holds something already"):
        write_job(WHERE, Plan(), folder)


def test_what_does_not_fit_a_config_map_goes_to_a_volume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret-secret")
    said = write_job(WHERE, Plan(requests=300, prompt_words=2000), tmp_path / "big")
    assert f"copy {tmp_path / 'big'} to a volume of the claim stackchoice-load first\n" in said
    (job,) = yaml.safe_load_all((tmp_path / "big" / "job.yaml").read_text())
    volume = job["spec"]["template"]["spec"]["volumes"][0]
    assert volume["persistentVolumeClaim"] == {"claimName": "stackchoice-load"}
    assert_as_the_api_wants(job, "Job")


#: Shapes of the Kubernetes API, as far as the job uses them: field -> its type, another shape, or a
#: list of one; "!" marks what must be there. https://kubernetes.io/docs/reference/generated/
#: kubernetes-api/ (Job v1 batch, PodSpec, Container, Volume, EnvVar, ConfigMap).
SHAPES: dict[str, dict] = {
    "ConfigMap": {"apiVersion!": "v1", "kind!": "ConfigMap", "metadata!": "Meta", "data": dict},
    "Job": {"apiVersion!": "batch/v1", "kind!": "Job", "metadata!": "Meta", "spec!": "JobSpec"},
    "Meta": {"name!": str},
    "JobSpec": {"backoffLimit": int, "template!": "Template"},
    "Template": {"metadata": "Meta", "spec!": "PodSpec"},
    "PodSpec": {"restartPolicy!": "Never", "volumes": ["Volume"], "initContainers": ["Container"],
                "containers!": ["Container"]},
    "Volume": {"name!": str, "configMap": "ConfigMapVolume", "emptyDir": dict,
               "persistentVolumeClaim": "Claim"},
    "ConfigMapVolume": {"name!": str, "items": ["Item"]},
    "Item": {"key!": str, "path!": str},
    "Claim": {"claimName!": str, "readOnly": bool},
    "Container": {"name!": str, "image!": str, "command": [str], "env": ["Variable"],
                  "volumeMounts": ["Mount"], "resources!": "Resources"},
    "Variable": {"name!": str, "valueFrom": "From"},
    "From": {"secretKeyRef": "Key"},
    "Key": {"name!": str, "key!": str},
    "Mount": {"name!": str, "mountPath!": str},
    "Resources": {"requests!": dict, "limits": dict},
}  # fmt: skip


def assert_as_the_api_wants(value: object, shape: object) -> None:
    """Hold a manifest against :data:`SHAPES`: no unknown field, none missing, each of its type."""
    if isinstance(shape, list):
        assert isinstance(value, list)
        for one in value:
            assert_as_the_api_wants(one, shape[0])
    elif isinstance(shape, type):
        assert isinstance(value, shape)
    elif shape not in SHAPES or not isinstance(value, dict):
        assert value == shape
    else:
        fields = {name.rstrip("!"): (name, kind) for name, kind in SHAPES[shape].items()}
        assert set(value) <= set(fields), shape
        assert {n for n, (marked, _) in fields.items() if marked != n} <= set(value), shape
        for name, one in value.items():
            assert_as_the_api_wants(one, fields[name][1])
    if shape == "Meta":  # names are DNS labels
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", value["name"])
    if shape == "ConfigMap" and isinstance(value, dict):
        assert all(re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", key) for key in value["data"])
    if shape == "Item":
        assert ".." not in value["path"].split("/")
        assert not value["path"].startswith("/")
    if shape == "PodSpec":
        volumes = {v["name"] for v in value["volumes"]}
        every = (*value["initContainers"], *value["containers"])
        assert {m["name"] for c in every for m in c["volumeMounts"]} == volumes
        assert len({c["name"] for c in every}) == len(every)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--spend-cap", "1", "--input-price", "1", "--output-price", "1"], "nothing about --spe"),
        (["--launches", "2", "--probe", "cache"], "nothing about --launches, --probe"),
        (["--requests", "1000000", "--prompt-words", "40000"], "above 2,000,000 bytes"),
        (["--key-variable", "sk-proj-secret"], "no name of an environment variable"),
        (["--runner-path", "env"], "give --runner aiperf with it"),
        (["--rate", "nan"], "--rate nan: Input should be a finite"),
    ],
)
def test_what_a_job_cannot_do_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], text: str
) -> None:
    monkeypatch.setattr("stackchoice.load.aiperf_job._MOST_BYTES", 2_000_000)
    asked = ["confirm", "--endpoint", "http://localhost:9", "--model", "m", "--write-only"]
    done = CliRunner().invoke(app, [*asked, str(tmp_path / "load"), *options])
    assert isinstance(done.exception, StackchoiceError)
    assert text in str(done.exception)
    assert "secret" not in str(done.exception)
    assert not (tmp_path / "load").exists()


def test_a_folder_of_escapes_colours_no_terminal(tmp_path: Path) -> None:
    asked = ["confirm", "--endpoint", "http://localhost:9", "--model", "m", "--write-only"]
    done = CliRunner().invoke(app, [*asked, str(tmp_path / "\x1b[31mred")])
    assert "\\x1b[31mred" in done.output
    assert "\x1b" not in done.output


def test_what_is_to_be_typed_is_quoted(tmp_path: Path) -> None:
    where = Endpoint(base_url="http://localhost:9", model="a b; c")
    said = write_job(where, Plan(), tmp_path / "my load; x")
    script = shlex.quote(str(tmp_path / "my load; x" / "run.sh"))
    assert f"sh {script}\n" in said
    assert "localhost is this machine alone" in said
    far = Endpoint(base_url="http://gpu.example:9", model="m")
    assert "alone" not in write_job(far, Plan(), tmp_path / "far")
    assert said.endswith("--model 'a b; c'")
    names = sorted(p.name for p in (tmp_path / "my load; x").iterdir())
    assert names == ["job.yaml", "repetition-1", "run.sh"]


def test_stamps_out_of_order_are_no_measurement_and_wall_clocks_may_step() -> None:
    (record, *_) = recorded("profile_export_raw.jsonl")
    fine = read_sample(exchange_of_record(record)[1])
    stepped = copy.deepcopy(record)
    stepped["metadata"] |= {"request_ack_ns": 1, "request_end_ns": 1}
    sample = read_sample(exchange_of_record(stepped)[1])
    assert sample.failure == fine.failure
    assert (sample.ttft_s, sample.decode_tokens_per_s) == (fine.ttft_s, fine.decode_tokens_per_s)
    mixed = copy.deepcopy(record)
    mixed["responses"][-1]["perf_ns"] = 1
    assert read_sample(exchange_of_record(mixed)[1]).failure is Failure.CLIENT_FAULT


def test_a_record_that_is_missing_is_no_clean_stream() -> None:
    lost = Exchange(started_ns=5, sent_ns=5, ended_ns=5, problem=Problem.CLIENT, detail="gone")
    assert read_sample(lost).failure is Failure.CLIENT_FAULT
