"""Models that are fitted in passes, against a slow optimiser on all rows at once."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from safdr._engine.streaming.models import (
    FINAL_TOL,
    LossPass,
    PassingRows,
    StreamedModel,
    curvature_on,
    fit_exactly,
)


def mean_loss(theta, X, codes, weight, penalties):
    """Penalised cross-entropy, slow and obvious."""
    logits = np.c_[X, np.ones(len(X))] @ theta.T
    if len(theta) == 1:
        logits = np.c_[np.zeros(len(X)), logits]
    losses = logsumexp(logits, axis=1) - logits[np.arange(len(X)), codes]
    return np.average(losses, weights=weight) + 0.5 * np.sum(theta**2 * penalties)


def slope_of_loss(theta, X, codes, weight, penalties):
    """Its gradient."""
    ones = np.c_[X, np.ones(len(X))]
    logits = ones @ theta.T
    if len(theta) == 1:
        logits = np.c_[np.zeros(len(X)), logits]
    excess = softmax(logits, axis=1) - np.eye(logits.shape[1])[codes]
    gradient = (excess * (weight / weight.sum())[:, None]).T @ ones
    return gradient[-len(theta) :] + theta * penalties


def optimum(X, codes, weight, penalties, n_rows):
    """Its smallest value."""
    shape = (n_rows, X.shape[1] + 1)

    def of(function):
        return lambda theta: function(theta.reshape(shape), X, codes, weight, penalties)

    def slope(theta):
        return of(slope_of_loss)(theta).ravel()

    start, options = np.zeros(n_rows * shape[1]), {"gtol": 1e-9}
    return minimize(of(mean_loss), start, jac=slope, method="BFGS", options=options).fun


def run_on(X, buckets, codes, weight, n_chunks=5):
    """Passes over rows in chunks."""

    def run(task):
        sums = task.empty()
        for rows in np.array_split(np.arange(len(X)), n_chunks):
            columns = X[rows][:, task.features].T
            of_rows = None if weight is None else weight[rows]
            task.add(sums, PassingRows(columns, buckets[rows], codes[rows], of_rows))
        return sums

    return run


def problem(kind, rng, n=3000):
    X = rng.normal(size=(n, 6))
    n_classes = 3 if kind == "three classes" else 2
    codes = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.logistic(size=n), [0.5, 2.0][: n_classes - 1])
    if kind == "rare class":
        codes = (X[:, 0] + rng.logistic(size=n) > 5).astype(int)
    elif kind == "strong 0/1 feature":
        X[:, 0] = codes ^ (rng.random(n) < 0.01)
    elif kind == "heavy tails":
        X[:, 2] = rng.standard_cauchy(n)
        X[:, 3] = np.exp(3 * rng.normal(size=n))
    elif kind == "near copies":
        X[:, 1] = X[:, 0] + 1e-3 * rng.normal(size=n)
    return X, codes, n_classes


KINDS = ("plain", "three classes", "rare class", "strong 0/1 feature", "heavy tails", "near copies")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["sample", "nothing"])
@pytest.mark.parametrize("weighted", [False, True])
def test_models_reach_the_optimum_of_all_rows(kind, start, weighted):
    rng = np.random.default_rng(KINDS.index(kind))
    X, codes, n_classes = problem(kind, rng)
    weight = rng.uniform(0.2, 3, len(X)) if weighted else None
    buckets = rng.integers(0, 4, len(X))
    n_rows = 1 if n_classes == 2 else n_classes
    center, scale = X.mean(axis=0), X.std(axis=0)
    models, wanted = [], []
    for subset, train in (([0, 1, 2], [0, 1, 2]), ([0, 3], [1, 3]), ([1, 2, 3, 5], [0, 1, 2, 3])):
        subset = np.array(subset)
        learns = np.isin(np.arange(4), train)
        penalties = np.append(np.full(len(subset), 1e-3), 0.0)
        factor = np.linspace(1, 2, n_classes)
        model = StreamedModel(
            subset=subset,
            coefficients=np.zeros((n_rows, len(subset) + 1)),
            center=center[subset],
            scale=scale[subset],
            penalties=penalties,
            learns_from=learns,
            class_factor=factor,
        )
        some = rng.permutation(len(X))[:600]
        if start == "sample":
            ones = np.ones(600)
            model.curvature = curvature_on(model, X[some][:, subset].T, codes[some], ones)
        models.append(model)
        rows = learns[buckets]
        Z = (X[rows][:, subset] - center[subset]) / scale[subset]
        of_rows = factor[codes[rows]] * (1.0 if weight is None else weight[rows])
        wanted.append((Z, codes[rows], of_rows, penalties))
    fit_exactly(models, run_on(X, buckets, codes, weight), 0.5, FINAL_TOL)
    for model, (Z, labels, of_rows, penalties) in zip(models, wanted, strict=True):
        assert model.converged
        assert not model.separated
        told = mean_loss(model.coefficients, Z, labels, of_rows, penalties)
        assert model.loss == pytest.approx(told, abs=1e-9)
        assert told <= optimum(Z, labels, of_rows, penalties, n_rows) + 1e-8


def test_separated_classes_are_told():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    codes = (X[:, 0] > 0).astype(int)
    X[:, 0] += 0.1 * np.sign(X[:, 0])
    model = StreamedModel(
        subset=np.array([0, 1]),
        coefficients=np.zeros((1, 3)),
        center=np.zeros(2),
        scale=np.ones(2),
        penalties=np.zeros(3),
        learns_from=np.ones(1, dtype=bool),
        class_factor=np.ones(2),
    )
    fit_exactly([model], run_on(X, np.zeros(400, dtype=int), codes, None), np.log(2))
    assert model.separated
    assert np.isfinite(model.coefficients).all()
    assert np.all((X @ model.coefficients[0, :2] + model.coefficients[0, 2] > 0) == (codes == 1))


def test_sums_of_parts_are_those_of_all_rows():
    rng = np.random.default_rng(1)
    X, codes, _ = problem("plain", rng)
    model = StreamedModel(
        subset=np.array([1, 4]),
        coefficients=rng.normal(size=(1, 3)),
        center=np.zeros(2),
        scale=np.ones(2),
        penalties=np.zeros(3),
        learns_from=np.ones(4, dtype=bool),
        class_factor=np.ones(2),
    )
    task, buckets = LossPass([model]), rng.integers(0, 4, len(X))
    (whole,) = run_on(X, buckets, codes, None, 1)(task)
    half = len(X) // 2
    parts = [
        run_on(X[rows], buckets[rows], codes[rows], None)(task)[0]
        for rows in (slice(0, half), slice(half, None))
    ]
    total = parts[0] + parts[1]
    assert total.loss == pytest.approx(whole.loss, rel=1e-12)
    np.testing.assert_allclose(total.gradient, whole.gradient, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(total.curvature, whole.curvature, rtol=1e-10)
