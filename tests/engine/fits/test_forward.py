"""Forward selection on the penalised log-loss, against a slow one that fits every model."""

import numpy as np
import pytest
from scipy import sparse

import reference
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.fits.forward import MAX_TRIED, PlacedForward
from safdr._estimators.training_data import ClassData
from safdr._estimators.validation import SeenColumns


def rows(seed, n_rows=90, n_features=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) + rng.normal(size=(n_rows, 1))
    slopes = rng.normal(size=n_features) * (rng.random(n_features) < 0.4)
    y = (X @ slopes + 2.0 * rng.logistic(size=n_rows) > 0).astype(np.int64)
    return X * rng.uniform(0.1, 10.0, n_features), y


def forward(X, y, columns=None, *, C=1.0, ridge=0.2, weight=None, allowed=None):
    n_features = X.shape[1]
    data = ClassData.validate(SeenColumns(), X, y, weight).usable()
    allowed = AllowedSubsets.without_limits(n_features) if allowed is None else allowed
    columns = (lambda size: np.arange(n_features)) if columns is None else columns
    return data.forward(C, allowed, data.criterion(ridge), columns)


def slow_path(X, y, columns, n, C=1.0):
    """Add the feature whose model has the smallest loss, n times."""
    path = []
    for _ in range(n):
        rest = [j for j in columns(len(path) + 1) if j not in path]
        path.append(min(rest, key=lambda j: reference.cross_entropy(X, y, [*path, j], C)))
    return path


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_few_features_are_all_tried(seed, C):
    X, y = rows(seed)
    path = slow_path(X, y, lambda size: np.arange(12), 5, C)
    found = forward(X, y, C=C)
    for size in (5, 2, 1, 3):  # in any order
        assert found.subset(size).tolist() == sorted(path[:size])


@pytest.mark.parametrize("seed", range(4))
def test_each_step_is_taken_in_the_screen_of_the_size_that_it_leads_to(seed):
    X, y = rows(seed)
    order = np.random.default_rng(seed).permutation(12)

    def columns(size):
        return np.sort(order[: size + 2])

    path = slow_path(X, y, columns, 6)
    found = forward(X, y, columns)
    for size in range(1, 7):
        assert found.subset(size).tolist() == sorted(path[:size])
        assert set(path[:size]) <= set(columns(size).tolist())
        # A search among these columns gets their places.
        placed = PlacedForward(found, columns(size)).candidates(size)
        assert columns(size)[placed[0]].tolist() == sorted(path[:size])


def test_of_many_features_those_with_the_best_score_statistics_are_tried(monkeypatch):
    X, y = rows(5, 150, 60)
    found = forward(X, y)
    criterion, fit, tried = found._criterion, found._fitter.fit, []

    def noted(subsets, **how):
        tried.append(subsets)
        return fit(subsets, **how)

    monkeypatch.setattr(found._fitter, "fit", noted)
    path = found._path_to(4)
    A = criterion.A - criterion.ridge * np.eye(60)
    for step, subsets in enumerate(tried):
        before, free = path[:step], np.setdiff1d(np.arange(60), path[:step])
        p = np.full(len(y), y.mean())
        if step:
            fits = fit(np.sort(before)[None])
            logits = X[:, np.sort(before)] @ fits.coefficients[0] + fits.intercepts[0]
            p = 1.0 / (1.0 + np.exp(-logits))
        residuals = y - p - np.mean(y - p)
        own = [
            1.0 - A[j, before] @ np.linalg.solve(A[np.ix_(before, before)], A[before, j]) / A[j, j]
            for j in free
        ]
        score = (X[:, free].T @ residuals / criterion.scale[free]) ** 2 / np.array(own)
        best = set(free[np.argsort(-score)[:MAX_TRIED]].tolist())
        assert len(subsets) == MAX_TRIED
        assert {int(np.setdiff1d(subset, before)[0]) for subset in subsets} == best
        assert path[step] in best


def test_constraints_hold():
    X, y = rows(1)
    allowed = AllowedSubsets.make(
        12, always_include=[7], never_include=[0, 1], at_most_one_of=[[2, 3, 4], [5, 6]]
    )
    found = forward(X, y, allowed=allowed)
    assert found.subset(0) is None
    assert found.subset(1).tolist() == [7]
    subset = set(found.subset(6).tolist())
    assert 7 in subset
    assert not subset & {0, 1}
    assert len(subset & {2, 3, 4}) <= 1
    assert len(subset & {5, 6}) <= 1
    # One of each set, and 7 to 11: nothing more is allowed.
    assert len(found.subset(7)) == 7
    assert found.subset(8) is None


def test_duplicates_do_not_enter_however_much_is_shrunk():
    X, y = rows(2)
    X = np.column_stack([X, 3.0 - 2.0 * X[:, :6]])
    subset = forward(X, y, ridge=5.0).subset(12)
    assert len({j % 12 for j in subset}) == 12


def test_weights_are_copies_and_sparse_rows_are_rows():
    X, y = rows(3)
    X[np.abs(X) < 0.5] = 0.0
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    expected = forward(np.repeat(X, weight.astype(int), axis=0), np.repeat(y, weight.astype(int)))
    for form in (np.asarray, sparse.csr_array):
        found = forward(form(X), y, weight=weight)
        for size in range(1, 6):
            assert found.subset(size).tolist() == expected.subset(size).tolist()
