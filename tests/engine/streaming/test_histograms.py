"""Areas under ROC curves from histograms, against scikit-learn's, with the error that they tell."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from safdr._engine.streaming.histograms import HistogramPass, ScoredModel, area_and_error
from safdr._engine.streaming.models import PassingRows


def scored(X, codes, slopes, *, weight=None, clip=None, sample=500):
    """Area, error and the true area of one model on bucket 1 of two."""
    rng = np.random.default_rng(0)
    buckets = rng.integers(0, 2, len(X))
    model = ScoredModel(np.arange(X.shape[1]), slopes, -0.5, clip, np.array([1]))
    model = model.with_edges_of(X[rng.permutation(len(X))[:sample]].T)
    task = HistogramPass([model])
    histograms = task.empty()
    for rows in np.array_split(np.arange(len(X)), 4):
        of_rows = None if weight is None else weight[rows]
        task.add(histograms, PassingRows(X[rows].T, buckets[rows], codes[rows], of_rows))
    area, error = area_and_error(histograms[0])
    inside = buckets == 1
    of_rows = None if weight is None else weight[inside]
    return (
        area,
        error,
        roc_auc_score(codes[inside], model.scores(X.T)[inside], sample_weight=of_rows),
    )


@pytest.mark.parametrize("kind", ["normal", "cauchy", "rare class", "weighted", "clipped"])
def test_the_area_is_right_to_the_error_that_is_told(kind):
    rng = np.random.default_rng(1)
    X = rng.standard_cauchy((40_000, 3)) if kind == "cauchy" else rng.normal(size=(40_000, 3))
    codes = (X @ [1, -1, 0.5] + rng.logistic(size=40_000) > (5 if kind == "rare class" else 0)) * 1
    weight = rng.uniform(0.1, 4, 40_000) if kind == "weighted" else None
    clip = (np.full(3, -1.0), np.full(3, 1.0)) if kind == "clipped" else None
    area, error, wanted = scored(X, codes, np.array([1.0, -0.8, 0.3]), weight=weight, clip=clip)
    assert abs(area - wanted) <= error + 1e-12
    # From a sample of 500 rows.
    assert error < 1e-3


def test_a_sample_of_many_rows_makes_the_error_small():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200_000, 2))
    codes = (X[:, 0] + 5 * rng.logistic(size=200_000) > 0).astype(int)
    area, error, wanted = scored(X, codes, np.array([1.0, 0.1]), sample=40_000)
    assert abs(area - wanted) <= error < 1e-4


def test_scores_that_many_rows_share_have_no_error():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, (5000, 2)).astype(float)
    codes = (X[:, 0] + rng.logistic(size=5000) > 1).astype(int)
    area, error, wanted = scored(X, codes, np.array([1.0, 0.25]))
    assert error == 0
    assert area == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("n_features", [2, 3, 7])
def test_a_row_has_the_same_score_wherever_it_passes_by(n_features):
    """To the last bit: alone, at the end of a chunk, or in columns that are laid out otherwise."""
    rng = np.random.default_rng(4)
    row = rng.normal(size=n_features) * 10.0 ** rng.integers(-3, 4, n_features)
    model = ScoredModel(
        np.arange(n_features), rng.normal(size=n_features), 0.1, None, np.array([0])
    )
    alone = model.scores(row[:, None])[0]
    for n_rows in (*range(2, 40), 1001):
        columns = np.repeat(row[:, None], n_rows, axis=1)
        for laid_out in (columns, np.asfortranarray(columns)):
            np.testing.assert_array_equal(model.scores(laid_out), alone)


def test_one_class_has_no_area():
    assert np.isnan(area_and_error(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))[0])
