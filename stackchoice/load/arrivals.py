"""When requests start: a closed loop, Poisson or constant arrivals, or a traffic file."""

import random
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from stackchoice.facts.datum import Record
from stackchoice.load.traffic import read_traffic


class Closed(Record):
    """So many streams; each starts its next request when its last has ended.

    The first starts are spread over one service time (as the warm-up found it, or ``stagger_s``):
    streams that start together stay together, and then wait for each other at the client.
    """

    kind: Literal["closed"] = "closed"
    streams: int = Field(default=1, ge=1, le=10_000)
    stagger_s: float | None = Field(default=None, ge=0)

    def __str__(self) -> str:
        if self.streams == 1:
            return "closed loop: the next request starts when the last has ended"
        return f"closed loop of {self.streams} streams, first starts staggered over a service time"


class Poisson(Record):
    """Requests that arrive independently of each other, drawn from the seed."""

    kind: Literal["poisson"] = "poisson"
    rate_per_s: float = Field(ge=1e-6, le=100_000, allow_inf_nan=False)

    def __str__(self) -> str:
        return f"open loop: Poisson arrivals, {self.rate_per_s:g} a second"


class Constant(Record):
    """Requests at one distance in time."""

    kind: Literal["constant"] = "constant"
    rate_per_s: float = Field(ge=1e-6, le=100_000, allow_inf_nan=False)

    def __str__(self) -> str:
        return f"open loop: one request every {1 / self.rate_per_s:g} s"


class Replay(Record):
    """The arrivals and token counts of a traffic file; ``speed`` 2 replays it in half the time."""

    kind: Literal["replay"] = "replay"
    path: str
    speed: float = Field(default=1, gt=0, le=10_000, allow_inf_nan=False)

    def __str__(self) -> str:
        return f"open loop: replay of {self.path} at speed {self.speed:g}"


Load = Annotated[Closed | Poisson | Constant | Replay, Field(discriminator="kind")]


def offsets(load: Poisson | Constant | Replay, seed: str) -> Iterator[float]:
    """Yield the seconds after the start at which requests are due; the same for the same seed."""
    if isinstance(load, Replay):
        yield from (a.at_s / load.speed for a in read_traffic(load.path).arrivals)
        return
    draw, at = random.Random(seed), 0.0
    while True:
        yield at
        at += 1 / load.rate_per_s if load.kind == "constant" else draw.expovariate(load.rate_per_s)
