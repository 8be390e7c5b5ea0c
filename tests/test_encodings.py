"""Encodings: ids, bits and what a checkpoint declares."""

import pytest
from gguf.constants import GGML_QUANT_SIZES

from stackchoice import load_facts

ENCODINGS = load_facts().encodings


def test_every_encoding_is_sourced_and_consistent():
    for e in ENCODINGS.values():
        assert e.source.as_of
        assert e.activation_bits in (None, 4, 6, 8, 16, 32)
        stored = e.stored_bits.value
        if stored is not None and e.weight_bits is not None:
            assert e.weight_bits <= stored <= e.weight_bits * 2


@pytest.mark.parametrize(
    ("values", "scale_bits", "ids"),
    [
        (16, 8, ("nvfp4", "nvfp4_a16", "nvfp4_a8", "mlx_nvfp4", "mlx_nvfp4_aq")),
        (32, 8, ("mxfp4", "mxfp4_a16", "mxfp8", "mxfp6", "mlx_mxfp4", "mlx_mxfp8_aq")),
    ],
)
def test_block_formats_store_a_scale_per_block(values, scale_bits, ids):
    for encoding_id in ids:
        e = ENCODINGS[encoding_id]
        assert e.stored_bits.value == e.weight_bits + scale_bits / values


def test_gguf_types_have_the_sizes_of_the_gguf_package():
    sizes = {t.name.lower(): 8 * size / block for t, (block, size) in GGML_QUANT_SIZES.items()}
    ours = {k.removeprefix("gguf_"): e for k, e in ENCODINGS.items() if k.startswith("gguf_")}
    assert len(ours) >= 24
    for name, e in ours.items():
        if name in sizes:  # the package lags a type or two behind the engine
            assert e.stored_bits.value == sizes[name]
        assert e.activation_bits is None
        assert e.weight_only is None


def test_weight_only_is_what_the_file_declares():
    assert ENCODINGS["nvfp4_a16"].weight_only
    assert ENCODINGS["nvfp4"].weight_only is False
    assert ENCODINGS["nvfp4"].family == ENCODINGS["nvfp4_a16"].family
    assert not ENCODINGS["bf16"].quantised
    assert ENCODINGS["exl3"].quantised
