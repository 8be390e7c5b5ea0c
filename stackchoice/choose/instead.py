"""What would do where nothing does: devices of a machine on which the case has an answer.

The same judgement on other machines and counts; no formula of its own.
"""

from collections.abc import Iterator
from dataclasses import replace

from stackchoice.choose.answer import Answer, answer
from stackchoice.choose.case import Case
from stackchoice.choose.checks import standing
from stackchoice.choose.place import places
from stackchoice.choose.selfhosted import Judged
from stackchoice.choose.site import served
from stackchoice.fit import usable_bytes
from stackchoice.fit.cures import DEVICES
from stackchoice.ops import vetoed
from stackchoice.scenario import MOST_DEVICES, MachineChoice

#: Sizes of a replica that are tried, and how many machines are named.
SIZES, NAMED = (1, *DEVICES), 3


def instead(main: Answer) -> list[str]:
    """Return what would do where no way is left open; nothing where one is, or people are missing.

    Tried are the candidates and every machine that the fact base has a price for, whatever the
    team can fund: this says what it would have to.
    """
    case = main.case
    if main.ways or vetoed(case.scenario, case.point):
        return []
    own = [choice.id for choice in case.scenario.candidates.machines]
    priced = [hour.machine for hour in case.facts.hours]
    priced += [server.machine for server in case.facts.servers]
    least = {name: _least(case, name) for name in dict.fromkeys(own + priced)}
    tried = (
        f"replicas of {', '.join(map(str, SIZES[:-1]))} and {SIZES[-1]} devices were tried, up to "
        f"{MOST_DEVICES:,} in all"
    )
    found = sorted((one for one in least.values() if one is not None), key=_memory)[:NAMED]
    if not found:
        return [
            f"what would do is unknown: {tried}, of the candidates and of every machine with a "
            "price in the fact base, and none is known to"
        ]
    none = [case.facts.machines[name].name for name in dict.fromkeys(own) if least[name] is None]
    unfit = f"; no number of {' or '.join(none)} is known to" if none else ""
    return [f"what would do: {'; or '.join(map(_text, found))}{unfit} ({tried})"]


def _least(case: Case, machine: str) -> Judged | None:
    """Return the answer on the fewest devices that have one, in the smallest replica."""
    for size in SIZES:
        here = _there(case, machine, size, size)
        for count in sorted({one.standing.place.choice.count for one in _survivors(here, size)}):
            if (best := answer(_there(case, machine, count, size)).chosen) is not None:
                return best
    return None


def _there(case: Case, machine: str, count: int, size: int) -> Case:
    """Return the case on so many devices of a machine alone, whatever can be funded."""
    given = [c for c in case.scenario.candidates.machines if c.id == machine]
    choice = MachineChoice(
        id=machine, count=count, devices_per_replica=size,
        interconnect=given[0].interconnect if given else None,
    )  # fmt: skip
    candidates = case.scenario.candidates.model_copy(update={"machines": [choice]})
    scenario = case.scenario.model_copy(update={"candidates": candidates})
    return Case(scenario, case.facts, case.point.moved({"money.can_fund_devices": None}))


def _survivors(case: Case, size: int) -> Iterator[Judged]:
    """Yield what is known to survive, each in as many replicas as the peak takes at most."""
    for place in places(case):
        weights, memory = place.artifact.weights_bytes, usable_bytes(place.machine, size)
        if weights.value is None or memory.value is None or weights.value > memory.value:
            continue  # no engine could hold it, so none is asked
        for engine in case.facts.engines.values():
            stands = standing(case, engine, place)
            if not stands.fits or stands.unknown or stands.site is None:
                continue
            replicas = max(served(stands.site, case).replicas_needed or (1,))
            if (count := size * replicas) > MOST_DEVICES:
                continue
            choice = place.choice.model_copy(update={"count": count})
            there, site = replace(place, choice=choice), replace(stands.site, choice=choice)
            one = Judged(replace(stands, place=there, site=site), case, limits=True)
            if one.proven:
                yield one


def _memory(best: Judged) -> int:
    place = best.standing.place
    return usable_bytes(place.machine, place.choice.count).value or 0


def _text(best: Judged) -> str:
    place, one = best.standing.place, best.candidate()
    several = f" in {place.replicas_there} replicas" if place.replicas_there > 1 else ""
    return (
        f"{place.choice.count} x {place.machine.name}{several}, with {one.engine} {one.release} · "
        f"{one.artifact} ({one.reason})"
    )
