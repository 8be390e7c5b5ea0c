"""Where the notebooks are: in a checkout they are edited in place, else copied out first."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from stackchoice.errors import ReportError
from stackchoice.facts.own import OVERLAY_VARIABLE
from stackchoice.facts.write import write_whole, writing

COPY_NAME = "stackchoice-notebooks"
#: Folder of own facts beside the notebooks: a model that was dropped in is kept there.
OWN_FACTS = "my-facts"
#: Modules and arguments of a JupyterLab that asks nobody for news and updates.
LAB = (
    "-m", "jupyterlab", "--LabApp.news_url=None",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
)  # fmt: skip


def notebooks_dir() -> Path:
    """Return the folder of notebooks: inside an installed wheel, else beside the package.

    ReportError where there is none.
    """
    package = Path(__file__).resolve().parent
    inside = package / "notebooks"
    found = inside if inside.is_dir() else package.parent / "notebooks"
    if not found.is_dir():
        raise ReportError(f"{found}: the notebooks are missing; reinstall the package")
    return found


def notebooks_to_edit(folder: Path | None = None) -> Path:
    """Return a folder whose notebooks may be changed; existing files are never overwritten.

    ReportError where it cannot be written.
    """
    source = notebooks_dir()
    if folder is None and source.parent != Path(__file__).resolve().parent:
        return source
    target = folder or Path(COPY_NAME)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(f for f in source.rglob("*") if f.suffix in (".ipynb", ".md")):
            copy = target / file.relative_to(source)
            if not copy.exists() and ".ipynb_checkpoints" not in file.parts:
                write_whole(copy, file.read_text("utf-8"), ReportError, folders=True)
    except OSError as error:
        raise ReportError(
            f"{target}: cannot be written ({error.strerror}); name another folder"
        ) from None
    return target


def trust_shipped(folder: Path, data_dir: str | None = None) -> None:
    """Sign the solutions in a folder that are as shipped, so that their stored pictures are shown.

    JupyterLab strips the pictures of notebooks that nobody signed and leaves their words in a row.
    Where no signature can be kept, that is all that is lost.

    Parameters
    ----------
    folder
        What :func:`notebooks_to_edit` returned.
    data_dir
        Where signatures are kept; the place of the user's Jupyter when not given.
    """
    from jupyter_core.paths import jupyter_data_dir
    from nbformat import reads
    from nbformat.sign import NotebookNotary

    kept = data_dir or jupyter_data_dir()
    with suppress(OSError, sqlite3.Error):  # locked by another JupyterLab, say
        Path(kept).mkdir(parents=True, exist_ok=True)
        notary = NotebookNotary(data_dir=kept)
        for shipped in (notebooks_dir() / "workshop" / "solutions").glob("*.ipynb"):
            ours, copy = shipped.read_text("utf-8"), folder / shipped.relative_to(notebooks_dir())
            if copy.is_file() and copy.read_text("utf-8") == ours:
                notary.sign(reads(ours, as_version=4))


def lab_environment(root: Path) -> dict[str, str]:
    """Return this process's environment with our settings of JupyterLab (``labconfig/``) first.

    Own facts lie beside the notebooks in ``root``, unless the variable names another folder;
    ReportError where theirs cannot be made.
    """
    paths = [str(Path(__file__).resolve().parent), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    own = root.resolve() / OWN_FACTS
    if OVERLAY_VARIABLE not in os.environ:
        with writing(own, ReportError):
            own.mkdir(exist_ok=True)
    return {OVERLAY_VARIABLE: str(own), **os.environ,
            "JUPYTER_CONFIG_PATH": os.pathsep.join(filter(None, paths))}  # fmt: skip
