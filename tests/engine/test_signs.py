"""The criterion where coefficients must have signs, against non-negative least squares."""

import numpy as np
import pytest
from scipy.optimize import nnls

from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.signs import SignedClimb, signed_values, wrong_signs


def random_criterion(rng, n_features):
    B = rng.normal(size=(n_features + 3, n_features))
    A = B.T @ B / (n_features + 3) + 1e-6 * np.eye(n_features)
    return Criterion(A, rng.normal(size=(n_features, 1)), np.ones(n_features), 1e-6)


def slow_value(criterion, subset, signs):
    """max 2 d'w - w'Aw: with A = L L', the distance of L⁻¹d to L'w, w ≥ 0; unsigned ones twice."""
    A, d = criterion.A[np.ix_(subset, subset)], criterion.D[subset, 0]
    L = np.linalg.cholesky(A)
    asked = signs[subset]
    turned = L.T * np.where(asked == 0, 1.0, asked)
    turned = np.hstack([turned, -L.T[:, asked == 0]])
    target = np.linalg.solve(L, d)
    return target @ target - nnls(turned, target)[1] ** 2


@pytest.mark.parametrize(("n_features", "size"), [(6, 1), (12, 5), (30, 20)])
def test_values_are_those_of_non_negative_least_squares(n_features, size):
    rng = np.random.default_rng(size)
    for _ in range(5):
        criterion = random_criterion(rng, n_features)
        signs = rng.integers(-1, 2, n_features).astype(float)
        subsets = np.array([rng.choice(n_features, size, replace=False) for _ in range(40)])
        values, n_wrong = signed_values(criterion, subsets, signs)
        slow = [slow_value(criterion, subset, signs) for subset in subsets]
        np.testing.assert_allclose(values, slow, rtol=1e-8, atol=1e-10)
        for subset, value, count in zip(subsets, values, n_wrong, strict=True):
            A, d = criterion.A[np.ix_(subset, subset)], criterion.D[subset, 0]
            w = np.linalg.solve(A, d)
            assert count == np.sum(w * signs[subset] < 0)
            assert value == pytest.approx(d @ w) if count == 0 else value < d @ w


def test_rows_may_be_filled_up_and_threads_change_nothing():
    rng = np.random.default_rng(0)
    criterion, signs = random_criterion(rng, 9), np.ones(9)
    whole = signed_values(criterion, np.array([[0, 3]]), signs)
    padded = signed_values(criterion, np.array([[0, 3, -1, -1]]), signs)
    np.testing.assert_array_equal(whole, padded)
    many = np.array([rng.choice(9, 4, replace=False) for _ in range(200)])
    np.testing.assert_array_equal(
        signed_values(criterion, many, signs, 1), signed_values(criterion, many, signs, 3)
    )


def test_climbing_with_few_neighbours_finds_what_climbing_with_all_finds(monkeypatch):
    rng = np.random.default_rng(4)
    criterion, signs = random_criterion(rng, 30), np.sign(rng.normal(size=30))
    allowed = AllowedSubsets.make(30, signs=signs, always_include=[2], at_most_one_of=[[3, 4]])
    start = allowed.random(6, 8, rng)
    best = [SignedClimb(criterion, allowed, None).candidates(start, 20)]
    monkeypatch.setattr("safdr._engine.signs.MOST_NEIGHBOURS", 40)
    best.append(SignedClimb(criterion, allowed, None).candidates(start, 20))
    full, few = (signed_values(criterion, some, signs)[0].max() for some in best)
    assert few == pytest.approx(full)
    for some in best:
        assert all(allowed.allows(allowed.selection_of(row)) for row in some)


def test_zero_is_right_and_what_was_not_fitted_is_wrong():
    signs = np.array([1.0, -1.0, 0.0])
    subsets = np.array([[0, 1], [0, 2], [2, -1], [0, 1]])
    coefficients = np.array([[0.0, -0.0], [-1.0, -1.0], [-1.0, 0.0], [np.nan, np.nan]])
    expected = [[False, False], [True, False], [False, False], [True, True]]
    np.testing.assert_array_equal(wrong_signs(subsets, coefficients, signs), expected)
