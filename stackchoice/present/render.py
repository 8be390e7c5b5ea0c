"""Render a scenario's report: papermill runs the notebook, nbconvert makes one offline file."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from stackchoice.cases import load_case
from stackchoice.choose import Decision
from stackchoice.confirm import Passport
from stackchoice.errors import ReportError
from stackchoice.facts.write import write_together, write_whole, writing
from stackchoice.notebooks import notebooks_dir
from stackchoice.present.page import SECTION_MIME, style
from stackchoice.present.report import SECTIONS
from stackchoice.scenario import scenario_path

KERNEL = "python3"


#: What a report can be written as; a folder gets all of them but the PDF, which needs Pango.
FORMATS = (".html", ".json", ".md", ".pdf")


def outputs(name: str, wanted: Iterable[Path], *, pdf: bool = False) -> list[Path]:
    """Return the files to write: a path that ends in a format is one, any other is a folder.

    ReportError when a path ends in something that looks like a format and is none.
    """
    found: list[Path] = []
    for path in wanted:
        if path.suffix.lower() in FORMATS:
            found.append(path)
        elif path.suffix and not path.is_dir():
            raise ReportError(
                f"{path}: a report is no {path.suffix} file; end it in one of "
                f"{', '.join(FORMATS)}, or name a folder"
            )
        else:
            found += [path / f"{name}{end}" for end in FORMATS if pdf or end != ".pdf"]
    return found


def render_report(
    scenario: str | Path, files: Sequence[Path], *, passport: str | Path | None = None,
    arms: Sequence[str | Path] = (),
) -> Decision:  # fmt: skip
    """Render a scenario's report to files, each in the format that its name ends in.

    Every file is complete or absent: all are made elsewhere, and put in place at the end.

    Parameters
    ----------
    scenario
        Path of a scenario file, or the name of one that ships with the package.
    files
        What to write (:func:`outputs`); folders are made when missing.
    passport
        Path of a passport whose live run the report shows.
    arms
        Passports of further arms, with which it is compared.

    Returns
    -------
    Decision
        What the report shows.

    Raises
    ------
    ScenarioError
        When the scenario is wrong.
    PassportError
        When the passport is missing or is none.
    ReportError
        When anything else fails; the text says what and how to go on.
    """
    chosen = load_case(scenario)
    for path in (p for p in (passport, *arms) if p):
        Passport.load(path)
    printer = _weasyprint() if any(f.suffix.lower() == ".pdf" for f in files) else None
    for folder in {file.parent for file in files}:
        with writing(folder, ReportError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()  # said now, not after the work
    with tempfile.TemporaryDirectory(prefix="stackchoice-report-") as name:
        work = Path(name)
        made = {end: work / f"made{end}" for end in FORMATS}
        notebook = execute(
            notebooks_dir() / "report.ipynb",
            {
                "scenario": str(scenario_path(scenario).resolve()),
                "passport": str(Path(passport).resolve()) if passport else "",
                "arms": [str(Path(arm).resolve()) for arm in arms],
                "out": str(made[".json"]),
            },
            work / "executed.ipynb",
        )
        write_whole(made[".html"], _page(notebook, chosen.title), ReportError)
        if printer is not None:
            _print(printer, made[".html"], made[".pdf"])
        decision = Decision.model_validate_json(made[".json"].read_bytes())
        write_together({f: made[f.suffix.lower()].read_bytes() for f in files}, ReportError)
    return decision


def execute(path: Path, parameters: dict[str, Any], executed: Path) -> Any:
    """Run a notebook; ReportError also for an unknown parameter: papermill would only warn."""
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
            path, executed, parameters, kernel_name=KERNEL, progress_bar=False,
            extra_arguments=["--log-level=ERROR"],
        )  # fmt: skip
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
        template_name="stackchoice",
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


def _print(weasyprint: Any, page: Path, pdf: Path) -> None:
    """Print a page to tagged PDF without loading anything from anywhere."""
    document = weasyprint.HTML(filename=page, url_fetcher=_no_fetch)
    document.write_pdf(pdf, pdf_variant="pdf/ua-1")


def _no_fetch(url: str, *_: Any, **__: Any) -> Any:
    raise ReportError(f"the report asked for {url[:80]}; a report loads nothing")
