"""Stability is that of Nogueira, Sechidis and Brown (2018); streamed areas are scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

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
        assert engine.nogueira(selected) == pytest.approx(slow_stability(selected))


def test_same_subsets_have_one_and_random_ones_zero():
    rng = np.random.default_rng(0)
    assert engine.nogueira(np.tile([True, False, False], (6, 1))) == 1.0
    assert abs(engine.nogueira([rng.permutation(20) < 4 for _ in range(3000)])) < 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_of_scores_with_ties_between_the_classes(weighted):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, (3000, 2)).astype(float)
    codes = (X[:, 0] + rng.logistic(size=3000) > 1).astype(np.int64)
    slopes = np.array([1.0, 0.25])
    weight = rng.uniform(0.1, 4.0, 3000) if weighted else None
    area, error = engine.streamed_area(X, codes, slopes, weight)
    expected = roc_auc_score(codes, X @ slopes, sample_weight=weight)
    assert area == pytest.approx(expected, abs=1e-12)
    assert error == 0.0


def test_the_area_of_distinct_scores_is_right_to_its_error():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(30_000, 2))
    codes = (X[:, 0] + rng.logistic(size=30_000) > 0).astype(np.int64)
    area, error = engine.streamed_area(X, codes, np.array([1.0, 0.3]))
    assert abs(area - roc_auc_score(codes, X @ [1.0, 0.3])) <= error < 1e-4
