"""The log panel: the shipped sample, another path, another chip, and a path that is none."""

import re

from stackchoice.present.logs import BY_TEXT, LogPanel
from stackchoice.present.logtext import boot_rows
from stackchoice.read.log_reader import read_log


def test_the_sample_is_read_and_a_wrong_path_keeps_the_last_result(facts):
    panel = LogPanel(facts)
    assert "6.87 GiB" in panel.view.value
    assert "cuda_graph_memory_inside_budget" in panel.view.value
    panel.fields["path"].value = "/no/such.log"
    assert "cannot be read" in panel.error
    assert "6.87 GiB" in panel.view.value


def test_chip_and_checkpoint_decide_what_a_warning_means(facts, tmp_path):
    path = tmp_path / "x.log"
    path.write_text(
        "Resolved architecture: A\n<script>alert(1)</script> Using max model len 7\n"
        "Your GPU does not have native support for FP4 computation but FP4 is used.\n"
    )
    panel = LogPanel(facts, path=str(path))
    assert "neither is known" in panel.view.value
    panel.set("machine", "rtx_5090")
    assert "its activation bits decide" in panel.view.value
    panel.set("served", "Qwen/Qwen3.6-27B nvidia/Qwen3.6-27B-NVFP4")
    assert "the file is weight-only" in panel.view.value
    panel.set("machine", BY_TEXT)
    assert "<script>" not in panel.view.value


def test_each_row_of_a_log_tells_whose_line_it_is_and_since_when(facts):
    page = LogPanel(facts).view.value
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td></tr>', page, re.DOTALL)
    told = {heading: text for heading, text in rows if "Why?" in text}
    assert told.keys() == {"ranks", "memory", "warning"}
    assert "a line is known by its literal text" in told["memory"]
    assert "the first reading whose conditions hold" in told["warning"]
    for text in (told["memory"], told["warning"]):
        assert "https://" in text
        assert re.search(r'class="unbroken">\d{4}', text)


def test_rows_of_several_lines_tell_which_lines_and_how_far_they_spread(facts, tmp_path):
    path = tmp_path / "x.log"
    path.write_text(
        "(Worker_TP0 pid=1) INFO x Available KV cache memory: 8.11 GiB\n"
        "(Worker_TP1 pid=2) INFO x Available KV cache memory: 7.95 GiB\n"
        + "".join(
            "INFO x Engine 000: Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: "
            f"{rate} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%, "
            "Prefix cache hit rate: 0.0%\n"
            for rate in (3.0, 5.0, 10.0)
        )
        + "ValueError: To serve at least one request with the model's max seq len (16,384), 4.0 "
        "GiB KV cache is needed, which is larger than the available KV cache memory (7.95 GiB). "
        "Based on the available memory, the estimated maximum model length is 10,240.\n"
    )
    page = LogPanel(facts, path=str(path)).view.value
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td></tr>', page, re.DOTALL)
    told = {heading: " ".join(text.split()) for heading, text in rows if "Why?" in text}
    assert "2 ranks in lines 1 to 6" in told["ranks"]
    assert "line 2; Worker_TP0 8.11, Worker_TP1 7.95" in told["ranks"]
    assert "7.95 to 8.11" in told["ranks"]
    assert "generation tokens per s: 3 to 10, mean 6" in told["samples"]
    assert "3 samples in lines 3 to 5" in told["samples"]
    assert "it proposes at most 10,240 tokens, as printed" in told["refused"]
    assert "https://" in told["refused"]
    assert "line 6; too_long; proposal; ValueError: To serve" in told["refused"]


def test_what_was_predicted_and_what_the_pool_counts_tell_why(facts, tmp_path):
    path = tmp_path / "x.log"
    path.write_text(
        "INFO x vLLM API server version 0.26.0\n"
        "INFO x Using MarlinNvFp4LinearKernel for NVFP4 GEMM\n"
        "INFO x GPU KV cache size: 448,448 tokens\n"
    )
    served = "Qwen/Qwen3.6-27B nvidia/Qwen3.6-27B-NVFP4"
    page = LogPanel(facts, path=str(path), machine="rtx_5090", served=served).view.value
    assert ": vLLM 0.26.0" in page
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td></tr>', page, re.DOTALL)
    told = {heading: " ".join(text.split()) for heading, text in rows if "Why?" in text}
    against = next(told[name] for name in ("confirmed", "refuted", "unconfirmed") if name in told)
    assert "the kernel path of this release, artifact and chip" in against
    assert "concurrency times the longest request" in told["meaning"]
    assert "since 0.20.1" in told["meaning"]
    assert "https://" in told["meaning"]


def test_a_start_that_no_line_calls_refused_is_inferred_to_be(facts, tmp_path):
    path = tmp_path / "x.log"
    path.write_text("Available KV cache memory: -1.25 GiB\n")
    page = LogPanel(facts, path=str(path)).view.value
    refused = page.split("refused because", 2)[2].split("</details>")[0]
    assert "no line says so" in refused
    assert "inferred" in refused
    assert "-1.25 GiB" in refused


def test_what_sglang_prints_of_its_pool_stands_beside_what_it_counts(facts, tmp_path):
    path = tmp_path / "x.log"
    path.write_text(
        "[2025-11-11 04:05:43] KV Cache is allocated. #tokens: 183133, K size: 11.18 GB, "
        "V size: 11.18 GB\n[2025-11-11 04:05:43] Memory pool end. avail mem=5.51 GB\n"
    )
    (boot,) = read_log(path, facts.memory).boots
    rows = boot_rows(boot)
    (at,) = [n for n, (heading, text) in enumerate(rows) if "pool tokens 183,133" in text]
    assert rows[at][0] == "pool"
    assert "free after pool 5.51 GiB" in rows[at][1]
    assert rows[at + 1][1].startswith("what the figure counts: tokens")
