"""Everything that moved between two arms beside what was meant to: identity, settings, defaults."""

from collections.abc import Iterator
from typing import Any, Literal

from stackchoice.compare.named import engine_of, model_of
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.passport import shown
from stackchoice.facts import Facts
from stackchoice.facts.datum import Record
from stackchoice.fit.admission import launch
from stackchoice.fit.release import read_release

#: Told elsewhere, or no property of the stack.
LEFT_OUT = ("endpoint_url", "endpoint_model", "server", "machine", "origins", "started_at_s",
            "settings", "effective_settings", "packages")  # fmt: skip
#: What changes from run to run by itself.
VOLATILE = ("port", "host", "random_seed", "last_gen_throughput", "num_running_reqs", "uptime",
            "log_level", "served_model_name", "engine", "startup_time")  # fmt: skip
KIND = Literal["identity", "setting", "default", "package"]


class Moved(Record):
    """One thing that differs. ``source`` is empty for what the arms themselves say."""

    kind: KIND
    name: str
    first: str
    second: str
    source: str = ""

    def __str__(self) -> str:
        start = {"default": "default of ", "setting": "setting ", "package": "package "}
        return f"{start.get(self.kind, '')}{self.name}: {self.first} -> {self.second}"


def moved(a: Identity, b: Identity, facts: Facts) -> tuple[list[Moved], list[str]]:
    """Return what differs, and the items that are known in one arm only."""
    found: list[Moved] = []
    half: list[str] = []
    for item in Identity.model_fields:
        x, y = getattr(a, item), getattr(b, item)
        if item in LEFT_OUT or x == y:
            continue
        name = item.replace("_", " ")
        if x is None or y is None:
            half.append(name)
        else:
            found.append(Moved(kind="identity", name=name, first=shown(x), second=shown(y)))
    tables: tuple[tuple[KIND, dict[str, Any], dict[str, Any]], ...] = (
        ("package", a.packages, b.packages),
        ("setting", a.settings, b.settings),
        ("setting", a.effective_settings, b.effective_settings),
    )
    for kind, first, second in tables:
        if not first or not second:
            if first or second:
                half.append("settings" if kind == "setting" else "packages")
            continue
        for key in sorted({*first, *second}):
            x, y = first.get(key), second.get(key)
            if None in (x, y) and first is not a.settings:
                continue  # another release may just not tell it
            x, y = (v if v is not None else "not given" for v in (x, y))
            if (
                x != y
                and key not in VOLATILE
                and not any(m.kind == kind and m.name == key for m in found)
            ):
                found.append(Moved(kind=kind, name=key, first=shown(x), second=shown(y)))
    return [*found, *_defaults(a, b, facts)], list(dict.fromkeys(half))


def _defaults(a: Identity, b: Identity, facts: Facts) -> Iterator[Moved]:
    """Yield the defaults that the engine's two releases do not share, where both were read."""
    engine, other = engine_of(a, facts), engine_of(b, facts)
    if engine is None or engine is not other:
        return
    releases = [read_release(i.runtime_build, engine).version for i in (a, b)]
    if None in releases or releases[0] == releases[1]:
        return
    model = model_of(a, facts)
    config = model.config.value if model else None
    family = launch(engine.id, None, config, facts=facts).family if config else ""
    for key in sorted({f.key for f in facts.memory.allocators if f.engine == engine.id}):
        x, y = (facts.memory.fact(engine.id, key, r, family) for r in releases)
        if x.known and y.known and x.value != y.value and key not in a.settings:
            source = y.source.label if y.source else ""
            yield Moved(kind="default", name=key, first=shown(x.value),
                        second=shown(y.value), source=source)  # fmt: skip
