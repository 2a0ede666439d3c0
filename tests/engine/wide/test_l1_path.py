"""The path of an L1 penalty over columns whose products are never made is that of the products."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import lars_path_gram

from safdr._engine.wide.criterion import WideCriterion
from safdr._engine.wide.l1_path import L1Path


def make_rows(seed, *, n_rows=40, n_columns=90):
    """Blocks of columns that are much alike, so that some go out again."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, n_columns))
    X += 2.0 * np.repeat(rng.normal(size=(n_rows, n_columns // 9)), 9, axis=1)
    X[:, ::11] += rng.normal(size=X[:, ::11].shape[1]) * y[:, None]
    return X * rng.lognormal(2.0, size=n_columns) + 5.0, y


def supports(criterion, usable, n_steps):
    """By scikit-learn's, on all products: the columns with slopes after each step."""
    A, d = criterion.block(usable), criterion.D[usable, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = lars_path_gram(d, A, n_samples=1, max_iter=n_steps, method="lasso")[2].T[1:]
    # A slope that is back at zero is so but for rounding.
    return [usable[np.abs(slopes) > 1e-12 * np.abs(slopes).max()] for slopes in path]


@pytest.mark.parametrize("ridge", [1e-6, 1.0])
@pytest.mark.parametrize("task", ["classes", "outputs"])
@pytest.mark.parametrize("seed", range(3))
def test_the_path_is_that_of_all_products(task, seed, ridge):
    X, y = make_rows(seed)
    criterion = (
        WideCriterion.of_classes(X, y, 2, None)
        if task == "classes"
        else WideCriterion.of_outputs(X, (y + X[:, :1].T / 50).T, None)
    ).with_ridge(ridge, 1.0)
    usable = np.setdiff1d(np.arange(90), [11, 40])
    path, expected = L1Path(criterion, usable), supports(criterion, usable, 60)
    sizes = [len(some) for some in expected]
    assert any(np.diff(sizes) < 0) == (ridge < 1.0)  # some go out, unless much is shrunk
    for n_steps, some in enumerate(expected, start=1):
        np.testing.assert_array_equal(path.columns_after(n_steps), some)


def test_shorter_paths_are_its_beginning_also_of_a_copy():
    criterion = WideCriterion.of_classes(*make_rows(0), 2, None).with_ridge(1e-3, 1.0)
    path = L1Path(criterion, np.arange(90))
    third = path.columns_after(3)
    copy = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(copy.columns_after(20), path.columns_after(20))
    np.testing.assert_array_equal(path.columns_after(3), third)


def test_where_the_penalty_is_gone_the_path_ends():
    X, y = make_rows(0)
    criterion = WideCriterion.of_classes(X, y, 2, None).with_ridge(1e-3, 1.0)
    path = L1Path(criterion, np.arange(6))
    n_steps = next(n for n in range(1, 50) if path.columns_after(n + 1) is None)
    assert path.columns_after(n_steps).tolist() == list(range(6))
    # What is left of d once there is no penalty is nothing.
    assert np.abs(path._left[:6]).max() < 1e-12
    for usable in (np.empty(0, dtype=np.int64), np.array([3])):
        same = np.zeros((40, 90)) if len(usable) else X
        nothing = WideCriterion.of_classes(same, y, 2, None).with_ridge(1e-3, 1.0)
        assert L1Path(nothing, usable).columns_after(1) is None
