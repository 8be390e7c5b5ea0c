"""The report: complete, escaped, self-contained, and never half written."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import date
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pypdf
import pytest

from stackchoice import decide, load_scenario, save_scenario
from stackchoice.choose import Decision
from stackchoice.confirm import Passport, PassportError, Plan
from stackchoice.confirm.canary import CanaryOutcome
from stackchoice.confirm.identity import Identity
from stackchoice.confirm.passport import Protocol, Validity
from stackchoice.confirm.results import DISCARD_RULES, RULES_SHA256, Results, Spread
from stackchoice.errors import ReportError, ScenarioError
from stackchoice.facts import Evidence, data_dir
from stackchoice.facts.interval import Interval
from stackchoice.notebooks import notebooks_dir
from stackchoice.present import render
from stackchoice.present.page import SECTION_MIME
from stackchoice.present.render import render_report
from stackchoice.present.report import SECTIONS, Report, prepare
from stackchoice.present.text import CLASSES, headline, usd

HOSTILE = "<script>alert(1)</script></style><img src=http://evil.example/x>"
#: Colour, a link and a change of direction, in a terminal or an editor.
MARKS = "\x1b[31m\x1b]8;;http://evil.example\x07\u202e\u2066\x9b2J"
SHIPPED = sorted(path.stem for path in (data_dir() / "scenarios").glob("*.yaml"))
VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """What a test wants to know of a page."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.headings, self.sections, self.loads, self.open = [], [], [], [], []
        self.figures, self.lang, self.words = [], "", {}
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("h1", "h2", "h3"):
            self.headings.append(int(tag[1]))
        if tag == "html":
            self.lang = found["lang"]
        if tag == "section":
            self.sections.append(found["id"])
        if tag == "figure":
            assert found["role"] == "img"
            assert found["aria-label"]
            self.figures.append(found["aria-label"])
        if tag == "th":
            assert found["scope"] in ("row", "col")
        if tag != "a":
            self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href", "data")]

    def handle_endtag(self, tag):
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        section = self.sections[-1] if self.sections else "head"
        self.words[section] = self.words.get(section, "") + data


def written(scenario, folder, *ends, passport=None):
    """Render a report and return its files by format."""
    files = {end: folder / f"report.{end}" for end in ends or ("html", "json", "md")}
    render_report(scenario, list(files.values()), passport=passport)
    return files


@cache
def sheets(pdf):
    """Return the text of each page of a printed report."""
    return [page.extract_text() for page in pypdf.PdfReader(pdf).pages]


