"""Ask this product and five public calculators the same capacity questions of the ledger.

Usage::

    python tests/benchmarks/peers.py --venv /tmp/peers      # installs them there on first use
    python tests/benchmarks/peers.py --python /path/to/python-that-has-them [--lines]

The peers are no dependency: each runs in that other Python, through ``peer_worker.py``. Only
``--venv`` of a folder that does not exist yet uses the network.
"""

import argparse
import datetime
import json
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from stackchoice import __version__
from stackchoice.facts.load import Facts, data_dir, load_facts
from stackchoice.facts.yaml import read_yaml
from stackchoice.score.judge import judge
from stackchoice.score.run import score_lines

PINNED = ("kvfit==0.3.0", "vramscout==0.7.0", "ridgepoint==0.1.2", "hf-mem==0.5.6",
          "chimeraforge==0.76.0")  # fmt: skip
PEERS = tuple(pin.split("==")[0] for pin in PINNED)
#: The asks compared, and the one key of their answers that is.
ASKS = {
    "kv_bytes_per_token": "bytes", "cache_bytes": "bytes", "state_bytes_per_sequence": "bytes",
    "pool_tokens": "tokens", "max_concurrency": "requests",
}  # fmt: skip
#: Two lengths beyond every window; between them the cost of a token is a difference.
FAR = 2**17
#: Treatments of sliding layers that a question may ask for, by what a peer does.
SLIDING = {
    "charged": ("charged",), "ignored": ("charged",), "charged_as_full": ("charged",),
    "window_exact": ("capped",), "excluded": ("capped", "dropped"),
}  # fmt: skip
#: What a question may ask for and no peer has an input for.
NO_INPUT = ("engine_expands_mla", "kv_bytes_per_head_k_plus_v", "conv_excluded")

Question = dict[str, Any]


class Row(NamedTuple):
    """One question as one tool answered it: ``error`` is relative, None where it refused."""

    question: Question
    error: float | None
    right: bool
    reason: str


