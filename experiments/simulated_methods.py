"""The methods of the simulations: each returns candidate slopes, one row for each model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.errors import MethodError
from safdr import Annealing, AnnealingRegressorSelector

Floats = NDArray[np.float64]
Models = Floats
Subset = NDArray[np.int64]

# Penalties of the lasso, and blends of its slopes with those of least squares, as in the article.
N_PENALTIES = 50
N_BLENDS = 10
# Factors of the recipe's slopes, tuned as the blends are.
FACTORS = (0.25, 0.5, 0.75, 1.0)
# The smallest penalty over the largest, as in glmnet with more features than rows.
SPAN = 0.01


def selected(selector: Any, X: Floats, y: Floats) -> Subset:
    """Fit a selector and return the positions of its features."""
    return np.flatnonzero(selector.fit(X, y).get_support())


def recipe(X: Floats, y: Floats, sizes: Sequence[int]) -> list[Subset]:
    """Select with the default selector of each size."""
    return [selected(AnnealingRegressorSelector(k, random_state=0), X, y) for k in sizes]


def unscreened(X: Floats, y: Floats, sizes: Sequence[int]) -> list[Subset]:
    """Select among all features: no screen, no shrinkage, no penalty."""
    make = AnnealingRegressorSelector.as_published
    return [selected(make(k, random_state=0), X, y) for k in sizes]


def without_screen(X: Floats, y: Floats, sizes: Sequence[int]) -> list[Subset]:
    """Select among all features with the shrinkage of the recipe."""
    annealing = Annealing(screen=None)
    selectors = (AnnealingRegressorSelector(k, annealing=annealing, random_state=0) for k in sizes)
    return [selected(selector, X, y) for selector in selectors]


def forward(X: Floats, y: Floats, sizes: Sequence[int]) -> list[Subset]:
    """Add the feature that lowers the residual sum of squares most."""
    centred, residual = X - X.mean(axis=0), y - y.mean()
    initial = np.einsum("ij,ij->j", centred, centred)
    free = initial > 0.0
    chosen: list[int] = []
    while free.any() and len(chosen) < min(max(sizes), len(X) - 1):
        squares = np.einsum("ij,ij->j", centred, centred)
        # A column that the chosen ones explain has nothing to add.
        free &= squares > 1e-10 * initial
        gains = np.where(free, (residual @ centred) ** 2 / np.where(free, squares, 1.0), -1.0)
        j = int(np.argmax(gains))
        if not free[j]:
            break
        direction = centred[:, j] / np.sqrt(squares[j])
        centred -= np.outer(direction, direction @ centred)
        residual -= direction * (direction @ residual)
        free[j] = False
        chosen.append(j)
    return [np.sort(np.array(chosen[:k], dtype=np.int64)) for k in sizes]


def least_squares(X: Floats, y: Floats, subset: Subset) -> Floats:
    """Return the slopes of least squares on a subset, 0 elsewhere."""
    slopes = np.zeros(X.shape[1])
    columns = X[:, subset] - X[:, subset].mean(axis=0)
    slopes[subset] = np.linalg.lstsq(columns, y - y.mean(), rcond=None)[0]
    return slopes


def lasso_slopes(X: Floats, y: Floats, n_penalties: int, span: float) -> Models:
    """Return the slopes of the lasso, from the penalty that leaves out all features downwards."""
    from sklearn.linear_model import lasso_path

    centred, output = X - X.mean(axis=0), y - y.mean()
    largest = np.abs(output @ centred).max() / len(X)
    penalties = largest * np.geomspace(1.0, span, n_penalties)
    _, slopes, _ = lasso_path(centred, output, alphas=penalties, max_iter=10000)
    return np.asarray(slopes.T)


def lasso(X: Floats, y: Floats, sizes: Sequence[int]) -> Models:
    """Return the slopes at each penalty of the path."""
    del sizes
    return lasso_slopes(X, y, N_PENALTIES, SPAN)


def relaxed_lasso(X: Floats, y: Floats, sizes: Sequence[int]) -> Models:
    """Blend the slopes of the lasso with those of least squares on its features."""
    models: list[Floats] = []
    for slopes in lasso(X, y, sizes):
        active = np.flatnonzero(slopes)
        full = least_squares(X, y, active)
        models += [w * slopes + (1.0 - w) * full for w in np.linspace(0.0, 1.0, N_BLENDS)]
    return np.array(models)


def refitted(
    select: Callable[[Floats, Floats, Sequence[int]], Iterable[Subset]],
) -> Callable[[Floats, Floats, Sequence[int]], Models]:
    """Fit least squares to every subset that a method selects."""

    def models(X: Floats, y: Floats, sizes: Sequence[int]) -> Models:
        return np.array([least_squares(X, y, subset) for subset in select(X, y, sizes)])

    return models


def scaled_recipe(X: Floats, y: Floats, sizes: Sequence[int]) -> Models:
    """Multiply the slopes of each model of the recipe by common factors."""
    models = refitted(recipe)(X, y, sizes)
    return np.vstack([factor * models for factor in FACTORS])


@dataclass(frozen=True)
class SimulatedMethod:
    """A method with its name, its title and its candidate models."""

    name: str
    title: str
    models: Callable[[Floats, Floats, Sequence[int]], Models]
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, object]:
        """What the result depends on besides the data."""
        return {"method": self.name, **self.about}


_PATH = {"n_penalties": N_PENALTIES, "span": SPAN}
_ALL = (
    SimulatedMethod("recipe", "recipe", refitted(recipe)),
    SimulatedMethod("scaled", "recipe, slopes scaled", scaled_recipe, {"factors": FACTORS}),
    SimulatedMethod("without-screen", "no screen", refitted(without_screen)),
    SimulatedMethod("unscreened", "unscreened, unshrunk", refitted(unscreened)),
    SimulatedMethod("lasso", "Lasso", lasso, _PATH),
    SimulatedMethod("relaxed", "relaxed Lasso", relaxed_lasso, {**_PATH, "n_blends": N_BLENDS}),
    SimulatedMethod("forward", "forward", refitted(forward)),
)
METHODS = {method.name: method for method in _ALL}


def get_method(name: str) -> SimulatedMethod:
    """Return a method by name."""
    if name not in METHODS:
        raise MethodError(f"No method is called {name!r}. There are: {', '.join(METHODS)}.")
    return METHODS[name]
