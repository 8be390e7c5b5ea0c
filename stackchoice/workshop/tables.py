"""Tables of the lessons: whether this laptop is ready, facts with class and source, never a sum."""

import json
from collections.abc import Iterator
from typing import Any

from stackchoice.doctor import examine
from stackchoice.facts.datum import Datum
from stackchoice.facts.place import data_dir
from stackchoice.fit.config import text_config
from stackchoice.fit.path import KernelPath
from stackchoice.fit.path.support import ANSWER
from stackchoice.workshop import worked
from stackchoice.workshop.samples import DOWNLOADS, MACHINE, START_LOG, check_log, download, wall
from stackchoice.workshop.table import Table

#: What a lesson does without, where the item fails.
WITHOUT = {
    "embedded engine": "lessons 1, 5, 6 and 7 then show recorded runs instead of measuring",
    "PDF reports": "nothing in the workshop needs it",
    "browser tests": "nothing in the workshop needs it",
    "probe of this machine": "lesson 6 then predicts nothing for this laptop",
}


def environment() -> Table:
    """Return one row per item: state, item, what was seen, and the fix where it fails."""
    return Table(
        [
            {
                "state": "OK" if f.ok else "not here" if f.optional else "FAIL",
                "item": f.item,
                "seen": f.text,
                "fix": "" if f.ok else "; ".join(filter(None, (f.fix, WITHOUT.get(f.item, "")))),
            }
            for f in examine()
        ]
    )


def loop_table() -> Table:
    """What a decode ceiling is made of: the file's bytes, and three machines' bandwidths."""
    facts = worked.facts()
    artifact = facts.models[worked.MODEL].artifact(worked.SMALLER)
    rows = [_fact("FP8 checkpoint", "weights", artifact.weights_bytes, "B")]
    rows += [
        _fact(
            facts.machines[m].name, "memory bandwidth", facts.machines[m].bandwidth_gb_per_s, "GB/s"
        )
        for m in (worked.SUPERCHIP, worked.WIDE, worked.NARROW)
    ]
    return Table(rows)


def model_table() -> Table:
    """What the model's config says of its cache, as in its config.json."""
    config = text_config(worked.facts().models[worked.MODEL].config.value or {})
    kinds = ", ".join(f"{g.layers} {g.kind.replace('_', ' ')}" for g in worked.sized().layers)
    rows = [
        ("layers", config["num_hidden_layers"]),
        ("layer kinds", kinds),
        ("query heads", config["num_attention_heads"]),
        ("key-value heads", config["num_key_value_heads"]),
        ("head dimension", config["head_dim"]),
        ("bytes of a number in bf16", 2),
        ("DeltaNet value heads", config["linear_num_value_heads"]),
        ("DeltaNet key heads", config["linear_num_key_heads"]),
        ("DeltaNet head dimension (keys, values)", config["linear_value_head_dim"]),
        ("convolution columns kept", config["linear_conv_kernel_dim"]),
    ]
    return Table(rows, columns=["item", "value"])


def configs_table() -> Table:
    """Every entry of the two downloads' quantisation, side by side."""
    trees = {
        name: json.loads((download(name) / "config.json").read_text(encoding="utf-8"))
        for name in DOWNLOADS
    }
    leaves = {name: dict(_leaves(tree["quantization_config"])) for name, tree in trees.items()}
    keys = dict.fromkeys(key for found in leaves.values() for key in found)
    return Table([{"entry": k, **{n: leaves[n].get(k, "absent") for n in DOWNLOADS}} for k in keys])


def path_table(name: str, machine: str = MACHINE) -> Table:
    """What loads, which kernel takes it and what is multiplied, for one download on a machine."""
    path = wall(name, worked.facts(), machine).path
    return Table([] if path is None else list(_path_rows(path)))


def log_table() -> Table:
    """Both predictions for the weights against the log, one row per download."""
    return Table(
        [
            {"download": name, "predicted": c.predicted, "outcome": c.outcome,
             "the log says": c.found or "nothing", "because": c.reason}
            for name in DOWNLOADS
            for c in check_log(name, worked.facts()).checks[0]
            if c.part == "linear"
        ]
    )  # fmt: skip


def log_lines() -> Table:
    """The lines of the kept log."""
    text = (data_dir() / "samples" / START_LOG).read_text(encoding="utf-8")
    lines = text.splitlines()
    return Table({"line": range(1, len(lines) + 1), "the log": lines})


def _fact(what: str, item: str, datum: Datum[Any], unit: str) -> dict[str, Any]:
    return {"what": what, "item": item, "value": f"{datum.value:,.0f}", "unit": unit,
            "class": datum.evidence.value,
            "source": datum.source.label if datum.source else ""}  # fmt: skip


def _path_rows(path: KernelPath) -> Iterator[dict[str, Any]]:
    for p in path.parts:
        yield {
            "part": p.part.part, "stored as": p.encoding.name if p.encoding else p.part.encoding,
            "loads": ANSWER[p.loads], "kernel": p.prefill.kernel or "unknown",
            "arithmetic": p.prefill.arithmetic or "unknown",
            "as the file asks": ANSWER[p.prefill.as_checkpoint_declares],
        }  # fmt: skip


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Give every leaf with its path; an empty branch is a leaf too."""
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from _leaves(value, f"{path}.{key}".lstrip("."))
    else:
        yield path, json.dumps(tree)
