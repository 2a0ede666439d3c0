"""Questions about a selection, each asked of a selector and its rows."""

import itertools

import numpy as np

from helpers.selectors import QUICK, WHOLE, of_size
from safdr import Moments, anneal_path, evaluate_subsets, near_ties, prove

# No proof in a test takes a second; a slow machine may take any time.
LONG = 1e6
# Parameters of a criterion that is Fisher's ratio, or R², with no more shrinkage than it needs.
PLAIN = {"ridge": 1e-6, "annealing": WHOLE}


# With the shrinkage that the number of rows asks for.
SHRUNK = {"ridge": "auto", "annealing": WHOLE}


def _name(task):
    return "regression" if task == "regression" else "classification"


def evaluated(X, y, subsets, task="two", weight=None, C=None):
    """Criterion values and losses of subsets."""
    how = {"ridge": PLAIN["ridge"]} | ({} if C is None else {"C": C})
    return evaluate_subsets(X, y, subsets, task=_name(task), sample_weight=weight, **how)


def along_path(X, y, sizes, task="two", **how):
    """Results of several sizes, one for each."""
    common = {"annealing": QUICK, "random_state": 0}
    return anneal_path(X, y, sizes, task=_name(task), **(common | how))


def proven(X, y, size, task="two", weight=None, constraints=None, seconds=LONG):
    """What is known about the best subset of a size."""
    rows = Moments.from_rows(X, y, task=_name(task), sample_weight=weight)
    return prove(rows, size, constraints=constraints, ridge=PLAIN["ridge"], time_limit=seconds)


def near_best(X, y, size, rtol, task="two", n=1000):
    """Subsets whose criterion value is within a share of the best."""
    rows = Moments.from_rows(X, y, task=_name(task))
    how = {"ridge": PLAIN["ridge"], "time_limit": LONG}
    return near_ties(rows, size, within=rtol, at_most=n, **how)


def replacements(selector, X, y, **how):
    """Rows of the table of substitutes, as dicts; a feature is its column's number."""
    table = selector.substitutes(X, y, backend="dict", **how)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    for row in rows:
        for side in ("chosen", "replacement"):
            row[side] = None if row[side] is None else int(row[side][1:])
    return rows


def all_subsets(n_features, size):
    """All subsets of a size, as lists."""
    return [list(subset) for subset in itertools.combinations(range(n_features), size)]


def with_plain_criterion(size=3, task="two", **parameters):
    """An unfitted selector by the plain criterion."""
    return of_size(size, task, **(PLAIN | parameters))


def oas_shrinkage(X, y):
    """What is added to each variance of two classes: 3 a / (1 - a) of it.

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


def nogueira(chosen):
    """Stability by definition: a row of `chosen` for each resample, a column for each feature.

    S. Nogueira, K. Sechidis, G. Brown, 2018: 1 less the mean sample variance of the columns over
    that of a random choice of as many features.
    """
    n, n_features = chosen.shape
    variances = [np.var(column, ddof=1) for column in chosen.T]
    share = chosen.sum() / (n * n_features)
    return 1.0 - np.mean(variances) / (share * (1 - share))
