from types import SimpleNamespace

import numpy as np
import pytest

from safdr._engine.criterion import (
    BATCH_BYTES,
    MIN_CLASS_ROWS,
    ROWS_PER_FEATURE,
    affordable_batches,
    batch_share,
    draw_batches,
)

CODES = np.random.default_rng(0).permutation(np.repeat([0, 1], [300, 100]))


def share_of(fraction, size, counts):
    return batch_share(fraction, size, SimpleNamespace(counts=counts))


def drawn(codes, n_batches, share, seed=0):
    return list(draw_batches(codes, n_batches, share, np.random.default_rng(seed)))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_each_class_has_its_share_of_rows(share):
    for batch in drawn(CODES, 5, share):
        for label, count in enumerate((300, 100)):
            assert (batch == label).sum() == np.ceil(share * count)


def test_rows_keep_their_class_or_are_left_out():
    for batch in drawn(CODES, 3, 0.4):
        inside = batch >= 0
        np.testing.assert_array_equal(batch[inside], CODES[inside])
        assert (batch[~inside] == -1).all()


def test_there_are_as_many_batches_as_asked_for_and_they_differ():
    batches = drawn(CODES, 7, 0.5)
    assert len(batches) == len({batch.tobytes() for batch in batches}) == 7


def test_every_row_has_the_same_chance():
    n_batches = 4000
    counts = sum((batch >= 0).astype(int) for batch in drawn(CODES, n_batches, 0.5))
    # Binomial: five standard deviations on 400 rows.
    assert np.abs(counts - n_batches / 2).max() < 5 * np.sqrt(n_batches / 4)


def test_the_same_seed_gives_the_same_batches():
    np.testing.assert_array_equal(drawn(CODES, 3, 0.5, seed=1), drawn(CODES, 3, 0.5, seed=1))


def test_another_seed_gives_other_batches():
    assert not np.array_equal(drawn(CODES, 3, 0.5, seed=1), drawn(CODES, 3, 0.5, seed=2))


@pytest.mark.parametrize("n_rare", [2, 3, 10])
def test_a_class_never_has_fewer_than_two_rows(n_rare):
    codes = np.repeat([0, 1], [500, n_rare])
    for batch in drawn(codes, 5, 0.01):
        assert (batch == 1).sum() >= MIN_CLASS_ROWS == 2


def test_a_share_of_one_is_all_rows():
    np.testing.assert_array_equal(drawn(CODES, 1, 1.0)[0], CODES)


@pytest.mark.parametrize("fraction", [0.3, 0.5, 1.0])
def test_the_share_is_the_fraction_where_rows_abound(fraction):
    assert share_of(fraction, 5, np.array([5000, 5000])) == fraction


def test_the_share_grows_with_the_size_in_few_steps():
    counts = np.array([60, 40])
    assert share_of(0.1, 30, counts) == 0.625  # 62 rows are needed: five eighths
    shares = [share_of(0.1, size, counts) for size in range(1, 60)]
    needed = [(ROWS_PER_FEATURE * size + 2) / 100 for size in range(1, 60)]
    assert all(share >= min(1.0, need) for share, need in zip(shares, needed, strict=True))
    assert len(set(shares)) <= 9


def test_the_share_is_never_more_than_all_rows():
    assert share_of(0.5, 1000, np.array([40, 22])) == 1.0


@pytest.mark.parametrize("size", [1, 4, 12])
def test_a_batch_has_two_rows_a_feature_beyond_the_class_means(size):
    codes = np.repeat([0, 1], [31, 17])
    share = share_of(0.05, size, np.bincount(codes))
    for batch in drawn(codes, 5, share):
        assert (batch >= 0).sum() - 2 >= 2 * size


@pytest.mark.parametrize("n_features", [1, 44, 500, 2590])
def test_there_are_as_many_batches_as_asked_for_where_features_are_few(n_features):
    assert affordable_batches(5, n_features) == 5


@pytest.mark.parametrize("n_features", [2591, 3000, 4000])
def test_fewer_batches_where_more_would_not_fit(n_features):
    n_batches = affordable_batches(5, n_features)
    assert 2 <= n_batches < 5
    assert n_batches * 8 * n_features**2 <= BATCH_BYTES < (n_batches + 1) * 8 * n_features**2


@pytest.mark.parametrize(("asked", "given"), [(1, 1), (2, 2), (5, 2), (50, 2)])
def test_never_fewer_than_two_batches_unless_one_is_asked_for(asked, given):
    assert affordable_batches(asked, 20_000) == given


def test_without_classes_a_batch_is_a_share_of_all_rows():
    codes = np.zeros(200, dtype=np.int64)
    for batch in drawn(codes, 3, share_of(0.5, 4, np.bincount(codes))):
        assert (batch == 0).sum() == 100
        assert (batch == -1).sum() == 100
