"""Notebooks and reports as people open them: in a real browser, by label and key, offline.

The answer that a page shows is held against the one that the library gives for the same input.
"""

import json
import os
import re
from pathlib import Path

import lab as jupyter
import pytest
from axe_playwright_python.sync_playwright import Axe
from test_own_model import DENSE

from stackchoice import decide, load_scenario
from stackchoice.confirm import Passport
from stackchoice.facts import data_dir
from stackchoice.fit import size
from stackchoice.present.render import render_report
from stackchoice.present.traffic_panel import with_workload
from stackchoice.scenario.preset import preset_inputs
from stackchoice.why import explain
from stackchoice.workshop.worked import SOLVERS

pytestmark = [
    pytest.mark.skipif(
        jupyter.CHROMIUM is None and os.environ.get("CI") != "true",
        reason="Debian's chromium is not installed",
    ),
    pytest.mark.timeout(600),
]

#: Notes at every frame what the memory budgets are said to be and what is drawn of them.
FRAMES = """panel => {
  window.frames_seen = [];
  const look = () => {
    const figure = panel.querySelector('figure[aria-label^="Memory budgets"]');
    const drawn = figure ? [...figure.querySelectorAll('text')].map(one => one.textContent) : [];
    window.frames_seen.push([figure?.getAttribute('aria-label') ?? '', drawn.join(' | ')]);
    requestAnimationFrame(look);
  };
  look();
}"""
#: What axe finds of these weights bars somebody from the page.
BARS = {"serious", "critical"}
OUTPUTS = ".jp-OutputArea-output"
GH200 = [data_dir() / "passports" / f"gh200-0.{v}-draft2.passport.json" for v in ("19.1", "26.0")]
#: One report of each kind: managed, self-hosted, with measured arms.
REPORTS = {
    "json-chat": {},
    "apple-one-user": {},
    "reference-run": {"passport": GH200[0], "arms": GH200[1:]},
}


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium; in CI its absence is a failure."""
    assert jupyter.CHROMIUM, "CI=true and no chromium on the path"
    with jupyter.chromium() as found:
        yield found


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with jupyter.jupyterlab(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture
def notebook(browser, lab, request):
    """The notebook that the test names, run from top to bottom; complaints fail the test."""
    for kept in (*lab.root.glob("my-*.*"), *lab.root.glob("my-facts/models/*")):
        kept.unlink()
    with lab.open(browser, request.param) as opened:
        assert opened.run_all() == []
        yield opened
        assert opened.trouble == []
        assert opened.left == []


def opens(name):
    return pytest.mark.parametrize("notebook", [name], indirect=True, ids=[Path(name).stem])


def barred(page, scope=None):
    """Return what axe finds that bars readers, each with the first element it is about."""
    found = Axe().run(page, scope, {"resultTypes": ["violations"]}).response["violations"]
    return [
        (fault["id"], len(fault["nodes"]), fault["nodes"][0]["html"][:200])
        for fault in found if fault["impact"] in BARS
    ]  # fmt: skip


def again(notebook):
    """Give the notebook a new kernel and run it from top to bottom."""
    notebook.restart()
    assert notebook.run_all() == []


@opens("00_start.ipynb")
def test_start_follows_its_form_and_keeps_it(notebook, changed, facts):
    page = notebook.page
    assert barred(page, OUTPUTS) == []
    panel = notebook.panel("Data may leave")
    panel.get_by_label("Data may leave", exact=True).select_option("no")
    verdict = decide(changed("json-chat", constraints__data_may_leave=False), facts).verdict
    panel.locator(".verdict", has_text=verdict).wait_for()
    notebook.type("Users", "200 people")
    refusal = panel.get_by_role("alert")
    refusal.wait_for()
    assert re.search(r"users: '200 people'", refusal.inner_text())
    assert verdict in panel.locator(".verdict").inner_text()
    again(notebook)
    panel.locator(".verdict", has_text=verdict).wait_for()
    assert panel.get_by_label("Data may leave", exact=True).input_value() == "no"
    notebook.dark()
    assert barred(page, OUTPUTS) == []


@opens("00_start.ipynb")
def test_a_why_is_worked_out_as_it_is_unfolded_and_follows_the_answer(notebook, changed, facts):
    condition = "data may leave: if no, the answer becomes SGLang"
    panel = notebook.panel("Data may leave")
    turning = panel.locator("li", has_text=condition)
    turning.locator("summary").press("Enter")
    panel.get_by_role("button", name="More inputs").press("Enter")
    dearer = changed("json-chat", money__usd_per_engineer_month=30000)
    for scenario in (load_scenario("json-chat"), dearer):
        told = explain(scenario, facts)[f"flip:{condition}"].facts[0]
        turning.get_by_text(f"{told.name}: {told.value} {told.unit}").wait_for()
        notebook.type("Engineer (USD a month)", "30000")
    assert barred(notebook.page, OUTPUTS) == []


@opens("00_start.ipynb")
def test_a_first_visit_ends_in_a_report_field_by_field(notebook, lab, facts):
    """Llama-3.3-70B in FP8 on 2 x H100 for 80 users, no images, prefix share not known."""
    panel, keys = notebook.panel("Model"), notebook.page.keyboard
    wanted = {
        "Model": "Llama-3.3-70B-Instruct", "Weights": "FP8: nvidia/Llama-3.3-70B-Instruct-FP8",
        "Machine (first candidate)": "H100 SXM 80GB", "Machines or devices there": "2",
        "Users": "80", "Images in the input": "no", "Shared prefix (tokens)": "not known",
        "Data may leave": "not known", "Machine is paid for": "no", "Can fund (devices)": "2",
    }  # fmt: skip
    panel.get_by_label("Model", exact=True).focus()
    for label, text in wanted.items():
        field = panel.get_by_label(label, exact=True)
        assert field.evaluate("field => field === document.activeElement"), label
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(text)
        else:
            keys.press("Control+a")
            keys.type(text)
        keys.press("Tab")
        notebook.settle()  # another model brings other weights to choose from
    fields = re.findall(r"- (?:textbox|combobox|spinbutton|button)(.*)", panel.aria_snapshot())
    assert fields
    assert all(name.startswith(' "') for name in fields)
    panel.get_by_role("button", name="Write report").press("Enter")
    link = panel.get_by_role("link", name="reports/my-json-chat.html")
    link.wait_for()
    report = (lab.root / "reports" / "my-json-chat.html").read_text("utf-8")
    told = load_scenario(lab.root / "my-json-chat.yaml")
    assert told.title == "Llama-3.3-70B-Instruct on 2 x H100 SXM 80GB for 80 users"
    assert told.title in report
    assert told.model.artifacts == ["nvidia/Llama-3.3-70B-Instruct-FP8"]
    assert (told.workload.users.value, told.workload.images.value) == (80, False)
    assert not told.workload.shared_prefix_tokens.known
    assert told.money.can_fund_devices.value == 2  # brought beside what it contradicted
    assert decide(told, facts).verdict.split(":")[0] in report


@opens("00_start.ipynb")
def test_a_config_that_nobody_knows_is_decided_on_and_stays(notebook, lab):
    config = lab.root / "ours" / "config.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps(DENSE), "utf-8")
    dropped = notebook.panel("File or folder (path)")
    notebook.type("File or folder (path)", str(config))
    dropped.get_by_text("LlamaForCausalLM").wait_for()
    dropped.get_by_role("button", name="Use this model").press("Enter")
    dropped.get_by_text("ours is chosen in the form above").wait_for()
    for _ in range(2):
        model = notebook.panel("Model").get_by_label("Model", exact=True)
        assert model.evaluate("field => field.selectedOptions[0].textContent.trim()") == "ours"
        again(notebook)


@opens("01_hardware_fit.ipynb")
def test_hardware_fit_sizes_what_is_typed(notebook, facts):
    assert barred(notebook.page, OUTPUTS) == []
    model = facts.models["Qwen/Qwen3.8-27B"]
    sized = size(model, model.artifacts[0], facts.machines["h100_sxm"], facts, devices=2,
                 context_tokens=8192, engines=["vllm"])  # fmt: skip
    live = f"live sequences {sized.rows[-1].live_sequences:,} "
    panel = notebook.panel("Devices")
    notebook.type("Devices", "2")
    panel.locator(f'figure[aria-label*="{live}"]').wait_for()


@opens("01_hardware_fit.ipynb")
def test_no_frame_shows_words_of_one_answer_beside_a_picture_of_another(notebook):
    """Two devices build another table of admissions, so that some pictures are drawn anew."""
    panel = notebook.panel("Devices")
    panel.locator("figure svg").first.wait_for()
    numbers = panel.locator("details.numbers").first
    numbers.evaluate("element => { element.open = true; }")
    panel.evaluate(FRAMES)
    fields = [panel.get_by_label(name, exact=True) for name in ("Context (tokens)", "Devices")]
    for context, devices in (("4096", "2"), ("16384", "1"), ("2048", "4"), ("32768", "2")):
        for field, text in zip(fields, (context, devices), strict=True):
            field.fill(text)
            field.press("Enter")
    panel.get_by_text("32,768 tokens of context").wait_for()
    panel.locator('figure[aria-label*="of 32,768 tokens"]').first.wait_for()
    notebook.settle()
    panel.locator("figure svg").first.wait_for()
    seen = notebook.page.evaluate("() => window.frames_seen")
    count = r"([\d,]+(?: to [\d,]+)?)"
    told = [(re.findall(f"live sequences {count}", words),
             re.findall(f"{count} live sequences", drawn)) for words, drawn in seen]  # fmt: skip
    assert all(words == drawn for words, drawn in told)
    assert len({tuple(words) for words, _ in told}) > 1
    assert numbers.evaluate("element => element.open")


@opens("02_workload_shape.ipynb")
def test_workload_shape_takes_a_published_workload(notebook, facts):
    assert barred(notebook.page, OUTPUTS) == []
    panel = notebook.panel("Published workload")
    chosen = panel.get_by_label("Published workload", exact=True)
    other = next(name for name in facts.workloads if name != chosen.input_value())
    chosen.select_option(other)
    scenario = with_workload(load_scenario("json-chat"), preset_inputs(facts.workloads[other]))
    panel.locator("h3", has_text=facts.workloads[other].name).wait_for()
    panel.locator(".verdict", has_text=decide(scenario, facts).verdict).wait_for()


@opens("03_ops_and_cost.ipynb")
def test_cost_follows_the_price_of_people(notebook, changed, facts):
    assert barred(notebook.page, OUTPUTS) == []
    decision = decide(changed("json-chat", money__usd_per_engineer_month=30000), facts)
    panel = notebook.panel("Engineer (USD a month)")
    notebook.type("Engineer (USD a month)", "30000")
    for line in decision.cost.lines:
        panel.locator(f'figure[aria-label*="together {line.total_usd:,.0f} USD"]').wait_for()
    panel.locator(".verdict", has_text=decision.verdict).wait_for()


@opens("04_decision.ipynb")
def test_decision_ranks_by_another_preference(notebook, changed, facts):
    assert barred(notebook.page, OUTPUTS) == []
    panel = notebook.panel("First preference")
    panel.get_by_label("First preference", exact=True).select_option("privacy")
    verdict = decide(changed("json-chat", preferences=["privacy"]), facts).verdict
    panel.locator(".verdict", has_text=verdict).wait_for()


@opens("05_confirmation.ipynb")
def test_confirmation_measures_as_often_as_asked(notebook, lab):
    pytest.importorskip("xllamacpp")
    assert barred(notebook.page, OUTPUTS) == []
    panel = notebook.panel("Requests")
    canaries = notebook.page.get_by_text("Canaries: correctness of the stack")
    assert canaries.count() == 1
    notebook.type("Requests", "2")
    start = panel.get_by_role("button", name="Measure")
    start.press("Enter")
    passport = lab.root / "reports" / "this-machine.passport.json"
    panel.get_by_role("button", name="Measure", disabled=True).wait_for()
    panel.get_by_role("button", name="Measure", disabled=False).wait_for()
    measured = Passport.load(passport).results
    assert measured.requests == 2
    panel.locator("td", has_text=str(measured.ttft_s)).first.wait_for()


@pytest.mark.parametrize("name", ["00_start", "01_hardware_fit", "03_ops_and_cost"])
def test_a_projector_shows_everything_without_scrolling_sideways(browser, lab, name):
    """1280 x 720 at a zoom of 150 % is a page of 853 x 480, whose texts are half as large again."""
    with lab.open(browser, f"{name}.ipynb", width=853, height=480) as opened:
        assert opened.run_all() == []
        opened.page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
        assert opened.unreadable(12 / 1.5) == []


@pytest.mark.parametrize("name", ["00_start", "01_hardware_fit", "03_ops_and_cost"])
def test_half_a_screen_cuts_no_control_and_scrolls_in_boxes(browser, lab, name):
    with lab.open(browser, f"{name}.ipynb", width=560, height=800) as opened:
        assert opened.run_all() == []
        opened.page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
        for unfolding in opened.page.get_by_role("button", name="More inputs").all():
            unfolding.press("Enter")
        assert opened.unreadable(8, boxes=True) == []


@opens("01_hardware_fit.ipynb")
def test_arrow_keys_get_past_what_is_refused_and_inputs_outlive_the_kernel(notebook, facts):
    panel = notebook.panel("Printed pool (tokens)")
    engine = panel.get_by_label("Engine", exact=True)
    engine.focus()
    for name in reversed([e.name for e in facts.engines.values()][:-1]):
        engine.press("ArrowUp")
        notebook.settle()
        assert engine.evaluate("field => field.selectedOptions[0].text").split() == name.split()
        panel.get_by_role("alert").wait_for()
    for _ in list(facts.engines)[:-1]:
        engine.press("ArrowDown")
    notebook.settle()
    panel.get_by_role("alert").wait_for(state="detached")
    notebook.type("Printed concurrency", "6.70")
    one = panel.locator(".verdict", has_text="Only one premise stands")
    one.wait_for()
    panel.get_by_role("button", name="Why?").press("Enter")
    panel.get_by_text("pool that would be printed").first.wait_for(state="attached")
    again(notebook)
    one.wait_for()
    assert panel.get_by_label("Printed concurrency", exact=True).input_value() == "6.70"


@pytest.mark.parametrize(
    ("notebook", "label", "text", "said", "mended"),
    [
        ("00_start.ipynb", "Users", "200 people", "'200 people' is no number", ("Users", "80")),
        ("01_hardware_fit.ipynb", "Devices", "many", "no whole number", ("Devices", "2")),
        ("02_workload_shape.ipynb", "Request log (path)", "/nowhere.jsonl", "cannot be read",
         ("Published workload", "none: the scenario's own")),
        ("03_ops_and_cost.ipynb", "Own quote (USD an hour)", "cheap", "'cheap' is no number",
         ("Own quote (USD an hour)", "3")),
        ("05_confirmation.ipynb", "Requests", "many", "no whole number", ("Requests", "2")),
    ],
    indirect=["notebook"], ids=lambda value: value.partition(".")[0] if ".ipynb" in value else "",
)  # fmt: skip
def test_a_refusal_stands_beside_its_field_until_a_good_value(notebook, label, text, said, mended):
    page, panel = notebook.page, notebook.panel(label)
    field, answer = panel.get_by_label(label, exact=True), panel.locator("table")
    place = panel.locator(".sc-field", has=page.get_by_label(label, exact=True))
    notebook.settle()
    before = answer.all_text_contents()
    notebook.type(label, text)
    refusal = place.get_by_role("alert")
    refusal.wait_for()
    notebook.settle()
    assert said in refusal.inner_text()
    assert panel.get_by_role("alert").count() == 1
    assert field.evaluate("field => field === document.activeElement"), "the focus stayed"
    read_with_it = page.locator(f"#{field.get_attribute('aria-describedby')}")
    assert read_with_it.inner_text() == refusal.inner_text()
    above, below = field.bounding_box(), refusal.bounding_box()
    assert 0 <= below["y"] - above["y"] - above["height"] < 24, "directly below the field"
    assert answer.all_text_contents() == before
    assert barred(page, OUTPUTS) == []
    other, value = mended
    if panel.get_by_label(other, exact=True).evaluate("field => field.tagName") == "SELECT":
        panel.get_by_label(other, exact=True).select_option(value)
    else:
        notebook.type(other, value)
    refusal.wait_for(state="detached")


@opens("report.ipynb")
def test_report_notebook_takes_a_name_and_keeps_it(notebook):
    assert barred(notebook.page, OUTPUTS) == []
    notebook.replace('"json-chat"', '"apple-one-user"')
    for _ in range(2):
        again(notebook)
        assert notebook.page.locator("h1", has_text=load_scenario("apple-one-user").title).count()


def test_a_solution_is_shown_with_its_pictures_before_anything_runs(browser, lab):
    """JupyterLab strips the pictures of notebooks that nobody signed."""
    with lab.open(browser, "workshop/solutions/02_memory.ipynb") as opened:
        opened.show_all()
        opened.page.locator(".jp-OutputArea-output figure svg").first.wait_for()


@opens("workshop/02_memory.ipynb")
def test_a_lesson_answers_what_is_typed(notebook):
    assert barred(notebook.page, OUTPUTS) == []
    cell = notebook.replace(
        "token_bytes = None", f"token_bytes = {SOLVERS['memory.token']().right}"
    )
    again(notebook)
    cell.locator(OUTPUTS, has_text="right: ").wait_for()


@opens("workshop/04_three_questions.ipynb")
def test_a_lesson_holds_a_panel_of_its_own(notebook, changed, facts):
    notebook.dark()
    assert barred(notebook.page, OUTPUTS) == []
    panel = notebook.panel("Data may leave")
    panel.get_by_label("Data may leave", exact=True).select_option("no")
    verdict = decide(changed("json-chat", constraints__data_may_leave=False), facts).verdict
    panel.locator(".verdict", has_text=verdict).wait_for()


@pytest.fixture(scope="module", params=REPORTS)
def report(request, tmp_path_factory):
    """A rendered report: its file and its scenario."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    render_report(request.param, [file], **REPORTS[request.param])
    return file, load_scenario(request.param)


