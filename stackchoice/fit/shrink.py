"""Effects shrunk towards zero, and intervals from errors on groups that were held out.

Logarithms of measured over ceiling are explained by slopes (depth, overhead) and by the effects of
classes, engines and devices. Each kind of effect has a prior spread: few rows give a small effect
and a wide one, an unseen member counts as zero with its whole prior spread, so a prediction backs
off to coarser classes by itself and widens where data is thin.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from stackchoice.facts.datum import Record
from stackchoice.facts.records import ShareModel

#: Part of a row's weight that is shared among the rows of its group: 1 would weigh groups alike.
GROUP_POWER = 0.8

#: A residual beyond this (in logarithms) pulls with constant force, so outliers do not decide.
HUBER = 0.4

#: Error of one row apart from effects, in logarithms: what the prior spreads are set against.
NOISE = 0.2

SWEEPS = 5

#: What a row counts that its own source warns of.
DOUBTFUL_WEIGHT = 0.1

#: A spread that stands for none.
TINY = 1e-6

#: Prior spread of the logarithm of what a rough trait multiplies the scatter by.
ROUGH_PRIOR = 2.0

#: Added to a residual before its logarithm is taken, so that a lucky row does not count as exact.
ROUGH_FLOOR = 0.05


class Point(Record):
    """One row: its features, the logarithm to explain, the group it is held out with.

    ``rough`` names what makes such rows scatter more, so that others may have narrower intervals.
    A row that is not ``sound`` (its source warns of it) weighs less in the effects.
    """

    features: dict[str, float]
    value: float
    group: str
    rough: tuple[str, ...] = ()
    sound: bool = True


def fit(points: list[Point], priors: dict[str, float], *, nominal: float = 0.8) -> ShareModel:
    """Fit effects on all points and the quantiles of errors with each group left out in turn.

    Parameters
    ----------
    priors
        Prior spread of every kind of feature: the text before ``:`` in its name.
    nominal
        Share of held-out errors, each group weighing the same, that the interval shall hold.
    """
    system = _System(points, priors)
    effects, pull = system.settle()
    model = ShareModel(terms=system.terms(effects), priors=priors, spread=NOISE)
    errors, doubt = np.zeros(len(points)), np.zeros(len(points))
    for rows in system.rows.values():
        held = effects if len(system.rows) == 1 else system.solve(pull, without=rows)
        bare = model.model_copy(update={"terms": system.terms(held), "spread": TINY})
        for i in rows:
            middle, doubt[i] = bare.predict(points[i].features)
            errors[i] = points[i].value - middle
    model = model.model_copy(update=system.scatter(errors))
    sds = [
        (doubt[i] ** 2 + model.own_spread(points[i].rough) ** 2) ** 0.5 for i in range(len(points))
    ]
    weights = [1 / len(system.rows[p.group]) for p in points]
    tail = (1 - nominal) / 2
    low, middle, high = (
        weighted_quantile(errors / np.array(sds), weights, q) for q in (tail, 0.5, 1 - tail)
    )
    return model.model_copy(
        update={
            "low": round(min(low, middle), 4), "middle": round(middle, 4),
            "high": round(max(high, middle), 4),
            "rows": len(points), "groups": len(system.rows),
        }
    )  # fmt: skip


def weighted_quantile(values: Iterable[float], weights: Iterable[float], share: float) -> float:
    """Smallest value at which ``share`` of the weight is reached (0 where there is no value)."""
    value, weight = np.array(list(values)), np.array(list(weights))
    if not len(value):
        return 0.0
    order = np.argsort(value, kind="stable")
    reached = np.cumsum(weight[order]) / weight.sum()
    return float(value[order][min(len(value) - 1, int(np.searchsorted(reached, share)))])


class _System:
    """Ridge regression with Huber's weights on the features of the points.

    Each group has an effect of its own, which keeps one source's habit out of the others; a new
    source's habit is unknown, so its spread goes into that of the rows.
    """

    def __init__(self, points: list[Point], priors: dict[str, float]) -> None:
        self.points = points
        self.rows: dict[str, list[int]] = {}
        for i, point in enumerate(points):
            self.rows.setdefault(point.group, []).append(i)
        self.names = sorted({name for p in points for name in p.features})
        column = {name: i for i, name in enumerate(self.names)}
        own = len(self.names)
        self.matrix = np.zeros((len(points), own + len(self.rows)))
        self.weight = np.zeros(len(points))
        for k, rows in enumerate(self.rows.values()):
            self.matrix[rows, own + k] = 1
            self.weight[rows] = len(rows) ** -GROUP_POWER / NOISE**2
        for i, point in enumerate(points):
            for name, value in point.features.items():
                self.matrix[i, column[name]] = value
        self.weight[[i for i, p in enumerate(points) if not p.sound]] *= DOUBTFUL_WEIGHT
        self.target = np.array([p.value for p in points])
        kinds = [name.split(":")[0] for name in self.names] + ["source"] * len(self.rows)
        self.ridge = np.diag([priors[kind] ** -2 for kind in kinds])

    def solve(self, pull: np.ndarray, without: list[int] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and their spread, some rows left out."""
        weight = self.weight * pull
        weight[list(without)] = 0
        scaled = self.matrix.T * weight
        inverse = np.linalg.inv(scaled @ self.matrix + self.ridge)
        return inverse @ (scaled @ self.target), np.sqrt(np.diag(inverse))

    def settle(self) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Return the effects and how much each row pulls once outliers have been tamed."""
        pull = np.ones(len(self.points))
        for _ in range(SWEEPS):
            effects = self.solve(pull)
            rest = self.target - self.matrix @ effects[0]
            pull = np.minimum(1, HUBER / np.maximum(np.abs(rest), 1e-12))
        return effects, pull

    def terms(self, effects: tuple[np.ndarray, np.ndarray]) -> dict[str, tuple[float, float]]:
        """Effects and spreads by name, those of the groups left out."""
        pairs = zip(*effects, strict=True)
        rounded = [(round(float(v), 4), round(float(sd), 4)) for v, sd in pairs]
        return dict(zip(self.names, rounded, strict=False))

    def scatter(self, errors: np.ndarray) -> dict[str, Any]:
        """Spread of a row of a new source, and by which factor each rough trait widens it."""
        even = np.array([1 / len(self.rows[p.group]) for p in self.points])
        traits = sorted({trait for p in self.points for trait in p.rough})
        design = np.array([[1.0, *(t in p.rough for t in traits)] for p in self.points])
        ridge = np.diag([0.0] + [ROUGH_PRIOR**-2] * len(traits))
        level = np.log(np.abs(errors) + ROUGH_FLOOR)
        scaled = design.T * even
        factors = np.linalg.solve(scaled @ design + ridge, scaled @ level)
        scale = weighted_quantile(np.abs(errors) / np.exp(design @ factors), even, 0.68)
        spread = float(np.exp(factors[0])) * scale
        return {
            "spread": round(max(spread, TINY), 4),
            "rough": {
                t: round(float(np.exp(f)), 3) for t, f in zip(traits, factors[1:], strict=True)
            },
        }
