"""The path of an L1 penalty: scikit-learn's, and what an optimum must be where that one fails."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.linear_model import lars_path_gram

from safdr._engine.l1_path import L1Path
from safdr._engine.wide.criterion import WideCriterion


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
        np.testing.assert_array_equal(np.sort(path.after(n_steps).features), some)


def kinds(name, rng):
    """Rows on which features tie, follow from each other or say the same, and wild ones."""
    y = np.arange(24) % 2
    if name == "binary":
        return (rng.random((24, 60)) < 0.15 + 0.1 * np.outer(y, np.arange(60) < 5)) * 1.0, y
    if name == "one-hot":
        return np.concatenate([np.eye(6)[rng.integers(0, 6, 24)] for _ in range(10)], axis=1), y
    noise = {
        "heavy tails": rng.standard_t(1.2, size=(24, 60)),
        "huge offsets": rng.normal(size=(24, 60)) + 1e7,
        "all scales": rng.normal(size=(24, 60)) * 10.0 ** rng.integers(-8, 9, 60),
        "rare class": rng.normal(size=(24, 60)),
    }
    if name in noise:
        y = (np.arange(24) < 3) * 1 if name == "rare class" else y
        return noise[name] + noise[name].std(axis=0) * np.outer(y, np.arange(60) < 5), y
    columns = rng.normal(size=(24, 20)) + np.outer(y, np.arange(20) < 3)
    return np.concatenate([columns, columns, -columns], axis=1), y


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("ridge", [1e-6, 1.0])
@pytest.mark.parametrize(
    "name",
    ["binary", "one-hot", "copies", "heavy tails", "huge offsets", "all scales", "rare class"],
)
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_the_optimum_at_every_step(name, seed, ridge, wide):
    """Members have as much left as the penalty, by the sign of their slopes; no other has more.

    But for copies of members, which are passed by.
    """
    X, y = kinds(name, np.random.default_rng(seed))
    many = WideCriterion.of_classes(X, y, 2, None).with_ridge(ridge, 1.0)
    usable = np.flatnonzero(many.scale)
    full = many.among(np.arange(60))
    path = L1Path(many if wide else full, usable)
    alike = full.A[np.ix_(usable, usable)] - ridge * np.eye(len(usable))
    size = np.sqrt(np.diagonal(alike))
    copies = set(usable[np.sum(np.abs(alike) > (1 - 1e-9) * np.outer(size, size), axis=0) > 1])
    n_steps = 0
    while path.after(n_steps + 1) is not None and n_steps < 80:
        n_steps += 1
        slopes = np.zeros(60)
        # One that has just come in has none yet.
        slopes[path._members] = path._slopes
        left = full.D[:, 0] - full.A @ slopes
        passed_by = usable[~path._outside[usable] & ~np.isin(usable, path._members)]
        assert set(passed_by) <= copies
        penalty = np.abs(np.delete(left[usable], np.searchsorted(usable, passed_by))).max()
        told = slopes != 0
        np.testing.assert_allclose(left[told], penalty * np.sign(slopes[told]), atol=1e-8)
        step = path.after(n_steps)
        assert set(np.flatnonzero(told)) == set(step.features.tolist())
        np.testing.assert_array_equal(slopes[step.features], step.slopes)
    assert n_steps > 8


def test_shorter_paths_are_its_beginning_also_of_a_copy():
    criterion = WideCriterion.of_classes(*make_rows(0), 2, None).with_ridge(1e-3, 1.0)
    path = L1Path(criterion, np.arange(90))
    third = path.after(3).features
    copy = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(copy.after(20).features, path.after(20).features)
    np.testing.assert_array_equal(path.after(3).features, third)


def test_where_the_penalty_is_gone_the_path_ends():
    X, y = make_rows(0)
    criterion = WideCriterion.of_classes(X, y, 2, None).with_ridge(1e-3, 1.0)
    path = L1Path(criterion, np.arange(6))
    n_steps = next(n for n in range(1, 50) if path.after(n + 1) is None)
    assert sorted(path.after(n_steps).features.tolist()) == list(range(6))
    # What is left of d once there is no penalty is nothing.
    assert np.abs(path._left[:6]).max() < 1e-12
    for usable in (np.empty(0, dtype=np.int64), np.array([3])):
        same = np.zeros((40, 90)) if len(usable) else X
        nothing = WideCriterion.of_classes(same, y, 2, None).with_ridge(1e-3, 1.0)
        assert L1Path(nothing, usable).after(1) is None


@pytest.mark.parametrize("ridge", [0.0, 1e-6, 1.0, 100.0])
@pytest.mark.parametrize("n_copies", [2, 25])
def test_copies_are_passed_by_and_are_no_steps(ridge, n_copies):
    """In other units, signs and in single precision; with a ridge each has something of its own."""
    X, y = make_rows(4, n_columns=18)
    others = [X * unit for unit in np.random.default_rng(0).choice([-2.5, 0.3, 1.0], n_copies)]
    copied = np.hstack([X, *others]).astype(np.float32).astype(np.float64)
    alone, among = (
        L1Path(WideCriterion.of_classes(rows, y, 2, None).with_ridge(ridge, 1.0), every)
        for rows, every in [(X, np.arange(18)), (copied, np.arange(copied.shape[1]))]
    )
    for n_steps in range(1, 16):
        step, expected = among.after(n_steps), alone.after(n_steps)
        np.testing.assert_array_equal(np.sort(step.features % 18), np.sort(expected.features))
        np.testing.assert_allclose(np.abs(step.slopes), np.abs(expected.slopes), rtol=1e-4)
