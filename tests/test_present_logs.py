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
    assert told.keys() == {"memory", "warning"}
    assert "a line is known by its literal text" in told["memory"]
    assert "the first reading whose conditions hold" in told["warning"]
    for text in told.values():
        assert "https://" in text
        assert re.search(r'class="unbroken">\d{4}', text)


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
