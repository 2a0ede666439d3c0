"""A criterion over many columns says what the criterion with all products says."""

import numpy as np
import pytest

from safdr._engine.criterion import fisher_criterion, r2_criterion
from safdr._engine.moments import joint_moments, within_moments
from safdr._engine.wide import criterion as module
from safdr._engine.wide.criterion import WideCriterion


def make_pair(task, ridge, weighted):
    """The criterion both ways, on the same rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 30)) @ rng.normal(size=(30, 30))
    X[:, 4] = 1.0
    weight = rng.random(50) + 0.1 if weighted else None
    if task == "classes":
        codes = np.arange(50) % 3
        X[:, 9] = codes  # separates
        full = fisher_criterion(within_moments(X, codes, 3, weight), ridge=ridge)
        return full, WideCriterion.of_classes(X, codes, 3, weight).with_ridge(ridge, 1.0)
    Y = X[:, :2] @ rng.normal(size=(2, 2)) + rng.normal(size=(50, 2))
    full = r2_criterion(joint_moments(X, Y, weight), ridge=ridge)
    return full, WideCriterion.of_outputs(X, Y, weight).with_ridge(ridge, 1.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ridge", [1e-6, "auto"])
@pytest.mark.parametrize("task", ["classes", "outputs"])
def test_it_says_the_same(task, ridge, weighted):
    full, wide = make_pair(task, ridge, weighted)
    some = np.array([0, 3, 4, 9, 29])
    rows = np.hstack([part for _, part in wide.against_all(some)])
    np.testing.assert_allclose(rows, full.A[some], atol=1e-12)
    np.testing.assert_allclose(wide.D @ wide.D.T, full.D @ full.D.T, atol=1e-11)
    np.testing.assert_allclose(wide.scale, full.scale, rtol=1e-12)
    assert wide.ridge == pytest.approx(full.ridge, rel=1e-9)


def test_random_directions_tell_an_automatic_ridge_of_very_many_rows(monkeypatch):
    full, _ = make_pair("classes", "auto", weighted=False)
    monkeypatch.setattr(module, "MOST_ROWS_EXACT", 0)
    _, wide = make_pair("classes", "auto", weighted=False)
    assert wide.ridge != full.ridge
    assert wide.ridge == pytest.approx(full.ridge, rel=0.3)


def test_an_automatic_ridge_of_one_live_column_is_the_least():
    """As `Criterion` has it: nothing is to be shrunk."""
    X = np.full((20, 9), 0.25)
    for n_live in (0, 1):
        X[:, :n_live] = np.arange(20.0)[:, None]
        criterion = WideCriterion.of_classes(X, np.arange(20) % 2, 2, None)
        assert criterion.with_ridge("auto", 1.0).ridge == 1e-6
