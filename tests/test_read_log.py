"""The log reader on short logs with the figures of public threads, and on hostile text."""

import gzip
import json
import random
import re
import urllib.request
from itertools import zip_longest

import pytest
from log_vectors import ROWS
from odd_server import require_engine

from stackchoice.confirm.engine import EmbeddedEngine
from stackchoice.errors import InputError
from stackchoice.facts.load import load_facts
from stackchoice.logs import read_log_by_name
from stackchoice.present.logtext import describe_log
from stackchoice.read.log_against import Predicted, against, ran, whole
from stackchoice.read.log_patterns import load_languages
from stackchoice.read.log_reader import read_lines, read_log
from stackchoice.read.log_records import Hardware
from stackchoice.read.log_stream import LINE_LIMIT, LogError


@pytest.fixture(scope="module")
def memory():
    return load_facts().memory


def boots_of(text, memory, **keywords):
    return read_lines(text.splitlines(True), memory, **keywords).boots


@pytest.mark.parametrize("row", ROWS, ids=[r[0] for r in ROWS])
@pytest.mark.parametrize("named", [True, False], ids=["engine given", "engine recognised"])
def test_figures_of_public_logs(row, named, memory):
    _, engine, text, expected, codes = row
    reading = read_lines(text.splitlines(True), memory, engine=engine if named else None)
    assert reading.engines == [engine]
    assert len(reading.boots) == 1
    boot = reading.boots[0]
    for key, value in expected.items():
        if key.startswith("~"):
            assert boot.series[key[1:]].samples == [value], key
        else:
            assert boot.value(key) == pytest.approx(value) if isinstance(value, float) else (
                boot.value(key) == value), key  # fmt: skip
    assert sorted(w.code for w in boot.warnings) == sorted(codes)


# boots and ranks


def test_boots_stay_apart_and_ranks_do_not(memory):
    boot = (
        "(APIServer pid={0}) INFO x vLLM API server version {1}\n"
        "(Worker_TP0 pid={0}1) INFO x Available KV cache memory: {2} GiB\n"
        "(Worker_TP1 pid={0}2) INFO x Available KV cache memory: {3} GiB\n"
        "(EngineCore_DP0 pid={0}3) INFO x GPU KV cache size: {4} tokens\n"
        "(APIServer pid={0}) INFO:     Application startup complete.\n"
    )
    text = boot.format(1, "0.20.0", 8.11, 7.95, "178,880") + boot.format(
        2, "0.26.0", 9.5, 9.5, "200,000"
    )
    first, second = boots_of(text, memory)
    assert first.values["memory_for_cache_gib"].by_rank == {"Worker_TP0": 8.11, "Worker_TP1": 7.95}
    assert first.value("memory_for_cache_gib") == 7.95
    assert first.values["memory_for_cache_gib"].line == 3
    assert second.value("memory_for_cache_gib") == 9.5
    assert not second.values["memory_for_cache_gib"].by_rank
    assert (first.release, second.release) == ("0.20.0", "0.26.0")
    assert "groups" in first.pool_meaning
    assert "concurrency times" in second.pool_meaning


def test_an_unknown_release_names_both_meanings(memory):
    boot = boots_of("GPU KV cache size: 178,880 tokens\n", memory)[0]
    assert "release is not known" in boot.pool_meaning
    assert "groups" in boot.pool_meaning
    assert "concurrency times" in boot.pool_meaning


def test_a_repeated_line_begins_a_boot_where_no_identity_line_does(memory):
    text = "Available KV cache memory: 8 GiB\nGPU KV cache size: 1,000 tokens\n" * 2
    assert len(boots_of(text, memory)) == 2


def test_pool_lines_of_unnamed_ranks_are_one_boot_and_far_figures_are_two(memory):
    line = "INFO kv_cache_utils.py:1] GPU KV cache size: {} tokens\n"
    assert len(boots_of(line.format("1,000") + line.format("1,016"), memory)) == 1
    assert len(boots_of(line.format("1,000") + line.format("9,000"), memory)) == 2


