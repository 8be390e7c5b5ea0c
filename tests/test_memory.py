"""Memory budgets by plain quotient."""

import pytest

from stackchoice.facts import Datum, Evidence, Source
from stackchoice.facts.records import Machine
from stackchoice.fit import fit_row, nominal_bytes, usable_bytes

SOURCE = Source(url="https://example.org/spec", as_of="2026-01-01")
SEQUENCE_BYTES = 691_798_016


def stated(value):
    return Datum[int](value=value, evidence=Evidence.STATED, source=SOURCE)


def machine(**fields):
    known = Datum[float](value=80.0, evidence=Evidence.STATED, source=SOURCE)
    base = {
        "id": "m", "name": "M", "vendor": "X", "backend": "cuda", "arch": "a",
        "memory_gb": known, "bandwidth_gb_per_s": known,
    }  # fmt: skip
    return Machine(**{**base, **fields})


@pytest.mark.parametrize(
    ("memory", "weights", "pool", "live"),
    [
        (80_000_000_000, 54_000_000_000, 25_000_000_000, 36),
        (80_000_000_000, 55_563_006_776, 23_436_993_224, 33),
        (round(79.18 * 2**30), 55_563_006_776, round(79.18 * 2**30) - 56_563_006_776, 41),
    ],
)
def test_the_worked_case_has_three_budgets_that_are_never_mixed(memory, weights, pool, live):
    row = fit_row(
        "b", memory_bytes=stated(memory), weights_bytes=stated(weights),
        workspace_bytes=stated(10**9), bytes_per_sequence=SEQUENCE_BYTES,
    )  # fmt: skip
    assert (row.pool_bytes, row.live_sequences) == (pool, live)
    assert row.fits is True


def test_what_does_not_fit_has_no_negative_sequences():
    row = fit_row(
        "b", memory_bytes=stated(24 * 10**9), weights_bytes=stated(54 * 10**9),
        workspace_bytes=stated(10**9), bytes_per_sequence=SEQUENCE_BYTES,
    )  # fmt: skip
    assert (row.live_sequences, row.fits) == (0, False)


def test_an_unknown_part_makes_the_row_unknown_and_names_it():
    row = fit_row(
        "b", memory_bytes=stated(80 * 10**9), weights_bytes=Datum[int](),
        workspace_bytes=stated(10**9), bytes_per_sequence=None,
    )  # fmt: skip
    assert row.live_sequences is None
    assert row.fits is None
    assert "weights_bytes" in row.note
    assert "bytes_per_sequence" in row.note


def test_gb_and_gib_are_kept_apart():
    reported = Datum[float](value=79.18, evidence=Evidence.REPORTED, source=SOURCE)
    card = machine(memory_gib_reported=reported)
    assert nominal_bytes(card, 1).value == 80 * 10**9
    assert usable_bytes(card, 2).value == round(79.18 * 2 * 2**30)
    assert usable_bytes(card, 1).evidence is Evidence.REPORTED


def test_unreported_bytes_are_assumed_and_say_so():
    found = usable_bytes(machine(), 1)
    assert (found.value, found.evidence) == (80 * 10**9, Evidence.ASSUMED)
    assert "unknown" in found.note


def test_unified_memory_gives_the_gpu_its_share():
    share = Datum[float](value=0.75, evidence=Evidence.STATED, source=SOURCE)
    mac = machine(unified_memory=True, gpu_usable_share=share, backend="metal")
    assert usable_bytes(mac, 1).value == 60 * 10**9


def test_weights_alone_refuse_even_where_the_cache_is_not_modelled():
    row = fit_row(
        "b",
        memory_bytes=stated(80 * 10**9),
        weights_bytes=stated(90 * 10**9),
        workspace_bytes=stated(10**9),
        bytes_per_sequence=None,
    )
    assert (row.live_sequences, row.fits) == (0, False)
    assert row.pool_bytes == -11 * 10**9
