"""Whether this laptop is ready: the product's own examination, as OK or FAIL per item."""

from __future__ import annotations

from stackchoice.doctor import examine
from stackchoice.workshop.table import Table

#: What a lesson does without, where the item fails.
WITHOUT = {
    "embedded engine": "lessons 1, 5, 6 and 7 then show recorded runs instead of measuring",
    "PDF reports": "nothing in the workshop needs it",
    "browser tests": "nothing in the workshop needs it",
    "probe of this machine": "lesson 6 then predicts nothing for this laptop",
}


def environment() -> Table:
    """Return one row per item: state, item, what was seen, and the fix where it fails."""
    return Table(
        [
            {
                "state": "OK" if f.ok else "not here" if f.optional else "FAIL",
                "item": f.item,
                "seen": f.text,
                "fix": "" if f.ok else "; ".join(filter(None, (f.fix, WITHOUT.get(f.item, "")))),
            }
            for f in examine()
        ]
    )
