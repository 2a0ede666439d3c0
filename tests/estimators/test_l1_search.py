"""The path of an L1 penalty: against coordinate descent, and within constraints."""

import numpy as np
import pytest

from safdr import Annealing, AnnealingSelector, Constraints, anneal_path
from searching import class_rows

QUICK = Annealing(n_replicas=10, max_steps=20)


def coordinate_descent(A, d, t, slopes):
    """The slopes at a penalty t, slowly."""
    for _ in range(200):
        for j in range(len(d)):
            rest = d[j] - A[j] @ slopes + A[j, j] * slopes[j]
            slopes[j] = np.sign(rest) * max(abs(rest) - t, 0.0) / A[j, j]
    return slopes


def test_features_on_the_path_of_an_l1_penalty_are_chosen(rng):
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 12)) + np.outer(y, [1.5, 1, 1, 0.5] + [0] * 8)
    X[:, 1] += X[:, 0]
    criterion = class_rows(X, y).criterion(1e-6)
    path = anneal_path(X, y, [1, 2, 3, 5], criterion="l1", annealing=QUICK, random_state=0)
    slopes, found = np.zeros(12), {}
    for t in np.geomspace(np.abs(criterion.D).max(), 0.1, 100):
        slopes = coordinate_descent(criterion.A, criterion.D[:, 0], t, slopes)
        size = np.count_nonzero(slopes)
        found.setdefault(size, np.flatnonzero(slopes).tolist())
    compared = [each for each in path if len(each.subset) in found]
    assert len(compared) >= 3
    for result in compared:
        assert result.subset.tolist() == found[len(result.subset)]
    assert path[-1].criterion_values[0] == pytest.approx(criterion.value(path[-1].subset))


def test_the_path_keeps_to_constraints(rng):
    y = np.arange(240) % 2
    X = rng.poisson(0.3 + 0.5 * np.outer(y, np.arange(12) % 2)) + 1e-3 * rng.normal(size=(240, 12))
    constraints = Constraints(
        always_include=[9], never_include=[7], at_most_one_of=[[2, 3, 4]], groups=[[0, 1]]
    )
    how = {"criterion": "l1", "annealing": QUICK, "random_state": 0}
    for size in (1, 3, 6):
        chosen = AnnealingSelector(size, constraints=constraints, **how).fit(X, y).subset_
        assert 9 in chosen
        assert 7 not in chosen
        assert len({2, 3, 4} & set(chosen)) <= 1
        assert len({0, 1} & set(chosen)) in (0, 2)
