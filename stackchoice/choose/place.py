"""One artifact on one machine in one size of a replica: the candidates, before any arithmetic.

And what an engine takes there of the memory, whatever it serves.
"""

from dataclasses import dataclass
from functools import partial

from stackchoice.choose.case import Case
from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Datum, Evidence
from stackchoice.facts.records import Artifact, Engine, Machine, Model
from stackchoice.fit import CacheLayout, usable_bytes
from stackchoice.fit.admissions import replica_launch
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.cache import held_layout
from stackchoice.fit.cures import DEVICES
from stackchoice.fit.memory import GB, GIB
from stackchoice.fit.workspace import Start, workspace
from stackchoice.scenario import MachineChoice


@dataclass(frozen=True, kw_only=True)
class Place:
    """One artifact on one machine, before any arithmetic; ``number`` tells places apart.

    ``devices`` is how many a replica takes here: as stated, else one of those that are tried.
    """

    number: int
    model: Model
    artifact: Artifact
    machine: Machine
    choice: MachineChoice
    devices: int

    @property
    def replicas_there(self) -> int:
        """How many replicas the candidate devices make."""
        return max(1, self.choice.count // self.devices)

    @property
    def licence(self) -> Datum[str]:
        """The licence of the weights: the artifact's own, else the model's."""
        own = self.artifact.licence
        return own if own.known else self.model.licence


def places(case: Case) -> list[Place]:
    """Return every candidate artifact on every candidate machine, in every size of a replica."""
    model = case.facts.models[case.scenario.model.id]
    wanted = case.scenario.model.artifacts or [a.id for a in model.artifacts]
    found = [
        (choice, name, devices) for choice in case.scenario.candidates.machines
        for name in wanted for devices in replica_sizes(choice)
    ]  # fmt: skip
    return [
        Place(number=number, model=model, artifact=model.artifact(name), choice=choice,
              machine=case.facts.machines[choice.id], devices=devices)
        for number, (choice, name, devices) in enumerate(found)
    ]  # fmt: skip


def replica_sizes(choice: MachineChoice) -> list[int]:
    """Return how many devices a replica may take: as stated, else 1, 2, 4 and 8 are tried.

    A replica over more than one server is never tried unasked.
    """
    if choice.devices_per_replica is not None:
        return [choice.devices_per_replica]
    return [size for size in (1, *DEVICES) if size <= choice.count]


def workspaces(place: Place, case: Case, *engines: str, own: bool = False) -> dict[str, Datum[int]]:
    """Return what each engine takes beside weights and cache: as stated, else as it is known.

    ``own``: as it is known, whatever is stated.
    """
    stated = None if own else case.scenario.candidates.stated_budget
    if stated is not None:
        taken = stated_size(stated.workspace_gb, stated.origin)
        return dict.fromkeys(engines or case.facts.engines, taken)
    runs = engines or tuple(
        e.id for e in case.facts.engines.values() if e.runs_on(place.machine.backend) is not False
    )
    return case.recall(
        ("workspaces", place.number, engines),
        lambda here: {
            engine: workspace(start_of(place, here.facts.engines[engine], here),
                              end=here.assumed("workspace_end"))
            for engine in runs
        },
    )  # fmt: skip


def launch_of(place: Place, engine: Engine, case: Case) -> Launch:
    """Return the launch of an engine's newest release on a replica, by its defaults."""
    return case.recall(
        ("launch", engine.id, place.devices),
        lambda here: replica_launch(
            engine.id, engine.latest.version, place.model.config.value or {},
            devices=place.devices, facts=here.facts,
        ),
    )  # fmt: skip


def start_of(place: Place, engine: Engine, case: Case) -> Start:
    """Return the launch of an engine at a place as its workspace is asked for."""
    weights = place.artifact.weights_bytes.value
    return Start(
        launch_of(place, engine, case).but(settings=case.recall(
            ("at once", place.number), partial(_at_once, place)
        )), place.machine,
        place.devices, None if weights is None else weights / place.devices / GIB,
        images=lambda: case["workload.images"],
    )  # fmt: skip


def stated_size(gigabytes: float, origin: str) -> Datum[int]:
    """Return a size of a stated budget."""
    return Datum[int](
        value=round(gigabytes * GB), evidence=Evidence.ASSUMED, note=origin or "stated by the team"
    )


def layout_of(
    model: Model, case: Case, devices: int = 1, engine: str = ""
) -> tuple[CacheLayout | None, str]:
    """Return the layout of a model's cache on a replica, or why it is not known.

    Of the model itself on one device, and with an engine that gives each device whole layers.
    """
    spread = 1 if case.facts.speed_classes.splits_by_layer(engine) else devices

    def read() -> tuple[CacheLayout | None, str]:
        try:
            return held_layout(model.config.value or {}, spread, memory=case.facts.memory), ""
        except UnknownCacheError as error:
            return None, str(error)

    return case.recall(("layout", spread), lambda _: read())


def _at_once(place: Place, case: Case) -> dict[str, int]:
    """Return the setting of sequences at once: as many as all that the weights leave would hold.

    The launch line sets what is admitted, which is fewer.
    """
    layout, context = layout_of(place.model, case)[0], case.flow.context_tokens
    memory = usable_bytes(place.machine, place.devices).value
    weights = place.artifact.weights_bytes.value
    if not layout or not context or memory is None or weights is None:
        return {}
    room = max(1, (memory - weights) // max(1, layout.bytes_per_sequence(context)))
    return {"max_num_seqs": room, "max_running_requests": room}
