"""Sweeps: design, verdicts against the noise, resuming. The engine is in test_confirm_live."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from stackchoice.cli import app
from stackchoice.confirm import Endpoint, Passport, Plan
from stackchoice.confirm.command_engine import CommandEngine
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.passport import PassportError, Protocol, Validity
from stackchoice.confirm.results import Results
from stackchoice.errors import EngineError, InputError, StackchoiceError
from stackchoice.sweep import Knob, design, judge, parse_knob, run_sweep
from stackchoice.sweep.run import by_url, describe

TWO = design([Knob(name="a", values=(1, 2)), Knob(name="b", values=(True, False))], [("a", "b")])
SERVER = f"{sys.executable} -m stackchoice.cli reference-server --port {{port}} --ttft {{ttft}}"
TINY = Plan(requests=3, floor=False, output_tokens=16, prompt_words=5)
#: For sweeps of many launches that are not about canaries.
ONE = """
version: 1
canaries:
  - {id: any, max_tokens: 4, expect: {contains: [a]}, messages: [{role: user, content: a}]}
"""


def measured(rate: float, hold: tuple[str, ...] = (), arm: str = "x") -> Passport:
    return Passport(
        arm=arm, identity=Identity(), protocol=Protocol(), validity=Validity(valid=True, hold=hold),
        results=Results(output_tokens_per_s=rate),
    )  # fmt: skip


def runs(*pairs: tuple[float, ...]) -> dict[int, list[Passport]]:
    return {i: [measured(v) for v in values] for i, values in enumerate(pairs)}


def test_one_variable_moves_at_a_time_and_pairs_are_arms_of_their_own() -> None:
    moved = [{k for k, v in arm.settings.items() if v != TWO.arms[0].settings[k]}
             for arm in TWO.arms]  # fmt: skip
    assert moved == [set(), {"a"}, {"b"}, {"a", "b"}]
    assert [arm.id for arm in TWO.arms] == ["baseline", "a=2", "b=off", "a=2+b=off"]


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.integers(1, 3))
def test_an_even_drift_moves_every_arm_alike(sizes: list[int], rounds: int) -> None:
    plan = design([Knob(name=f"k{i}", values=tuple(range(n))) for i, n in enumerate(sizes)],
                  rounds=rounds)  # fmt: skip
    places = [[p for p, arm in enumerate(plan.order) if arm == i] for i in range(len(plan.arms))]
    means = [sum(p) / len(p) for p in places]
    assert means == pytest.approx([means[0]] * len(means))
    assert plan.order[0] == plan.order[-1] == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["slots=1,4", "--rounds", "0"], "0 rounds: not possible"),
        (["slots=1,4", "--rounds", "1000000000"], "rounds: not possible"),
        (["slots=1,4", "--command", ""], "--model is missing"),
        (["slots=1,4", "--model", "m"], "give --command or --url"),
        (["slots=1,4", "--key-variable", "K"], "only --url sends a key"),
        (["slots=1,many"], "slots 'many': no count"),
        (["threads=1,0"], "threads 0: no count"),
        (["prefix_cache=on,maybe"], "neither on nor off"),
        (["weights=q8_0,q9"], "arm 'llama.cpp:q9': no such engine"),
        (["n=1,2", "--model", "m", "--command", "x {n} {port} '"], "close the quotes"),
        (["n=1,2", "--model", "m", "--command", "x {n} {port} {m}"], "no setting for 'm'"),
        (["n=1,2", "--model", "m", "--command", "x {n} {port.a.b}"], "has no {port}"),
        (["n=1,2", "--model", "m", "--command", "x {n} {n.a} {port}"], "no setting for"),
        (["n=1,2", "--model", "m", "--command", "no-such-server {n} {port}"], "no such program"),
        (["slots=1,4", "--canaries", "no-such-set"], "no-such-set"),
        (["n=1,2", "--model", "m", "--url", "n=1@http://localhost:9"], "no address for n=2"),
    ],
)
def test_a_wrong_setting_is_said_before_anything_is_measured(
    tmp_path: Path, options: list[str], text: str
) -> None:
    out = tmp_path / "sweep"
    done = CliRunner().invoke(app, ["sweep", "--out", str(out), "--knob", *options])
    assert isinstance(done.exception, StackchoiceError), done.output
    assert text in str(done.exception)
    assert "baseline" not in done.output
    assert not (out / "sweep.json").exists()


@pytest.mark.parametrize("text", ["slots", "slots=", "slots=1", "=1,2", "a b=1,2", "slots=1,1",
                                  "slots=1,1.0", "slots=1,nan", "slots=inf,1"])  # fmt: skip
def test_a_knob_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="knob"):
        parse_knob(text)


def test_a_knob_reads_numbers_and_switches() -> None:
    assert parse_knob("x=1, 0.5,on,OFF,q8_0").values == (1, 0.5, True, False, "q8_0")
    with pytest.raises(InputError, match="not two different knobs"):
        design([Knob(name="a", values=(1, 2))], [("a", "c")])


def test_effects_are_told_from_the_noise() -> None:
    # Baseline 100 and 104 (noise 4 %): 150 is better, 103 is not told apart.
    sweep = judge(TWO, runs((100, 104), (150, 153), (103, 103), (155, 156)), "output_tokens_per_s")
    assert [a.told for a in sweep.arms] == ["too close", "better", "too close", "better"]
    assert sweep.arms[1].ratio == pytest.approx(151.5 / 102)
    assert sweep.drift == pytest.approx(0.04)
    assert sweep.drifted is False
    (pair,) = sweep.interactions
    assert pair.expected == pytest.approx(151.5 / 102 * 103 / 102)
    assert pair.outcome == "none seen"
    assert sweep.peak is None  # 151.5 and 155.5 are closer than the noise
    assert "too close" in sweep.notes[-1]


def test_an_interaction_is_seen() -> None:
    sweep = judge(TWO, runs((100, 100), (150, 150), (50, 50), (300, 300)), "output_tokens_per_s")
    assert sweep.interactions[0].outcome == "interact"
    assert (sweep.peak, sweep.confirmed) == ("a=2+b=off", None)


@pytest.mark.parametrize(("again", "agrees"), [(298.0, True), (149.0, False)])
def test_a_peak_needs_a_further_run(again: float, agrees: bool) -> None:
    found = runs((100, 100), (150, 150), (50, 50), (300, 300))
    sweep = judge(TWO, found, "output_tokens_per_s", confirming=[measured(again)])
    assert sweep.confirmed is agrees
    assert ("NOT confirmed" in describe(sweep)) is not agrees


def test_a_single_run_tells_nothing_and_less_can_be_better() -> None:
    sweep = judge(TWO, runs((100,), (1,), (5,), (9,)), "output_tokens_per_s")
    assert {a.told for a in sweep.arms[1:]} == {"not known"}
    assert sweep.peak is None
    plan = design([Knob(name="a", values=(1, 2))])
    slow, quick = ([measured(1).model_copy(update={"results": Results(peak_memory_bytes=b)})] * 2
                   for b in (200, 100))  # fmt: skip
    assert judge(plan, {0: slow, 1: quick}, "peak_memory_bytes").arms[1].told == "better"
    with pytest.raises(InputError, match="metric 'speed'"):
        judge(plan, {}, "speed")


def test_an_arm_on_hold_is_never_the_peak() -> None:
    found = runs((100, 100), (150, 150), (50, 50), (90, 90))
    found[1] = [measured(900, hold=("canary",), arm="wrong")] * 2
    sweep = judge(TWO, found, "output_tokens_per_s")
    assert sweep.peak == "baseline"
    assert any("wrong" in note for note in sweep.notes)


def sweep_in(folder: Path, *, ttft: tuple[float, ...] = (0.01, 0.08), said: list | None = None,
             model: str = "m"):  # fmt: skip
    plan = design([Knob(name="ttft", values=ttft)])
    (folder / "one.yaml").write_text(ONE, encoding="utf-8")
    load = TINY.model_copy(update={"canaries": str(folder / "one.yaml")})

    class Counted(CommandEngine):
        def start(self) -> None:
            if said is not None:
                said.append(dict(self.settings))
            super().start()

    def target(settings: dict) -> CommandEngine:
        return Counted(SERVER, model=model, settings=settings)

    return run_sweep(plan, target, load=load, metric="ttft_s", folder=folder, subject="reference",
                     confirm_peak=False)  # fmt: skip


def test_a_command_is_restarted_for_each_run_and_a_sweep_goes_on(tmp_path: Path) -> None:
    started: list[dict] = []
    sweep = sweep_in(tmp_path, said=started)
    assert [s["ttft"] for s in started] == [0.01, 0.08, 0.08, 0.01]
    assert sweep.arms[1].mean > sweep.arms[0].mean
    assert sweep.rows()[1]["ttft"] == 0.08
    (tmp_path / "02-ttft=0.08.passport.json").unlink()
    again: list[dict] = []
    sweep_in(tmp_path, said=again)
    assert again == [{"ttft": 0.08}]
    moved: list[dict] = []
    sweep_in(tmp_path, said=moved, model="n")
    assert len(moved) == 4  # another model: what was measured is of the one before
    assert {p.identity.model for p in map(Passport.load, tmp_path.glob("*.passport.json"))} == {"n"}
    with pytest.raises(PassportError, match="holds another sweep"):
        sweep_in(tmp_path, ttft=(0.01, 0.5))


def test_a_command_says_what_is_wrong_with_it() -> None:
    with pytest.raises(InputError, match=r"has no \{port\}"):
        CommandEngine("serve", model="m")
    with pytest.raises(InputError, match="no setting for 'slots'"):
        CommandEngine("serve {port} {slots}", model="m").line(1)
    for line in ("/no/such/server {port}", "no-such-server {port}"):
        with pytest.raises(InputError, match="no such program"):
            CommandEngine(line, model="m")
    with (
        pytest.raises(EngineError, match="ended while starting"),
        CommandEngine([sys.executable, "-c", "1/0", "{port}"], model="m"),
    ):
        pass


def test_addresses_stand_for_arms() -> None:
    one = Endpoint(base_url="http://localhost:1", model="m")
    target = by_url([({"slots": 1}, one)])
    assert target({"slots": 1}) == one
    with pytest.raises(InputError, match="no address for slots=4"):
        target({"slots": 4})


def test_the_header_is_readable(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(PassportError, match="no header of a sweep"):
        sweep_in(tmp_path)
    (tmp_path / "sweep.json").write_text(json.dumps({}))
    with pytest.raises(PassportError, match="another sweep"):
        sweep_in(tmp_path)
