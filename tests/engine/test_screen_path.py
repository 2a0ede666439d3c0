"""The paths that order features: optimality at every point, scikit-learn's order."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import lars_path_gram

from helpers import engine
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion
from safdr._engine.screen import Screen, screen_width
from safdr._engine.screen.path import entries, lasso_path
from safdr._engine.screen.problem import Problem, Root

STRUCTURES = ("independent", "one factor", "neighbours", "blocks")
NONE = np.empty(0, dtype=np.int64)


def make_columns(structure, n_rows, n_features, rng):
    X = rng.normal(size=(n_rows, n_features))
    if structure == "one factor":
        X += 1.5 * rng.normal(size=(n_rows, 1))
    if structure == "neighbours":
        for j in range(1, n_features):
            X[:, j] = 0.9 * X[:, j - 1] + 0.44 * X[:, j]
    if structure == "blocks":
        X += (
            2.0
            * np.repeat(rng.normal(size=(n_rows, -(-n_features // 5))), 5, axis=1)[:, :n_features]
        )
    return X


def make_criterion(seed, structure, *, ridge, n_outputs=1, n_features=None, n_rows=None):
    rng = np.random.default_rng([seed, STRUCTURES.index(structure)])
    n_features = n_features or int(rng.integers(5, 61))
    n_rows = n_rows or int(rng.integers(n_features // 2 + 5, 200))
    X = make_columns(structure, n_rows, n_features, rng)
    slopes = rng.normal(size=(n_features, n_outputs)) * (rng.random((n_features, 1)) < 0.3)
    Y = X @ slopes + rng.normal(size=(n_rows, n_outputs))
    return engine.criterion_of(X, Y, None, ridge)


def make_problem(criterion, *, forced=NONE, signs=None, usable=None, ridge=None):
    usable = np.ones(criterion.n_features, dtype=bool) if usable is None else usable
    forced = np.asarray(forced, dtype=np.int64)
    usable[forced] = False
    return Problem(criterion, usable, forced=forced, signs=signs, ridge=ridge)


def first_entries(events):
    return list(dict.fromkeys(event.entered for event in events if event.entered >= 0))


def dense(event, n_features):
    slopes = np.zeros(n_features)
    slopes[event.members] = event.slopes
    return slopes


def by_scikit_learn(A, d, n_features):
    """The order of the first `n_features`, without those that enter together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = lars_path_gram(d, A, n_samples=1, method="lasso", alpha_min=0.0)[2].T
    order = []
    for slopes in path:
        order += [j for j in np.flatnonzero(slopes) if j not in order]
    return order[:n_features]


@pytest.mark.parametrize("ridge", [1e-6, 0.1, 1.0])
@pytest.mark.parametrize("structure", STRUCTURES)
def test_lasso_path_is_optimal_and_has_the_order_of_scikit_learn(structure, ridge):
    n_left = 0
    for seed in range(17):  # 204 problems in all
        criterion = make_criterion(seed, structure, ridge=ridge)
        A, d = criterion.A, criterion.D[:, 0]
        events = list(lasso_path(make_problem(criterion)))
        for event in events:
            slopes = dense(event, len(d))
            left = d - A @ slopes
            assert np.abs(left).max() <= event.penalty + 1e-8
            on = np.abs(slopes) > 1e-11
            np.testing.assert_allclose(left[on], event.penalty * np.sign(slopes[on]), atol=1e-8)
        assert np.all(np.diff([event.penalty for event in events]) <= 0)
        n_left += sum(event.entered < 0 for event in events)
        order, expected = first_entries(events), by_scikit_learn(A, d, len(d))
        # With fewer rows than features and hardly a ridge, scikit-learn stops where rows end.
        assert len(expected) >= min(len(d), 8)
        assert sorted(order) == list(range(len(d)))
        assert order[: len(expected)] == expected
    assert (n_left > 0) or ridge == 1.0


