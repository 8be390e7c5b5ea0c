"""From a result file of another harness to passports: which format it is, and what it makes."""

import datetime as dt
import re
import statistics
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from stackchoice.confirm.identity import Basis, Identity
from stackchoice.confirm.passport import Passport, Protocol, Validity, read_bounded
from stackchoice.confirm.results import MAX_CACHED_SHARE, Results
from stackchoice.errors import InputError
from stackchoice.facts.datum import Evidence, Record, Source
from stackchoice.facts.values import typed
from stackchoice.facts.yaml import shown
from stackchoice.importers.formats import ACCEPTED, read_runs
from stackchoice.importers.run import Run
from stackchoice.importers.values import number
from stackchoice.load.harnesses import harness
from stackchoice.load.records import Failure, Repetition, Spread

#: Requests of one file that are kept singly; a summary of all of them is kept in any case.
MAX_SAMPLES = 20_000
#: A time per token below this is that of reads, not of an engine: 20,000 tokens/s for one stream.
HELD_BACK_S = 5e-5
#: A harness whose raw records are read: its own figures are not used.
RAW = "-raw"
SPREADS = ("ttft_s", "itl_s", "gap_s", "end_to_end_s", "intended_end_to_end_s",
           "decode_tokens_per_s", "prefill_tokens_per_s")  # fmt: skip

#: What a repetition has of its run.
REPEATED = ("duration_s", "requests_per_s", "output_tokens_per_s",
            *(name for name in SPREADS if name in Repetition.model_fields))  # fmt: skip


def import_results(
    path: Path | str, *, arm: str | None = None, declared: Mapping[str, Any] | None = None
) -> list[Passport]:
    """Read a result file of another harness.

    Runs that asked for the same load are repetitions of one arm; every other load gives a passport
    of its own.

    Parameters
    ----------
    arm
        Name of the arm; the file's own label or its name when not given.
    declared
        Items of identity and protocol that the file does not say. They are marked as declared and
        never replace what the file says.

    Raises
    ------
    InputError
        When the file is of no known format, or a declared item is none.
    PassportError
        When it cannot be read.
    """
    path = Path(path)
    text = read_bounded(path, f"give a result file of one of: {'; '.join(ACCEPTED)}")
    runs = read_runs(text, str(path))
    groups: dict[str, list[Run]] = {}
    for run in runs:
        names = [f.items.get("model") for f in run.identity]
        builds = [repr(f.items) for f in run.identity if run.harness == "llama-bench"]
        key = repr((run.harness, names, builds, sorted(run.asked.items(), key=str)))
        groups.setdefault(key, []).append(run)
    several = len(groups) > 1
    return [
        _passport(group, _arm(arm, path, group[0], place if several else None), path,
                  declared or {})
        for place, group in enumerate(groups.values(), 1)
    ]  # fmt: skip


def _arm(arm: str | None, path: Path, run: Run, place: int | None) -> str:
    name = arm or run.label or path.stem
    asked = [f"{k} {v}" for k, v in run.asked.items() if v is not None]
    return shown(name if place is None else f"{name} [{', '.join(asked) or place}]", 200)


def _passport(runs: list[Run], arm: str, path: Path, declared: Mapping[str, Any]) -> Passport:
    first = runs[0]
    identity = Identity()
    for found in first.identity:
        identity = identity.seen(found.items, found.basis, found.where)
    own = not first.harness.endswith(RAW)
    name, faults = harness(first.harness.removesuffix(RAW), own_figures=own)
    protocol = _protocol(runs, name, faults)
    identity, protocol = _declare(identity, protocol, declared)
    results = _results(runs)
    failed = [r.failed for r in runs]
    warnings = [w for r in runs for w in r.warnings]
    if any(r.failed and r.failures is None for r in runs):
        warnings.append(f"{sum(f or 0 for f in failed)} requests failed; the file does not say in "
                        "which class")  # fmt: skip
    if results.itl_s and results.itl_s.median < HELD_BACK_S:
        warnings.append(f"{results.itl_s.median * 1e6:.3g} microseconds a token: answers came in "
                        "one piece or from a simulator, so its ITL is no engine's")  # fmt: skip
    broken = tuple(b for r in runs for b in r.broken)
    day, note = _day(first.started_at, path)
    cached = max((r.cached_share for r in runs if r.cached_share is not None), default=None)
    return Passport(
        arm=arm,
        identity=identity,
        protocol=protocol,
        validity=Validity(
            valid=False if broken else None,
            reasons=broken,
            warnings=tuple(dict.fromkeys(warnings)),
            most_in_flight=max(
                (r.achieved_concurrency for r in runs if r.achieved_concurrency), default=None
            ),
            failures=_classes(runs),
            realised_kv_tokens=identity.kv_pool_tokens,
            realised_context_tokens=identity.context_tokens,
            realised_slots=identity.slots,
            largest_cached_share=cached,
        ),
        results=results,
        samples=tuple(
            s.model_copy(update={"repetition": i})
            for i, r in enumerate(runs) for s in r.samples
        )[:MAX_SAMPLES],
        source=Source(title=f"{name}, file {shown(path.name, 200)}",
                      as_of=day, note=note),
        notes=tuple(dict.fromkeys(n for r in runs for n in r.notes)),
    )  # fmt: skip


def _classes(runs: list[Run]) -> dict[str, int]:
    """Failures by class, where every run counted them."""
    if any(r.failures is None for r in runs):
        return {}
    total = sum((Counter(r.failures) for r in runs), Counter[str]())
    return {f.value: total[f.value] for f in Failure}


