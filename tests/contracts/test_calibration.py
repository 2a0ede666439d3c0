"""The calibration slope of a cross-validated selector, against one worked out fold by fold."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
)

QUICK = {"annealing": Annealing(n_replicas=6, max_steps=8), "random_state": 0}


def rows(n_rows=90, n_features=20, signal=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    latent = signal * X[:, :3].sum(axis=1)
    return X, (latent + rng.logistic(size=n_rows) > 0).astype(int), latent + rng.normal(size=n_rows)


def tempered(slope, share):
    """The noise-to-signal ratio falls as one over the rows; folds train on a share of them."""
    slope = np.clip(slope, 0.0, 1.0)
    return slope / (slope + (1.0 - slope) * share)


def out_of_fold(kind, search, X, y, weight=None):
    """Linear predictors, targets and weights of the held-out rows at the selected size."""
    parts = []
    for train, test in search.cv.split(X):
        own = None if weight is None else weight[train]
        model = kind(search.n_features_, **QUICK).fit(X[train], y[train], sample_weight=own)
        decision = model.estimator_.linear_predictor(X[test][:, model.subset_])
        parts.append((decision, y[test], np.ones(len(test)) if weight is None else weight[test]))
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cv", [ShuffleSplit(4, test_size=0.25, random_state=0), KFold(3)], ids=str)
def test_it_is_the_slope_of_the_pooled_predictions(cv, weighted):
    X, y, _ = rows()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    search = AnnealingSelectorCV(sizes=[3, 4, 5], cv=cv, **QUICK).fit(X, y, sample_weight=weight)
    decision, target, counts = out_of_fold(AnnealingSelector, search, X, y, weight)
    model = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000)
    slope = model.fit(decision[:, None], target, counts).coef_[0, 0]
    assert 0.0 < slope < 1.0
    total = np.ones(len(y)) if weight is None else weight
    share = np.mean([total[train].sum() for train, _ in cv.split(X)]) / total.sum()
    assert search.calibration_slope_ == pytest.approx(tempered(slope, share), rel=1e-4)
    final = AnnealingSelector(search.n_features_, **QUICK).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        search.estimator_.coef_, search.calibration_slope_ * final.estimator_.coef_, rtol=1e-9
    )


def test_more_classes_share_one_slope():
    X, _, latent = rows(120)
    y = np.digitize(latent, [-1.0, 1.0])
    cv = KFold(3)
    search = AnnealingSelectorCV(sizes=[3, 4], cv=cv, **QUICK).fit(X, y)
    decision, target, _ = out_of_fold(AnnealingSelector, search, X, y)

    def loss(free):
        eta = free[0] * decision + free[1:]
        return np.mean(np.logaddexp.reduce(eta, axis=1) - eta[np.arange(len(eta)), target])

    slope = minimize(loss, [1.0, 0.0, 0.0, 0.0], tol=1e-12).x[0]
    assert 0.0 < slope < 1.0
    assert search.calibration_slope_ == pytest.approx(tempered(slope, 2 / 3), rel=1e-3)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_regression_has_the_slope_of_least_squares(n_outputs):
    X, _, latent = rows(90, seed=1)
    rng = np.random.default_rng(2)
    Y = np.column_stack([latent + 3.0 * rng.normal(size=90), X[:, 5] + rng.normal(size=90)])
    y = Y[:, 0] if n_outputs == 1 else Y
    search = AnnealingRegressorSelectorCV(sizes=4, cv=KFold(3), **QUICK).fit(X, y)
    predicted, target, _ = out_of_fold(AnnealingRegressorSelector, search, X, y)
    centred = predicted - predicted.mean(axis=0)
    slope = (centred * target).sum() / (centred**2).sum()
    assert 0.0 < slope < 1.0
    assert search.calibration_slope_ == pytest.approx(tempered(slope, 2 / 3), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_between_nothing_and_all(seed):
    X, y, target = rows(60, signal=3.0 * (seed % 2), seed=seed)
    for kind, outputs in ((AnnealingSelectorCV, y), (AnnealingRegressorSelectorCV, target)):
        search = kind(sizes=3, cv=3, **QUICK).fit(X, outputs)
        assert 0.0 <= search.calibration_slope_ <= 1.0
        assert search.estimator_.calibration_slope == search.calibration_slope_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_separated_held_out_rows_have_slope_one(n_classes):
    rng = np.random.default_rng(0)
    y = np.arange(90) % n_classes
    X = rng.normal(size=(90, 5)) * 0.01
    X[:, :2] += np.column_stack([y == 1, y == 2]) * 100.0
    search = AnnealingSelectorCV([2], cv=KFold(3), C=1e6, **QUICK).fit(X, y)
    assert search.calibration_slope_ == 1.0


def test_on_noise_little_is_left():
    rng = np.random.default_rng(0)
    slopes = []
    for _ in range(5):
        X, y = rng.normal(size=(100, 60)), np.arange(100) % 2
        search = AnnealingSelectorCV(sizes=[4], **QUICK).fit(X, y)
        slopes.append(search.calibration_slope_)
        assert np.abs(search.predict_proba(X)[:, 1] - 0.5).max() < 0.5
    assert np.mean(slopes) < 0.25


def test_it_is_off_in_the_method_of_the_paper_and_with_one_criterion():
    X, y, _ = rows()
    how = {"sizes": 3, "cv": 3, **QUICK}
    searches = (
        AnnealingSelectorCV.as_published(**how),
        AnnealingSelectorCV(criterion="fisher", **how),
        AnnealingSelectorCV(estimator=LogisticRegression(), **how),
    )
    for search in searches:
        assert search.fit(X, y).calibration_slope_ == 1.0
    assert searches[1].estimator_.calibration_slope == 1.0


def test_a_slope_of_an_earlier_fit_does_not_stay():
    X, y, _ = rows()
    search = AnnealingSelectorCV(sizes=3, cv=3, **QUICK).fit(X, y)
    assert search.calibration_slope_ < 1.0
    assert search.set_params(criterion="fisher").fit(X, y).calibration_slope_ == 1.0
