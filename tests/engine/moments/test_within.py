"""Moments within the classes against class moments, which are tested against the definition."""

import tracemalloc

import numpy as np
import pytest

from safdr._engine.moments import class_moments, within_moments
from safdr._engine.moments.blocks import IN_PLACE_FEATURES

LARGE = IN_PLACE_FEATURES + 77


def rows_of(n_classes, n_features, n_rows=300, seed=3):
    """Rows of several scales and far means, codes of which some are -1, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.integers(-2, 3, n_features)
    X += 50 * rng.normal(size=n_features)
    return X, rng.integers(-1, n_classes, n_rows), rng.uniform(0.1, 3.0, n_rows)


@pytest.mark.parametrize("n_classes", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [60, 12_000])
def test_they_are_the_sums_over_the_classes_to_the_last_bit(n_classes, weighted, n_rows):
    X, codes, weight = rows_of(n_classes, 30, n_rows)
    weight = weight if weighted else None
    here = within_moments(X, codes, n_classes, weight)
    by_class = class_moments(X, codes, n_classes, weight)
    np.testing.assert_array_equal(here.weight, by_class.weight)
    np.testing.assert_array_equal(here.mean, by_class.mean)
    np.testing.assert_array_equal(here.squares, np.einsum("cii->ci", by_class.scatter))
    np.testing.assert_array_equal(here.within, by_class.within().within)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_features_are_summed_in_place_to_the_same(weighted):
    X, codes, weight = rows_of(3, LARGE)
    here = within_moments(X, codes, 3, weight if weighted else None)
    np.testing.assert_array_equal(here.within, here.within.T)
    deviation = np.sqrt(np.diag(here.within))
    expected = np.zeros((LARGE, LARGE))
    for label in range(3):
        mine = codes == label
        some = X[mine]
        w = weight[mine] if weighted else np.ones(len(some))
        centred = some - w @ some / w.sum()
        expected += (centred * w[:, None]).T @ centred / w.sum()
        squares = w @ centred**2
        np.testing.assert_allclose(here.squares[label], squares, rtol=1e-12)
    assert np.abs((here.within - expected) / np.outer(deviation, deviation)).max() < 1e-13


def test_class_moments_of_many_features_are_those_of_their_columns():
    X, codes, weight = rows_of(2, LARGE)
    whole, some = class_moments(X, codes, 2, weight), np.r_[0:20, LARGE - 20 : LARGE]
    part = class_moments(X[:, some], codes, 2, weight)
    scatter = whole.scatter[:, some[:, None], some]
    np.testing.assert_allclose(scatter, part.scatter, rtol=0, atol=1e-12 * part.scatter.max())


@pytest.mark.parametrize("n_features", [6, LARGE])
def test_constant_columns_have_variance_exactly_zero(n_features):
    X, codes, weight = rows_of(3, n_features)
    X[:, 1], X[:, 2] = 0.1, codes / 3
    within = within_moments(X, codes, 3, weight).within
    assert (within[1:3] == 0).all()
    assert (within[:, 1:3] == 0).all()
    assert within[0, 0] > 0


@pytest.mark.parametrize("n_features", [6, LARGE])
def test_a_class_without_rows_or_weight_adds_nothing(n_features):
    X, codes, weight = rows_of(2, n_features)
    codes[codes == 1] = 2
    weight[codes == 0] = 0.0
    here = within_moments(X, codes, 4, weight)
    alone = within_moments(X, np.where(codes == 2, 0, -1), 1, weight)
    np.testing.assert_array_equal(here.weight, [0, 0, alone.weight[0], 0])
    np.testing.assert_array_equal(here.mean[[0, 1, 3]], 0)
    np.testing.assert_array_equal(here.within, alone.within)


def test_the_result_goes_where_it_is_asked_to():
    X, codes, _ = rows_of(2, 8)
    stack = np.full((2, 8, 8), np.nan)
    moments = within_moments(X, codes, 2, out=stack[1])
    assert np.shares_memory(moments.within, stack)
    np.testing.assert_array_equal(stack[1], within_moments(X, codes, 2).within)
    assert np.isnan(stack[0]).all()


def test_no_second_matrix_of_many_features_is_made():
    n_features = 2500
    X, codes, weight = rows_of(4, n_features, n_rows=50)
    out = np.empty((n_features, n_features))
    tracemalloc.start()
    within_moments(X, codes, 4, weight, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * out.nbytes


def test_summed_class_moments_are_within_moments():
    X, codes, weight = rows_of(3, 9)
    here, summed = within_moments(X, codes, 3, weight), class_moments(X, codes, 3, weight).within()
    for name in ("weight", "mean", "squares", "within"):
        np.testing.assert_array_equal(getattr(here, name), getattr(summed, name))
