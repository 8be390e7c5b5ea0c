"""Passports by name or path: shipped ones, one's own, and results of other harnesses."""

import os
from collections.abc import Sequence
from pathlib import Path

from stackchoice.compare import Comparison, compare
from stackchoice.compare.metrics import Slo
from stackchoice.confirm.passport import Passport, PassportError, read_bounded
from stackchoice.errors import InputError
from stackchoice.facts import Facts, load_facts
from stackchoice.facts.place import data_dir
from stackchoice.facts.write import ANYTHING
from stackchoice.facts.yaml import shown
from stackchoice.importers import import_results

END = ".passport.json"
SLO_NAMES = {"ttft": "ttft_s", "itl": "itl_s", "e2e": "end_to_end_s"}


def shipped() -> list[str]:
    """Return the names of the passports that come with the package."""
    return sorted(p.name.removesuffix(END) for p in (data_dir() / "passports").glob(f"*{END}"))


def find(name: str | Path) -> Path:
    """Return the file of a passport: a path, or the name of a shipped one.

    PassportError where it is neither.
    """
    path = Path(name)
    if not os.path.exists(name) and str(name) in shipped():
        return data_dir() / "passports" / f"{name}{END}"
    if os.path.exists(name) or path.suffix in (".json", ".jsonl", ".csv", ".md", ".txt"):
        return path
    raise PassportError(
        f"{shown(str(name))}: no such file, and no passport of that name comes with the package; "
        f"they are: {', '.join(shipped())}"
    )


def load_arms(names: Sequence[str | Path]) -> list[Passport]:
    """Load passports; a result file of another harness is taken in as what it says.

    PassportError, InputError when a file is missing, broken, or of no known harness.
    """
    arms: list[Passport] = []
    for name in names:
        path = find(name)
        if '"stackchoice-passport/' in read_bounded(path, "give a passport")[:4096]:
            arms.append(Passport.load(path))
        else:
            arms += import_results(path)
    return arms


def compare_files(
    names: Sequence[str | Path], *, slo: str = "", by: str | None = None,
    vary: Sequence[str] = (), same: Sequence[str] = (), facts: Facts | None = None,
) -> Comparison:  # fmt: skip
    """Compare arms by their files, as :func:`stackchoice.compare.compare` does.

    Parameters
    ----------
    names
        Passports, results of other harnesses, or names of shipped passports.
    slo
        Objective of a request in seconds, such as ``ttft=0.5,itl=0.03,e2e=10``.

    Raises
    ------
    PassportError
        When a file is missing or is none.
    InputError
        With fewer than two arms, or an objective or name that is none.

    Examples
    --------
    One repetition has no scatter, so a ratio of 2.5 ranks nothing.

    >>> from stackchoice import compare_files
    >>> (pair,) = compare_files(["gh200-0.19.1", "gh200-0.26.0-draft2"]).pairs
    >>> pair.verdict
    'not comparable'
    """
    return compare(load_arms(names), facts or load_facts(), slo=read_slo(slo), by=by,
                   vary=vary, same=same)  # fmt: skip


def read_slo(text: str) -> Slo | None:
    """Read an objective; None when empty.

    InputError when a name or a number is none.
    """
    if not text:
        return None
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        try:
            seconds = float(value)
            found[SLO_NAMES[name.strip()]] = seconds
            if not 0 < seconds < 1e6:
                raise ValueError
        except (KeyError, ValueError):
            raise InputError(
                f"--slo {shown(part)!r}: no objective; write seconds like ttft=0.5,itl=0.03,e2e=10"
            ) from None
    return Slo(**found)


def import_file(
    path: Path, *, arm: str | None = None, declare: Sequence[str] = (), out: Path | None = None,
    replace: bool = False,
) -> list[tuple[Passport, Path]]:  # fmt: skip
    """Take in a result file and write its passports beside it, or into ``out``.

    PassportError, InputError when the file cannot be read or written, or is of no known harness, or
    a passport is there already and ``replace`` was not said: then none is written.
    """
    found = import_results(path, arm=arm, declared=read_declared(declare))
    stem, several = path.stem, len(found) > 1
    files = [(out or path.parent) / f"{stem}{f'-{number}' if several else ''}{END}"
             for number in range(1, len(found) + 1)]  # fmt: skip
    for file in files:
        if os.path.lexists(file) and not replace:
            raise PassportError(
                f"{shown(str(file))}: is there already; say --replace to overwrite it, or --out "
                "for another folder"
            )
    seen = ANYTHING if replace else None
    return [(p, p.save(file, read=seen)) for p, file in zip(found, files, strict=True)]


def read_declared(pairs: Sequence[str]) -> dict[str, object]:
    """Read ``KEY=VALUE`` pairs; what each value becomes is the item's to say.

    InputError for what is no pair.
    """
    declared: dict[str, object] = {}
    for pair in pairs:
        key, mark, value = pair.partition("=")
        if not mark or not key.strip():
            raise InputError(
                f"--declare {shown(pair)!r}: no KEY=VALUE; write model_revision=abc123"
            )
        declared[key.strip()] = value.strip()
    return declared
