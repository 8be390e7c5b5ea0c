"""What the found lines mean: figures that follow, warnings read on this hardware, the pool."""

from contextlib import suppress
from typing import Any

from stackchoice.facts.allocation import MemoryFacts
from stackchoice.facts.datum import Evidence
from stackchoice.facts.values import is_number
from stackchoice.fit.release import read_release
from stackchoice.read.log_boot import BootBuilder
from stackchoice.read.log_patterns import LogLanguage, WarningKind
from stackchoice.read.log_records import Boot, Found, Hardware, Kernel, Refusal, Warned

#: What engines without rules of their own print: slots of tokens.
SLOTS = "tokens that all running requests share, with what the prefix cache keeps"
MIB_PER_GIB = 1024


def finished(boot: BootBuilder, memory: MemoryFacts, hardware: Hardware) -> Boot:
    """Return a boot with everything that follows from its lines."""
    values = boot.found()
    language = boot.language
    _settings(values, boot, language)
    release = values["engine_version"].value if "engine_version" in values else hardware.release
    _derived(values, boot)
    for key, meaning in _meanings(language).items():
        if key in values:
            values[key] = values[key].model_copy(update={"meaning": meaning})
    hardware = _seen(hardware, values)
    kernels = [_bits(k, hardware) for k in boot.kernels.values()]
    warnings = _warnings(values, boot, language, hardware)
    refusals = _refusals(values, boot)
    return Boot(
        engine=language.engine, release=None if release is None else str(release),
        first_line=boot.first, last_line=boot.last, values=dict(sorted(values.items())),
        settings=boot.settings, kernels=kernels, warnings=warnings, refusals=refusals,
        series={key: s.series(key) for key, s in sorted(boot.series.items())},
        pool_meaning=_pool(language, values, release, memory) + _rank(values),
        ranks=sorted({rank for _, rank, _ in boot.seen if rank}),
    )  # fmt: skip


def _meanings(language: LogLanguage) -> dict[str, str]:
    """Return what the engine counts under each key, where a line's row says it."""
    return {
        key: pattern.meaning for pattern in reversed(language.patterns) if pattern.meaning
        for key in pattern.fields
    }  # fmt: skip


def _settings(values: dict[str, Found], boot: BootBuilder, language: LogLanguage) -> None:
    """Take settings that a line listed where no line of its own gave the figure."""
    for name, key in language.settings.items():
        value = boot.settings.get(name)
        if key not in values and value is not None and value != "auto":
            spelled = language.values.get(key, {})
            value = spelled.get(value, value) if isinstance(value, str) else value
            values[key] = Found(
                key=key, value=value, line=boot.settings_line, note="from the listed settings"
            )


def _derived(values: dict[str, Found], boot: BootBuilder) -> None:
    def number(key: str) -> Any:
        return values[key].value if key in values else None

    def put(key: str, value: Any, *of: str) -> None:
        if key not in values and value is not None:
            line = max(values[k].line for k in of)
            values[key] = Found(
                key=key, value=value, line=line, evidence=Evidence.COMPUTED,
                note=f"from {' and '.join(of)}",
            )  # fmt: skip

    if "k_gib" in values and "v_gib" in values:
        put("pool_gib", round(number("k_gib") + number("v_gib"), 6), "k_gib", "v_gib")
    if "full_mib" in values and "swa_mib" in values:
        put("kv_mib", number("full_mib") + number("swa_mib"), "full_mib", "swa_mib")
    for key in ("weights", "kv", "state", "swa", "compute_buffer"):
        if f"{key}_mib" in values:
            put(f"{key}_gib", number(f"{key}_mib") / MIB_PER_GIB, f"{key}_mib")
    if number("model_layers") and "offloaded_layers" in values:
        put("offloaded_share", number("offloaded_layers") / number("model_layers"),
            "offloaded_layers", "model_layers")  # fmt: skip
    if "cpu_kv_buffer_mib" in values and "kv_buffer_mib" in values:
        here, there = number("kv_buffer_mib"), number("cpu_kv_buffer_mib")
        put("kv_share_on_gpu", here / (here + there) if here + there else None,
            "kv_buffer_mib", "cpu_kv_buffer_mib")  # fmt: skip
    _expanded(values, put)
    _hits(values, boot)
    positions = boot.series.get("acceptance_per_position")
    if positions and positions.samples:
        values.setdefault("num_speculative_tokens", Found(
            key="num_speculative_tokens", value=len(positions.samples[-1]), line=positions.last,
            evidence=Evidence.COMPUTED, note="positions with an acceptance rate",
        ))  # fmt: skip


def _hits(values: dict[str, Found], boot: BootBuilder) -> None:
    """Work out the share of prompt tokens that the prefix cache gave, where both are printed."""
    new, cached = (boot.series.get(k) for k in ("new_prompt_tokens", "cached_prompt_tokens"))
    if new and cached and new.total + cached.total > 0:
        values["prefix_cache_hit_share"] = Found(
            key="prefix_cache_hit_share", value=cached.total / (new.total + cached.total),
            line=cached.last, evidence=Evidence.COMPUTED,
            note="cached prompt tokens over all prompt tokens",
        )  # fmt: skip


