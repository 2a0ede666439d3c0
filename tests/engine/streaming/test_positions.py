"""Which bucket a row is in, and whether it is sampled."""

import numpy as np
import pytest

from safdr._engine.streaming.positions import (
    FOR_SAMPLE,
    RowSample,
    buckets_of,
    hashes,
    most_of_each,
)


def sampled(positions, codes, limit, cuts, order=None):
    """A sample of rows that come in parts."""
    parts = []
    for rows in np.split(np.arange(len(positions)), cuts):
        part = RowSample(limit)
        some = positions[rows]
        part.add(some, codes[rows], hashes(some, 5, FOR_SAMPLE))
        parts.append(part)
    total = RowSample(limit)
    for i in range(len(parts)) if order is None else order:
        total.merge(parts[i])
    total.trim()
    return total


def test_a_row_stays_in_its_bucket_wherever_chunks_begin():
    every = buckets_of(np.arange(1000), 3, 20)
    np.testing.assert_array_equal(buckets_of(np.arange(400, 700), 3, 20), every[400:700])
    assert np.any(buckets_of(np.arange(1000), 4, 20) != every)


def test_buckets_are_even_and_the_sample_is_even_in_them():
    positions = np.arange(200_000)
    buckets = buckets_of(positions, 0, 20)
    counts = np.bincount(buckets)
    # Six standard deviations of a binomial.
    assert np.all(np.abs(counts - 10_000) < 6 * np.sqrt(9500))
    sample = sampled(positions, np.zeros(len(positions), dtype=int), 20_000, [])
    inside = np.bincount(buckets_of(sample.positions, 0, 20))
    assert np.all(np.abs(inside - 1000) < 6 * np.sqrt(950))


@pytest.mark.parametrize("limit", [50, 300, 5000])
def test_the_sample_does_not_depend_on_parts_or_their_order(limit):
    rng = np.random.default_rng(0)
    codes = rng.choice(3, 3000, p=[0.9, 0.09, 0.01])
    positions = np.arange(3000)
    whole = sampled(positions, codes, limit, [])
    for cuts, order in (([10, 2000], None), ([100, 200, 900], [3, 1, 0, 2])):
        again = sampled(positions, codes, limit, cuts, order)
        np.testing.assert_array_equal(again.positions, whole.positions)
        np.testing.assert_array_equal(again.codes, whole.codes)
    assert len(whole.positions) <= limit
    np.testing.assert_array_equal(codes[whole.positions], whole.codes)


def test_rare_classes_are_kept_and_common_ones_cut_alike():
    codes = np.repeat([0, 1, 2], [5000, 3000, 40])
    sample = sampled(np.arange(len(codes)), codes, 1000, [4000])
    np.testing.assert_array_equal(np.bincount(sample.codes), [480, 480, 40])


@pytest.mark.parametrize(
    ("counts", "limit", "most"),
    [([5, 5], 20, 5), ([100, 100], 20, 10), ([100, 3], 20, 17), ([1, 2, 90, 90], 33, 15)],
)
def test_the_most_of_each_class(counts, limit, most):
    assert most_of_each(np.array(counts), limit) == most


def test_all_rows_are_sampled_where_they_are_few():
    sample = sampled(np.arange(30), np.arange(30) % 2, 30, [7])
    np.testing.assert_array_equal(sample.positions, np.arange(30))
    places, positions = sample.places(10, 5)
    assert (places.start, places.stop) == (10, 15)
    np.testing.assert_array_equal(positions, np.arange(10, 15))
