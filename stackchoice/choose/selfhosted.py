"""Every engine release x artifact x machine, each eliminated for a named reason or kept."""

from __future__ import annotations

from stackchoice.choose.checks import checks
from stackchoice.choose.decision import Candidate
from stackchoice.choose.judge import judge
from stackchoice.choose.site import Site
from stackchoice.facts.records import Engine
from stackchoice.scenario import Point, Scenario


def candidate(scenario: Scenario, point: Point, engine: Engine, site: Site) -> Candidate:
    """Judge one engine on one site: the first hard fact that fails eliminates it."""
    return Candidate(
        option=engine.name,
        engine=engine.name,
        release=engine.latest.version,
        artifact=site.artifact.label,
        encoding=site.artifact.encoding,
        machine=site.machine.name,
        devices=site.choice.devices_per_replica,
        fallback=fallback_text(site),
        live_sequences=site.live_sequences,
        decode_ceiling_tokens_per_s=site.speed.decode_ceiling_tokens_per_s,
        evidence=site.row.evidence,
        **judge(checks(scenario, point, engine, site), _kept(site)),
    )


def _kept(site: Site) -> str:
    if site.live_sequences is None:
        return "fit unknown"
    sourced = site.admission is not None and site.admission.rule not in (None, "quotient")
    by = "this release's own admission" if sourced else "quotient"
    said = fallback_text(site)
    tail = f"; {said}" if said else ""
    return f"fits; {site.live_sequences} live sequences by {by}{tail}"


def fallback_text(site: Site) -> str:
    """Say which parts run in wider activations than the file asks for; empty where none does."""
    if site.kernels is None:
        return ""
    said = {
        f"{part.encoding.name} runs as {part.prefill.arithmetic} ({part.prefill.kernel})"
        for part in site.kernels.fallbacks if part.encoding
    }  # fmt: skip
    return f"not as the file asks: {', '.join(sorted(said))}" if said else ""
