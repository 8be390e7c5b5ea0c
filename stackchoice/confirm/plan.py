"""The plan of a run, and the prompts that follow from it."""

from __future__ import annotations

import random
from typing import Any

from pydantic import Field

from stackchoice.load.wire import Limits
from stackchoice.facts.datum import Record

PROMPT_VERSION = "story-1"

#: Common words, one token each in most vocabularies.
_WORDS = """
time year people way day man thing woman life child world school state family student group
country problem hand part place case week company system program question work government
number night point home water room mother area money story fact month lot right study book
eye job word business issue side kind head house service friend father power hour game line
end member law car city community name president team minute idea body information back
parent face level office door health person art war history party result change morning
reason research girl guy moment air teacher force education
""".split()  # noqa: SIM905 (a list literal is a hundred lines)


class Plan(Record):
    """How an endpoint is measured: one request at a time, greedy, each prompt its own.

    ``timeout_s`` bounds a whole request, ``idle_s`` the silence within one; a slow prefill is
    silence too.
    """

    repetitions: int = Field(default=5, ge=1, le=10_000)
    output_tokens: int = Field(default=64, ge=16, le=100_000)
    prompt_words: int = Field(default=128, ge=1, le=1_000_000)
    warmup: int = Field(default=1, ge=0, le=100)
    seed: int = 1
    canaries: str = Field(default="basic", pattern=r"^[a-z0-9_-]+$")
    connect_s: float = Field(default=10, gt=0)
    idle_s: float = Field(default=120, gt=0)
    timeout_s: float = Field(default=300, gt=0)

    @property
    def limits(self) -> Limits:
        """The bounds on one exchange."""
        return Limits(connect_s=self.connect_s, idle_s=self.idle_s, total_s=self.timeout_s)

    @property
    def requests(self) -> int:
        """Warm-up and timed requests together."""
        return self.warmup + self.repetitions

    def body(self, number: int, nonce: str) -> dict[str, Any]:
        """Build request ``number``.

        The words follow from the seed. The nonce comes first of all, so that no prefix cache can
        hold more than the template's own opening, also when the same plan is run twice.
        """
        words = random.Random(f"{self.seed}/{number}").choices(_WORDS, k=self.prompt_words)
        return {
            "messages": [
                {"role": "system", "content": f"{nonce} You are a patient writer of long stories."},
                {
                    "role": "user",
                    "content": f"Words: {' '.join(words)}.\n\n"
                    "Write a long story that uses these words.",
                },
            ],
            "max_tokens": self.output_tokens,
            "temperature": 0,
        }
