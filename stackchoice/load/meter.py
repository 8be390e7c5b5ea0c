"""What a run on a metered endpoint has cost at most, and whether another request may be sent."""

import re
from collections.abc import Hashable

from stackchoice.load.plan import SpendCap
from stackchoice.load.wire import Exchange

_COUNT = rb'"%s"\s*:\s*(\d{1,9})'
_PROMPT = re.compile(_COUNT % b"prompt_tokens")
_OUTPUT = re.compile(_COUNT % b"completion_tokens")
#: Beside its text a prompt has the tokens of the template.
_TEMPLATE_TOKENS = 64
_MARGIN = 1.25


class Meter:
    """Adds up cost; without a cap everything may be sent.

    Until an answer was counted by the server, a prompt is taken for one token a byte, which no
    byte-level vocabulary exceeds. Afterwards its tokens a byte are those seen, and a quarter more.

    Attributes
    ----------
    usd
        Settled by the server's counts, or at the most where it gave none.
    """

    def __init__(self, cap: SpendCap | None) -> None:
        self.cap = cap
        self.usd = 0.0
        self.stopped = False
        self._reserved: dict[Hashable, float] = {}
        self._tokens_a_byte = 1.0
        self._known = False

    @property
    def reserved_usd(self) -> float:
        """The most that requests in flight may cost."""
        return sum(self._reserved.values())

    def most(self, request_bytes: int, output_tokens: int) -> float:
        """Dollars that a request can cost."""
        if self.cap is None:
            return 0.0
        tokens = request_bytes * self._tokens_a_byte + _TEMPLATE_TOKENS
        return self.cap.cost(tokens, output_tokens)

    def take(self, key: Hashable, request_bytes: int, output_tokens: int) -> bool:
        """Reserve a request's cost; False where the cap could be passed, now and from now on."""
        if self.cap is None:
            return True
        cost = self.most(request_bytes, output_tokens)
        if self.stopped or self.usd + self.reserved_usd + cost > float(self.cap.usd):
            self.stopped = True
            return False
        self._reserved[key] = cost
        return True

    def settle(self, key: Hashable, request_bytes: int, measured: Exchange) -> None:
        """Replace a reservation by what the server counted, or by the most where it did not."""
        if self.cap is None:
            return
        most = self._reserved.pop(key, 0.0)
        raw = b"".join(data for _, data in measured.reads[-8:])
        prompt, output = _PROMPT.findall(raw), _OUTPUT.findall(raw)
        if not (prompt and output):
            nothing = not measured.sent_ns
            self.usd += 0.0 if nothing else most
            return
        self.usd += self.cap.cost(int(prompt[-1]), int(output[-1]))
        seen = _MARGIN * int(prompt[-1]) / request_bytes
        self._tokens_a_byte = max(self._tokens_a_byte, seen) if self._known else seen
        self._known = True
