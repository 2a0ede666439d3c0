import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, roc_auc_score

from safdr._engine.taken_rows import take_rows
from safdr._estimators.models import LogisticModel
from safdr._estimators.scoring import (
    RocAucOfEachClass,
    cross_entropy,
    roc_auc,
    score_by_roc_auc,
)


@pytest.mark.parametrize("n_values", [2, 5, 1000])
def test_it_is_what_scikit_learn_computes_with_and_without_ties(rng, n_values):
    positive = rng.random(300) < 0.3
    # Whole numbers in both classes, so that rows of both have equal scores.
    scores = rng.integers(n_values, size=300) + positive * rng.integers(0, 2, size=300)
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
    model = LogisticModel().fit(X, y)
    assert score_by_roc_auc(model, X, y) == pytest.approx(get_scorer("roc_auc")(model, X, y))


def test_a_score_does_not_depend_on_how_many_rows_are_looked_at_together(two_classes, monkeypatch):
    X, y = two_classes
    columns = np.array([3, 0, 7])
    model = LogisticModel().fit(X[:, columns], y)
    whole = score_by_roc_auc(model, X[:, columns], y)
    monkeypatch.setattr("safdr._engine.taken_rows.BLOCK_BYTES", 8 * 3 * 7)
    rows = take_rows(X, np.arange(len(X)))
    assert score_by_roc_auc(model, rows, y, columns) == whole


@pytest.mark.parametrize("labels", [("a", "b", "c"), (3, 1, 2)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_scorer_of_more_classes_is_that_of_scikit_learn(two_classes, labels, kind):
    X = kind(two_classes[0])
    y = np.array(labels)[np.arange(X.shape[0]) % 3]
    model, theirs, ours = (
        LogisticRegression().fit(X, y),
        get_scorer("roc_auc_ovr"),
        RocAucOfEachClass(),
    )
    assert ours(model, X, y) == pytest.approx(theirs(model, X, y))
    assert repr(ours) == repr(theirs)
    with pytest.raises(ValueError, match="Number of classes in y_true not equal"):
        ours(model, X[y != labels[0]], y[y != labels[0]])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_cross_entropy_is_the_log_loss_of_scikit_learn(rng, n_classes, weighted):
    """To the last digit, also where a model is certain."""
    probability = rng.dirichlet(np.full(n_classes, 0.05), size=50)
    codes = rng.integers(n_classes, size=50)
    weight = rng.random(50) if weighted else None
    theirs = log_loss(codes, probability, labels=np.arange(n_classes), sample_weight=weight)
    assert cross_entropy(probability, codes, weight) == theirs
