"""Measures of predictions are those of their definitions, and intervals cover what they say."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import ks_2samp, norm, poisson
from sklearn.metrics import auc as area_under
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    d2_tweedie_score,
    r2_score,
    roc_auc_score,
)

from helpers.selectors import pairs_in_order
from safdr.measures.calibration import assign_bins, calibration, classes, errors
from safdr.measures.inference import fit_least_squares, fit_logistic
from safdr.measures.intervals import (
    amount_interval,
    count_interval,
    gamma_interval,
    mean_interval,
    poisson_interval,
    r2_interval,
    share_interval,
)
from safdr.measures.ranking import (
    auc_interval,
    auc_interval_of_classes,
    roc_curve,
    thresholds,
)
from safdr.measures.segments import segments_of
from safdr.measures.survival import concordance_interval, thirds

Z = norm.ppf(0.975)


@pytest.fixture(params=[2, 4, 9, 1000], ids=lambda n: f"{n} values")
def scored(request):
    """Whole-number scores of two classes: ties within the classes and between them."""
    rng = np.random.default_rng(request.param)
    positive = rng.random(90) < 0.4
    scores = rng.integers(0, request.param, 90) + rng.integers(0, 2, 90) * positive
    return scores.astype(float), positive, rng.integers(1, 4, 90).astype(float)


# ---- Ranking -------------------------------------------------------------------------------------


def delong(scores, positive):
    """Interval by the variance of the placements, on the scale of log-odds of the area."""
    one, other = scores[positive], scores[~positive]
    wins = (one[:, None] > other) + 0.5 * (one[:, None] == other)
    area = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / len(one) + wins.mean(axis=0).var(ddof=1) / len(other)
    half = Z * np.sqrt(variance) / (area * (1 - area))
    return [area, expit(logit(area) - half), expit(logit(area) + half)]


def test_an_area_counts_pairs_and_half_of_the_ties(scored):
    scores, positive, weight = scored
    for w in (None, weight):
        wanted = pairs_in_order(scores, positive, w)
        assert auc_interval(scores, positive, w)[0] == pytest.approx(wanted, abs=1e-12)
        assert wanted == pytest.approx(roc_auc_score(positive, scores, sample_weight=w))


def test_the_interval_of_an_area_is_delongs(scored):
    scores, positive, _ = scored
    wanted = delong(scores, positive)
    np.testing.assert_allclose(auc_interval(scores, positive), wanted, rtol=1e-9)
    both = np.column_stack([1 - expit(scores - 3), expit(scores - 3)])
    found = auc_interval_of_classes(both, positive.astype(int))
    np.testing.assert_allclose(found, delong(both[:, 1], positive), rtol=1e-9)


def test_perfect_and_useless_scores():
    positive = np.arange(20) >= 12
    value, low, high = auc_interval(np.arange(20.0), positive)
    assert (value, high) == (1.0, 1.0)
    assert low == pytest.approx(0.025 ** (1 / 8))
    assert auc_interval(-np.arange(20.0), positive)[0] == 0.0
    assert auc_interval(np.ones(20), positive)[0] == 0.5
    assert len(auc_interval(np.arange(3.0), np.array([False, True, False]))) == 1


def test_weights_are_copies_but_no_further_rows(scored):
    scores, positive, weight = scored
    copies = np.repeat(np.arange(90), weight.astype(int))
    one = auc_interval(scores, positive, weight)
    many = auc_interval(scores[copies], positive[copies])
    assert one[0] == pytest.approx(many[0], abs=1e-12)
    assert one[2] - one[1] > many[2] - many[1]
    np.testing.assert_allclose(auc_interval(scores, positive, 1000 * weight), one, rtol=1e-9)


def test_classes_are_ranked_each_against_the_rest():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 120)
    p = rng.dirichlet(np.ones(3), 120).round(1) + 0.2 * np.eye(3)[codes]
    for weight in (None, rng.integers(1, 4, 120).astype(float)):
        wanted = np.mean([pairs_in_order(p[:, c], codes == c, weight) for c in range(3)])
        value, low, high = auc_interval_of_classes(p, codes, weight)
        assert value == pytest.approx(wanted, abs=1e-12)
        assert low < value < high
    perfect = auc_interval_of_classes(np.eye(3)[codes], codes)
    assert perfect[::2] == [1.0, 1.0]


def test_the_curve_and_its_height(scored):
    scores, positive, _ = scored
    found = roc_curve(scores, positive)
    apart = ks_2samp(scores[positive], scores[~positive], alternative="less").statistic
    assert found["ks"] == pytest.approx(apart, abs=1e-12)
    x, y = found["roc"]["fpr"], found["roc"]["tpr"]
    assert len(x) <= 102
    assert area_under(x, y) == pytest.approx(pairs_in_order(scores, positive), abs=0.01)
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)


def test_thresholds_are_counted(scored):
    scores, positive, _ = scored
    for each in thresholds(scores, positive, values=scores / 10):
        flagged = scores >= 10 * each["threshold"] - 1e-9
        assert each["flagged"] == pytest.approx(flagged.mean())
        assert each["precision"] == pytest.approx(positive[flagged].mean())
        assert each["recall"] == pytest.approx(flagged[positive].mean())
        assert each["false_positive_rate"] == pytest.approx(flagged[~positive].mean())


# ---- Intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("successes", [0, 1, 7, 19, 20])
def test_the_interval_of_a_share_is_wilsons(successes):
    stats = pytest.importorskip("statsmodels.stats.proportion")
    wanted = stats.proportion_confint(successes, 20, method="wilson")
    np.testing.assert_allclose(share_interval(successes / 20, 20)[1:], wanted, atol=1e-12)


def test_intervals_of_shares_contain_them_at_0_and_1():
    for n in range(1, 2000):
        assert share_interval(0.0, n)[1] == 0.0
        assert share_interval(1.0, n)[2] == 1.0
    y = np.arange(24) % 2 == 0
    assert calibration(y, y.astype(float))["calibration"]["n_outside"] == 0


def test_intervals_cover():
    """Each contains the truth in about 95 of 100 samples."""
    rng = np.random.default_rng(1)
    truth = {"auc": norm.cdf(1 / np.sqrt(2)), "r2": 0.5, "mean": 1.0, "logistic": 0.7, "line": 1.0}
    inside = dict.fromkeys(truth, 0)
    for _ in range(300):
        positive = np.arange(120) % 3 == 0
        predicted = rng.normal(size=150)
        y = predicted + rng.normal(size=150)
        odds = rng.normal(-1, 1.2, 400)
        logistic = fit_logistic(odds[:, None], rng.random(400) < expit(0.7 * odds))
        line = fit_least_squares(predicted[:, None], y)
        found = {
            "auc": auc_interval(rng.normal(size=120) + positive, positive)[1:],
            "r2": r2_interval(y, predicted)[1:],
            "mean": mean_interval(rng.normal(1.0, 2.0, 40))[1:],
            "logistic": [logistic[1]["low"], logistic[1]["high"]],
            "line": [line[1]["low"], line[1]["high"]],
        }
        for name, (low, high) in found.items():
            inside[name] += low <= truth[name] <= high
    for name, n in inside.items():
        assert 0.91 <= n / 300 <= 0.985, name


def test_r2_is_scikit_learns():
    rng = np.random.default_rng(2)
    y = rng.normal(size=80)
    predicted, weight = 0.7 * y + rng.normal(size=80), rng.uniform(0.5, 2, 80)
    for w in (None, weight):
        value, low, high = r2_interval(y, predicted, w)
        assert value == pytest.approx(r2_score(y, predicted, sample_weight=w), rel=1e-12)
        assert low < value < high <= 1
    assert r2_interval(y, y) == [1.0]


# ---- Calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_scikit_learns(weighted):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=600)
    y = rng.random(600) < p**1.3
    weight = rng.integers(1, 5, 600).astype(float) if weighted else None
    found = calibration(y, p, weight)["calibration"]
    assert found["brier"] == pytest.approx(brier_score_loss(y, p, sample_weight=weight))


def test_deciles_add_up():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=1000)
    y = rng.random(1000) < p
    found = calibration(y, p)
    assert [each["n"] for each in found["bins"]] == [100] * 10
    outside = 0
    for rows, each in zip(np.argsort(p).reshape(10, 100), found["bins"], strict=True):
        assert each["predicted"] == pytest.approx(p[rows].mean())
        found_here = [each["observed"], each["low"], each["high"]]
        np.testing.assert_allclose(found_here, share_interval(y[rows].mean(), 100))
        outside += not each["low"] <= p[rows].mean() <= each["high"]
    assert found["calibration"]["n_outside"] == outside


def test_wrong_probabilities_are_found_and_right_ones_are_not():
    rng = np.random.default_rng(3)
    right = []
    for _ in range(200):
        p = rng.uniform(0.05, 0.95, 500)
        y = rng.random(500) < p
        right.append(calibration(y, p)["calibration"]["n_outside"])
        assert calibration(y, expit(2.5 * logit(p)))["calibration"]["n_outside"] > 1
    assert 0.2 <= np.mean(right) <= 0.8


def test_ties_share_a_bin():
    values = np.repeat([3.0, 1.0, 2.0], [50, 5, 45])
    np.testing.assert_array_equal(assign_bins(values), np.repeat([2, 0, 1], [50, 5, 45]))


def test_errors_of_a_continuous_target():
    rng = np.random.default_rng(4)
    predicted = rng.normal(size=200)
    y = predicted + rng.normal(0.5, 1, 200)
    found = errors(y, predicted)
    left = y - predicted
    assert found["errors"]["rmse"] == pytest.approx(np.sqrt((left**2).mean()))
    assert found["errors"]["mae"] == pytest.approx(np.abs(left).mean())
    for rows, each in zip(np.argsort(predicted).reshape(10, 20), found["bins"], strict=True):
        assert list(each.values())[2:] == pytest.approx(mean_interval(y[rows]))


def test_groups_of_counts_have_exact_poisson_intervals():
    rng = np.random.default_rng(6)
    exposure = rng.uniform(0.5, 2, 200)
    rate = np.where(np.arange(200) < 20, 1e-6, rng.uniform(0.05, 0.3, 200))
    counts = rng.poisson(rate * exposure)
    bins = errors(counts / exposure, rate, exposure, count_interval)["bins"]
    groups = assign_bins(rate, exposure)
    assert counts[groups == 0].sum() == 0
    for group, each in enumerate(bins):
        n, total = counts[groups == group].sum(), exposure[groups == group].sum()
        assert each["observed"] == pytest.approx(n / total)
        # At the ends, as many or as few counts have a probability of 2.5 %.
        assert poisson.cdf(n, each["high"] * total) == pytest.approx(0.025)
        low = poisson.sf(n - 1, each["low"] * total)
        assert low == pytest.approx(0.025) if n else each["low"] == 0
    # A group without counts agrees with a small rate.
    assert bins[0]["low"] <= bins[0]["predicted"] <= bins[0]["high"]


def test_means_of_amounts_are_not_negative():
    value, low, high = mean_interval([1.0, 1.0, 50.0])
    assert low < 0
    assert amount_interval([1.0, 1.0, 50.0]) == [value, 0.0, high]


def test_more_classes():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 150)
    codes = np.array([rng.choice(3, p=each) for each in p])
    found = classes(codes, p)
    predicted = p.argmax(axis=1)
    assert found["confusion"] == confusion_matrix(codes, predicted).tolist()
    assert found["accuracy"] == share_interval((codes == predicted).mean(), 150)
    for c, each in enumerate(found["classes"]):
        assert each["auc"] == auc_interval(p[:, c], codes == c)
        assert each["precision"] == pytest.approx((codes[predicted == c] == c).mean())
        assert each["recall"] == pytest.approx((predicted[codes == c] == c).mean())


# ---- Coefficients --------------------------------------------------------------------------------


def columns_of(rows):
    return {key: [row[key] for row in rows] for key in rows[0]}


def test_coefficients_are_those_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    X = rng.normal([0, 50, 1e4], [1, 10, 3e3], (400, 3))
    value = X @ [1.0, -0.05, 1e-4]
    y, happened = value + rng.normal(size=400), rng.random(400) < expit(value + 1)
    design = sm.add_constant(X)
    wanted = sm.GLM(happened, design, family=sm.families.Binomial()).fit(tol=1e-12)
    found = columns_of(fit_logistic(X, happened))
    np.testing.assert_allclose(found["estimate"], wanted.params, rtol=1e-6)
    np.testing.assert_allclose(found["error"], wanted.bse, rtol=1e-5)
    np.testing.assert_allclose(found["p_value"], wanted.pvalues, rtol=1e-4)
    line = sm.OLS(y, design).fit()
    found = columns_of(fit_least_squares(X, y))
    np.testing.assert_allclose(found["estimate"], line.params, rtol=1e-8)
    np.testing.assert_allclose(found["error"], line.bse, rtol=1e-8)
    intervals = np.column_stack([found["low"], found["high"]])
    np.testing.assert_allclose(intervals, line.conf_int(), rtol=1e-7)


def test_coefficients_without_an_optimum_are_none():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 1))
    y = rng.random(100) < 0.5
    assert fit_logistic(x, x[:, 0] > 0) is None
    assert fit_logistic(np.hstack([x, 2 * x]), y) is None
    assert fit_logistic(x[:20], np.arange(20) % 2 == 0) is None
    assert fit_logistic(np.hstack([x, np.ones((100, 1))]), y) is None
    assert fit_least_squares(np.hstack([x, 2 * x]), y) is None
    assert fit_least_squares(x[:8], y[:8]) is None


# ---- Segments ------------------------------------------------------------------------------------


def test_segments_name_values_bands_and_missing_ones():
    labels, codes = segments_of(["b", None, "a", "b", float("nan")])
    assert labels == ["a", "b", "(missing)"]
    assert codes.tolist() == [1, 2, 0, 1, 2]
    labels, codes = segments_of(np.array([20240131, 20240229, 20240131]))
    assert labels == ["20240131", "20240229"]
    numbers = np.append(np.arange(100.0), np.nan)
    labels, codes = segments_of(numbers)
    assert labels == ["0 to 19", "20 to 39", "40 to 59", "60 to 79", "80 to 99", "(missing)"]
    assert np.bincount(codes).tolist() == [20, 20, 20, 20, 20, 1]
    labels, codes = segments_of([f"v{i % 30}" for i in range(100)])
    assert len(labels) == 12
    assert labels[-1] == "(other)"
    assert {f"v{i}" for i in range(10)} <= set(labels)  # four rows each
    assert np.bincount(codes).sum() == 100


# ---- Counts, amounts and survival times ----------------------------------------------------------


@pytest.mark.parametrize(("interval", "power"), [(poisson_interval, 1), (gamma_interval, 2)])
def test_explained_deviance_and_its_interval(interval, power):
    rng = np.random.default_rng(0)

    def draw(n):
        mean, weight = np.exp(0.5 * rng.normal(size=n)), rng.uniform(0.5, 1.5, n)
        return rng.poisson(mean) + (power - 1.0) * 0.5, mean, weight

    y, mean, weight = draw(200_000)
    truth = d2_tweedie_score(y, mean, sample_weight=weight, power=power)
    covered = 0
    for _ in range(300):
        y, mean, weight = draw(300)
        value, low, high = interval(y, mean, weight)
        assert value == pytest.approx(d2_tweedie_score(y, mean, sample_weight=weight, power=power))
        covered += low <= truth <= high
    assert covered / 300 == pytest.approx(0.95, abs=0.05)


def draw_times(rng, n):
    risk = rng.normal(size=n)
    time, censored = rng.exponential(np.exp(-risk)), rng.exponential(2.0, n)
    return np.where(time <= censored, time, -censored), risk


def test_concordance_and_its_interval():
    metrics = pytest.importorskip("sksurv.metrics")
    rng, covered = np.random.default_rng(0), 0
    truth = concordance_interval(*draw_times(rng, 8000))[0]
    for _ in range(300):
        times, risk = draw_times(rng, 120)
        value, low, high = concordance_interval(times, risk)
        expected = metrics.concordance_index_censored(times > 0, np.abs(times), risk)[0]
        assert value == pytest.approx(expected)
        covered += low <= truth <= high
    assert covered / 300 == pytest.approx(0.95, abs=0.04)
    weight = rng.integers(1, 4, 120)
    copies = np.repeat(np.arange(120), weight)
    copied = concordance_interval(times[copies], risk[copies])[0]
    assert concordance_interval(times, risk, weight)[0] == pytest.approx(copied)


def test_curves_of_thirds_are_those_of_kaplan_and_meier():
    nonparametric = pytest.importorskip("sksurv.nonparametric")
    times, risk = draw_times(np.random.default_rng(0), 300)
    times = np.sign(times) * np.ceil(np.abs(times) * 10)
    curves = thirds(times, risk)
    assert sum(each["n"] for each in curves) == 300
    cuts = np.quantile(risk, [1 / 3, 2 / 3])
    for i, each in enumerate(curves):
        rows = np.searchsorted(cuts, risk) == i
        at, share = nonparametric.kaplan_meier_estimator(times[rows] > 0, np.abs(times[rows]))
        ours = each["survival"][np.searchsorted(each["times"], at, side="right") - 1]
        np.testing.assert_allclose(ours, share)
