"""Question 1: memory budgets, what each engine release admits in them, and the kernel path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stackchoice.choose.trace import budgets, own_workspaces
from stackchoice.errors import UnknownCacheError, UnknownRuleError
from stackchoice.facts.datum import Datum, weakest
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Format, Machine, Model
from stackchoice.facts.told import Cited, Told, Why, Working
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
from stackchoice.fit.path import KernelPath, PartPath
from stackchoice.why.case import Decided, Whys


@dataclass(frozen=True)
class Asked:
    """Question 1 as it was asked, for a decision's site or for a panel's choice.

    ``length`` puts the context into the sums, with who says so.
    """

    model: Model
    artifact: Artifact
    machine: Machine
    devices: int
    layout: CacheLayout | None
    budgets: list[dict[str, Any]]
    context: int | None
    length: Callable[[Working], Any]
    facts: Facts
    kv_dtype: str | None = None
    file_format: Format | None = None
    workspaces: Mapping[str, Datum[int]] | None = None

    @property
    def rows(self) -> list[FitRow]:
        """The budgets, each with its plain quotient."""
        one = self.layout.bytes_per_sequence(self.context) if self.layout and self.context else None
        return [fit_row(**asked, bytes_per_sequence=one) for asked in self.budgets]


def _asked(at: Decided) -> Asked | None:
    site = at.site
    if site is None:
        return None
    return Asked(
        site.model, site.artifact, site.machine, site.devices, site.held,
        budgets(at.case, site), at.case["workload.context_tokens"],
        lambda work: at.said(work, "workload.context_tokens"), at.facts,
        file_format=site.artifact.format, workspaces=own_workspaces(at.case, site),
    )  # fmt: skip


def memory(at: Decided) -> Whys:
    """Why each budget of a decision has room for so many live sequences."""
    if (asked := _asked(at)) is not None:
        yield from quotients(asked)


def admissions(at: Decided) -> Whys:
    """Why each engine release admits so many, for a decision."""
    if (asked := _asked(at)) is not None:
        yield from admitted(asked)


def quotients(of: Asked) -> Whys:
    """Why each budget has room for so many live sequences by plain quotient."""
    for asked in of.budgets:
        work = Working()
        parts = [
            work.fact(part, asked[f"{part}_bytes"].value, "B", asked[f"{part}_bytes"])
            for part in ("memory", "weights", "workspace")
        ]
        one = _sequence(of, work)
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


def _sequence(of: Asked, work: Working) -> Any:
    """Write down the bytes of one sequence, by kinds of layers as the model's config has them."""
    if of.layout is None or not of.context:
        return None
    length = of.length(work)
    layout = telling(work, of.layout, of.model.config)
    return work.step("one sequence", layout.bytes_per_sequence(length), "B")


def telling(work: Working, layout: CacheLayout, config: Datum[Any]) -> CacheLayout:
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


def admitted(of: Asked) -> Whys:
    """Why each engine release admits so many, one explanation a release for all budgets."""
    rows, found = of.rows, dict[str, list[AdmissionRow]]()
    for row in admission_rows(
        of.model.config.value or {}, of.machine, rows, context_tokens=of.context,
        devices=of.devices, facts=of.facts, kv_dtype=of.kv_dtype, file_format=of.file_format,
        workspaces=of.workspaces,
    ):  # fmt: skip
        found.setdefault(f"{row.engine} {row.release}, {row.settings}", []).append(row)
    for title, admits in found.items():
        if all(row.live_sequences is not None for row in admits):
            yield f"admission:{title}", _admitted(of, title, admits)


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


def _admitted(of: Asked, title: str, rows: list[AdmissionRow]) -> Why:
    first = rows[0]
    engine = next(e for e in of.facts.engines.values() if e.name == first.engine)
    asked = replica_launch(
        engine.id, engine.latest.version, of.model.config.value or {}, devices=of.devices,
        settings=WITHOUT_PREFIX_CACHING if first.settings == NO_PREFIX_CACHING else {},
        facts=of.facts, kv_dtype=of.kv_dtype,
    )  # fmt: skip
    noting = Noting(asked.memory)
    asked = asked.model_copy(update={"memory": noting})
    work, plan = Working(), None
    if first.rule != "block_groups":  # a plan of blocks has its own sizes
        told = telling(work, asked.layout(), of.model.config)
        asked = Telling.model_construct(told=told, **dict(asked))
    context = of.length(work)
    for row in rows:
        pool = work.fact(
            "pool", row.pool_bytes // asked.tp, "B", evidence=row.evidence,
            source=row.basis, note=f"over {asked.tp} devices" if asked.tp > 1 else "",
        )  # fmt: skip
        try:
            if row.rule == "block_groups":
                plan = plan or told_plan(work, with_device(asked, of.machine))
                live = by_blocks(plan, pool, context)
            else:
                live = ADMIT[str(row.rule)](asked, pool, context)
        except (UnknownRuleError, UnknownCacheError):
            continue
        name, count = f"live sequences, {row.basis}", live["live_sequences"]
        if isinstance(count, int) and count:  # no sum: a limit that is set, below the pool's
            work.fact(name, count, "sequences", note="as many as the release runs at once")
        work.step(name, count, "sequences")
    for key, datum in noting.read.items():
        value = datum.value.replace("_", " ") if isinstance(datum.value, str) else datum.value
        work.fact(key.replace("_", " "), value, "", datum)
    return work.why(
        f"live sequences, {title}", RULES.get(str(first.rule), ""),
        weakest(*(row.evidence for row in rows)), [first.note],
    )  # fmt: skip


def told_plan(work: Working, asked: Any) -> vllm.Plan:
    """Return the release's plan of blocks with its sizes as numbers that tell."""
    plan = vllm.plan(asked)
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
    if at.site and at.site.kernels:
        yield "kernels", kernel_path(at.site.kernels)


def kernel_path(path: KernelPath) -> Why:
    """Return which source says which kernel runs in a path, part by part."""
    title = f"kernel path, {path.engine_name} {path.release} on {path.chip_name}"
    return kernel_rows(title, *path.parts)


def kernel_rows(answer: str, *parts: PartPath) -> Why:
    """Return which source says which kernel runs in these parts."""
    facts = []
    for part in parts:
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
    return Why(
        answer=answer, facts=facts, evidence=weakest(*known) if known else None,
        rule="a row of the kernel table holds for this format, part, phase, chip and release; "
        "where rows differ or nobody read the release it is unknown",
    )  # fmt: skip
