"""recalibrate: predictions of all tasks move to what happens, and the selector stays as it is."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    ParameterError,
    Scorecard,
    recalibrate,
)
from safdr._estimators.recalibration import CurvedModel

QUICK = {"annealing": Annealing(n_replicas=8, max_steps=10), "random_state": 0}


@pytest.fixture(scope="module")
def bent():
    """Rows whose log-odds bend, with a fitted selector."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = rng.random(6000) < 1 / (1 + np.exp(2 - 4 * np.maximum(X[:, 0], 0)))
    return AnnealingSelector(1, **QUICK).fit(X[:4000], y[:4000]), X, y


def test_a_curve_makes_probabilities_hold_on_rows_that_took_no_part(bent):
    selector, X, y = bent
    before = selector.predict_proba(X)
    found = recalibrate(selector, X[:4000], y[:4000])
    assert found.recalibration_["kind"] == "curve"
    assert isinstance(found.estimator_, CurvedModel)
    assert np.array_equal(selector.predict_proba(X), before)
    test = np.arange(4000, 6000)
    low = test[X[test, 0] < -1]
    gap = [abs(m.predict_proba(X[low])[:, 1].mean() - y[low].mean()) for m in (selector, found)]
    assert gap[1] < 0.03 < gap[0]
    order = np.argsort(selector.decision_function(X))
    assert np.all(np.diff(found.decision_function(X)[order]) >= -1e-9)


def test_a_curved_model_has_what_models_have(bent):
    selector, X, y = bent
    found = recalibrate(selector, X[:4000], y[:4000])
    again = pickle.loads(pickle.dumps(found))
    odds = again.decision_function(X)
    assert again.predict_proba(X)[:, 1] == pytest.approx(1 / (1 + np.exp(-odds)))
    assert np.exp(again.predict_log_proba(X)) == pytest.approx(again.predict_proba(X))
    assert np.array_equal(again.predict(X), odds > 0)
    assert again.estimator_.coef_.shape == (1, 1)
    with pytest.raises(ParameterError, match='shape="line"'):
        Scorecard.from_estimator(found, X)
    line = recalibrate(selector, X[:4000], y[:4000], shape="line")
    assert line.recalibration_["kind"] == "line"
    assert Scorecard.from_estimator(line, X).score(X).shape == (6000,)


def test_class_weights_are_undone():
    X, y = make_classification(1500, 6, weights=[0.9], random_state=0)
    selector = AnnealingSelectorCV(max_features=2, class_weight="balanced", **QUICK).fit(X, y)
    found = recalibrate(selector, X, y)
    assert selector.predict_proba(X)[:, 1].mean() > 2 * y.mean()
    assert found.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)


def test_weights_and_groups_count():
    X, y = make_classification(400, 5, random_state=0)
    weight = np.where(X[:, 0] > 0, 5.0, 1.0) * np.where(y == 1, 3.0, 1.0)
    selector = AnnealingSelector(2, **QUICK).fit(X, y, sample_weight=weight)
    found = recalibrate(selector, X, y, sample_weight=weight, groups=np.arange(400) // 3)
    mean = np.average(found.predict_proba(X)[:, 1], weights=weight)
    assert mean == pytest.approx(np.average(y, weights=weight), abs=0.02)
    assert mean > y.mean() + 0.05
    alone = recalibrate(selector, X, y, sample_weight=weight)
    assert found.recalibration_["slopes"] != alone.recalibration_["slopes"]
    by_three = recalibrate(selector, X, y, sample_weight=weight, groups=np.arange(400) % 3)
    assert by_three.recalibration_["n_folds"] == 3


def test_more_classes_and_quantities():
    X, y = make_classification(
        600, 6, n_informative=4, n_classes=3, weights=[0.6, 0.3], random_state=0
    )
    selector = AnnealingSelector(3, class_weight="balanced", **QUICK).fit(X, y)
    found = recalibrate(selector, X, y)
    shares = np.bincount(y) / len(y)
    assert found.predict_proba(X).mean(axis=0) == pytest.approx(shares, abs=0.03)
    assert len(found.recalibration_["shifts"]) == 3
    noise = np.random.default_rng(0).normal(size=(40, 30))
    values = noise[:, 0] + 3 * np.random.default_rng(1).normal(size=40)
    few = AnnealingRegressorSelector(6, **QUICK).fit(noise, values)
    again = recalibrate(few, noise, values)
    # Six features of thirty fit forty rows too well.
    assert again.recalibration_["slopes"][0] < 0.7
    assert np.std(again.predict(noise)) < np.std(few.predict(noise))
    large = 1e9 * (3 * noise[:, 0] + noise[:, 1])
    one = AnnealingRegressorSelector(1, **QUICK).fit(noise, large)
    assert recalibrate(one, noise, large).recalibration_["slopes"][0] == pytest.approx(1, abs=0.2)


def test_what_can_not_be_is_refused():
    X, y = make_classification(80, 5, random_state=0)
    selector = AnnealingSelector(2, **QUICK).fit(X, y)
    own = AnnealingSelector(2, estimator=LogisticRegression(), **QUICK).fit(X, y)
    with pytest.raises(ParameterError, match="CalibratedClassifierCV"):
        recalibrate(own, X, y)
    with pytest.raises(ParameterError, match="AnnealingSelector"):
        recalibrate(LogisticRegression(), X, y)
    with pytest.raises(ParameterError, match="already"):
        recalibrate(recalibrate(selector, X, y), X, y)
    with pytest.raises(ParameterError, match="shape"):
        recalibrate(selector, X, y, shape="bent")
    with pytest.raises(ParameterError, match="fitted to"):
        recalibrate(selector, X, np.where(y, "bad", "good"))
    with pytest.raises(ParameterError, match="sample_weight must hold"):
        recalibrate(selector, X, y, sample_weight=np.ones(3))
    with pytest.raises(ParameterError, match="groups must be two"):
        recalibrate(selector, X, y, groups=np.zeros(80))
    with pytest.raises(ParameterError, match="one of a class"):
        recalibrate(selector, X, np.append(np.zeros(79, int), 1))
