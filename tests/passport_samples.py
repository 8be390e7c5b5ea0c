"""Passports for tests: arms with known values, workloads and scatter."""

import math

from stackchoice.confirm.identity import Basis, Identity
from stackchoice.confirm.passport import Lengths, Passport, Protocol, Validity
from stackchoice.confirm.results import Results
from stackchoice.facts import Evidence
from stackchoice.load.records import Repetition, Sample, Spread

PROTOCOL = {
    "harness": "stackchoice.load: x", "harness_revision": "1", "sampling": "greedy",
    "sampling_settings": {"temperature": 0}, "reasoning_policy": "off", "output_budget_tokens": 64,
    "input_lengths": Lengths(asked="100", n=20, mean=100, low=98, p50=100, high=103),
    "output_lengths": Lengths(asked="64", n=20, mean=64, low=64, p50=64, high=64),
    "concurrency": 8, "arrival_pattern": "closed loop of 8 streams", "cache": "cold",
    "prefix_cache_state": "cold: 0.0 %", "warm_up_requests": 2, "window_s": 10.0, "requests": 20,
    "repetitions": 3,
}  # fmt: skip
IDENTITY = {
    "model": "org/some-model", "model_revision": "abc", "weight_format": "fp8", "kv_format": "fp8",
    "runtime": "vLLM", "runtime_build": "0.26.0",
}  # fmt: skip


def figure(value: float, **more: object) -> Spread:
    return Spread(n=20, median=value, low=value * 0.9, high=value * 1.1, **more)


def arm(
    name: str = "a", *, speed: float = 1.0, jitter: float = 0.01, launches: int = 3,
    identity: dict | None = None, protocol: dict | None = None, validity: dict | None = None,
    decode: float = 1.0, prefill: float = 1.0, **results: object,
) -> Passport:  # fmt: skip
    """Return an arm whose latencies are divided by ``speed``, measured in so many launches."""
    reps = []
    for launch in range(launches):
        wobble = math.exp(jitter * (launch - (launches - 1) / 2))
        reps.append(
            Repetition(
                launch=launch, requests=20, completed=20, duration_s=10.0,
                requests_per_s=2 * speed * wobble, output_tokens_per_s=128 * speed * wobble,
                ttft_s=figure(0.1 / speed / wobble), itl_s=figure(0.02 / speed / wobble),
                end_to_end_s=figure(1.4 / speed / wobble),
                decode_tokens_per_s=figure(50 * speed * decode * wobble),
                prefill_tokens_per_s=figure(1000 * speed * prefill * wobble),
            )
        )  # fmt: skip
    shown = {
        "ttft_s": figure(0.1 / speed), "itl_s": figure(0.02 / speed),
        "end_to_end_s": figure(1.4 / speed), "output_tokens_per_s": 128 * speed,
        "decode_tokens_per_s": figure(50 * speed * decode),
        "prefill_tokens_per_s": figure(1000 * speed * prefill), "repetitions": tuple(reps),
        **results,
    }  # fmt: skip
    return Passport(
        arm=name,
        identity=Identity().seen({**IDENTITY, **(identity or {})}, Basis.READ, "/test"),
        protocol=Protocol(**{**PROTOCOL, **(protocol or {})}),
        validity=Validity(**{"valid": True, **(validity or {})}),
        results=Results(requests=60, usable=60, errors=0, **shown),
    )


def sample(ttft_s: float, **more: object) -> Sample:
    return Sample(ttft_s=ttft_s, itl_s=0.02, end_to_end_s=1.0, completion_tokens=50, **more)


__all__ = ["Evidence", "arm", "figure", "sample"]
