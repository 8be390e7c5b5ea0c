"""Speeds of question 1: ceilings, intervals, and the requests a second of a full replica."""

from types import SimpleNamespace
from typing import Any

from stackchoice.choose.site import ENDS, mean_cache_bytes, stream_at, threads_of
from stackchoice.facts.load import Facts
from stackchoice.facts.told import Told, Working
from stackchoice.fit import request_seconds
from stackchoice.fit.measured import calibrated_factors
from stackchoice.fit.rates import RATES
from stackchoice.fit.replica import full_rate
from stackchoice.fit.runs import Run
from stackchoice.fit.speed import at_level, efficiency
from stackchoice.fit.stream import stream_runs
from stackchoice.why.case import Decided, Whys

ROOFLINE = (
    "the roofline of one stream: a decode step reads every byte it touches once at full bandwidth, "
    "a prompt token is multiplied once at the peak rate; public measurements reach a share of it"
)


def speeds(at: Decided) -> Whys:
    """Why one stream decodes and prefills at most, and probably, so fast."""
    site = at.site
    if site is None:
        return
    runs = stream_runs(
        site.model, site.artifact, site.machine, cache_bytes=mean_cache_bytes(site, at.case),
        **stream_at(site, at.facts),
    )  # fmt: skip
    yield from streams(at.facts, site, runs, threads_of(site))


def streams(facts: Facts, site: Any, runs: dict[str, Run], threads: str) -> Whys:
    """Why the runs of one stream are so fast; ``site`` has model, artifact, machine and speed."""
    for phase in ("decode", "prefill"):
        work, run = Working(), runs[phase]
        told = run.model_copy(update=TELL[phase](work, site, run))
        top = told.ceiling
        if top is None:
            continue
        top = work.step(f"{phase} ceiling", top, "tokens/s")
        expected = getattr(site.speed, phase)
        if expected is not None:
            _interval(facts, site, work, phase, run, top, threads)
        notes = [*(expected.rests_on if expected else ()), *site.speed.unknown]
        if run.link_seconds:
            notes.append(f"the link between devices adds {run.link_seconds:.3g} s a token")
        executed = runs["executed"].ceiling
        if phase == "prefill" and executed != run.ceiling:
            notes.append(f"at the peak rate of what runs the ceiling is {executed:,.0f} tokens/s")
        evidence = expected.evidence if expected else site.speed.evidence
        yield phase, work.why(f"{phase} of one stream", ROOFLINE, evidence, notes)


def _decode_facts(work: Working, site: Any, run: Any) -> dict[str, Told]:
    bandwidth = site.machine.bandwidth_gb_per_s
    size = site.artifact.read_bytes_per_token
    size = size if size.known else site.artifact.weights_bytes
    return {
        "bandwidth_gb_per_s": work.fact("bandwidth", bandwidth.value, "GB/s", bandwidth),
        "active_bytes": work.fact("weights read", run.active_bytes, "B", size),
        "cache_bytes": work.fact("cache read", run.cache_bytes, "B",
                                 note="of one sequence at its mean depth"),
        "devices": work.fact("devices", run.devices),
    }  # fmt: skip


def _prefill_facts(work: Working, site: Any, run: Any) -> dict[str, Told]:
    rates = [getattr(site.machine, name) for name in RATES.values()]
    rate = next((r for r in rates if r.known and r.value == run.tera_ops_per_s), None)
    size = site.model.active_parameters
    size = size if size.known else site.model.parameters
    return {
        "tera_ops_per_s": work.fact("peak rate", run.tera_ops_per_s, "10^12 op/s", rate),
        "active_parameters": work.fact("active parameters", run.active_parameters, "", size),
        "devices": work.fact("devices", run.devices),
    }  # fmt: skip


TELL = {"decode": _decode_facts, "prefill": _prefill_facts}


def _interval(
    facts: Facts, site: Any, work: Working, phase: str, run: Any, top: Told, threads: str
) -> None:
    """Write down the ends of the interval: the ceiling at the shares that were reached."""
    said = dict[str, Any]()
    fitted = next((m for m in facts.share_models if m.phase == phase), None)
    if phase == "decode" and fitted and threads == "all":
        levels = dict(zip(ENDS, calibrated_factors(fitted, run), strict=True))
        basis, unit = "share of the ceiling", "of the ceiling"
        said = {
            "evidence": getattr(site.speed, phase).evidence,
            "source": f"fitted to {fitted.rows} public measurements in {fitted.groups} groups",
        }
    else:
        share = efficiency(facts.efficiencies, site.machine, phase, threads)
        if share is None:
            return
        levels, basis = {end: getattr(share, end) for end in ENDS}, share.basis
        unit = "of the ceiling" if basis == "share of the ceiling" else "GB/s"
        said = {"evidence": share.evidence, "source": share.source.label,
                "as_of": share.source.as_of, "note": share.note}  # fmt: skip
    step = getattr(site.speed, "bytes_per_decode_step", 0) if phase == "decode" else 0
    for end, level in levels.items():
        told = work.fact(f"share, {end} end", level, unit, **said)
        work.step(f"{phase}, {end}", at_level(top, basis, told, step or 0), "tokens/s")


def served(at: Decided) -> Whys:
    """Why a replica with its pool full serves so many requests a second."""
    site = at.site
    if site is None or site.replica is None or site.speed.decode is None:
        return
    work, flow = Working(), at.case.flow
    live = work.fact("live sequences", site.live_sequences, "sequences",
                     evidence=site.row.evidence, note="what the release admits")  # fmt: skip
    output = at.said(work, "workload.output_tokens")
    cache = work.fact("cache read", site.cache_bytes, "B", note="of one sequence, mean depth")
    told = site.speed.model_copy(
        update={"bytes_per_decode_step": work.fact("bytes a step", site.speed.bytes_per_decode_step,
                                                   "B", evidence=site.speed.evidence)}
    )  # fmt: skip
    seconds = []
    for end in ENDS:
        rates = {
            phase: SimpleNamespace(**{end: work.fact(
                f"{phase} rate, {end}", getattr(getattr(site.speed, phase), end), "tokens/s",
                evidence=getattr(site.speed, phase).evidence,
            )})
            for phase in ("prefill", "decode")
        }  # fmt: skip
        found = flow.prefill_at(site.reuse, end)
        prompt = work.fact(f"prompt to prefill, {end}", found, "tokens",
                           note="what the release does not find again")  # fmt: skip
        pair = request_seconds(
            told.model_copy(update=rates), site.artifact, share=end, batch=live, cache_bytes=cache,
            prefill_tokens=prompt, output_tokens=output,
        )  # fmt: skip
        if pair is None:
            return
        names = ("prefill", "decode")
        seconds.append(tuple(
            work.step(f"{name}, {end}", part, "s") for name, part in zip(names, pair, strict=True)
        ))  # fmt: skip
    for end, (prefill_s, decode_s) in zip(ENDS, seconds, strict=True):
        work.step(f"requests a second, {end}", full_rate(prefill_s, decode_s, live), "requests/s")
    yield "replica", work.why(
        "requests one replica serves", "a prompt takes the chip for itself; a decode step of all "
        "live sequences reads the weights once and every cache", site.replica.evidence,
        site.replica.rests_on,
    )  # fmt: skip
