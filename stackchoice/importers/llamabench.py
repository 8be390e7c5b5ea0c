"""Output of ``llama-bench`` as JSON, JSONL, CSV or Markdown.

Rows of one configuration at one depth belong together: a prompt test (``pp``) gives the prefill
rate, a generation test (``tg``) the decode rate. A test of both gives neither.
"""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

from stackchoice.importers.run import Found, Run
from stackchoice.importers.values import lengths, number, plain, spread, spread_of, whole, words
from stackchoice.load.harnesses import known
from stackchoice.load.records import Spread

TEST = re.compile(r"(?:pp([0-9]{1,15}))?\+?(?:tg([0-9]{1,15}))?(?: @ d([0-9]{1,15}))?")
RATE = re.compile(r"([\d.]+)\s*(?:±|\+/-)?\s*([\d.]*)")
BUILD = re.compile(r"^build:\s*(\S+)\s*\((\d+)\)", re.M)
#: What stands behind the size in a description like "qwen3 8B Q4_K - Medium".
ENCODING = re.compile(r"(?:^|\s)(?:\d[\d.x]*[BMK](?:\.A\d[\d.]*B)?)\s+(\S.*)$")


def is_llamabench(row: dict[str, Any]) -> bool:
    """Whether a JSON object is one test."""
    return {"n_prompt", "n_gen", "avg_ts"} <= set(row)


def read_csv(text: str) -> list[dict[str, Any]]:
    """Return the rows of the CSV output."""
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        return [row for row in rows if row.get("avg_ts")]
    except csv.Error:  # a field of megabytes
        return []


def read_markdown(text: str) -> list[dict[str, Any]]:
    """Return the rows of the Markdown output, which has columns for what is not the default."""
    header: list[str] = []
    found: list[dict[str, Any]] = []
    build, names = BUILD.search(text), known("llama-bench")["columns"]
    for line in text.split("\n"):
        if not line.strip().startswith("|"):
            continue
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if "test" in cells and "t/s" in cells:
            header = cells
        elif header and len(cells) == len(header) and not set(cells[0]) <= set("-: "):
            row: dict[str, Any] = {names.get(k, k): v for k, v in zip(header, cells, strict=True)}
            test, rate = TEST.fullmatch(row.pop("test")), RATE.match(row.pop("t/s"))
            if not test or not rate:
                continue
            sizes = (int(test[k] or 0) for k in (1, 2, 3))
            row |= dict(zip(("n_prompt", "n_gen", "n_depth"), sizes, strict=True))
            row |= {"avg_ts": rate[1], "stddev_ts": rate[2]}
            if build:
                row |= {"build_commit": build[1], "build_number": build[2]}
            found.append(row)
    return found


def read_tests(rows: Iterable[dict[str, Any]]) -> list[Run]:
    """Join the tests of one configuration at one depth; several sizes stay runs of their own."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        key = repr(sorted(_configuration(row).items())) + f" d{whole(row.get('n_depth')) or 0}"
        groups.setdefault(key, []).append(row)
    runs = []
    for group in groups.values():
        prompts = [r for r in group if whole(r.get("n_prompt")) and not whole(r.get("n_gen"))]
        answers = [r for r in group if whole(r.get("n_gen")) and not whole(r.get("n_prompt"))]
        both = [r for r in group if r not in prompts and r not in answers]
        if len(prompts) == len(answers) == 1:
            runs.append(_run(prompts[0], answers[0]))
        else:
            runs += [_run(r, None) for r in prompts] + [_run(None, r) for r in answers]
        runs += [_mixed(r) for r in both]
    return runs


def _configuration(row: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in plain(row).items() if k not in known("llama-bench")["results"]}


def _run(prompt: dict[str, Any] | None, answer: dict[str, Any] | None) -> Run:
    row = prompt or answer or {}
    decode, prefill = _rates(answer), _rates(prompt)
    depth = whole(row.get("n_depth")) or 0
    sizes = {"depth": depth, "prompt": whole(prompt["n_prompt"]) if prompt else None,
             "answer": whole(answer["n_gen"]) if answer else None}  # fmt: skip
    itl = None
    if decode:
        itl = spread(n=decode.n, median=1 / decode.median, low=_inverse(decode.high),
                     high=_inverse(decode.low))  # fmt: skip
    times = [v for r in (prompt, answer) if r for v in [words(str(r.get("test_time") or ""))] if v]
    return Run(
        harness="llama-bench",
        harness_revision=_build(row),
        asked=sizes,
        identity=(_identity(row),),
        concurrency=1,
        arrival_pattern="the engine alone: one test after the other, no server",
        sampling_settings={"sampler": "none: random tokens"},
        input_lengths=_length(sizes["prompt"], depth),
        output_lengths=_length(sizes["answer"], 0),
        prompt_version="random tokens",
        decode_tokens_per_s=decode,
        prefill_tokens_per_s=prefill,
        itl_s=itl,
        started_at=min(times, default=None),
        notes=tuple(
            f"{name}: standard deviation {value:g} tokens/s"
            for name, r in (("prefill", prompt), ("decode", answer)) if r
            for value in [number(r.get("stddev_ts"))] if value is not None
        ),
    )  # fmt: skip


def _mixed(row: dict[str, Any]) -> Run:
    rate = number(row.get("avg_ts"))
    text = f"pp{whole(row.get('n_prompt'))}+tg{whole(row.get('n_gen'))}: {rate} tokens/s"
    return _run(None, None).model_copy(update={
        "identity": (_identity(row),), "asked": {"test": text}, "harness_revision": _build(row),
        "input_lengths": None, "output_lengths": None,
        "notes": (f"{text} of prompt and answer together: neither a prefill nor a decode rate",),
    })  # fmt: skip


def _length(tokens: int | None, depth: int) -> Any:
    if tokens is None:
        return None
    asked = f"{tokens} tokens" + (f" at depth {depth}" if depth else "")
    return lengths(asked=asked, mean=tokens, low=tokens, p50=tokens, high=tokens)


def _rates(row: dict[str, Any] | None) -> Spread | None:
    if row is None:
        return None
    samples = row.get("samples_ts")
    if isinstance(samples, list) and (rates := [v for v in map(number, samples) if v]):
        return spread_of(rates)
    mean = number(row.get("avg_ts"))
    return spread(n=None, mean=mean) if mean else None


def _inverse(rate: float | None) -> float | None:
    return 1 / rate if rate else None


def _build(row: dict[str, Any]) -> str | None:
    build, commit = whole(row.get("build_number")), words(str(row.get("build_commit") or ""))
    if build:
        return f"b{build}" + (f" ({commit})" if commit else "")
    return commit


def _identity(row: dict[str, Any]) -> Found:
    described = words(row.get("model_type"))
    encoding = ENCODING.search(described or "")
    keys, values = words(row.get("type_k")), words(row.get("type_v"))
    cache = keys if keys == values else f"{keys} keys, {values} values"
    settings = {k: v for k, v in _configuration(row).items()
                if k not in ("model_type", "model_filename", "type_k", "type_v", "build_commit",
                             "build_number", "gpu_info", "size", "params")}  # fmt: skip
    items = {
        "model": described, "artifact": words(row.get("model_filename")),
        "artifact_bytes": whole(row.get("model_size")), "runtime": "llama.cpp",
        "runtime_build": _build(row), "weight_format": encoding[1] if encoding else None,
        "kv_format": cache if keys and values else None, "gpu": words(row.get("gpu_info")),
        "speculative_decoder": "none", "settings": settings,
    }  # fmt: skip
    return Found(items=items)
