"""Two scenarios, or one over the releases of an engine: what changed, and what that changed."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from stackchoice.choose.decide import decide
from stackchoice.choose.decision import Decision, Question, Step
from stackchoice.errors import ScenarioError, UnknownCacheError
from stackchoice.facts.allocation import release_order
from stackchoice.facts.datum import Record
from stackchoice.facts.load import Facts
from stackchoice.facts.names import named
from stackchoice.facts.records import Engine, Release
from stackchoice.fit.admission import launch
from stackchoice.scenario import Scenario, parse_scenario

#: What tells a scenario apart and decides nothing.
NAMES = ("schema_version", "name", "title", "situation")


class StepChange(Record):
    """A step of the trace that reads otherwise; None where there is no such step."""

    question: Question
    rule: str
    before: str | None
    after: str | None


class Change(Record):
    """One key in which two scenarios differ, and what it changes when it alone is moved.

    ``without``: what was of the value before, and cannot be moved along. ``note``: why it cannot be
    moved alone.
    """

    key: str
    before: Any
    after: Any
    answer: str
    changes_answer: bool
    steps: list[StepChange]
    without: list[str] = []
    note: str = ""


class Comparison(Record):
    """Two scenarios decided side by side. ``steps`` are those all changes together bring."""

    one: str
    two: str
    answers: tuple[str, str]
    changes: list[Change]
    steps: list[StepChange]


class ReleaseRow(Record):
    """A scenario decided with an engine held at one release."""

    release: str
    date: str
    recommended: str | None
    best_self_hosted: str | None
    status: str
    reason: str
    live_sequences: int | None
    configuration: str
    moved: list[str]
    retest: str


def against(one: Scenario, two: Scenario, facts: Facts) -> Comparison:
    """Decide two scenarios and say which input changed which step of the trace.

    Every key that differs is also moved by itself, so that the effects stand apart; keys that make
    no scenario by themselves say so.
    """
    first, second = decide(one, facts), decide(two, facts)
    changes = []
    for section, key, before, after in _differences(_tree(one), _tree(two)):
        name, without = f"{section}.{key}" if key else section, list[str]()
        try:
            alone, without = _with(one, two, section, key, after)
            moved, note = decide(alone, facts), ""
        except ScenarioError as error:
            moved, note = first, f"not possible by itself: {error}"
        changes.append(
            Change(
                key=name, before=before, after=after, answer=_answer(moved),
                without=without, note=note, changes_answer=_answer(moved) != _answer(first),
                steps=_steps(first.trace, moved.trace),
            )
        )  # fmt: skip
    return Comparison(
        one=one.name, two=two.name, answers=(_answer(first), _answer(second)), changes=changes,
        steps=_steps(first.trace, second.trace),
    )  # fmt: skip


def over_releases(scenario: Scenario, facts: Facts, engine_id: str) -> list[ReleaseRow]:
    """Decide a scenario with one engine held at each release that the fact base knows.

    Every other engine stays at its newest. A row also says which behaviour moved since the row
    before, because a result measured then is stale.

    InputError when no engine has that id.
    """
    engine = named("engine", engine_id, facts.engines)
    rows: list[ReleaseRow] = []
    before: Release | None = None
    for release in sorted(engine.releases, key=lambda r: (r.date, release_order(r.version))):
        held = engine.model_copy(update={"releases": [release]})
        there = facts.model_copy(update={"engines": {**facts.engines, engine_id: held}})
        decision = decide(scenario, there)
        option = decision.option(engine.name)
        own = [c for c in decision.candidates if c.option == engine.name]
        shown = next((c for c in own if c.title == option.configuration), None)
        config = facts.models[scenario.model.id].config.value or {}
        moved = moves(facts, engine, before, release, config)
        rows.append(
            ReleaseRow(
                release=release.version, date=release.date, recommended=decision.recommended,
                best_self_hosted=decision.best_self_hosted, status=option.status,
                reason=option.reason, live_sequences=shown and shown.live_sequences,
                configuration=option.configuration, moved=moved,
                retest=_retest(engine, before, release, moved),
            )
        )  # fmt: skip
        before = release
    return rows


def moves(
    facts: Facts, engine: Engine, before: Release | None, now: Release,
    config: dict[str, Any] | None = None,
) -> list[str]:  # fmt: skip
    """Return the behaviour that the fact base knows to have moved between two releases.

    Of models like the one whose ``config`` it is; of all where none is given.
    """
    if before is None:
        return []
    family, names = _kind(facts, engine, now, config)
    low, high = release_order(before.version), release_order(now.version)
    found = [
        f"{f.key.replace('_', ' ')}{f' ({f.family} models)' if f.family else ''}: "
        + ("not read for this release" if f.value.value is None else f"{f.value.value}")
        for f in facts.memory.allocators
        if f.engine == engine.id
        and (family is None or f.family in ("", family))
        and f.since
        and low < release_order(f.since) <= high
    ]
    found += [
        f"implements {name}" for name in engine.architectures
        if name in names and engine.implements(name, before.version)[0] is False
        and engine.implements(name, now.version)[0]
    ]  # fmt: skip
    return found


def _kind(
    facts: Facts, engine: Engine, now: Release, config: dict[str, Any] | None
) -> tuple[str | None, Collection[str]]:
    """Return the family and the architectures of a model (None and every one: of all models)."""
    if config is None:
        return None, engine.architectures
    try:
        family = launch(engine.id, now.version, config, facts=facts).family
    except UnknownCacheError:
        family = ""
    return family, config.get("architectures") or []


def _retest(engine: Engine, before: Release | None, now: Release, moved: list[str]) -> str:
    if before is None:
        return ""
    why = f"{len(moved)} known behaviours moved" if moved else "nothing is known to have moved"
    return (
        f"a result measured on {engine.name} {before.version} is stale on {now.version} ({why}): "
        "measure again"
    )


def _tree(scenario: Scenario) -> dict[str, Any]:
    tree = scenario.model_dump(mode="json", by_alias=True)
    return {key: value for key, value in tree.items() if key not in NAMES}


def _differences(one: dict[str, Any], two: dict[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield section, key and both values of everything that differs; key empty for a section.

    Another model is one difference: weights of the one are none of the other.
    """
    for section in dict.fromkeys([*one, *two]):
        before, after = one.get(section), two.get(section)
        if before == after:
            continue
        if not (isinstance(before, dict) and isinstance(after, dict)) or (
            before.get("id") != after.get("id")
        ):
            yield section, "", before, after
            continue
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                yield section, key, before.get(key), after.get(key)


