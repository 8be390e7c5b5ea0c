"""The kernel path as text for a terminal; what comes from files is made safe to print."""

from collections.abc import Iterable, Iterator

from stackchoice.facts.yaml import shown, shown_lines
from stackchoice.fit.path import KernelPath, PhasePath, WeightPart
from stackchoice.fit.path.meaning import Meaning
from stackchoice.fit.path.support import ANSWER, Feature
from stackchoice.fit.path.wall import PlaceRow, WallRow
from stackchoice.kernels import EngineWall, ModelWall
from stackchoice.present.text import UNKNOWN
from stackchoice.read import Inspection


def describe_engine(wall: EngineWall) -> str:
    """Return which encodings an engine has kernels for, the best first."""
    lines = [f"{wall.engine} {shown(wall.release, 60)} on {wall.machine} ({wall.chip})"]
    verdict = ""
    for row in wall.rows:
        if row.verdict != verdict:
            verdict = row.verdict
            lines.append(f"  {verdict}")
        files = f" [{', '.join(row.containers)}]" if row.containers else ""
        lines.append(f"    {row.name}, {row.part}{files}: {wall_text(row)}")
    if not wall.rows:
        lines.append("  unknown: no source tells of any encoding")
    return shown_lines(*lines)


def wall_text(row: WallRow) -> str:
    """Say in one line what happens to an encoding: arithmetic, kernel, remark, class."""
    prefill, decode = row.path.prefill, row.path.decode
    if prefill.loads is None:
        return prefill.note
    said = prefill.arithmetic or "arithmetic unknown"
    if decode.arithmetic != prefill.arithmetic:
        said = f"prefill {said}, decode {decode.arithmetic or UNKNOWN}"
    texts = [said, prefill.kernel if prefill.kernel != "none" else "", prefill.note]
    return f"{'; '.join(t for t in texts if t)} ({evidence_of(prefill)})"


def evidence_of(phase: PhasePath) -> str:
    """Return the evidence class of a phase."""
    return phase.evidence.value if phase.evidence else UNKNOWN


def describe_model(wall: ModelWall) -> str:
    """Return where a checkpoint is native, or what one engine does with it on one machine."""
    lines = [f"{shown(wall.model, 80)}, {shown(wall.artifact, 80)}"]
    lines += [f"  {_part(p)}" for p in wall.parts]
    if wall.path is None:
        return shown_lines(*lines, *_places(wall.places))
    lines += there_lines(wall.path, wall.meanings, wall)
    lines += [
        f"    native here: {a.artifact} in {a.engine} {a.release}, {a.arithmetic}"
        for a in wall.alternatives[:6]
    ]
    return shown_lines(*lines)


def _part(part: WeightPart) -> str:
    said = f"{part.part}: {shown(part.encoding, 40)}"
    said += f" [{shown(part.container, 40)}]" if part.container else ""
    return said + (f", {part.modules:,} modules" if part.modules else "")


def _places(places: Iterable[PlaceRow]) -> Iterator[str]:
    """List places by verdict, the chips of an engine in one line."""
    found: dict[str, dict[str, list[str]]] = {}
    for place in places:
        engine = f"{place.engine} {place.release}"
        found.setdefault(place.verdict, {}).setdefault(engine, []).append(place.chip_name)
    for verdict, engines in found.items():
        yield f"  {verdict}"
        for engine, chips in engines.items():
            many = verdict == UNKNOWN and len(chips) > 3
            yield f"    {engine}: {f'{len(chips)} chips' if many else '; '.join(chips)}"


def there_lines(path: KernelPath, meant: list[Meaning], told: ModelWall | Inspection) -> list[str]:
    """Return whether it loads, the three levels of every part, and what the release has."""
    word = {True: "loads", False: "is refused", None: "may load"}[told.loads]
    word += f" ({told.loads_why})" if told.loads_why else ""
    lines = [f"  {path.engine_name} {shown(path.release, 60)} on {path.chip_name}: {word}"]
    for part, meaning in zip(path.parts, meant, strict=True):
        lines.append(f"    {shown(meaning.part, 120)}")
        for phase, text in ((part.prefill, meaning.prefill), (part.decode, meaning.decode)):
            lines.append(f"      {phase.phase:8}{phase.arithmetic or UNKNOWN:11}{shown(text, 400)}")
            lines.append(f"              {levels(phase)}")
    return [*lines, *(f"    {feature_text(f)}" for f in told.features)]


def levels(phase: PhasePath) -> str:
    """Say what the file asks, what is native and what is best, with the source."""
    said = (
        f"as the file asks: {ANSWER[phase.as_checkpoint_declares]}; native: "
        f"{ANSWER[phase.native]}; best on this chip: {ANSWER[phase.best_on_chip]}"
    )
    if phase.source is not None:
        said += f" ({evidence_of(phase)}, {phase.releases}: {phase.source.label})"
    return said


def feature_text(feature: Feature) -> str:
    """Say whether a release has a feature, since when, and by which remark."""
    said = f"{feature.name}: {feature.answer}"
    said += f", first {feature.since}" if feature.since else ""
    return said + (f"; {shown(feature.note, 300)}" if feature.note else "")
