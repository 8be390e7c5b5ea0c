"""The kernel path as tables: one checkpoint in an engine, an engine's encodings, and a panel."""

from stackchoice.errors import InputError
from stackchoice.facts import Facts
from stackchoice.facts.names import artifact_named, named
from stackchoice.fit.path import artifact_parts, first_quantised
from stackchoice.kernels import EngineWall, ModelWall, engine_wall, split_release, wall_there
from stackchoice.present.controls import dropdown, listed, text_field
from stackchoice.present.kept import Kept
from stackchoice.present.kerneltext import wall_text
from stackchoice.present.page import Section, section
from stackchoice.present.panel import Panel
from stackchoice.present.panels import artifact_choices
from stackchoice.why.fit import kernel_path, kernel_rows

NEWEST = "newest"


def path_table(wall: ModelWall) -> Section:
    """Return what one engine does with one checkpoint on one machine: the three levels, and why."""
    return section("kernel_path", wall=wall, told=wall.path and kernel_path(wall.path))


def wall_table(wall: EngineWall) -> Section:
    """Return which encodings have kernels in an engine release on a machine."""
    rows = [(row, kernel_rows(f"{row.name}, {row.part}: {row.verdict}", row.path))
            for row in wall.rows]  # fmt: skip
    return section("kernel_wall", wall=wall, rows=rows, wall_text=wall_text)


def wall_of(
    facts: Facts, model_id: str, artifact_id: str, engine_id: str, release: str | None,
    machine_id: str,
) -> ModelWall:  # fmt: skip
    """Return the wall of an artifact in one engine on one machine.

    InputError when nobody read how the artifact is stored, or the release cannot be placed.
    """
    model = named("model", model_id, facts.models)
    artifact = artifact_named(artifact_id, model)
    machine = named("machine", machine_id, facts.machines)
    parts = artifact_parts(model, artifact, facts)
    if not parts:
        raise InputError(f"{artifact.label}: nobody read how its parts are stored; choose another")
    engine, release = split_release("==".join(filter(None, (engine_id, release))), facts)
    return wall_there(model, artifact, parts, engine, release, machine, facts)


class KernelPanel(Panel):
    """What any engine release does with any artifact on any machine of the fact base.

    Parameters
    ----------
    start
        First values of fields, by name: ``model``, ``artifact``, ``engine``, ``release``,
        ``machine``.

    Attributes
    ----------
    wall
        The last valid path.
    """

    def __init__(self, facts: Facts, *, keep: str = "", **start: str) -> None:
        values = {
            "model": "Qwen/Qwen3.8-27B", "engine": "vllm", "release": NEWEST,
            "machine": "rtx_5090", **start,
        }  # fmt: skip
        artifacts = artifact_choices(facts, values["model"])
        values.setdefault("artifact", _quantised(facts, values["model"]))
        fields = {
            "model": dropdown("Model", listed(facts.models), values["model"]),
            "artifact": dropdown("Weights", artifacts, values["artifact"]),
            "engine": dropdown("Engine", listed(facts.engines), values["engine"]),
            "release": text_field("Release", values["release"]),
            "machine": dropdown("Machine", listed(facts.machines), values["machine"]),
        }
        super().__init__(facts, fields, values, Kept(keep, "kernels"))

    result: ModelWall

    @property
    def wall(self) -> ModelWall:
        """The last valid result."""
        return self.result

    def _follow(self, values: dict[str, str], changed: str) -> dict[str, str]:
        if changed != "model":
            return values
        return {**values, "artifact": _quantised(self.facts, values["model"])}

    def _answer(self, values: dict[str, str]) -> ModelWall:
        release = values["release"].strip()
        return wall_of(
            self.facts, values["model"], values["artifact"], values["engine"],
            None if release.lower() in ("", NEWEST) else release, values["machine"],
        )  # fmt: skip

    def _options(self, values: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
        return {"artifact": artifact_choices(self.facts, values["model"])}

    def _table(self) -> Section:
        return path_table(self.wall)


def _quantised(facts: Facts, model_id: str) -> str:
    return first_quantised(named("model", model_id, facts.models), facts).id


def engine_table(facts: Facts, engine: str, machine: str) -> Section:
    """Return the wall of an engine (``name`` or ``name==release``) on a machine."""
    return wall_table(engine_wall(engine, machine, facts))
