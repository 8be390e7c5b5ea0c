"""Which harness wrote a result file, told by what is in it."""

import json
from typing import Any

from stackchoice.errors import InputError
from stackchoice.facts.yaml import shown
from stackchoice.importers import aiperf, guidellm, inferenceperf, llamabench, serving
from stackchoice.importers.run import Run
from stackchoice.importers.values import rows
from stackchoice.load.untrusted import parse_json

ACCEPTED = (
    "vllm bench serve (JSON)", "sglang.bench_serving (JSONL)", "GuideLLM (JSON)",
    "AIPerf (profile_export_aiperf.json, profile_export.jsonl, profile_export_raw.jsonl)",
    "inference-perf (stage_N_lifecycle_metrics.json and the summary)",
    "llama-bench (JSON, JSONL, CSV, Markdown)",
)  # fmt: skip


def read_runs(text: str, name: str) -> list[Run]:
    """Read every run of a text, whichever of the known formats it has.

    InputError where it has none.
    """
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        tree = None
    if isinstance(tree, dict):
        found = _objects([tree], name)
    elif isinstance(tree, list):
        found = _objects(rows(tree), name)
    else:
        found = _objects(_lines(text, name), name) or _table(text)
    if not found:
        if name.endswith((".yaml", ".yml")):
            raise InputError(
                f"{shown(name)}: no result of a harness; two scenarios are held against each other "
                "by `stackchoice decide SCENARIO --against OTHER`"
            )
        cut = "no whole JSON, so " if tree is None and text.lstrip().startswith(("{", "[")) else ""
        raise InputError(
            f"{shown(name)}: {cut}no result of a known harness; accepted are: {'; '.join(ACCEPTED)}"
        )
    return found


def _objects(trees: list[dict[str, Any]], name: str) -> list[Run]:
    if not trees:
        return []
    first = trees[0]
    if str(first.get("format", "")).startswith("stackchoice-passport/"):
        raise InputError(f"{shown(name)}: is a passport already; give it to `stackchoice compare`")
    if all(map(llamabench.is_llamabench, trees)):
        return llamabench.read_tests(trees)
    if all(map(aiperf.is_aiperf_raw, trees)):
        return [aiperf.read_raw(trees)]
    if all(map(aiperf.is_aiperf_record, trees)):
        return [aiperf.read_records(trees)]
    if len(trees) == 1 and guidellm.is_guidellm(first):
        return guidellm.read_guidellm(first)
    found = []
    for tree in trees:
        if aiperf.is_aiperf(tree):
            found.append(aiperf.read_summary(tree))
        elif inferenceperf.is_inference_perf(tree):
            found.append(inferenceperf.read_inference_perf(tree))
        elif serving.is_sglang(tree):
            found.append(serving.read_serving(tree, "sglang-bench"))
        elif serving.is_vllm(tree):
            found.append(serving.read_serving(tree, "vllm-bench"))
        else:
            return []
    return found


def _lines(text: str, name: str) -> list[dict[str, Any]]:
    """Return the objects of JSON lines; nothing where the first line is none.

    InputError where a later one is none. A text inside a line may hold other ends of lines.
    """
    found = []
    for place, line in enumerate(text.split("\n"), 1):
        row = parse_json(line)
        if row is not None:
            found.append(row)
        elif line.strip() and not found:
            return []
        elif line.strip():
            raise InputError(
                f"{shown(name)}:{place}: no whole JSON object, and the lines before are; the file "
                "is damaged or was cut off: copy or export it again"
            )
    return found


def _table(text: str) -> list[Run]:
    head = text.lstrip("\ufeff \n").split("\n", 1)[0]
    if "avg_ts" in head and "n_prompt" in head:
        return llamabench.read_tests(llamabench.read_csv(text))
    return llamabench.read_tests(llamabench.read_markdown(text))