@pytest.fixture(scope="module")
def report():
    return prepare("json-chat")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    return written("json-chat", tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Return the files of every format, the scenario from a saved file."""
    pytest.importorskip("weasyprint", exc_type=OSError)
    folder = tmp_path_factory.mktemp("printed")
    case = save_scenario(load_scenario("json-chat"), folder / "case.yaml")
    return written(case, folder, "html", "json", "md", "pdf")


@pytest.fixture
def passport(facts):
    """A run with figures chosen for the test; HOSTILE wherever a server has a say."""
    return Passport(
        arm="arm-a",
        identity=Identity(model="SmolLM2", artifact=HOSTILE, runtime="llama.cpp"),
        protocol=Protocol(
            plan=Plan(), prompt_version="1", harness="stackchoice", harness_revision="1",
            scorer_revision="1", sampling="greedy", reasoning_policy="off",
            output_budget_tokens=64, input_tokens="128 words", output_tokens="64",
            concurrency=1, arrival_pattern="one after the other", prefix_cache_state="cold",
            warm_up="1 request", repetitions=5, seed=1, usage_requested=True,
        ),
        validity=Validity(
            valid=True, discard_rules=DISCARD_RULES, discard_rules_sha256=RULES_SHA256,
            canaries_before=(CanaryOutcome(id="sum", result="passed", text=HOSTILE),),
            canaries_after=(CanaryOutcome(id="sum", result="failed", reason=HOSTILE),),
        ),
        results=Results(
            requests=5, usable=5,
            decode_tokens_per_s=Spread.of([20.0, 25.0, 30.0, 26.0, 24.0]),
        ),
        prediction=Interval(
            low=22, middle=33, high=44, unit="tokens/s", evidence=Evidence.COMPUTED
        ),
        verdicts={"decode_tokens_per_s": "confirmed"},
    )  # fmt: skip


def test_report_holds_every_section_in_order(rendered):
    page = Page(rendered["html"].read_text(encoding="utf-8"))
    assert list(SECTIONS) == page.sections
    assert all(page.words[name].strip() for name in SECTIONS)


def test_json_is_the_decision_itself(rendered, decision):
    assert decision.model_dump_json(indent=2) + "\n" == rendered["json"].read_text("utf-8")


@pytest.mark.parametrize("end", ["html", "json", "md"])
def test_the_committed_samples_are_what_the_present_code_renders(rendered, end):
    """Dates apart; ``make sample`` renders them anew."""
    sample = Path(__file__).parents[1] / "reports" / f"sample.{end}"
    days = re.compile(r"\b20\d\d-\d\d-\d\d\b")
    committed, now = (days.sub("DAY", p.read_text("utf-8")) for p in (sample, rendered[end]))
    assert committed == now, "run make sample"


def test_page_is_one_offline_file_without_code_or_widgets(rendered):
    html = rendered["html"].read_text(encoding="utf-8")
    page = Page(html)
    assert page.loads == []
    assert not {"script", "link", "iframe", "object", "img", "base", "form"} & set(page.tags)
    traces = ("VBox(", "url(", "@import", "In&nbsp;[", "report.section", 'class="jupyter-widgets')
    assert not [trace for trace in traces if trace in html]


def test_page_is_accessible(rendered):
    page = Page(rendered["html"].read_text(encoding="utf-8"))
    assert page.lang == "en"
    assert page.headings.count(1) == 1
    assert page.headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(page.headings))
    assert page.tags.count("table") == page.tags.count("caption")
    assert page.open == []


@pytest.mark.parametrize("name", SHIPPED)
def test_every_section_of_every_shipped_scenario_renders(name):
    report = prepare(name)
    for section in SECTIONS:
        page = Page(report.section(section).html)
        assert page.sections == [section]
        assert page.open == []


def test_first_section_holds_the_decision(report):
    html = report.section("decision").html
    decision = report.decision
    for text in (
        decision.title, decision.recommended, decision.best_self_hosted_configuration,
        *(f"{line.total_usd:,.0f} USD" for line in decision.cost.lines),
        "never", decision.facts_sha256[:12], decision.version,
        *decision.remarks, *decision.conditions,
    ):  # fmt: skip
        assert text in html


def test_classes_stand_apart_and_nothing_measured_is_said(report):
    html = report.section("evidence").html
    places = [html.index(f"<h3>{name.capitalize()}") for name in CLASSES]
    assert sorted(places) == places
    assert "Nothing was measured." in html


def test_every_option_stands_before_all_configurations(report):
    listed, folded = report.section("options").html.split("<details>")
    assert all(option.name in listed for option in report.decision.options)
    assert all(c.title in folded for c in report.decision.candidates)


def test_quality_claims_nothing(report):
    assert "a passed canary is not quality" in report.section("quality").html


def test_a_scenario_without_answer_says_so(facts, changed):
    scenario = changed("json-chat", constraints__data_may_leave=False,
                       candidates__machines=[{"id": "l4"}])  # fmt: skip
    decision = decide(scenario, facts)
    report = Report(scenario=scenario, facts=facts, decision=decision, today=date(2026, 11, 29))
    assert decision.recommended is None
    assert "no recommendation" in report.section("decision").html
    assert '"card-value">none<' in report.section("decision").html


def test_hostile_text_is_escaped_everywhere(tmp_path, changed, passport):
    scenario = changed(
        "json-chat", title=HOSTILE, situation=HOSTILE + MARKS, team__upgrades=HOSTILE,
        workload__users={"value": 200, "from": HOSTILE, "answered_by": HOSTILE + MARKS},
        current={"what": HOSTILE}, candidates__stated_budget__from=HOSTILE,
    )  # fmt: skip
    path = save_scenario(scenario, tmp_path / "hostile.yaml")
    passport.save(tmp_path / "passport.json")
    files = written(path, tmp_path, passport=tmp_path / "passport.json")
    html = files["html"].read_text(encoding="utf-8")
    page = Page(html)
    assert "<script" not in html
    assert "<img" not in html
    assert page.tags.count("style") == html.count("</style>") == 1
    assert page.loads == []
    assert HOSTILE in page.words["decision"]
    for text in (html, files["md"].read_text(encoding="utf-8")):
        assert all(c.isprintable() or c == "\n" for c in text)


def test_live_run_shows_verdict_interval_measurement_and_canaries(tmp_path, passport):
    passport.save(tmp_path / "held.json")
    held = prepare("json-chat", passport=tmp_path / "held.json").section("live").html
    assert "no verdict: the run is HOLD" in held  # a canary failed after the load
    assert "failed" in held
    fine = passport.validity.model_copy(update={"canaries_after": ()})
    passport.model_copy(update={"validity": fine}).save(tmp_path / "passport.json")
    report = prepare("json-chat", passport=tmp_path / "passport.json")
    words = Page(report.section("live").html).words["live"]
    for text in ("VALID", "confirmed", "22 to 44 tokens/s", "median 25, 20 to 30, 5 samples",
                 "passed", "n too small (5 of 662)"):  # fmt: skip
        assert text in words
    assert "Nothing was measured." not in report.section("evidence").html
    assert "measured [measured]" in report.section("speed").html


def test_an_invalid_run_gives_no_verdict(tmp_path, passport):
    reasons = {"valid": False, "reasons": ("canary sum failed",)}
    spoiled = passport.validity.model_copy(update=reasons)
    passport.model_copy(update={"validity": spoiled}).save(tmp_path / "passport.json")
    report = prepare("json-chat", passport=tmp_path / "passport.json")
    assert "not judged, the run is INVALID" in report.section("decision").html
    html = report.section("live").html
    assert "INVALID" in html
    assert "no verdict: the run is INVALID" in html
    assert "confirmed" not in html


def test_arms_are_compared_fairness_first_and_escaped(tmp_path, passport):
    shown = [data_dir() / "passports" / f"gh200-0.{v}-draft2.passport.json"
             for v in ("19.1", "26.0")]  # fmt: skip
    html = prepare("json-chat", passport=shown[0], arms=shown[1:]).section("arms").html
    assert html.index("The same?") < html.index("Figures side by side")
    assert "decode rose and prefill did not move" in html
    assert "the source says it was held fixed" in html
    assert html.count("Passport: gh200") == 2
    bad = passport.model_copy(update={"arm": HOSTILE + "\u202e\x1b"})
    bad.save(tmp_path / "a.json")
    bad.model_copy(update={"notes": (HOSTILE,)}).save(tmp_path / "b.json")
    report = prepare("json-chat", passport=tmp_path / "a.json", arms=[tmp_path / "b.json"])
    html = report.section("arms").html
    assert "<img" not in html
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "HOLD" in html
    assert "No passport was given" in prepare("json-chat").section("arms").html


def test_pdf_reads_like_the_page_to_those_who_hear_it(printed):
    """Language, title, every heading, each picture's text, and headers of every table cell."""
    page, pdf = Page(printed["html"].read_text("utf-8")), pypdf.PdfReader(printed["pdf"])
    root = pdf.trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"]
    assert root["/Lang"] == page.lang
    assert pdf.metadata.title == load_scenario("json-chat").title
    elements = list(structure(root["/StructTreeRoot"]))
    kinds = Counter(element["/S"] for element in elements)
    assert [kinds[f"/H{level}"] for level in (1, 2, 3)] == [
        page.headings.count(level) for level in (1, 2, 3)
    ]
    assert [e["/Alt"] for e in elements if e["/S"] == "/Figure"] == page.figures
    known = {e["/ID"] for e in elements if e["/S"] == "/TH"}
    cells = [e["/A"] for e in elements if e["/S"] == "/TD"]
    assert cells
    assert all(set(cell["/Headers"]) <= known for cell in cells)
    assert all(cell["/Headers"] for cell in cells)
    words = [" ".join(sheet.split()) for sheet in sheets(printed["pdf"])]
    assert all(f"{number} / {len(words)}" in text for number, text in enumerate(words, 1))
    assert load_scenario("json-chat").title in words[0]
    assert all(any(name in text for text in words) for name in list(SECTIONS.values())[1:])


FALLEN = {
    "candidates__machines": [{"id": "l4"}], "candidates__stated_budget": None,
    "candidates__sellers": [], "constraints__data_may_leave": False,
}  # fmt: skip


def test_the_four_formats_say_the_same(printed):
    say_the_same(printed)


def test_the_four_formats_say_the_same_where_nothing_survives(tmp_path, changed):
    pytest.importorskip("weasyprint", exc_type=OSError)
    scenario = save_scenario(changed("json-chat", **FALLEN), tmp_path / "case.yaml")
    say_the_same(written(scenario, tmp_path, "html", "json", "md", "pdf"))


def say_the_same(files):
    """Headline, verdict, options with reasons, conditions, costs and risks: of the JSON, in all."""
    told = Decision.model_validate_json(files["json"].read_bytes())
    foot = rf"{re.escape(told.title)}\s*\d+ / \d+\s*$"
    texts = {
        "html": "".join(Page(files["html"].read_text("utf-8")).words.values()),
        "pdf": "".join(re.sub(foot, "", sheet) for sheet in sheets(files["pdf"])),
        "md": re.sub(r"\\(.)", r"\1", files["md"].read_text("utf-8")),
    }
    same = [headline(told), told.verdict, *told.remarks, *told.conditions]
    same += [usd(line.total_usd) for line in told.cost.lines]
    same += [row.without for row in told.cost.redundancy] + [way.what for way in told.cost.exits]
    same += [row.answer for row in told.board]
    for end, found in texts.items():
        text = "".join(found.split())
        options = [
            f"###{o.name}-{o.status}{',' if o.question else ''}{o.question}:{o.reason}"
            if end == "md" else f"{o.name}{o.status}{o.question}{o.reason}"
            for o in told.options
        ]  # fmt: skip
        assert [one for one in [*same, *options] if "".join(one.split()) not in text] == [], end


def test_failures_leave_nothing_behind(tmp_path, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(ScenarioError, match="no such scenario"):
        written("nowhere", out)
    with pytest.raises(PassportError, match="cannot be read"):
        written("json-chat", out, passport=tmp_path / "none.json")
    monkeypatch.setattr(render, "_page", _fail)
    with pytest.raises(ReportError, match="page failed"):
        written("json-chat", out)
    assert list(out.iterdir()) == []


def test_an_error_inside_the_notebook_is_named(tmp_path, changed):
    scenario = changed("json-chat", model__id="nobody/nothing")
    path = save_scenario(scenario, tmp_path / "wrong.yaml")
    with pytest.raises(ReportError, match=r"ScenarioError.*nobody/nothing"):
        render.execute(
            notebooks_dir() / "report.ipynb", {"scenario": str(path)}, tmp_path / "x.ipynb"
        )
    with pytest.raises(ScenarioError, match="nobody/nothing"):  # said before anything runs
        written(path, tmp_path / "out")
    assert not list((tmp_path / "out").glob("*"))


def test_a_parameter_the_notebook_lacks_is_an_error(tmp_path):
    with pytest.raises(ReportError, match="has no parameter pasport"):
        render.execute(notebooks_dir() / "report.ipynb", {"pasport": ""}, tmp_path / "x.ipynb")


def test_a_missing_pdf_library_is_a_reason(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(ReportError, match="leave PDF out"):
        written("json-chat", tmp_path / "out", "pdf")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made_is_a_reason(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ReportError, match="cannot be written"):
        written("json-chat", tmp_path / "file")


def test_a_killed_report_leaves_nothing_where_reports_go(tmp_path):
    out, work = tmp_path / "out", tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-m", "stackchoice.cli", "report", "json-chat", "-o", str(out)]
    env = {**os.environ, "TMPDIR": str(work)}
    with subprocess.Popen(command, env=env, start_new_session=True) as running:
        end = time.monotonic() + 120
        while time.monotonic() < end and not list(work.glob("stackchoice-report-*")):
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGKILL)
    assert list(work.glob("stackchoice-report-*"))  # it was at work
    assert list(out.iterdir()) == []


def test_an_unknown_section_is_an_error(report):
    with pytest.raises(ReportError, match="no section 'sumary'"):
        report.section("sumary")


def test_a_section_shows_itself_and_says_that_it_is_one(report):
    bundle = report.section("fixed")._repr_mimebundle_()
    assert bundle[SECTION_MIME] == "fixed"


def structure(element):
    """Yield the elements of a PDF's structure tree in reading order."""
    element = element.get_object()
    if "/S" in element:
        yield element
    kids = element.get("/K", [])
    for kid in kids if isinstance(kids, list) else [kids]:
        if isinstance(kid.get_object(), dict):
            yield from structure(kid)


def _fail(*_):
    raise ReportError("page failed")