@pytest.mark.parametrize("signed", [False, True])
def test_forced_features_are_partialled_out_and_signs_kept(signed):
    n_off = 0
    for seed in range(20):
        criterion = make_criterion(seed, "blocks", ridge=1e-3, n_features=20, n_rows=40)
        A, d, forced = criterion.A, criterion.D[:, 0], np.array([3, 11, 12])
        free = np.setdiff1d(np.arange(20), forced)
        signs = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], size=20) if signed else None
        problem = make_problem(criterion, forced=forced, signs=signs)
        events = list(lasso_path(problem))
        across = np.linalg.solve(A[np.ix_(forced, forced)], A[np.ix_(forced, free)])
        rest_A = A[np.ix_(free, free)] - A[np.ix_(free, forced)] @ across
        rest_d = d[free] - across.T @ d[forced]
        for event in events:
            slopes = dense(event, 20)
            left = d - A @ slopes
            np.testing.assert_allclose(left[forced], 0.0, atol=1e-10)
            allowed = np.zeros(20) if signs is None else signs
            assert (left[allowed >= 0] <= event.penalty + 1e-8).all() or forced.size
            assert (
                (left[np.setdiff1d(np.flatnonzero(allowed >= 0), forced)]).max(initial=0.0)
                <= event.penalty + 1e-8
            )
            assert (-left[np.setdiff1d(np.flatnonzero(allowed <= 0), forced)]).max(
                initial=0.0
            ) <= event.penalty + 1e-8
            on = np.setdiff1d(np.flatnonzero(np.abs(slopes) > 1e-11), forced)
            assert (slopes[on] * allowed[on] >= 0).all()
            np.testing.assert_allclose(left[on], event.penalty * np.sign(slopes[on]), atol=1e-8)
            n_off += int((np.abs(left[free]) > event.penalty + 1e-6).any())
        if not signed:
            scale = np.ones(len(free))
            alone = Criterion(rest_A, rest_d[:, None], scale, criterion.ridge)
            order = first_entries(lasso_path(make_problem(alone)))
            assert first_entries(events) == free[order].tolist()
            assert len(order) == 17
    assert (n_off > 0) == signed


def make_pair(task, *, n_columns=120, weighted=True):
    rng = np.random.default_rng(5)
    X = make_columns("blocks", 60, n_columns, rng)
    weight = rng.random(60) + 0.1 if weighted else None
    if task == "output":
        y = X[:, :3].sum(axis=1, keepdims=True) + rng.normal(size=(60, 1))
        return both_sources(X, y, weight)
    codes = np.arange(60) % (2 if task == "two classes" else 4)
    X[:, :6] += codes[:, None] * rng.normal(size=6)
    return both_sources(X, codes, weight)


def both_sources(X, y, weight):
    rows = X, y, weight, 0.2
    return engine.criterion_of(*rows), engine.criterion_of_columns(*rows)


@pytest.mark.parametrize("forced", [[], [2, 77]])
@pytest.mark.parametrize("task", ["two classes", "four classes", "output"])
def test_many_columns_have_the_same_order(task, forced):
    full, wide = make_pair(task)
    allowed = AllowedSubsets.make(120, always_include=forced) if forced else None
    screens = [Screen(one, n_rows=60, constraints=allowed) for one in (full, wide)]
    for size in (3, 8, 40):
        np.testing.assert_array_equal(*(screen.columns(size) for screen in screens))
    assert screens[0].order == screens[1].order
    assert len(screens[0].order) >= 46 - len(forced)


def test_the_ridge_of_the_path_may_differ_from_that_of_the_criterion():
    full, wide = make_pair("output")
    other = Criterion(full.A + 0.8 * np.eye(120), full.D, full.scale, 1.0)
    expected = Screen(other, n_rows=60)
    expected.columns(20)
    plain = Screen(full, n_rows=60)
    plain.columns(20)
    for criterion in (full, wide):
        screen = Screen(criterion, n_rows=60, ridge=1.0)
        screen.columns(20)
        assert screen.order == expected.order != plain.order


@pytest.mark.parametrize("task", ["two classes", "four classes"])
def test_a_size_does_not_depend_on_sizes_before(task):
    full, _ = make_pair(task)
    sizes = [1, 4, 9, 17, 30]
    up, down = Screen(full, n_rows=60), Screen(full, n_rows=60)
    rising = [up.columns(size).tolist() for size in sizes]
    falling = [down.columns(size).tolist() for size in reversed(sizes)][::-1]
    alone = [Screen(full, n_rows=60).columns(size).tolist() for size in sizes]
    copied = [pickle.loads(pickle.dumps(up)).columns(size).tolist() for size in sizes]
    assert rising == falling == alone == copied
    assert [len(columns) for columns in rising] == [size + 3 + 3 for size in sizes]
    few = Screen(full, n_rows=60)
    few.columns(1)
    assert len(few.order) < 15  # it stops where the size asked for needs no more


