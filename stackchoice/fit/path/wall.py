"""The question on the wall, both ways: what is optimised here, and where is this file native."""

from typing import Literal, get_args

from stackchoice.facts.datum import Record
from stackchoice.facts.kernels import Chip, PartName, matches
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Engine, Machine, WeightPart
from stackchoice.fit.path.chips import chip_of
from stackchoice.fit.path.resolve import KernelPath, PartPath, paths

#: Best first.
Verdict = Literal["native", "as the file asks", "narrower than the file asks", "falls back",
                  "emulated", "loads", "unknown", "refused"]  # fmt: skip
ORDER: tuple[Verdict, ...] = get_args(Verdict)


class WallRow(Record):
    """What one engine release does with one encoding, in one or more checkpoint formats."""

    encoding: str
    name: str
    part: PartName
    containers: list[str]
    verdict: Verdict
    path: PartPath


class PlaceRow(Record):
    """How one checkpoint runs in one engine release on one generation of chips."""

    engine: str
    engine_id: str
    release: str
    chip: str
    chip_name: str
    machines: list[str]
    verdict: Verdict
    path: KernelPath


def part_verdict(part: PartPath) -> Verdict:
    """Sum the two phases of a part up: by what prefill multiplies, unless decode is worse."""
    phases = (part.prefill, part.decode)
    if any(p.loads is False for p in phases):
        return "refused"
    if all(p.loads is None for p in phases):
        return "unknown"
    if any(p.arithmetic is None for p in phases):
        return "loads"
    if any(p.arithmetic == "emulated" for p in phases):
        return "emulated"
    if any(p.fallback for p in phases):
        return "falls back"
    if any(p.narrower for p in phases):
        return "narrower than the file asks"
    if part.prefill.native:
        return "native"
    return "as the file asks"


def path_verdict(path: KernelPath) -> Verdict:
    """Return the worst verdict of the parts: one refused part refuses the file."""
    found = [part_verdict(part) for part in path.parts]
    return max(found, key=ORDER.index, default="unknown")


def encodings_on(
    engine_id: str, release: str | None, machine: Machine | Chip, facts: Facts
) -> list[WallRow]:
    """Return which encodings have kernels in an engine release on a machine.

    Every encoding that any source speaks of for this engine, by part; checkpoint formats that fare
    alike share a row. Encodings nobody read anything of are left out.
    """
    found: list[WallRow] = []
    for encoding in facts.encodings.values():
        for part in ("linear", "moe", "attention"):
            rows = [
                row for row in facts.kernels.rows
                if row.engine == engine_id and part in row.parts
                and matches(encoding.id, row.encodings)
            ]  # fmt: skip
            if not rows:
                continue
            containers = sorted({c for row in rows for c in row.containers}) or [""]
            alike: dict[tuple[str | None, ...], WallRow] = {}
            for container in containers:
                asked = WeightPart(part=part, encoding=encoding.id, container=container)
                one = paths([asked], engine_id, release, machine, facts).parts[0]
                verdict = part_verdict(one)
                key = (verdict, one.prefill.kernel, one.prefill.arithmetic, one.decode.arithmetic)
                if key in alike:
                    alike[key].containers.append(container)
                else:
                    alike[key] = WallRow(
                        encoding=encoding.id, name=encoding.name, part=part,
                        containers=[container] if container else [], verdict=verdict, path=one,
                    )  # fmt: skip
            found += alike.values()
    return sorted(found, key=lambda row: ORDER.index(row.verdict))


def places_for(
    parts: list[WeightPart],
    facts: Facts,
    *,
    file_format: str = "",
    engines: list[str] | None = None,
    machines: list[str] | None = None,
    releases: dict[str, str] | None = None,
) -> list[PlaceRow]:
    """Return where a checkpoint runs natively, falls back or is refused.

    One row an engine and generation of chips, with the machines of that generation; the newest
    stable release of each engine unless ``releases`` names another. Engines that are known not to
    load ``file_format``, or not to run on a platform, have no row.
    """
    chosen = [facts.engines[e] for e in engines] if engines else list(facts.engines.values())
    chosen = [e for e in chosen if e.loads(file_format) is not False]
    by_chip: dict[str, list[Machine]] = {}
    for machine in facts.machines.values():
        if machines is not None and machine.id not in machines:
            continue
        chip = chip_of(machine, facts.kernels)
        if chip is not None:
            by_chip.setdefault(chip.id, []).append(machine)
    found = [
        (engine, own, paths(parts, engine.id, (releases or {}).get(engine.id), own[0], facts))
        for engine in chosen for own in by_chip.values() if _runs(engine, own[0])
    ]  # fmt: skip
    rows = [
        PlaceRow(
            engine=engine.name, engine_id=engine.id, release=path.release, chip=path.chip or "",
            chip_name=path.chip_name, machines=[m.name for m in own], verdict=path_verdict(path),
            path=path,
        )
        for engine, own, path in found
    ]  # fmt: skip
    return sorted(rows, key=lambda row: ORDER.index(row.verdict))


def _runs(engine: Engine, machine: Machine) -> bool:
    """Whether nothing known speaks against the machine's platform and capability."""
    floor, has = engine.min_compute_capability.value, machine.cuda_capability
    return engine.runs_on(machine.backend) is not False and not (floor and has and has < floor)
