"""The courseware: what it asks, how it takes an answer, and that every lesson runs and holds."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy
import papermill
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_server import require_engine

from stackchoice.confirm import setup as setup_code
from stackchoice.confirm import setup_engine
from stackchoice.confirm.setup import Pins
from stackchoice.errors import EngineError, InputError
from stackchoice.facts.load import data_dir
from stackchoice.load.plan import Plan
from stackchoice.notebooks import notebooks_dir, notebooks_to_edit, trust_shipped
from stackchoice.workshop import (
    DOWNLOADS,
    arm,
    arms_frame,
    check,
    download,
    environment,
    fault_of,
    my_passport,
    passport_lines,
    questions,
    run,
    wheelhouse,
)
from stackchoice.workshop.arms import BASELINE, CLAIMS, SPARE
from stackchoice.workshop.asked import load_questions
from stackchoice.workshop.check import SOLVERS
from stackchoice.workshop.reading import DIMENSIONS, read_number
from stackchoice.workshop.table import Table
from stackchoice.workshop.trials import recorded, setups, source_of
from stackchoice.workshop.wheelhouse import commands
from stackchoice.workshop.yours import SOLVERS as YOURS

FOLDER = notebooks_dir() / "workshop"
LESSONS = sorted(FOLDER.glob("0*.ipynb"))
SOLUTIONS = sorted((FOLDER / "solutions").glob("*.ipynb"))
ASKED = load_questions()


@pytest.fixture(autouse=True)
def from_records(monkeypatch):
    monkeypatch.setenv("STACKCHOICE_WORKSHOP", "recorded")


# What is asked.


@pytest.mark.parametrize("name", ASKED)
def test_every_question_has_an_answer_that_is_taken(name):
    """The product's own answer is right, and a known mistake is another answer with a hint."""
    question = ASKED[name]
    if name in YOURS:
        return
    if question.right:
        assert check(name, question.right).ok
        return
    expected = SOLVERS[name]()
    right = expected.right[0] if isinstance(expected.right, tuple) else expected.right
    assert check(name, right).ok
    assert set(expected.traps) == set(question.traps)
    for trap, wrong in expected.traps.items():
        taken = check(name, wrong)
        assert taken.ok is False
        assert taken.text == question.traps[trap]
    if question.kind == "choice":
        assert right in question.choices


def test_no_question_is_left_over():
    assert set(ASKED) == set(SOLVERS) | set(YOURS) | {n for n, q in ASKED.items() if q.right}
    assert list(questions()["name"]) == list(ASKED)
    assert set(questions(2)["lesson"]) == {2}


@pytest.mark.parametrize(
    ("name", "by_hand"),
    [
        ("memory.token", 16 * 2 * 4 * 256 * 2),
        ("memory.tokens_8192", 512),
        ("memory.state", 144 + 3.75),
        ("memory.sequence", 659.75),
        ("memory.pool", 23.283),
        ("memory.live", 36),
        ("memory.caching", 34 - 28),
        ("premise.readings", 2),
        ("loop.ceiling", 130),
        ("choice.volume", 491.52),
        ("release.decode", 43),
        ("release.prefill", -0.27),
        ("knobs.gain", 9.4),
        ("knobs.expected", 165.2),
    ],
)
def test_figures_are_those_of_a_hand(name, by_hand):
    assert check(name, by_hand).ok, check(name, by_hand)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("memory.least", "sglang"),
        ("premise.separates", False),
        ("premise.second", "no"),
        ("kernels.first", "fp4xfp4"),
        ("kernels.second", "w4a16"),
        ("kernels.log_file", DOWNLOADS[1]),
        ("choice.engine", " SGLang. "),
        ("choice.recommended", "Managed  endpoint"),
        ("choice.break_even", "never"),
        ("choice.quantise", False),
        ("bench.claim_1", "warm cache"),
        ("bench.claim_2", "unequal outputs"),
        ("bench.claim_3", "client-bound"),
    ],
)
def test_words_are_taken_in_any_case(name, word):
    assert check(name, word).ok, check(name, word)


@pytest.mark.parametrize("name", [n for n, q in ASKED.items() if q.kind == "number"])
def test_a_hint_does_not_hold_the_answer(name):
    if name in YOURS:
        return
    question, right = ASKED[name], float(SOLVERS[name]().right)
    said = f"{question.look} {' '.join(question.traps.values())}"
    words = [w.strip(".,;:()").replace(",", "") for w in said.split()]
    figures = [float(w) for w in words if w.replace(".", "", 1).isdigit()]
    assert all(abs(figure - right) > question.tolerance * abs(right) for figure in figures)


# How an answer is taken.


