"""Questions about a selector and its rows, with quick parameters; and slow definitions."""

import itertools

import numpy as np

from helpers import references
from helpers.selectors import QUICK, WHOLE, of_size
from safdr import anneal_path, evaluate_subsets, near_optimal, prove, substitutes

# No proof in a test takes a second; a slow machine may take any time.
LONG = 1e6
# The ridge of a criterion without shrinkage.
RIDGE = 1e-6
# Parameters of a criterion that is Fisher's ratio, or R².
PLAIN = {"shrinkage": None, "annealing": WHOLE}
# The default shrinkage.
SHRUNK = {"annealing": WHOLE}


def with_plain_criterion(size=3, task="two", **parameters):
    """Return an unfitted selector by the plain criterion."""
    return of_size(size, task, **(PLAIN | parameters))


def evaluated(X, y, subsets, task="two", weight=None, **parameters):
    """Return criterion values and losses of subsets."""
    return evaluate_subsets(
        with_plain_criterion(task=task, **parameters), X, y, subsets, sample_weight=weight
    )


def along_path(X, y, sizes, task="two", *, n_jobs=None, **parameters):
    """Return results of several sizes, one for each."""
    selector = of_size(task=task, **({"annealing": QUICK} | parameters))
    return anneal_path(selector, X, y, sizes, n_jobs=n_jobs)


def proven(X, y, size, task="two", weight=None, seconds=LONG, **parameters):
    """Return what is known about the best subset of a size."""
    selector = with_plain_criterion(task=task, **parameters)
    return prove(selector, X, y, size=size, sample_weight=weight, time_limit=seconds)


def near_best(X, y, size, rtol, task="two", n=1000, **parameters):
    """Return the subsets whose criterion value is within a share of the best."""
    selector = with_plain_criterion(task=task, **parameters)
    how = {"rtol": rtol, "max_subsets": n, "time_limit": LONG}
    return near_optimal(selector, X, y, size=size, **how)


def replacements(selector, X, y, **how):
    """Return the rows of the table of substitutes as dicts; a feature is its column index."""
    table = substitutes(selector, X, y, **how)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    for row in rows:
        for side in ("selected", "replacement"):
            row[side] = None if row[side] is None else int(row[side][1:])
    return rows


# ---- Slow definitions ----------------------------------------------------------------------------


def all_subsets(n_features, size):
    """Return all subsets of a size, as lists."""
    return [list(subset) for subset in itertools.combinations(range(n_features), size)]


def criterion_value(X, y, subset, weight=None, ridge=RIDGE):
    """Return Fisher's ratio of labels, or R² of outputs, by definition."""
    subset = list(subset)
    if np.asarray(y).dtype.kind == "f":
        Y = np.asarray(y).reshape(len(y), -1)
        return references.r2(X, Y, subset, weight, ridge)
    codes = np.unique(y, return_inverse=True)[1]
    return references.fisher_ratio(X, codes, subset, weight, ridge)


def oas_shrinkage(X, y):
    """Return what is added to each variance of two classes: 3 a / (1 - a) of it.

    With a of Chen, Wiesel, Eldar and Hero (2010), as scikit-learn's OAS has it, for the correlation
    within classes, of as many rows as the classes would have if they were balanced.
    """
    parts = [X[y == label] for label in np.unique(y)]
    scatter = sum(np.cov(part.T, bias=True) for part in parts)
    deviation = np.sqrt(np.diag(scatter))
    R = scatter / np.outer(deviation, deviation)
    n, p = len(parts) ** 2 / sum(1 / len(part) for part in parts), len(R)
    squares = np.mean(R**2)
    a = (squares + 1) / ((n + 1) * (squares - 1 / p))
    return 3 * a / (1 - a)


def nogueira(selected):
    """Return the stability by definition: a row of `selected` for each resample.

    S. Nogueira, K. Sechidis, G. Brown, 2018: one minus the mean sample variance of the columns over
    that of a random selection of as many features.
    """
    n, n_features = selected.shape
    variances = [np.var(column, ddof=1) for column in selected.T]
    share = selected.sum() / (n * n_features)
    return 1.0 - np.mean(variances) / (share * (1 - share))
