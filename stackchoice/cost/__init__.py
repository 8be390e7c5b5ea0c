"""Managed against rented against owned, per month, with people; and the break-even volume.

Formulas are written once and serve Decimal, float and numpy arrays (:mod:`numbers`): tokens,
machines, hybrid, breakeven. ``billing`` puts listed prices into them, ``records`` is what
comes out. The bill of a machine that is always on does not depend on its utilisation.
"""

from stackchoice.cost.billing import owned_energy_usd, owned_parts_usd
from stackchoice.cost.breakeven import break_even, crossover
from stackchoice.cost.numbers import decimal
from stackchoice.cost.records import (
    BillLine,
    BreakEven,
    CostLine,
    Curve,
    Exit,
    Faster,
    Hybrid,
    Purchase,
    Redundancy,
    Turn,
    Volume,
)
from stackchoice.cost.tokens import metered_usd

__all__ = [
    "BillLine", "BreakEven", "CostLine", "Curve", "Exit", "Faster", "Hybrid",
    "Purchase", "Redundancy", "Turn", "Volume", "break_even", "crossover", "decimal",
    "metered_usd", "owned_energy_usd", "owned_parts_usd",
]  # fmt: skip
