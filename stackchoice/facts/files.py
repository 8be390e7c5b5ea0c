"""One file of the fact base as checked records, with its sources resolved."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from stackchoice.errors import FactsError
from stackchoice.facts.datum import Record
from stackchoice.facts.write import ordinary
from stackchoice.facts.yaml import MAX_FACTS_BYTES, read_facts, shown

R = TypeVar("R", bound=Record)


def read_tree(path: Path, folder: Path, digest: Any) -> dict[str, Any]:
    """Read one file of a folder of facts into the digest, its sources put in their places.

    FactsError where it cannot be.
    """
    try:
        raw = ordinary(path).read_bytes() if path.stat().st_size <= MAX_FACTS_BYTES else b""
    except OSError as error:
        raise FactsError(f"{path}: cannot be read ({error.strerror}); correct it") from None
    digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + raw + b"\0")
    return with_sources(read_facts(path), path)


def with_sources(tree: dict[str, Any], path: Path) -> dict[str, Any]:
    """Replace ``source: key`` by the entry of the file's own ``sources:`` table.

    FactsError where it has none of that key.
    """
    table = tree.pop("sources", {})
    if not isinstance(table, dict):
        raise FactsError(f"{path}: sources is {shown(table)}; write a mapping of key to source")

    def walk(node: Any) -> Any:
        if isinstance(node, dict):
            key = node.get("source")
            if isinstance(key, str):
                if key not in table:
                    raise FactsError(
                        f"{path}: source {key!r} is not in the file's sources: table; "
                        f"known: {', '.join(table) or 'none'}"
                    )
                node = {**node, "source": table[key]}
            return {k: walk(v) if k != "source" else v for k, v in node.items()}
        return [walk(v) for v in node] if isinstance(node, list) else node

    resolved: dict[str, Any] = walk(tree)
    return resolved


def checked(record: type[R], row: Any, path: Path | str) -> R:
    """Check one row; FactsError says what is wrong with file, record, field and value."""
    try:
        return record.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(p) for p in first["loc"])
        name = row.get("id", "") if isinstance(row, dict) else ""
        missing = first["type"] == "missing"
        given = "" if missing else f" ({shown(first['input'])})"
        fix = "add it ({} for a fact that nobody knows)" if missing else "correct it"
        place = " ".join(part for part in (shown(name), where) if part) or "a record"
        raise FactsError(f"{path}: {place}{given}: {first['msg']}; {fix} in this file") from None


def keyed(rows: list[Any], what: str) -> dict[str, Any]:
    """Return rows by their id, which each must have alone; FactsError where two share one."""
    found = {row.id: row for row in rows}
    if len(found) != len(rows):
        twice = sorted({r.id for r in rows if sum(x.id == r.id for x in rows) > 1})
        raise FactsError(f"data: {what} given twice: {', '.join(twice)}; keep one of each")
    return found


def rows_of(tree: dict[str, Any], key: str, path: Path) -> list[Any]:
    """Return the one list of a file; FactsError for a misspelt key, which would not be read."""
    if strange := [name for name in tree if name != key]:
        raise FactsError(f"{path}: unknown key {shown(strange[0])!r}; write {key}: and sources:")
    if not isinstance(rows := tree.get(key), list):
        raise FactsError(f"{path}: {key} is {shown(rows)}; write a list of records under it")
    return rows
