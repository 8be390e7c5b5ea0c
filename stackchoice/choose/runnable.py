"""An option as something to run: artifact and revision, release, launch line, what it relies on.

The line carries exactly the settings that the arithmetic assumed, under the engine's own names.
What the engine has no flag for, and which defaults of its release were relied on, is said.
"""

import shlex
from typing import Any

from stackchoice.choose.answer import Answer
from stackchoice.choose.carried import Reliance, Runnable, RunSetting
from stackchoice.choose.case import Case
from stackchoice.choose.managed import OPTION as MANAGED
from stackchoice.choose.place import start_of
from stackchoice.choose.site import Site, by_own_rule
from stackchoice.errors import UnknownCacheError
from stackchoice.facts.datum import Datum, Evidence
from stackchoice.facts.figures import shown
from stackchoice.facts.load import Facts
from stackchoice.facts.prices import Offer, Seller
from stackchoice.facts.records import Engine, LaunchForm
from stackchoice.fit.admission import launch
from stackchoice.fit.workspace import said
from stackchoice.workload import NEEDS

#: What sellers say they can, in words.
FEATURES = {**NEEDS, "openai_api": "OpenAI's API"}

#: What each setting is, in words.
WORDS = {
    "artifact": "artifact", "repository": "repository", "file": "file", "local_file": "file",
    "revision": "revision", "context_tokens": "tokens a request may reach",
    "context_of_all_sequences": "tokens of all sequences together",
    "live_sequences": "sequences at once", "devices": "devices of a replica",
    "device_list": "devices of a replica", "share_of_all": "share of memory that is used",
    "static_share": "share of memory for weights and cache",
    "share_of_free": "share of the memory left by the weights, for the cache",
    "layers_on_accelerator": "layers on the accelerator",
    "share_on_accelerator": "layers on the accelerator",
}  # fmt: skip
#: Settings without which a capacity is not the one that was worked out.
MUST = ("revision", "context_tokens", "live_sequences")
#: Facts of an allocator that are no behaviour of the release but the rule that was followed.
NO_DEFAULT = ("rule", "steady_state_note", "printed_pool")


def runnables(main: Answer) -> list[Runnable]:
    """Return the recommended option and the best self-hosted one as something to run."""
    found, option = [], main.verdict.option
    if main.bought is not None:
        role = "recommended" if option == MANAGED else "the managed alternative"
        found.append(of_seller(*main.bought, main.case["workload.context_tokens"], role))
    if main.site is not None and main.engine is not None:
        role = "best self-hosted"
        role = f"recommended, and {role}" if option == main.engine.name else role
        found.append(of_engine(main.case, main.engine, main.site, role))
    return sorted(found, key=lambda r: not r.role.startswith("recommended"))


def of_engine(case: Case, engine: Engine, site: Site, role: str) -> Runnable:
    """Return how one engine is run at one site."""
    form = next((f for f in case.facts.launches if f.engine == engine.id), None)
    values = _values(case, engine, site)
    settings, missing = _settings(form, values, site)
    notes = [form.note] if form and form.note else []
    if values["revision"] is None:
        notes.append("the revision is unknown: pin the one you download, it is part of the answer")
    notes += _memory_notes(case, engine, site)
    if form is None:
        notes.append(f"how {engine.name} is started is not in the fact base")
    return Runnable(
        role=role,
        option=engine.name,
        artifact=site.artifact.id,
        revision=site.artifact.revision.value,
        engine=engine.name,
        release=engine.latest.version,
        machine=f"{site.devices} x {site.machine.name}",
        commands=_commands(form, values, settings) if form else [],
        settings=settings,
        not_set=missing,
        relies_on=_reliances(case.facts, engine, site),
        notes=notes,
        source=form.source.label if form else "",
    )


def of_seller(seller: Seller, offer: Offer, context_tokens: int | None, role: str) -> Runnable:
    """Return what is bought, by the name it is sold under, and its limits."""

    def known(datum: Datum[Any], unit: str = "") -> str:
        value = datum.value
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, list):
            value = ", ".join(str(v) for v in value)
        return "unknown" if value is None else f"{value:,}{unit}" if unit else f"{value}"

    limits = [
        f"context: {known(offer.context_tokens, ' tokens')}"
        + (f"; {context_tokens:,} are asked" if context_tokens else ""),
        f"precision: {known(offer.precision)}",
        f"retention: {known(seller.retention)}",
        f"regions: {known(seller.regions)}",
        *(f"{FEATURES.get(name, name.replace('_', ' '))}: {known(datum)}"
          for name, datum in {**seller.features, **offer.features}.items()),
        "rate limits: unknown; ask before the first user",
    ]  # fmt: skip
    price = offer.price
    return Runnable(
        role=role, option=MANAGED, seller=seller.name, artifact=offer.sold_as, limits=limits,
        notes=["the seller names no revision of the weights: measure again when answers move"],
        source=f"{price.source.label}, {price.starts}",
    )  # fmt: skip


