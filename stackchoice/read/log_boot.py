"""One boot while its lines come in: which rank said what, for which part of the model."""

from collections.abc import Iterator
from typing import Any

from stackchoice.facts.values import is_number
from stackchoice.read.log_patterns import STAGES, LinePattern, LogLanguage
from stackchoice.read.log_records import Found, Kernel, Refusal, Series
from stackchoice.read.log_stream import Line
from stackchoice.read.log_values import settings_of, value_of

#: Samples that are kept of a series, evenly over all of it.
MOST_SAMPLES = 256
#: Ranks, devices and keys beyond these are not a server's but a hostile file's.
MOST_KEYS = 4096
#: More ranks than any deployment writes into one log.
MOST_RANKS = 512
#: Lines of an error that are kept to show.
EXCERPT = 300
#: The fields that name a kernel.
KERNEL_KEYS = ("_kernel", "_backend")


class SeriesBuilder:
    """Summary of a figure that comes again and again, in constant memory."""

    def __init__(self, line: int) -> None:
        self.first, self.last, self.count = line, line, 0
        self.low: float | None = None
        self.high: float | None = None
        self.total, self.numbers, self.stride = 0.0, 0, 1
        self.samples: list[Any] = []

    def add(self, value: Any, line: int) -> None:
        """Take one more sample."""
        if self.count % self.stride == 0:
            self.samples.append(value)
            if len(self.samples) >= 2 * MOST_SAMPLES:
                self.samples, self.stride = self.samples[::2], self.stride * 2
        self.count, self.last = self.count + 1, line
        if is_number(value):
            self.low = value if self.low is None else min(self.low, value)
            self.high = value if self.high is None else max(self.high, value)
            self.total, self.numbers = self.total + value, self.numbers + 1

    def series(self, key: str) -> Series:
        """Return the summary."""
        mean = self.total / self.numbers if self.numbers else None
        return Series(
            key=key, count=self.count, low=self.low, high=self.high, mean=mean,
            first_line=self.first, last_line=self.last, samples=self.samples,
        )  # fmt: skip


