"""What works on this machine: each item tried for real, with the fix where it fails."""

import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from stackchoice.errors import StackchoiceError
from stackchoice.facts import Record, load_facts

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
PANGO_FIX = "install Pango (Debian: apt-get install libpango-1.0-0 libpangoft2-1.0-0)"


class Finding(Record):
    """One item: whether it works, what was seen, and what to do where it does not.

    ``optional`` items serve one extra (PDF, browser tests); the rest works without them.
    """

    item: str
    ok: bool
    text: str
    fix: str = ""
    optional: bool = False


def examine() -> Iterator[Finding]:
    """Yield a finding per item, in the order in which they are needed."""
    yield _try("Python", _python, "install Python 3.11 or newer")
    yield _try("fact base", _facts, "reinstall the package, or restore data/ from git")
    yield _try("scenarios", _scenarios, "restore data/scenarios from git")
    yield _try("notebooks and reports", _notebooks, "pip install 'stackchoice[notebooks]'")
    yield _try("charts", _charts, "pip install 'stackchoice[notebooks]'")
    yield _try("probe of this machine", _probe, "report it with the output of this command")
    yield _try("embedded engine", _engine, "stackchoice setup-engine")
    yield _try("writing here", _writing, "change to a folder you may write to")
    yield _try(
        "PDF reports", _pdf, f"pip install 'stackchoice[pdf]' and {PANGO_FIX}", optional=True
    )
    yield _try("browser tests", _browser, "install Chromium (Debian: apt-get install chromium)",
               optional=True)  # fmt: skip


def _try(item: str, check: Callable[[], str], fix: str, *, optional: bool = False) -> Finding:
    # Whatever goes wrong is the finding: a broken library may raise anything on import.
    try:
        return Finding(item=item, ok=True, text=check(), optional=optional)
    except Exception as error:
        ours = isinstance(error, StackchoiceError)
        text = str(error) if ours else f"{type(error).__name__}: {error}".splitlines()[0]
        return Finding(item=item, ok=False, text=text, fix=fix, optional=optional)


def _python() -> str:
    return f"{sys.version.split()[0]} at {sys.executable}"


def _facts() -> str:
    facts = load_facts()
    return (
        f"{len(facts.models)} models, {len(facts.machines)} machines, {len(facts.engines)} "
        f"engines, {len(facts.sellers)} sellers; sha256 {facts.sha256[:12]}"
    )


def _scenarios() -> str:
    from stackchoice.facts import data_dir
    from stackchoice.scenario import load_scenario

    names = sorted(path.stem for path in (data_dir() / "scenarios").glob("*.yaml"))
    for name in names:
        load_scenario(name)
    return ", ".join(names)


def _notebooks() -> str:
    from stackchoice.notebooks import notebooks_dir

    for module in ("papermill", "nbconvert", "ipykernel", "ipywidgets", "jupyterlab"):
        importlib.import_module(module)
    return f"{len(list(notebooks_dir().rglob('*.ipynb')))} notebooks"


def _charts() -> str:
    import altair
    import pandas
    import vl_convert

    chart = altair.Chart(pandas.DataFrame({"x": [1]})).mark_bar().encode(x="x:Q")
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    return f"SVG of {len(svg):,} characters drawn offline"


def _probe() -> str:
    from stackchoice.confirm import probe_machine

    probed = probe_machine(2**27)
    return (
        f"{probed.cpu_name}, {probed.logical_cores} cores, "
        f"{probed.memory_available_bytes / 2**30:.1f} GiB available, "
        f"{probed.read_gb_per_s:.1f} GB/s on one thread"
    )


def _engine() -> str:
    from stackchoice.confirm import EmbeddedEngine

    with EmbeddedEngine() as engine:
        return f"started and stopped, {engine.model_path.name}"


def _writing() -> str:
    with tempfile.TemporaryFile(dir=Path.cwd()):
        return str(Path.cwd())


def _pdf() -> str:
    weasyprint = importlib.import_module("weasyprint")
    size = len(weasyprint.HTML(string="<p>one line</p>").write_pdf())
    return f"weasyprint {weasyprint.__version__}, {size:,} bytes"


def _browser() -> str:
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        raise StackchoiceError("no Chromium on the path")
    return found