@pytest.mark.parametrize("nothing", [None, ..., "", "  "])
def test_nothing_is_not_wrong(nothing):
    taken = check("memory.live", nothing)
    assert taken.ok is None
    assert repr(taken).startswith("not answered yet")


@pytest.mark.parametrize(
    "answer", [36, 36.0, "36", " 36 sequences", numpy.int64(36), "36 Sequences"]
)
def test_a_number_may_come_as_any_type(answer):
    assert check("memory.live", answer).ok


@pytest.mark.parametrize("answer", ["0.6443 GiB", "659.75MiB", "691,798,016 B", "691798.016 kB"])
def test_units_are_converted(answer):
    assert check("memory.sequence", answer).ok


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([36], "a list is no number"),
        (True, "a bool is no number"),
        ("many", "'many' is no number"),
        ("36 bananas", "'bananas' is not the unit asked for; give sequences"),
        (float("nan"), "finite"),
        ("1.2.3", "no number"),
        ("23,3", "the decimal sign is a point"),
        ("5.742,76", "the decimal sign is a point"),
        ("1,00,000", "the decimal sign is a point"),
        ("9" * 5000, "no number"),
        ("\x1b[31m36", "no number"),
    ],
)
def test_what_is_no_number_is_said(answer, said):
    taken = check("memory.live", answer)
    assert taken.ok is False
    assert said in taken.text
    assert "\x1b" not in taken.text


@pytest.mark.parametrize(
    ("name", "answer"),
    [("memory.token", 64), ("memory.token", "64 KB"), ("choice.volume", 491_520_000)],
)
def test_right_digits_in_another_unit_are_told_so(name, answer):
    taken = check(name, answer)
    assert taken.ok is False
    assert "the unit is not" in taken.text


def test_a_wrong_choice_lists_the_choices():
    assert "answer one of: yes, no" in check("choice.quantise", "perhaps").text


@pytest.mark.parametrize(
    ("name", "said", "ok"),
    [
        ("kernels.field", "num_bits", "not yet: Lay"),
        ("kernels.log_file", "b", "right: download-b-NVFP4"),
        ("bench.claim_3", "Client bound", "right: client-bound"),
        ("kernels.first", "fp4", "not yet: answer one of"),
        ("bench.six", "and", "not yet: answer one of"),
        ("kernels.first", "?", "not yet: answer one of"),
    ],
)
def test_a_choice_may_be_named_by_words_that_only_it_has(name, said, ok):
    assert repr(check(name, said)).startswith(ok)


def test_a_question_stays_in_sight_when_it_was_answered():
    for answer in (35, "many", 36):
        shown = check("memory.live", answer)._repr_html_()
        assert ASKED["memory.live"].ask in shown


def test_a_wall_of_text_in_a_table_is_folded_and_escaped():
    text = "<b>" + "word " * 60
    shown = Table([{"item": text, "short": "<i>", "none": None}])._repr_html_()
    assert shown.count("<details>") == 1
    assert "<b>" not in shown
    assert "<i>" not in shown
    assert shown.count("word ") == 12 + 60 + 1


def test_tokens_are_whole_numbers_also_beside_a_request_that_failed():
    frame = run("four users four slots", "long prompt four slots").to_frame()
    assert frame["prompt tokens"].isna().any()
    assert "59.0" not in frame._repr_html_()


@given(st.floats(1e-3, 1e9), st.sampled_from(sorted(DIMENSIONS[0])))
def test_a_unit_changes_the_figure_and_not_the_amount(value, unit):
    in_bytes = read_number(f"{value!r} {unit}", "B")
    assert in_bytes == pytest.approx(value * DIMENSIONS[0][unit])
    assert read_number(in_bytes, "B") == in_bytes


def test_unknown_names_are_errors_that_list_what_there_is():
    with pytest.raises(InputError, match=r"memory\.live"):
        check("memory.lives", 36)
    with pytest.raises(InputError, match=r"loop\.job"):
        check("no such thing", 36)
    for broken in (lambda: run("nothing"), lambda: arm("nothing"), lambda: download("../etc")):
        with pytest.raises(InputError, match="one of"):
            broken()
    with pytest.raises(InputError, match="auto, engine, recorded"):
        source_of("nowhere")


def test_what_is_given_may_be_missing_or_of_another_kind():
    assert check("mine.valid", "yes").ok is None
    assert check("mine.valid", "yes", given=3).ok is False
    assert "no trial" in check("loop.long_prompt", "prefill", given={}).text


def test_an_answer_is_escaped_where_it_is_shown():
    shown = check("memory.live", "<script>alert(1)</script>")._repr_html_()
    assert "<script>" not in shown
    assert 'role="status"' in shown


# What was recorded.


def test_every_trial_was_recorded_as_it_is_defined():
    """A changed trial is recorded again: python -m stackchoice.workshop.record DAY."""
    found = recorded(*setups())
    assert {name: trial.setup for name, trial in found.items()} == dict(setups())
    assert found.origin.startswith("measured on 20")