def _expanded(values: dict[str, Found], put: Any) -> None:
    """Tell whether a latent (MLA) model stores expanded keys and values.

    A latent record is the latent with a rotary part of a few dozen values, as wide for K as for
    V but for that part. Keys half as wide again as values (128 + 64 against 128 for each head)
    are the expanded ones.
    """
    if not {"n_embd_k_gqa", "n_embd_v_gqa"} <= values.keys():
        return
    k, v = values["n_embd_k_gqa"].value, values["n_embd_v_gqa"].value
    if k == v or not v:
        return
    if 0 < k - v <= 128:
        put("mla_expanded", False, "n_embd_k_gqa", "n_embd_v_gqa")
    elif 2 * k == 3 * v:
        put("mla_expanded", True, "n_embd_k_gqa", "n_embd_v_gqa")


def _seen(hardware: Hardware, values: dict[str, Found]) -> Hardware:
    """Fill in what the log itself says of the chip and the checkpoint."""
    found = {}
    capability = values.get("compute_capability")
    if hardware.capability is None and capability:
        with suppress(ValueError):  # AMD and Apple name an architecture there
            found["capability"] = float(str(capability.value).strip('"'))
    bits = values.get("checkpoint_activation_bits")
    if hardware.activation_bits is None and bits:
        found["activation_bits"] = bits.value
    return hardware.model_copy(update=found)


def _bits(kernel: Kernel, hardware: Hardware) -> Kernel:
    """Name the weight bits of a weight-only kernel where the checkpoint tells them."""
    if kernel.arithmetic != "wna16" or hardware.weight_bits is None:
        return kernel
    return kernel.model_copy(update={"arithmetic": f"w{hardware.weight_bits}a16"})


def _warnings(
    values: dict[str, Found], boot: BootBuilder, language: LogLanguage, hardware: Hardware
) -> list[Warned]:
    found = dict(boot.warned)
    for known in language.warnings:
        value = values.get(known.key) if known.key else None
        if value is not None and known.below is not None and _below(value.value, known.below):
            found.setdefault(known.code, (value.line, 1, f"{known.key} {value.value:g}"))
    warned = []
    for code, (line, count, text) in found.items():
        kind = language.warning(code)
        if kind is None:
            continue
        reading, real = reading_of(kind, hardware)
        warned.append(Warned(
            code=code, line=line, count=count, text=text, reading=reading, silent=kind.silent,
            fallback_real=real,
        ))  # fmt: skip
    return sorted(warned, key=lambda w: w.line)


def _below(value: Any, limit: float) -> bool:
    return is_number(value) and bool(value < limit)


def reading_of(kind: WarningKind, hardware: Hardware) -> tuple[str, bool | None]:
    """Return what a warning means here, and whether something was really lost (None: unknown)."""
    known: dict[str, Any] = {}
    if hardware.capability is not None and kind.native_from_capability is not None:
        known["native"] = hardware.capability >= kind.native_from_capability
    if hardware.activation_bits is not None:
        known["activation_bits"] = hardware.activation_bits
    for reading in kind.readings:
        if all(known.get(key) == wanted for key, wanted in reading.when.items()):
            return reading.text, reading.fallback_real
    return "what it means here is not known", None


def _refusals(values: dict[str, Found], boot: BootBuilder) -> list[Refusal]:
    refusals = [
        r.model_copy(update={"proposal": _proposal(r, values)}) for r in boot.refusals.values()
    ]
    memory = values.get("memory_for_cache_gib")
    if memory and _below(memory.value, 0) and not refusals:
        refusals = [Refusal(
            verdict="refused", because="no_memory_for_cache", line=memory.line,
            text=f"memory for the cache {memory.value:g} GiB",
        )]  # fmt: skip
    return sorted(refusals, key=lambda r: r.line)


def _proposal(refusal: Refusal, values: dict[str, Found]) -> str:
    length = values.get("max_model_len_possible")
    if refusal.because == "max_model_len_exceeds_pool" and length:
        return f"at most {length.value:,} tokens"
    fraction = values.get("mem_fraction_static_needed")
    if refusal.because == "no_memory_for_cache" and fraction:
        return f"a memory fraction above {fraction.value:g}"
    return ""


def _pool(
    language: LogLanguage, values: dict[str, Found], release: Any, memory: MemoryFacts
) -> str:
    """Say what the printed pool counts in that release; an unknown release has both meanings."""
    if "pool_tokens" not in values:
        return ""
    known = language.printed_pool
    if not known:
        return SLOTS
    order = read_release(None if release is None else str(release)).version
    if order is not None:
        value = memory.fact(language.engine, "printed_pool", order).value
        return known.get(str(value), "not known for this release")
    rules = {
        str(fact.value.value) for fact in memory.allocators
        if (fact.engine, fact.key) == (language.engine, "printed_pool")
    }  # fmt: skip
    either = "; or ".join(known[rule] for rule in sorted(rules & known.keys()))
    return f"the release is not known, so it is either {either}"


def _rank(values: dict[str, Found]) -> str:
    """Say that the printed pool is one rank's, where data parallelism has several."""
    ranks = values["data_parallel"].value if "data_parallel" in values else 1
    if "pool_tokens" not in values or not isinstance(ranks, int) or ranks < 2:
        return ""
    return f"; it is that of one of {ranks} ranks of data parallelism, each with its own"
