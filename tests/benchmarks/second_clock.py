"""The reference server's own log against a second, independent clock. Linux only.

    python tests/benchmarks/second_clock.py                # an idle server
    python tests/benchmarks/second_clock.py --streams 64   # while 64 other streams are served

A blocking socket of this process asks one request after the other and reads the kernel's time of
arrival of every packet (SO_TIMESTAMPNS, wall clock), which neither the server nor our client has
any hand in. The two clocks are laid over each other before and after; our client is not used.
"""

import argparse
import json
import os
import platform
import socket
import statistics
import struct
import subprocess
import sys
import time
from urllib.parse import urlsplit

STAMP = getattr(socket, "SO_TIMESTAMPNS", 35)
MARK = b'"content":"word'
BACKGROUND = """
import sys
from stackchoice.load.arrivals import Closed
from stackchoice.load.endpoint import Endpoint
from stackchoice.load.floor import drive_reference
from stackchoice.load.plan import Plan
from stackchoice.load.script import Script
load = Closed(streams=int(sys.argv[2]))
drive_reference(Endpoint(base_url=sys.argv[1], model="reference"), load, 10**5, Script(), Plan(load=load))
"""  # noqa: E501


def offset_ns() -> int:
    """Wall clock minus monotonic clock, from the tightest of many readings."""
    best = (10**12, 0)
    for _ in range(200):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        best = min(best, (after - before, wall - (before + after) // 2))
    return best[1]


def ask(host: str, port: int, name: str) -> tuple[int, list[tuple[int, int]]]:
    """One request: wall clock just before it was sent; (kernel's stamp, events so far) per read."""
    body = json.dumps({"messages": [{"role": "user", "content": "hello"}], "stream": True,
                       "max_tokens": 64, "user": name}).encode()  # fmt: skip
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection((host, port)) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, STAMP, 1)
        sent = time.time_ns()
        sock.sendall(head.encode() + body)
        stamps, seen = [], b""
        while not seen.endswith(b"0\r\n\r\n"):
            data, extra, _, _ = sock.recvmsg(65536, 64)
            seen += data
            for _, kind, raw in extra:
                if kind == STAMP:
                    seconds, rest = struct.unpack("qq", raw[:16])
                    stamps.append((seconds * 10**9 + rest, seen.count(MARK)))
    return sent, stamps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=0)
    parser.add_argument("--requests", type=int, default=20)
    options = parser.parse_args()
    with subprocess.Popen([sys.executable, "-m", "stackchoice.load.reference", "{}"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:  # fmt: skip
        assert server.stdout
        assert server.stdin
        address = server.stdout.readline().decode().strip()
        where = urlsplit(address)
        others = None
        if options.streams:
            others = subprocess.Popen(
                [sys.executable, "-c", BACKGROUND, address, str(options.streams)]
            )
            time.sleep(6)
        first = offset_ns()
        host, port = where.hostname or "", where.port or 0
        found = {f"probe/{i}": ask(host, port, f"probe/{i}") for i in range(options.requests)}
        drift = offset_ns() - first
        if others:
            others.kill()
            others.wait()
        with socket.create_connection((host, port)) as sock:
            sock.sendall(b"GET /truth HTTP/1.1\r\nHost: x\r\n\r\n")
            raw = b""
            while b"\r\n\r\n" not in raw:
                raw += sock.recv(65536)
            head, _, raw = raw.partition(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length:")[1].split()[0])
            while len(raw) < size:
                raw += sock.recv(2**20)
        server.stdin.close()
    report(json.loads(raw)["requests"], found, first, drift, options.streams)


def report(told: list[dict], found: dict, offset: int, drift: int, streams: int) -> None:  # type: ignore[type-arg]
    lags, arrivals, ttft, itl = [], [], [], []
    for request in (r for r in told if r["id"] in found):
        sent, stamps = found[request["id"]]
        kernel: dict[int, int] = {}
        for at, count in stamps:
            kernel.setdefault(count, at - offset)
        log = [at for at, _ in request["sent"]]
        lags += [kernel[i + 1] - at for i, at in enumerate(log) if i + 1 in kernel]
        arrivals.append(request["received_ns"] - (sent - offset))
        if 1 in kernel and len(log) in kernel:
            by_log = log[0] - request["received_ns"]
            ttft.append((kernel[1] - (sent - offset)) / by_log - 1)
            itl.append((kernel[len(log)] - kernel[1]) / (log[-1] - log[0]) - 1)
    lags.sort()

    def us(ns: float) -> str:
        return f"{ns / 1e3:.1f} us"

    middle, late = lags[len(lags) // 2], lags[len(lags) * 99 // 100]
    median = statistics.median
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, "
          f"load average {os.getloadavg()[0]:.2f}, {streams} other streams")  # fmt: skip
    print(f"clocks moved apart by {drift} ns; {len(lags)} events of {len(ttft)} requests compared")
    print(f"arrival by the kernel - send by the log: median {us(middle)}, p99 {us(late)}, "
          f"from {us(lags[0])} to {us(lags[-1])}")  # fmt: skip
    print(f"request logged as received - sent here: median {us(median(arrivals))}, "
          f"largest {us(max(arrivals))}")  # fmt: skip
    for what, values in (("TTFT", ttft), ("ITL", itl)):
        print(f"{what} by the second clock / by the log - 1: median {median(values):+.4%}, "
              f"largest {max(values, key=abs):+.4%}")  # fmt: skip


if __name__ == "__main__":
    main()
