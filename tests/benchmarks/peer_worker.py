"""Ask one public calculator what a sequence keeps in memory; runs in the Python that has it.

Usage: ``python peer_worker.py PEER < launches.json``. Imports the peer and the standard library
only. A launch is ``{config, kv_dtype, tp, engine, draft_layers, tokens: [..]}``; its answer is
``{held: [{kv, state}, ..], sliding}`` in bytes on one device, ``state`` None where the peer has no
such part, or ``{refused: reason}``. ``sliding`` says how the peer treats sliding layers.

Only model hub look-ups are replaced: the config comes from the question, and the parameter count,
which no cache figure depends on, is a constant.
"""

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported
Launch = Mapping[str, Any]
Held = dict[str, float | None]
PARAMETERS = 10**9
GIB = 2**30


class Refused(Exception):
    """The peer has no input for what the launch says."""


def kvfit(launch: Launch, tokens: int) -> tuple[Held, str]:
    """Components of ``estimate_cache``, divided over ranks as ``plan_topologies`` does."""
    from kvfit import estimate_cache
    from kvfit.cache_layout import apply_cache_layout
    from kvfit.cli import DTYPE_BYTES

    kv = {"f16": "fp16", "fp8_ds_mla": "fp8"}.get(launch["kv_dtype"], launch["kv_dtype"])
    cache = estimate_cache(
        launch["config"], context_tokens=tokens, kv_bytes=_known(DTYPE_BYTES, kv)
    )
    if launch["engine"] == "sglang" and cache.architecture == "glm-dsa-mla":
        cache = apply_cache_layout(
            cache, launch["config"], profile="sglang-dsa-scaled", kv_dtype=kv,
            mtp=bool(launch["draft_layers"]),
        )  # fmt: skip
    if cache.query_heads % launch["tp"]:
        raise Refused("query heads are not divisible by tp")
    held: Held = {"kv": 0.0, "state": None}
    for part in cache.components:
        share = part.bytes / min(launch["tp"], part.tp_parallel_units or cache.kv_parallel_heads)
        state = part.name.endswith(("-conv-history", "-recurrent-state", "-temporal-state"))
        held["state" if state else "kv"] = (held["state" if state else "kv"] or 0) + share
    return held, "capped"


def vramscout(launch: Launch, tokens: int) -> tuple[Held, str]:
    """Cache parts of ``plan_modern``, per rank."""
    from vramscout import modern_v06, plan_modern
    from vramscout.modern_core import CACHE_BPE

    modern_v06._selected_hub_metadata = lambda *_: (PARAMETERS, None)
    kv = {"f16": "fp16", "fp8_ds_mla": "fp8", "fp8_e4m3": "fp8"}
    kv = kv.get(launch["kv_dtype"], launch["kv_dtype"])
    _known(CACHE_BPE, kv)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(launch["config"]))
        plan = plan_modern(
            folder, context=tokens, kv_dtype=kv, weight_dtype="bf16", tp=launch["tp"],
            vram_gib=80, engine="vllm" if launch["engine"] == "vllm" else "generic",
        )  # fmt: skip
    other = ("Model weights / rank", "CUDA / runtime", "Prefill scratch", "Safety reserve")
    held: Held = {"kv": 0.0, "state": None}
    for name, gib in plan.parts_gib.items():
        if name not in other:
            key = "state" if " state" in name else "kv"
            held[key] = (held[key] or 0) + gib * GIB
    # Its ordinary family keeps every layer at full length.
    return held, "charged" if plan.profile.family == "standard" else "capped"


