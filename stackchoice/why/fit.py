"""Question 1: memory budgets, what each engine release admits in them, and the kernel path."""

from __future__ import annotations

from typing import Any

from stackchoice.choose.trace import budgets, own_workspaces
from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts.datum import Datum, weakest
from stackchoice.facts.told import Cited, Sum, Told, Why, Working
from stackchoice.fit import CacheLayout, FitRow, fit_row
from stackchoice.fit.admission import ADMIT, RULES, by_blocks, with_device
from stackchoice.fit.admissions import (
    NO_PREFIX_CACHING,
    WITHOUT_PREFIX_CACHING,
    AdmissionRow,
    admission_rows,
    replica_launch,
)
from stackchoice.fit.allocators import vllm
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.memory import left_for_cache, whole_sequences
from stackchoice.why.case import Decided, Whys


def memory(at: Decided) -> Whys:
    """Why each budget has room for so many live sequences by plain quotient."""
    site, context = at.site, at.case["workload.context_tokens"]
    if site is None:
        return
    for asked in budgets(at.case, site):
        work = Working()
        parts = [
            work.fact(part, asked[f"{part}_bytes"].value, "B", asked[f"{part}_bytes"])
            for part in ("memory", "weights", "workspace")
        ]
        one = _sequence(at, work, site, context)
        if None in [part.value for part in parts]:
            continue
        pool = work.step("left for the cache", left_for_cache(*parts), "B")
        if one is not None and pool > 0:
            work.step("live sequences", whole_sequences(pool, one), "sequences")
        yield (
            f"memory:{asked['basis']}",
            work.why(
                f"live sequences, {asked['basis']}",
                "plain quotient: what weights and workspace leave, over the bytes of one sequence; "
                "a budget, and no engine's admission",
                notes=[asked.get("note", "")],
            ),
        )


def _sequence(at: Decided, work: Working, site: Any, context: int | None) -> Any:
    """Write down the bytes of one sequence, by kinds of layers as the model's config has them."""
    if site.held is None or not context:
        return None
    length = at.said(work, "workload.context_tokens")
    layout = _telling(work, site.held, site.model.config)
    return work.step("one sequence", layout.bytes_per_sequence(length), "B")


def _telling(work: Working, layout: CacheLayout, config: Datum[Any]) -> CacheLayout:
    """Return the layout with the bytes of each kind of layer as numbers that tell."""
    groups = [
        group.model_copy(update={
            name: work.fact(
                f"{what}, {group.kind.replace('_', ' ')}", value, "B",
                config.model_copy(update={"note": f"{group.layers} layers of the model's config"}),
            )
            for name, what in (("bytes_per_token", "cache a token"), ("state_bytes", "state"))
            if (value := getattr(group, name))
        })
        for group in layout.groups
    ]  # fmt: skip
    return ToldLayout.model_construct(
        groups=groups, kv_dtype=layout.kv_dtype,
        growth=Told(layout.kv_bytes_per_token, "cache a token, all kinds"),
    )  # fmt: skip


def admissions(at: Decided) -> Whys:
    """Why each engine release admits so many, one explanation a release for all budgets."""
    site, context = at.site, at.case["workload.context_tokens"]
    if site is None or not context:
        return
    devices = site.devices
    per_sequence = site.held.bytes_per_sequence(context) if site.held else None
    rows = [fit_row(**asked, bytes_per_sequence=per_sequence) for asked in budgets(at.case, site)]
    found: dict[str, list[AdmissionRow]] = {}
    for row in admission_rows(
        site.model.config.value or {}, site.machine, rows, context_tokens=context,
        devices=devices, facts=at.facts, file_format=site.artifact.format,
        workspaces=own_workspaces(at.case, site),
    ):  # fmt: skip
        found.setdefault(f"{row.engine} {row.release}, {row.settings}", []).append(row)
    pools = {row.basis: row for row in rows}
    for title, admitted in found.items():
        if all(row.live_sequences is not None for row in admitted):
            yield f"admission:{title}", _admitted(at, site, title, admitted, pools)


class ToldLayout(CacheLayout):
    """A layout whose bytes tell; what all kinds of layers grow by is a sum of fractions."""

    growth: Any

    @property
    def kv_bytes_per_token(self) -> Any:
        """Return what each further token costs."""
        growing = [g.bytes_per_token for g in self.groups if g.bytes_per_token]
        alike = len(growing) == 1 and growing[0] == self.growth
        return growing[0] if alike else self.growth


