"""Stability of indicators: Nogueira's index by its definition, intervals, exclusive pairs."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from safdr._engine.stability import exclusive_pairs, nogueira_index, share_intervals


def plain_index(rows):
    """The index and the variance of its estimate, feature by feature and resample by resample."""
    n, d = rows.shape
    p = [sum(row[f] for row in rows) / n for f in range(d)]
    k = [sum(row) for row in rows]
    mean_k = sum(k) / n
    variances = [n / (n - 1) * p[f] * (1 - p[f]) for f in range(d)]
    chance = mean_k / d * (1 - mean_k / d)
    index = 1 - sum(variances) / d / chance
    phi = [
        (
            sum(rows[i][f] * p[f] for f in range(d)) / d
            - k[i] * mean_k / d**2
            + index / 2 * (2 * mean_k * k[i] / d**2 - k[i] / d - mean_k / d + 1)
        )
        / chance
        for i in range(n)
    ]
    mean_phi = sum(phi) / n
    return index, 4 / n**2 * sum((each - mean_phi) ** 2 for each in phi)


def test_the_index_is_the_one_defined(rng):
    for share in (0.1, 0.5, 0.8):
        rows = rng.random((9, 7)) < share
        index, variance = plain_index(rows.astype(int))
        found, (low, high) = nogueira_index(rows)
        assert found == pytest.approx(index)
        assert low == pytest.approx(index - 1.959964 * np.sqrt(variance), rel=1e-6)
        assert high == pytest.approx(min(1.0, index + 1.959964 * np.sqrt(variance)), rel=1e-6)


def test_the_same_subset_each_time_is_one_and_random_subsets_are_near_zero(rng):
    assert nogueira_index(np.tile([True, False, False], (6, 1))) == (1.0, (1.0, 1.0))
    rows = np.array([rng.permutation(20) < 4 for _ in range(2000)])
    index, (low, high) = nogueira_index(rows)
    assert abs(index) < 0.01
    assert low < 0.0 < high


def test_nothing_to_choose_has_no_index():
    for rows in (np.ones((4, 3), dtype=bool), np.zeros((4, 3), dtype=bool)):
        assert np.isnan([nogueira_index(rows)[0], *nogueira_index(rows)[1]]).all()


def covered(draw, together, truth, n_trials=400):
    hits = 0
    for _ in range(n_trials):
        _, (low, high) = nogueira_index(draw(), together)
        hits += low <= truth <= high
    return hits / n_trials


def test_the_interval_covers_the_index_of_many_resamples(rng):
    shares = np.array([0.95, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.05, 0.02, 0.02])

    def draw(n=60):
        return rng.random((n, len(shares))) < shares

    truth = 1 - np.mean(shares * (1 - shares)) / (shares.mean() * (1 - shares.mean()))
    assert covered(draw, 1, truth) == pytest.approx(0.95, abs=0.035)


def test_rows_that_depend_on_one_another_count_as_one(rng):
    shares = np.array([0.9, 0.7, 0.5, 0.3, 0.1, 0.05, 0.05, 0.05])
    truth = 1 - np.mean(shares * (1 - shares)) / (shares.mean() * (1 - shares.mean()))

    def draw(n=60):
        # The same twice: as if the second half told nothing new.
        return np.repeat(rng.random((n, len(shares))) < shares, 2, axis=0)

    assert covered(draw, 2, truth) == pytest.approx(0.95, abs=0.035)
    assert covered(draw, 1, truth) < 0.88


def test_intervals_of_shares_are_wilsons():
    counts, z = np.array([0, 7, 20]), 1.959964
    for count, (low, high) in zip(counts, share_intervals(counts, 20), strict=True):
        p, n = count / 20, 20
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        assert (low, high) == pytest.approx((centre - half, centre + half), abs=1e-6)


def test_features_that_replace_one_another_are_a_pair(rng):
    rows = rng.random((50, 6)) < np.array([0.5, 0.5, 0.3, 0.8, 1.1, -0.1])
    rows[:, 1] = ~rows[:, 3]
    assert exclusive_pairs(rows) == [(3, 1)]
    table = [
        [(rows[:, 3] & rows[:, 1]).sum(), (rows[:, 3] & ~rows[:, 1]).sum()],
        [(~rows[:, 3] & rows[:, 1]).sum(), (~rows[:, 3] & ~rows[:, 1]).sum()],
    ]
    assert fisher_exact(table, alternative="less").pvalue < 1e-5


def test_features_chosen_by_chance_are_hardly_ever_a_pair(rng):
    told = [exclusive_pairs(rng.random((50, 10)) < 0.4) for _ in range(200)]
    assert sum(bool(pairs) for pairs in told) <= 20
    assert exclusive_pairs(np.ones((4, 3), dtype=bool)) == []
