import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import references
from safdr._engine.criterion import SEPARATING, Criterion, fisher_criterion
from safdr._engine.moments import class_moments, within_moments

N_FEATURES = 6
RIDGE = 1e-9


def fisher(X, y, ridge=RIDGE):
    return fisher_criterion(within_moments(X, y, 2), ridge=ridge)


@st.composite
def problems(draw):
    """Correlated rows of two classes, and a subset of the features."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = rng.permutation(np.arange(50) % 2)
    X = rng.normal(size=(50, N_FEATURES)) @ rng.normal(size=(N_FEATURES, N_FEATURES))
    X += y[:, None] * rng.normal(size=N_FEATURES)
    size = draw(st.integers(1, N_FEATURES))
    return X, y, rng.choice(N_FEATURES, size=size, replace=False), rng


@given(problems())
def test_value_is_the_ratio_of_the_paper(problem):
    X, y, subset, _ = problem
    assert fisher(X, y).value(subset) == pytest.approx(
        references.fisher_ratio(X, y, subset), rel=1e-5
    )


@pytest.mark.parametrize("ridge", [1e-12, 1e-6, 1e-2, 1.0])
def test_ridge_is_relative_to_the_variance_of_each_feature(two_classes, ridge):
    X, y = two_classes
    X, subset = X * 10.0 ** np.arange(-6, 6), [0, 3, 7, 11]
    expected = references.fisher_ratio(X, y, subset, shrinkage=ridge)
    assert fisher(X, y, ridge).value(subset) == pytest.approx(expected, rel=1e-9)


@given(problems())
def test_swapping_the_labels_changes_nothing(problem):
    X, y, subset, _ = problem
    assert fisher(X, 1 - y).value(subset) == pytest.approx(fisher(X, y).value(subset), rel=1e-9)


@given(problems())
def test_permuting_the_features_permutes_the_criterion(problem):
    X, y, subset, rng = problem
    order = rng.permutation(N_FEATURES)
    where = np.argsort(order)
    assert fisher(X[:, order], y).value(where[subset]) == pytest.approx(
        fisher(X, y).value(subset), rel=1e-9
    )


@given(problems(), st.floats(-6, 6))
def test_rescaling_and_shifting_features_changes_nothing(problem, exponent):
    X, y, subset, rng = problem
    scale = 10.0 ** rng.uniform(-abs(exponent), abs(exponent), N_FEATURES)
    scale *= rng.choice([-1, 1], N_FEATURES)
    moved = X * scale + scale * rng.normal(size=N_FEATURES)
    assert fisher(moved, y).value(subset) == pytest.approx(fisher(X, y).value(subset), rel=1e-7)


@given(problems())
def test_any_invertible_map_of_all_features_changes_nothing(problem):
    X, y, _, rng = problem
    everything = np.arange(N_FEATURES)
    rotation, _ = np.linalg.qr(rng.normal(size=(N_FEATURES, N_FEATURES)))
    assert fisher(X @ rotation, y).value(everything) == pytest.approx(
        fisher(X, y).value(everything), rel=1e-5
    )


@given(problems())
def test_adding_a_feature_never_lowers_the_value(problem):
    X, y, _, rng = problem
    criterion = fisher(X, y)
    order = rng.permutation(N_FEATURES)
    values = np.array([criterion.value(order[:n]) for n in range(1, N_FEATURES + 1)])
    assert (np.diff(values) >= -1e-9 * values[1:]).all()


@given(problems())
def test_value_does_not_depend_on_the_order_of_the_subset(problem):
    X, y, subset, rng = problem
    criterion = fisher(X, y)
    assert criterion.value(rng.permutation(subset)) == pytest.approx(
        criterion.value(subset), rel=1e-9
    )


def test_a_larger_ridge_lowers_the_value(two_classes):
    X, y = two_classes
    values = [fisher(X, y, ridge).value([0, 1, 2]) for ridge in (1e-9, 1e-3, 1e-1)]
    assert values[0] > values[1] > values[2]


def test_a_feature_constant_within_each_class_has_a_finite_large_value(two_classes):
    X, y = two_classes
    with_separator = np.column_stack([X, 3.0 + y])
    criterion = fisher(with_separator, y, 1e-6)
    assert criterion.redundant.size == 0
    # Its variance counts as SEPARATING times the squared distance of the means.
    assert criterion.value([12]) == pytest.approx(1 / (SEPARATING * 1e-6), rel=1e-9)
    assert np.isfinite(criterion.value([0, 12]))
    assert criterion.value([12]) > criterion.value(np.arange(12))


def test_a_constant_feature_has_scale_zero_and_adds_nothing(two_classes):
    X, y = two_classes
    criterion = fisher(np.column_stack([X, np.full(len(X), 0.1)]), y)
    assert criterion.scale[12] == 0
    assert criterion.redundant.tolist() == [12]
    assert criterion.value([0, 12]) == pytest.approx(criterion.value([0]), rel=1e-12)


def test_the_scale_of_the_whole_data_serves_a_batch(two_classes):
    X, y = two_classes
    whole, batch = fisher(X, y), within_moments(X[:100], y[:100], 2)
    on_its_own = fisher_criterion(batch, ridge=1e-12)
    on_shared_scale = fisher_criterion(batch, ridge=1e-12, scale=whole.scale)
    assert (on_shared_scale.scale == whole.scale).all()
    assert on_shared_scale.value([1, 4]) == pytest.approx(on_its_own.value([1, 4]), rel=1e-8)


def test_several_columns_of_D_add_up(rng):
    root = rng.normal(size=(5, 9))
    A, D = root @ root.T, rng.normal(size=(5, 3))
    value = Criterion(A, D, np.ones(5), 0.0).value([0, 2, 3])
    alone = [Criterion(A, D[:, [c]], np.ones(5), 0.0).value([0, 2, 3]) for c in range(3)]
    assert value == pytest.approx(sum(alone), rel=1e-12)


def test_moments_of_one_class_are_refused(rng):
    moments = within_moments(rng.normal(size=(12, 2)), np.zeros(12, dtype=np.int64), 1)
    with pytest.raises(ValueError, match="needs moments of 2 or more classes, got 1"):
        fisher_criterion(moments, ridge=1e-6)


@given(problems())
def test_two_classes_give_the_sum_of_covariances_and_the_difference_of_means(problem):
    X, y, _, _ = problem
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    moments = class_moments(X, y, 2, weight)
    covariance = moments.within().within
    scale = np.sqrt(np.diag(covariance))
    criterion = fisher_criterion(within_moments(X, y, 2, weight), ridge=1e-6)
    expected = covariance / np.outer(scale, scale) + 1e-6 * np.eye(N_FEATURES)
    np.testing.assert_array_equal(criterion.A, expected)
    np.testing.assert_array_equal(criterion.D[:, 0], (moments.mean[1] - moments.mean[0]) / scale)


def test_overwriting_changes_where_A_is_and_nothing_else(two_classes):
    X, y = two_classes
    moments = within_moments(X, y, 2)
    new, before = fisher_criterion(moments, ridge=1e-6), moments.within.copy()
    np.testing.assert_array_equal(moments.within, before)
    old = fisher_criterion(moments, ridge=1e-6, overwrite=True)
    assert old.A is moments.within
    np.testing.assert_array_equal(old.A, new.A)
    np.testing.assert_array_equal(old.scale, new.scale)


@pytest.mark.parametrize("ridge", [1e-9, 1e-6, 1.0])
def test_covariances_of_subsets_are_those_of_the_moments(two_classes, ridge):
    X, y = two_classes
    X = np.column_stack([X * 10.0 ** np.arange(-6, 6), np.full(len(X), 0.1), 3.0 + y])
    moments = within_moments(X, y, 2)
    subsets = np.array([[0, 5, 11], [12, 1, 13]])
    covariances = fisher_criterion(moments, ridge=ridge).covariances(subsets)
    expected = moments.within[subsets[:, :, None], subsets[:, None, :]]
    deviation = np.sqrt(np.einsum("nii->ni", expected)) + 1e-300
    error = (covariances - expected) / deviation[:, :, None] / deviation[:, None, :]
    # A feature without variance within the classes has no deviation to compare with.
    assert np.abs(error[0]).max() < 1e-13
    assert np.abs(error[1, 1, 1]) < 1e-13
    np.testing.assert_allclose(covariances[1], expected[1], atol=1e-16)
