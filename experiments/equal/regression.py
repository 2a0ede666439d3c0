"""The same comparison for regression: R² on test rows, of real sets and planted ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.environment import mixed_engines
from experiments.equal.regression_sets import SETS
from experiments.errors import MethodError, UnknownDataError
from experiments.protocol import DECIMALS
from experiments.run import Experiment
from experiments.simulated_methods import (
    Floats,
    Subset,
    forward,
    lasso_slopes,
    least_squares,
    recipe,
    unscreened,
    without_screen,
)
from experiments.store import Row, check_comparable
from experiments.summary import Group, Mean, group
from experiments.table import MISSING, markdown_table
from experiments.task_data import TaskData

# One very bad prediction must not decide a mean.
LOWEST = -0.5
# Penalties of the lasso, and the smallest over the largest. The finer the path, the less there is
# to cut.
N_PENALTIES = 400
SPAN = 1e-3


@dataclass(frozen=True)
class RegressionSettings:
    """How subsets are compared at equal k."""

    sizes: tuple[int, ...] = (1, 2, 3, 5, 8, 12, 20)
    test_share: float = 0.3
    max_test: int = 1000


def load(name: str, data_dir: Path | None = None) -> TaskData:
    """Return a set by name; none is in a file."""
    del data_dir
    if name not in SETS:
        raise UnknownDataError(f"No data set is called {name!r}. There are: {', '.join(SETS)}.")
    return replace(SETS[name].make(), name=name)


def lasso(X: Floats, y: Floats, sizes: Sequence[int]) -> list[Subset]:
    """Return the largest slopes at the first penalty with as many features."""
    path = np.abs(lasso_slopes(X, y, N_PENALTIES, SPAN))
    n_nonzero = np.count_nonzero(path, axis=1)
    subsets = []
    for k in sizes:
        enough = np.flatnonzero(n_nonzero >= k)
        slopes = path[enough[0] if len(enough) else -1]
        largest = np.argsort(-slopes, kind="stable")[:k]
        subsets.append(np.sort(largest[slopes[largest] > 0.0]))
    return subsets


def abess(X: Floats, y: Floats, sizes: Sequence[int]) -> list[Subset]:
    """Select by splicing (abess), from its own start at each size."""
    from abess import LinearRegression

    varying = np.flatnonzero(np.ptp(X, axis=0) > 0)
    columns = X[:, varying]
    models = (LinearRegression(support_size=[k]).fit(columns, y) for k in sizes)
    return [varying[np.flatnonzero(model.coef_)] for model in models]


@dataclass(frozen=True)
class RegressionMethod:
    """A method with its name, its title and its subsets."""

    name: str
    title: str
    subsets: Callable[[Floats, Floats, Sequence[int]], list[Subset]]

    @property
    def settings(self) -> dict[str, object]:
        """What the result depends on besides the data."""
        return {"method": self.name}


_ALL = (
    RegressionMethod("recipe", "recipe", recipe),
    RegressionMethod("without-screen", "no screen", without_screen),
    RegressionMethod("unscreened", "unscreened, unshrunk", unscreened),
    RegressionMethod("lasso", "Lasso", lasso),
    RegressionMethod("forward", "forward", forward),
    RegressionMethod("abess", "abess", abess),
)
METHODS = {method.name: method for method in _ALL}


def get_method(name: str) -> RegressionMethod:
    """Return a method by name."""
    if name not in METHODS:
        raise MethodError(f"No method is called {name!r}. There are: {', '.join(METHODS)}.")
    if name == "abess" and find_spec("abess") is None:
        raise MethodError("The method 'abess' needs the package: pip install abess")
    return METHODS[name]


def split_rows(
    data: TaskData, repeat: int, settings: RegressionSettings
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return training and test rows, a function of the set's name and the repeat."""
    entropy = np.random.SeedSequence([repeat, *data.name.encode()])
    order = np.random.default_rng(entropy).permutation(len(data.y))
    n_test = int(np.ceil(settings.test_share * len(data.y)))
    n_train = SETS[data.name].n_train or len(data.y) - n_test
    return order[:n_train], order[n_train : n_train + settings.max_test]


