from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from safdr._engine.moments import ClassMoments, class_moments
from safdr._engine.moments.blocks import BLOCK_BYTES

N_ROWS, N_FEATURES = 60, 4


def assert_same_moments(a, b, rtol=1e-10):
    """Equal to `rtol` of each array's largest entry."""
    for name in ("weight", "mean", "scatter"):
        left, right = getattr(a, name), getattr(b, name)
        np.testing.assert_allclose(left, right, rtol=0, atol=rtol * (np.abs(right).max() + 1e-300))


def plain_moments(X, codes, n_classes, weight):
    """The definition, in extended precision."""
    X, weight = X.astype(np.longdouble), weight.astype(np.longdouble)
    total, mean, scatter = [], [], []
    for label in range(n_classes):
        rows, w = X[codes == label], weight[codes == label]
        total.append(w.sum())
        mean.append(w @ rows / w.sum())
        centred = rows - mean[-1]
        scatter.append((centred * w[:, None]).T @ centred)
    return ClassMoments(*(np.asarray(part, dtype=np.float64) for part in (total, mean, scatter)))


@st.composite
def tables(draw):
    """Rows, codes of two classes that both occur, and positive weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(N_ROWS, N_FEATURES)) * 10.0 ** rng.integers(-3, 4, N_FEATURES)
    X += draw(st.sampled_from([0.0, 1.0, 1e4]))
    codes = rng.permutation(np.r_[0, 1, rng.integers(0, 2, N_ROWS - 2)])
    return X, codes, rng.uniform(0.1, 5.0, N_ROWS)


@given(tables())
def test_moments_are_those_of_the_definition(table):
    X, codes, weight = table
    assert_same_moments(class_moments(X, codes, 2, weight), plain_moments(X, codes, 2, weight))


@given(tables(), st.lists(st.integers(0, 6), min_size=N_ROWS, max_size=N_ROWS), st.randoms())
def test_merging_any_split_in_any_order_gives_the_whole(table, part_of_row, random):
    X, codes, weight = table
    part_of_row = np.array(part_of_row)
    labels = list(np.unique(part_of_row))
    random.shuffle(labels)
    parts = []
    for label in labels:
        rows = part_of_row == label
        parts.append(class_moments(X[rows], codes[rows], 2, weight[rows]))
    assert_same_moments(reduce(add, parts), class_moments(X, codes, 2, weight))


@given(tables())
def test_merging_is_associative(table):
    X, codes, weight = table
    a, b, c = (class_moments(X[i::3], codes[i::3], 2, weight[i::3]) for i in range(3))
    left = (a + b) + c
    right = a + (b + c)
    assert_same_moments(left, right)


@given(tables(), st.lists(st.integers(0, 3), min_size=N_ROWS, max_size=N_ROWS))
def test_a_weight_counts_as_that_many_rows(table, repeats):
    X, codes, _ = table
    repeats = np.array(repeats)
    weighted = class_moments(X, codes, 2, repeats.astype(float))
    repeated = class_moments(np.repeat(X, repeats, axis=0), np.repeat(codes, repeats), 2)
    assert_same_moments(weighted, repeated)


def test_blocks_are_joined_without_a_seam(rng):
    n_features = 40
    n_rows = 3 * BLOCK_BYTES // (8 * n_features) + 17
    X = rng.normal(size=(n_rows, n_features)) + np.linspace(0, 30, n_rows)[:, None]
    codes = rng.integers(0, 2, n_rows)
    weight = rng.uniform(0.5, 2.0, n_rows)
    assert_same_moments(class_moments(X, codes, 2, weight), plain_moments(X, codes, 2, weight))


@pytest.mark.parametrize("mean", [1e8, -1e8])
def test_a_mean_that_dwarfs_the_spread_costs_no_digits(rng, mean):
    # Rounded to 1/1024 the shifted values are exact, so that the spread stays what it was.
    noise = np.round(1024 * rng.normal(size=(5000, 3))) / 1024
    codes = rng.integers(0, 2, 5000)
    here = class_moments(noise + mean, codes, 2)
    exact = plain_moments(noise, codes, 2, np.ones(5000))
    np.testing.assert_allclose(here.scatter, exact.scatter, rtol=0, atol=1e-10 * 5000)
    np.testing.assert_allclose(here.mean - mean, exact.mean, rtol=0, atol=2 * np.spacing(abs(mean)))


@pytest.mark.parametrize("mean", [1e8, 1e12])
def test_a_first_row_near_the_mean_is_not_taken_for_the_mean(rng, mean):
    noise = np.round(1024 * rng.normal(size=(4000, 1))) / 1024
    offset = 2.0 ** np.ceil(np.log2(np.spacing(mean) * 16))
    noise[0] = np.round(noise[1:].mean() / offset) * offset + 4 * offset
    codes = np.zeros(4000, dtype=np.int64)
    exact = plain_moments(noise, codes, 1, np.ones(4000))
    here = class_moments(noise + mean, codes, 1)
    np.testing.assert_allclose(here.mean - mean, exact.mean, rtol=0, atol=2 * np.spacing(mean))


@pytest.mark.parametrize("value", [0.1, 1 / 3, -7.7e8, 1e-300, 0.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_column_has_variance_exactly_zero(rng, value, weighted):
    n_rows = 20_011
    X = np.column_stack([rng.normal(size=n_rows), np.full(n_rows, value)])
    codes = rng.integers(0, 2, n_rows)
    weight = rng.uniform(0.1, 3.0, n_rows) if weighted else None
    moments = class_moments(X, codes, 2, weight)
    assert (moments.scatter[:, 1, 1] == 0).all()
    assert (moments.mean[:, 1] == value).all()


def test_a_constant_column_stays_constant_when_merged(rng):
    X = np.full((300, 1), 0.1)
    codes = np.arange(300) % 2
    merged = reduce(add, [class_moments(X[i::3], codes[i::3], 2) for i in range(3)])
    assert (merged.scatter == 0).all()
    assert (merged.mean == 0.1).all()


def test_a_class_without_rows_has_moments_zero(rng):
    moments = class_moments(rng.normal(size=(9, 2)), np.zeros(9, dtype=np.int64), 2)
    assert moments.weight.tolist() == [9, 0]
    assert (moments.mean[1] == 0).all()
    assert (moments.scatter[1] == 0).all()
    assert (moments.scatter[1] == 0).all()


def test_merging_fills_a_class_that_was_empty(rng):
    X = rng.normal(size=(20, 3)) + 100
    codes = np.repeat([0, 1], 10)
    merged = reduce(add, [class_moments(X[codes == c], codes[codes == c], 2) for c in (0, 1)])
    assert_same_moments(merged, class_moments(X, codes, 2))


def test_rows_of_code_minus_one_are_left_out(rng):
    X = rng.normal(size=(30, 3))
    codes = np.arange(30) % 3 - 1
    kept = codes >= 0
    assert_same_moments(class_moments(X, codes, 2), class_moments(X[kept], codes[kept], 2))


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_does_not_matter(rng, order):
    X = rng.normal(size=(50, 5))
    codes = np.arange(50) % 2
    assert_same_moments(
        class_moments(np.asarray(X, order=order), codes, 2), class_moments(X, codes, 2), rtol=0
    )


def test_single_precision_rows_give_double_precision_moments(rng):
    X = (rng.normal(size=(500, 3)) + 1000).astype(np.float32)
    codes = np.arange(500) % 2
    moments = class_moments(X, codes, 2)
    assert moments.scatter.dtype == np.float64
    assert_same_moments(moments, class_moments(X.astype(np.float64), codes, 2))


def test_the_rows_are_not_changed(rng):
    X = rng.normal(size=(50, 3)) + 5
    before = X.copy()
    class_moments(X, np.arange(50) % 2, 2, rng.uniform(1, 2, 50))
    np.testing.assert_array_equal(X, before)
