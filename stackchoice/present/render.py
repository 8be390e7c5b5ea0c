"""Render a scenario's report: papermill runs the notebook, nbconvert makes one offline file."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackchoice.errors import ReportError
from stackchoice.present.report import SECTION_MIME, SECTIONS, style
from stackchoice.scenario import load_scenario, scenario_path

KERNEL = "python3"


@dataclass(frozen=True)
class Paths:
    """The files of a rendered report."""

    html: Path
    json: Path
    pdf: Path | None = None


def notebooks_dir() -> Path:
    """Return the folder of notebooks: inside an installed wheel, else beside the package."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "notebooks"
    return inside if inside.is_dir() else package.parent / "notebooks"


def render_report(
    scenario: str | Path, out_dir: str | Path, *, passport: str | Path | None = None,
    pdf: bool = False,
) -> Paths:  # fmt: skip
    """Render a scenario's report to ``NAME.html`` and ``NAME.json``, and ``NAME.pdf`` on request.

    Every file is complete or absent: all are made in a hidden folder and renamed at the end.

    Parameters
    ----------
    scenario
        Path of a scenario file, or the name of one that ships with the package.
    out_dir
        Where the files go; made when missing.
    passport
        Path of a passport whose live run the report shows.
    pdf
        Also print the page to PDF, which needs weasyprint and Pango.

    Raises
    ------
    ScenarioError
        When the scenario is wrong.
    ReportError
        When anything else fails; the text says what and how to go on.
    """
    chosen = load_scenario(scenario)
    printer = _weasyprint() if pdf else None
    with _staging(Path(out_dir)) as stage:
        page, data = stage / f"{chosen.name}.html", stage / f"{chosen.name}.json"
        notebook = _execute(
            notebooks_dir() / "report.ipynb",
            {
                "scenario": str(scenario_path(scenario).resolve()),
                "passport": str(Path(passport).resolve()) if passport else "",
                "out": str(data),
            },
            stage / "executed.ipynb",
        )
        page.write_text(_page(notebook, chosen.title), encoding="utf-8")
        made = [page, data]
        if printer is not None:
            made.append(_print(printer, page, stage / f"{chosen.name}.pdf"))
        placed = [path.replace(Path(out_dir) / path.name) for path in made]
    return Paths(*placed)


@contextmanager
def _staging(out_dir: Path) -> Iterator[Path]:
    """Give a hidden folder on the same disk as the result, gone afterwards whatever happens."""
    try:
        out_dir.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(dir=out_dir, prefix=".report-"))
    except OSError as error:
        raise ReportError(
            f"{out_dir}: cannot be written ({error.strerror}); name another folder"
        ) from None
    try:
        yield stage
    except OSError as error:
        raise ReportError(f"{out_dir}: the report could not be written ({error})") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _execute(path: Path, parameters: dict[str, str], executed: Path) -> Any:
    """Run a notebook. An unknown parameter is an error here; papermill would only warn."""
    try:
        import papermill
        from jupyter_client.kernelspec import NoSuchKernel
        from papermill.exceptions import PapermillExecutionError
    except ImportError as error:
        raise ReportError(f"reports need {error.name}; install stackchoice[notebooks]") from None
    if not path.is_file():
        raise ReportError(f"{path}: the report notebook is missing; reinstall stackchoice")
    known = papermill.inspect_notebook(path)
    if unknown := sorted(set(parameters) - set(known)):
        raise ReportError(
            f"{path}: has no parameter {', '.join(unknown)}; known: {', '.join(known)}"
        )
    try:
        return papermill.execute_notebook(
            path, executed, parameters, kernel_name=KERNEL, progress_bar=False
        )
    except PapermillExecutionError as error:
        raise ReportError(f"the report stopped: {error.ename}: {error.evalue}") from None
    except NoSuchKernel:
        raise ReportError(
            f"no Jupyter kernel {KERNEL!r}; install ipykernel beside stackchoice"
        ) from None


def _page(notebook: Any, title: str) -> str:
    """Put the sections of an executed notebook into one page that needs no network."""
    from nbconvert.exporters import HTMLExporter

    shown = [
        output.data[SECTION_MIME]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if SECTION_MIME in output.get("data", {})
    ]
    if shown != list(SECTIONS):
        missing = ", ".join(name for name in SECTIONS if name not in shown)
        raise ReportError(f"the report notebook lacks sections or their order: {missing or shown}")
    exporter = HTMLExporter(
        template_name="page",
        extra_template_basedirs=[str(Path(__file__).parent / "templates")],
    )
    ours = {"title": title, "style": style(), "mime": SECTION_MIME}
    return exporter.from_notebook_node(notebook, resources={"stackchoice": ours})[0]


def _weasyprint() -> Any:
    try:
        import weasyprint
    except ImportError as error:
        raise ReportError(
            f"PDF needs {error.name}; install stackchoice[pdf], or leave PDF out"
        ) from None
    except OSError as error:  # the Python package is there, its system library is not
        raise ReportError(
            "PDF needs the system's Pango (Debian: apt install libpangoft2-1.0-0 "
            f"libharfbuzz-subset0), or leave PDF out: {str(error).splitlines()[0]}"
        ) from None
    return weasyprint


def _print(weasyprint: Any, page: Path, pdf: Path) -> Path:
    """Print a page to tagged PDF without loading anything from anywhere."""
    document = weasyprint.HTML(filename=page, url_fetcher=_no_fetch)
    document.write_pdf(pdf, pdf_variant="pdf/ua-1")
    return pdf


def _no_fetch(url: str, *_: Any, **__: Any) -> Any:
    raise ReportError(f"the report asked for {url[:80]}; a report loads nothing")
