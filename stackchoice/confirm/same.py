"""Whether one server, one process and one model answered throughout a run. Pure."""

from collections import Counter

from stackchoice.confirm.identity import Identity
from stackchoice.load.journal import Event
from stackchoice.load.records import Sample

#: What a server says of itself that no running server changes.
LASTING = ("engine", "version", "server_header", "model_path", "model_revision", "weight_format",
           "kv_format", "chat_template", "context_tokens", "slots")  # fmt: skip
#: What an answer says of who gave it, in words.
SIGNS = {"fingerprint": "system fingerprint", "server": "Server header",
         "id_prefix": "beginning of ids"}  # fmt: skip


def same_model(events: list[Event]) -> bool | None:
    """Whether every answer named one model and the offer stayed; None when nothing is known."""
    names = {e["sample"]["model"] for e in events if "sample" in e} - {None}
    offers = [list(e["server"]["model_ids"]) for e in events if "server" in e]
    known = [offer for offer in offers if offer]
    if not (names or known):
        return None
    return len(names) <= 1 and all(offer == known[0] for offer in known)


def same_process(events: list[Event]) -> bool | None:
    """Whether the server's process is the one that was there before, within each launch."""
    seen = [
        (e.get("launch", 0), e["server"]["started_at_s"]) for e in events
        if "server" in e and e["server"].get("started_at_s") is not None
    ]  # fmt: skip
    return len(set(seen)) == len({launch for launch, _ in seen}) if len(seen) > 1 else None


def other_server(events: list[Event]) -> list[str]:
    """Say what a server no longer says of itself; what it left out once says nothing."""
    told = [e["server"] for e in events if "server" in e]
    for item in LASTING:
        values = list(dict.fromkeys(t[item] for t in told if t.get(item) is not None))
        if len(values) > 1:
            return [f"another server answers than at first ({item.replace('_', ' ')} {values[0]}, "
                    f"then {values[1]}); measure each by itself"]  # fmt: skip
    return []


def other_answers(events: list[Event]) -> list[str]:
    """Say which sign of who answered changed from answer to answer, between two looks as well.

    Chat and plain completions begin their ids differently, so canaries are held against canaries.
    What an answer leaves out says nothing, and one that failed may be a gateway's.
    """
    for sign, words in SIGNS.items():
        for canaries in (False, True):
            seen = Counter(
                value for e in events
                if "sample" in e and not e["sample"].get("failure")
                and e["step"].startswith("canary") is canaries
                and (value := e["sample"].get(sign)) is not None
            )  # fmt: skip
            if len(seen) > 1:
                told = ", ".join(f"{v or 'none'} in {n}" for v, n in seen.items())
                return [f"another server gave some of the answers ({words}: {told}); measure each "
                        "by itself"]  # fmt: skip
    return []


def other_models(samples: list[Sample], identity: Identity) -> list[str]:
    """Return names in answers that share nothing with the name that was asked for, or declared."""

    def last(name: str | None) -> str:
        return (name or "").rstrip("/").rpartition("/")[2].casefold()

    known = [last(n) for n in (identity.endpoint_model, identity.model, identity.artifact) if n]
    names = dict.fromkeys(s.model for s in samples if s.model and s.failure is None)
    return [n for n in names if not any(last(n) in k or k in last(n) for k in known)]
