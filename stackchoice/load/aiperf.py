"""AIPerf in the place of this client: the files of a run, and its raw records as exchanges. Pure.

Each request is sent word for word (a trace line with a ``payload``), an open loop at the times that
the plan's seed draws. AIPerf's raw records hold every event with its stamp, so that the same reader
judges them that judges this client's own reads; of AIPerf are the sending and the stamps alone.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from stackchoice.facts.values import dict_of, text_of
from stackchoice.load.arrivals import Closed, Load
from stackchoice.load.endpoint import DEFAULT_KEY_ENV, Endpoint
from stackchoice.load.health import ClientHealth
from stackchoice.load.plan import Plan
from stackchoice.load.wire import Exchange, Problem

RECORDS = "profile_export_raw.jsonl"
#: AIPerf loads a tokenizer in any case, and counts nothing with it here: tokens are the server's.
TOKENIZER = {
    "tokenizer.json": {
        "version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"word": 0}, "unk_token": "word"},
    },
    "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
}  # fmt: skip

Bodies = Mapping[str, dict[str, Any]]


def files(
    endpoint: Endpoint, plan: Plan, load: Load, bodies: Bodies, at_s: Sequence[float],
    ramp_s: float, *, key: bool,
) -> dict[str, str]:  # fmt: skip
    """Return the files of one run of AIPerf by name; ``aiperf.yaml`` is what it is started with.

    Parameters
    ----------
    bodies
        Requests by an id of ours, in their order.
    at_s
        Seconds after the start at which the requests of an open loop are due.
    ramp_s
        Time over which a closed loop's streams begin.
    key
        Whether an API key is sent; the file names its environment variable.
    """
    lines: list[dict[str, Any]] = [{"session_id": k, "payload": v} for k, v in bodies.items()]
    phase: dict[str, Any] = {"name": "profiling", "type": "fixed_schedule"}
    if isinstance(load, Closed):
        phase |= {"type": "concurrency", "requests": len(lines), "concurrency": load.streams}
        spread = ramp_s if load.stagger_s is None else load.stagger_s
        if load.streams > 1 and spread > 0:
            phase["concurrencyRamp"] = spread
    else:
        lines = [{**x, "timestamp": at * 1e3} for x, at in zip(lines, at_s, strict=True)]
    url = urlsplit(endpoint.base_url)
    name = endpoint.api_key_env or DEFAULT_KEY_ENV
    tree = {
        "schemaVersion": "2.0",
        "randomSeed": plan.seed,
        "benchmark": {
            "model": endpoint.model,
            "endpoint": {
                "url": f"{url.scheme}://{url.netloc}",
                "path": endpoint.path_of(next(iter(bodies.values()))),
                "type": plan.api, "streaming": True, "useServerTokenCount": True,
                "timeout": plan.timeout_s,
                "connectionReuse": "pooled" if plan.connections == "reuse" else "never",
                **({"apiKey": f"${{{name}}}"} if key else {}),
            },
            "dataset": {"type": "file", "path": "requests.jsonl", "format": "mooncake_trace"},
            "phases": [phase],
            "tokenizer": {"name": "tokenizer"},
            "artifacts": {"dir": "result", "summary": ["json"], "records": ["jsonl"], "raw": True},
            "gpuTelemetry": {"enabled": False},
            "serverMetrics": {"enabled": False},
            "runtime": {"ui": "none"},
        },
    }  # fmt: skip
    return {
        "requests.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "aiperf.yaml": json.dumps(tree, indent=2) + "\n",  # JSON is YAML, and quotes every name
        **{f"tokenizer/{name}": json.dumps(part) for name, part in TOKENIZER.items()},
    }


def exchange_of_record(record: Mapping[str, Any]) -> tuple[str, Exchange]:
    """Return a raw record's id and its exchange.

    AIPerf's clock starts before it connects. ``intended_ns`` is when it let the request go.
    """
    about = dict_of(record.get("metadata"))
    wall, sent = _ns(about.get("request_start_ns")), _ns(record.get("start_perf_ns"))

    def clock(name: str) -> int:
        """A wall clock stamp on the clock of the record; 0 where there is none."""
        at = _ns(about.get(name))
        return sent + at - wall if at else 0

    ended = max(sent, clock("request_end_ns"))
    measured = Exchange(intended_ns=min(sent, clock("credit_issued_ns") or sent), started_ns=sent,
                        sent_ns=sent, ended_ns=ended)  # fmt: skip
    error, status = dict_of(record.get("error")), _ns(record.get("status"))
    said = record.get("responses")
    bodies = [dict_of(r) for r in (said if isinstance(said, list) else ())]
    if status:
        kind = "text/event-stream"
        if error and not bodies:
            bodies, kind = [{"perf_ns": ended, "text": error.get("message")}], "application/json"
        elif bodies and "packets" not in bodies[0]:
            kind = text_of(bodies[0].get("content_type")) or "text/plain"
        kind = kind.translate({10: " ", 13: " "})
        head = f"HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode()
        stamps = [_ns(b.get("perf_ns")) or ended for b in bodies]
        # Wall clocks are slewed and step: what they say stays within the record's own clock.
        first = min([max(sent, clock("request_ack_ns") or ended), *stamps[:1]])
        measured.reads = [(first, head)]
        measured.reads += [(at, _bytes(b)) for at, b in zip(stamps, bodies, strict=True)]
        measured.ended_ns = max([ended, *stamps])
        if (order := [sent, *stamps]) != sorted(order):
            measured.problem = Problem.CLIENT
            measured.detail = "AIPerf: its stamps are not in order"
    if error and (not status or 200 <= status < 300):
        kind, text = text_of(error.get("type")), text_of(error.get("message"))
        measured.problem, measured.detail = _problem(kind), f"AIPerf: {kind} {text}"[:300]
    return text_of(about.get("conversation_id")), measured


def _ns(value: Any) -> int:
    """Return a stamp in nanoseconds, 0 where there is none; wall clocks need more than 53 bits."""
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if good else 0


def _bytes(body: Mapping[str, Any]) -> bytes:
    packets = body.get("packets")
    if not isinstance(packets, list):
        return text_of(body.get("text")).encode()
    lines = []
    for packet in map(dict_of, packets):
        name, value = packet.get("name"), packet.get("value")
        name = "" if name == "comment" else str(name)
        lines.append(name if value is None else f"{name}: {value}")
    return ("\n".join(lines) + "\n\n").encode("utf-8", "surrogatepass")


def _problem(kind: str) -> Problem:
    if "Timeout" in kind:
        return Problem.TOTAL_TIMEOUT
    if "Cancel" in kind:
        return Problem.CANCELLED
    return Problem.REFUSED if "Connector" in kind else Problem.DROPPED


def hold_to_schedule(exchanges: Sequence[Exchange | None], at_s: Sequence[float]) -> None:
    """Give the exchanges of an open loop their intended starts: the plan's times, from its zero.

    AIPerf does not say when it began, so zero is the latest time that makes no request early.
    """
    due = [(x, round(at * 1e9)) for x, at in zip(exchanges, at_s, strict=True) if x]
    zero = min((x.started_ns - at for x, at in due), default=0)
    for x, at in due:
        x.intended_ns = zero + at


def health_of(load: Load, exchanges: Iterable[Exchange]) -> ClientHealth:
    """Tell how AIPerf kept up, from its records; of its own loops it tells nothing.

    The concurrency of a closed loop is the mean in flight from the first start of the last stream
    to the last start of all.
    """
    spans = sorted((x.started_ns, x.ended_ns, x.intended_ns) for x in exchanges)
    starts, due = [start for start, _, _ in spans], sorted(at for _, _, at in spans)
    slips = sorted(start - at for start, _, at in spans)
    found: dict[str, Any] = {}
    if isinstance(load, Closed):
        found = {"asked_concurrency": load.streams}
        if len(spans) > load.streams and (window := starts[-1] - (low := starts[load.streams - 1])):
            busy = sum(max(0, min(end, starts[-1]) - max(start, low)) for start, end, _ in spans)
            found["achieved_concurrency"] = busy / window
    elif len(spans) > 1 and due[-1] > due[0] and starts[-1] > starts[0]:
        each = (len(spans) - 1) * 1e9
        found = {"asked_rate_per_s": each / (due[-1] - due[0]),
                 "achieved_rate_per_s": each / (starts[-1] - starts[0])}  # fmt: skip
    at_99 = slips[math.ceil(len(slips) * 0.99) - 1]
    return ClientHealth(slip_p99_s=at_99 / 1e9, slip_max_s=slips[-1] / 1e9, **found)
