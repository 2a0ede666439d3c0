"""The stability index is that of Nogueira, Sechidis and Brown (2018), and covers the truth."""

import numpy as np
import pytest
from scipy.optimize import linprog

from helpers import engine


def slow_stability(selected):
    """Return their index: one minus the mean unbiased variance over that of random subsets."""
    n, d = selected.shape
    share = selected.sum(axis=0) / n
    variance = n / (n - 1) * share * (1 - share)
    k = selected.sum() / n
    return 1 - variance.mean() / (k / d * (1 - k / d))


@pytest.mark.parametrize("n", [2, 3, 9])
def test_stability_is_the_definition(n):
    rng = np.random.default_rng(n)
    for share in (0.2, 0.5, 0.8):
        selected = rng.random((n, 11)) < share
        assert engine.nogueira(selected)[0] == pytest.approx(slow_stability(selected))


def test_same_subsets_have_one_and_random_ones_zero():
    rng = np.random.default_rng(0)
    assert engine.nogueira(np.tile([True, False, False], (6, 1))) == (1.0, (1.0, 1.0))
    index, (low, high) = engine.nogueira([rng.permutation(20) < 4 for _ in range(3000)])
    assert abs(index) < 0.01
    assert low < 0 < high


def test_nothing_to_select_has_no_index():
    for selected in (np.ones((4, 3)), np.zeros((4, 3))):
        index, interval = engine.nogueira(selected)
        assert np.isnan([index, *interval]).all()


@pytest.mark.parametrize("block", [1, 2])
def test_the_interval_covers_the_index_of_many_resamples(block):
    """Of equal neighbours only every second one counts."""
    rng = np.random.default_rng(1)
    shares = np.array([0.95, 0.8, 0.6, 0.4, 0.2, 0.1, 0.05, 0.05, 0.02, 0.02])
    truth = 1 - np.mean(shares * (1 - shares)) / (shares.mean() * (1 - shares.mean()))
    n_trials, covered = 400, 0
    for _ in range(n_trials):
        selected = np.repeat(rng.random((60, 10)) < shares, block, axis=0)
        low, high = engine.nogueira(selected, block)[1]
        covered += low <= truth <= high
    assert covered / n_trials == pytest.approx(0.95, abs=0.035)


def test_intervals_of_shares_are_wilsons():
    z, n = 1.959964, 20
    for count, (low, high) in zip([0, 7, 20], engine.wilson([0, 7, 20], n), strict=True):
        p = count / n
        middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        assert (low, high) == pytest.approx((middle - half, middle + half), abs=1e-6)


# ---- The bound of Shah and Samworth --------------------------------------------------------------


def largest_tail(mean, n_pairs, threshold):
    """P(X >= 2 threshold - 1) at most, of a unimodal X on the multiples of 1/n_pairs in [0, 1].

    X is the share of the pairs in which both halves select a feature: at least `threshold` of the
    halves select it only if X is that large. The mean of X is at most the squared probability.
    """
    grid = np.arange(n_pairs + 1) / n_pairs
    tail = (grid >= 2 * threshold - 1 - 1e-9).astype(float)
    rising = np.eye(n_pairs + 1)[:-1] - np.eye(n_pairs + 1)[1:]
    best = 0.0
    for mode in range(n_pairs + 1):
        signs = np.where(np.arange(n_pairs) < mode, 1.0, -1.0)[:, None]
        found = linprog(
            -tail,
            A_ub=np.vstack([signs * rising, grid]),
            b_ub=np.append(np.zeros(n_pairs), mean),
            A_eq=np.ones((1, n_pairs + 1)),
            b_eq=[1.0],
        )
        best = max(best, -found.fun if found.success else 0.0)
    return best


@pytest.mark.parametrize("n_resamples", [6, 20, 50, 100])
def test_the_bound_is_the_largest_tail_of_a_unimodal_distribution(n_resamples):
    threshold = np.ceil(0.9 * n_resamples) / n_resamples
    ratios = []
    for average in (0.05, 0.2, 0.4, 0.57):
        size, n_features = 100 * average, 100
        found = engine.expected_errors(size, n_features, n_resamples)
        exact = n_features * largest_tail(average**2, n_resamples // 2, threshold)
        assert exact <= found * (1 + 1e-6)
        ratios.append(exact / found)
    assert max(ratios) > 0.99  # no smaller constant would do
    assert np.isnan(engine.expected_errors(58, 100, n_resamples))


def test_fewer_features_of_low_probability_are_selected_than_the_bound_says():
    """Halves select the features that correlate most; signals have a probability above average."""
    rng, errors, n = np.random.default_rng(0), [], 60
    for _ in range(60):
        X = rng.normal(size=(n, 30))
        y = X[:, :3] @ np.ones(3) + 2 * rng.normal(size=n)
        counts = np.zeros(30)
        for _ in range(25):
            order = rng.permutation(n)
            for half in (order[: n // 2], order[n // 2 :]):
                covariance = np.abs((X[half] - X[half].mean(axis=0)).T @ y[half])
                counts[np.argsort(-covariance)[:10]] += 1
        errors.append(np.sum(counts[3:] >= 45))
    assert 0.02 < np.mean(errors) <= engine.expected_errors(10, 30, 50)