class Telling(Launch):
    """A launch whose cache layout is made of numbers that tell."""

    told: CacheLayout

    def layout(self, **_: Any) -> CacheLayout:
        """Return that layout."""
        return self.told


class Noting:
    """Facts of memory that note which of them an allocator read."""

    def __init__(self, memory: Any) -> None:
        self._memory, self.read = memory, {}  # type: ignore[var-annotated]

    def fact(self, engine: str, key: str, release: Any, family: str = "") -> Datum[Any]:
        """Return an engine's behaviour at a release, noted."""
        found: Datum[Any] = self._memory.fact(engine, key, release, family)
        if found.known and key not in ("rule", "steady_state_note"):
            self.read[key] = found
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)


def _admitted(
    at: Decided, site: Any, title: str, rows: list[AdmissionRow], pools: dict[str, FitRow]
) -> Why:
    first = rows[0]
    engine = next(e for e in at.facts.engines.values() if e.name == first.engine)
    asked = replica_launch(
        engine.id, engine.latest.version, site.model.config.value or {},
        devices=site.devices,
        settings=WITHOUT_PREFIX_CACHING if first.settings == NO_PREFIX_CACHING else {},
        facts=at.facts,
    )  # fmt: skip
    noting = Noting(asked.memory)
    asked = asked.model_copy(update={"memory": noting})
    work, plan = Working(), None
    if first.rule != "block_groups":  # a plan of blocks has its own sizes
        told = _telling(work, asked.layout(), site.model.config)
        asked = Telling.model_construct(told=told, **dict(asked))
    context = at.said(work, "workload.context_tokens")
    for row in rows:
        pool = work.fact(
            "pool", row.pool_bytes // asked.tp, "B", evidence=row.evidence,
            source=row.basis, note=f"over {asked.tp} devices" if asked.tp > 1 else "",
        )  # fmt: skip
        try:
            if row.rule == "block_groups":
                plan = plan or _plan(work, asked, site.machine)
                live = by_blocks(plan, pool, context)
            else:
                live = ADMIT[str(row.rule)](asked, pool, context)
        except (UnknownRuleError, UnknownCacheError):
            continue
        work.step(f"live sequences, {row.basis}", live["live_sequences"], "sequences")
    for key, datum in noting.read.items():
        work.fact(key.replace("_", " "), datum.value, "", datum)
    return work.why(
        f"live sequences, {title}", RULES.get(str(first.rule), ""),
        weakest(*(row.evidence for row in rows)), [first.note],
    )  # fmt: skip


def _plan(work: Working, asked: Any, machine: Any) -> vllm.Plan:
    """Return the release's plan of blocks with its sizes as numbers that tell."""
    plan = vllm.plan(with_device(asked, machine))
    names = {"block_tokens": "tokens of a block", "fixed_blocks": "blocks of a state",
             "number": "groups", "window_tokens": "window"}  # fmt: skip
    groups = [
        group.model_copy(update={
            key: work.fact(f"{name}, {group.kind} groups", value)
            for key, name in names.items() if (value := getattr(group, key)) > 1
        })
        for group in plan.groups
    ]  # fmt: skip
    size = work.fact("bytes of a block", plan.block_bytes, "B",
                     note="over all layers of a group")  # fmt: skip
    batched = plan.batched_tokens
    if batched and any(group.window_tokens for group in plan.groups):
        batched = work.fact("batched tokens in flight", batched)
    return plan.model_copy(
        update={"groups": groups, "block_bytes": size, "batched_tokens": batched}
    )


def kernels(at: Decided) -> Whys:
    """Which source says which kernel runs, part by part; nothing is reckoned."""
    path = at.site.kernels if at.site else None
    if path is None:
        return
    facts, sums = [], list[Sum]()
    for part in path.parts:
        for phase in (part.prefill, part.decode):
            source = phase.source
            facts.append(
                Cited(
                    name=f"{part.part.part}, {phase.phase}", value=phase.arithmetic or "unknown",
                    evidence=phase.evidence, source=source.label if source else "",
                    url=source.url or "" if source else "", as_of=source.as_of if source else "",
                    note="; ".join(t for t in (phase.kernel, phase.releases, phase.note) if t),
                )
            )  # fmt: skip
    known = [fact.evidence for fact in facts if fact.evidence is not None]
    yield "kernels", Why(
        answer=f"kernel path, {path.engine_name} {path.release} on {path.chip_name}",
        rule="a row of the kernel table holds for this format, part, phase, chip and release; "
        "where rows differ or nobody read the release it is unknown",
        sums=sums, facts=facts, evidence=weakest(*known) if known else None,
    )  # fmt: skip
