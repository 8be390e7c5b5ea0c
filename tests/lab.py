"""JupyterLab as ``stackchoice lab`` starts it, and one notebook of it in Chromium, offline."""

import secrets
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackchoice.notebooks import LAB, lab_environment, notebooks_to_edit, trust_shipped

CHROMIUM = shutil.which("chromium")
#: Nothing but this machine can be reached: the proxy of every other host is a closed port.
NOWHERE = "127.0.0.1:9"
ARGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-dev-shm-usage", "--no-first-run",
    f"--proxy-server={NOWHERE}",
]  # fmt: skip
#: Far above what a slow machine needs; a wait ends as soon as its condition holds.
PATIENCE_MS = 120_000

#: True once JupyterLab shows the notebook and its kernel waits for work.
READY = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  return panel?.context?.isReady && panel.content.widgets.length > 0 &&
    panel.sessionContext?.session?.kernel?.status === 'idle';
}"""
#: Asks the kernel for nothing, and so waits until it has answered all that came before.
SETTLE = """async () => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  await kernel.requestExecute({code: '', silent: true}).done;
}"""
#: Runs every cell and tells what went wrong in any.
RUN_ALL = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await window.jupyterapp.commands.execute('notebook:run-all-cells');
  const outputs = panel.content.widgets.flatMap(cell => cell.model.outputs?.toJSON() ?? []);
  return outputs.filter(one => one.output_type === 'error' || one.name === 'stderr')
    .map(one => one.evalue ?? one.text);
}"""
RESTART = """async () => {
  const panel = window.jupyterapp.shell.currentWidget;
  await panel.sessionContext.restartKernel();
  await window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
}"""
DARK = """async () => {
  await window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'});
}"""

#: True once every cell is on the page; those out of sight come when the browser has nothing to do.
ATTACHED = """() => {
  const {content} = window.jupyterapp.shell.currentWidget;
  return content.node.querySelectorAll('.jp-Cell').length === content.widgets.length;
}"""
#: Lays out every cell, not only those in sight. Before all are on the page the rest never come.
ALL_CELLS = """() => {
  const {content} = window.jupyterapp.shell.currentWidget;
  content.notebookConfig = {...content.notebookConfig, windowingMode: 'none'};
}"""
#: What of the outputs is wider than its place or scrolls sideways, labels that are cut, small text.
#: Where boxes may scroll, what they hold may be wider than they.
UNREADABLE = """([least, boxes]) => {
  const found = [], said = e => (e.textContent ?? '').trim().slice(0, 60);
  for (const output of document.querySelectorAll('.jp-OutputArea-output')) {
    const right = output.getBoundingClientRect().right;
    for (const e of [output, ...output.querySelectorAll('*')]) {
      if (boxes && e.closest('.box[tabindex="0"]')) continue;
      const scrolls = ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
      if (scrolls && e.clientWidth && e.scrollWidth > e.clientWidth + 2)
        found.push(['scrolls', e.className, said(e)]);
      if (e.matches('.widget-label, button') && e.scrollWidth > e.clientWidth)
        found.push(['cut', e.className, said(e)]);
      const over = e.getBoundingClientRect().right > right + 2;
      if (over && e.matches('table, svg, select, input, button'))
        found.push(['too wide', e.tagName, said(e)]);
    }
    const texts = document.createTreeWalker(output, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const e = texts.currentNode.parentElement, matrix = e.getScreenCTM?.();
      if (!texts.currentNode.data.trim() || !e.checkVisibility() || e.closest('.hidden')) continue;
      const scale = matrix ? Math.hypot(matrix.a, matrix.b) : 1;
      if (parseFloat(getComputedStyle(e).fontSize) * scale < least && !e.closest('option, title'))
        found.push(['too small', e.tagName, said(e)]);
    }
  }
  return found;
}"""


