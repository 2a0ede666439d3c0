"""Quick selectors, data for three tasks, and slow definitions of what selectors report.

Names of parameters that differ between selectors stand here alone.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import logsumexp
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    PopulationAnnealing,
)
from safdr._estimators.inputs import make_problem
from safdr._estimators.search import Recipe

QUICK = Annealing(n_replicas=8, max_steps=12)
# Without random batches: rows enter by their weights alone.
WHOLE = Annealing(n_replicas=8, max_steps=12, n_batches=1, batch_fraction=1.0)
POPULATION = PopulationAnnealing(n_replicas=8, max_steps=12)
TASKS = ("two", "three", "regression")
# Of `make_rows`: features that carry the target.
PLANTED = (1, 4, 6)


def make_rows(task="two", n_rows=240, n_features=8, seed=0):
    """Correlated features, three of which carry the target strongly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) + 0.4 * rng.normal(size=(n_rows, 1))
    value = X[:, list(PLANTED)] @ [1.5, -1.2, 1.0] + 0.8 * rng.logistic(size=n_rows)
    if task == "regression":
        return X, value
    if task == "two":
        return X, (value > np.median(value)).astype(int)
    return X, np.array(["high", "low", "mid"])[np.digitize(value, np.quantile(value, [0.4, 0.7]))]


def of_size(size=3, task="two", **parameters):
    """An unfitted selector of a number of features."""
    kind = AnnealingRegressorSelector if task == "regression" else AnnealingSelector
    return kind(size, **({"annealing": QUICK, "random_state": 0} | parameters))


def over_sizes(largest=4, task="two", **parameters):
    """An unfitted selector that tries the sizes 1 to `largest`."""
    kind = AnnealingRegressorSelectorCV if task == "regression" else AnnealingSelectorCV
    common = {"annealing": QUICK, "random_state": 0, "cv": splitter(task)}
    return kind(**({"sizes": largest} | common | parameters))


def of_one_size(size=3, task="two", **parameters):
    """An unfitted selector that tries one size on the default splits, as `safdr select -k` does."""
    return over_sizes(size, task, **({"sizes": [size], "cv": None} | parameters))


def as_published(largest=4, task="two", **parameters):
    """An unfitted selector with the method of the paper."""
    kind = AnnealingRegressorSelectorCV if task == "regression" else AnnealingSelectorCV
    common = {"annealing": QUICK, "random_state": 0}
    return kind.as_published(**({"sizes": largest} | common | parameters))


def splitter(task="two", n_splits=3):
    """A splitter with a seed of its own, which a plain loop can use too."""
    kind = KFold if task == "regression" else StratifiedKFold
    return kind(n_splits, shuffle=True, random_state=5)


def screened_columns(selector, X, y, size):
    """The columns that the screen keeps, which results do not hold."""
    recipe = Recipe.make(selector, make_problem(selector, X, y), 0)
    return recipe.columns(size)


def assert_same_answer(ours, theirs, rtol=0.0):
    """Two fitted selectors of the same kind found the same, to a relative difference."""
    np.testing.assert_array_equal(ours.subset_, theirs.subset_)
    close(ours.criterion_value_, theirs.criterion_value_, rtol)
    close(ours.result_.loss, theirs.result_.loss, rtol)
    close(ours.estimator_.coef_, theirs.estimator_.coef_, 1e3 * rtol)
    if hasattr(theirs, "cv_results_"):
        assert_same_table(ours.cv_results_, theirs.cv_results_, rtol)


def assert_same_table(ours, theirs, rtol=0.0):
    """Two tables of results hold the same columns, to a relative difference."""
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        if name.endswith("support"):
            np.testing.assert_array_equal(ours[name], values)
        else:
            close(ours[name], values, rtol)


def close(ours, theirs, rtol):
    """Two results are equal to the last bit, or to a difference relative to their scale."""
    if not rtol:
        np.testing.assert_array_equal(ours, theirs)
    else:
        scale = np.abs(np.asarray(theirs, dtype=float)).max()
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol * scale)


