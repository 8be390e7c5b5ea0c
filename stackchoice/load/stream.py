"""What the events of one streamed answer add up to; takes anything that a server may send."""

from dataclasses import dataclass, field
from typing import Any

from stackchoice.facts.datum import Evidence
from stackchoice.facts.values import count_of, dict_of, text_of
from stackchoice.load.untrusted import content_of, message_of

#: What servers call the channel of reasoning.
_REASONING = ("reasoning_content", "reasoning", "thinking")
#: From here on chunks are called bundled.
BUNDLED = 1.05


@dataclass
class Stream:
    """One answer, event by event."""

    tokens: list[tuple[int, int]] = field(default_factory=list)  # (time, characters) a chunk
    first_answer_ns: int | None = None
    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: dict[int, list[str]] = field(default_factory=dict)  # index -> [name, arguments]
    finish_reason: str | None = None
    model: str | None = None
    fingerprint: str | None = None
    id: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    counted: list[tuple[int, int]] = field(default_factory=list)  # (time, tokens so far)
    timings: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    garbage: str | None = None
    empty_because: str = "the answer holds no token"
    done: bool = False

    def take(self, at_ns: int, event: dict[str, Any]) -> None:
        if event.get("error"):
            self.error = self.error or message_of(event)
            return
        self.model = self.model or text_of(event.get("model")) or None
        self.fingerprint = self.fingerprint or text_of(event.get("system_fingerprint")) or None
        self.id = self.id or text_of(event.get("id")) or None
        self.usage = dict_of(event.get("usage")) or self.usage
        self.timings = dict_of(event.get("timings")) or self.timings
        choices = event.get("choices")
        for choice in choices[:1] if isinstance(choices, list) else []:
            choice = dict_of(choice)
            self.finish_reason = text_of(choice.get("finish_reason")) or self.finish_reason
            delta = dict_of(choice.get("delta")) or dict_of(choice.get("message"))
            if self._token(at_ns, delta, text_of(choice.get("text"))) and event.get("usage"):
                self.counted.append((at_ns, count_of(self.usage.get("completion_tokens")) or 0))

    def _token(self, at_ns: int, delta: dict[str, Any], text: str) -> bool:
        answer, thought = content_of(delta.get("content"))
        answer = text + answer + text_of(delta.get("refusal")) + self._calls(delta)
        # Servers name the reasoning channel one way or the other; some send both with one text.
        reasoning = thought or next(filter(None, (text_of(delta.get(n)) for n in _REASONING)), "")
        if not (answer or reasoning):
            return False
        self.tokens.append((at_ns, len(answer) + len(reasoning)))
        if answer and self.first_answer_ns is None:
            self.first_answer_ns = at_ns
        self.text.append(answer)
        self.reasoning.append(reasoning)
        return True

    def _calls(self, delta: dict[str, Any]) -> str:
        """Take the pieces of tool calls; return their text, which counts as tokens."""
        pieces = delta.get("tool_calls")
        said = ""
        for number, piece in enumerate(pieces if isinstance(pieces, list) else []):
            piece = dict_of(piece)
            function, at = dict_of(piece.get("function")), count_of(piece.get("index"))
            call = self.calls.setdefault(number if at is None else at, ["", ""])
            for part, key in enumerate(("name", "arguments")):
                call[part] += text_of(function.get(key))
                said += text_of(function.get(key))
        return said

    def first_tokens(self, completion: int) -> tuple[float, Evidence]:
        """Tokens that came with the first read, and how that is known."""
        first_ns = self.tokens[0][0]
        if len(self.counted) > 1:
            so_far = [n for at, n in self.counted if at == first_ns]
            if so_far and 0 < so_far[-1] < completion:
                return so_far[-1], Evidence.REPORTED
        early = [characters for at, characters in self.tokens if at == first_ns]
        if completion <= BUNDLED * len(self.tokens):  # a token a chunk, however many a read
            return len(early), Evidence.COMPUTED
        share = sum(early) / sum(characters for _, characters in self.tokens)
        return max(1.0, share * completion), Evidence.INFERRED
