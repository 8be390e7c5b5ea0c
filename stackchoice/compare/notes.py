"""What must be told beside an arm's figures: missing capacity, discards, faults of harnesses."""

from stackchoice.confirm.passport import Passport


def arm_notes(passport: Passport) -> tuple[str, ...]:
    """Return one line for everything that bounds what the figures mean."""
    v, said = passport.validity, []
    asked, pool = v.configured_context_tokens, v.realised_kv_tokens
    if asked and pool and pool < asked:
        said.append(
            f"configured for {asked:,} tokens of context, realised {pool:,} tokens of cache "
            f"({pool / asked:.0%}): a request of the configured length cannot be held"
        )
    for name, want, have in (
        ("context", asked, v.realised_context_tokens),
        ("slots", v.configured_slots, v.realised_slots),
        ("KV tokens", v.configured_kv_tokens, pool),
    ):
        if want and have and have < want:
            said.append(f"{name}: configured {want:,}, realised {have:,}")
    said += [f"HOLD: {reason}" for reason in v.hold]
    said += [f"invalid: {reason}" for reason in v.reasons]
    passed = [c for c in (*v.canaries_before, *v.canaries_after) if c.result == "passed"]
    if v.correctness == "passed":
        said.append(f"canaries passed: {', '.join(dict.fromkeys(c.id for c in passed))}")
    elif v.correctness == "unknown":
        said.append("correctness unknown: no canary was asked")
    deep = [c for c in passed if c.input_tokens]
    if deep:
        longest = max(c.input_tokens or 0 for c in deep)
        said.append(f"recall shown at {longest:,} input tokens")
    said += [
        f"discarded run {r.run}: {r.reason} (fault of the {r.fault})" for r in v.discarded_runs
    ]
    if v.discarded:
        said.append(f"{len(v.discarded)} requests discarded by rules written before")
    if probe := v.cache_probe:
        seen = probe.speedup_text or (f"{probe.speedup:.2f}x" if probe.speedup else "unknown")
        control = f", control {probe.control:.2f}x" if probe.control else ""
        said.append(f"a repeated prefix answers {seen} faster{control}")
    said += [f"harness: {fault}" for fault in passport.protocol.harness_faults]
    said += [f"warning: {text}" for text in v.warnings]
    return (*said, *(f"note: {text}" for text in passport.notes))
