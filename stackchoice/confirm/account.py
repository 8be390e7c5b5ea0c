"""An engine's own account: texts of its paths in, what they say out. Pure; every path is optional.

Engines differ and so do their releases, so a key is taken where it is known and everything else
is left alone. What is read here is still what a server says, and is escaped.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from stackchoice.confirm.beside import engine_called
from stackchoice.facts.datum import Record
from stackchoice.facts.values import count_of, dict_of, text_of
from stackchoice.facts.yaml import shown
from stackchoice.load.untrusted import parse_json

#: llama.cpp: /props, /slots. vLLM: /version, /metrics, /server_info (only in development mode).
#: SGLang: /server_info, before that /get_server_info. All of them: /v1/models.
PATHS = ("/version", "/props", "/slots", "/metrics", "/server_info", "/get_server_info")
MAX_CHARACTERS = 4 * 2**20
MAX_SETTINGS = 400

#: Item -> names under which engines say it, the first that is there wins.
KEYS = {
    "version": ("version", "vllm_version", "sglang_version"),
    "model_path": ("model_path", "model"),
    "model_revision": ("revision",),
    "weight_format": ("quantization", "model_ftype"),
    "kv_format": ("kv_cache_dtype", "cache_dtype", "cache_type_k"),
    "kernels": ("attention_backend",),
    "speculative_decoder": ("speculative_algorithm",),
    "torch": ("torch_version", "pytorch_version"),
    "toolkit": ("cuda_runtime_version", "cuda_compiled_version", "hip_runtime_version",
                "hip_compiled_version", "CUDA_HOME"),
    "driver": ("nvidia_driver_version", "CUDA Driver Version"),
    "gpu": ("nvidia_gpu_models", "gpu_name"),
}  # fmt: skip
COUNTS = {
    "context_tokens": ("context_length", "max_model_len", "max_total_tokens"),
    "kv_pool_tokens": ("max_total_num_tokens",),
    "slots": ("max_running_requests", "max_num_seqs"),
}
PACKAGE = re.compile(
    r"^(?:flashinfer|flash[-_]attn|sgl[-_]kernel|triton|deep[-_]gemm|xformers|aiter|nccl|cudnn|"
    r"cutlass)[\w.-]*$"
)
SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+([-+.\deEinfNa]+)", re.M)
#: Counters of vLLM, summed over its engines, by their names with and without the device in them:
#: https://docs.vllm.ai/en/v0.32.0/usage/metrics/ (read 2026-11). Prefix counts are in tokens.
COUNTERS = {
    "num_preemptions": "preemptions",
    "prefix_cache_hits": "prefix_hits", "gpu_prefix_cache_hits": "prefix_hits",
    "prefix_cache_queries": "prefix_queries", "gpu_prefix_cache_queries": "prefix_queries",
}  # fmt: skip
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class ServerInfo(Record):
    """A server's own account of itself; None where it does not say.

    Attributes
    ----------
    settings
        Plain settings that it says it runs with, defaults included (SGLang's ``/server_info``,
        labels of vLLM's cache metric, llama.cpp's ``/props``).
    started_at_s
        Start of its process, Unix time in seconds (Prometheus clients export it).
    asked
        Paths that answered.
    """

    model_ids: tuple[str, ...] = ()
    owned_by: str | None = None
    server_header: str | None = None
    engine: str | None = None
    version: str | None = None
    model_path: str | None = None
    model_revision: str | None = None
    weight_format: str | None = None
    kv_format: str | None = None
    kernels: str | None = None
    speculative_decoder: str | None = None
    context_tokens: int | None = None
    kv_pool_tokens: int | None = None
    slots: int | None = None
    chat_template: str | None = None
    torch: str | None = None
    toolkit: str | None = None
    driver: str | None = None
    gpu: str | None = None
    packages: dict[str, str] = {}
    settings: dict[str, str | int | float | bool] = {}
    started_at_s: float | None = None
    origins: dict[str, str] = {}
    asked: tuple[str, ...] = ()


def read_account(
    texts: Mapping[str, str], headers: Mapping[str, str] | None = None, model: str = ""
) -> ServerInfo:
    """Read what the paths of :data:`PATHS` and ``/v1/models`` answered.

    Parameters
    ----------
    texts
        Path -> body, of those that answered with status 200.
    headers
        Headers of the answer to ``/v1/models``.
    model
        The model that is asked for; its entry of the list is the one that counts.
    """
    found: dict[str, Any] = {}
    origins: dict[str, str] = {}

    def take(where: str, **items: Any) -> None:
        for item, value in items.items():
            if item == "model_path":
                value = _without_folders(value)
            if value not in (None, "", {}) and item not in found:
                found[item], origins[item] = value, where

    for path in ("/server_info", "/get_server_info"):
        tree = parse_json(texts.get(path, ""))
        if tree:
            _settings(path, tree, take)
    _llamacpp(texts, take)
    _metrics(texts.get("/metrics", ""), take)
    version = parse_json(texts.get("/version", "")) or {}
    take("/version", version=_said(version.get("version")))
    listed = (parse_json(texts.get("/v1/models", "")) or {}).get("data")
    offered = [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []
    mine = next((m for m in (*offered, {}) if m.get("id") == model), {})
    mine = mine or (offered[0] if len(offered) == 1 else {})
    ids = [shown(m["id"], 200) for m in offered if isinstance(m.get("id"), str)][:100]
    take("/v1/models", context_tokens=count_of(mine.get("max_model_len")), model_ids=ids,
         owned_by=_said(mine.get("owned_by")), model_path=_said(mine.get("root")))  # fmt: skip
    take("header server", server_header=_said((headers or {}).get("server")))
    # Owners such as "openai", "local" or "library" and headers such as "uvicorn" are no engines.
    for where, item in (("/v1/models owned_by", "owned_by"), ("header server", "server_header")):
        take(where, engine=(engine_called(found.get(item)) or (None,))[0])
    return ServerInfo(**found, origins=origins, asked=tuple(k for k, v in texts.items() if v))


def _settings(path: str, tree: dict[str, Any], take: Any) -> None:
    """Read a tree of settings: SGLang gives one flat with states, vLLM one for each config."""
    flat = dict(_scalars(tree))
    for item, names in KEYS.items():
        take(path, **{item: next((_said(str(flat[n])) for n in names if n in flat), None)})
    for item, names in COUNTS.items():
        take(path, **{item: next((c for n in names if (c := count_of(flat.get(n)))), None)})
    take(path, packages={k: shown(str(v), 100) for k, v in flat.items()
                         if PACKAGE.match(k) and isinstance(v, str)})  # fmt: skip
    take(path, settings={shown(k, 100): shown(v, 200) if isinstance(v, str) else v
                         for k, v in list(flat.items())[:MAX_SETTINGS]})  # fmt: skip
    if "internal_states" in tree:
        take(path, engine="sglang")


def _scalars(node: Any, depth: int = 0) -> Iterator[tuple[str, str | int | float | bool]]:
    """Yield plain values of a tree, the outermost first, without secrets."""
    if not isinstance(node, dict) or depth > 4:
        return
    inner = []
    for key, value in node.items():
        if isinstance(value, float) and not math.isfinite(value):
            continue  # no JSON holds it
        if isinstance(value, str | int | float | bool):
            if not re.search(r"key|token$|secret|password", str(key), re.I):
                yield str(key), value
        elif isinstance(value, dict):
            inner.append(value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            inner.append(value[0])  # states of the first rank
    seen = set(node)
    for tree in inner:
        yield from ((k, v) for k, v in _scalars(tree, depth + 1) if k not in seen)


def _llamacpp(texts: Mapping[str, str], take: Any) -> None:
    props = parse_json(texts.get("/props", "")) or {}
    if not props:
        return
    settings = dict_of(props.get("default_generation_settings"))
    template = text_of(props.get("chat_template"))
    take("/props", version=_said(props.get("build_info")),
         context_tokens=count_of(settings.get("n_ctx")), slots=count_of(props.get("total_slots")),
         model_path=_said(props.get("model_path")), weight_format=_said(props.get("model_ftype")),
         chat_template="sha256:" + hashlib.sha256(template.encode()).hexdigest()
         if template else None)  # fmt: skip
    if "build_info" in props and "total_slots" in props:
        take("/props", engine="llama.cpp")
    take("/props", settings=dict(_scalars({"sampling": dict_of(settings.get("params"))})))
    listed = (parse_json('{"slots":' + texts.get("/slots", "null") + "}") or {}).get("slots")
    if isinstance(listed, list) and listed and all(isinstance(s, dict) for s in listed):
        take("/slots", slots=len(listed))
        sizes = [count_of(s.get("n_ctx")) for s in listed]
        if sizes[0] and all(s == sizes[0] for s in sizes):
            take("/slots", context_tokens=sizes[0])


def counters_of(text: str) -> dict[str, float]:
    """Sum the counters of ``/metrics`` that a load moves; empty where there are none."""
    found: dict[str, float] = {}
    for name, _, value in SAMPLE.findall(text[:MAX_CHARACTERS]):
        item = COUNTERS.get(name.rpartition(":")[2].removesuffix("_total"))
        if item and name.startswith("vllm:"):
            found[item] = found.get(item, 0.0) + (_number(value) or 0.0)
    return found


def _metrics(text: str, take: Any) -> None:
    """Read the few Prometheus samples that are identity and not load."""
    for name, labels, value in SAMPLE.findall(text):
        short = name.rpartition(":")[2]
        if name == "process_start_time_seconds":
            take("/metrics", started_at_s=_number(value))
        elif short == "cache_config_info":
            known = dict(LABEL.findall(labels or ""))
            _pool(known, take)
            take("/metrics", engine=shown(name.partition(":")[0], 40),
                 kv_format=_said(known.get("cache_dtype")),
                 settings={shown(k, 100): shown(v, 200) for k, v in known.items()})  # fmt: skip
        elif short in ("max_total_num_tokens", "num_total_tokens"):
            number = _number(value)
            take("/metrics", kv_pool_tokens=int(number) if number else None)


def _pool(known: Mapping[str, str], take: Any) -> None:
    """Take the pool as printed, or as blocks times their size where all layers share blocks."""
    printed = known.get("kv_cache_size_tokens", "")
    if tokens := _number(printed):
        take("/metrics kv_cache_size_tokens", kv_pool_tokens=int(tokens))
        return
    kinds = [known.get(k, "None") for k in ("mamba_block_size", "sliding_window")]
    blocks, size = (_number(known.get(k, "")) for k in ("num_gpu_blocks", "block_size"))
    if blocks and size and all(k in ("None", "null", "") for k in kinds):
        where = "/metrics, blocks x block size: right where all layers are of one kind"
        take(where, kv_pool_tokens=int(blocks) * int(size))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 < value < 1e12 else None


def _said(value: Any) -> str | None:
    return shown(text_of(value), 200) or None


def _without_folders(path: str | None) -> str | None:
    """Return the last part of an absolute path: a passport is shown around, a home folder not."""
    absolute = path is not None and re.match(r"/|[A-Za-z]:[\\/]", path)
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1] if path and absolute else path
