"""Widgets of question 1: a model on a machine, and an engine's printed figures."""

from collections.abc import Iterable

from stackchoice.errors import InputError
from stackchoice.facts import Facts
from stackchoice.facts.names import artifact_named, named
from stackchoice.facts.records import Artifact, Machine, Model
from stackchoice.facts.told import Why
from stackchoice.fit import PremiseCheck, check_premises
from stackchoice.fit.admission import launch
from stackchoice.fit.allocators.plan import Launch
from stackchoice.fit.sizing import Sizing, size
from stackchoice.present.controls import dropdown, listed, text_field
from stackchoice.present.fields import NOT_KNOWN
from stackchoice.present.hardware import premises_table, sizing_table
from stackchoice.present.kept import Kept
from stackchoice.present.page import Section
from stackchoice.present.panel import Panel
from stackchoice.present.typed import typed_amount, typed_whole
from stackchoice.why.chosen import printed, sized

OWN = "the engine's or model's own"
NO_ENGINE = "none"


class SizingPanel(Panel):
    """Question 1 for any artifact on any machine of the fact base.

    Parameters
    ----------
    start
        First values of fields, by name: ``model``, ``artifact``, ``machine``, ``devices``,
        ``context_tokens``, ``cache_type``, ``engine`` (for which cures are worked out).

    Attributes
    ----------
    sizing
        The last valid sizing.
    """

    def __init__(self, facts: Facts, *, keep: str = "", **start: str) -> None:
        values = {
            "model": "Qwen/Qwen3.8-27B", "machine": "h100_sxm", "devices": "1",
            "context_tokens": "8192", "cache_type": OWN, "engine": "vllm", **start,
        }  # fmt: skip
        artifacts = artifact_choices(facts, values["model"])
        values.setdefault("artifact", artifacts[0][1])
        engines = [(NO_ENGINE, NO_ENGINE), *listed(facts.engines)]
        fields = {
            "model": dropdown("Model", listed(facts.models), values["model"]),
            "artifact": dropdown("Weights", artifacts, values["artifact"]),
            "machine": dropdown("Machine", listed(facts.machines), values["machine"]),
            "devices": text_field("Devices", values["devices"]),
            "context_tokens": text_field("Context (tokens)", values["context_tokens"]),
            "cache_type": dropdown("Cache type", _cache_types(facts), values["cache_type"]),
            "engine": dropdown("What helps, in engine", engines, values["engine"]),
        }
        super().__init__(facts, fields, values, Kept(keep, "sizing"))

    result: Sizing

    @property
    def sizing(self) -> Sizing:
        """The last valid result."""
        return self.result

    def _follow(self, values: dict[str, str], changed: str) -> dict[str, str]:
        if changed != "model":
            return values
        return {**values, "artifact": artifact_choices(self.facts, values["model"])[0][1]}

    def _answer(self, values: dict[str, str]) -> Sizing:
        model, artifact, machine = self._named(values)
        return size(
            model, artifact, machine, self.facts,
            devices=typed_whole(values["devices"], "devices"),
            context_tokens=typed_whole(values["context_tokens"], "context"),
            kv_dtype=_cache_type(values["cache_type"]),
            engines=[named("engine", values["engine"], self.facts.engines).id]
            if values["engine"] != NO_ENGINE else [],
        )  # fmt: skip

    def _named(self, values: dict[str, str]) -> tuple[Model, Artifact, Machine]:
        model = named("model", values["model"], self.facts.models)
        return (model, artifact_named(values["artifact"], model),
                named("machine", values["machine"], self.facts.machines))  # fmt: skip

    def _why(self) -> Iterable[Why]:
        kv_dtype = _cache_type(self.values["cache_type"])
        return sized(self.sizing, *self._named(self.values), self.facts, kv_dtype)

    def _options(self, values: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
        return {"artifact": artifact_choices(self.facts, values["model"])}

    def _table(self) -> Section:
        return sizing_table(self.sizing)


class PremisePanel(Panel):
    """Which premises reproduce what an engine printed at its start.

    The first values are those of a start on a GH200 whose pool line two premises reproduce.

    Parameters
    ----------
    start
        First values of fields, by name: ``engine``, ``release``, ``model``, ``cache_type``,
        ``devices``, ``context_tokens``, ``printed_tokens``, ``memory_gib``, ``concurrency``,
        ``batched_tokens``.

    Attributes
    ----------
    check
        The last valid check.
    """

    def __init__(self, facts: Facts, *, keep: str = "", **start: str) -> None:
        values = {
            "engine": "vllm", "release": "0.19.1", "model": "Qwen/Qwen3.8-27B",
            "cache_type": "fp8", "devices": "1", "context_tokens": "262144",
            "printed_tokens": "448448", "memory_gib": "54.82", "concurrency": NOT_KNOWN,
            "batched_tokens": NOT_KNOWN, **start,
        }  # fmt: skip
        labels = {
            "release": "Release", "devices": "Devices (tensor parallel)",
            "context_tokens": "Context (tokens)",
            "printed_tokens": "Printed pool (tokens)", "memory_gib": "Printed memory (GiB)",
            "concurrency": "Printed concurrency", "batched_tokens": "Batched tokens (setting)",
        }  # fmt: skip
        fields = {
            "engine": dropdown("Engine", listed(facts.engines), values["engine"]),
            "model": dropdown("Model", listed(facts.models), values["model"]),
            "cache_type": dropdown("Cache type", _cache_types(facts), values["cache_type"]),
            **{name: text_field(label, values[name]) for name, label in labels.items()},
        }
        super().__init__(facts, fields, values, Kept(keep, "printed figures"))

    result: PremiseCheck

    @property
    def check(self) -> PremiseCheck:
        """The last valid result."""
        return self.result

    def _answer(self, values: dict[str, str]) -> PremiseCheck:
        asked = self._launch(values)
        if asked.release.order is None:
            raise InputError(f"release {values['release']!r}: not a number; write it as 0.19.1")
        return check_premises(
            asked,
            printed_tokens=typed_whole(values["printed_tokens"], "printed pool", printed=True),
            memory_gib=_amount(values["memory_gib"], "printed memory"),
            concurrency=_amount(values["concurrency"], "printed concurrency"),
        )  # fmt: skip

    def _launch(self, values: dict[str, str]) -> Launch:
        settings = {"max_model_len": typed_whole(values["context_tokens"], "context")}
        if (batched := _known(values["batched_tokens"])) is not None:
            settings["max_num_batched_tokens"] = typed_whole(batched, "batched tokens")
        return launch(
            values["engine"], values["release"],
            named("model", values["model"], self.facts.models).config.value or {},
            kv_dtype=_cache_type(values["cache_type"]),
            tp=typed_whole(values["devices"], "devices"), settings=settings, facts=self.facts,
        )  # fmt: skip

    def _why(self) -> Iterable[Why]:
        config = named("model", self.values["model"], self.facts.models).config
        return printed(self.check, self._launch(self.values), config)

    def _table(self) -> Section:
        return premises_table(self.check)


def artifact_choices(facts: Facts, model: str) -> list[tuple[str, str]]:
    return [
        (f"{a.label} ({a.format})", a.id) for a in named("model", model, facts.models).artifacts
    ]


def _cache_types(facts: Facts) -> list[tuple[str, str]]:
    return [(OWN, OWN), *((form.id, form.id) for form in facts.memory.kv_formats)]


def _cache_type(text: str) -> str | None:
    return None if text == OWN else text


def _known(text: str) -> str | None:
    return None if text.strip().lower() in ("", NOT_KNOWN) else text


def _amount(text: str, what: str) -> float | None:
    """Read a positive number as it was printed; None where it is not known."""
    return None if _known(text) is None else typed_amount(text, what, printed=True)
