"""Measure a request log in one pass: counts and sums are kept, rows and prompts are not."""

from collections.abc import Iterable
from pathlib import Path

from stackchoice.errors import TrafficError
from stackchoice.facts import Facts
from stackchoice.facts.names import counted
from stackchoice.facts.yaml import shown
from stackchoice.traffic.fields import Fields, Instant, LogRow
from stackchoice.traffic.measured import Measured, Skipped
from stackchoice.traffic.prompt import prompt_text, shape
from stackchoice.traffic.reuse import BLOCK_CHARACTERS, Reuse
from stackchoice.traffic.rows import Row, read_rows
from stackchoice.traffic.sums import Sums

#: Identities remembered, to count them and to see a row that comes twice.
MOST_KEYS = 1_000_000

NO_TOKENS = "no token counts for input and output"
BAD_TOKENS = "a token count that is no whole number from 0 to 1,000,000,000"
BAD_TIME = "a time that cannot be read"
FAILED = "failed or unanswered (an error status, or no output)"
TWICE = "the same request a second time"
OTHER_MODEL = "another model"


def measure_log(
    path: Path | str, facts: Facts, *, model: str | None = None, time_unit: str | None = None,
    window_s: int | None = None, block_tokens: int | None = None,
) -> Measured:  # fmt: skip
    r"""Measure a request log.

    Parameters
    ----------
    path
        JSON lines, a JSON array, CSV, or any of them as gzip.
    model
        Count only the requests of this model.
    time_unit
        ``"s"`` or ``"ms"``: what bare numbers of time mean, where neither name nor size tells.
    window_s
        The window of the peak factor; chosen by the traffic when not given.
    block_tokens
        Tokens that each of a trace's block hashes stands for, where it is no known trace.

    Raises
    ------
    TrafficError
        When the file cannot be read or no row can be used; the text never quotes a row.

    Examples
    --------
    Half a minute of traffic has lengths, and no peak factor.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from stackchoice import load_facts, measure_log
    >>> log = Path(mkdtemp(), "log.csv")
    >>> _ = log.write_text("timestamp_s,input_tokens,output_tokens\n0,900,60\n30,1100,80\n")
    >>> found = measure_log(log, load_facts())
    >>> found.input_tokens.mean, found.peak.factor
    (1000.0, None)
    """
    path = Path(path)
    fields = Fields(facts.log_columns)
    fields.learn_dates(read_rows(path))
    meter = _Meter(fields, model, time_unit, block_tokens)
    meter.take(read_rows(path))
    if not meter.sums.requests:
        reasons = "; ".join(
            f"{counted(s.rows, 'row')}: {s.reason}, first in line {s.first_line:,}"
            for s in meter.skipped()
        ) or "it has no rows"  # fmt: skip
        raise TrafficError(
            f"{shown(path.name)}: no request can be used ({reasons}); rows need counts such as "
            "input_tokens and output_tokens, or an OpenAI-style usage"
        )
    return meter.sums.measured(
        file=shown(path.name), rows=meter.rows, skipped=meter.skipped(), window_s=window_s
    )


