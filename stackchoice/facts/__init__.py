"""The fact base: typed records and their loader. Facts are data, never code."""

from stackchoice.facts.datum import Datum, Evidence, Record, Source, weakest
from stackchoice.facts.load import Facts, data_dir, load_facts

__all__ = ["Datum", "Evidence", "Facts", "Record", "Source", "data_dir", "load_facts", "weakest"]
