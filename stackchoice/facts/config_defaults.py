"""How a ``config.json`` says things, and what its model class assumes where it is silent."""

import re
from functools import cache
from typing import Any, Literal

from stackchoice.facts.datum import Evidence, Record, Source
from stackchoice.facts.files import checked, with_sources
from stackchoice.facts.place import data_dir
from stackchoice.facts.yaml import read_facts

#: What a layer keeps: every token, a window, a chunk, a state, or nothing.
LayerKind = Literal["full", "sliding", "chunked", "recurrent", "none"]


class ConfigDefaults(Record):
    """Defaults of one ``model_type``, under the keys of ``config.json``."""

    id: str
    values: dict[str, bool | int]
    evidence: Evidence = Evidence.STATED
    source: Source


class Untyped(Record):
    """Model types by class, for a ``config.json`` that names its class alone."""

    types: dict[str, str]
    source: Source


class ConfigKeys(Record):
    """The vocabulary of ``config.json``; each table is explained in ``data/config_keys.yaml``."""

    untyped: Untyped
    names: dict[str, tuple[str, ...]]
    language_model: tuple[str, ...]
    silent: tuple[str, ...]
    draft_layers: tuple[str, ...]
    experts: tuple[str, ...]
    experts_per_token: tuple[str, ...]
    dense_first: tuple[str, ...]
    shared_experts: tuple[str, ...]
    shared_widths: tuple[str, ...]
    expert_lists: dict[str, str | bool]
    not_modelled: dict[str, str]
    no_attention: re.Pattern[str]
    recurrent: re.Pattern[str]
    layer_lists: re.Pattern[str]
    harmless_lists: tuple[str, ...]
    kv_head_words: re.Pattern[str]
    encoders: re.Pattern[str]
    denoised: re.Pattern[str]
    block_kinds: tuple[str, ...]
    every_layer_slides: tuple[str, ...]
    ungated: tuple[str, ...]
    not_counted: tuple[str, ...]
    later_layers_slide: tuple[str, ...]
    lightning: tuple[str, ...]
    indexed: tuple[str, ...]
    block_indexed: tuple[str, ...]
    kinds: dict[str, LayerKind]
    letters: dict[str, LayerKind]
    source: Source


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """Return the defaults by model type, a table of the package that no own facts change."""
    rows = read_facts(data_dir() / "config_defaults.yaml")["config_defaults"]
    return {row["id"]: row["values"] for row in rows}


@cache
def config_keys() -> ConfigKeys:
    """Return the vocabulary, a table of the package that no own facts change."""
    path = data_dir() / "config_keys.yaml"
    return checked(ConfigKeys, with_sources(read_facts(path), path)["config_keys"], path)
