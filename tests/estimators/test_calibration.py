"""The calibration slope of out-of-fold predictions, and models scaled by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LinearRegression, LogisticRegression

from safdr._estimators.calibration import calibration_slope, scaled


def two_classes(seed: int, slope: float, n: int = 300) -> tuple[Any, Any]:
    """Log-odds whose outcomes ask for this slope."""
    rng = np.random.default_rng(seed)
    log_odds = 2.0 * rng.standard_normal(n) + 0.7
    return log_odds, (rng.random(n) < expit(slope * log_odds - 0.3)).astype(np.intp)


def four_classes(seed: int, slope: float, n: int = 400) -> tuple[Any, Any]:
    """The same with a linear predictor for each of four classes."""
    rng = np.random.default_rng(seed)
    decision = 1.5 * rng.standard_normal((n, 4)) + [0.5, 0.0, -0.5, 1.0]
    noise = rng.gumbel(size=decision.shape)
    return decision, (slope * decision + noise).argmax(axis=1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weighted", [False, True])
def test_two_classes_agree_with_logistic_regression(seed: int, weighted: bool) -> None:
    decision, y = two_classes(seed, 0.5)
    weight = np.random.default_rng(seed).exponential(size=len(y)) if weighted else None
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    expected = float(model.fit(decision[:, None], y, sample_weight=weight).coef_[0, 0])
    assert 0.1 < expected < 0.95
    assert calibration_slope(decision, y, weight) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_more_classes_agree_with_a_general_optimizer(seed: int) -> None:
    decision, y = four_classes(seed, 0.6)
    centred = decision - decision.mean(axis=1, keepdims=True)

    def loss(free: Any) -> float:
        logs = log_softmax(free[0] * centred + np.append(0.0, free[1:]), axis=1)
        return float(-logs[np.arange(len(y)), y].mean())

    expected = minimize(loss, np.array([1.0, 0, 0, 0]), method="BFGS", options={"gtol": 1e-8}).x[0]
    assert 0.2 < expected < 0.95
    assert calibration_slope(decision, y) == pytest.approx(expected, abs=1e-5)


def test_two_columns_are_two_classes() -> None:
    decision, y = two_classes(0, 0.5)
    columns = np.column_stack([np.zeros(len(y)), decision])
    assert calibration_slope(columns, y) == pytest.approx(calibration_slope(decision, y), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_regression_agrees_with_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    predicted, weight = rng.standard_normal(80) + 3.0, rng.exponential(size=80)
    y = 0.6 * predicted + 0.5 * rng.standard_normal(80)
    expected = LinearRegression().fit(predicted[:, None], y, sample_weight=weight).coef_[0]
    found = calibration_slope(predicted, y, weight, regression=True)
    assert found == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("slope", "expected"), [(3.0, 1.0), (-1.0, 0.0)])
def test_the_slope_is_bounded(slope: float, expected: float) -> None:
    decision, y = two_classes(1, slope)
    assert calibration_slope(decision, y) == expected
    decision, y = four_classes(1, slope)
    assert calibration_slope(decision, y) == expected
    rng = np.random.default_rng(0)
    predicted = rng.standard_normal(50)
    y = slope * predicted + 0.1 * rng.standard_normal(50)
    assert calibration_slope(predicted, y, regression=True) == expected


@pytest.mark.parametrize("size", [1.0, 1e4])
def test_separated_classes_have_slope_one(size: float) -> None:
    decision = size * np.linspace(-1, 1, 40)
    assert calibration_slope(decision, (decision > 0).astype(np.intp)) == 1.0


def test_decisions_far_too_large_are_shrunk() -> None:
    decision, y = two_classes(2, 0.5)
    slope = calibration_slope(decision, y)
    assert calibration_slope(1e4 * decision, y) == pytest.approx(1e-4 * slope, rel=1e-8)


@pytest.mark.parametrize("regression", [False, True])
def test_a_constant_decision_has_slope_one(regression: bool) -> None:
    y = np.array([0, 1, 1, 0, 1], dtype=float if regression else np.intp)
    assert calibration_slope(np.full(5, 0.3), y, regression=regression) == 1.0


def test_one_class_of_held_out_rows_has_slope_one() -> None:
    assert calibration_slope(np.array([0.3, -1.0, 2.0]), np.array([1, 1, 1])) == 1.0


def test_a_class_without_held_out_rows_is_left_out() -> None:
    decision, y = four_classes(3, 0.6)
    kept = y != 2
    expected = calibration_slope(
        np.delete(decision[kept], 2, axis=1), np.where(y[kept] > 2, 2, y[kept])
    )
    assert calibration_slope(decision[kept], y[kept]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("make", [two_classes, four_classes])
def test_weights_are_copies(make: Any) -> None:
    decision, y = make(4, 0.5)
    copies = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), copies.astype(int))
    expected = calibration_slope(decision[rows], y[rows])
    assert calibration_slope(decision, y, copies) == pytest.approx(expected, abs=1e-8)


def test_the_share_of_training_rows_tempers() -> None:
    decision, y = two_classes(5, 0.5)
    slope = calibration_slope(decision, y)
    tempered = calibration_slope(decision, y, train_share=0.75)
    assert slope < tempered < 1.0
    assert 1.0 / tempered - 1.0 == pytest.approx(0.75 * (1.0 / slope - 1.0), rel=1e-12)


@pytest.mark.parametrize(("slope", "expected"), [(3.0, 1.0), (-1.0, 0.0)])
def test_the_share_of_training_rows_keeps_the_bounds(slope: float, expected: float) -> None:
    decision, y = two_classes(1, slope)
    assert calibration_slope(decision, y, train_share=0.75) == expected


@pytest.mark.parametrize("n_classes", [2, 4])
def test_scaled_models_predict_the_class_shares(n_classes: int) -> None:
    rng = np.random.default_rng(6)
    X, weight = rng.standard_normal((200, 5)) + 1.0, rng.exponential(size=200)
    y = rng.permutation(np.arange(200) % n_classes)
    coef = rng.standard_normal((1 if n_classes == 2 else n_classes, 5))
    found, intercepts = scaled(coef, 0.4, X, y, weight)
    np.testing.assert_array_equal(found, 0.4 * coef)
    eta = X @ found.T + intercepts
    eta = np.column_stack([np.zeros(200), eta]) if n_classes == 2 else eta
    shares = np.bincount(y, weight) / weight.sum()
    mean = np.average(softmax(eta, axis=1), axis=0, weights=weight)
    np.testing.assert_allclose(mean, shares, atol=1e-12)


def test_scaled_models_predict_the_mean() -> None:
    rng = np.random.default_rng(7)
    X, weight, coef = rng.standard_normal((60, 3)), rng.exponential(size=60), np.ones((1, 3))
    y = X.sum(axis=1) + rng.standard_normal(60) + 5.0
    found, intercepts = scaled(coef, 0.7, X, y, weight, regression=True)
    predicted = X @ found[0] + intercepts
    assert np.average(predicted, weights=weight) == pytest.approx(np.average(y, weights=weight))


def test_slope_one_changes_no_unpenalised_intercept() -> None:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((150, 3))
    y = (X[:, 0] + rng.logistic(size=150) > 0.5).astype(np.intp)
    model = LogisticRegression(tol=1e-10, max_iter=1000).fit(X, y)
    coef, intercept = scaled(model.coef_, 1.0, X, y)
    np.testing.assert_array_equal(coef, model.coef_)
    np.testing.assert_allclose(intercept, model.intercept_, atol=1e-6)
