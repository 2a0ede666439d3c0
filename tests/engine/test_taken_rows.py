"""Rows by their numbers: all that is asked of them is what a copy would give, to the last bit."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from safdr._engine.criterion import fisher_criterion
from safdr._engine.fits.columns import Standardiser
from safdr._engine.fits.fitter import LogisticFitter
from safdr._engine.moments import joint_moments, within_moments
from safdr._engine.taken_rows import TakenRows, gathered, in_blocks, take_rows


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("safdr._engine.taken_rows.BLOCK_BYTES", 8 * 2 * 50)


@pytest.fixture
def source(rng):
    return rng.normal(size=(500, 7))


@pytest.fixture
def numbers(rng):
    return rng.permutation(500)[:333]


def same(ours, theirs):
    order = ("c_contiguous", "f_contiguous")
    assert all(getattr(ours.flags, name) == getattr(theirs.flags, name) for name in order)
    np.testing.assert_array_equal(ours, theirs)


def test_columns_and_rows_come_as_of_a_copy(source, numbers):
    taken, copy = take_rows(source, numbers), source[numbers]
    assert taken.shape == copy.shape
    columns = np.array([5, 0, 2])
    same(taken[:, columns], copy[:, columns])
    same(taken.take(columns, axis=1), copy.take(columns, axis=1))
    same(taken[::7], copy[::7].copy())
    same(gathered(taken), copy)
    np.testing.assert_array_equal(taken[:, :1], copy[:, :1])


def test_rows_of_rows_and_masks(source, numbers):
    mask = np.arange(len(numbers)) % 3 > 0
    again = take_rows(take_rows(source, numbers), mask)
    assert again.source is source
    same(gathered(again), source[numbers[mask]])
    same(gathered(take_rows(source, source[:, 0] > 0)), source[source[:, 0] > 0])


def test_sparse_rows_are_plain_ones(source, numbers):
    rows = take_rows(sparse.csr_array(source), numbers)
    assert sparse.issparse(rows)
    np.testing.assert_array_equal(gathered(rows).toarray(), source[numbers])


def test_blocks_are_all_rows(rng):
    source = rng.normal(size=(3000, 200))
    blocks = list(take_rows(source, np.arange(3000)[::-1]).blocks())
    assert len(blocks) > 1
    np.testing.assert_array_equal(np.concatenate(blocks), source[::-1])


@pytest.mark.parametrize("order", ["C", "F"])
def test_moments_and_fits_are_those_of_a_copy(rng, source, numbers, order):
    codes, weight = rng.integers(2, size=len(numbers)), rng.uniform(0.5, 2, size=len(numbers))
    found = []
    for X in (TakenRows(np.asarray(source, order=order), numbers), source[numbers]):
        moments = within_moments(X, codes, 2, weight)
        joint = joint_moments(X, codes[:, None].astype(float), weight, rows=codes == 1)
        criterion = fisher_criterion(moments, ridge=1e-6)
        fits = LogisticFitter(X, codes, weight, criterion).fit(np.array([[0, 3], [2, 6]]))
        found.append([moments.within, joint.covariance, fits.losses, fits.coefficients])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_moments_and_columns_of_taken_rows_copy_no_rows(rng):
    source = rng.normal(size=(40_000, 50))
    codes = rng.integers(2, size=30_000)
    taken = take_rows(source, np.arange(30_000))
    tracemalloc.start()
    try:
        moments = within_moments(taken, codes, 2)
        rows = Standardiser(taken, moments)
        subsets = np.array([[1, 4]])
        next(rows.portions(subsets))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30_000 * 50 * 8 / 2


@pytest.mark.parametrize("kind", ["taken", "dense", "sparse"])
def test_some_columns_come_in_blocks(source, numbers, small_blocks, kind):
    taken, columns = take_rows(source, numbers), np.array([4, 1])
    rows = {"taken": taken, "dense": gathered(taken), "sparse": sparse.csr_array(gathered(taken))}
    blocks = list(in_blocks(rows[kind], columns))
    if kind == "sparse":
        blocks = [each.toarray() for each in blocks]
    else:
        assert [len(each) for each in blocks] == [50] * 6 + [33]
    np.testing.assert_array_equal(np.vstack(blocks), source[numbers][:, columns])
