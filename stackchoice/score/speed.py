"""Speed questions of the cases: answered where an interval is fitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ASKS: dict[str, Callable[..., dict[str, Any]]] = {}
