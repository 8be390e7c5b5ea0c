"""The plan of a run, the prompts that follow from it, and what it may cost."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any, Literal

from pydantic import Field, model_validator

from stackchoice.facts.datum import Record
from stackchoice.load.arrivals import Closed, Load, Replay
from stackchoice.load.wire import Limits

PROMPT_VERSION = "story-2"

#: Common words, one token each in most vocabularies.
WORDS = """
time year people way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government
number night point home water room mother area money story fact month lot right study book
eye job word business issue side kind head house service friend father power hour game line
end member law car city community name president team minute idea body information back
parent face level office door health person art war history party result change morning
reason research girl guy moment air teacher force education
""".split()  # noqa: SIM905 (a list literal is a hundred lines)


class SpendCap(Record):
    """What a run on a metered endpoint may cost at most, and the seller's prices.

    Prices are dollars for a million tokens. A request is not sent unless everything sent so far,
    by the server's own counts or else at its most, and this request at its most, stay below.
    """

    usd: Decimal = Field(gt=0)
    usd_per_million_input_tokens: Decimal = Field(ge=0)
    usd_per_million_output_tokens: Decimal = Field(ge=0)

    def cost(self, input_tokens: float, output_tokens: float) -> float:
        """Dollars for so many tokens."""
        return (
            float(self.usd_per_million_input_tokens) * input_tokens
            + float(self.usd_per_million_output_tokens) * output_tokens
        ) / 1e6


class Plan(Record):
    """How an endpoint is measured: greedy, each prompt its own, under one load.

    ``requests`` are timed in each of ``repetitions``, and all of that in each of ``launches`` of
    the engine (more than one needs an engine that is launched here). ``warmup`` requests, one after
    the other, precede each launch's. Requests before a load is steady and after the last timed one
    began (``ramp``, ``tail``) are sent on top and not counted; a single stream needs none.

    ``prompts`` "own" gives each request words and a nonce of its own; "same" sends one text again
    and again, to measure a warm prefix cache on purpose, which the passport then says.

    ``timeout_s`` bounds a whole request, ``idle_s`` the silence within one; a slow prefill is
    silence too. ``connections`` are kept for later requests where the last request before the load
    found that the server keeps them, or opened anew for each; a TTFT never holds the opening, the
    latencies from the intended start do. ``canaries`` is a shipped set, a file or a folder.
    ``probes`` are sent once, before the load: they ask the server for its limits. ``runner`` says
    what puts the load on; canaries, probes and warm-up are this client's in any case.

    ``cold`` empties the server's prefix cache before each repetition, where its engine has a
    request for that. ``exact_output`` asks for answers as long as their limit, where the engine
    takes that and the model allows it; canaries are never asked so.
    """

    load: Load = Closed()
    requests: int = Field(default=5, ge=1, le=1_000_000)
    repetitions: int = Field(default=1, ge=1, le=1000)
    launches: int = Field(default=1, ge=1, le=100)
    output_tokens: int = Field(default=64, ge=16, le=100_000)
    prompt_words: int = Field(default=128, ge=1, le=1_000_000)
    warmup: int = Field(default=1, ge=0, le=100)
    seed: int = 1
    api: Literal["chat", "completions"] = "chat"
    prompts: Literal["own", "same"] = "own"
    connections: Literal["reuse", "new"] = "reuse"
    runner: Literal["stackchoice", "aiperf"] = "stackchoice"
    floor: bool = True
    spend: SpendCap | None = None
    canaries: str = Field(default="basic", min_length=1)
    cold: bool = False
    exact_output: bool = False
    probes: tuple[Literal["cache", "context", "slots"], ...] = ()
    connect_s: float = Field(default=10, gt=0)
    idle_s: float = Field(default=120, gt=0)
    timeout_s: float = Field(default=300, gt=0)

    @model_validator(mode="after")
    def _steady(self) -> Plan:
        if not (isinstance(self.load, Closed) and self.load.streams == 1) and not self.warmup:
            raise ValueError("a load of several streams needs warmup >= 1, to know a service time")
        if isinstance(self.load, Replay) and self.warmup < 2:
            raise ValueError("a replay needs warmup >= 2, to know how many words a token takes")
        if self.cold and self.prompts == "same":
            raise ValueError("one prompt again and again measures a warm cache; leave out one")
        return self

    @property
    def limits(self) -> Limits:
        """The bounds on one exchange."""
        return Limits(connect_s=self.connect_s, idle_s=self.idle_s, total_s=self.timeout_s)

    @property
    def timed(self) -> int:
        """Timed requests of one launch; they are numbered through."""
        return self.requests * self.repetitions

    def words(self, seed: str, count: int) -> str:
        """Draw words; the same for the same seeds."""
        return " ".join(random.Random(f"{self.seed}/{seed}").choices(WORDS, k=count))

    def body(
        self, seed: str, nonce: str, *, words: int | None = None, output_tokens: int | None = None
    ) -> dict[str, Any]:
        """Build one request.

        The words follow from the plan's seed and ``seed``. The nonce comes first of all, so that no
        prefix cache can hold more than the template's own opening, also when the same plan is run
        twice.
        """
        if self.prompts == "same":
            seed = nonce = "same"
        chosen = self.words(seed, words or self.prompt_words)
        opening = f"{nonce} You are a patient writer of long stories."
        task = f"Words: {chosen}.\n\nWrite a long story that uses these words."
        limits = {"max_tokens": output_tokens or self.output_tokens, "temperature": 0}
        if self.api == "completions":
            return {"prompt": f"{opening}\n\n{task}", **limits}
        messages = [{"role": "system", "content": opening}, {"role": "user", "content": task}]
        return {"messages": messages, **limits}
