"""Rows that are read in chunks against the same rows in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa

from fuzz.cases import Case
from fuzz.oracles import cross_entropy, scale_of, squared_error
from fuzz.selectors import evaluate, make_search, make_selector, models_of
from safdr import Stream

# Rounding of the loss of given coefficients, in units of the loss's scale.
MAX_ERROR = 1e-6
TOO_FEW = (
    "with all classes in every fold",
    "too few are spread",
    "too small for the",
    "needs at least 2",
)


def check(rng: np.random.Generator) -> None:
    """Search rows in chunks, and compare the model with that of all rows in memory."""
    case = make(rng)
    has_cv = rng.random() < 0.5
    selector = make_search(case) if has_cv else make_selector(case)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(?s).*separate the classes")
        try:
            fit(rng, selector, case)
        except ValueError as error:
            # Buckets and samples are drawn without looking at the class.
            if not any(each in str(error) for each in TOO_FEW):
                raise
            return
    model = selector.estimator_
    assert np.isfinite(model.coef_).all()
    if not has_cv:  # whose slopes are scaled
        check_model(selector, case)
    if has_cv:
        scores = selector.cv_results_["mean_test_score"]
        assert np.all((scores >= 0) & (scores <= 1)), scores


def check_model(selector: Any, case: Case) -> None:
    """The model is that of the selected subset on all rows."""
    subset, model = selector.subset_, selector.estimator_
    evaluation = evaluate(case, [subset])
    separated = bool(models_of(evaluation)[2][0])
    if separated:
        return
    own, loss = loss_of(model, subset, case), float(evaluation.losses[0])
    unit = 1.0 if case.n_classes else max(1.0, float(np.var(case.y)))
    assert abs(own - loss) <= MAX_ERROR * unit, f"{subset}: loss {loss}, of the model {own}"


def loss_of(model: Any, subset: Any, case: Case) -> float:
    """Return the penalised loss of a model on all rows, from its coefficients."""
    X, weight = case.X[:, subset], case.row_weights()
    scores = X @ model.coef_.T + model.intercept_
    if not case.n_classes:
        return squared_error(scores, case.y, weight)
    scores = scores[:, 0] if scores.shape[1] == 1 else scores
    squares = float(np.sum((model.coef_ * scale_of(X, weight)) ** 2))
    return cross_entropy(scores, case.y, weight) + squares / (2.0 * case.C * weight.sum())


def fit(rng: np.random.Generator, selector: Any, case: Case) -> None:
    """Read the rows in chunks of any length, with a sample of any size below all."""
    columns = {f"x{j}": case.X[:, j] for j in range(case.n_features)} | {"y": case.y}
    weight = {} if case.weight is None else {"w": case.weight}
    table = pa.table(columns | weight)
    length, sample_rows = int(rng.integers(20, 3000)), int(rng.integers(60, len(case.X) - 1))
    source = Stream(lambda: table.to_batches(max_chunksize=length), sample_rows=sample_rows)
    selector.fit(source, "y", sample_weight="w" if weight else None)


def make(rng: np.random.Generator) -> Case:
    """Return a case with a few hundred or thousand rows."""
    X, y, weight = random_rows(rng)
    n_classes, C = len(np.unique(y)), float(rng.choice([0.01, 1.0, 100.0, np.inf]))
    if rng.random() < 0.25:
        n_classes, C = 0, np.inf
        y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
    return Case(
        X,
        y,
        n_classes,
        size=int(rng.integers(2, 4)),
        weight=weight,
        C=C,
        shrinkage="auto",
        annealing={"n_replicas": 20, "max_steps": 30},
        seed=int(rng.integers(99)),
    )


def random_rows(rng: np.random.Generator):
    """Return rows in an awkward order, labels of two to four classes, weights or none."""
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
