"""Counts, amounts and survival times: models, scores, searches and questions about them."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.estimator_checks import check_estimator

from helpers.likelihood_tasks import PLANTED, TASKS, make_rows, of_size, over_sizes, survival
from helpers.optional import optional
from helpers.selectors import WHOLE
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSurvivalSelector,
    Constraints,
    ParameterError,
    Stream,
    evaluate_subsets,
    near_optimal,
    prove,
    stability,
    substitutes,
    what_if,
)
from safdr._estimators.counts import LogLinearModel
from safdr._estimators.survival import CoxModel, concordance


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


# ---- Models --------------------------------------------------------------------------------------


def random_design(rng):
    """Features of different scales, and linear predictors."""
    n_rows, n_features = int(rng.integers(30, 200)), int(rng.integers(1, 6))
    X = rng.normal(size=(n_rows, n_features)) * 10.0 ** rng.uniform(-2, 2, n_features)
    X += 10 * X.std(axis=0) * rng.normal()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, Z @ rng.normal(size=n_features) * 0.5


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_models_of_counts_and_amounts_are_those_of_statsmodels(family):
    sm = optional("statsmodels.api")
    kind = {"poisson": sm.families.Poisson(), "gamma": sm.families.Gamma(sm.families.links.Log())}
    rng = np.random.default_rng(0)
    for _ in range(60):
        X, eta = random_design(rng)
        exposure = rng.exponential(size=len(X)) + 0.1
        if family == "poisson":
            y = rng.poisson(2 * exposure * np.exp(eta)) / exposure
        else:
            y = np.round(rng.gamma(2.0, np.exp(eta)), 1) + 0.1
        model = LogLinearModel(family, C=1e12).fit(X, y, exposure)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        peer = sm.GLM(y, sm.add_constant(Z), family=kind[family], var_weights=exposure)
        theirs = peer.fit(tol=1e-14, maxiter=200)
        np.testing.assert_allclose(model.coef_ * X.std(axis=0), theirs.params[1:], atol=1e-6)
        np.testing.assert_allclose(model.predict(X), theirs.fittedvalues, rtol=1e-6)
        power = {"poisson": 1, "gamma": 2}[family]
        expected = d2_tweedie_score(y, theirs.fittedvalues, sample_weight=exposure, power=power)
        assert model.score(X, y, exposure) == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_penalty_is_that_of_poisson_regressor():
    X, y = make_rows("poisson")
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    exposure = np.random.default_rng(0).exponential(size=len(X)) + 0.1
    ours = LogLinearModel(C=0.02).fit(X, y, exposure)
    Z = (X - np.average(X, axis=0, weights=exposure)) / np.sqrt(
        np.average((X - np.average(X, axis=0, weights=exposure)) ** 2, axis=0, weights=exposure)
    )
    peer = PoissonRegressor(alpha=50 / len(X), tol=1e-12, max_iter=1000, solver="newton-cholesky")
    theirs = peer.fit(Z, y, exposure)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(Z), rtol=1e-7)


def random_times(rng, eta):
    """Times with ties, about a third of them censored, and integer weights."""
    time = rng.exponential(np.exp(-eta))
    censored = rng.exponential(2 * np.median(time), len(eta))
    event = time <= censored
    event[:3] = True
    return survival(event, np.round(np.minimum(time, censored) * 8) / 8 + 0.125), rng.integers(
        1, 4, len(eta)
    )


def test_models_of_survival_times_are_those_of_statsmodels():
    sm, rng, n_tied = optional("statsmodels.api"), np.random.default_rng(1), 0
    for _ in range(60):
        X, eta = random_design(rng)
        y, weight = random_times(rng, eta)
        n_tied += len(np.unique(y.time[y.event])) < y.event.sum()
        model = CoxModel(C=1e12).fit(X, y, weight)
        copies = np.repeat(np.arange(len(X)), weight)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        peer = sm.PHReg(y.time[copies], Z[copies], status=y.event[copies], ties="breslow")
        theirs = peer.fit(disp=False, tol=1e-12, maxiter=200, method="newton")
        np.testing.assert_allclose(model.coef_ * X.std(axis=0), theirs.params, atol=1e-6)
        copied = CoxModel(C=1e12).fit(X[copies], y[copies])
        np.testing.assert_allclose(model.predict(X), copied.predict(X), atol=1e-7)
        np.testing.assert_allclose(model.cumulative_hazard_, copied.cumulative_hazard_, rtol=1e-7)
    assert n_tied > 50


def test_models_of_survival_times_are_those_of_scikit_survival():
    linear, rng = optional("sksurv.linear_model"), np.random.default_rng(2)
    for _ in range(60):
        X, eta = random_design(rng)
        y, _ = random_times(rng, eta)
        model = CoxModel(C=1e12).fit(X, y)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        theirs = linear.CoxPHSurvivalAnalysis(ties="breslow", tol=1e-14, n_iter=200).fit(Z, y)
        np.testing.assert_allclose(model.coef_ * X.std(axis=0), theirs.coef_, atol=1e-6)
        times = np.unique(y.time[y.event])
        expected = [f(times) for f in theirs.predict_survival_function(Z)]
        np.testing.assert_allclose(model.unique_times_, times)
        found = model.predict_survival_function(X, return_array=True)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_survival_functions_are_right_continuous_steps():
    X, y = make_rows("survival")
    model = CoxModel().fit(X, y)
    function = model.predict_survival_function(X)[3]
    array = model.predict_survival_function(X, return_array=True)[3]
    np.testing.assert_allclose(function(model.unique_times_), array)
    assert function(0.0) == 1.0
    assert function(model.unique_times_[0] - 1e-9) == 1.0
    assert function(1e9) == array[-1]
    assert model.predict(X).mean() == pytest.approx(0.0, abs=1e-12)


def test_concordance_counts_pairs():
    rng = np.random.default_rng(0)
    for n in (2, 3, 10, 70):
        event, time = rng.random(n) < 0.7, np.round(rng.exponential(size=n), 1)
        risk, weight = np.round(rng.normal(size=n), 1), rng.integers(1, 4, n)
        event[time.argmin()] = True
        won = total = 0.0
        for i in np.flatnonzero(event):
            later = (time > time[i]) | ((time == time[i]) & ~event)
            pairs = weight[i] * weight * later
            won += np.sum(pairs * ((risk[i] > risk) + 0.5 * (risk[i] == risk)))
            total += pairs.sum()
        found = concordance(survival(event, time), risk, weight)
        assert found == pytest.approx(won / total) if total else np.isnan(found)


# ---- Searches ------------------------------------------------------------------------------------


def test_planted_features_are_found(task):
    for seed in range(10):
        X, y = make_rows(task, n_features=12, seed=seed)
        assert of_size(task=task, annealing=None).fit(X, y).subset_.tolist() == PLANTED


def test_of_few_subsets_the_one_with_the_least_loss_wins(task):
    for seed in range(4):
        X, y = make_rows(task, n_rows=60, seed=seed)
        selector = of_size(2, task, annealing=None).fit(X, y)
        every = list(combinations(range(8), 2))
        losses = evaluate_subsets(selector, X, y, every).losses
        assert selector.subset_.tolist() == list(every[losses.argmin()])
        assert selector.result_.loss == pytest.approx(losses.min(), rel=1e-9)


def test_criteria_are_score_statistics(task):
    """R² on the scale of the link; for survival times the R² of residuals by their curvature."""
    X, y = make_rows(task)
    selector = of_size(task=task, shrinkage=None).fit(X, y)
    weight = np.ones(len(X))
    if task != "survival":
        mean = (y + y.mean()) / 2
        response = np.log(mean) + (y - mean) / mean
    else:
        at_risk = (y.time[None, :] >= y.time[:, None]).sum(axis=1)
        before = y.event[:, None] & (y.time[:, None] <= y.time[None, :])
        hazard = (before / at_risk[:, None]).sum(axis=0)
        weight = np.maximum(hazard, 4e-3 * hazard.mean())
        response = (y.event - hazard) / weight
    both = np.column_stack([X[:, selector.subset_], response])
    covariance = np.cov(both.T, aweights=weight, bias=True)
    A, d = covariance[:-1, :-1], covariance[:-1, -1]
    expected = d @ np.linalg.solve(A, d) / covariance[-1, -1]
    assert selector.criterion_value_ == pytest.approx(expected, rel=1e-4)
    assert selector.criterion_ == ("score" if task == "survival" else "r2")


def test_weights_of_rates_have_no_unit(task):
    X, y = make_rows(task)
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    ours = over_sizes(task=task, annealing=WHOLE).fit(X, y, weight)
    if task != "survival":
        scaled = over_sizes(task=task, annealing=WHOLE).fit(X, y, 1000 * weight)
        np.testing.assert_allclose(scaled.estimator_.coef_, ours.estimator_.coef_, rtol=1e-9)
        scores = ours.cv_results_["mean_test_score"]
        np.testing.assert_allclose(scaled.cv_results_["mean_test_score"], scores, rtol=1e-9)
    else:  # copies
        copies = np.repeat(np.arange(len(X)), weight.astype(int))
        copied = of_size(task=task, annealing=WHOLE).fit(X[copies], y[copies])
        weighted = of_size(task=task, annealing=WHOLE).fit(X, y, weight)
        np.testing.assert_allclose(weighted.estimator_.coef_, copied.estimator_.coef_, rtol=1e-6)


def test_scores_of_folds_are_those_of_models_on_test_rows(task):
    X, y = make_rows(task)
    weight = None if task == "survival" else np.random.default_rng(0).exponential(size=len(X))
    kind, labels = (StratifiedKFold, y["event"]) if task == "survival" else (KFold, None)
    search = over_sizes(task=task, cv=3).fit(X, y, weight)
    for i, (train, test) in enumerate(kind(3).split(X, labels)):
        for at in range(4):
            subset = np.flatnonzero(search.cv_results_[f"split{i}_support"][at])
            model = clone(search.estimator_).set_params(calibration_slope=1.0)
            some = [] if weight is None else [weight[train]]
            model.fit(X[np.ix_(train, subset)], y[train], *some)
            some = [] if weight is None else [weight[test]]
            expected = model.score(X[np.ix_(test, subset)], y[test], *some)
            assert search.cv_results_[f"split{i}_test_score"][at] == pytest.approx(expected)
    assert search.score(X, y) == pytest.approx(search.estimator_.score(X[:, search.subset_], y))


def test_the_calibration_slope_shrinks_overconfident_models(task):
    rng = np.random.default_rng(0)
    X, y = make_rows(task, n_rows=80)
    y = y * rng.exponential(size=80) ** 2 if task == "gamma" else y
    X = np.column_stack([X, rng.normal(size=(80, 60))])
    search = over_sizes([20], task, C=1e6).fit(X, y)
    assert 0.01 <= search.calibration_slope_ < 0.97
    assert search.estimator_.calibration_slope == search.calibration_slope_
    plain = of_size(20, task, C=1e6).fit(X, y)
    assert plain.subset_.tolist() == search.subset_.tolist()
    shrunk = plain.estimator_.coef_ * search.calibration_slope_
    np.testing.assert_allclose(search.estimator_.coef_, shrunk, rtol=1e-9)
    if task == "poisson":  # as many events as there were
        assert search.predict(X).mean() == pytest.approx(y.mean())
    assert clone(search.estimator_).fit(X[:, search.subset_], y).predict(
        X[:, search.subset_]
    ) == pytest.approx(search.predict(X))


def test_the_method_of_the_paper_has_one_criterion(task):
    X, y = make_rows(task)
    kind = AnnealingSurvivalSelector if task == "survival" else AnnealingRegressorSelector
    family = {} if task == "survival" else {"family": task}
    selector = kind.as_published(3, **family, random_state=0).fit(X, y)
    assert selector.subset_.tolist() == PLANTED
    assert selector.criterion == selector.criterion_
    assert not selector.estimator_.clips


# ---- Options and questions -----------------------------------------------------------------------


def test_constraints_hold(task):
    X, y = make_rows(task)
    limits = {"always_include": [0], "never_include": [1], "at_most_one_of": [[4, 6]]}
    found = of_size(task=task, constraints=Constraints(**limits)).fit(X, y).support_
    assert found[0]
    assert not found[1]
    assert found[[4, 6]].sum() <= 1
    groups = Constraints(groups=[[0, 1], [2, 3], [4, 5], [6, 7]])
    assert of_size(2, task, constraints=groups).fit(X, y).support_.sum() == 4
    signs = Constraints(signs=[1] * 8)
    assert (of_size(2, task, constraints=signs).fit(X, y).estimator_.coef_ >= 0).all()
    cost = np.where(np.arange(8) == 1, 10.0, 0.0)
    assert not of_size(task=task, feature_cost=cost).fit(X, y).support_[1]


def test_questions_are_answered(task):
    X, y = make_rows(task)
    selector = of_size(task=task).fit(X, y)
    proof = prove(selector, X, y)
    assert proof.optimal
    assert proof.subset.tolist() == PLANTED
    assert near_optimal(selector, X, y, rtol=0.1).subsets[0].tolist() == PLANTED
    table = substitutes(selector, X, y, n_best=1)
    without = np.array([name is None for name in table["replacement"]])
    assert (np.array(table["score_difference"])[without] < 0).all()
    assert (np.array(table["loss_difference"]) > 0).all()
    result = stability(selector, X, y, n_resamples=20, random_state=0)
    assert result.counts[PLANTED].min() > 15
    assert result.expected_errors == pytest.approx(4 * 0.15 / 1.1 * 9 / 8)
    value = what_if(selector, X, y).value(PLANTED)
    assert value == pytest.approx(selector.criterion_value_)
    of_one = stability(of_size(1, task).fit(X, y), X, y, n_resamples=10, random_state=0)
    assert of_one.sizes.tolist() == [1] * 10


def test_substitutes_of_one_feature_are_compared_with_none(task):
    X, y = make_rows(task)
    table = substitutes(of_size(1, task).fit(X, y), X, y, n_best=1)
    assert table["replacement"][-1] is None
    assert table["score_difference"][-1] < -0.05


def test_a_custom_criterion_and_model_are_used(task):
    X, y = make_rows(task)

    def last_two(X_subset, y, sample_weight=None):
        return float(X_subset.sum(axis=1).var())

    largest = np.argsort(-X.var(axis=0))
    scaled = X * np.where(np.isin(np.arange(8), largest[:2]), 10, 1)
    found = of_size(2, task, criterion=last_two).fit(scaled, y)
    assert set(found.subset_) == set(largest[:2])
    estimator = CoxModel(C=10) if task == "survival" else LogLinearModel(task, C=10)
    for selector in (of_size(task=task, estimator=estimator), over_sizes(3, task, cv=2)):
        selector.set_params(estimator=estimator).fit(X, y)
        assert selector.subset_.tolist() == PLANTED
        assert selector.estimator_.C == 10
        names = {"survival": "negative_concordance"}
        assert selector.result_.loss_name == names.get(task, "half_deviance")


def test_estimators_and_metrics_of_scikit_survival_are_accepted():
    linear, metrics = optional("sksurv.linear_model"), optional("sksurv.metrics")
    X, y = make_rows("survival")
    estimator = linear.CoxPHSurvivalAnalysis(alpha=0.1)
    selector = of_size(task="survival", estimator=estimator).fit(X, y)
    assert selector.subset_.tolist() == PLANTED
    curves = selector.predict_survival_function(X)
    ours = of_size(task="survival").fit(X, y)
    times = np.quantile(y.time, [0.2, 0.5, 0.7])
    table = np.array([curve(times) for curve in ours.predict_survival_function(X)])
    theirs = np.array([curve(times) for curve in curves])
    np.testing.assert_allclose(table, theirs, atol=0.02)
    score = metrics.integrated_brier_score(y, y, table, times)
    assert score == pytest.approx(metrics.integrated_brier_score(y, y, theirs, times), abs=0.01)
    counted = metrics.concordance_index_censored(y.event, y.time, ours.predict(X))[0]
    assert ours.score(X, y) == pytest.approx(counted)
    scorer = metrics.as_integrated_brier_score_scorer(ours, times=times)
    assert scorer.fit(X, y).score(X, y) == pytest.approx(-score)


@pytest.mark.parametrize("task", ["poisson", "gamma"])
def test_a_large_source_gives_the_answer_of_its_rows(task):
    pa, pd = optional("pyarrow"), optional("pandas")
    X, y = make_rows(task, n_rows=2400)
    weight = np.random.default_rng(0).exponential(size=2400) + 0.1
    columns = {f"x{j}": column for j, column in enumerate(X.T)} | {"y": y, "w": weight}
    source = Stream(lambda: pa.table(columns).to_batches(max_chunksize=333), sample_rows=400)
    theirs = of_size(task=task).fit(X, y, weight)
    ours = of_size(task=task).fit(source, "y", "w")
    assert ours.subset_.tolist() == theirs.subset_.tolist() == PLANTED
    assert ours.shrinkage_ == pytest.approx(theirs.shrinkage_, rel=1e-9)
    np.testing.assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_, rtol=1e-6)
    search = over_sizes(task=task).fit(source, "y", "w")
    assert search.subset_.tolist() == PLANTED
    assert search.score(pd.DataFrame(X, columns=list(columns)[:8]), y) > 0.3


@pytest.mark.filterwarnings("ignore")
def test_conventions_of_scikit_learn():
    names = (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))
    failed = dict.fromkeys(names, "weights are exposures in any unit, and do not count rows")
    for estimator in (LogLinearModel(), LogLinearModel("gamma"), of_size(None)):
        check_estimator(estimator, expected_failed_checks=failed)


REFUSALS = {
    "negative counts": ("poisson", {}, lambda y: -y - 1, "y must be at least 0"),
    "amounts of zero": ("gamma", {}, lambda y: np.maximum(y - 0.5, 0), "y must be positive"),
    "several outputs": ("poisson", {}, lambda y: np.column_stack([y, y]), "should be a 1d array"),
    "constant": ("poisson", {}, lambda y: 0 * y + 1, "y is constant"),
    "no events": ("survival", {}, lambda y: survival(y.event & False, y.time), "at least 2 events"),
    "numbers": ("survival", {}, lambda y: y.time, "structured array of two fields"),
    "order": ("survival", {}, lambda y: np.rec.fromarrays([y.time, y.event]), "structured array"),
    "times": ("survival", {}, lambda y: survival(y.event, y.time - 2), "finite and at least 0"),
    "name": ("survival", {}, lambda y: "time", "in memory"),
    "device": ("poisson", {"annealing": Annealing(device="cpu")}, lambda y: y, "must be None for"),
    "model": ("survival", {"constraints": Constraints(signs=[1] * 8), "estimator": CoxModel()},
              lambda y: y, "need two classes or one output"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    task, parameters, change, text = REFUSALS[case]
    X, y = make_rows(task)
    with pytest.raises((ValueError, ParameterError), match=text):
        of_size(task=task, **parameters).fit(X, change(y))
