"""Measured outputs, one or several, through the estimators."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import KFold

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    anneal_path,
    evaluate_subsets,
)
from safdr._estimators.models import LinearModel

QUIET = {"annealing": Annealing(n_batches=1, batch_fraction=1.0)}


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def two_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 9)) @ rng.normal(size=(9, 9))
    noise = rng.normal(size=(120, 2))
    return X, np.column_stack([X[:, 1] - X[:, 4], 5 * X[:, 7] + X[:, 2]]) + noise


def r2(X, y, subset, **how):
    X = X[:, subset]
    return r2_score(y, LinearRegression().fit(X, y).predict(X), **how)


@pytest.mark.parametrize("data", ["diabetes", "two_outputs"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_the_subset_with_the_largest_r2_of_all_is_chosen(data, size, request):
    X, y = request.getfixturevalue(data)
    every = list(itertools.combinations(range(X.shape[1]), size))
    best = max(r2(X, y, list(subset)) for subset in every)
    selector = AnnealingRegressorSelector(size, ridge=1e-12, random_state=0, **QUIET).fit(X, y)
    assert selector.result_.criterion_values.max() == pytest.approx(best, rel=1e-8)
    if y.ndim == 1:  # the squared error orders as R² does
        assert selector.criterion_value_ == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("data", ["diabetes", "two_outputs"])
def test_the_model_is_the_least_squares_one(data, request):
    X, y = request.getfixturevalue(data)
    selector = AnnealingRegressorSelector(3, random_state=0).fit(X, y)
    plain = LinearRegression().fit(X[:, selector.subset_], y)
    assert isinstance(selector.estimator_, LinearModel)
    np.testing.assert_allclose(selector.estimator_.coef_, plain.coef_, rtol=1e-7)
    fitted = plain.predict(X[:, selector.subset_])
    np.testing.assert_allclose(selector.predict(X), np.clip(fitted, y.min(axis=0), y.max(axis=0)))
    assert selector.loss_ == pytest.approx(mean_squared_error(y, fitted))
    assert selector.result_.loss_name == "squared_error"
    assert selector.score(X, y) == pytest.approx(r2_score(y, selector.predict(X)))


def test_the_winner_has_the_smallest_squared_error_of_the_candidates(two_outputs):
    X, y = two_outputs
    result = AnnealingRegressorSelector(2, random_state=1).fit(X, y).result_
    errors = [
        mean_squared_error(y, LinearRegression().fit(X[:, s], y).predict(X[:, s]))
        for s in result.subsets
    ]
    np.testing.assert_allclose(result.losses, errors, rtol=1e-9)
    assert result.loss == min(result.losses)


def test_the_size_is_chosen_by_r2(diabetes):
    X, y = diabetes
    search = AnnealingRegressorSelectorCV(max_features=8, random_state=0).fit(X, y)
    assert search.scorer_name_ == "R²"
    assert search.score(X, y) == pytest.approx(r2_score(y, search.predict(X)))
    assert (np.diff(search.cv_results_["mean_squared_error"]) <= 0).all()
    by_rule = search.n_features_by_rule_
    assert search.n_features_ == by_rule["one_se"] <= by_rule["best"]
    assert "split0_separated" in search.cv_results_


def test_several_outputs_are_cross_validated_too():
    X, y = load_linnerud(return_X_y=True)
    search = AnnealingRegressorSelectorCV(max_features=3, cv=4, random_state=0).fit(X, y)
    for size in (1, 2, 3):
        scores = []
        for train, test in KFold(4).split(X, y):
            chosen = AnnealingRegressorSelector(size, random_state=0).fit(X[train], y[train])
            scores.append(chosen.score(X[test], y[test]))
        assert search.cv_results_["mean_test_score"][size - 1] == pytest.approx(np.mean(scores))


def test_another_model_may_judge_and_predict(diabetes):
    X, y = diabetes
    selector = AnnealingRegressorSelector(3, estimator=Ridge(alpha=0.1), random_state=0).fit(X, y)
    assert isinstance(selector.estimator_, Ridge)
    assert selector.result_.coefficients is None
    assert selector.result_.loss_name == "squared_error"
    assert selector.score(X, y) > 0.45


def test_a_classifier_is_refused(diabetes):
    with pytest.raises(ValueError, match="estimator must be a regressor; got the classifier"):
        AnnealingRegressorSelector(3, estimator=LogisticRegression()).fit(*diabetes)


def test_an_output_that_never_changes_is_named(diabetes):
    X, _ = diabetes
    with pytest.raises(ValueError, match=r"y is 1.0 in every row: there is nothing to explain"):
        AnnealingRegressorSelector(3).fit(X, np.ones(len(X)))
    y = np.column_stack([X[:, 0], np.ones(len(X))])
    with pytest.raises(ValueError, match=r"y is 1.0 in every row in column 1"):
        AnnealingRegressorSelector(3).fit(X, y)


def test_paths_and_evaluations_know_the_task(diabetes):
    X, y = diabetes
    results = anneal_path(X, y, [1, 2], task="regression", random_state=0)
    assert [result.loss_name for result in results] == ["squared_error"] * 2
    measured = evaluate_subsets(X, y, [[2, 8]], task="regression", ridge=1e-12)
    assert measured.criterion_values[0] == pytest.approx(r2(X, y, [2, 8]), rel=1e-8)
    with pytest.raises(ValueError, match="task must be one of 'classification', 'regression'"):
        anneal_path(X, y, [1], task="ranking")


def test_a_model_that_sees_products_may_be_the_criterion():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X[:, 1] * X[:, 6] + 0.1 * rng.normal(size=300)
    assert AnnealingRegressorSelector(2, random_state=0).fit(X, y).subset_.tolist() != [1, 6]
    model = GradientBoostingRegressor(n_estimators=30)
    selector = AnnealingRegressorSelector(
        2, criterion=model, annealing=Annealing(n_replicas=6, sweeps=0.5), random_state=0
    )
    assert selector.fit(X, y).subset_.tolist() == [1, 6]
    assert isinstance(selector.estimator_, GradientBoostingRegressor)
