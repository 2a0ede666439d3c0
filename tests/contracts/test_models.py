"""The final models against scikit-learn's on standardised columns, and clones that refit them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.utils.estimator_checks import check_estimator

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
)

QUICK = {"annealing": Annealing(n_replicas=6, max_steps=8), "random_state": 0}


# The models that selectors fit, found without their private module.
_X, _y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
LogisticModel = type(AnnealingSelector(1, **QUICK).fit(_X, _y).estimator_)
LinearModel = type(AnnealingRegressorSelector(1, **QUICK).fit(_X, _X[:, 0]).estimator_)


def rows(n_classes, n_rows=150, n_features=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * [0.01, 1.0, 100.0, 1.0, 5.0][:n_features] + 3.0
    signal = (X / X.std(axis=0))[:, :2].sum(axis=1) + rng.logistic(size=n_rows)
    y = np.searchsorted(np.quantile(signal, np.arange(1, n_classes) / n_classes), signal)
    return X, y, rng.uniform(0.2, 3.0, n_rows)


def standardised(X, weight):
    mean = np.average(X, axis=0, weights=weight)
    return (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [0.05, 1.0, np.inf])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_logistic_models_are_those_of_scikit_learn(n_classes, C, weighted):
    X, y, weight = rows(n_classes)
    weight = weight if weighted else None
    labels = np.array(["low", "mid", "top"])[y]
    model = LogisticModel(C=C).fit(X, labels, weight)
    Z = standardised(X, weight)
    expected = LogisticRegression(C=C, tol=1e-12, max_iter=5000, solver="newton-cg")
    expected.fit(Z, labels, weight)
    proba = expected.predict_proba(Z)
    np.testing.assert_allclose(model.predict_proba(X), proba, atol=1e-5)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(proba), atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), expected.predict(Z))
    np.testing.assert_allclose(model.predict_proba(sparse.csr_array(X)), proba, atol=1e-5)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("C", [0.1, np.inf])
def test_linear_models_are_those_of_scikit_learn(C, n_outputs):
    X, _, weight = rows(2)
    y = np.column_stack([X[:, 1] - X[:, 4], X[:, 0]])[:, :n_outputs] + weight[:, None] ** 2
    y = y[:, 0] if n_outputs == 1 else y
    model = LinearModel(C=C, clip=False).fit(X, y, weight)
    plain = LinearRegression() if np.inf == C else Ridge(alpha=1 / C)
    plain.fit(standardised(X, weight), y, weight)
    predicted = plain.predict(standardised(X, weight))
    np.testing.assert_allclose(model.predict(X), predicted, rtol=1e-7)
    np.testing.assert_allclose(model.predict(sparse.csr_array(X)), predicted, rtol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_values_outside_the_training_range_count_as_its_ends(n_classes):
    X, y, _ = rows(n_classes)
    model = LogisticModel().fit(X, y)
    far = X.mean(axis=0) + np.array([[1.0], [-1.0]]) * 1e6 * X.std(axis=0)
    ends = np.vstack([X.max(axis=0), X.min(axis=0)])
    np.testing.assert_array_equal(model.predict_proba(far), model.predict_proba(ends))


def test_values_and_predictions_are_clipped_on_demand():
    X, y, _ = rows(2)
    far = X.mean(axis=0) + np.array([[1.0], [-1.0]]) * 1e6 * X.std(axis=0)
    free = LogisticModel(C=np.inf).fit(X, y)
    assert np.abs(free.decision_function(far)).max() > 1e4
    target = X[:, 1] + X[:, 0]
    bounded, unbounded = (LinearModel(clip=clip).fit(X, target).predict(far) for clip in (1, 0))
    assert bounded.tolist() == [target.max(), target.min()]
    assert np.abs(unbounded).max() > 1e5


@pytest.mark.parametrize("slope", [0.0, 0.4])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_calibration_slope_shrinks_the_slopes_and_refits_the_intercepts(slope, n_classes):
    X, y, weight = rows(n_classes)
    plain, shrunk = (LogisticModel(calibration_slope=s).fit(X, y, weight) for s in (1.0, slope))
    np.testing.assert_allclose(shrunk.coef_, slope * plain.coef_, rtol=1e-12)
    # Intercepts are optimal where the mean probabilities are the shares of the classes.
    shares = np.bincount(y, weight) / weight.sum()
    np.testing.assert_allclose(weight @ shrunk.predict_proba(X) / weight.sum(), shares, atol=1e-8)
    target = X[:, 1] ** 2
    flat = LinearModel(calibration_slope=slope, clip=False).fit(X, target, weight)
    assert np.average(flat.predict(X) - target, weights=weight) == pytest.approx(0.0, abs=1e-9)


def assert_refits(selector, X, y, weight):
    fitted = selector.estimator_
    again = clone(fitted).fit(X[:, selector.subset_], y, weight)
    np.testing.assert_allclose(again.coef_, fitted.coef_, rtol=1e-8)
    np.testing.assert_allclose(again.intercept_, fitted.intercept_, rtol=1e-8, atol=1e-8)
    reduced = X[:, selector.subset_] * 1.5
    np.testing.assert_allclose(again.predict(reduced), fitted.predict(reduced), rtol=1e-8)


@pytest.mark.parametrize("kind", [AnnealingSelector, AnnealingSelectorCV])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_clone_refits_to_the_same_classifier(kind, n_classes, C):
    X, y, weight = rows(n_classes, n_rows=60)
    how = {"sizes": [3, 4]} if kind is AnnealingSelectorCV else {"n_features_to_select": 2}
    selector = kind(C=C, **how, **QUICK).fit(X, y, sample_weight=weight)
    if kind is AnnealingSelectorCV:
        # Folds of few rows, so that the slope is below one.
        assert selector.estimator_.calibration_slope == selector.calibration_slope_ < 1.0
    assert_refits(selector, X, y, weight)


def test_a_clone_refits_to_the_same_classifier_with_class_weights():
    X, y, weight = rows(2)
    y[:30] = 0
    class_weight = {0: 1.0, 1: 4.0}
    selector = AnnealingSelectorCV(sizes=3, class_weight=class_weight, **QUICK)
    selector.fit(X, y, sample_weight=weight)
    assert_refits(selector, X, y, weight * np.where(y == 1, 4.0, 1.0))


@pytest.mark.parametrize("kind", [AnnealingRegressorSelector, AnnealingRegressorSelectorCV])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("C", [0.1, np.inf])
def test_a_clone_refits_to_the_same_regressor(kind, n_outputs, C):
    X, _, weight = rows(2)
    rng = np.random.default_rng(1)
    Y = X[:, [1, 4]] + 4.0 * rng.normal(size=(len(X), 2))
    y = Y[:, 0] if n_outputs == 1 else Y
    cross_validated = kind is AnnealingRegressorSelectorCV
    how = {"sizes": 3} if cross_validated else {"n_features_to_select": 2}
    selector = kind(C=C, **how, **QUICK).fit(X, y, sample_weight=weight)
    assert_refits(selector, X, y, weight)


@pytest.mark.parametrize("model", [LogisticModel(), LinearModel()], ids=["logistic", "linear"])
@pytest.mark.filterwarnings("ignore")
def test_models_keep_the_conventions_of_scikit_learn(model):
    check_estimator(model)
