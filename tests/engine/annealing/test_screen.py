"""Which candidates a climb looks at: those that are left out raise no value."""

import numpy as np
import pytest

from safdr import _core
from safdr._engine.annealing.swap_chains import SwapChains, random_subsets, subset_values
from safdr._engine.criterion import Criterion, fisher_criterion, r2_criterion
from safdr._engine.moments import joint_moments, within_moments

# A climb follows no rise below this share of the value.
SMALLEST_RISE = 1e-9


def independent(rng, n_features=60, n_columns=1):
    """Features that have next to nothing to do with each other."""
    A = np.corrcoef(rng.normal(size=(2000, n_features)).T)
    return Criterion(A, 0.1 * rng.normal(size=(n_features, n_columns)), np.ones(n_features), 0.0)


def two_groups(rng):
    """Rows of two kinds of columns, each alike."""
    common = rng.normal(size=(500, 2))
    return np.repeat(common, 20, axis=1) + rng.normal(size=(500, 40))


def nasty(rng):
    """Copies but for little, zeros and ones, and all scales."""
    Z = rng.normal(size=(300, 8))
    rare = (rng.random((300, 6)) < [0.5, 0.1, 0.02, 0.9, 0.5, 0.01]).astype(float)
    scaled = rng.normal(size=(300, 4)) * [1e-8, 1e6, 1e3, 1e-3]
    near = Z[:, :4] + 1e-4 * rng.normal(size=(300, 4))
    nearer = Z[:, :4] + 1e-7 * rng.normal(size=(300, 4))
    return np.hstack([Z, rare, scaled, near, nearer, Z[:, :2], Z[:, :1] + Z[:, 1:2]])


def of_classes(X, rng, ridge=1e-6, n_classes=2):
    score = X[:, 0] + X[:, 3] + rng.normal(size=len(X))
    codes = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return fisher_criterion(within_moments(X, codes.astype(np.int64), n_classes), ridge=ridge)


def of_outputs(X, rng):
    Y = X[:, :3] + rng.normal(size=(len(X), 3))
    return r2_criterion(joint_moments(X, Y, None), ridge=1e-6)


def in_other_units(criterion, rng):
    """As criteria of batches, whose diagonal is not one."""
    scale = np.exp(rng.normal(size=criterion.n_features))
    A = criterion.A * scale * scale[:, None]
    return Criterion(A, criterion.D * scale[:, None], criterion.scale, criterion.ridge)


CASES = {
    "independent": lambda rng: independent(rng),
    "independent, three columns": lambda rng: independent(rng, n_columns=3),
    "in other units": lambda rng: in_other_units(independent(rng), rng),
    "two groups": lambda rng: of_classes(two_groups(rng), rng),
    "nasty": lambda rng: of_classes(nasty(rng), rng),
    "nasty, a large ridge": lambda rng: of_classes(nasty(rng), rng, ridge=0.1),
    "nasty, next to no ridge": lambda rng: of_classes(nasty(rng), rng, ridge=1e-12),
    "nasty, four classes": lambda rng: of_classes(nasty(rng), rng, n_classes=4),
    "nasty outputs": lambda rng: of_outputs(nasty(rng), rng),
}


def orders(criterion, subsets):
    """Members first, then the others."""
    return np.array([[*s, *np.setdiff1d(np.arange(criterion.n_features), s)] for s in subsets])


def may_rise(criterion, order, size, n_fixed=0):
    order = np.ascontiguousarray(order, dtype=np.int32)
    return _core.may_rise(criterion.A, criterion.D, order, size=size, n_fixed=n_fixed)


def gain(criterion, subset, position, j):
    """Of one swap, as the kernel sees it."""
    one = np.array([position]), np.array([j])
    members = subset.astype(np.int32)
    tol = criterion.collinear_tol
    return _core.walk(criterion.A, criterion.D, members, *one, collinear_tol=tol)[0][0]


def climbed(criterion, size, n_replicas, rng):
    """Where replicas end: there most candidates raise nothing."""
    start = random_subsets(criterion, size, n_replicas, rng)
    chains = SwapChains(criterion, start, seed=np.random.SeedSequence(0), n_proposals=1)
    return np.concatenate([start, chains.climbed()[0]])


@pytest.mark.parametrize("size", [1, 2, 7, 12])
@pytest.mark.parametrize("case", CASES)
def test_what_is_left_out_raises_no_value(rng, case, size):
    criterion = CASES[case](rng)
    subsets = climbed(criterion, size, 4, rng)
    values = subset_values(criterion, subsets)
    order = orders(criterion, subsets)
    may = may_rise(criterion, order, size)
    for row, value, looked_at in zip(order, values, may, strict=True):
        for j in row[size:][~looked_at[row[size:]]]:
            gains = [gain(criterion, row[:size], a, j) for a in range(size)]
            assert max(gains) <= SMALLEST_RISE * value


@pytest.mark.parametrize("case", ["independent", "independent, three columns", "in other units"])
def test_by_trying_all_swaps(rng, case):
    criterion, size = CASES[case](rng), 6
    subsets = climbed(criterion, size, 3, rng)
    order = orders(criterion, subsets)
    may = may_rise(criterion, order, size)
    for row, looked_at in zip(order, may, strict=True):
        value = criterion.value(row[:size])
        for j in row[size:][~looked_at[row[size:]]]:
            for a in range(size):
                assert criterion.value([*np.delete(row[:size], a), j]) <= value * (1 + 1e-9)


def test_few_of_independent_features_are_looked_at(rng):
    criterion = independent(rng, 200)
    subsets = climbed(criterion, 10, 3, rng)[3:]
    may = may_rise(criterion, orders(criterion, subsets), 10)
    assert may.mean() < 0.3


def test_members_that_stay_need_no_successor(rng):
    criterion = independent(rng, 100)
    weakest = np.argsort(np.abs(criterion.D[:, 0]))[:8]
    order = orders(criterion, [np.sort(weakest)])
    assert may_rise(criterion, order, 8).mean() > 0.9
    order[0, :8] = [*weakest[1:], np.argmax(np.abs(criterion.D[:, 0]))]
    order = orders(criterion, order[:, :8])
    assert may_rise(criterion, order, 8, n_fixed=7).mean() < 0.3


def test_of_few_features_all_are_looked_at(rng):
    criterion = independent(rng, 10)
    order = orders(criterion, [np.arange(4)])
    assert may_rise(criterion, order, 4).all()


def test_a_diagonal_of_zero_rules_nothing_out_that_gains(rng):
    criterion = independent(rng, 40)
    A, D = criterion.A.copy(), criterion.D.copy()
    A[5], A[:, 5], D[5] = 0.0, 0.0, 0.0
    odd = Criterion(A, D, criterion.scale, 0.0)
    subset = np.array([5, 6, 7])
    may = may_rise(odd, orders(odd, [subset]), 3)[0]
    assert may[np.setdiff1d(np.arange(40), subset)].all()