def questions() -> list[Question]:
    """Return the questions that a config, and for a pool its bytes of memory, can answer."""
    assumed = read_yaml(data_dir() / "ledger_only.yaml")["cases"]
    found = []
    for line in (data_dir() / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key, given = ASKS.get(row["ask"]), row["given"]
        pool = key in ("tokens", "requests")
        if (
            key in row["answer"] and given.get("config") and row["case"] not in assumed
            and (not pool or "memory_for_cache_bytes" in given)
        ):  # fmt: skip
            found.append({**row, "answer": {key: row["answer"][key]}})
    return found


def kind(question: Question) -> str:
    """Name what a model keeps, from the keys of its config, and whether a draft runs beside it."""
    given = question["given"]
    text = {**given["config"], **(given["config"].get("text_config") or {})}
    if text.get("kv_lora_rank"):
        name = "latent"
    elif {"linear_num_value_heads", "mamba_num_heads", "state_size"} & text.keys():
        name = "hybrid"
    else:
        name = "sliding" if "sliding_attention" in text.get("layer_types", ()) else "dense"
    drafts = (given.get("settings") or {}).get("num_speculative_tokens")
    return f"{name}, draft" if drafts or given.get("include_mtp_layers") else name


def lengths(question: Question) -> list[int]:
    """Return the sequence lengths at which a peer is asked."""
    given = question["given"]
    own = given.get("tokens") or given.get("n_ctx") or full_length(given)
    return [FAR, 2 * FAR, own or FAR]


def full_length(given: Question) -> int | None:
    """Return the length of a full request."""
    settings = given.get("settings") or {}
    return settings.get("max_model_len") or settings.get("context_length")


def compose(question: Question, found: dict[str, Any]) -> float | str:
    """Form the figure asked from what a peer says of a sequence, or say why it cannot be."""
    given, ask = question["given"], question["ask"]
    if "refused" in found:
        return found["refused"]
    policy = given.get("sliding_layers") or given.get("swa_policy")
    if policy and found["sliding"] not in SLIDING[policy]:
        return f"sliding layers are {found['sliding']}, asked {policy}"
    near, far, own = found["held"]
    per_token = (far["kv"] - near["kv"]) / FAR
    if ask == "kv_bytes_per_token":
        return per_token
    if ask == "state_bytes_per_sequence":
        return "no recurrent state" if own["state"] is None else own["state"]
    if ask == "cache_bytes":
        return own["kv"] * (given.get("n_parallel") or 1)
    memory, length = given["memory_for_cache_bytes"], full_length(given)
    if ask == "max_concurrency":
        return memory / (own["kv"] + (own["state"] or 0))
    return memory * length / (own["kv"] + (own["state"] or 0)) if length else memory / per_token


def judged(question: Question, value: float | str) -> Row:
    """Compare a figure with the answer by the rules of the score room."""
    if isinstance(value, str):
        return Row(question, None, False, value)
    ((key, answer),) = question["answer"].items()
    found = judge({key: value}, question["answer"], question["tolerance"])
    return Row(question, abs(value - answer) / abs(answer), found.right, found.reason)


def ask_peer(peer: str, python: str, asked: list[Question]) -> tuple[str, list[Row]]:
    """Return a peer's version and its rows."""
    launches = [
        {
            "config": q["given"]["config"],
            "kv_dtype": q["given"].get("kv_dtype") or "bf16",
            "tp": q["given"].get("tp") or 1,
            "engine": q["given"].get("engine"),
            "draft_layers": q["given"].get("include_mtp_layers") or 0,
            "tokens": lengths(q),
        }
        for q in asked
    ]
    command = [python, str(Path(__file__).with_name("peer_worker.py")), peer]
    try:
        run = subprocess.run(
            command, input=json.dumps(launches), capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        text = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
        sys.exit(f"{python}: cannot run {peer} ({text}); pip install {' '.join(PINNED)}")
    reply = json.loads(run.stdout)
    if f"{peer}=={reply['version']}" not in PINNED:
        print(f"{peer} {reply['version']}: called as {' '.join(PINNED)} are; check its refusals",
              file=sys.stderr)  # fmt: skip
    rows = []
    for question, found in zip(asked, reply["answers"], strict=True):
        lacking = [key for key in NO_INPUT if question["given"].get(key)]
        value = f"no input for {lacking[0]}" if lacking else compose(question, found)
        rows.append(judged(question, value))
    return reply["version"], rows


def ask_product(asked: list[Question], facts: Facts) -> list[Row]:
    """Return this product's rows."""
    rows = []
    for question, line in zip(asked, score_lines(asked, facts).lines, strict=True):
        (key,) = question["answer"]
        rows.append(judged(question, line.predicted[key] if line.predicted else line.reason))
    return rows


def table(
    title: str, tools: dict[str, list[Row]], group: Callable[[Question], str], order: Iterable[str]
) -> str:
    """Return a Markdown table of right answers of those given, median and worst error."""
    lines = [f"| {title} | questions | {' | '.join(tools)} |", "|---" * (len(tools) + 2) + "|"]
    for name in order:
        cells = []
        for rows in tools.values():
            mine = [row for row in rows if name in ("all", group(row.question))]
            errors = [row.error for row in mine if row.error is not None]
            spread = f"; {median(errors):.2%}, {max(errors):.2%}" if errors else ""
            right = f"{sum(row.right for row in mine)} of {len(errors)}" if errors else "unknown"
            cells.append(right + spread)
        lines.append(f"| {name} | {len(mine)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def peer_python(arguments: argparse.Namespace) -> str:
    """Return the Python that has the peers, installed first where ``--venv`` is new."""
    if arguments.python:
        return arguments.python
    if not arguments.venv:
        sys.exit("no peers; give --venv DIR to install them there, or --python of one that has "
                 f"{' '.join(PINNED)}")  # fmt: skip
    python = arguments.venv / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    if not python.exists():
        venv.create(arguments.venv, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", *PINNED]
        if subprocess.run(install).returncode:
            sys.exit(f"{arguments.venv}: pip could not install the peers; remove it, check the net")
    return str(python)


def main() -> None:
    """Print both tables, and every question with ``--lines``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", help="a Python in which the peers are installed")
    parser.add_argument("--venv", type=Path, help="a virtual environment, made if it is missing")
    parser.add_argument("--lines", action="store_true", help="print every answer as JSON Lines")
    arguments = parser.parse_args()
    python, asked, facts = peer_python(arguments), questions(), load_facts()
    tools = {f"stackchoice {__version__}": ask_product(asked, facts)}
    for peer in PEERS:
        version, rows = ask_peer(peer, python, asked)
        tools[f"{peer} {version}"] = rows
    if arguments.lines:
        for tool, rows in tools.items():
            for q, error, right, reason in rows:
                print(json.dumps({"tool": tool, "id": q["id"], "kind": kind(q),
                                  "error": error, "right": right, "reason": reason}))  # fmt: skip
        return
    print(f"{datetime.date.today()}, {len(asked)} questions of data/cases.jsonl, "
          f"facts {facts.sha256[:12]}")  # fmt: skip
    print("Cells: right of answered; median and worst relative error of the answered.\n")
    print(table("ask", tools, lambda q: q["ask"], [*ASKS, "all"]), end="\n\n")
    print(table("model", tools, kind, sorted({kind(q) for q in asked})))


if __name__ == "__main__":
    main()
