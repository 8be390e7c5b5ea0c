"""The report and the first notebook in a real browser, without a network."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from stackchoice.notebooks import notebooks_dir
from stackchoice.present.render import render_report

CHROMIUM = shutil.which("chromium")
ARGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-dev-shm-usage", "--no-first-run",
]  # fmt: skip
#: Far above what a slow machine needs; a wait ends as soon as its condition holds.
PATIENCE_MS = 90_000

#: True once JupyterLab shows the notebook and its kernel waits for work.
KERNEL_IDLE = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  return panel?.content?.widgets?.length > 3 &&
    panel.sessionContext?.session?.kernel?.status === 'idle';
}"""

pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("CI") != "true",
        reason="Debian's chromium is not installed",
    ),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium; in CI its absence is a failure."""
    assert CHROMIUM, "CI=true and no chromium on the path"
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as api:
        browser = api.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def lab(tmp_path):
    """Serve a copy of the notebooks from a JupyterLab of its own; gives its address."""
    root = tmp_path / "notebooks"
    shutil.copytree(notebooks_dir(), root)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    kinds = ("CONFIG", "DATA", "RUNTIME")
    folders = {f"JUPYTER_{kind}_DIR": str(tmp_path / kind) for kind in kinds}
    log = (tmp_path / "lab.log").open("w")
    server = subprocess.Popen(
        [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
            "--expose-app-in-browser", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}",
            "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        ],
        env={**os.environ, **folders, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(f"{address}/api", server)
        yield f"{address}/lab/tree/00_start.ipynb?token={token}&reset"
    finally:
        server.terminate()
        server.wait(timeout=30)
        log.close()


def test_report_opens_offline(browser, tmp_path):
    """The file asks for nothing but itself, logs no error, and its h1 is the scenario's title."""
    render_report("json-chat", [tmp_path / "report.html"])
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    asked, trouble = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: trouble.append(request.url))
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto((tmp_path / "report.html").as_uri())
    assert [(tmp_path / "report.html").as_uri()] == asked
    assert trouble == []
    assert page.locator("h1").count() == 1
    assert page.locator("h1").inner_text().startswith("JSON chat for 200 daily users")
    recommended = page.locator(".card-main").bounding_box()
    assert recommended["y"] + recommended["height"] < 800
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.close()


def test_printing_opens_all_configurations(browser, tmp_path):
    """What is folded on the screen stands on paper."""
    page = browser.new_page()
    render_report("json-chat", [tmp_path / "report.html"])
    page.goto((tmp_path / "report.html").as_uri())
    folded = page.locator("details table")
    assert folded.evaluate("e => e.checkVisibility({contentVisibilityAuto: true})") is False
    page.emulate_media(media="print")
    assert folded.evaluate("e => e.checkVisibility({contentVisibilityAuto: true})") is True
    page.close()


def test_widget_changes_the_verdict(browser, lab):
    """In JupyterLab a changed input shows another verdict, and a wrong one its reason."""
    page = browser.new_page(viewport={"width": 1280, "height": 1600})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(lab)
    page.wait_for_function(KERNEL_IDLE)
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    leave = page.get_by_label("Data may leave", exact=True)
    leave.wait_for()
    panel = page.locator(".jp-OutputArea-child", has=leave)
    panel.locator(".verdict", has_text=re.compile("^Managed endpoint")).wait_for()
    leave.select_option("no")
    panel.locator(".verdict", has_text=re.compile("^SGLang")).wait_for()
    users = panel.get_by_label("Users", exact=True)
    users.fill("200 people")
    users.press("Enter")
    refusal = panel.locator(".error")
    refusal.wait_for()
    assert re.search(r"workload\.users.*'200 people'", refusal.inner_text())
    page.close()


def _wait_for(address: str, server: subprocess.Popen) -> None:
    """Wait until the server answers; it may refuse, but it must speak."""
    while server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            continue
    raise RuntimeError(f"JupyterLab ended with {server.returncode}; see lab.log")
