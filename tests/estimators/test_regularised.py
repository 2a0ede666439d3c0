"""Selectors with a ridge that sets itself, and with penalised models."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Moments,
    ParameterError,
    anneal_path,
    evaluate_subsets,
    prove,
)
from safdr._estimators.models import LinearModel

QUICK = Annealing(n_replicas=10, max_steps=20)


def classes_of(rng, n_classes, n=150):
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 8)) + rng.normal(size=(n, 2)) @ rng.normal(size=(2, 8))
    X *= np.arange(1, 9)
    X[:, :3] += y[:, None] * [1.0, -0.5, 0.7]
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_final_model_is_that_of_scikit_learn_on_standardised_columns(rng, n_classes):
    X, y = classes_of(rng, n_classes)
    weight = rng.exponential(size=len(y)) + 0.1
    selector = AnnealingSelector(3, C=0.3, annealing=QUICK, random_state=0).fit(X, y, weight)
    mean = np.average(X, axis=0, weights=weight)
    Z = (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    model = LogisticRegression(C=0.3, tol=1e-10, max_iter=1000)
    model.fit(Z[:, selector.subset_], y, weight)
    expected = model.predict_proba(Z[:, selector.subset_])
    assert selector.predict_proba(X) == pytest.approx(expected, abs=1e-6)
    assert selector.estimator_.C == 0.3


def test_regression_has_the_ridge_of_scikit_learn(rng):
    X = rng.normal(size=(100, 6)) * np.arange(1, 7)
    y = X @ [1, 0, 0.5, 0, 0, 0.2] + rng.normal(size=100)
    selector = AnnealingRegressorSelector(3, C=0.1, annealing=QUICK, random_state=0).fit(X, y)
    model = make_pipeline(StandardScaler(), Ridge(alpha=10.0)).fit(X[:, selector.subset_], y)
    predicted = np.clip(model.predict(X[:, selector.subset_]), y.min(), y.max())
    assert selector.predict(X) == pytest.approx(predicted)
    assert isinstance(selector.estimator_, LinearModel)


def test_with_a_penalty_nothing_is_separated(rng):
    X, y = classes_of(rng, 2)
    X[:, 0] = 10.0 * y + rng.normal(size=len(y))
    with pytest.warns(UserWarning, match="separate"):
        AnnealingSelector.as_published(2, annealing=QUICK, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = AnnealingSelector(2, annealing=QUICK, random_state=0).fit(X, y)
    assert not selector.result_.separated.any()
    assert selector.loss_ > 0
    assert 0 in selector.subset_
    assert np.abs(selector.estimator_.coef_).max() < 10


def test_weights_are_rows_to_ridge_and_penalty(rng):
    X, y = classes_of(rng, 2)
    no_noise = Annealing(n_batches=1, batch_fraction=1.0)
    how = {"ridge": "auto", "C": 0.1, "annealing": no_noise, "random_state": 0}
    weighted = AnnealingSelector(3, **how).fit(X, y, np.full(len(y), 2.0))
    doubled = AnnealingSelector(3, **how).fit(np.vstack([X, X]), np.tile(y, 2))
    assert weighted.ridge_ == pytest.approx(doubled.ridge_)
    assert weighted.subset_.tolist() == doubled.subset_.tolist()
    assert weighted.predict_proba(X) == pytest.approx(doubled.predict_proba(X))


def test_the_ridge_that_came_out_is_told_and_can_be_given(rng):
    X, y = classes_of(rng, 2, n=60)
    auto = AnnealingSelector(3, ridge="auto", annealing=QUICK, random_state=0).fit(X, y)
    assert 0.01 < auto.ridge_ < 10
    given = AnnealingSelector(3, ridge=auto.ridge_, annealing=QUICK, random_state=0).fit(X, y)
    assert given.subset_.tolist() == auto.subset_.tolist()
    assert given.criterion_value_ == auto.criterion_value_
    own = AnnealingSelector(3, criterion=lambda X, y: X.sum(), annealing=QUICK, random_state=0)
    assert own.fit(X, y).ridge_ is None


def test_one_meaning_everywhere(rng):
    X, y = classes_of(rng, 2, n=80)
    how = {"ridge": "auto", "C": 0.5}
    selector = AnnealingSelector(3, annealing=QUICK, random_state=0, **how).fit(X, y)
    measured = evaluate_subsets(X, y, selector.subset_, **how)
    assert measured.criterion_values[0] == pytest.approx(selector.criterion_value_)
    assert measured.losses[0] == pytest.approx(selector.loss_)
    [on_path] = anneal_path(X, y, [3], annealing=QUICK, random_state=0, **how)
    assert on_path.loss == pytest.approx(selector.loss_)
    values, losses = selector.measure_subsets(X, y, [selector.subset_])
    assert (values[0], losses[0]) == pytest.approx((selector.criterion_value_, selector.loss_))
    proof = prove(Moments.from_rows(X, y), 3, ridge="auto")
    assert proof.value == pytest.approx(selector.result_.criterion_values.max())


def test_folds_have_ridges_of_their_own(rng):
    X, y = classes_of(rng, 2, n=80)
    cv = AnnealingSelectorCV(ridge="auto", C=1.0, annealing=QUICK, max_features=4, random_state=0)
    cv.fit(X, y)
    assert cv.ridge_ == AnnealingSelector(1, ridge="auto", random_state=0).fit(X, y).ridge_
    assert cv.predict_proba(X).shape == (80, 2)


@pytest.mark.parametrize("wrong", [{"C": 0}, {"C": True}, {"C": -1.0}, {"ridge": "much"}])
def test_wrong_values_are_named(rng, wrong):
    with pytest.raises(ParameterError) as caught:
        AnnealingSelector(2, **wrong).fit(*classes_of(rng, 2))
    assert caught.value.parameter in wrong


# ---- The second criterion -----------------------------------------------------------------------


def skewed(rng, n=400):
    """Features whose logarithms tell the classes: far from normal."""
    y = np.arange(n) % 2
    X = np.exp(rng.normal(size=(n, 10)) + 0.4 * y[:, None] * (np.arange(10) < 5))
    return X, y


def test_the_log_loss_guides_half_of_the_replicas(rng):
    X, y = skewed(rng)
    fisher = AnnealingSelector(3, criterion="fisher", annealing=QUICK, random_state=0).fit(X, y)
    both = AnnealingSelector(3, annealing=QUICK, random_state=0).fit(X, y)
    assert both.loss_ <= fisher.loss_
    # Values are those of Fisher's ratio, whatever guided the search.
    assert both.criterion_ == fisher.criterion_ == "fisher"
    values, losses = fisher.measure_subsets(X, y, [both.subset_])
    assert values[0] == pytest.approx(both.criterion_value_)
    assert losses[0] == pytest.approx(both.loss_)


def test_two_criteria_are_proven_and_choose_sizes(rng):
    X, y = skewed(rng)
    proven = AnnealingSelector(3, prove=60.0, random_state=0, annealing=QUICK).fit(X, y)
    assert proven.proof_.optimal
    assert proven.proof_.value == pytest.approx(proven.result_.criterion_values.max())
    how = {"max_features": 4, "annealing": QUICK, "random_state": 0}
    cv = AnnealingSelectorCV(**how).fit(X, y)
    assert cv.score(X, y) > 0.6
    again = AnnealingSelectorCV(n_jobs=2, **how).fit(X, y)
    assert again.subset_.tolist() == cv.subset_.tolist()


def test_weights_are_rows_to_the_log_loss(rng):
    X, y = skewed(rng, n=120)
    no_noise = Annealing(n_batches=1, batch_fraction=1.0)
    how = {"annealing": no_noise, "random_state": 0}
    weight = 1.0 + (np.arange(120) % 3 == 0)
    weighted = AnnealingSelector(3, **how).fit(X, y, weight)
    rows = np.repeat(np.arange(120), weight.astype(int))
    repeated = AnnealingSelector(3, **how).fit(X[rows], y[rows])
    assert weighted.subset_.tolist() == repeated.subset_.tolist()
    assert weighted.criterion_value_ == pytest.approx(repeated.criterion_value_)


def test_criteria_of_the_wrong_task_are_named(rng):
    X, y = classes_of(rng, 3)
    with pytest.raises(ParameterError, match=r"criterion.*'fisher'"):
        AnnealingSelector(2, criterion="r2").fit(X, y)
    with pytest.raises(ParameterError, match=r"criterion.*'r2'"):
        AnnealingRegressorSelector(2, criterion="fisher").fit(X, y)
    with pytest.raises(ParameterError, match=r"must be a str among.*Got 'fisher'"):
        anneal_path(X, y * 1.0, [2], task="regression", criterion="fisher")


@pytest.mark.parametrize("selector", [AnnealingSelector, AnnealingSelectorCV])
def test_the_method_of_the_paper_is_one_word_away(rng, selector):
    published = selector.as_published(random_state=0)
    assert (published.criterion, published.ridge, published.C) == ("fisher", 1e-6, np.inf)
    assert published.annealing.screen is None
    assert getattr(published, "rule", "one_sd") == "one_sd"
    assert published.random_state == 0
    assert selector.as_published(C=2.0).C == 2.0


def test_the_paper_chooses_among_near_perfect_scores_too(rng):
    """One rule lets them pass as equal; the paper's takes the best but for their spread."""
    y = np.arange(200) % 2
    X = rng.normal(size=(200, 6))
    X[:, :2] += 2.2 * y[:, None]
    how = {"annealing": QUICK, "random_state": 0, "max_features": 3}
    search = AnnealingSelectorCV.as_published(**how).fit(X, y)
    assert search.threshold_ == pytest.approx(
        max(search.cv_results_["mean_test_score"])
        - search.cv_results_["std_test_score"][np.argmax(search.cv_results_["mean_test_score"])]
    )
