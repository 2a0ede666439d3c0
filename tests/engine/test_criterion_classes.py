"""The Fisher ratio of three and more classes, against plain formulas."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safdr._engine.criterion import SEPARATING, fisher_criterion
from safdr._engine.moments import within_moments

N_FEATURES = 5
RIDGE = 1e-12


def fisher(X, codes, n_classes, weight=None, **options):
    return fisher_criterion(within_moments(X, codes, n_classes, weight), ridge=RIDGE, **options)


@st.composite
def problems(draw):
    """Correlated rows of 2 to 6 classes of different sizes, weights, and a subset."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, 6))
    codes = rng.permutation(np.r_[np.repeat(np.arange(n_classes), 4), rng.integers(0, 2, 40)])
    X = rng.normal(size=(len(codes), N_FEATURES)) @ rng.normal(size=(N_FEATURES, N_FEATURES))
    X += rng.normal(size=(n_classes, N_FEATURES))[codes]
    subset = rng.choice(N_FEATURES, size=draw(st.integers(1, N_FEATURES)), replace=False)
    return X, codes, n_classes, rng.uniform(0.2, 3.0, len(codes)), subset, rng


def plain_classes(X, codes, n_classes, weight):
    """Share, mean and covariance of each class."""
    share = np.array([weight[codes == c].sum() for c in range(n_classes)]) / weight.sum()
    means, covariances = [], []
    for c in range(n_classes):
        rows, w = X[codes == c], weight[codes == c]
        means.append(np.average(rows, axis=0, weights=w))
        covariances.append(np.cov(rows.T, aweights=w, bias=True))
    return share, np.array(means), np.array(covariances)


@given(problems())
def test_value_is_the_trace_of_within_inverse_times_between(problem):
    X, codes, n_classes, weight, subset, _ = problem
    share, means, covariances = plain_classes(X, codes, n_classes, weight)
    deviations = means - share @ means
    between = (share[:, None] * deviations).T @ deviations
    norm = sum(a * b for a, b in combinations(share, 2))
    within = covariances.sum(axis=0)
    at = np.ix_(subset, subset)
    expected = np.trace(np.linalg.solve(within[at], between[at])) / norm
    criterion = fisher(X, codes, n_classes, weight)
    assert criterion.D.shape == (N_FEATURES, n_classes - 1)
    assert criterion.value(subset) == pytest.approx(expected, rel=1e-7)


@given(problems())
def test_value_is_the_mean_ratio_over_pairs_of_rows_of_different_classes(problem):
    X, codes, n_classes, weight, subset, _ = problem
    share, means, covariances = plain_classes(X, codes, n_classes, weight)
    within = covariances.sum(axis=0)[np.ix_(subset, subset)]
    ratios, chances = [], []
    for a, b in combinations(range(n_classes), 2):
        d = (means[a] - means[b])[subset]
        ratios.append(d @ np.linalg.solve(within, d))
        chances.append(share[a] * share[b])
    expected = np.average(ratios, weights=chances)
    assert fisher(X, codes, n_classes, weight).value(subset) == pytest.approx(expected, rel=1e-7)


@given(problems())
def test_the_order_of_the_classes_changes_nothing(problem):
    X, codes, n_classes, weight, subset, rng = problem
    renamed = rng.permutation(n_classes)[codes]
    assert fisher(X, renamed, n_classes, weight).value(subset) == pytest.approx(
        fisher(X, codes, n_classes, weight).value(subset), rel=1e-9
    )


@given(problems())
def test_rescaling_and_shifting_features_changes_nothing(problem):
    X, codes, n_classes, weight, subset, rng = problem
    scale = 10.0 ** rng.uniform(-4, 4, N_FEATURES) * rng.choice([-1, 1], N_FEATURES)
    moved = scale * (X + rng.normal(size=N_FEATURES))
    assert fisher(moved, codes, n_classes, weight).value(subset) == pytest.approx(
        fisher(X, codes, n_classes, weight).value(subset), rel=1e-7
    )


@given(problems())
def test_a_weight_counts_as_that_many_rows(problem):
    X, codes, n_classes, _, subset, rng = problem
    repeats = rng.integers(1, 4, len(X))
    repeated = fisher(np.repeat(X, repeats, axis=0), np.repeat(codes, repeats), n_classes)
    weighted = fisher(X, codes, n_classes, repeats.astype(float))
    assert weighted.value(subset) == pytest.approx(repeated.value(subset), rel=1e-9)


@pytest.mark.parametrize("empty", [0, 1, 2, 3])
def test_a_class_without_rows_changes_nothing(empty):
    rng = np.random.default_rng(0)
    codes = np.arange(90) % 3
    X = rng.normal(size=(90, N_FEATURES)) + rng.normal(size=(3, N_FEATURES))[codes]
    with_gap = fisher(X, codes + (codes >= empty), 4)
    assert with_gap.D.shape == (N_FEATURES, 3)
    assert with_gap.value([0, 3]) == pytest.approx(fisher(X, codes, 3).value([0, 3]), rel=1e-12)


def test_one_class_left_over_explains_nothing():
    X, codes = np.random.default_rng(0).normal(size=(30, 4)), np.full(30, 2)
    criterion = fisher(X, codes, 3)
    assert (criterion.D == 0).all()
    assert criterion.value([0, 1]) == 0


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_the_unit_of_the_weights_does_not_matter(factor):
    X, codes = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 3
    moments = within_moments(X, codes, 3)
    scaled = type(moments)(moments.weight * factor, moments.mean, moments.squares, moments.within)
    expected = fisher_criterion(moments, ridge=RIDGE).D
    np.testing.assert_allclose(fisher_criterion(scaled, ridge=RIDGE).D, expected, rtol=1e-14)


def test_features_that_follow_from_labels_already_there_are_needless():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    # Two numbers tell three classes apart; what follows is a combination of them.
    labels = [codes == 0, 3.0 * (codes == 0) + 1, codes == 1, codes == 2, 5.0 * codes]
    X = np.column_stack([rng.normal(size=60), *labels, np.full(60, 0.1)])
    criterion = fisher_criterion(within_moments(X, codes, 3), ridge=1e-6)
    assert criterion.redundant.tolist() == [2, 4, 5, 6]
    assert criterion.value([1]) == pytest.approx(1 / (SEPARATING * 1e-6), rel=1e-9)


def test_the_scale_of_the_whole_data_serves_a_batch_that_lacks_a_class():
    rng = np.random.default_rng(1)
    codes = np.arange(90) % 3
    X = rng.normal(size=(90, N_FEATURES)) + codes[:, None]
    whole = fisher(X, codes, 3)
    batch = np.where(codes == 2, -1, codes)
    shared = fisher(X, batch, 3, scale=whole.scale)
    assert shared.value([1, 4]) == pytest.approx(fisher(X, batch, 2).value([1, 4]), rel=1e-9)
