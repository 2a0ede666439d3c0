"""Rows that are read in passes, against the same rows in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from safdr import (
    Annealing,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Stream,
    evaluate_subsets,
)

# Losses of the same models, fitted in passes and in memory.
SAME = 1e-7


def check(rng: np.random.Generator) -> None:
    """Search rows in passes, and measure what was found with all rows at hand."""
    X, y, weight = random_rows(rng)
    if rng.random() < 0.25:
        outputs = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
        check_regression(rng, X, outputs, weight)
        return
    C = float(rng.choice([0.01, 1.0, 100.0, np.inf], p=[0.2, 0.4, 0.2, 0.2]))
    how: dict[str, Any] = {"C": C, "random_state": int(rng.integers(99)), "annealing": QUICK}
    many = rng.random() < 0.5
    selector = AnnealingSelectorCV(max_features=3, **how) if many else AnnealingSelector(2, **how)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*separate the classes")
        try:
            fit(rng, selector, X, y, weight)
        except ValueError as error:
            # Buckets and samples are drawn without looking at the class.
            if not any(each in str(error) for each in TOO_FEW):
                raise
            return
    measured = evaluate_subsets(X, y, [selector.subset_], sample_weight=weight, C=C)
    loss, separated = float(measured.losses[0]), bool(measured.fits.separated[0])
    assert np.isfinite(selector.estimator_.coef_).all()
    told = bool(selector.result_.separated[selector.result_.best])
    assert told == separated, (told, separated)
    assert separated or abs(selector.loss_ - loss) <= SAME, (selector.loss_, loss)
    if many:
        scores = selector.cv_results_["mean_test_score"]
        assert np.all((scores >= 0) & (scores <= 1)), scores


TOO_FEW = ("too few are spread", "too small for the", "each needs at least 2")
QUICK = Annealing(n_replicas=20, max_steps=30)


def check_regression(rng, X, y, weight) -> None:
    """Least squares follow from moments."""
    search = AnnealingRegressorSelectorCV(max_features=3, annealing=QUICK, random_state=0)
    fit(rng, search, X, y, weight)
    found = evaluate_subsets(X, y, [search.subset_], sample_weight=weight, task="regression")
    loss = float(found.losses[0])
    # To rounding: what is left of outputs of 1e8 has as many digits less.
    assert abs(search.loss_ - loss) <= 1e-6 * loss + 1e-12 * y.var(), (search.loss_, loss)


def fit(rng, selector, X, y, weight) -> None:
    """Read the rows in chunks of any length, with a sample of any size below all."""
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y}
    table = pa.table(columns if weight is None else columns | {"w": weight})
    length, sample_rows = int(rng.integers(20, 3000)), int(rng.integers(60, len(X) - 1))
    source = Stream(lambda: table.to_batches(max_chunksize=length), sample_rows=sample_rows)
    selector.fit(source, "y", sample_weight=None if weight is None else "w")


def random_rows(rng: np.random.Generator):
    """Rows in an awkward order, labels of two to four classes, weights or none."""
    n_rows, n_features = int(rng.integers(200, 6000)), int(rng.integers(3, 12))
    if rng.random() < 0.2:
        # More features than rows.
        n_rows, n_features = int(rng.integers(150, 400)), int(rng.integers(200, 600))
    X = rng.normal(size=(n_rows, n_features))
    z = X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=n_rows)
    n_classes = int(rng.choice([2, 2, 2, 3, 4]))
    codes = np.digitize(z, np.quantile(z, np.sort(rng.uniform(0.05, 0.95, n_classes - 1))))
    for j in range(2, n_features):
        X[:, j] = COLUMNS[rng.integers(len(COLUMNS))](rng, X[:, j], codes)
    if rng.random() < 0.2:
        # A copy, or nearly one.
        X[:, -1] = X[:, 0] + rng.choice([0.0, 1e-3]) * rng.normal(size=n_rows)
    if rng.random() < 0.3:
        order = np.argsort(codes if rng.random() < 0.5 else X[:, -1], kind="stable")
        X, codes = X[order], codes[order]
    weight = rng.integers(0, 4, n_rows).astype(float) if rng.random() < 0.3 else None
    labels = (codes, codes == 1, np.array(["a", "b", "c", "d"])[codes])
    return X, labels[rng.integers(3) if n_classes == 2 else rng.choice([0, 2])], weight


COLUMNS = (
    lambda rng, x, codes: x,
    lambda rng, x, codes: np.exp(2 * x),
    lambda rng, x, codes: x + 1e8,
    lambda rng, x, codes: (rng.random(len(x)) < 0.003) * 1.0,
    lambda rng, x, codes: ((codes == 0) & (rng.random(len(x)) < 0.02)) * 1.0,
    lambda rng, x, codes: ((codes == 1) ^ (rng.random(len(x)) < 0.05)) * 1.0,
    lambda rng, x, codes: rng.standard_cauchy(len(x)),
    lambda rng, x, codes: np.full(len(x), 0.1),
    lambda rng, x, codes: np.round(x),
    lambda rng, x, codes: np.linspace(0, 1e6, len(x)) + x,
)
