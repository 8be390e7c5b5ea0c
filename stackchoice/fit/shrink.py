"""Effects shrunk towards zero, and intervals from errors on groups that were held out.

Logarithms of measured over ceiling are explained by slopes (depth, overhead) and by the effects of
classes, engines and devices. Each kind of effect has a prior spread: few rows give a small effect
and a wide one, an unseen member counts as zero with its whole prior spread, so a prediction backs
off to coarser classes by itself and widens where data is thin.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stackchoice.facts.datum import Record
from stackchoice.facts.shares import ShareModel

#: Part of a row's weight that is shared among the rows of its group: 1 would weigh groups alike.
GROUP_POWER = 0.8

#: A residual beyond this (in logarithms) pulls with constant force, so outliers do not decide.
HUBER = 0.4

#: Error of one row apart from effects, in logarithms: what the prior spreads are set against.
NOISE = 0.2

SWEEPS = 5

#: What a row counts that its own source warns of.
DOUBTFUL_WEIGHT = 0.1

#: How much the variance of the effects counts beside that of a row. A new source differs in more
#: than the priors know, so the scatter of held-out rows (which holds it too) counts for most.
DOUBT = 1 / 3

#: Correlations of effects weaker than this are left out of what is written.
WEAK = 0.02

#: Shares of held-out errors, each group weighing the same: 80 % lie between the ends.
ENDS = (0.1, 0.5, 0.9)

#: The least spread a row may have.
TINY = 1e-6

#: Prior spread of the logarithm of what a rough trait multiplies the scatter by.
ROUGH_PRIOR = 1.4

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


def fit(
    points: list[Point], priors: dict[str, float], *, doubtful_weight: float = DOUBTFUL_WEIGHT
) -> ShareModel:
    """Fit effects on all points and the quantiles of errors with each group left out in turn.

    Parameters
    ----------
    priors
        Prior spread of every kind of feature: the text before ``:`` in its name.
    doubtful_weight
        What a row counts that its own source warns of.
    """
    system = _System(points, priors, doubtful_weight)
    effects, inverse, pull = system.settle()
    errors, doubt = np.zeros(len(points)), np.zeros(len(points))
    for rows in system.rows.values():
        held = (effects, inverse) if len(system.rows) == 1 else system.solve(pull, without=rows)
        errors[rows], doubt[rows] = system.held_out(rows, *held)
    scattered = system.scatter(errors)
    model = ShareModel(
        terms=system.terms(effects, inverse), together=system.together(inverse), priors=priors,
        doubt=round(DOUBT, 4), **scattered,
    )  # fmt: skip
    own = np.array([model.own_spread(point.rough) for point in points])
    sds = np.sqrt(own**2 + DOUBT * doubt)
    weights = [1 / len(system.rows[p.group]) for p in points]
    low, middle, high = (weighted_quantile(errors / sds, weights, q) for q in ENDS)
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

    def __init__(
        self, points: list[Point], priors: dict[str, float], doubtful_weight: float
    ) -> None:
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
        self.weight[[i for i, p in enumerate(points) if not p.sound]] *= doubtful_weight
        self.target = np.array([p.value for p in points])
        kinds = [name.split(":")[0] for name in self.names] + ["source"] * len(self.rows)
        self.ridge = np.diag([priors[kind] ** -2 for kind in kinds])

    def solve(self, pull: np.ndarray, without: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Return effects and their covariance, some rows left out."""
        weight = self.weight * pull
        weight[list(without)] = 0
        scaled = self.matrix.T * weight
        inverse = np.linalg.inv(scaled @ self.matrix + self.ridge)
        return inverse @ (scaled @ self.target), inverse

    def settle(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return effects, covariance, and how much rows pull once outliers have been tamed."""
        pull = np.ones(len(self.points))
        for _ in range(SWEEPS):
            effects, inverse = self.solve(pull)
            rest = self.target - self.matrix @ effects
            pull = np.minimum(1, HUBER / np.maximum(np.abs(rest), 1e-12))
        return effects, inverse, pull

    def held_out(
        self, rows: list[int], effects: np.ndarray, inverse: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return errors of rows and the variance of what was expected, the groups' own left out."""
        own = len(self.names)
        seen, known = self.matrix[rows, :own], inverse[:own, :own]
        errors = self.target[rows] - seen @ effects[:own]
        return errors, np.einsum("ij,jk,ik->i", seen, known, seen)

    def terms(self, effects: np.ndarray, inverse: np.ndarray) -> dict[str, tuple[float, float]]:
        """Effects and spreads by name, those of the groups left out."""
        pairs = zip(self.names, effects, np.sqrt(np.diag(inverse)), strict=False)
        return {name: (round(float(v), 4), round(float(sd), 4)) for name, v, sd in pairs}

    def together(self, inverse: np.ndarray) -> dict[str, dict[str, float]]:
        """Correlations of effects that some row combines, each pair once, weak ones left out."""
        own = len(self.names)
        met = (self.matrix[:, :own] != 0).astype(float)
        sd = np.sqrt(np.diag(inverse)[:own])
        correlation = inverse[:own, :own] / np.outer(sd, sd)
        strong = np.triu((met.T @ met > 0) & (np.abs(correlation) >= WEAK), 1)
        found: dict[str, dict[str, float]] = {}
        for i, j in zip(*np.nonzero(strong), strict=True):
            row = found.setdefault(self.names[i], {})
            row[self.names[j]] = round(float(correlation[i, j]), 3)
        return found

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