class _Meter:
    """Turns rows into sums, and counts what it leaves out."""

    def __init__(
        self, fields: Fields, model: str | None, unit: str | None, block_tokens: int | None
    ) -> None:
        self.fields, self.model, self.unit, self.block_tokens = fields, model, unit, block_tokens
        self.sums, self.reuse, self.rows = Sums(), Reuse(), 0
        self._skipped: dict[str, list[int]] = {}
        self._ids: set[int] = set()
        self._known = False

    def take(self, rows: Iterable[Row]) -> None:
        """Take every row in."""
        for line, row in rows:
            self.rows += 1
            reason = row if isinstance(row, str) else self._request(self._opened(row))
            if reason:
                self._skipped.setdefault(reason, [0, line])[0] += 1
        self.sums.blocks_forgotten = self.reuse.forgotten

    def skipped(self) -> list[Skipped]:
        """Return what was left out, the most frequent reason first."""
        found = sorted(self._skipped.items(), key=lambda item: -item[1][0])
        return [Skipped(reason=r, rows=n, first_line=line) for r, (n, line) in found]

    def _opened(self, row: dict[str, object]) -> LogRow:
        if not self._known:
            self._known = True
            if trace := self.fields.trace(row):
                self.sums.trace = trace.id
                self.unit = self.unit or trace.time_unit
                self.block_tokens = self.block_tokens or trace.block_tokens
        return LogRow(self.fields, row)

    def _request(self, row: LogRow) -> str:
        if self.model is not None and str(row.get("model")) != self.model:
            return OTHER_MODEL
        status = row.get("status")
        try:
            taken, made = row.count("input_tokens"), row.count("output_tokens")
            if taken is not None:
                # Anthropic's three counts of input are beside one another, OpenAI's two are not.
                beside = row.count("cache_beside_read") or 0
                taken += beside + (row.count("cache_beside_write") or 0)
            cached, reasoning = row.count("cached_tokens"), row.count("reasoning_tokens")
        except ValueError:
            return BAD_TOKENS
        if _is_failure(status) or (made == 0 and taken is not None):
            return FAILED
        if taken is None or made is None:
            return NO_TOKENS
        try:
            arrival, end = row.instant("arrival", self.unit), row.instant("end", self.unit)
            first = row.instant("first_token", self.unit)
        except ValueError:
            return BAD_TIME
        if self._seen_before(row, arrival, taken, made):
            return TWICE
        self.sums.add(arrival, taken, made)
        self._durations(row, arrival, end, first)
        self._details(row, taken, cached, reasoning)
        return ""

    def _seen_before(self, row: LogRow, arrival: Instant | None, taken: int, made: int) -> bool:
        name = row.get("request")
        if name is None or isinstance(name, dict | list):
            return False
        when = arrival.seconds if arrival else ""
        key = self.reuse.key(f"{name}\0{when}\0{taken}\0{made}")
        known = key in self._ids
        if len(self._ids) < MOST_KEYS:
            self._ids.add(key)
        return known

    def _durations(
        self, row: LogRow, arrival: Instant | None, end: Instant | None, first: Instant | None
    ) -> None:
        latency, ttft = row.seconds("latency"), row.seconds("ttft")
        if arrival and end and end.seconds >= arrival.seconds:
            latency = end.seconds - arrival.seconds
        if arrival and first and first.seconds >= arrival.seconds and ttft is None:
            ttft = first.seconds - arrival.seconds
        bare = row.amount("latency") if latency is None else None
        if bare is not None and self.unit == "ms":
            latency, bare = bare / 1e3, None
        self.sums.times(latency, ttft, bare)

    def _details(self, row: LogRow, taken: int, cached: int | None, reasoning: int | None) -> None:
        user, session = (self._identity(row, name) for name in ("user", "session"))
        self.sums.identities(user, session, self._identity(row, "model"), MOST_KEYS)
        self.sums.shape(shape(row, reasoning), reasoning, cached)
        group = session if session is not None else user
        hashes = row.parsed("hashes")
        if isinstance(hashes, list) and hashes:
            shared, own = self.reuse.add(self.reuse.hash_blocks(hashes), group)
            size = self.block_tokens
            if size is None or (len(hashes) - 1) * size >= max(taken, 1) + size:
                self.sums.unsized += 1
            else:
                self.sums.reused(taken, shared * size, own * size, "the trace's hashes "
                                 f"of {size}-token blocks")  # fmt: skip
            return
        text = prompt_text(row, self.fields.redactions, taken)
        if text is None or not taken:
            return
        shared, own = self.reuse.add(self.reuse.text_blocks(text), group)
        weight = taken * BLOCK_CHARACTERS / len(text)
        basis = f"the prompts, in blocks of {BLOCK_CHARACTERS} characters (about 16 tokens)"
        self.sums.reused(taken, shared * weight, own * weight, basis)

    def _identity(self, row: LogRow, field: str) -> int | None:
        value = row.get(field)
        if value is None or isinstance(value, dict | list | float):
            return None
        return self.reuse.key(f"{field}\0{value}")


def _is_failure(status: object) -> bool:
    if status is None or isinstance(status, dict | list | bool):
        return False
    text = str(status).strip().lower()
    if text.isdigit():
        return not 200 <= int(text) < 300 and int(text) >= 100
    return text in ("failure", "failed", "error", "cancelled", "canceled", "timeout", "aborted")