def test_recorded_trials_show_what_the_lessons_say():
    found = run(*setups())
    assert check("loop.long_prompt", "prefill", given=found).ok
    assert check("loop.long_answer", "decode", given=found).ok
    assert check("fault.slots", "time to first token", given=found).ok
    assert check("fault.context", 2048 // 4, given=found).ok
    configured = check("fault.context", 2048, given=found)
    assert configured.text == ASKED["fault.context"].traps["configured"]
    assert check("fault.canary", "q4_1", given=found).ok
    assert check("knobs.both", "more", given=found).ok
    cold, *warm = found["cold then warm"].samples
    assert all(w.cached_tokens > 0.9 * w.prompt_tokens for w in warm)
    assert all(w.ttft_s < cold.ttft_s / 10 for w in warm)
    assert found["long prompt four slots"].samples[0].failure == "context_rejected"


def test_the_arms_differ_in_the_one_thing():
    baseline = arm(BASELINE)
    assert baseline.validity.valid
    assert fault_of(baseline, baseline) == "none"
    assert fault_of(arm(SPARE), baseline) == "none"
    assert sorted(fault_of(arm(c), baseline) for c in CLAIMS) == [
        "client-bound", "unequal outputs", "warm cache",
    ]  # fmt: skip
    assert {arm(name).identity.artifact_revision for name in (BASELINE, *CLAIMS)} == {
        baseline.identity.artifact_revision
    }
    table = arms_frame(BASELINE, CLAIMS[0], differing=True)
    assert "prefix cache state" in set(table["item"])
    assert len(table) < len(arms_frame(BASELINE, CLAIMS[0]))


def test_the_same_prompt_is_sent_where_a_plan_says_so():
    same, own = Plan(prompts="same"), Plan()
    assert same.body("a", "1") == same.body("b", "2")
    assert own.body("a", "1") != own.body("b", "2")


def test_a_passport_of_ones_own_is_there_without_an_engine():
    passport = my_passport()
    assert check("mine.valid", passport.validity.valid, given=passport).ok
    assert check("mine.cache", "cold", given=passport).ok
    assert check("mine.unknown", "wall power w", given=passport).ok
    assert check("mine.unknown", "model", given=passport).ok is False
    assert passport.label in passport_lines(passport)[0]


def test_the_recommendation_of_ones_own_case_is_the_decisions(decision):
    assert check("mine.recommended", decision.recommended, given=decision).ok
    assert check("mine.recommended", "SGLang", given=decision).text.startswith("That is the best")


def test_the_faults_are_real_on_the_real_engine(monkeypatch):
    """Context that is not realised, a canary that breaks, a cold run that was warm."""
    require_engine()
    found = run("long prompt four slots", "capital f16", "capital q4_1", "cold then warm",
                source="engine")  # fmt: skip
    assert found.origin == "measured here, just now"
    assert check("fault.context", 512, given=found).ok
    assert check("fault.canary", "q4_1", given=found).ok
    last = found["cold then warm"].samples[-1]
    assert check("fault.warm", last.cached_tokens, given=found).ok
    assert last.cached_tokens > 0.9 * last.prompt_tokens


def test_without_the_engine_recorded_runs_are_shown(monkeypatch):
    monkeypatch.setattr(setup_code, "installed", lambda package: None)
    assert source_of("auto") == "recorded"


def test_the_environment_says_ok_or_how_to_mend_it():
    table = environment()
    assert set(table["state"]) <= {"OK", "FAIL", "not here"}
    assert all(row.fix for row in table.itertuples() if row.state != "OK")
    assert {"Python", "fact base", "embedded engine"} <= set(table["item"])


# The notebooks.


def read(path):
    return nbformat.read(path, as_version=4)


def exercises(notebook):
    return [c for c in notebook.cells if "exercise" in c.metadata.get("tags", [])]


def test_a_solution_is_its_lesson_with_the_exercises_filled_in():
    asked = [path for path in LESSONS if exercises(read(path))]
    assert [p.name for p in asked] == [p.name for p in SOLUTIONS]
    for lesson, solution in zip(asked, SOLUTIONS, strict=True):
        pairs = list(zip(read(lesson).cells, read(solution).cells, strict=True))
        for blank, solved in pairs[1:]:
            assert blank.id == solved.id
            if "exercise" in blank.metadata.get("tags", []):
                assert "nbval-check-output" in solved.metadata["tags"]
                assert blank.source.splitlines()[0].endswith("= None")
                assert blank.source.splitlines()[1:] == solved.source.splitlines()[1:]
            else:
                assert blank.source == solved.source


def test_every_question_is_asked_in_its_lesson():
    for path in LESSONS:
        sources = "\n".join(c.source for c in exercises(read(path)))
        number = int(path.name[:2])
        for name, question in ASKED.items():
            assert (f'check("{name}"' in sources) == (question.lesson == number), (path.name, name)


def test_stored_solutions_are_right():
    for path in SOLUTIONS:
        for cell in exercises(read(path)):
            assert cell.outputs[0].data["text/plain"].startswith("right: "), cell.source


@pytest.mark.parametrize("path", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_runs_with_nothing_filled_in(path, tmp_path):
    notebook = papermill.execute_notebook(
        path, tmp_path / path.name, kernel_name="python3", progress_bar=False, cwd=tmp_path,
        extra_arguments=["--log-level=ERROR"],
    )  # fmt: skip
    said = [c.outputs[0].data["text/plain"] for c in exercises(notebook)]
    assert all(text.startswith("not answered yet: ") for text in said)


def test_solutions_still_give_what_they_stored(tmp_path):
    """The outputs of checked cells are compared by nbval, in a process of its own."""
    for path in SOLUTIONS:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--nbval-lax", "--rootdir", str(tmp_path),
         "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


# Thirty people, no internet.


def test_a_copy_to_edit_holds_lessons_solutions_and_the_instructors_notes(tmp_path):
    copied = notebooks_to_edit(tmp_path / "mine") / "workshop"
    names = {str(p.relative_to(copied)) for p in copied.rglob("*") if p.is_file()}
    assert {"01_the_loop.ipynb", "solutions/01_the_loop.ipynb", "instructor.md"} <= names
    assert {"glossary.ipynb", "00_environment.ipynb"} <= names


def test_another_jupyterlab_that_is_signing_stops_nobody(tmp_path):
    signs = tmp_path / "signs"
    trust_shipped(notebooks_dir(), str(signs))
    with sqlite3.connect(signs / "nbsignatures.db") as another:
        signed = another.execute("SELECT count(*) FROM nbsignatures").fetchone()
        assert signed == (len(list((notebooks_dir() / "workshop/solutions").glob("*.ipynb"))),)
        another.execute("BEGIN IMMEDIATE")
        trust_shipped(notebooks_dir(), str(signs))
    another.close()


def test_the_wheelhouse_holds_the_package_and_the_pinned_engine(tmp_path):
    whole, engine = commands(data_dir().parent, tmp_path)
    assert whole[-1].endswith("[notebooks]")
    assert "--no-deps" in engine
    assert engine[-2:] == [f"{n}=={v}" for n, v in Pins.read().packages.items()]
    with pytest.raises(EngineError, match="no checkout"):
        commands(tmp_path, tmp_path)


def test_a_wheelhouse_that_fails_half_way_gets_no_wheel(tmp_path, monkeypatch, capfd):
    """pip writes wheels in place, so it writes elsewhere, and they come whole at the end."""
    steps = ["import sys; open(sys.argv[1] + '/a.whl', 'w').write('a')", "raise SystemExit(1)"]

    def pip(root, folder):
        return [[sys.executable, "-c", step, str(folder)] for step in steps]

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(wheelhouse, "commands", pip)
    monkeypatch.setattr(sys, "argv", ["wheelhouse", str(tmp_path / "w")])
    with pytest.raises(SystemExit, match="pip failed"):
        wheelhouse.main()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(wheelhouse.subprocess, "run", stopped)
    with pytest.raises(SystemExit, match="stopped before the end"):
        wheelhouse.main()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    monkeypatch.setattr(wheelhouse, "commands", pip)
    monkeypatch.setattr(sys, "argv", ["wheelhouse", str(tmp_path / "w")])
    steps.pop()
    wheelhouse.main()
    assert {p.name: p.read_text() for p in (tmp_path / "w").iterdir()} == {"a.whl": "a"}
    assert "1 wheels" in capfd.readouterr().out


def test_the_engine_installs_from_a_folder_and_never_asks_the_index(tmp_path, monkeypatch):
    asked = []

    def pip(command, **_):
        asked.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(setup_code, "installed", lambda package: None)
    monkeypatch.setattr(setup_code.subprocess, "run", pip)
    with pytest.raises(EngineError, match="no folder of wheels"):
        setup_engine(tmp_path)
    (tmp_path / "other-1-py3-none-any.whl").touch()
    setup_engine(tmp_path)
    assert "--no-index" in asked[0]
    assert str(tmp_path) in asked[0]
    with pytest.raises(EngineError, match="no folder"):
        setup_engine(tmp_path / "nothing")


def test_instructor_notes_time_every_lesson():
    text = (FOLDER / "instructor.md").read_text(encoding="utf-8")
    for path in LESSONS:
        assert path.stem in text, path.stem