def test_width():
    assert screen_width("auto", 5, 200) == 18
    assert screen_width("auto", 5, 199.99) == 17
    assert screen_width("auto", 5, 200 - 1e-9) == 18  # a sum of fractions
    assert screen_width(30, 5, 200) == 30
    assert screen_width(30, 50, 200) == 50
    full, _ = make_pair("output")
    assert len(Screen(full, n_rows=60, width=None).columns(2)) == 120
    assert len(Screen(full, n_rows=60, width=20).columns(2)) == 20
    assert len(Screen(full, n_rows=60, width=20).columns(25)) == 25


def test_dependent_features_come_after_those_that_enter():
    """Without a ridge the sum of two others never enters; the rest goes by correlation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8))
    X[:, 5] = X[:, 0] + X[:, 1]
    X[:, 6] = 3.0
    y = X[:, :4] @ [1.0, 1.0, 0.5, 0.2] + 0.1 * rng.normal(size=50)
    criterion = engine.criterion_of(X, y[:, None], None, 0.0)
    screen = Screen(criterion, n_rows=50, redundant=[2], width=5)
    groups = [screen._first(n).tolist() for n in range(1, 6)]
    assert len(screen.order) == 5
    assert len(set(screen.order) & {0, 1, 5}) == 2
    assert groups[-1] == screen.order
    # All that are useful at last; the constant and the redundant one only where none are left.
    assert screen.columns(6).tolist() == [0, 1, 3, 4, 5, 7]
    assert screen.columns(7).tolist() == [0, 1, 2, 3, 4, 5, 7]
    assert screen.columns(8).tolist() == list(range(8))
    free = [event.entered for event in lasso_path(screen._problem)]
    assert set(range(8)) - set(free) >= {2, 6}


def test_features_without_correlation_go_by_correlation_then_index():
    d = np.array([0.5, 0.0, 0.0, 0.25])
    criterion = Criterion(np.eye(4), d[:, None], np.ones(4), 0.0)
    screen = Screen(criterion, n_rows=0, width=3)
    assert screen.columns(3).tolist() == [0, 1, 3]
    assert screen.order == [0, 3]


def test_ties_go_by_index():
    d = np.array([0.25, 0.5, -0.5, 0.5, 0.25])
    screen = Screen(Criterion(np.eye(5), d[:, None], np.ones(5), 0.0), n_rows=0, width=4)
    screen.columns(4)
    assert screen.order == [1, 2, 3, 0]


def test_root_without_a_feature_is_that_of_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 12))
    A, root = X.T @ X, Root()
    for i in range(12):
        assert root.append(A[i, :i], A[i, i])
    left = list(range(12))
    for place in (0, 10, 4):
        root.remove(place)
        del left[place]
        unit = np.eye(len(left))
        np.testing.assert_allclose(A[np.ix_(left, left)] @ root.solve(unit), unit, atol=1e-10)
    copy = A[left[2], left]
    assert not root.append(copy, A[left[2], left[2]])


@pytest.mark.parametrize("structure", STRUCTURES)
def test_several_outputs_enter_by_the_largest_penalty_of_any_direction(structure):
    criterion = make_criterion(1, structure, ridge=0.1, n_outputs=3, n_features=14, n_rows=80)
    A, D = criterion.A, criterion.D
    penalties = np.zeros(14)
    for direction in np.linalg.svd(D, full_matrices=False)[2]:
        alphas, _, path = lars_path_gram(D @ direction, A, n_samples=1, method="lasso")
        # The penalty at which a feature enters is that of the knot before its first slope.
        first = np.argmax(path != 0, axis=1)
        penalties = np.maximum(penalties, np.where(first > 0, alphas[first - 1], 0.0))
    assert order_of(criterion) == np.argsort(-penalties).tolist()
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert order_of(replace(criterion, D=D @ turned)) == order_of(criterion)


def order_of(criterion, **how):
    return list(dict.fromkeys(entries(make_problem(criterion, **how))))


def test_forced_features_are_partialled_out_of_several_outputs():
    criterion = make_criterion(1, "blocks", ridge=0.05, n_outputs=3, n_features=14, n_rows=80)
    A, D, forced = criterion.A, criterion.D, np.array([2, 9])
    free = np.setdiff1d(np.arange(14), forced)
    across = np.linalg.solve(A[np.ix_(forced, forced)], A[np.ix_(forced, free)])
    rest_A = A[np.ix_(free, free)] - A[np.ix_(free, forced)] @ across
    rest_D = D[free] - across.T @ D[forced]
    alone = Criterion(rest_A, rest_D, np.ones(12), criterion.ridge)
    expected = free[order_of(alone)].tolist()
    order = order_of(criterion, forced=forced)
    assert order == expected
    assert len(order) == 12
    assert order != [j for j in order_of(criterion) if j not in forced]
