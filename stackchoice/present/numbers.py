"""Every number of a decision with its class, so that a report can keep the classes apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackchoice.choose.decision import Decision
from stackchoice.confirm import Passport
from stackchoice.facts.datum import Datum, Evidence
from stackchoice.facts.load import Facts
from stackchoice.facts.records import Artifact, Machine
from stackchoice.present import text
from stackchoice.scenario.words import label


@dataclass(frozen=True)
class Shown:
    """One number as a reader sees it: what it is, its value with unit, class and source."""

    what: str
    value: str
    evidence: str
    source: str = ""
    as_of: str = ""


def numbers(decision: Decision, facts: Facts, passport: Passport | None = None) -> list[Shown]:
    """Return every number the decision rests on or ends in, in the order of the procedure."""
    return [
        *_facts(decision, facts),
        *_fit(decision),
        *_inputs(decision),
        *_cost(decision),
        *(_measured(passport) if passport else ()),
    ]


def by_class(shown: list[Shown]) -> dict[str, list[Shown]]:
    """Return the numbers by evidence class, every class present, unknown ones last."""
    groups: dict[str, list[Shown]] = {name: [] for name in (*text.CLASSES, text.UNKNOWN)}
    for item in shown:
        groups[item.evidence].append(item)
    return groups


def fit_facts(decision: Decision, facts: Facts) -> tuple[Machine | None, Artifact | None]:
    """Return the machine and the artifact that question 1 was answered for."""
    machine = next((m for m in facts.machines.values() if m.name == decision.fit.machine), None)
    model = facts.models[decision.fit.model]
    artifact = next((a for a in model.artifacts if a.label == decision.fit.artifact), None)
    return machine, artifact


def _facts(decision: Decision, facts: Facts) -> Iterator[Shown]:
    machine, artifact = fit_facts(decision, facts)
    if artifact is not None:
        size = artifact.weights_bytes
        yield _datum(f"weights of {artifact.id}", size, text.both_units(size.value))
    if machine is None:
        return
    for what, datum, unit in (
        ("memory, nominal", machine.memory_gb, "GB"),
        ("memory, as reported", machine.memory_gib_reported, "GiB"),
        ("memory bandwidth", machine.bandwidth_gb_per_s, "GB/s"),
        ("dense bf16 rate", machine.bf16_dense_tflops, "TFLOPS"),
    ):
        yield _datum(f"{what}, {machine.name}", datum, text.number(datum.value, unit))


def _fit(decision: Decision) -> Iterator[Shown]:
    fit = decision.fit
    cache = fit.cache_evidence
    yield _shown("key-value cache a token", text.number(fit.kv_bytes_per_token, "B"), cache)
    yield _shown("one live sequence", text.both_units(fit.bytes_per_sequence), cache)
    for row in fit.rows:
        yield _shown(f"live sequences, {row.basis}", row.sequences, row.evidence)
    if (speed := fit.speed) is not None:
        decode = text.number(speed.decode_ceiling_tokens_per_s, "tokens/s")
        yield _shown("decode ceiling of one stream", decode, speed.evidence)
        if speed.decode is not None:
            predicted = text.interval(speed.decode)
            yield _shown("decode rate of one stream", predicted, speed.decode.evidence)
        prefill = text.number(speed.prefill_ceiling_tokens_per_s, "tokens/s")
        yield _shown("prefill ceiling", prefill, speed.evidence)
        if speed.prefill is not None:
            yield _shown("prefill rate", text.interval(speed.prefill), speed.prefill.evidence)
    if fit.replica is not None:
        served = text.interval(fit.replica)
        yield _shown("requests one replica serves", served, fit.replica.evidence)
    busy = text.number(fit.needed_concurrency)
    yield _shown("requests in flight at the peak", busy, fit.needed_evidence)


def _inputs(decision: Decision) -> Iterator[Shown]:
    for row in decision.inputs:
        value = text.number(row["value"])
        yield Shown(label(row["input"]), value, row["evidence"], row["origin"])


def _cost(decision: Decision) -> Iterator[Shown]:
    cost = decision.cost
    if cost.volume is not None:
        yield _shown("volume", text.volume(cost.volume.total_mtok), cost.volume.evidence)
    for line in cost.lines:
        bill = text.usd(line.infrastructure_usd)
        yield _shown(f"{line.path}, infrastructure a month", bill, line.evidence, line.source)
        yield _shown(f"{line.path}, people a month", text.usd(line.people_usd), Evidence.ASSUMED)
        once = text.usd(line.one_time_usd)
        yield _shown(f"{line.path}, one-time cost a month", once, Evidence.ASSUMED)
    for offer in (offer for offer in cost.market if offer["seller"] in _bought(decision)):
        for kind, rate in (("input", offer["input_usd_per_mtok"]),
                           ("output", offer["output_usd_per_mtok"])):  # fmt: skip
            price = f"{rate} USD per M tokens"
            yield Shown(f"{kind} price, {offer['seller']}", price, Evidence.STATED.value,
                        offer["source"], offer["as_of"])  # fmt: skip


def _bought(decision: Decision) -> set[str]:
    """Return the seller whose price stands for the managed path, if one survives."""
    titles = {option.configuration for option in decision.options}
    return {c.seller for c in decision.candidates if c.seller and c.title in titles}


def _measured(passport: Passport) -> Iterator[Shown]:
    results = passport.results
    source = f"passport {passport.arm}, {passport.label}"
    for what, spread, unit in (
        ("decode rate of one stream, median", results.decode_tokens_per_s, "tokens/s"),
        ("time to first token, median", results.ttft_s, "s"),
        ("time per token, median", results.itl_s, "s"),
        ("prefill rate, median", results.prefill_tokens_per_s, "tokens/s"),
        ("end to end, median", results.end_to_end_s, "s"),
    ):
        value = text.number(spread.median if spread else None, unit)
        yield _shown(what, value, results.evidence, source)
    peak = text.both_units(results.peak_memory_bytes)
    yield _shown("peak memory of the server", peak, results.evidence, source)


def _shown(what: str, value: str, evidence: Evidence, source: str = "") -> Shown:
    known = value != text.UNKNOWN
    return Shown(what, value, evidence.value if known else text.UNKNOWN, source)


def _datum(what: str, datum: Datum[Any], value: str) -> Shown:
    source = datum.source
    return Shown(
        what, value, datum.evidence.value if datum.known else text.UNKNOWN,
        source.label if source else datum.note, source.as_of if source else "",
    )  # fmt: skip
