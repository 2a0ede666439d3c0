"""Duplicates are features whose correlation over all rows is one, of either sign."""

import numpy as np
import pytest
from scipy import sparse

from helpers import engine
from helpers.engine import find_duplicates


def by_all_pairs(X, weight=None):
    """Pairs (kept, dropped) of all correlations."""
    covariance = np.cov(np.asarray(X, dtype=float).T, aweights=weight)
    deviation = np.sqrt(np.diag(covariance))
    deviation[deviation < 1e-12] = np.inf
    R = np.abs(covariance / np.outer(deviation, deviation))
    pairs, dropped = [], set()
    for i in range(len(R)):
        if i in dropped:
            continue
        for j in range(i + 1, len(R)):
            if j not in dropped and R[i, j] > 1 - 1e-9:
                pairs.append((i, j))
                dropped.add(j)
    return sorted(pairs, key=lambda pair: pair[1])


def make_rows(n_rows=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 20)) * rng.lognormal(2.0, size=20)
    X[:, 7] = X[:, 2]
    X[:, 8] = 5.0 - 3.0 * X[:, 2]
    X[:, 15] = 1e3 + 1e-3 * X[:, 11]
    X[:, 16] = X[:, 12] + 1e-3 * X[:, 12].std() * rng.normal(size=n_rows)  # not quite
    X[:, 17], X[:, 18] = 4.0, 0.1
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_those_of_all_correlations(weighted, kind, dtype):
    X = make_rows().astype(dtype)
    weight = np.random.default_rng(1).random(60) + 0.1 if weighted else None
    result = find_duplicates(kind(X), weight)
    expected = [(2, 7), (2, 8), (11, 15)] if dtype == np.float64 else [(2, 7), (2, 8)]
    pairs = [pair for pair in result.pairs if pair != (11, 15) or dtype == np.float64]
    assert pairs == expected
    assert np.flatnonzero(result.redundant).tolist() == [pair[1] for pair in result.pairs]
    if kind is np.asarray and dtype == np.float64:
        assert by_all_pairs(X, weight) == result.pairs


def test_rows_without_weight_do_not_count():
    X = make_rows()
    weight = np.ones(60)
    weight[:5] = 0.0
    X[:5, 7] += 1.0
    assert (2, 7) not in find_duplicates(X).pairs
    assert (2, 7) in find_duplicates(X, weight).pairs


def test_a_feature_that_differs_by_the_class_is_no_duplicate():
    """Within classes x and x + c·y correlate perfectly; together they are the class."""
    X, y = make_rows(), np.arange(60) % 2
    X[:, 5] = X[:, 4] + 0.5 * X[:, 4].std() * y
    assert not find_duplicates(X).redundant[[4, 5]].any()


def test_binary_columns_and_clusters_as_all_pairs():
    rng = np.random.default_rng(3)
    X = np.concatenate([(rng.random((9, 400)) < 0.5) * 1.0, np.ones((1, 400))])
    expected = by_all_pairs(X)
    assert len(expected) > 100
    assert find_duplicates(X).pairs == expected


def test_constant_columns_and_too_few_rows_have_none():
    assert find_duplicates(np.full((20, 5), 0.1)).pairs == []
    assert find_duplicates(np.ones((1, 3))).pairs == []
    assert find_duplicates(np.arange(10.0)[:, None]).pairs == []


def test_the_bound_is_that_of_the_correlation():
    rng = np.random.default_rng(2)
    x, e = np.linalg.qr(np.column_stack([np.ones(200), rng.normal(size=(200, 2))]))[0].T[1:]
    for share, is_duplicate in ((0.98, True), (1.02, False)):
        angle = np.sqrt(2.0 * share * 1e-9)  # a correlation of 1 - share·1e-9
        X = np.column_stack([x, -(np.cos(angle) * x + np.sin(angle) * e)])
        assert (find_duplicates(X).pairs == [(0, 1)]) == is_duplicate


def copies(n_features=6):
    x = np.random.default_rng(0).normal(size=(30, 1))
    return x * np.arange(1.0, n_features + 1)


def dropped(**constraints):
    cost = constraints.pop("cost", None)
    allowed = engine.constraints(6, **constraints)
    return find_duplicates(copies(), constraints=allowed, cost=cost).pairs


def test_who_stays():
    assert dropped() == [(0, j) for j in range(1, 6)]
    assert dropped(always=[3]) == [(3, 0), (3, 1), (3, 2), (3, 4), (3, 5)]
    assert dropped(always=[3, 4]) == [(3, 0), (3, 1), (3, 2), (3, 5)]
    assert dropped(never=[0, 1]) == [(2, 0), (2, 1), (2, 3), (2, 4), (2, 5)]
    cost = np.array([3.0, 2.0, 1.0, 1.0, 5.0, 4.0])
    assert dropped(cost=cost) == [(2, 0), (2, 1), (2, 3), (2, 4), (2, 5)]
    assert dropped(cost=cost, always=[4])[0] == (4, 0)


def test_in_groups_only_copies_within_count():
    assert dropped(groups=[[1, 2], [4, 5]]) == [(1, 2), (0, 3), (4, 5)]


def test_a_feature_that_excludes_more_does_not_replace_another():
    rng = np.random.default_rng(1)
    X = np.concatenate([copies(3), rng.normal(size=(30, 3))], axis=1)
    allowed = engine.constraints(6, at_most_one_of=[[0, 4]])
    assert find_duplicates(X, constraints=allowed).pairs == [(1, 2)]
    allowed = engine.constraints(6, at_most_one_of=[[1, 4], [0, 2]])
    assert find_duplicates(X, constraints=allowed).pairs == [(0, 2)]


def test_signs_tell_copies_apart():
    x = np.random.default_rng(0).normal(size=(30, 1))
    X = x * np.array([1.0, 1.0, -1.0, -1.0])
    allowed = engine.constraints(4, signs=np.array([1.0, -1.0, 1.0, -1.0]))
    assert find_duplicates(X, constraints=allowed).pairs == [(1, 2), (0, 3)]


def test_many_columns_are_not_compared_in_pairs():
    """All pairs of 200,000 columns would take hours."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 200_000), dtype=np.float32)
    X[:, 1000:1100] = -2.0 * X[:, 5000:5100]
    X[:, 90_000:90_200] = X[:, [3]]
    result = find_duplicates(X)
    assert result.redundant.sum() == 300
    assert set(result.pairs) >= {(1000, 5000), (1099, 5099), (3, 90_199)}