@pytest.mark.parametrize("width", [1280, 800, 390])
def test_a_report_asks_nobody_and_bars_nobody(browser, report, width):
    """One request, no complaint, nothing axe objects to, no scrolling sideways; all on paper."""
    file, scenario = report
    page = browser.new_page(viewport={"width": width, "height": 800})
    seen = jupyter.Notebook(page, file.as_uri())
    page.goto(file.as_uri())
    assert seen.asked == [file.as_uri()]
    assert seen.trouble == []
    assert barred(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert scenario.title in page.get_by_role("heading", level=1).inner_text()
    folded = page.locator("details table").first
    shown = "e => e.checkVisibility({contentVisibilityAuto: true})"
    assert folded.evaluate(shown) is False
    page.emulate_media(media="print")
    assert folded.evaluate(shown) is True
    page.close()


def test_on_a_telephone_what_is_wide_scrolls_in_its_box_by_key(browser, report):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(report[0].as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert barred(page) == []
    assert page.locator("table, svg").count() == page.locator(".box > :is(table, svg)").count()
    box = page.get_by_role("region", name=re.compile("^Every option")).first
    box.focus()
    box.press("ArrowRight")
    page.wait_for_function("() => document.activeElement.scrollLeft > 0")
    drawn = page.locator("figure:has(svg)").first
    assert drawn.locator("svg").evaluate("svg => svg.getScreenCTM().a") == 1, "as large as drawn"
    page.close()
