"""What each engine release would admit in each memory budget: one row an engine and budget.

The budget says what is possible; admission is the engine's. The number does not travel from one
engine to the next, nor from one setting to the other.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from stackchoice.facts.datum import Datum, Evidence, sure, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine, Format, Machine
from stackchoice.fit.admission import Admission, admitted, launch
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.config import architecture_of, text_config, whole
from stackchoice.fit.memory import Counted, FitRow
from stackchoice.fit.workspace import of_replica, said

#: The setting that changes admission most, off; the release's default is asked first.
WITHOUT_PREFIX_CACHING = {"enable_prefix_caching": False}
DEFAULTS = "the release's defaults"
NO_PREFIX_CACHING = "prefix caching off"
#: What a row takes from the admission as it is.
SHARED = {"live_sequences", "rule", "rule_text", "printed_pool_tokens"}


#: Lengths of a request that admissions are drawn at, in tokens.
LENGTHS = tuple(1024 * 2**n for n in range(9))


class AdmissionRow(Counted):
    """What one engine release admits in one memory budget. None: no sourced rule tells.

    ``refused`` says why the release does not serve it at all: the count is of memory alone then.
    ``unsure`` says what of that nobody read, or
    what its start needs beside the defaults. ``most_sequences`` is admitted where the engine's
    workspace is least (None: it is no range).
    """

    engine: str
    release: str
    settings: str
    basis: str
    pool_bytes: int
    rule: str | None
    rule_text: str
    printed_pool_tokens: int | None
    evidence: Evidence
    note: str = ""
    refused: str = ""
    unsure: str = ""


def workspaces_of(
    config: dict[str, Any], machine: Machine, *, devices: int, facts: Facts,
    weights_bytes: int | None,
) -> dict[str, Datum[int]]:  # fmt: skip
    """Return what each engine's newest release takes of a replica beside weights and cache.

    Of every engine that is not known not to run on the machine.
    """
    return {
        engine.id: of_replica(
            replica_launch(engine.id, engine.latest.version, config, devices=devices, facts=facts),
            machine, devices, weights_bytes,
        )
        for engine in facts.engines.values() if engine.runs_on(machine.backend) is not False
    }  # fmt: skip


def lightest(
    spaces: Mapping[str, Datum[int]], config: dict[str, Any], facts: Facts,
    file_format: Format | None,
) -> Datum[int]:  # fmt: skip
    """Return the workspace of the engine that takes least, of servers of such a file if there are.

    What a budget is worked out with where no engine is asked about; each engine's own follows it.
    """
    if len(spaces) == 1:
        return next(iter(spaces.values()))
    known = {e: taken for e, taken in spaces.items() if taken.value is not None}
    able = {
        e: taken for e, taken in known.items()
        if not (_refused(facts.engines[e], config, file_format)
                or _unsure(facts.engines[e], file_format))
    } or known  # fmt: skip
    if not able:
        return Datum[int](note="no engine's workspace is known")
    able = {e: taken for e, taken in able.items() if facts.engines[e].kind == "server"} or able
    best = min(able, key=lambda e: sure(able[e].high or able[e].value))
    note = f"{facts.engines[best].name}, which takes least of the engines; {able[best].note}"
    return able[best].model_copy(update={"note": note})


def replica_launch(
    engine_id: str,
    release: str | None,
    config: dict[str, Any],
    *,
    devices: int,
    facts: Facts,
    kv_dtype: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Launch:
    """Return the launch of a replica on so many devices.

    Tensor parallel divides the heads, and repeats those that do not divide. An engine that gives
    each device whole layers divides the layers, so their memory adds up.
    """
    by_layer = devices > 1 and facts.speed_classes.splits_by_layer(engine_id)
    return launch(
        engine_id, release, config, tp=1 if by_layer else devices, kv_dtype=kv_dtype,
        settings=settings, facts=facts,
    )  # fmt: skip


def admit_replica(
    asked: Launch, machine: Machine, *, pool_bytes: int, devices: int, context_tokens: int
) -> Admission:
    """Return what a :func:`replica_launch` admits in the pool of all its devices together."""
    found = admitted(
        asked, pool_bytes=pool_bytes // asked.tp, context_tokens=context_tokens, device=machine
    )
    if asked.tp == devices or found.live_sequences is None:
        return found
    note = "layers are split over the devices; whole layers may leave some memory unused"
    return found.model_copy(update={"notes": [*found.notes, note]})


def admission_rows(
    config: dict[str, Any],
    machine: Machine,
    rows: list[FitRow],
    *,
    context_tokens: int | None,
    devices: int,
    facts: Facts,
    kv_dtype: str | None = None,
    file_format: Format | None = None,
    workspaces: Mapping[str, Datum[int]] | None = None,
) -> list[AdmissionRow]:
    """Return the admission of every engine that runs on the machine, in every budget.

    Parameters
    ----------
    rows
        Memory budgets of all devices together; those without a pool are left out.
    devices
        Devices of the tensor-parallel group.
    kv_dtype
        Type of the cache; each engine's default when not given.
    file_format
        Of the weights; not asked about when not given.
    workspaces
        What each engine takes beside weights and cache; as the budgets have it when not given.

    Where prefix caching changes the number there is a second row without it.
    """
    if not context_tokens:
        return []

    @cache
    def asked(engine: str, without_prefix: bool) -> Launch:
        return replica_launch(
            engine, facts.engines[engine].latest.version, config, devices=devices, facts=facts,
            kv_dtype=kv_dtype, settings=WITHOUT_PREFIX_CACHING if without_prefix else {},
        )  # fmt: skip

    def row(budget: FitRow, engine: Engine, words: str) -> AdmissionRow:
        own = (workspaces or {}).get(engine.id)
        pools = [budget.pool_bytes] if own is None else [
            budget.pool_with(own), budget.pool_with(own, least=True)
        ]  # fmt: skip
        counted = [
            admit_replica(
                asked(engine.id, words == NO_PREFIX_CACHING), machine, devices=devices,
                pool_bytes=max(0, pool or 0), context_tokens=context_tokens,
            ) for pool in pools
        ]  # fmt: skip
        found, takes = counted[0], "" if own is None else said(own, devices)
        notes = [*found.notes, found.steady_state_note, takes]
        classes = (found.evidence, budget.evidence, *([own.evidence] if own else []))
        return AdmissionRow(
            engine=engine.name, release=engine.latest.version, settings=words, basis=budget.basis,
            pool_bytes=max(0, pools[0] or 0), evidence=weakest(*classes),
            most_sequences=None if own is None else counted[-1].live_sequences,
            note="; ".join(note for note in notes if note),
            refused=_refused(engine, config, file_format),
            unsure=_unsure(engine, file_format, found), **found.model_dump(include=SHARED),
        )  # fmt: skip

    found = []
    engines = [e for e in facts.engines.values() if e.runs_on(machine.backend) is not False]
    for budget in rows:
        for engine in engines if (budget.pool_bytes or 0) > 0 or budget.most_sequences else ():
            default = row(budget, engine, DEFAULTS)
            found.append(default)
            if default.rule not in (None, "quotient") and not default.refused:
                without = row(budget, engine, NO_PREFIX_CACHING)
                if without.live_sequences not in (None, default.live_sequences):
                    found.append(without)
    return found


def by_length(
    config: dict[str, Any], machine: Machine, budget: FitRow, *, devices: int, facts: Facts,
    file_format: Format | None = None, workspaces: Mapping[str, Datum[int]] | None = None,
) -> dict[int, list[AdmissionRow]]:  # fmt: skip
    """Return what every engine admits in one budget at each length that the model was made for."""
    longest = whole(text_config(config), "max_position_embeddings") or LENGTHS[-1]
    return {
        length: admission_rows(
            config, machine, [budget], context_tokens=length, devices=devices, facts=facts,
            file_format=file_format, workspaces=workspaces,
        )
        for length in LENGTHS if length <= longest
    }  # fmt: skip


def _unsure(engine: Engine, file_format: Format | None, found: Admission | None = None) -> str:
    if file_format is not None and engine.loads(file_format) is None:
        return f"whether it loads {file_format} files is unknown"
    if found is None or found.most_requests is None:
        return ""
    return f"starts only with max_num_seqs of at most {found.most_requests:,}, less than its own"


def _refused(engine: Engine, config: dict[str, Any], file_format: Format | None) -> str:
    """Say why the newest release does not serve this model; empty where it may."""
    if file_format and engine.loads(file_format) is False:
        return f"does not load {file_format} files"
    architecture = architecture_of(config)
    there, since = engine.implements(architecture)
    first = f"; first in {since}" if since else ""
    return f"does not implement {architecture}{first}" if there is False else ""
