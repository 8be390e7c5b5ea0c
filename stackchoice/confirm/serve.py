"""Child process of :class:`EmbeddedEngine`: llama.cpp's own server on a loopback port."""

import argparse
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

from stackchoice.load.child import exit_with_parent


def main() -> None:
    """Serve until standard input closes; the address is written to ``ready.json``."""
    options = _options()
    exit_with_parent(lambda: shutil.rmtree(options.folder, ignore_errors=True))
    import xllamacpp  # only here: importing it loads the whole engine

    params = xllamacpp.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = {options.model.stem}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_parallel = options.slots
    params.kv_unified = False  # every slot has its own share, as the passport says
    params.cache_prompt = bool(options.prefix_cache)
    if not options.prefix_cache:
        params.cache_ram_mib = 0
    params.n_ctx = options.context
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    params.cache_type_k = params.cache_type_v = _stored_as(xllamacpp.ggml_type, options.cache_type)
    params.n_gpu_layers = 0
    params.endpoint_metrics = True
    params.slot_save_path = f"{options.folder}{os.sep}"  # without it no slot can be emptied
    params.ui = False
    server = xllamacpp.Server(params)
    ready = options.folder / "ready.json"
    facts = {"address": server.listening_address, "kv_format": _kv_format(params)}
    ready.with_suffix(".part").write_text(json.dumps(facts))
    os.replace(ready.with_suffix(".part"), ready)
    threading.Event().wait()


def _stored_as(kinds: Any, name: str) -> Any:
    """Return llama.cpp's own number type of this name; the log says which there are, else."""
    known = {kind.name.removeprefix("GGML_TYPE_").lower(): kind for kind in kinds}
    if name not in known:
        raise SystemExit(f"cache type {name!r}: llama.cpp has {', '.join(known)}")
    return known[name]


def _kv_format(params: Any) -> str:
    names = [str(kind.name) for kind in (params.cache_type_k, params.cache_type_v)]
    return " / ".join(dict.fromkeys(name.removeprefix("GGML_TYPE_").lower() for name in names))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--context", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--prefix-cache", type=int, default=1)
    parser.add_argument("--cache-type", default="f16")
    return parser.parse_args()


if __name__ == "__main__":
    main()
