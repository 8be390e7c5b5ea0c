"""Why: the sums that are shown are those that ran, and they work out to what was decided."""

import html
import math
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackchoice import decide, load_facts, load_scenario
from stackchoice.capacity import late_probability
from stackchoice.facts import data_dir
from stackchoice.facts.figures import figure
from stackchoice.facts.told import Told, Working
from stackchoice.fit import check_premises, launch, size
from stackchoice.present.money_panel import MoneyPanel
from stackchoice.present.page import Reasons
from stackchoice.present.panels import SizingPanel
from stackchoice.present.widgets import ScenarioPanel
from stackchoice.scenario import THIS_MACHINE
from stackchoice.why import explain
from stackchoice.why.chosen import printed, sized
from stackchoice.why.explain import Explained

SHIPPED = sorted(
    path.stem for path in (data_dir() / "scenarios").glob("*.yaml")
    if THIS_MACHINE not in path.read_text(encoding="utf-8")
)  # fmt: skip


def worked(figures):
    """Work a shown sum out again from nothing but its text."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", figures).replace("×", "*").replace("^", "**")
    names = {"floor": math.floor, "ceil": math.ceil, "late": late_probability}
    return eval(text, {"__builtins__": {}}, names)


def read(value):
    return float(value.replace(",", ""))


@pytest.fixture(scope="module")
def explained():
    facts = load_facts()
    found = {}
    for name in SHIPPED:
        scenario = load_scenario(name)
        found[name] = decide(scenario, facts), explain(scenario, facts)
    return found


class Shown(str):
    """A figure as shown; equal to every number that is shown so."""

    __hash__ = str.__hash__

    def __eq__(self, number):
        return read(self) == round(float(number), len(self.partition(".")[2]))


def sums(why):
    return {line.name: Shown(line.value) for line in why.sums}


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shown_sum_works_out_to_the_number_beside_it(explained, name):
    lines = [(key, line) for key, why in explained[name][1].items() for line in why.sums]
    assert len(lines) > 20
    for key, line in lines:
        assert Shown(line.value) == worked(line.figures), (key, line)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_figure_has_more_digits_than_mean_something(explained, name):
    """Wholes and money apart: nobody knows a rate to nine digits."""
    whys = explained[name][1].values()
    texts = [x.value for why in whys for x in (*why.sums, *why.facts)]
    parted = [re.fullmatch(r"([\d,]+)\.(\d+)", text) for text in texts]
    fractions = [(at[1].replace(",", ""), at[2]) for at in parted if at]
    assert fractions
    for whole, rest in fractions:
        assert len(rest) <= 2 or len(f"{whole}{rest}".lstrip("0")) <= 5, (whole, rest)


def test_a_sum_shows_the_digits_that_its_figures_give():
    work = Working()
    dear, cheap = work.fact("dear", 2.210623), work.fact("cheap", 2.162343)
    gap = work.step("gap", (dear - cheap) / dear)
    assert (work.sums[0].figures, work.sums[0].value) == ("(2.2106 - 2.1623) / 2.2106", "0.0218")
    work.step("twice", gap * 2)
    assert (work.sums[1].figures, work.sums[1].value) == ("0.0218 × 2", "0.044")
    close = work.fact("close", 2.2106225)
    work.step("edge", (dear - close) * 1_000_000)
    assert work.sums[2].figures == "(2.210623 - 2.2106225) × 1,000,000"
    assert work.sums[2].value == "0.5"


@pytest.mark.parametrize("name", SHIPPED)
def test_every_fact_has_a_class_and_whoever_says_it_is_named(explained, name):
    for key, why in explained[name][1].items():
        assert why.rule, key
        for fact in why.facts:
            if fact.value != "unknown":
                assert fact.evidence is not None, (key, fact)
            if fact.evidence in ("stated", "reported", "measured"):
                assert fact.source or fact.note or "must" in fact.value, (key, fact)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_sums_end_in_the_numbers_of_the_decision(explained, name):
    decision, whys = explained[name]
    for row in decision.fit.rows:
        if row.live_sequences:
            found = sums(whys[f"memory:{row.basis}"])
            assert found["live sequences"] == row.live_sequences
            assert found["one sequence"] == row.bytes_per_sequence
    admitted = 0
    for row in decision.fit.admissions:
        why = whys.get(f"admission:{row.engine} {row.release}, {row.settings}")
        if why is not None and row.live_sequences:
            assert sums(why)[f"live sequences, {row.basis}"] == row.live_sequences
            admitted += 1
    assert admitted
    for phase in ("decode", "prefill"):
        found, speed = sums(whys[phase]), getattr(decision.fit.speed, phase)
        for end in ("low", "middle", "high"):
            assert found[f"{phase}, {end}"] == getattr(speed, end)
    if (replica := decision.fit.replica) is not None:
        found = sums(whys["replica"])
        for end in ("low", "middle", "high"):
            expected = getattr(replica, end)
            assert found[f"requests a second, {end}"] == expected
    for line in decision.cost.lines:
        found = sums(whys[f"cost:{line.path}"])
        if line.total_usd is not None:
            assert found["together"] == float(line.total_usd)
        for item in line.bill:
            if item.item in found:
                assert found[item.item] == float(item.usd)
    for even in decision.cost.break_even:
        people = "with people" if even.with_people else "without people"
        found = sums(whys[f"even:{even.against}, {people}"])
        if even.mtok_per_month:
            assert found["cheaper from"] == even.mtok_per_month
        elif even.change is not None:
            factor = found["price or throughput would have to grow by"]
            assert factor == even.change.factor
    if (shape := decision.shape) is not None and shape.peak is not None:
        found = sums(whys["peak"])
        assert found["slow end: replicas by rate"] == shape.peak.slow.by_rate
        assert found["requests a second at the peak"] == shape.peak.peak_per_s


def test_the_worked_case_is_told_to_the_byte(explained):
    _, whys = explained["json-chat"]
    live = [sums(whys[key])["live sequences"] for key in whys if key.startswith("memory:")]
    assert live == [36, 33, 41]
    (total,) = [line for line in whys["cost:managed"].sums if line.name == "together"]
    assert total.figures == "206.44 + 54 + 900 + 312.5"
    assert total.value == "1,472.94"
    why = whys["memory:published checkpoint on the vendor's GB"]
    weights = next(fact for fact in why.facts if fact.name == "weights")
    assert (weights.value, weights.evidence) == ("55,563,006,776", "reported")
    assert weights.as_of
    assert weights.source


def test_each_rule_says_whether_it_holds_and_who_says_so(explained):
    decision, whys = explained["json-chat"]
    for push in decision.pushes:
        assert whys[f"push:{push.rule}"].facts[0].source
    assert whys["kernels"].facts[0].url.startswith("http") or whys["kernels"].facts[0].source


def test_a_break_even_of_unknown_capacity_has_its_sum_too(facts, changed):
    scenario = changed("json-chat", workload__context_tokens="not known")
    whys = explain(scenario, facts)
    asked = [e for e in decide(scenario, facts).cost.break_even if "unknown" in e.against]
    assert asked
    for even in asked:
        people = "with people" if even.with_people else "without people"
        found = sums(whys[f"even:{even.against}, {people}"])
        assert found["cheaper from"] == even.mtok_per_month


@st.composite
def expressions(draw, depth=3):
    """Return the same expression of plain numbers and of numbers that tell."""
    if depth == 0 or draw(st.booleans()):
        value = draw(st.integers(1, 10**6))
        return value, Told(value, f"n{value}")
    one, told_one = draw(expressions(depth=depth - 1))
    other, told_other = draw(expressions(depth=depth - 1))
    plain = draw(st.booleans())
    right = other if plain else told_other
    operation = draw(st.sampled_from(["+", "-", "×", "/", "//", "ceil", "neg"]))
    if operation in ("/", "//") and other == 0:
        operation = "+"
    with_plain = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "×": lambda a, b: a * b,
        "/": lambda a, b: a / b, "//": lambda a, b: a // b,
        "ceil": lambda a, b: math.ceil(a / 7) + b, "neg": lambda a, b: -a + b,
    }[operation]  # fmt: skip
    return with_plain(one, other), with_plain(told_one, right)


@given(expressions())
def test_a_number_that_tells_is_worth_what_the_plain_one_is_and_says_how(pair):
    plain, told = pair
    if not isinstance(told, Told):  # times nothing is plain nothing
        assert told == plain
        return
    assert told == plain
    shown = worked(told.text(names=False))
    # A rounded whole may sit on an edge that five digits do not tell apart.
    assert shown == pytest.approx(float(plain), rel=1e-3, abs=1.0)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (-(-Told(10, "tokens") // 4), "ceil(tokens / 4)"),
        (1 / (1 / Told(8, "alone") + 0.0), "alone"),
        ((Told(2, "a") + 1) * Told(3, "b") - (Told(1, "c") - 2), "(a + 1) × b - (c - 2)"),
        (math.floor(Told(7, "a") // 2), "floor(a / 2)"),
        (2 / (Told(3, "a") / 4), "2 / (a / 4)"),
        ((1 + Told(0.5, "i")) ** 3, "(1 + i) ^ 3"),
    ],
)
def test_a_formula_reads_as_people_write_it(told, text):
    assert told.text(names=True) == text


def test_what_is_not_known_says_unknown_and_a_never_says_never():
    work = Working()
    work.fact("price", None, "USD")
    assert work.facts[0].value == "unknown"
    assert work.why("a", "b").evidence == "computed"
    assert figure(1234567.25) == "1,234,567.25"
    assert figure(0.000123456789) == "0.00012346"
    assert figure(1.94153702) == "1.9415"
    assert figure(18385.6346) == "18,385.63"
    assert figure(Decimal("23239452259.8")) == "23,239,452,260"
    assert figure(999_999_999.99) == "1,000,000,000"
    assert figure(0.9999999999) == "1"


def test_only_what_is_asked_for_is_worked_out():
    whys = explain(load_scenario("json-chat"), load_facts())
    asked, parts = [], whys._parts
    spied = {part: (lambda part=part: asked.append(part.func.__name__) or part())
             for part in parts.values()}  # fmt: skip
    lazy = Explained({kind: spied[part] for kind, part in parts.items()})
    assert lazy["decode"].answer
    assert [why.answer for why in lazy.of("prefill")] == [whys["prefill"].answer]
    assert lazy.get("memory:no such budget") is None
    assert lazy.get("no such kind") is None
    assert asked == ["speeds", "memory"]
    assert dict(lazy) == dict(whys)


@pytest.mark.parametrize("name", ["json-chat", "apple-one-user", "mixed-fleet"])
def test_every_option_tells_what_was_asked_of_it_and_what_goes_before_it(name):
    facts, scenario = load_facts(), load_scenario(name)
    whys = explain(scenario, facts)
    decision = decide(scenario, facts)
    for option in decision.options:
        why = whys[f"option:{option.name}"]
        if option.status != "eliminated":
            asked = re.findall(r"(\d+) asked, (\d+) hold, none fails", " ".join(why.notes))
            unknown = sum(int(all_of) - int(held) for all_of, held in asked)
            found_out = [c for c in option.conditions if c.startswith("find out")]
            assert unknown == len(found_out)
            if decision.recommended not in (None, option.name):
                assert f"behind {decision.recommended}: " in why.notes[-1]
            continue
        assert option.reason in why.answer
        if "does not" in option.reason:
            (fact,) = why.facts
            assert fact.source
            assert fact.as_of
            assert why.evidence is fact.evidence


def test_panels_tell_the_sums_that_they_show():
    """The last sum of each explanation is the figure that the panel shows."""
    facts = load_facts()
    model = facts.models["Qwen/Qwen3.8-27B"]
    for devices, kv_dtype in ((1, None), (2, "fp8")):
        parts = (model, model.artifacts[0], facts.machines["h100_sxm"])
        found = size(*parts, facts, context_tokens=8192, devices=devices, kv_dtype=kv_dtype)
        whys = {why.answer: why for why in sized(found, *parts, facts, kv_dtype)}
        for row in found.rows:
            told = whys[f"live sequences, {row.basis}"].sums[-1]
            assert told.value == figure(row.live_sequences)
        for row in (r for r in found.admissions if r.live_sequences is not None):
            why = whys[f"live sequences, {row.engine} {row.release}, {row.settings}"]
            told = next(s for s in why.sums if s.name == f"live sequences, {row.basis}")
            assert told.value == figure(row.live_sequences)
        ceiling = whys["decode of one stream"].sums[0].value
        assert ceiling == figure(found.speed.decode_ceiling_tokens_per_s)


@pytest.mark.parametrize("memory", [54.82, None])
def test_each_premise_tells_what_it_would_print(memory):
    facts = load_facts()
    config = facts.models["Qwen/Qwen3.8-27B"].config
    asked = launch("vllm", "0.19.1", config.value, kv_dtype="fp8", facts=facts,
                   settings={"max_model_len": 262144})  # fmt: skip
    check = check_premises(asked, printed_tokens=448448, memory_gib=memory)
    whys = {why.answer: why for why in printed(check, asked, config)}
    for premise in check.premises:
        if premise.blocks is None:
            assert premise.text not in whys
            continue
        pool, concurrency = whys[premise.text].sums[-2:]
        assert pool.value == figure(premise.tokens)
        assert concurrency.value == figure(premise.concurrency)
    every = whys["all 64 layers hold keys and values of every token"].sums
    assert every[0].value == figure(1568 * 2 * 4 * 256 * 64), "keys, values, heads, width, layers"


def test_nothing_is_explained_before_it_is_asked_for():
    panel = SizingPanel(load_facts())
    plain = panel.view.value
    assert "Why?" not in plain
    panel.why_button.value = True
    assert panel.view.value.endswith(plain)
    panel.set("devices", "2")
    assert panel.view.value.count("Why?") == len(list(panel._why())) > 0
    panel.why_button.value = False
    assert "Why?" not in panel.view.value


@pytest.mark.parametrize("panel", [ScenarioPanel, MoneyPanel])
@pytest.mark.parametrize("changes", [
    {}, {"workload__users": "not known"}, {"workload__context_tokens": "not known"},
    {"constraints__data_may_leave": False}, {"candidates__machines": []},
])  # fmt: skip
def test_every_why_of_a_panel_is_empty_until_it_is_asked_for(panel, changes, changed, facts):
    scenario = changed("json-chat", **changes)
    section = panel(scenario, facts).view.section
    keys = [html.unescape(key) for key in re.findall('data-why="([^"]*)"', section.bare)]
    assert "recommendation" in keys
    assert "Rule:" not in section.bare
    now = Reasons(scenario, facts)
    assert all(section.told(key) == now(key) != "" for key in keys)
    assert not section.told("flip:of nothing")


@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "users"])
def test_a_month_of_requests_that_are_not_known_has_no_volume(changed, facts, name):
    found = explain(changed("json-chat", **{f"workload__{name}": "not known"}), facts)
    assert "volume" not in set(found)


def test_what_the_team_said_is_the_source_of_an_option_that_is_out_by_it(changed, facts):
    machines = [{"id": "h100_sxm", "count": 2, "devices_per_replica": 2}]
    limit = {"value": 1, "from": "the budget round", "answered_by": "finance"}
    scenario = changed(
        "json-chat", candidates__machines=machines, money__can_fund_devices=limit,
        workload__context_tokens=4096, candidates__stated_budget=None,
    )  # fmt: skip
    whys = explain(scenario, facts)
    out = [o for o in decide(scenario, facts).options if "the team can fund 1" in o.reason]
    assert out
    for option in out:
        (fact,) = whys[f"option:{option.name}"].facts
        assert (fact.value, fact.evidence) == ("1", "stated")
        assert (fact.source, fact.note) == ("the budget round", "answered by finance")


def test_a_limit_of_the_release_below_what_the_pool_holds_is_told(changed, facts):
    """SGLang runs 4,096 requests at once at most, however many tokens the pool holds."""
    scenario = changed(
        "json-chat", workload__context_tokens=100, workload__input_tokens=80,
        candidates__machines=[{"id": "mi325x", "count": 8, "devices_per_replica": 8}],
    )  # fmt: skip
    rows = [r for r in decide(scenario, facts).fit.admissions
            if r.engine == "SGLang" and r.live_sequences == 4096]  # fmt: skip
    assert rows
    for row in rows:
        why = explain(scenario, facts)[f"admission:SGLang {row.release}, {row.settings}"]
        told = {f.name: (f.value, f.note) for f in why.facts}
        assert told[f"live sequences, {row.basis}"] == (
            "4,096", "as many as the release runs at once"
        )  # fmt: skip


@pytest.mark.parametrize("name", SHIPPED)
def test_spares_exits_and_turning_points_are_told_with_the_sums_that_gave_them(explained, name):
    decision, whys = explained[name]
    for turn in decision.cost.turns:
        why = whys[f"turn:{turn.what}"]
        if turn.at is None:
            assert any(note.startswith("never: ") for note in why.notes)
        else:
            assert sums(why)[turn.what] == turn.at
    for row in decision.cost.redundancy:
        found = sums(whys[f"spare:{row.path}"])
        if row.path != "managed" and row.total_usd is not None:
            total = float(row.total_usd)
            assert found["path with the spare"] == total
    for way in decision.cost.exits:
        why = whys[f"exit:{way.path}"]
        assert why.facts[-1].evidence == "assumed"
        told = sums(why).get("leaving") or Shown(why.facts[0].value)
        assert told == float(way.usd)


@pytest.mark.parametrize("name", SHIPPED)
def test_each_flip_is_told_by_the_ways_that_survive_there(explained, name):
    decision, whys = explained[name]
    moved = [flip for flip in decision.flips if flip.to_option is not None]
    for flip in moved:
        why = whys[f"flip:{flip.text}"]
        assert why.notes[0].startswith(f"deciding there gives {flip.to_option}")
        there = flip.to_option.partition(" (self-hosted")[0]
        assert " ".join(why.notes[1:]) or there
    assert len([key for key in whys if key.startswith("flip:")]) == len(moved)


def test_a_book_value_is_worked_out_by_hand(explained):
    """48,000 USD and 3,900 for installation, a fifth left after 48 of 48 months."""
    _, whys = explained["json-chat"]
    assert sums(whys["exit:owned"])["leaving"] == 15_000 + 51_900 - (48_000 * 0.8 + 3_900)


def test_a_single_user_pays_nobody_for_setting_up_a_seller_either_way(explained):
    """What costs nothing to begin with costs nothing as the way out of one's own machine."""
    decision, whys = explained["apple-one-user"]
    (way,) = [way for way in decision.cost.exits if way.path == "owned"]
    assert way.usd == 0
    assert "the single user is the operator" in whys["exit:owned"].facts[0].note