def test_a_draft_model_is_no_boot_of_its_own(memory):
    text = (
        "llama_model_loader: loaded meta data with 39 key-value pairs and 434 tensors\n"
        "load_tensors: offloaded 65/65 layers to GPU\n"
        "llama_model_loader: loaded meta data with 30 key-value pairs and 100 tensors\n"
        "load_tensors: offloaded 13/13 layers to GPU\n"
        "main: server is listening on http://127.0.0.1:8080 - starting the main loop\n"
    )
    (boot,) = boots_of(text, memory)
    assert (boot.value("model_layers"), boot.value("draft_model_layers")) == (65, 13)


def test_ollama_loads_one_model_after_another(memory):
    row = next(r for r in ROWS if r[0].endswith("issues/9181"))
    gpu = (
        'time=x level=INFO source=types.go:42 msg="inference compute" id=GPU-1 library=cuda '
        'variant=v12 compute=8.6 driver=12.4 name="NVIDIA RTX A6000" total="47.5 GiB"\n'
    )
    boots = boots_of(gpu + row[2] + row[2], memory)
    assert [b.value("n_ctx") for b in boots] == [64000, 64000]
    assert [b.value("compute_capability") for b in boots] == ["8.6", "8.6"]
    assert [b.value("device_name") for b in boots] == ["NVIDIA RTX A6000"] * 2


def test_engines_in_one_file_stay_apart(memory):
    text = "GPU KV cache size: 1,000 tokens\nKV Cache is allocated. #tokens: 7, KV size: 1.5 GB\n"
    reading = read_lines(text.splitlines(), memory)
    assert sorted(b.engine for b in reading.boots) == ["sglang", "vllm"]
    assert "several engines" in reading.notes[0]


def test_a_line_that_two_engines_print_alike_is_not_guessed(memory):
    text = "Your GPU does not have native support for FP8 computation but FP8 is being used.\n"
    reading = read_lines([text], memory)
    assert not reading.boots
    assert "vllm" in reading.notes[0]
    assert "sglang" in reading.notes[0]
    named = read_lines([text], memory, engine="vllm")
    assert named.boots[0].warnings[0].code == "weight_only_fp8"


# what a warning means on this hardware

NO_FP4 = "Your GPU does not have native support for FP4 computation but FP4 quantization is used."


@pytest.mark.parametrize(
    ("capability", "activation_bits", "real"),
    [
        (9.0, 4, True), (9.0, 16, False), (9.0, None, None), (12.0, 16, False), (12.0, 4, True),
        (12.0, None, None), (None, 4, None), (10.0, 16, False), (8.6, 4, True),
    ],
)  # fmt: skip
def test_no_native_fp4_is_read_for_the_chip_and_the_file(capability, activation_bits, real, memory):
    hardware = Hardware(capability=capability, activation_bits=activation_bits)
    boot = read_lines([NO_FP4], memory, engine="vllm", hardware=hardware).boots[0]
    assert boot.warnings[0].fallback_real is real


# refusals


@pytest.mark.parametrize(
    ("text", "because", "proposal", "values"),
    [
        pytest.param(
            "ValueError: To serve at least one request with the models's max seq len (262144), "
            "(62.00 GiB KV cache is needed, which is larger than the available KV cache memory "
            "(48.66 GiB). Based on the available memory, the estimated maximum model length is "
            "205728. Try\n", "max_model_len_exceeds_pool", "at most 205,728 tokens",
            {"max_model_len": 262144}, id="the engine's own proposal",
        ),
        pytest.param(
            "ValueError: To serve at least one request with the model's max seq len (16,384), 4.0 "
            "GiB KV cache is needed, which is larger than the available KV cache memory (2.5 GiB). "
            "Based on the available memory, the estimated maximum model length is 10,240.\n",
            "max_model_len_exceeds_pool", "at most 10,240 tokens", {"max_model_len": 16384},
            id="lengths with commas",
        ),
        pytest.param(
            "(EngineCore pid=316) ValueError: To serve at least one request with the model's max "
            "seq len (100000), (4.26 GiB KV cach\ne is needed, which is larger than the available "
            "KV cache memory (4.25 GiB). Based on the available memory, the estimated maximum "
            "model length is 99760.\n", "max_model_len_exceeds_pool", "at most 99,760 tokens",
            {"needed_gib": 4.26, "memory_for_cache_gib": 4.25, "max_model_len": 100000},
            id="a message that a terminal broke",
        ),
        pytest.param(
            "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (969). Each "
            "decode sequence requires one Mamba cache block, so CUDA graph capture cannot "
            "proceed.\n", "no_memory_for_state", "",
            {"max_num_seqs": 1024, "max_num_seqs_possible": 969}, id="fewer state blocks",
        ),
        pytest.param(
            "Available KV cache memory: -1.25 GiB\n", "no_memory_for_cache", "",
            {"memory_for_cache_gib": -1.25}, id="negative memory",
        ),
    ],
)  # fmt: skip
def test_the_reason_of_a_refusal_and_the_proposal_are_kept(text, because, proposal, values, memory):
    (boot,) = boots_of(text, memory)
    assert [(r.verdict, r.because, r.proposal) for r in boot.refusals] == [
        ("refused", because, proposal)
    ]
    assert {key: boot.value(key) for key in values} == values
    codes = ["negative_memory_for_cache"] if because == "no_memory_for_cache" else []
    assert [w.code for w in boot.warnings] == codes


