"""The log reader on short logs with the figures of public threads, and on hostile text."""

import gzip
import json
import random
import re

import pytest
from log_vectors import ROWS

from stackchoice.errors import InputError
from stackchoice.facts.load import load_facts
from stackchoice.read.log_patterns import load_languages
from stackchoice.read.log_reader import read_lines, read_log
from stackchoice.read.log_records import Hardware
from stackchoice.read.log_stream import LINE_LIMIT, LogError


@pytest.fixture(scope="module")
def memory():
    return load_facts().memory


def boots_of(text, memory, **keywords):
    return read_lines(text.splitlines(True), memory, **keywords).boots


@pytest.mark.parametrize("row", ROWS, ids=[r[0] for r in ROWS])
@pytest.mark.parametrize("named", [True, False], ids=["engine given", "engine recognised"])
def test_figures_of_public_logs(row, named, memory):
    _, engine, text, expected, codes = row
    reading = read_lines(text.splitlines(True), memory, engine=engine if named else None)
    assert reading.engines == [engine]
    assert len(reading.boots) == 1
    boot = reading.boots[0]
    for key, value in expected.items():
        if key.startswith("~"):
            assert boot.series[key[1:]].samples == [value], key
        else:
            assert boot.value(key) == pytest.approx(value) if isinstance(value, float) else (
                boot.value(key) == value), key  # fmt: skip
    assert sorted(w.code for w in boot.warnings) == sorted(codes)
