"""Maps to what happens, against other solvers and what they were drawn from."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize
from scipy.special import expit

from safdr.measures.recalibration import PIECES, Curve, _fit, fit_curve, fit_line, fit_shifts


def drawn(n, odds_of, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(-1, 1.5, size=n)
    return scores, rng.random(n) < expit(odds_of(scores))


def test_few_rows_get_the_line_that_maximum_likelihood_gives():
    scores, y = drawn(400, lambda z: 0.5 * z - 0.3)
    curve = fit_curve(scores, y, np.ones(400))
    assert curve.is_line
    # The same outcomes, pulled in.
    wanted = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))
    other = sm.GLM(wanted, sm.add_constant(scores), family=sm.families.Binomial()).fit(tol=1e-12)
    assert (curve.intercept, curve.slopes[0]) == pytest.approx(tuple(other.params), abs=1e-4)


def test_many_rows_get_the_bend_that_is_there():
    def bent(z):
        return np.where(z < -1, -2.0, -2.0 + 3 * (z + 1))

    scores, y = drawn(6_000, bent)
    curve = fit_curve(scores, y, np.ones(6_000))
    assert not curve.is_line
    assert min(curve.slopes) >= 0
    grid = np.linspace(-3.5, 1, 50)
    assert np.abs(expit(curve(grid)) - expit(bent(grid))).max() < 0.1
    assert np.all(np.diff(curve(grid)) >= -1e-12)
    assert len(fit_curve(scores, y, np.ones(6_000), 1).slopes) == 1


def test_a_curve_with_knots_is_the_best_there_is():
    scores, y = drawn(800, lambda z: np.minimum(z, -0.5))
    knots = [-2.0, -1.0, 0.0]
    loss, curve = _fit(scores, y, np.ones(800), knots)
    wanted = np.where(y, (y.sum() + 1) / (y.sum() + 2), 1 / ((~y).sum() + 2))

    def slow(free):
        odds = Curve(free[0], tuple(np.abs(free[1:])), tuple(knots))(scores)
        return np.sum(np.logaddexp(0, odds) - wanted * odds)

    other = minimize(slow, np.ones(5), method="Powell", options={"xtol": 1e-8, "ftol": 1e-12})
    assert loss <= other.fun + 1e-3
    assert slow(np.array([curve.intercept, *curve.slopes])) == pytest.approx(loss, abs=1e-6)


def test_weights_are_as_good_as_each_other_in_any_unit():
    scores, y = drawn(500, lambda z: z)
    weight = np.random.default_rng(1).integers(1, 4, 500).astype(float)
    one, other = (fit_curve(scores, y, unit * weight) for unit in (1.0, 50.0))
    assert one.slopes == pytest.approx(other.slopes, rel=1e-5)


@pytest.mark.parametrize("scores", [np.zeros(20), np.repeat([0.0, 1.0], 10), np.arange(20.0)])
def test_odd_scores_are_no_error(scores):
    y = np.arange(20) >= 10  # which the last ones separate
    curve = fit_curve(scores, y, np.ones(20))
    assert np.isfinite([curve.intercept, *curve.slopes]).all()
    assert len(curve.slopes) in PIECES
    assert expit(curve(scores)).mean() == pytest.approx(0.5, abs=0.05)


def test_scores_that_are_the_wrong_way_round_count_for_nothing():
    scores, y = drawn(2000, lambda z: -z)
    curve = fit_curve(scores, y, np.ones(2000), 1)
    assert curve.slopes == (0.0,)
    assert expit(curve.intercept) == pytest.approx(y.mean(), abs=1e-3)


def test_equal_scores_get_the_rate():
    y = np.arange(100) < 30
    curve = fit_curve(np.full(100, 0.1), y, np.ones(100))
    assert expit(curve(np.array([0.1]))) == pytest.approx(0.3, abs=0.01)
    assert curve.slopes[0] <= 1


def test_classes_get_the_slope_and_shifts_that_they_were_drawn_with():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(6_000, 3))
    truth = expit_rows(0.5 * scores + np.array([0.6, 0.0, -0.6]))
    codes = (rng.random((6_000, 1)) > np.cumsum(truth, axis=1)).sum(axis=1)
    slope, shifts = fit_shifts(scores, codes, np.ones(6_000))
    assert slope == pytest.approx(0.5, abs=0.05)
    assert shifts == pytest.approx([0.6, 0.0, -0.6], abs=0.1)


def expit_rows(scores):
    shares = np.exp(scores)
    return shares / shares.sum(axis=1, keepdims=True)


def test_a_quantity_gets_a_line():
    predicted = np.arange(20.0)
    assert fit_line(predicted, 3 + 0.5 * predicted, np.ones(20)) == pytest.approx((0.5, 3.0))
    assert fit_line(predicted, -predicted, np.ones(20))[0] == 0
    assert fit_line(np.ones(20), predicted, np.ones(20)) == pytest.approx((0.0, 9.5))
