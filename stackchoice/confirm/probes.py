"""Asking a server for its limits: prefix cache, context, slots. Runs in the load process.

What the answers mean is said by :mod:`stackchoice.confirm.probed`, after the run.
"""

import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stackchoice.load.endpoint import Endpoint
from stackchoice.load.journal import Event
from stackchoice.load.plan import Plan
from stackchoice.load.reading import read_sample
from stackchoice.load.records import Sample
from stackchoice.load.run import LoadRun
from stackchoice.load.wire import Exchange

#: Words of the prefix that is repeated; many blocks of any cache.
PREFIX_WORDS = 400
QUESTIONS = ("Which word comes first?", "Which word is the longest?", "Name one word of it.")
#: Words of the two prompts that tell how many tokens a word takes.
FEW, MANY = 50, 250
#: Distance from the limit, in tokens and as a share of it: the template's own tokens vary.
MARGIN_TOKENS, MARGIN_SHARE = 24, 0.01
#: More requests at once than this are a load, not a probe.
MAX_AT_ONCE = 64
SLOT_TOKENS = 24


class Prober:
    """Sends the probes of a plan and emits one event for each."""

    def __init__(self, endpoint: Endpoint, plan: Plan, load: LoadRun) -> None:
        self.endpoint, self.plan, self.load = endpoint, plan, load

    def run(self, context_tokens: int | None, slots: int | None) -> list[Event]:
        """Send what the plan wants; ``context_tokens`` and ``slots`` are the limits to test."""
        found = []
        if "cache" in self.plan.probes:
            found.append(self._cache())
        if "context" in self.plan.probes:
            found.append(self._context(context_tokens))
        if "slots" in self.plan.probes:
            found.append(self._slots(slots))
        return found

    def _cache(self) -> Event:
        """One prefix with three questions, and three prefixes of their own as the control."""
        seed = secrets.token_hex(4)
        warm = [self._ask(self._prompt(seed, PREFIX_WORDS, q)) for q in QUESTIONS]
        cold = [self._ask(self._prompt(secrets.token_hex(4), PREFIX_WORDS, q))
                for q in QUESTIONS]  # fmt: skip
        return {"probe": "cache", "warm": _dumped(warm), "control": _dumped(cold)}

    def _context(self, limit: int | None) -> Event:
        """Ask for just under and just over the limit."""
        event: Event = {"probe": "context", "limit": limit}
        few, many = (self._ask(self._prompt(secrets.token_hex(4), words, QUESTIONS[0]))
                     for words in (FEW, MANY))  # fmt: skip
        if not limit or few.prompt_tokens is None or many.prompt_tokens is None:
            return event
        slope = (many.prompt_tokens - few.prompt_tokens) / (MANY - FEW)
        if slope <= 0:
            return event
        fixed = few.prompt_tokens - slope * FEW
        margin = max(MARGIN_TOKENS, round(limit * MARGIN_SHARE))
        for name, tokens in (("under", limit - margin), ("over", limit + margin)):
            words = max(1, round((tokens - fixed) / slope))
            sample = self._ask(self._prompt(secrets.token_hex(4), words, QUESTIONS[0]))
            event |= {name: _dumped([sample])[0], f"{name}_aim": tokens}
        return event

    def _slots(self, slots: int | None) -> Event:
        """Send more requests at once than there are slots."""
        event: Event = {"probe": "slots", "slots": slots}
        if not slots or slots >= MAX_AT_ONCE:
            return event
        count = min(2 * slots, slots + 8, MAX_AT_ONCE)
        requests = [
            self.load.request_of(
                self._body(self._prompt(secrets.token_hex(4), FEW, "Tell a long story."),
                           SLOT_TOKENS)
            )
            for _ in range(count)
        ]  # fmt: skip
        allowed = [self.load.may_send(request) for request in requests]
        if not all(allowed):
            return event | {"stopped": "the spend cap was reached"}
        with ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(self._exchange, requests))
        return event | {
            "asked": count,
            "answers": _dumped([sample for sample, _ in answers]),
            "spans_s": [_span(sample, exchange) for sample, exchange in answers],
        }

    def _exchange(self, request: dict[str, Any]) -> tuple[Sample, Exchange]:
        exchange = self.endpoint.ask(request, self.plan.limits)
        return read_sample(exchange, request), exchange

    def _ask(self, prompt: str) -> Sample:
        return self.load.ask(self._body(prompt, 1), "probe")

    def _body(self, prompt: str, tokens: int) -> dict[str, Any]:
        limits = {"max_tokens": tokens, "temperature": 0}
        if self.plan.api == "completions":
            return {"prompt": prompt, **limits}
        return {"messages": [{"role": "user", "content": prompt}], **limits}

    def _prompt(self, seed: str, words: int, question: str) -> str:
        """Return words of a seed, which stands first, and a question at the end."""
        return f"{seed} {self.plan.words(seed, words)}. {question}"


def _span(sample: Sample, exchange: Exchange) -> tuple[float, float] | None:
    """First and last token on the clock of this process, seconds."""
    if sample.ttft_s is None or sample.end_to_end_s is None:
        return None
    sent = exchange.sent_ns / 1e9
    return sent + sample.ttft_s, sent + sample.end_to_end_s


def _dumped(samples: list[Sample]) -> list[dict[str, Any]]:
    return [s.model_copy(update={"text": "", "reasoning": ""}).model_dump(mode="json")
            for s in samples]  # fmt: skip
