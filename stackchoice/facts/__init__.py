"""The fact base: typed records and their loader. Facts are data, never code."""

from stackchoice.facts.datum import Datum, Evidence, Record, Source
from stackchoice.facts.load import Facts, load_facts
from stackchoice.facts.place import data_dir

__all__ = ["Datum", "Evidence", "Facts", "Record", "Source", "data_dir", "load_facts"]
