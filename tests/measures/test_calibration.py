"""Calibration against scikit-learn and statsmodels, and whether its intervals cover."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.metrics import brier_score_loss, log_loss
from statsmodels.stats.proportion import proportion_confint

from safdr.measures.calibration import bins_of, calibration, misfit, rates_by_bin
from safdr.measures.intervals import share_interval


def drawn(rng, n, slope=1.0, shift=0.0):
    """Probabilities, and what happens where log-odds are `slope` times theirs plus a shift."""
    odds = rng.normal(-1, 1.2, size=n)
    return expit(odds), rng.random(n) < expit(shift + slope * odds)


def calibrated(y, p, weight=None):
    given = np.ones(len(y)) if weight is None else weight
    return calibration(y, p, given, weighted=weight is not None)


def test_numbers_are_as_others_compute_them():
    p, y = drawn(np.random.default_rng(0), 800, slope=0.6, shift=0.4)
    found = calibrated(y, p)
    assert found["brier"] == pytest.approx(brier_score_loss(y, p))
    assert found["log_loss"] == pytest.approx(log_loss(y, p))
    assert found["ratio"]["value"] == pytest.approx(y.sum() / p.sum())
    binomial = sm.families.Binomial()
    joint = sm.GLM(y, sm.add_constant(logit(p)), family=binomial).fit(tol=1e-12)
    assert found["slope"]["value"] == pytest.approx(joint.params[1], abs=1e-7)
    assert found["slope"]["standard_error"] == pytest.approx(joint.bse[1], abs=1e-6)
    alone = sm.GLM(y, np.ones(len(y)), family=binomial, offset=logit(p)).fit(tol=1e-12)
    assert found["shift"]["value"] == pytest.approx(alone.params[0], abs=1e-7)
    ends = alone.conf_int()[0]
    assert (found["shift"]["low"], found["shift"]["high"]) == pytest.approx(tuple(ends), abs=1e-6)


def test_weighted_numbers_are_as_others_compute_them():
    rng = np.random.default_rng(1)
    p, y = drawn(rng, 500)
    weight = rng.integers(1, 6, size=500).astype(float)
    found = calibrated(y, p, weight)
    assert found["brier"] == pytest.approx(brier_score_loss(y, p, sample_weight=weight))
    assert found["log_loss"] == pytest.approx(log_loss(y, p, sample_weight=weight))
    model = sm.GLM(y, sm.add_constant(logit(p)), family=sm.families.Binomial(), var_weights=weight)
    robust = model.fit(tol=1e-12, cov_type="HC0")
    assert found["slope"]["value"] == pytest.approx(robust.params[1], abs=1e-7)
    assert found["slope"]["standard_error"] == pytest.approx(robust.bse[1], rel=1e-5)


def test_tenths_hold_their_rows_and_their_intervals():
    p, y = drawn(np.random.default_rng(2), 1000)
    bins = rates_by_bin(y, p, np.ones(1000))
    assert [each["n_rows"] for each in bins] == [100] * 10
    order = np.argsort(p)
    for i, each in enumerate(bins):
        own = order[100 * i : 100 * (i + 1)]
        assert each["expected"] == pytest.approx(p[own].mean())
        assert each["observed"] == y[own].mean()
        wilson = proportion_confint(y[own].sum(), 100, method="wilson")
        assert (each["low"], each["high"]) == pytest.approx(wilson)


def test_ties_stay_together():
    values = np.repeat([0.1, 0.2, 0.7], [50, 45, 5])
    bins = bins_of(values, np.ones(100))
    assert len(np.unique(bins)) == 3
    assert all(len(np.unique(bins[values == value])) == 1 for value in (0.1, 0.2, 0.7))


def test_intervals_cover():
    rng = np.random.default_rng(3)
    hits = np.zeros(3)
    for _ in range(250):
        p, y = drawn(rng, 300, slope=0.8, shift=0.3)
        found = calibrated(y, p)
        slope = found["slope"]
        hits[0] += slope["low"] <= 0.8 <= slope["high"]
        p, y = drawn(rng, 300)
        found = calibrated(y, p)
        hits[1] += found["shift"]["low"] <= 0 <= found["shift"]["high"]
        hits[2] += 10 - found["n_outside"]
    hits[2] /= len(found["bins"])
    assert np.all((hits / 250 > 0.91) & (hits / 250 < 0.99)), hits / 250


@pytest.mark.parametrize("happened", [0, 1])
def test_one_class_alone_has_no_slope(happened):
    y = np.full(20, bool(happened))
    found = calibrated(y, np.linspace(0.1, 0.9, 20))
    assert found["slope"] is None
    assert found["shift"] is None
    assert found["brier_skill"] is None
    assert found["observed"] == happened


def test_equal_predictions_have_a_level_and_no_slope():
    y = np.arange(40) % 4 == 0
    found = calibrated(y, np.full(40, 0.5))
    assert found["slope"] is None
    assert found["shift"]["value"] == pytest.approx(logit(0.25), abs=1e-8)
    assert len(found["bins"]) == 1


def test_predictions_of_0_and_1_that_separate_are_no_error():
    y = np.arange(20) >= 10
    found = calibrated(y, y.astype(float))
    assert found["brier"] == 0
    assert found["slope"] is None


@pytest.mark.parametrize(("share", "n"), [(0.0, 1), (1.0, 3), (0.5, 0.5), (0.2, 1e6)])
def test_an_interval_of_a_share_holds_it(share, n):
    low, high = share_interval(share, n)
    assert 0 <= low <= share <= high <= 1


@pytest.mark.parametrize("weighted", [False, True])
def test_misfit_is_chi_squared_where_probabilities_hold(weighted):
    rng = np.random.default_rng(5)
    found = []
    for _ in range(600):
        p, y = drawn(rng, 500)
        weight = rng.uniform(1, 3, size=500) if weighted else np.ones(500)
        found.append(misfit(y, p, weight)["p_value"])
    # Four standard errors about 5 %; and the middle.
    assert 0.014 < np.mean(np.array(found) < 0.05) < 0.086
    assert 0.42 < np.median(found) < 0.58
    p, y = drawn(rng, 500, shift=1.0)
    assert misfit(y, p, np.ones(500))["p_value"] < 1e-3
    assert misfit(y, p, np.full(500, 7.0)) == pytest.approx(misfit(y, p, np.ones(500)))


def test_misfit_of_what_is_certain_is_not_known():
    assert misfit(np.array([True, False]), np.array([1.0, 0.0]), np.ones(2))["p_value"] is None
