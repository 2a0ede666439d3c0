import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score

from safdr._engine.taken_rows import take_rows
from safdr._estimators.scoring import roc_auc, score_by_roc_auc


@pytest.mark.parametrize("n_values", [2, 5, 1000])
def test_it_is_what_scikit_learn_computes_with_and_without_ties(rng, n_values):
    positive = rng.random(300) < 0.3
    scores = rng.integers(n_values, size=300) + positive * rng.random()
    assert roc_auc(scores, positive) == pytest.approx(roc_auc_score(positive, scores), abs=1e-14)


def test_it_depends_on_the_order_alone(rng):
    positive = np.arange(60) % 3 == 0
    scores = rng.normal(size=60) + positive
    assert roc_auc(scores, positive) == roc_auc(np.exp(scores), positive)


@pytest.mark.parametrize(("scores", "area"), [([0, 1, 2], 1.0), ([2, 1, 0], 0.0), ([1, 1, 1], 0.5)])
def test_perfect_reversed_and_constant_scores(scores, area):
    assert roc_auc(np.array(scores, dtype=float), np.array([False, False, True])) == area


def test_rows_of_one_class_have_no_area():
    assert np.isnan(roc_auc(np.arange(3.0), np.ones(3, dtype=bool)))
    assert np.isnan(roc_auc(np.arange(3.0), np.zeros(3, dtype=bool)))


@pytest.mark.parametrize("gap", [0, 1])
def test_a_score_that_is_no_number_has_no_area(gap):
    scores = np.arange(4.0)
    scores[gap] = np.nan
    assert np.isnan(roc_auc(scores, np.array([False, True, False, True])))


@pytest.mark.parametrize("labels", [("no", "yes"), (3, 1), (True, False)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_scorer_is_that_of_scikit_learn(two_classes, labels, kind):
    X, codes = two_classes
    X, y = kind(X), np.array(labels)[codes]
    model = LogisticRegression().fit(X, y)
    assert score_by_roc_auc(model, X, y) == pytest.approx(get_scorer("roc_auc")(model, X, y))


def test_a_score_does_not_depend_on_how_many_rows_are_looked_at_together(two_classes, monkeypatch):
    X, y = two_classes
    columns = np.array([3, 0, 7])
    model = LogisticRegression().fit(X[:, columns], y)
    whole = score_by_roc_auc(model, X[:, columns], y)
    monkeypatch.setattr("safdr._engine.taken_rows.BLOCK_BYTES", 8 * 3 * 7)
    rows = take_rows(X, np.arange(len(X)))
    assert score_by_roc_auc(model, rows, y, columns) == whole
