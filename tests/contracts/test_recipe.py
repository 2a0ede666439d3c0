"""The recipe: screen by the L1 path, anneal, exchange and choose by the penalised loss."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit

from helpers.selectors import least_loss, screened_columns
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    anneal_path,
)

STRUCTURES = ("independent", "one factor", "neighbours", "spikes")


def problem(seed, structure="independent", n_rows=80, n_features=9):
    rng = np.random.default_rng([seed, STRUCTURES.index(structure)])
    X = rng.normal(size=(n_rows, n_features))
    if structure == "one factor":
        X += 1.5 * rng.normal(size=(n_rows, 1))
    if structure == "neighbours":
        for j in range(1, n_features):
            X[:, j] = 0.9 * X[:, j - 1] + 0.44 * X[:, j]
    if structure == "spikes":
        X = X**3 * (rng.random(X.shape) < 0.4)
    slopes = rng.normal(size=n_features) * (rng.random(n_features) < 0.5)
    y = (X @ slopes + 1.5 * rng.logistic(size=n_rows) > 0).astype(int)
    y[:2] = [0, 1]
    return X * rng.uniform(0.1, 10.0, n_features), y


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("width", ["auto", 6])
@pytest.mark.parametrize("seed", range(3))
def test_no_subset_of_the_screen_has_a_smaller_loss(seed, width, structure):
    X, y = problem(seed, structure)
    size = 2 + seed % 3
    selector = AnnealingSelector(size, annealing=Annealing(screen=width), random_state=0).fit(X, y)
    columns = screened_columns(selector, X, y, size)
    assert selector.result_.n_screened == len(columns) == (9 if width == "auto" else 6)
    least = min(least_loss(X[:, list(some)], y) for some in combinations(columns, size))
    assert selector.result_.loss <= least * (1 + 1e-7)


def test_each_size_is_a_function_of_itself_alone():
    X, y = problem(3, "one factor", 120, 40)
    together = anneal_path(AnnealingSelector(random_state=0), X, y, [2, 7, 4])
    splits = list(ShuffleSplit(2, random_state=0).split(X))
    search = AnnealingSelectorCV(sizes=[3, 4, 5], cv=splits, random_state=0)
    search.fit(X, y)
    for size, result in zip([2, 7, 4], together, strict=True):
        alone = AnnealingSelector(size, random_state=0).fit(X, y)
        np.testing.assert_array_equal(alone.result_.subsets, result.subsets)
        assert alone.result_.n_screened == result.n_screened == size + 9
    for i, (train, _) in enumerate(splits):
        alone = AnnealingSelector(4, random_state=0).fit(X[train], y[train])
        masks = search.cv_results_[f"split{i}_support"]
        np.testing.assert_array_equal(masks[1], alone.support_)


# ---- Duplicates ---------------------------------------------------------------------------------

COPIES = {
    "exact": lambda x: x.copy(),
    "sign": lambda x: -x,
    "scaled": lambda x: 1e3 * x + 7.0,
    "float32": lambda x: (2.0 * x + 1.0).astype(np.float32),
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("shrinkage", ["auto", None, 0.9])
def test_duplicates_are_reported_and_never_selected_together(kind, shrinkage):
    X, y = problem(1)
    if kind == "float32":
        X = X.astype(np.float32)
    copies = np.column_stack([COPIES[kind](X[:, j]) for j in range(4)])
    X = np.column_stack([X, copies])
    for size in (2, 5, 9):
        selector = AnnealingSelector(size, shrinkage=shrinkage, random_state=0).fit(X, y)
        assert selector.duplicates_ == [(j, 9 + j) for j in range(4)]
        assert selector.subset_.max() < 9
        assert selector.result_.subsets.max() < 9


def test_duplicates_of_outputs_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    X = np.column_stack([X, -2.0 * X[:, 1]])
    selector = AnnealingRegressorSelector(3, random_state=0).fit(X, X[:, 1] + rng.normal(size=60))
    assert selector.duplicates_ == [(1, 5)]
    assert 5 not in selector.subset_


# ---- The width ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("screen", "size", "width"), [("auto", 4, 13), (None, 4, 40), (10, 4, 10), (2, 4, 4)]
)
def test_the_width_of_the_screen(screen, size, width):
    X, y = problem(2, n_rows=120, n_features=40)
    how = {"annealing": Annealing(screen=screen), "random_state": 0}
    selector = AnnealingSelector(size, **how).fit(X, y)
    assert selector.result_.n_screened == width
    costly = AnnealingSelector(size, feature_cost=np.full(40, 1e-3), **how).fit(X, y)
    assert costly.result_.n_screened == (40 if screen == "auto" else width)


def mean_difference(X, y):
    return float(np.abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)).sum())


@pytest.mark.parametrize(("screen", "width"), [("auto", 12), (None, 12), (7, 7)])
def test_a_callable_is_screened_by_a_number_only(screen, width):
    X, y = problem(2, n_features=12)
    annealing = Annealing(n_replicas=5, max_steps=5, screen=screen)
    selector = AnnealingSelector(2, criterion=mean_difference, annealing=annealing, random_state=0)
    assert selector.fit(X, y).result_.n_screened == width


def test_weights_are_copies_to_the_screen_and_the_shrinkage():
    X, y = problem(4, n_rows=100, n_features=40)
    weight = np.random.default_rng(0).integers(1, 4, 100)
    annealing = Annealing(n_batches=1, batch_fraction=1.0)
    selector = AnnealingSelector(4, annealing=annealing, random_state=0)
    weighted = selector.fit(X, y, weight)
    found, shrinkage, width = weighted.subset_, weighted.shrinkage_, weighted.result_.n_screened
    assert width == 4 + 3 + weight.sum() // 20
    copies = selector.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert copies.result_.n_screened == width
    assert copies.shrinkage_ == pytest.approx(shrinkage, rel=1e-9)
    np.testing.assert_array_equal(copies.subset_, found)


# ---- Regression ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_precise_targets_keep_more_features_and_are_shrunk_less(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 90))
    signal, noise = X[:, 0] - X[:, 1], rng.normal(size=100)
    selector = AnnealingRegressorSelector(4, random_state=0)
    widths, shrinkages = [], []
    for share in (1e-3, 0.2, 1.0):
        target = np.sqrt(1 - share) * signal / signal.std() + np.sqrt(share) * noise
        selector.fit(X, target)
        widths.append(selector.result_.n_screened)
        shrinkages.append(selector.shrinkage_)
    assert widths[0] == 4 + 50
    assert widths[0] > widths[1] > widths[2] >= 4 + 8
    np.testing.assert_allclose(np.divide(shrinkages[:2], shrinkages[2]), [1e-3, 0.2], rtol=0.6)


@pytest.mark.parametrize(("n_rows", "n_features"), [(200, 40), (60, 120)])
@pytest.mark.parametrize("seed", range(5))
def test_noiseless_planted_subsets_are_found(seed, n_rows, n_features):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) + 0.5 * rng.normal(size=(n_rows, 1))
    planted = np.sort(rng.choice(n_features, 3, replace=False))
    y = X[:, planted] @ (rng.choice([-1.0, 1.0], 3) * rng.uniform(1.0, 2.0, 3))
    selector = AnnealingRegressorSelector(3, random_state=0).fit(X, y)
    assert selector.subset_.tolist() == planted.tolist()
    assert selector.result_.loss < 1e-10 * np.var(y)