def _protocol(runs: list[Run], name: str, faults: tuple[str, ...]) -> Protocol:
    run = runs[0]
    cached = run.cached_share
    cache = None if cached is None else "cold" if cached <= MAX_CACHED_SHARE else "partly warm"
    given = run.sampling_settings
    said = {n: getattr(run, n) for n in Run.model_fields if n in Protocol.model_fields}
    return Protocol(**{
        **said, "harness": name, "harness_faults": faults, "window_s": run.duration_s,
        "sampling": None if given is None else ", ".join(f"{k} {v}" for k, v in given.items()),
        "prefix_cache_state": None if cached is None
        else f"{cached:.1%} of prompt tokens from cache",
        "cache": cache, "repetitions": len(runs), "ended_at": runs[-1].ended_at,
    })  # fmt: skip


def _declare(
    identity: Identity, protocol: Protocol, declared: Mapping[str, Any]
) -> tuple[Identity, Protocol]:
    """Fill what is unknown with what somebody says; a check of each value is the record's."""
    for key, value in declared.items():
        if key in Identity.model_fields and key not in ("origins", "server", "machine"):
            checked = _checked(Identity, key, value)
            identity = identity.seen({key: checked}, Basis.DECLARED, "given at the import")
        elif key in Protocol.model_fields and key not in ("plan", "harness_faults", "held_fixed"):
            if getattr(protocol, key) is None:
                protocol = protocol.model_copy(update={key: _checked(Protocol, key, value)})
        else:
            raise InputError(
                f"{shown(key)}: no item of identity or protocol; the items are "
                f"{', '.join((*Identity.model_fields, *Protocol.model_fields))}"
            )
    return identity, protocol


def _checked(record: type[Record], key: str, value: Any) -> Any:
    """Return a declared value as the record holds it; but for a seed none is below zero.

    A text is tried as it stands, so that a revision of digits stays one, then as ``a=1,b=2``.
    """
    pairs = (p.replace(":", "=", 1).partition("=") for p in str(value).split(","))
    mapping = {k.strip(): typed(v.strip()) for k, mark, v in pairs if mark}
    try:
        try:
            found = getattr(record.model_validate({key: value}), key)
        except ValidationError:
            if not mapping:
                raise
            found = getattr(record.model_validate({key: mapping}), key)
    except ValidationError as error:
        raise InputError(
            f"{key} {shown(str(value))!r}: {error.errors()[0]['msg']}; declare it anew"
        ) from None
    if key != "seed" and isinstance(found, int | float) and not found >= 0:
        raise InputError(f"{key} {found:g}: is below zero or no number; declare it anew")
    return found


def _results(runs: list[Run]) -> Results:
    samples = [s for r in runs for s in r.samples]

    def all_of(name: str) -> Any:
        values = [getattr(r, name) for r in runs]
        return statistics.fmean(values) if values and None not in values else None

    def total(name: str) -> int | None:
        values = [getattr(r, name) for r in runs]
        return sum(values) if None not in values else None

    return Results(
        evidence=Evidence.REPORTED,
        requests=total("requests"),
        usable=total("completed"),
        errors=total("failed"),
        **{name: _joined([getattr(r, name) for r in runs], name, samples) for name in SPREADS},
        output_tokens_per_s=all_of("output_tokens_per_s"),
        requests_per_s=all_of("requests_per_s"),
        accepted_tokens_per_step=all_of("accepted_tokens_per_step"),
        goodput=tuple(g for r in runs for g in r.goodput) if len(runs) == 1 else (),
        repetitions=tuple(_repetition(i, r) for i, r in enumerate(runs)),
    )


def _joined(found: list[Spread | None], name: str, samples: list[Any]) -> Spread | None:
    known = [f for f in found if f is not None]
    if len(found) == 1 or not known:
        return known[0] if known else None
    if samples and name in type(samples[0]).model_fields:
        return Spread.of((getattr(s, name) for s in samples), Evidence.REPORTED)
    counts = [f.n for f in known]
    bounds = {k: [getattr(f, k) for f in known] for k in ("low", "high")}
    middle = statistics.fmean(f.median for f in known)
    return Spread(
        n=sum(c for c in counts if c) if None not in counts else None,
        median=middle, centre="mean", evidence=Evidence.REPORTED,
        low=min(bounds["low"]) if None not in bounds["low"] else None,
        high=max(bounds["high"]) if None not in bounds["high"] else None,
    )  # fmt: skip


def _repetition(number: int, run: Run) -> Repetition:
    return Repetition(
        number=number, requests=run.requests or 0, completed=run.completed or 0,
        **{name: getattr(run, name) for name in REPEATED},
    )  # fmt: skip


def _day(text: str | None, path: Path) -> tuple[str, str]:
    """Return the day of the run and what it was read from; stamps differ between harnesses."""
    stamp = re.match(r"(20\d\d)-?(\d\d)-?(\d\d)(?!\d)", text or "")
    with suppress(ValueError):  # a day that no calendar has
        if stamp:
            return dt.date(*map(int, stamp.groups())).isoformat(), "taken in as it is"
    seconds, note = number(text), "taken in as it is"
    if seconds is None or not 1e9 < seconds < 1e11:
        seconds, note = path.stat().st_mtime, "taken in as it is; the date is the file's"
    return dt.datetime.fromtimestamp(seconds, dt.UTC).date().isoformat(), note
