"""Rates of one's own: a table, or the passport of a measured arm, read for one set-up."""

import csv
from pathlib import Path
from statistics import median

from pydantic import ValidationError

from stackchoice.confirm.passport import Passport
from stackchoice.errors import InputError
from stackchoice.facts.yaml import bounded_text, shown
from stackchoice.fit.measured import MeasuredRate

#: A table of rates is some lines; whoever has a million does not need our prior.
MAX_BYTES = 2**20
COLUMNS = ("phase", "tokens_per_s", "context_tokens", "prompt_tokens")


def own_rates(path: Path | str) -> list[MeasuredRate]:
    """Read a CSV with the columns of :data:`COLUMNS` (the first two at least), or a passport.

    A passport counts as one rate of each phase, the median of its requests.

    InputError, PassportError with file, line, value, reason and fix.
    """
    path = Path(path)
    return _passport(path) if path.suffix == ".json" else _table(path)


def _table(path: Path) -> list[MeasuredRate]:
    text = bounded_text(path, MAX_BYTES, InputError, "give a CSV of rates or a passport")
    rows = csv.DictReader(text.splitlines())
    try:
        given = list(enumerate(rows, 2))
    except csv.Error as error:  # a field of megabytes
        raise InputError(f"{path}: is no CSV of rates ({error}); give one rate a line") from None
    unknown = [name for name in rows.fieldnames or [] if name not in COLUMNS]
    missing = [name for name in COLUMNS[:2] if name not in (rows.fieldnames or [])]
    if unknown or missing:
        wrong = f"column {shown(unknown[0])!r} is not known" if unknown else f"no {missing[0]!r}"
        raise InputError(f"{path}:1: {wrong}; the columns are {', '.join(COLUMNS)}")
    found = []
    for line, row in given:
        try:
            found.append(MeasuredRate.model_validate({k: v for k, v in row.items() if v}))
        except ValidationError as error:
            first = error.errors()[0]
            where = first["loc"][0] if first["loc"] and first["loc"][0] else "a value too many"
            raise InputError(
                f"{path}:{line}: {where} is {shown(first['input'])}: {first['msg']}; "
                f"the columns are {', '.join(COLUMNS)}"
            ) from None
    if not found:
        raise InputError(f"{path}: holds no rate; give a line for each, under the header")
    return found


def _passport(path: Path) -> list[MeasuredRate]:
    passport = Passport.load(path)
    if passport.label not in ("VALID", "UNCHECKED"):
        said = (*passport.validity.reasons, *passport.validity.hold)
        reasons = shown("; ".join(said) or "it says so")
        raise InputError(f"{path}: the run was not valid ({reasons}); measure again")
    asked = [s.prompt_tokens for s in passport.samples if s.prompt_tokens]
    given = [s.completion_tokens for s in passport.samples if s.completion_tokens]
    prompt = int(median(asked)) if asked else None
    results, found = passport.results, []
    identity = passport.identity
    names = (identity.model or identity.endpoint_model, identity.runtime, identity.weight_format)
    origin = "a passport of " + (shown(", ".join(filter(None, names))) or "nothing named")
    if results.decode_tokens_per_s and results.decode_tokens_per_s.median:
        found.append(
            MeasuredRate(
                phase="decode", tokens_per_s=results.decode_tokens_per_s.median,
                context_tokens=(prompt or 0) + (int(median(given)) // 2 if given else 0),
                origin=origin,
            )
        )  # fmt: skip
    prefill = results.server_prefill_tokens_per_s or results.prefill_tokens_per_s
    if prefill and prefill.median:
        found.append(
            MeasuredRate(
                phase="prefill", tokens_per_s=prefill.median, prompt_tokens=prompt, origin=origin
            )
        )
    if not found:
        raise InputError(f"{path}: holds no rate of decode or prefill; measure again")
    return found