# wrappers

LINE = "INFO 08-14 14:07:22 [kv_cache_utils.py:1] GPU KV cache size: 206,400 tokens"


@pytest.mark.parametrize(
    "wrapped",
    [
        LINE, f"\x1b[32m{LINE}\x1b[0m", f"vllm-1  | {LINE}",
        f"2026-08-14T14:07:22.123456789Z stderr F {LINE}",
        f"Aug 14 14:07:22 host vllm[123]: {LINE}", json.dumps({"log": LINE + "\n"}),
        json.dumps({"message": LINE, "level": "info"}), f"{LINE}\r", f"50%|###|\r{LINE}",
        f"(EngineCore_DP0 pid=9) \x1b[1;36m(EngineCore)\x1b[0m {LINE}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_wrappers_colours_and_encodings_come_off(wrapped, encoding, memory, tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(f"{wrapped}\n".encode(encoding))
    assert read_log(path, memory).boots[0].value("pool_tokens") == 206400


def test_gzip_is_read_and_a_damaged_one_says_so(memory, tmp_path):
    path = tmp_path / "x.log.gz"
    whole = gzip.compress((LINE + "\n").encode() * 1000)
    path.write_bytes(whole)
    assert read_log(path, memory).boots[0].value("pool_tokens") == 206400
    path.write_bytes(whole[: len(whole) - 9])
    assert read_log(path, memory).lines <= 1000
    path.write_bytes(b"\x1f\x8b\x08\x00nonsense")
    with pytest.raises(LogError, match="damaged"):
        read_log(path, memory)


def test_errors_name_the_file_and_the_fix(memory, tmp_path):
    with pytest.raises(LogError, match="cannot be read"):
        read_log(tmp_path / "none.log", memory)
    with pytest.raises(LogError, match="cannot be read"):
        read_log("a\0b", memory)
    with pytest.raises(InputError, match="no log of that engine"):
        read_lines([], memory, engine="gpt\x1b[31m")
    assert read_lines([], memory).notes == ["empty; give all that a server printed, from its start"]


# hostile text


def _repeats(expression):
    """Yield (nesting of unbounded or wide repeats, widest bound) of a parsed expression."""
    from re import _parser as parser

    def walk(tree, inside):
        for kind, argument in tree:
            name = str(kind)
            if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                _, high, body = argument
                wide = high > 1
                yield inside + wide, int(high)
                yield from walk(body, inside + wide)
            elif name == "SUBPATTERN":
                yield from walk(argument[-1], inside)
            elif name == "BRANCH":
                for branch in argument[1]:
                    yield from walk(branch, inside)
            elif name in ("ASSERT", "ASSERT_NOT"):
                yield from walk(argument[1], inside)

    yield from walk(parser.parse(expression), 0)


@pytest.mark.parametrize("engine", sorted(load_languages()))
def test_every_pattern_is_bounded_and_sourced(engine):
    language = load_languages()[engine]
    ids = [p.id for p in language.patterns if p.source]
    assert len(ids) == len(language.patterns)
    for pattern in language.patterns:
        for expression in (pattern.then, pattern.before):
            for nesting, bound in _repeats(expression):
                assert bound <= 600, pattern.id  # no * and no +
                assert nesting <= 2, pattern.id
        named = set(re.compile(pattern.then).groupindex) | set(
            re.compile(pattern.before).groupindex
        )
        assert set(pattern.fields) <= named, pattern.id
        assert named <= {*pattern.fields, "context", "device", "fallback"}, pattern.id
        if pattern.warning:
            assert language.warning(pattern.warning), pattern.warning


@pytest.mark.parametrize("engine", sorted(load_languages()))
def test_hostile_long_lines_cost_no_more_than_their_length(engine, memory):
    """Each literal many times over, each followed by what its expression almost takes."""
    language = load_languages()[engine]
    for pattern in language.patterns:
        for filling in ("", "9" * 400, "a" * 400, " " * 400, ",9" * 200, "(" * 50):
            line = (filling + pattern.at + filling) * (LINE_LIMIT // (len(pattern.at) + 801) + 1)
            pattern.read(line)  # pytest's time limit is the judge


def test_random_bytes_and_broken_lines_never_crash(memory, tmp_path):
    noise = random.Random(4)
    texts = [row[2].encode() for row in ROWS]
    for turn in range(150):
        raw = bytearray(noise.choice(texts) + noise.choice(texts) + noise.randbytes(300))
        for _ in range(noise.randrange(40)):
            raw[noise.randrange(len(raw))] = noise.randrange(256)
        del raw[noise.randrange(len(raw)) :]
        path = tmp_path / f"{turn}.log"
        path.write_bytes(raw)
        reading = read_log(path, memory)
        assert json.loads(reading.model_dump_json())
    for row in ROWS[:10]:
        assert read_lines(row[2].splitlines(), memory).boots


def test_a_line_without_end_is_cut_and_what_follows_is_read(memory, tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(b"x" * 5 * LINE_LIMIT + b"\n" + LINE.encode() + b"\n")
    reading = read_log(path, memory)
    assert reading.lines == 2
    assert reading.boots[0].values["pool_tokens"].line == 2


def test_memory_stays_bounded_over_many_samples(memory):
    line = "Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: {}.5 tokens/s, " \
           "Running: 1 reqs, Waiting: 0 reqs\n"  # fmt: skip
    (boot,) = boots_of("".join(line.format(n) for n in range(5000)), memory)
    series = boot.series["generation_tokens_per_s"]
    assert (series.count, series.low, series.high) == (5000, 0.5, 4999.5)
    assert series.mean == pytest.approx(2500.0)
    assert len(series.samples) <= 512


# a prediction against the log, and the text


@pytest.mark.parametrize(
    ("predicted", "outcome"),
    [
        (Predicted(part="linear", arithmetic="w4a16", family="Marlin"), "confirmed"),
        (Predicted(part="linear", arithmetic="w4a16"), "confirmed"),
        (Predicted(part="linear", family="Marlin"), "confirmed"),
        (Predicted(part="linear", arithmetic="fp4xfp4"), "refuted"),
        (Predicted(part="linear", arithmetic="w4a16", family="CUTLASS"), "refuted"),
        (Predicted(part="moe", arithmetic="fp4xfp4", family="FlashInfer CUTLASS"), "confirmed"),
        (Predicted(part="attention", arithmetic="bf16"), "unconfirmed"),
        (Predicted(part="linear"), "unconfirmed"),
    ],
)
def test_a_prediction_is_confirmed_refuted_or_left_open(predicted, outcome, memory):
    text = (
        "Using MarlinNvFp4LinearKernel for NVFP4 GEMM\n"
        "Using 'FLASHINFER_CUTLASS' NvFp4 MoE backend out of potential backends: ['MARLIN'].\n"
    )
    (boot,) = boots_of(text, memory)
    (row,) = against([predicted], boot)
    assert row.outcome == outcome
    assert row.reason


@pytest.mark.parametrize(
    ("family", "arithmetic", "outcome"),
    [
        ("FlashAttention", None, "confirmed"),
        ("library matrix product, FlashAttention family", "16-bit", "unconfirmed"),
        ("FlashInfer TRTLLM-gen", "fp8xfp8", "unconfirmed"),
    ],
)
def test_the_name_of_an_attention_backend_refutes_nothing(family, arithmetic, outcome, memory):
    """FLASH_ATTN is how vLLM spells FlashAttention, and says nothing of its operands."""
    (boot,) = boots_of(
        "Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN'].\n", memory
    )
    rows = [Predicted(part="attention", arithmetic=arithmetic, family=family)]
    assert [row.outcome for row in against(rows, boot)] == [outcome]


def test_experts_may_fall_back_while_dense_layers_do_not(memory):
    row = next(r for r in ROWS if r[0].endswith("issues/43507"))
    (boot,) = boots_of(row[2], memory)
    parts = ran(boot)
    assert (parts["linear"].arithmetic, parts["moe"].arithmetic) == ("fp4xfp4", "w4a16")
    assert whole(parts) is None


def test_parts_of_a_mixed_file_are_told_apart_by_their_encoding(memory):
    text = (
        "Using MarlinNvFp4LinearKernel for NVFP4 GEMM\n"
        "Selected CutlassFP8ScaledMMLinearKernel for CompressedTensorsW8A8Fp8\n"
    )
    (boot,) = boots_of(text, memory)
    rows = against(
        [
            Predicted(part="linear", arithmetic="w4a16", storage="nvfp4", weight_bits=4),
            Predicted(part="linear", arithmetic="fp8xfp8", storage="fp8", weight_bits=8),
            Predicted(part="linear", arithmetic="w4a16", storage="int4", weight_bits=4),
            Predicted(part="linear", arithmetic="fp8xfp8", storage="mxfp8", weight_bits=8),
        ],
        boot,
    )
    assert [r.outcome for r in rows] == ["confirmed", "confirmed", "unconfirmed", "unconfirmed"]


def test_a_warning_alone_proves_the_arithmetic_of_the_weights(memory):
    boot = read_lines([NO_FP4], memory, engine="vllm").boots[0]
    rows = against([Predicted(part="linear", arithmetic="fp4xfp4")], boot)
    assert (rows[0].outcome, rows[0].line) == ("refuted", 1)


def test_the_text_is_readable_and_holds_no_control_characters(memory):
    row = next(r for r in ROWS if r[0].endswith("issues/9181"))
    hostile = "vLLM API server version 0.9\nmodel='\x1b]0;x\x07\x9b31m'\nResolved architecture: A\n"
    for text in (row[2], hostile, *(r[2] for r in ROWS)):
        said = describe_log(read_lines(text.splitlines(), memory))
        assert all(c.isprintable() or c == "\n" for c in said)
        assert max(map(len, said.splitlines())) <= 130


def test_names_choose_the_chip_and_the_file(tmp_path):
    path = tmp_path / "x.log"
    path.write_text(
        f"vLLM API server version 0.26.0\nUsing MarlinNvFp4LinearKernel for NVFP4 GEMM\n{NO_FP4}\n"
    )
    found = read_log_by_name(
        path, machine="rtx_5090", model="Qwen/Qwen3.6-27B", artifact="nvidia/Qwen3.6-27B-NVFP4"
    )
    assert found.reading.boots[0].warnings[0].fallback_real is False
    by_prediction = {c.predicted: c.outcome for c in found.checks[0] if c.part == "linear"}
    assert [o for p, o in by_prediction.items() if "w4a16" in p] == ["confirmed"]
    assert [o for p, o in by_prediction.items() if "fp8" in p] == ["unconfirmed"]
    said = describe_log(found.reading, found.checks)
    assert "confirmed" in said
    with pytest.raises(InputError, match="artifacts; name one"):
        read_log_by_name(path, model="Qwen/Qwen3.6-27B")


def test_the_embedded_engine_writes_a_log_that_is_read(memory):
    """The real server: its own timings are found, and each start is one boot."""
    require_engine()
    with EmbeddedEngine(context_tokens=512) as engine:
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
        request = urllib.request.Request(
            f"{engine.endpoint.base_url}/v1/chat/completions".replace("/v1/v1", "/v1"),
            json.dumps(body).encode(), {"Content-Type": "application/json"},
        )  # fmt: skip
        with urllib.request.urlopen(request, timeout=60) as answer:
            used = json.load(answer)["usage"]
    text = engine.log_tail(10_000)  # whole by now: timings are printed after the answer
    reading = read_lines(text.splitlines(), memory)
    (boot,) = reading.boots
    assert boot.engine == "llama.cpp"
    assert boot.value("slot_context") == 512
    assert boot.series["generated_tokens"].samples == [used["completion_tokens"]]
    assert boot.series["prompt_tokens"].samples == [used["prompt_tokens"]]


def test_many_starts_and_many_ranks_stay_bounded(memory):
    start = "vLLM API server version 0.26.0\nAvailable KV cache memory: 8 GiB\n"
    reading = read_lines((start * 1200).splitlines(True), memory)
    assert len(reading.boots) == 1000
    assert "first 1,000 starts" in reading.notes[0]
    line = "(RayWorker pid={}) INFO x Available KV cache memory: {} GiB\n"
    (boot,) = read_lines([line.format(n, 8 + n % 3) for n in range(3000)], memory).boots
    assert len(boot.values["memory_for_cache_gib"].by_rank) <= 513
    assert boot.value("memory_for_cache_gib") == 8


def test_a_line_without_end_is_no_log(tmp_path, memory):
    path = tmp_path / "sparse.log"
    with path.open("wb") as file:
        file.truncate(2**29)  # nothing of it is on the disk
    with pytest.raises(LogError, match=r"sparse\.log: a line of 256 MiB, so no log"):
        read_log(path, memory)


TURN = """\
(APIServer pid=1) INFO 09-02 10:00:00 [api_utils.py:339] version 0.29.0
(EngineCore pid=PID) INFO 09-02 10:00:01 [core.py:114] Initializing a V1 LLM engine (v0.29.0) with \
config: model='MODEL', max_seq_len=32768, tensor_parallel_size=1
(EngineCore pid=PID) INFO 09-02 10:00:02 [gpu_worker.py:563] Available KV cache memory: GIB GiB
(EngineCore pid=PID) INFO 09-02 10:00:03 [kv_cache_utils.py:2235] GPU KV cache size: POOL tokens
"""


def server(pid, model, gib, pool):
    """Lines of one server's start."""
    told = {"PID": pid, "MODEL": model, "GIB": gib, "POOL": pool}
    return re.sub("|".join(told), lambda m: told[m[0]], TURN).splitlines()


@pytest.mark.parametrize(("one", "other", "pid"), [
    ("", "", "999"), ("vllm-a  | ", "vllm-b  | ", "140"),
    ("[pod/vllm-7f9c-a/main] ", "[pod/vllm-7f9c-b/main] ", "140"),
])  # fmt: skip
def test_two_servers_whose_lines_take_turns_are_two(one, other, pid, memory):
    """By the process of the core, or by what a collector writes before each line."""
    pair = zip(server("140", "a/one", "11.15", "91,328"), server(pid, "b/two", "5.57", "45,664"),
               strict=True)  # fmt: skip
    reading = read_lines((line for a, b in pair for line in (one + a, other + b)), memory)
    keys = ("model", "memory_for_cache_gib", "pool_tokens")
    assert [tuple(b.values[k].value for k in keys) for b in reading.boots] == [
        ("a/one", 11.15, 91_328), ("b/two", 5.57, 45_664),
    ]  # fmt: skip
    assert any("several servers are mixed" in note for note in reading.notes) == (not one)


#: A node of a server over two: what its ranks hold, and what says that the nodes belong together.
NODES = {
    "sglang": """\
[2026-06-01 10:00:00] server_args=ServerArgs(model_path='a/one', tp_size=4, nnodes=2, \
node_rank=NODE, dist_init_addr='AT:5000')
[2026-06-01 10:00:09 TPLOW] Load weight end. elapsed=9.1 s, type=X, dtype=torch.bfloat16, \
avail mem=40.10 GB, mem usage=38.20 GB.
[2026-06-01 10:00:11 TPHIGH] KV Cache is allocated. dtype: torch.bfloat16, #tokens: POOL, \
K size: 8.23 GB, V size: 8.23 GB
""",
    "vllm": """\
NODE
(Worker_TPLOW pid=3) INFO 06-01 10:00:09 [gpu_model_runner.py:9] Model loading took 38.20 GiB \
memory and 9.1 seconds
(Worker_TPHIGH pid=4) INFO 06-01 10:00:11 [gpu_worker.py:563] Available KV cache memory: POOL GiB
""",
}  # fmt: skip


#: vLLM's first node prints its settings, the others where they look for it.
SERVES = [
    "INFO 06-01 10:00:00 vLLM API server version 0.16.0\n(APIServer pid=1) INFO 06-01 10:00:00 "
    "[utils.py:278] non-default args: {'model': 'a/one', 'nnodes': 2, 'master_addr': 'AT'}",
    "INFO 06-01 10:00:00 [serve.py:216] Launching vLLM (v0.16.0) headless multiproc executor, with "
    "head node address AT:29501 for torch.distributed process group.",
]


def node(engine, number, at, pool):
    """Lines of one node, as ``kubectl logs --prefix`` gives them."""
    said = str(number) if engine == "sglang" else SERVES[number]
    told = {"AT": at, "POOL": pool, "LOW": str(2 * number),
            "HIGH": str(2 * number + 1)}  # fmt: skip
    text = NODES[engine].replace("NODE", said)
    lines = re.sub("|".join(told), lambda m: told[m[0]], text).splitlines()
    return [f"[pod/{at}-{number}/main] {line}" for line in lines]


@pytest.mark.parametrize(("engine", "key", "pools", "least"), [
    ("sglang", "pool_tokens", ("367404", "366000"), 366_000),
    ("vllm", "memory_for_cache_gib", ("8.11", "8.02"), 8.02),
])  # fmt: skip
def test_nodes_of_one_server_are_one_boot(engine, key, pools, least, memory):
    """Nodes that meet at one address; another address, or the same node again, is another start."""
    one, two = (node(engine, number, "lws-a", pool) for number, pool in enumerate(pools))
    turns = [line for pair in zip_longest(one, two) for line in pair if line]
    for lines in (turns, one + two, two + one):
        (boot,) = read_lines(lines, memory).boots
        assert boot.values[key].value == least
        assert boot.ranks == sorted(boot.ranks)
        assert len(boot.ranks) >= 4
        assert boot.values["weights_gib"].value == 38.2
        assert (boot.first_line, boot.last_line) == (1, len(lines))
    other = node(engine, 1, "lws-b", pools[1])
    assert len(read_lines(one + other, memory).boots) == 2
    assert len(read_lines(turns + turns, memory).boots) == 2


@pytest.mark.parametrize(("size", "told"), [("8", True), ("1", False), ("'x'", False)])
def test_a_pool_of_data_parallel_ranks_is_one_ranks(size, told, memory):
    args, *rest = NODES["sglang"].replace("NODE", f"0, dp_size={size}").splitlines()
    (boot,) = read_lines([args, *(line.replace("POOL", "367404") for line in rest)], memory).boots
    assert boot.value("pool_tokens") == 367_404
    assert (f"one of {size} ranks" in boot.pool_meaning) == told


@pytest.mark.parametrize("prefix", ["INFO | ", "WARNING  | ", "12 | ", "vllm-1  | "])
def test_a_level_or_a_number_before_a_line_is_no_server(prefix, memory):
    lines = server("140", "a/one", "11.15", "91,328")
    levels = [prefix.replace("INFO", "DEBUG").replace("12", str(n)) if n % 2 else prefix
              for n in range(len(lines))]  # fmt: skip
    reading = read_lines((p + line for p, line in zip(levels, lines, strict=True)), memory)
    assert len(reading.boots) == 1
    assert reading.boots[0].values["pool_tokens"].value == 91_328


def test_a_start_after_another_is_no_mixture(memory):
    lines = [*server("140", "a/one", "11.15", "91,328"), *server("140", "a/one", "5.57", "45,664"),
             *server("151", "a/one", "5.57", "45,664")]  # fmt: skip
    reading = read_lines(lines, memory)
    assert [b.values["pool_tokens"].value for b in reading.boots] == [91_328, 45_664, 45_664]
    assert not any("mixed" in note for note in reading.notes)