# ---- Slow definitions ----------------------------------------------------------------------------


def standardised(X, weight):
    """Columns with weighted mean 0 and variance 1."""
    mean = np.average(X, axis=0, weights=weight)
    return (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))


def least_loss(X, y, task="two", weight=None, C=1.0):
    """Loss of scikit-learn's model on all columns: mean loss of the rows, penalty included."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    Z = standardised(np.asarray(X, dtype=float), weight)
    if task == "regression":
        found = LinearRegression().fit(Z, y, sample_weight=weight).predict(Z)
        return np.average((y - found) ** 2, weights=weight)
    model = LogisticRegression(C=C, tol=1e-12, max_iter=10_000).fit(Z, y, sample_weight=weight)
    own = model.predict_proba(Z)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    penalty = 0.5 * np.sum(model.coef_**2) / (C * weight.sum())
    return np.average(-np.log(own), weights=weight) + penalty


def fisher_ratio(X, y, weight=None, shrinkage=0.0):
    """Trace of Fisher's ratio, by its definition: a class against the first, within-class scatter.

    For two classes (m1 - m0)' (S0 + S1)^-1 (m1 - m0), with covariances of each class.
    """
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    parts = [(X[y == label], weight[y == label]) for label in np.unique(y)]
    if len(parts) != 2:
        raise ValueError("Two classes are needed.")
    means = [np.average(rows, axis=0, weights=w) for rows, w in parts]
    scatter = sum(
        np.einsum("i,ij,ik->jk", w / w.sum(), rows - mean, rows - mean)
        for (rows, w), mean in zip(parts, means, strict=True)
    )
    scatter += shrinkage * np.diag(np.diag(scatter))
    return float((means[1] - means[0]) @ np.linalg.solve(scatter, means[1] - means[0]))


def r2_of_least_squares(X, y, weight=None):
    """Share of the variance that least squares explain."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    variance = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    return 1.0 - least_loss(X, y, "regression", weight) / variance


def pairs_in_order(scores, positive, weight=None):
    """Area under the ROC curve by counting pairs; a pair with equal scores counts half."""
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, dtype=float)
    won = total = 0.0
    for i in np.flatnonzero(positive):
        for j in np.flatnonzero(~np.asarray(positive, dtype=bool)):
            both = weight[i] * weight[j]
            won += both * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]))
            total += both
    return won / total


def log_softmax(scores):
    """Logarithms of probabilities."""
    return scores - logsumexp(scores, axis=1, keepdims=True)


# ---- Rules that choose a size --------------------------------------------------------------------
# Each gets the test scores, a row for each split, and returns which sizes are good enough.


def _one_sd(scores):
    best = scores.mean(axis=0).argmax()
    return scores.mean(axis=0) >= scores[:, best].mean() - scores[:, best].std()


def _one_se(scores):
    best = scores.mean(axis=0).argmax()
    error = scores[:, best].std(ddof=1) / np.sqrt(len(scores))
    return scores.mean(axis=0) >= scores[:, best].mean() - error


def _best(scores):
    return scores.mean(axis=0) >= scores.mean(axis=0).max()


RULES: dict[str, Callable] = {
    "one_sd": _one_sd,
    "one_se": _one_se,
    "best": _best,
}
PUBLISHED_RULE = "one_sd"


def size_by_rule(rule, scores, sizes):
    """The smallest size that a rule finds good enough."""
    return int(np.asarray(sizes)[RULES[rule](np.asarray(scores))].min())


def test_scores(results):
    """Scores of a fitted selector on test rows: a row for each split."""
    n_splits = sum(name.endswith("_test_score") and name.startswith("split") for name in results)
    return np.array([results[f"split{i}_test_score"] for i in range(n_splits)])


test_scores.__test__ = False