class BootBuilder:
    """Collects the lines of one boot."""

    def __init__(self, language: LogLanguage, line: int) -> None:
        self.language, self.first, self.last = language, line, line
        self.seen: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.stage: dict[str, int] = {}
        self.role: dict[str, str] = {}
        self.area: dict[str, str] = {}
        self.by_rank: dict[str, dict[str, tuple[Any, int]]] = {}
        self.by_device: dict[tuple[str, str], dict[str, float]] = {}
        self.server: dict[str, tuple[Any, int]] = {}
        self.settings: dict[str, Any] = {}
        self.settings_line = line
        self.kernels: dict[tuple[str, str, str], Kernel] = {}
        self.warned: dict[str, tuple[int, int, str]] = {}
        self.refusals: dict[str, Refusal] = {}
        self.series: dict[str, SeriesBuilder] = {}
        self.ready = False
        self.cores: dict[str, str] = {}

    @property
    def furthest(self) -> int:
        """The latest step of a server's life that any rank reached."""
        return max(self.stage.values(), default=-1)

    def take(self, pattern: LinePattern, captured: dict[str, str], line: Line) -> None:
        """Record what a pattern found in a line."""
        rank = self._known(line.rank)
        values = dict(self.values_of(pattern, captured))
        if pattern.leaves:
            self.area.pop(rank, None)
            if pattern.leaves == "role":
                self.role.pop(rank, None)
        if pattern.enters:
            (self.role if pattern.enters == "draft" else self.area)[rank] = pattern.enters
        if self.repeats(pattern, values, rank):
            self.role[rank] = pattern.again
            self.area.pop(rank, None)
        self.last = line.number
        if len(self.seen) < MOST_KEYS:
            self.seen[pattern.id, rank, self.area.get(rank, "")] = values
        if pattern.stage is not None and rank not in self.role:
            self.stage[rank] = max(self.stage.get(rank, -1), pattern.stage)
        if pattern.group == "ready" and "started" in pattern.sets:
            self.ready = True
            self.role.clear()
        for key, value in values.items():
            self._keep(pattern, captured, key, value, line.number, rank)
        if pattern.pairs:
            self.settings_line = line.number
            for key, value in settings_of(line.text, pattern.pairs).items():
                if len(self.settings) < MOST_KEYS:
                    self.settings[key] = value
        self._judge(pattern, captured, values, line)

    def _known(self, rank: str) -> str:
        """Return the rank, or none beyond the number that is kept apart."""
        if len(self.stage) < MOST_RANKS or rank in self.stage:
            self.stage.setdefault(rank, -1)
            return rank
        return ""

    def said(self, pattern: LinePattern, rank: str) -> dict[str, Any] | None:
        """Return what the same line of that rank said before, of the same area of the cache."""
        return self.seen.get((pattern.id, rank, self.area.get(rank, "")))

    def repeats(self, pattern: LinePattern, values: dict[str, Any], rank: str) -> bool:
        """Whether a line says the same of a draft model that it said of the target before."""
        before = self.said(pattern, rank)
        if not pattern.again or before is None or self.ready or self.furthest >= STAGES["refusal"]:
            return False
        key = pattern.again_if_same
        return not key or before.get(key) == values.get(key)

    def values_of(
        self, pattern: LinePattern, captured: dict[str, str]
    ) -> Iterator[tuple[str, Any]]:
        """Yield each key with the value that was captured for it."""
        for key, kind in pattern.fields.items():
            value = value_of(captured.get(key), kind)
            if value is not None:
                spelling = self.language.values.get(key, {})
                yield key, spelling.get(value, value) if isinstance(value, str) else value
        yield from pattern.sets.items()

    def _keep(
        self, pattern: LinePattern, captured: dict[str, str], key: str, value: Any,
        line: int, rank: str,
    ) -> None:  # fmt: skip
        device = captured.get(pattern.by) if pattern.by else None
        if device is not None and _on_host(device):
            key = pattern.host.get(key, key)
        name = self._name(key, rank)
        if len(self.by_rank) >= MOST_KEYS and name not in self.by_rank:
            return
        if pattern.repeats:
            self.series.setdefault(name, SeriesBuilder(line)).add(value, line)
            return
        if device is not None:
            devices = self.by_device.setdefault((name, rank), {})
            if len(devices) < MOST_KEYS:
                devices[device] = value
            value = sum(devices.values()) if isinstance(value, int | float) else value
        ranks = self.by_rank.setdefault(name, {})
        if (pattern.keep == "first" and ranks) or (len(ranks) >= MOST_KEYS and rank not in ranks):
            return
        ranks[rank] = (value, line)
        if pattern.server:
            self.server[name] = (value, line)

    def _name(self, key: str, rank: str) -> str:
        area, role = self.area.get(rank, ""), self.role.get(rank, "")
        if area:
            key = self.language.parts.get(area, {}).get(key, key)
        return f"{role}_{key}" if role else key

    def _judge(
        self, pattern: LinePattern, captured: dict[str, str], values: dict[str, Any], line: Line
    ) -> None:
        if pattern.group == "kernel":
            self._kernel(pattern, captured, values, line)
        excerpt = line.text.strip()[:EXCERPT]
        if pattern.warning:
            first, count, text = self.warned.get(pattern.warning, (line.number, 0, excerpt))
            self.warned[pattern.warning] = (first, count + 1, text)
        if pattern.refusal and pattern.refusal not in self.refusals:
            oom = pattern.refusal in ("oom", "graph_capture")
            self.refusals[pattern.refusal] = Refusal(
                verdict="oom" if oom else "refused", because=pattern.refusal, line=line.number,
                text=excerpt,
            )  # fmt: skip

    def _kernel(
        self, pattern: LinePattern, captured: dict[str, str], values: dict[str, Any], line: Line
    ) -> None:
        context = captured.get("context") or pattern.context
        for key, value in values.items():
            if not isinstance(value, str) or not (key.endswith(KERNEL_KEYS) or key in pattern.sets):
                continue
            part = pattern.part if line.rank not in self.role else f"draft {pattern.part}"
            found = Kernel(
                part=part, name=value, context=context, line=line.number,
                arithmetic=self.language.arithmetic(context, value),
            )  # fmt: skip
            if len(self.kernels) < MOST_KEYS:
                self.kernels.setdefault((part, context, value), found)

    def node_of(self, meeting: str, node: str) -> tuple[Any, Any] | None:
        """Return where the nodes of this server meet and which one this is, where it says so.

        A node that serves nobody names the place alone; it is told by its first line.
        """
        if where := self.settings.get(meeting):
            return where, self.settings.get(node) or 0
        named = list(self.by_rank.get(meeting, {}).values())
        return (named[0][0], f"line {self.first}") if named else None

    def join(self, other: "BootBuilder") -> None:
        """Take what another node of the same server said; where both said a thing, this one's."""
        for name in ("settings", "server", "seen", "kernels", "warned", "refusals", "series"):
            setattr(self, name, {**getattr(other, name), **getattr(self, name)})
        for key, ranks in other.by_rank.items():
            mine = self.by_rank.setdefault(key, {})
            for rank, found in ranks.items():
                other_rank = f"{rank} from line {other.first}".strip()
                mine[rank if rank not in mine else other_rank] = found
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)

    def found(self) -> dict[str, Found]:
        """Return every value, ranks merged: the smallest number counts."""
        return {key: _merged(key, ranks) for key, ranks in self.by_rank.items() if ranks}


def _on_host(device: str) -> bool:
    """Whether a llama.cpp buffer lies in the computer's own memory."""
    return device.startswith(("CPU", "BLAS", "AMX", "KLEIDIAI")) or device.endswith("_Host")


def _merged(key: str, ranks: dict[str, tuple[Any, int]]) -> Found:
    values = [value for value, _ in ranks.values()]
    last_value, last_line = list(ranks.values())[-1]
    if all(value == values[0] for value in values):
        return Found(key=key, value=last_value, line=last_line)
    by_rank = {rank or "unnamed": value for rank, (value, _) in ranks.items()}
    if all(map(is_number, values)):
        value, line = min(ranks.values(), key=lambda pair: pair[0])
        return Found(key=key, value=value, line=line, by_rank=by_rank, note="smallest of the ranks")
    return Found(key=key, value=last_value, line=last_line, by_rank=by_rank)