def _memory_notes(case: Case, engine: Engine, site: Site) -> list[str]:
    """Say what the engine takes beside weights and cache, and what a stated budget is to that."""
    stated = case.scenario.candidates.stated_budget
    taken, admits = by_own_rule(site, engine, case)
    if stated is None or taken.high is None or (site.row.workspace_bytes or 0) >= taken.high:
        return [said(taken, site.devices)] if taken.high else []
    at = "an unknown number" if admits is None else f"{admits}"
    return [
        f"the budget states {stated.workspace_gb:g} GB beside weights and cache, and {engine.name} "
        f"takes more: {said(taken, site.devices)}; then it admits {at} at once where the budget "
        f"gives {site.live_sequences}"
    ]


def _values(case: Case, engine: Engine, site: Site) -> dict[str, Any]:
    """Return the value of every setting the arithmetic assumed (None: it assumed none)."""
    context = case.flow.context_tokens
    repository, _, name = site.artifact.id.partition(":")
    live, devices = site.live_sequences, site.devices
    shares = start_of(site, engine, case).shares
    share = f"{shares[1]:.3g}" if shares else None
    accelerated = site.machine.backend != "cpu"
    return {
        "artifact": site.artifact.id,
        "repository": repository if name else None,
        "file": name or site.artifact.id,
        "local_file": None if name else site.artifact.id,
        "revision": site.artifact.revision.value,
        "context_tokens": context,
        "context_of_all_sequences": live * context if live and context else None,
        "live_sequences": live,
        "devices": devices,
        "device_list": _device_list(devices) if accelerated else "cpu",
        "share_of_all": share,
        "static_share": share,
        "share_of_free": share,
        "layers_on_accelerator": "all" if accelerated else 0,
        "share_on_accelerator": "max" if accelerated else "off",
    }


def _device_list(devices: int) -> str:
    return "gpu" if devices == 1 else "gpu:" + ",".join(str(i) for i in range(devices))


def _settings(
    form: LaunchForm | None, values: dict[str, Any], site: Site
) -> tuple[list[RunSetting], list[str]]:
    """Return what the line sets, and what the arithmetic assumed that no flag carries."""
    settings = []
    for flag in form.flags if form else []:
        value = values[flag.setting]
        # A file of a repository needs the repository's flag; a file alone has its own.
        if value is None or (flag.setting == "file" and values["repository"] is None):
            continue
        settings.append(
            RunSetting(
                name=WORDS[flag.setting], flag=flag.flag, value=str(value),
                environment=flag.environment,
                evidence=site.row.evidence if flag.setting not in ("artifact", "revision")
                else Evidence.STATED,
            )
        )  # fmt: skip
    carried = {f.setting for f in form.flags} if form else set()
    if "context_of_all_sequences" in carried:
        carried.add("context_tokens")
    missing = [
        f"{WORDS[name]}: {values[name]} was assumed, and no flag of the server is known for it"
        for name in MUST if name not in carried and values[name] is not None
    ]  # fmt: skip
    return settings, missing


def _commands(form: LaunchForm, values: dict[str, Any], settings: list[RunSetting]) -> list[str]:
    """Return shell lines, each word quoted: a name out of a file is never a command."""
    before = [
        shlex.join(word.format(artifact=values["artifact"]) for word in words)
        for words in form.before
    ]
    variables = [f"{s.flag}={shlex.quote(s.value)}" for s in settings if s.environment]
    words = list(form.program)
    for setting in settings:
        if not setting.environment:
            words += [setting.flag, setting.value] if setting.flag else [setting.value]
    return [*before, " ".join([*variables, shlex.join(words)])]


def _reliances(facts: Facts, engine: Engine, site: Site) -> list[Reliance]:
    """Return the defaults of the release that its admission followed, with where they were read."""
    asked = launch(engine.id, engine.latest.version, site.model.config.value or {}, facts=facts)
    try:
        family = asked.family
    except UnknownCacheError:  # a layer kind that nobody modelled has no family
        family = ""
    found = {}
    for fact in facts.memory.allocators:
        if fact.engine != engine.id or fact.key in NO_DEFAULT or fact.family not in ("", family):
            continue
        datum = facts.memory.fact(engine.id, fact.key, asked.version, family)
        if datum.value is None:
            continue
        found[fact.key] = Reliance(
            text=f"{fact.key}: {shown(datum.value)}".replace("_", " "),
            source=datum.source.label if datum.source else datum.note, evidence=datum.evidence,
        )  # fmt: skip
    return list(found.values())