def _with(
    scenario: Scenario, other: Scenario, section: str, key: str, value: Any
) -> tuple[Scenario, list[str]]:
    """Return the scenario with one value of the other, and what is no longer true of it so."""
    tree = scenario.model_dump(mode="json", by_alias=True)
    if key:
        tree[section] = {**(tree[section] or {}), key: value}
    else:
        tree[section] = value
    moved, without = parse_scenario(tree), []
    model = moved.model.id != scenario.model.id
    cards = [[m.id for m in one.candidates.machines] for one in (scenario, moved)]
    budget = moved.candidates.stated_budget
    if budget and (model or cards[0] != cards[1]) and budget != other.candidates.stated_budget:
        tree["candidates"]["stated_budget"] = None
        before = "model" if model else "machine"
        without.append(f"the stated budget, which is of the {before} before")
    if model and moved.workload.sampling_preset:
        tree["workload"]["sampling_preset"] = ""
        without.append("the sampling preset, which is of the model before")
    return (parse_scenario(tree) if without else moved), without


def _answer(decision: Decision) -> str:
    own = decision.best_self_hosted or "none"
    return f"{decision.recommended or 'no recommendation'} (self-hosted: {own})"


def _steps(before: list[Step], after: list[Step]) -> list[StepChange]:
    """Pair the steps that read otherwise: by question and rule, in their order."""
    one, two = (Counter((s.question, s.rule, s.text) for s in steps) for steps in (before, after))
    gone, new = list((one - two).elements()), list((two - one).elements())
    found = []
    for question, rule, text in gone:
        match = next((n for n in new if _same_subject((question, rule, text), n)), None)
        if match is not None:
            new.remove(match)
        found.append(
            StepChange(question=question, rule=rule, before=text, after=match and match[2])
        )
    found += [StepChange(question=q, rule=r, before=None, after=text) for q, r, text in new]
    return found


def _same_subject(one: tuple[str, str, str], two: tuple[str, str, str]) -> bool:
    """Whether two steps speak of the same thing: an elimination names its candidate first."""
    if one[:2] != two[:2]:
        return False
    return one[1] != "elimination" or one[2].split(": ")[0] == two[2].split(": ")[0]
