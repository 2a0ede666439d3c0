"""What columns add beside a subset, and in the places of its parts, against values from scratch."""

import numpy as np
import pytest

from safdr._engine.criterion import Criterion
from safdr._engine.nearby import Products


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_gains_are_differences_of_values(n_outputs):
    rng = np.random.default_rng(n_outputs)
    rows = rng.normal(size=(60, 9)) @ rng.normal(size=(9, 9))
    rows[:, 8] = rows[:, 1]  # a copy of a member
    A = np.corrcoef(rows.T) + 1e-6 * np.eye(9)
    criterion = Criterion(A, rng.normal(size=(9, n_outputs)), np.ones(9), 1e-6)
    subset, parts = np.array([1, 3, 4, 6]), [np.array([0]), np.array([1, 3])]
    products = Products(
        subset,
        A[np.ix_(subset, subset)],
        A[subset],
        np.diag(A),
        criterion.D,
        criterion.collinear_tol,
    )
    gains = products.gains(parts)
    stays = [subset, np.delete(subset, parts[0]), np.delete(subset, parts[1])]
    for gain, rest in zip(gains, stays, strict=True):
        assert (gain[subset] == -np.inf).all()
        for column in (0, 2, 5, 7):
            with_it = criterion.value(np.append(rest, column))
            assert gain[column] == pytest.approx(with_it - criterion.value(rest), rel=1e-6)
    assert (gains[[0, 2], 8] == -np.inf).all()
    assert np.isfinite(gains[1, 8])  # without the member the copy can take its place