def run_cell(
    data: TaskData, method: RegressionMethod, repeat: int, settings: RegressionSettings
) -> dict[str, Any]:
    """Run one split of one set by one method, on one core."""
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    train, test = split_rows(data, repeat, settings)
    y, y_test = data.y[train], data.y[test]
    with threadpool_limits(limits=1):
        scaler = StandardScaler().fit(data.X[train])
        X, X_test = scaler.transform(data.X[train]), scaler.transform(data.X[test])
        n_varying = np.count_nonzero(np.ptp(X, axis=0))
        sizes = [size for size in settings.sizes if size <= n_varying]
        start = time.process_time()
        subsets = method.subsets(X, y, sizes)
        seconds = time.process_time() - start
        scores = [score(X, y, X_test, y_test, subset) for subset in subsets]
    return {
        "rows": {"all": len(data.y), "train": len(y), "test": len(y_test)},
        "n_features": data.X.shape[1],
        "sizes": sizes,
        "subsets": [subset.tolist() for subset in subsets],
        "scores": [round(each, DECIMALS) for each in scores],
        "selection_seconds": round(seconds, 4),
    }


def score(X: Floats, y: Floats, X_test: Floats, y_test: Floats, subset: Subset) -> float:
    """Return R² of least squares, with predictions clipped to the training targets."""
    slopes = least_squares(X, y, subset)
    predictions = np.clip(y.mean() + (X_test - X.mean(axis=0)) @ slopes, y.min(), y.max())
    r2 = 1.0 - ((y_test - predictions) ** 2).sum() / ((y_test - y_test.mean()) ** 2).sum()
    return max(float(r2), LOWEST)


ABOUT = (
    "Subsets of equal size k, refitted by least squares; predictions are clipped to the range of "
    f"the training targets. R² on test rows, bounded below at {LOWEST}: the recipe's level, and "
    "recipe − the other, in pairs, mean over k and over the splits ± a standard error that allows "
    "for splits that overlap. Bold: beyond two of them. The last line is the mean over the sets."
)


def to_markdown(rows: Sequence[Row]) -> str:
    """Make the page, from the rows alone."""
    check_comparable(rows)
    groups, others = group(rows), [name for name in METHODS if name != "recipe"]
    body: list[list[str]] = []
    leads: dict[str, list[float]] = {name: [] for name in others}
    for data in SETS:
        if (data, "recipe") not in groups:
            continue
        mine = groups[data, "recipe"]
        cells = []
        for other in others:
            mean = difference(mine, groups.get((data, other)))
            leads[other] += [mean.value] if mean else []
            cells.append(_signed(mean))
        first = next(iter(mine.rows.values()))
        size = f"{first['rows']['train']} × {first['n_features']}"
        level = np.mean([np.mean(row["scores"]) for row in mine.rows.values()])
        body.append([SETS[data].title, size, str(len(mine.rows)), f"{level:.4f}", *cells])
    means = [_signed(Mean.of(leads[name]) if leads[name] else None) for name in others]
    body.append(["Mean", "", "", "", *means])
    header = ["Data", "size", "splits", "recipe", *(METHODS[o].title for o in others)]
    warning = mixed_engines(rows, "recipe")
    parts = ["# Regression at equal k", ABOUT, *([warning] if warning else [])]
    return "\n\n".join([*parts, markdown_table(header, body)])


def difference(one: Group, other: Group | None) -> Mean | None:
    """Return the mean of one − other over the splits that both have."""
    common = sorted(one.rows.keys() & other.rows.keys()) if other else []
    if other is None or not common:
        return None
    lead = [np.subtract(one.rows[r]["scores"], other.rows[r]["scores"]).mean() for r in common]
    n = next(iter(one.rows.values()))["rows"]
    return Mean.of(lead, n["test"] / (n["all"] - n["test"]))


def _signed(mean: Mean | None) -> str:
    """Show a difference with its error; in bold beyond two of them."""
    if mean is None:
        return MISSING
    text = f"{mean.value:+.4f} ± {mean.error:.4f}"
    return f"**{text}**" if abs(mean.value) > 2 * mean.error else text


def is_made_up(name: str) -> bool:
    """Return True for planted sets."""
    return name in SETS and SETS[name].planted


EXPERIMENT = Experiment(load, is_made_up, get_method, run_cell)
