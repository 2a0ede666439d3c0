"""The screen: constraints, and the share of the variance that the path leaves.

With constraints, a subset of each size that exists among all features exists in the screen.
"""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import lars_path_gram

from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, make_criterion
from safdr._engine.moments import moments_of
from safdr._engine.screen import Screen
from safdr._engine.screen.problem import Problem
from safdr._engine.screen.unexplained import MAX_SLOPES, SLOPES_PER_ROW, unexplained_share

N_FEATURES = 9
RIDGE = 1e-6


def random_criterion(seed, n_features=N_FEATURES, n_outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, n_features)) + rng.normal(size=(30, 1))
    X /= np.linalg.norm(X, axis=0)
    D = X.T @ rng.normal(size=(30, n_outputs))
    return Criterion(X.T @ X + 0.1 * np.eye(n_features), D, np.ones(n_features), 0.1)


def random_constraints(rng):
    """Groups, sets that overlap or not, forced and excluded features, at random."""
    order = rng.permutation(N_FEATURES).tolist()
    groups = [order[:3], order[3:5]][: rng.integers(0, 3)]
    sets = [
        rng.choice(N_FEATURES, size=rng.integers(2, 5), replace=False).tolist()
        for _ in range(rng.integers(0, 4))
    ]
    given = {
        "groups": groups,
        "at_most_one_of": sets,
        "always_include": rng.choice(N_FEATURES, size=rng.integers(0, 2)).tolist(),
        "never_include": rng.choice(N_FEATURES, size=rng.integers(0, 2)).tolist(),
    }
    try:
        return AllowedSubsets.make(N_FEATURES, **given), given
    except ValueError:
        return random_constraints(rng)  # they contradict each other


def size_of(columns, allowed, given):
    """What an allowed subset counts; None if it is not allowed."""
    chosen = set(columns)
    groups = [set(group.tolist()) for group in allowed.groups]
    taken = [group for group in groups if group & chosen]
    if any(not group <= chosen for group in taken):
        return None
    if any(len(chosen & set(one_of)) > 1 for one_of in given["at_most_one_of"]):
        return None
    if not set(given["always_include"]) <= chosen or set(given["never_include"]) & chosen:
        return None
    return len(taken)


def sizes_among(columns, allowed, given):
    """Sizes of all allowed subsets of some columns."""
    found = {
        size_of(some, allowed, given)
        for n in range(1, len(columns) + 1)
        for some in combinations(columns, n)
    }
    return found - {None}


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_subset_of_each_size_is_in_the_screen(n_outputs):
    rng = np.random.default_rng(n_outputs)
    n_screened = n_wider = n_spare = 0
    for seed in range(40):
        allowed, given = random_constraints(rng)
        redundant = rng.choice(N_FEATURES, size=2, replace=False)
        criterion = random_criterion(seed, n_outputs=n_outputs)
        how = {"n_rows": 0, "constraints": allowed, "redundant": redundant, "width": 1}
        screen = Screen(criterion, **how)
        forced = np.flatnonzero(np.isin(allowed.group_of, allowed.include))
        known = {}
        for size in sizes_among(range(N_FEATURES), allowed, given):
            columns = screen.columns(size)
            if tuple(columns) not in known:
                known[tuple(columns)] = sizes_among(columns.tolist(), allowed, given)
            assert size in known[tuple(columns)]
            assert set(forced) <= set(columns)
            assert not set(columns) & set(given["never_include"])
            assert set(np.flatnonzero(np.isin(allowed.group_of, allowed.group_of[columns]))) == set(
                columns
            )
            n_screened += len(columns) < N_FEATURES
            n_wider += len(np.unique(allowed.group_of[columns])) > size
            n_spare += bool(set(columns) & set(redundant) - set(forced))
    assert min(n_screened, n_wider, n_spare) > 10


@pytest.mark.parametrize(("width", "last"), [(1, 0), (2, 3), (3, 5), (4, 6)])
def test_features_that_exclude_each_other_hold_one_place(width, last):
    d = np.linspace(1.0, 0.1, 10)
    criterion = Criterion(np.eye(10), d[:, None], np.ones(10), 0.0)
    allowed = AllowedSubsets.make(10, at_most_one_of=[[0, 1, 2], [3, 4]])
    screen = Screen(criterion, n_rows=0, constraints=allowed, width=width)
    assert screen.columns(1).tolist() == list(range(last + 1))
    assert screen.columns(4).tolist() == list(range(7))


