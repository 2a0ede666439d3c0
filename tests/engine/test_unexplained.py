"""The share of the variance that the path leaves: its formula, and whether it is honest."""

import numpy as np
import pytest
from sklearn.linear_model import lars_path_gram

from safdr._engine.criterion import make_criterion
from safdr._engine.moments import moments_of
from safdr._engine.screen.problem import Problem
from safdr._engine.screen.unexplained import MAX_SLOPES, SLOPES_PER_ROW, unexplained_share

RIDGE = 1e-6


def problem_of(X, Y, weight=None):
    criterion = make_criterion(moments_of(X, np.zeros(len(Y), dtype=int), 1, weight, Y), RIDGE)
    usable = np.ones(X.shape[1], dtype=bool)
    return Problem(criterion, usable, forced=np.empty(0, dtype=np.int64))


def planted(seed, n_rows, n_features, unexplained, n_slopes=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) + 0.4 * rng.normal(size=(n_rows, 1))
    signal = X[:, :n_slopes] @ rng.choice([-1.0, 1.0], n_slopes)
    signal *= np.sqrt((1.0 - unexplained) / np.var(signal))
    return X, signal + np.sqrt(unexplained) * rng.normal(size=n_rows)


def slow_share(X, y):
    """The least generalised cross-validation error at the knots of scikit-learn's path."""
    n = len(y)
    Z, target = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    gram = Z.T @ Z / n + RIDGE * np.eye(X.shape[1])
    knots, _, slopes = lars_path_gram(Z.T @ target, n * gram, n_samples=n, method="lasso")
    shares = [1.0]
    for b in slopes.T[knots > 1e-12]:  # the end of the path is no knot
        degrees = np.count_nonzero(b)
        if degrees > min(SLOPES_PER_ROW * n, MAX_SLOPES):
            break
        error = np.mean((target - Z @ b) ** 2) + RIDGE * b @ b
        shares.append(error / (1.0 - degrees / (n - 1)) ** 2)
    return min(shares)


@pytest.mark.parametrize(("n_rows", "n_features"), [(80, 12), (60, 30), (40, 90)])
@pytest.mark.parametrize("unexplained", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_least_generalised_error_on_the_path(seed, unexplained, n_rows, n_features):
    X, y = planted(seed, n_rows, n_features, unexplained)
    found = unexplained_share(problem_of(X, y[:, None]), n_rows)
    assert found == pytest.approx(slow_share(X, y), rel=1e-6)


@pytest.mark.parametrize("unexplained", [0.02, 0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize(("n_rows", "n_features"), [(400, 50), (250, 500)])
def test_it_is_honest_after_selection(n_rows, n_features, unexplained):
    shares = []
    for seed in range(6):
        X, y = planted(seed, n_rows, n_features, unexplained)
        shares.append(unexplained_share(problem_of(X, y[:, None]), n_rows))
    assert np.mean(shares) == pytest.approx(unexplained, abs=0.1)


def test_several_outputs_have_the_mean_of_their_shares():
    X, y = planted(0, 100, 15, 0.3)
    other = planted(1, 100, 15, 0.8)[1]
    alone = [unexplained_share(problem_of(X, each[:, None]), 100) for each in (y, other)]
    assert alone[0] != pytest.approx(alone[1], rel=0.1)
    both = unexplained_share(problem_of(X, np.column_stack([y, 50.0 * other])), 100)
    assert both == pytest.approx(np.mean(alone), rel=1e-9)


def test_weights_are_copies():
    X, y = planted(2, 70, 20, 0.5)
    weight = np.random.default_rng(0).integers(1, 4, 70)
    copies = problem_of(np.repeat(X, weight, axis=0), np.repeat(y, weight)[:, None])
    weighted = problem_of(X, y[:, None], weight.astype(float))
    expected = unexplained_share(copies, weight.sum())
    assert unexplained_share(weighted, weight.sum()) == pytest.approx(expected, rel=1e-9)


def test_few_rows_and_exact_outputs_keep_it_within_bounds():
    X, _ = planted(0, 60, 8, 0.5)
    assert unexplained_share(problem_of(X[:3], X[:3, :1]), 3) == 1.0
    assert 0.0 < unexplained_share(problem_of(X, X[:, :1] - X[:, 3:4]), 60) < 1e-4
