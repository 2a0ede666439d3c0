"""Measures of predictions are those of their definitions, and intervals cover what they say."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import ks_2samp, norm
from sklearn.metrics import auc as area_under
from sklearn.metrics import brier_score_loss, log_loss, r2_score, roc_auc_score

from helpers.measures import (
    auc,
    auc_of_classes,
    mean,
    population_stability,
    probabilities_hold,
    r2,
    ranking,
    share,
)
from helpers.selectors import make_rows, of_size, pairs_in_order
from safdr import SelectionReport

Z = norm.ppf(0.975)


@pytest.fixture(params=[2, 4, 9, 1000], ids=lambda n: f"{n} values")
def scored(request):
    """Whole-number scores of two classes: ties within the classes and between them."""
    rng = np.random.default_rng(request.param)
    positive = rng.random(90) < 0.4
    scores = rng.integers(0, request.param, 90) + rng.integers(0, 2, 90) * positive
    return scores.astype(float), positive, rng.integers(1, 4, 90).astype(float)


# ---- Ranking -------------------------------------------------------------------------------------


def test_an_area_counts_pairs_and_half_of_the_ties(scored):
    scores, positive, weight = scored
    for w in (None, weight):
        wanted = pairs_in_order(scores, positive, w)
        assert auc(scores, positive, w)[0] == pytest.approx(wanted, abs=1e-12)
        assert wanted == pytest.approx(roc_auc_score(positive, scores, sample_weight=w))


def test_ties_between_the_classes_are_there():
    """So that the test above can fail: scores that both classes have."""
    rng = np.random.default_rng(4)
    positive = rng.random(90) < 0.4
    scores = rng.integers(0, 4, 90) + rng.integers(0, 2, 90) * positive
    shared = np.intersect1d(scores[positive], scores[~positive])
    assert len(shared) >= 3
    strict = np.mean(scores[positive][:, None] > scores[~positive])
    assert pairs_in_order(scores, positive) > strict + 0.05


def delong(scores, positive):
    """Interval by the variance of the placements, on the scale of log-odds of the area."""
    one, other = scores[positive], scores[~positive]
    wins = (one[:, None] > other) + 0.5 * (one[:, None] == other)
    area = wins.mean()
    variance = wins.mean(axis=1).var(ddof=1) / len(one) + wins.mean(axis=0).var(ddof=1) / len(other)
    half = Z * np.sqrt(variance) / (area * (1 - area))
    return [area, expit(logit(area) - half), expit(logit(area) + half)]


def test_the_interval_of_an_area_is_delongs(scored):
    scores, positive, _ = scored
    np.testing.assert_allclose(auc(scores, positive), delong(scores, positive), rtol=1e-9)
    both = np.column_stack([1 - expit(scores - 3), expit(scores - 3)])
    found = auc_of_classes(both, positive.astype(int))
    np.testing.assert_allclose(found, delong(both[:, 1], positive), rtol=1e-9)


def test_perfect_and_useless_scores():
    positive = np.arange(20) >= 12
    value, low, high = auc(np.arange(20.0), positive)
    assert (value, high) == (1.0, 1.0)
    assert low == pytest.approx(0.025 ** (1 / 8))
    assert auc(-np.arange(20.0), positive)[0] == 0.0
    assert auc(np.ones(20), positive)[0] == 0.5
    assert ranking(np.ones(20), np.ones(20, dtype=bool)) is None


def test_weights_are_copies_but_no_further_rows(scored):
    scores, positive, weight = scored
    copies = np.repeat(np.arange(90), weight.astype(int))
    one, many = auc(scores, positive, weight), auc(scores[copies], positive[copies])
    assert one[0] == pytest.approx(many[0], abs=1e-12)
    assert one[2] - one[1] > many[2] - many[1]
    np.testing.assert_allclose(auc(scores, positive, 1000 * weight), one, rtol=1e-9)


def test_classes_are_ranked_each_against_the_rest():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 120)
    p = rng.dirichlet(np.ones(3), 120).round(1) + 0.2 * np.eye(3)[codes]
    for weight in (None, rng.integers(1, 4, 120).astype(float)):
        wanted = np.mean([pairs_in_order(p[:, c], codes == c, weight) for c in range(3)])
        value, low, high = auc_of_classes(p, codes, weight)
        assert value == pytest.approx(wanted, abs=1e-12)
        assert low < value < high


def test_gini_ks_and_the_curve(scored):
    scores, positive, _ = scored
    found = ranking(scores, positive)
    area = pairs_in_order(scores, positive)
    assert found["gini"]["value"] == pytest.approx(2 * area - 1, abs=1e-12)
    apart = ks_2samp(scores[positive], scores[~positive], alternative="less").statistic
    assert found["ks"] == pytest.approx(apart, abs=1e-12)
    flagged = scores >= found["ks_cut_off"]
    assert flagged[positive].mean() - flagged[~positive].mean() == pytest.approx(found["ks"])
    curve = found["curve"]
    x, y = curve["false_positive_rate"], curve["true_positive_rate"]
    assert area_under(x, y) == pytest.approx(area, abs=0.01)
    assert (x[0], y[0], x[-1], y[-1]) == (0, 0, 1, 1)


# ---- Intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("successes", [0, 1, 7, 19, 20])
def test_the_interval_of_a_share_is_wilsons(successes):
    stats = pytest.importorskip("statsmodels.stats.proportion")
    wanted = stats.proportion_confint(successes, 20, method="wilson")
    np.testing.assert_allclose(share(successes / 20, 20), wanted, atol=1e-12)


def test_intervals_cover():
    """Each contains the truth in about 95 of 100 samples."""
    rng = np.random.default_rng(1)
    truth = {"auc": norm.cdf(1 / np.sqrt(2)), "r2": 0.5, "mean": 1.0, "slope": 0.7}
    inside = dict.fromkeys(truth, 0)
    for _ in range(300):
        positive = np.arange(120) % 3 == 0
        predicted = rng.normal(size=150)
        y = predicted + rng.normal(size=150)
        odds = rng.normal(-1, 1.2, 400)
        happened = rng.random(400) < expit(0.7 * odds)
        slope = probabilities_hold(happened, expit(odds))["slope"]
        found = {
            "auc": auc(rng.normal(size=120) + positive, positive)[1:],
            "r2": r2(y, predicted)[1:],
            "mean": mean(rng.normal(1.0, 2.0, 40))[1:],
            "slope": [slope["low"], slope["high"]],
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
        value, low, high = r2(y, predicted, w)
        assert value == pytest.approx(r2_score(y, predicted, sample_weight=w), rel=1e-12)
        assert low < value < high <= 1


# ---- Calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_calibration_is_that_of_statsmodels(weighted):
    sm = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    odds = rng.normal(-1, 1.2, 600)
    p, y = expit(odds), rng.random(600) < expit(0.6 * odds + 0.4)
    weight = rng.integers(1, 5, 600).astype(float) if weighted else None
    found = probabilities_hold(y, p, weight)
    assert found["brier"] == pytest.approx(brier_score_loss(y, p, sample_weight=weight))
    assert found["log_loss"] == pytest.approx(log_loss(y, p, sample_weight=weight))
    assert found["expected"] == pytest.approx(np.average(p, weights=weight))
    assert found["observed"] == pytest.approx(np.average(y, weights=weight))
    how = {"family": sm.families.Binomial(), "var_weights": weight}
    fit = {"tol": 1e-12, "cov_type": "HC0" if weighted else "nonrobust"}
    joint = sm.GLM(y, sm.add_constant(odds), **how).fit(**fit)
    assert found["slope"]["value"] == pytest.approx(joint.params[1], abs=1e-7)
    assert found["slope"]["standard_error"] == pytest.approx(joint.bse[1], rel=1e-5)
    alone = sm.GLM(y, np.ones(600), offset=odds, **how).fit(**fit)
    assert found["shift"]["value"] == pytest.approx(alone.params[0], abs=1e-7)


def test_tenths_of_the_rows_add_up():
    rng = np.random.default_rng(2)
    p = rng.uniform(size=1000)
    y = rng.random(1000) < p
    bins = probabilities_hold(y, p)["bins"]
    assert [each["n_rows"] for each in bins] == [100] * 10
    order = np.argsort(p)
    for rows, each in zip(order.reshape(10, 100), bins, strict=True):
        assert each["expected"] == pytest.approx(p[rows].mean())
        assert each["observed"] == pytest.approx(y[rows].mean())
        np.testing.assert_allclose([each["low"], each["high"]], share(y[rows].mean(), 100))


def test_rows_of_one_class_have_no_slope():
    found = probabilities_hold(np.ones(30, dtype=bool), np.linspace(0.1, 0.9, 30))
    assert found["slope"] is None
    assert found["observed"] == 1.0


# ---- Drift ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 0.4, 9.0])
def test_the_stability_index_is_its_definition(shift):
    """The sum of (a - e) log(a / e) over tenths of the base; an empty one is half a row."""
    rng = np.random.default_rng(0)
    base, values = rng.normal(size=1000), rng.normal(shift, 1.3, 250)
    edges = np.quantile(base, np.arange(1, 10) / 10, method="inverted_cdf")
    total = 0.0
    for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        a, e = (np.mean((each > low) & (each <= high)) for each in (values, base))
        a, e = a or 0.5 / 250, e or 0.5 / 1000
        total += (a - e) * np.log(a / e)
    assert population_stability(values, base) == pytest.approx(total)
    assert total > 0


# ---- In a report ---------------------------------------------------------------------------------


def test_a_report_scores_held_out_rows():
    """Rounded columns, so that many rows of both classes have equal scores."""
    X, y = make_rows(n_rows=300)
    X = X.round()
    selector = of_size(1).fit(X[:200], y[:200])
    held_out = {"X_test": X[200:], "y_test": y[200:]}
    report = SelectionReport.from_estimator(selector, X[:200], y[:200], **held_out)
    found = report.to_dict()["scores"]["test"]
    scores = selector.decision_function(X[200:])
    assert len(np.unique(scores)) < 20
    wanted = delong(scores, y[200:] == 1)
    given = [found[name] for name in ("value", "low", "high")]
    np.testing.assert_allclose(given, wanted, rtol=1e-9)
