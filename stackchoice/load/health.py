"""Whether the client may be believed: how it kept up, and how far it was off a known truth."""

from typing import Literal

from stackchoice.facts.datum import Evidence, Record


class ClientHealth(Record):
    """How well the client itself kept up while the load was on.

    All of it is measured; None where another runner put the load on and does not tell.

    Attributes
    ----------
    loop_lag_p99_s, loop_lag_max_s
        How late a timer of the client fired, 100 times a second: what the machine took away.
    read_wait_p99_s, read_wait_max_s
        From the system's word that sockets are readable to the last of their stamps.
    slip_p99_s, slip_max_s
        How late requests were taken up, against the plan's times.
    largest_burst
        Most requests that were taken up at once because they were late.
    cpu_share
        CPU seconds of the client's process for each second of wall clock.
    peak_connections, file_limit
        Most sockets open at once, and the limit on open files.
    asked_concurrency, achieved_concurrency
        Streams of a closed loop, and the mean number in flight while timed requests ran.
    asked_rate_per_s, achieved_rate_per_s
        Requests a second of an open loop as drawn for this run, and as really sent.
    """

    loop_lag_p99_s: float | None = None
    loop_lag_max_s: float | None = None
    read_wait_p99_s: float | None = None
    read_wait_max_s: float | None = None
    slip_p99_s: float | None = None
    slip_max_s: float | None = None
    largest_burst: int | None = None
    cpu_share: float | None = None
    peak_connections: int | None = None
    file_limit: int | None = None
    asked_concurrency: int | None = None
    achieved_concurrency: float | None = None
    asked_rate_per_s: float | None = None
    achieved_rate_per_s: float | None = None
    evidence: Literal[Evidence.MEASURED] = Evidence.MEASURED


class Floor(Record):
    """What this client reports of the reference server at the planned load, against the truth.

    The server shares this machine, so the floor is an upper bound where the real one is elsewhere.

    Attributes
    ----------
    load, requests
        The load that was put on, in words, and the requests that were compared.
    ttft_truth_s, itl_truth_s
        Medians of what the server really did, by its own clock.
    ttft_excess_s
        Median of (TTFT seen here - TTFT by the server), request by request.
    ttft_error, itl_error
        Median seen here / median of the truth - 1.
    health
        The client's own health in that run.
    """

    load: str
    requests: int
    ttft_truth_s: float
    itl_truth_s: float | None = None
    ttft_excess_s: float
    ttft_error: float
    itl_error: float | None = None
    health: ClientHealth
    evidence: Literal[Evidence.MEASURED] = Evidence.MEASURED


class ClientValidity(Record):
    """Whether the client itself may be believed, by rules that were fixed before the run."""

    valid: bool
    reasons: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    rules_sha256: str = ""
