"""Penalised logistic models don't extrapolate."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold

from safdr import Annealing, AnnealingSelector, AnnealingSelectorCV
from safdr._estimators.clipped_model import ClippedLogisticRegression

QUICK = Annealing(n_replicas=10, max_steps=20)


@pytest.fixture
def rows(rng):
    y = np.arange(120) % 2
    return rng.normal(size=(120, 6)) + np.outer(y, [1, 0.5, 0, 0, 0, 0]), y


def test_a_value_beyond_counts_as_the_nearest_that_was_seen(rows):
    X, y = rows
    selector = AnnealingSelector(2, C=1.0, annealing=QUICK, random_state=0).fit(X, y)
    far = np.vstack([X[:3] + 1e9, X[:3] - 1e9])
    at_the_ends = np.clip(far, X.min(axis=0), X.max(axis=0))
    assert selector.predict_proba(far).tolist() == selector.predict_proba(at_the_ends).tolist()
    reduced = far[:, selector.subset_]
    assert (
        selector.estimator_.predict_proba(reduced).tolist() == selector.predict_proba(far).tolist()
    )
    assert np.isfinite(np.log(selector.predict_proba(far))).all()
    assert selector.predict_proba(csr_matrix(far)) == pytest.approx(selector.predict_proba(far))


def test_the_model_as_published_extrapolates(rows):
    X, y = rows
    selector = AnnealingSelector(2, C=np.inf, annealing=QUICK, random_state=0).fit(X, y)
    assert not isinstance(selector.estimator_, ClippedLogisticRegression)
    assert selector.predict_proba(X[:1] + 1e9).max() == 1.0


def test_more_classes_are_clipped_too(rng):
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + np.outer(y, [1, 0, 0.5, 0])
    selector = AnnealingSelector(2, C=1.0, annealing=QUICK, random_state=0).fit(X, y)
    at_the_ends = np.clip(X[:5] * 1e6, X.min(axis=0), X.max(axis=0))
    expected = selector.predict_proba(at_the_ends)
    assert selector.predict_proba(X[:5] * 1e6).tolist() == expected.tolist()


def test_folds_score_the_model_that_users_get(rows):
    X, y = rows
    # Most test rows lie beyond their training rows.
    X = X * np.exp(2 * np.random.default_rng(1).normal(size=X.shape))
    how = {"max_features": 2, "C": 1.0, "annealing": QUICK, "random_state": 0}
    cv = StratifiedKFold(3)
    search = AnnealingSelectorCV(cv=cv, **how).fit(X, y)
    again = AnnealingSelectorCV(cv=cv, scoring=get_scorer("roc_auc"), **how).fit(X, y)
    assert search.cv_results_["mean_test_score"] == pytest.approx(
        again.cv_results_["mean_test_score"], abs=1e-12
    )


def test_a_clone_can_be_fitted(rows):
    X, y = rows
    selector = AnnealingSelector(2, C=1.0, annealing=QUICK, random_state=0).fit(X, y)
    model = clone(selector.estimator_).fit(X, y)
    assert model.data_min_.tolist() == X.min(axis=0).tolist()
    assert model.predict_proba(X * 1e6).tolist() == (
        model.predict_proba(np.clip(X * 1e6, X.min(axis=0), X.max(axis=0))).tolist()
    )


def test_wrong_rows_are_refused_as_by_any_model(rows):
    X, y = rows
    model = AnnealingSelector(2, C=1.0, annealing=QUICK, random_state=0).fit(X, y).estimator_
    for n_columns in (1, 3):
        with pytest.raises(ValueError, match="2 features"):
            model.predict_proba(X[:, :n_columns])
    with pytest.raises(NotFittedError):
        clone(model).predict(X[:, :2])