def test_of_overlapping_sets_those_that_exclude_a_feature_with_a_place_hold_none():
    d = np.linspace(1.0, 0.1, 10)
    criterion = Criterion(np.eye(10), d[:, None], np.ones(10), 0.0)
    allowed = AllowedSubsets.make(10, at_most_one_of=[[0, 1], [1, 2], [2, 3]])
    screen = Screen(criterion, n_rows=0, constraints=allowed, width=3)
    assert screen.columns(3).tolist() == [0, 1, 2, 3, 4]


def test_a_group_enters_with_its_first_member_and_counts_one():
    d = np.linspace(1.0, 0.1, 10)
    criterion = Criterion(np.eye(10), d[:, None], np.ones(10), 0.0)
    allowed = AllowedSubsets.make(10, groups=[[1, 7, 8]])
    screen = Screen(criterion, n_rows=0, constraints=allowed, width=3)
    assert screen.columns(3).tolist() == [0, 1, 2, 7, 8]


def test_forced_features_count_and_excluded_ones_never_appear():
    criterion = random_criterion(0, 30)
    allowed = AllowedSubsets.make(30, always_include=[4, 20], never_include=[0, 1, 2])
    screen = Screen(criterion, n_rows=40, constraints=allowed)
    for size in (2, 5, 12):
        columns = screen.columns(size)
        assert len(columns) == size + 5
        assert {4, 20} <= set(columns)
    assert screen.columns(27).tolist() == np.setdiff1d(np.arange(30), [0, 1, 2]).tolist()
    assert not set(screen.order) & {0, 1, 2, 4, 20}


def test_forced_features_may_depend_on_each_other():
    criterion = random_criterion(0, 12)
    A, D = criterion.A - 0.1 * np.eye(12), criterion.D.copy()
    A[:, 5], D[5] = A[:, 3], D[3]
    A[5] = A[3]
    A[5, 5] = A[3, 3]
    both = AllowedSubsets.make(12, always_include=[3, 5])
    one = AllowedSubsets.make(12, always_include=[3], never_include=[5])
    orders = []
    for allowed in (both, one):
        screen = Screen(Criterion(A, D, np.ones(12), 0.0), n_rows=0, constraints=allowed, width=8)
        screen.columns(8)
        orders.append(screen.order)
    assert orders[0] == orders[1][: len(orders[0])]
    assert len(orders[0]) == 6


def test_redundant_features_stay_out_unless_a_group_or_the_size_needs_them():
    criterion = random_criterion(1)
    allowed = AllowedSubsets.make(N_FEATURES, groups=[[0, 1]])
    redundant = [1, 5, 6]
    screen = Screen(criterion, n_rows=0, constraints=allowed, redundant=redundant, width=None)
    assert screen.columns(2).tolist() == [0, 1, 2, 3, 4, 7, 8]
    assert screen.columns(7).tolist() == [0, 1, 2, 3, 4, 5, 7, 8]
    plain = Screen(criterion, n_rows=0, redundant=redundant, width=None)
    assert plain.columns(2).tolist() == [0, 2, 3, 4, 7, 8]
    assert plain.columns(7).tolist() == [0, 1, 2, 3, 4, 7, 8]


def test_signs_keep_features_out_of_the_path():
    d = np.array([0.9, -0.8, 0.7, -0.6, 0.5])
    criterion = Criterion(np.eye(5), d[:, None], np.ones(5), 0.0)
    signs = np.array([-1.0, -1.0, 0.0, 1.0, 1.0])
    allowed = AllowedSubsets.make(5, signs=signs)
    screen = Screen(criterion, n_rows=0, constraints=allowed, width=4)
    assert screen.columns(3).tolist() == [0, 1, 2, 4]
    assert screen.order == [1, 2, 4]  # the rest goes by correlation
    assert screen.columns(1).tolist() == [0, 1, 2, 4]


# ---- The unexplained share ----------------------------------------------------------------------


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