def ridgepoint(launch: Launch, tokens: int) -> tuple[Held, str]:
    """``capacity.bytes_per_seq`` of ``fit``: of all devices together, so divided by their count."""
    from ridgepoint import fit, hf

    hf._download_json = lambda *_: launch["config"]
    hf._params_from_index = lambda *_: PARAMETERS
    kv = {"f16": "fp16", "fp8_e4m3": "fp8"}.get(launch["kv_dtype"], launch["kv_dtype"])
    _known({"fp16": 2, "bf16": 2, "fp8": 1}, kv)  # the choices of its command line
    engine = {"vllm": "vllm", "sglang": "sglang", "llama.cpp": "llamacpp"}
    text = fit(
        "given/config", "h100-80gb", count=launch["tp"], kv_cache_dtype=kv, ctx=tokens,
        engine=engine.get(launch["engine"], "vllm"), as_json=True,
    )  # fmt: skip
    whole = json.loads(text)["capacity"]["bytes_per_seq"]
    return {"kv": whole / launch["tp"], "state": None}, "dropped"


def hf_mem(launch: Launch, tokens: int) -> tuple[Held, str]:
    """``compute_safetensors_kv_cache_size`` of the text config; it knows one device."""
    from hf_mem.safetensors.kv_cache import KV_CACHE_DTYPE_CHOICES as CHOICES
    from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size as size
    from hf_mem.safetensors.kv_cache import resolve_kv_cache_dtype as resolve

    if launch["tp"] != 1:
        raise Refused("no tensor parallel size")
    config = {"torch_dtype": "float16", **launch["config"]}
    config = {**config, **(config.get("text_config") or {})}
    kv = {"bf16": "bfloat16"}.get(launch["kv_dtype"], launch["kv_dtype"])
    if kv in ("f16", "fp16"):  # no choice of its own, so what "auto" gives a float16 model
        config, kv = {**config, "torch_dtype": "float16"}, "auto"
    _known(dict.fromkeys(CHOICES), kv)
    kv = resolve({k: v for k, v in config.items() if k != "quantization_config"}, kv, None, "")
    return {"kv": size(config, kv, tokens), "state": None}, "charged"


def chimeraforge(launch: Launch, tokens: int) -> tuple[Held, str]:
    """``VRAMModel.kv_cache_gb`` of ``spec_from_hf``, shared out as ``max_concurrent_seqs`` does."""
    from chimeraforge.planner.constants import KV_QUANT_BYTES
    from chimeraforge.planner.models import VRAMModel
    from chimeraforge.planner.resolver import spec_from_hf

    kv = {"bf16": "fp16", "f16": "fp16", "fp8": "q8", "fp8_ds_mla": "q8", "fp8_e4m3": "q8",
          "q8_0": "q8"}  # fmt: skip
    kv = kv.get(launch["kv_dtype"], launch["kv_dtype"])
    arch = spec_from_hf("given/config", launch["config"], PARAMETERS / 1e9).arch()
    whole = VRAMModel.kv_cache_gb(arch, tokens, 1, _known(KV_QUANT_BYTES, kv)) * GIB
    state = arch.get("recurrent_state_bytes_per_seq")
    held: Held = {"kv": (whole - (state or 0)) / min(launch["tp"], arch["n_kv_heads"])}
    return {**held, "state": state}, "capped" if "swa_window" in arch else "charged"


PEERS: dict[str, Callable[[Launch, int], tuple[Held, str]]] = {
    "kvfit": kvfit, "vramscout": vramscout, "ridgepoint": ridgepoint, "hf-mem": hf_mem,
    "chimeraforge": chimeraforge,
}  # fmt: skip


def _known(choices: Mapping[str, Any], kv_dtype: str) -> Any:
    if kv_dtype not in choices:
        raise Refused(f"no cache type {kv_dtype}")
    return choices[kv_dtype]


def answer(peer: str, launch: Launch) -> dict[str, Any]:
    """Return what one peer says of one launch at each length, or why it says nothing."""
    try:
        found = [PEERS[peer](launch, tokens) for tokens in launch["tokens"]]
    except ImportError:  # not this peer's refusal: it is missing, or another version
        raise
    except Exception as error:  # whatever a peer raises is its refusal
        return {"refused": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    return {"held": [held for held, _ in found], "sliding": found[0][1]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    name = sys.argv[1]
    answers = [answer(name, launch) for launch in json.load(sys.stdin)]
    print(json.dumps({"version": version(name), "answers": answers}))
