"""Measures of predictions are those of their definitions, and their intervals cover."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from scipy.stats import ks_2samp, norm
from sklearn.metrics import brier_score_loss, log_loss, r2_score, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from helpers import measures

N_RUNS = 300


def psi_by_definition(values, base):
    edges = np.quantile(base, np.arange(1, 10) / 10, method="inverted_cdf")
    total = 0.0
    for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        actual, expected = (np.mean((each > low) & (each <= high)) for each in (values, base))
        actual, expected = actual or 0.5 / len(values), expected or 0.5 / len(base)
        total += (actual - expected) * np.log(actual / expected)
    return total


def drawn(rng, n=400, slope=1.0, intercept=0.0):
    """Probabilities, and outcomes whose log-odds are `slope` times theirs plus `intercept`."""
    odds = rng.normal(-1, 1.2, size=n)
    return rng.random(n) < expit(intercept + slope * odds), expit(odds)


@pytest.fixture(params=["smooth", "ties"])
def scored(request, rng):
    positive, probability = drawn(rng)
    probability = np.round(probability, 1) if request.param == "ties" else probability
    return positive, np.clip(probability, 0.05, 0.95), rng.integers(1, 5, size=400)


# ---- Values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 0.4, 9.0])
def test_psi_is_its_definition(rng, shift):
    base, values = rng.normal(size=1000), rng.normal(shift, 1.3, size=250)
    assert measures.psi(values, base) == pytest.approx(psi_by_definition(values, base))
    assert measures.psi(values, base) > 0


def test_psi_counts_weights_as_copies(rng):
    base, values = rng.normal(size=1000), rng.normal(0.4, 1.3, size=250)
    weight = rng.integers(1, 5, size=250)
    copies = np.repeat(values, weight)
    assert measures.psi(values, base, weight) == pytest.approx(psi_by_definition(copies, base))


def test_discrimination_is_that_of_scikit_learn_and_scipy(scored):
    positive, probability, weight = scored
    for given in (None, weight):
        wanted = roc_auc_score(positive, probability, sample_weight=given)
        assert measures.auc(positive, probability, given).value == pytest.approx(wanted)
    copies = np.repeat(np.arange(400), weight)
    p, y = probability[copies], positive[copies]
    assert measures.ks(positive, probability, weight) == pytest.approx(
        ks_2samp(p[y], p[~y]).statistic
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_areas_of_several_classes_are_those_of_scikit_learn(rng, weighted):
    codes, scores = np.arange(150) % 3, np.round(rng.dirichlet(np.ones(3), size=150), 1)
    weight = rng.uniform(0.5, 2.0, size=150) if weighted else None
    areas = [roc_auc_score(codes == c, scores[:, c], sample_weight=weight) for c in range(3)]
    assert measures.mean_auc(codes, scores, weight).value == pytest.approx(np.mean(areas))


def test_calibration_is_that_of_scikit_learn_and_statsmodels(scored):
    positive, probability, weight = scored
    brier, loss, slope, intercept = measures.calibration(positive, probability)
    assert brier == pytest.approx(brier_score_loss(positive, probability))
    assert loss == pytest.approx(log_loss(positive, probability))
    family, odds = sm.families.Binomial(), logit(probability)
    joint = sm.GLM(positive, sm.add_constant(odds), family=family).fit(tol=1e-12)
    alone = sm.GLM(positive, np.ones(400), family=family, offset=odds).fit(tol=1e-12)
    assert slope == pytest.approx((joint.params[1], *joint.conf_int()[1]), abs=1e-5)
    assert intercept == pytest.approx((alone.params[0], *alone.conf_int()[0]), abs=1e-5)
    brier, loss, slope, _ = measures.calibration(positive, probability, weight)
    assert brier == pytest.approx(brier_score_loss(positive, probability, sample_weight=weight))
    assert loss == pytest.approx(log_loss(positive, probability, sample_weight=weight))
    model = sm.GLM(positive, sm.add_constant(odds), family=family, var_weights=weight)
    robust = model.fit(tol=1e-12, cov_type="HC0")
    assert slope == pytest.approx((robust.params[1], *robust.conf_int()[1]), abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_r2_is_that_of_scikit_learn(rng, weighted):
    y = rng.normal(size=100)
    predicted, weight = y + rng.normal(size=100), rng.uniform(0.5, 2.0, size=100)
    weight = weight if weighted else None
    wanted = r2_score(y, predicted, sample_weight=weight)
    assert measures.r2(y, predicted, weight).value == pytest.approx(wanted)


@pytest.mark.parametrize(("count", "n"), [(0, 10), (3, 40), (40, 40)])
def test_the_interval_of_a_share_is_wilsons(count, n):
    wanted = proportion_confint(count, n, method="wilson")
    assert measures.share(count / n, n)[1:] == pytest.approx(wanted, abs=1e-12)


# ---- Intervals: 95 % of them hold the truth ------------------------------------------------------


def assert_covers(interval, truth):
    hits = sum(low <= truth <= high for _, low, high in (interval() for _ in range(N_RUNS)))
    # 95 % within four standard errors.
    assert 0.90 <= hits / N_RUNS <= 0.995


@pytest.mark.parametrize("weighted", [False, True])
def test_intervals_of_areas_cover(rng, weighted):
    positive = np.arange(160) % 4 == 0

    def interval():
        weight = rng.exponential(size=160) if weighted else None
        return measures.auc(positive, rng.normal(size=160) + positive, weight)

    assert_covers(interval, norm.cdf(np.sqrt(0.5)))


def test_intervals_of_calibration_cover(rng):
    assert_covers(lambda: measures.calibration(*drawn(rng, slope=0.8))[2], 0.8)
    assert_covers(lambda: measures.calibration(*drawn(rng, intercept=0.5))[3], 0.5)


def test_intervals_of_r2_cover(rng):
    def interval():
        predicted = rng.normal(size=200)
        return measures.r2(predicted + rng.normal(size=200), predicted)

    assert_covers(interval, 0.5)