@dataclass
class Notebook:
    """A notebook in a page of its own, and what the page asked for and complained of."""

    page: Any
    address: str
    asked: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("console", self._heard)

    def _heard(self, message: Any) -> None:
        if message.type == "error":
            self.trouble.append(f"{message.text} ({message.location.get('url', '')})")

    def run_all(self) -> list[str]:
        """Run every cell, wait for the last, and return errors and what went to stderr."""
        self.page.wait_for_function(READY)
        return self.page.evaluate(RUN_ALL)

    def restart(self) -> None:
        """Give the notebook a new kernel and take the outputs away."""
        self.page.evaluate(RESTART)

    def dark(self) -> None:
        """Take the dark theme."""
        self.page.evaluate(DARK)
        self.page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")

    def panel(self, label: str) -> Any:
        """Return the output that holds the field of this label."""
        field = self.page.get_by_label(label, exact=True)
        field.first.wait_for()
        return self.page.locator(".jp-OutputArea-child", has=field).first

    def type(self, label: str, text: str) -> None:
        """Put a text into a field and leave it, as a person does."""
        field = self.page.get_by_label(label, exact=True)
        field.fill(text)
        field.press("Enter")

    def show_all(self) -> None:
        """Lay out every cell, also those out of sight."""
        self.page.wait_for_function(READY)
        self.page.wait_for_function(ATTACHED)
        self.page.evaluate(ALL_CELLS)

    def unreadable(self, least_px: float, *, boxes: bool = False) -> list[Any]:
        """Return what of any output is too wide for its place, or has text below a size."""
        self.show_all()
        self.settle()
        return self.page.evaluate(UNREADABLE, [least_px, boxes])

    def settle(self) -> None:
        """Wait until the page shows what the kernel makes of everything that was put in."""
        self.page.evaluate(SETTLE)

    def replace(self, old: str, new: str) -> Any:
        """Overwrite the cell that holds ``old``, key by key; return the cell."""
        cell = self.page.locator(".jp-CodeCell", has_text=old).first
        editor = cell.locator(".cm-content")
        editor.click()  # before it is read: what is off the screen has no text
        source = editor.inner_text().replace(old, new)
        editor.press("Control+a")
        self.page.keyboard.insert_text(source)
        return self.page.locator(".jp-CodeCell", has_text=new).first

    @property
    def left(self) -> list[str]:
        """What was asked of anybody but this server."""
        ours = (self.address, "data:", f"blob:{self.address}")
        return [url for url in self.asked if not url.startswith(ours)]


@dataclass
class Lab:
    """A running server."""

    address: str
    token: str
    root: Path

    @contextmanager
    def open(self, browser: Any, name: str, **viewport: int) -> Iterator[Notebook]:
        """Open a notebook by its path in the folder; its kernel ends with it."""
        page = browser.new_page(viewport={"width": 1280, "height": 1600, **viewport})
        notebook = Notebook(page, self.address)
        page.goto(f"{self.address}/lab/tree/{name}?token={self.token}&reset")
        try:
            yield notebook
        finally:
            page.evaluate("() => window.jupyterapp?.shell.currentWidget?.sessionContext.shutdown()")
            page.close()


@contextmanager
def chromium() -> Iterator[Any]:
    """Give Debian's Chromium without a network."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as api:
        browser = api.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        yield browser
        browser.close()


@contextmanager
def jupyterlab(folder: Path) -> Iterator[Lab]:
    """Serve a copy of the notebooks; everything the server keeps lies in ``folder``."""
    root = notebooks_to_edit(folder / "notebooks")
    kinds = {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    trust_shipped(root, kinds["JUPYTER_DATA_DIR"])
    proxies = {f"{scheme}_proxy": f"http://{NOWHERE}" for scheme in ("http", "https")}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
    token = secrets.token_hex(16)
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(
            [
                sys.executable, *LAB, str(root), "--no-browser", "--allow-root",
                "--expose-app-in-browser", f"--ServerApp.port={address.rpartition(':')[2]}",
                "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
            ],
            env={**lab_environment(root), **kinds, **proxies, "no_proxy": "127.0.0.1,localhost",
                 "PYTHONPATH": str(Path(__file__).parents[1])},
            stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            _wait_for(f"{address}/api", server)
            yield Lab(address, token, root)
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait_for(address: str, server: subprocess.Popen) -> None:
    """Wait until the server answers; it may refuse, but it must speak."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while server.poll() is None:
        try:
            opener.open(address, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            continue
    raise RuntimeError(f"JupyterLab ended with {server.returncode}; see lab.log")
