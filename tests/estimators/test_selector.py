import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from fitting import QUICK, QUIET, assert_same_result, fitted
from safdr import Annealing, AnnealingSelector, SeparationWarning
from safdr._estimators.models import LogisticModel

# ---- scikit-learn's own checks ------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::safdr.SeparationWarning")
@parametrize_with_checks(
    [
        AnnealingSelector(annealing=Annealing(n_replicas=4, max_steps=4)),
        AnnealingSelector(annealing=Annealing(n_replicas=4, max_steps=4, **QUIET)),
    ]
)
def test_it_is_an_estimator_of_scikit_learn(estimator, check):
    check(estimator)


# ---- What fit leaves behind ---------------------------------------------------------------------


def test_attributes_agree_with_each_other(two_classes):
    X, y = two_classes
    selector = fitted(X, y, 4)
    result = selector.result_
    np.testing.assert_array_equal(np.flatnonzero(selector.support_), selector.subset_)
    np.testing.assert_array_equal(selector.subset_, result.subsets[result.best])
    assert (np.diff(selector.subset_) > 0).all()
    assert selector.n_features_ == 4 == result.size
    assert selector.criterion_value_ == result.criterion_values[result.best]
    assert selector.cross_entropy_ == result.cross_entropies.min()
    assert selector.classes_.tolist() == [0, 1]
    assert selector.n_features_in_ == 12


def test_the_result_has_one_entry_a_replica_and_one_for_the_best_that_climbing_reaches(two_classes):
    result = fitted(*two_classes, 4, n_replicas=7, criterion="fisher").result_
    assert result.n_replicas == 7
    assert result.start_subsets.shape == (7, 4)
    assert result.subsets.shape == result.coefficients.shape == (8, 4)
    for name in ("criterion_values", "cross_entropies", "separated", "intercepts", "n_iter"):
        assert getattr(result, name).shape == (8,)
    assert result.criterion_values[7] == result.criterion_values.max()


def test_by_default_half_of_the_replicas_follow_each_criterion(two_classes):
    result = fitted(*two_classes, 4, n_replicas=7).result_
    assert result.n_replicas == 7
    # Those, what climbing reaches by each criterion, and forward selection.
    assert result.start_subsets.shape == (4, 4)
    assert result.subsets.shape == (10, 4)


@pytest.mark.parametrize("name", ["subsets", "trace", "drift", "cross_entropies"])
def test_the_result_is_frozen(two_classes, name):
    result = fitted(*two_classes).result_
    with pytest.raises(FrozenInstanceError):
        setattr(result, name, None)
    with pytest.raises(FrozenInstanceError):
        result.trace.beta = None


def test_fit_leaves_parameters_and_data_as_they_are(two_classes):
    X, y = two_classes
    before, selector = X.copy(), AnnealingSelector(3, annealing=QUICK)
    parameters = selector.get_params()
    selector.fit(X, y)
    assert selector.get_params() == parameters
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("wanted", "size"), [(None, 6), (1, 1), (12, 12), (0.5, 6), (0.3, 3), (1.0, 12), (0.01, 1)]
)
def test_the_size_may_be_a_number_a_share_or_half(two_classes, wanted, size):
    assert fitted(*two_classes, wanted).n_features_ == size


def test_half_of_one_feature_is_one(two_classes):
    X, y = two_classes
    assert fitted(X[:, [0]], y, None).n_features_ == 1


# ---- Model --------------------------------------------------------------------------------------


def test_predict_proba_is_the_logistic_formula(two_classes):
    X, y = two_classes
    selector = fitted(X, y)
    best = selector.result_.best
    eta = X[:, selector.subset_] @ selector.result_.coefficients[best]
    eta += selector.result_.intercepts[best]
    second = 1 / (1 + np.exp(-eta))
    np.testing.assert_allclose(selector.decision_function(X), eta, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        selector.predict_proba(X), np.column_stack([1 - second, second]), rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(
        selector.predict_log_proba(X), np.log(selector.predict_proba(X)), rtol=1e-12
    )
    np.testing.assert_array_equal(selector.predict(X), (eta > 0).astype(int))


def test_the_default_model_is_the_fit_of_scikit_learn_to_scaled_columns(two_classes):
    X, y = two_classes
    selector = fitted(X, y)
    scaler = StandardScaler()
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10)
    model.fit(scaler.fit_transform(selector.transform(X)), y)
    assert isinstance(selector.estimator_, LogisticModel)
    slopes = model.coef_ / scaler.scale_
    np.testing.assert_allclose(selector.estimator_.coef_, slopes, rtol=1e-6)
    intercept = model.intercept_ - slopes @ scaler.mean_
    np.testing.assert_allclose(selector.estimator_.intercept_, intercept, rtol=1e-6)


def test_the_published_model_is_the_unpenalised_fit_of_scikit_learn(two_classes):
    X, y = two_classes
    selector = fitted(X, y, C=np.inf)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
    model.fit(selector.transform(X), y)
    np.testing.assert_allclose(selector.estimator_.coef_, model.coef_, rtol=1e-6)
    np.testing.assert_allclose(selector.estimator_.intercept_, model.intercept_, rtol=1e-6)


def test_score_is_the_accuracy(two_classes):
    X, y = two_classes
    selector = fitted(X, y)
    assert selector.score(X, y) == np.mean(selector.predict(X) == y)
    weight = np.arange(1.0, 241.0)
    assert selector.score(X, y, sample_weight=weight) == pytest.approx(
        np.average(selector.predict(X) == y, weights=weight)
    )


def test_a_custom_estimator_is_cloned_and_fitted_on_the_chosen_features(two_classes):
    X, y = two_classes
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    selector = fitted(X, y, estimator=tree)
    expected = clone(tree).fit(X[:, selector.subset_], y)
    assert selector.estimator_ is not tree
    assert not hasattr(tree, "tree_")
    np.testing.assert_array_equal(
        selector.predict_proba(X), expected.predict_proba(selector.transform(X))
    )


def test_weights_reach_a_custom_estimator(two_classes):
    X, y = two_classes
    weight = np.linspace(0.1, 5.0, 240)
    selector = fitted(X, y, sample_weight=weight, estimator=LogisticRegression(C=0.1))
    expected = LogisticRegression(C=0.1).fit(X[:, selector.subset_], y, sample_weight=weight)
    np.testing.assert_allclose(selector.estimator_.coef_, expected.coef_)


def test_weights_for_an_estimator_that_takes_none_are_an_error(two_classes):
    with pytest.raises(ValueError, match=r"have weights.*KNeighborsClassifier"):
        fitted(*two_classes, sample_weight=np.ones(240), estimator=KNeighborsClassifier())


def test_an_estimator_that_takes_no_weights_serves_without(two_classes):
    X, y = two_classes
    selector = fitted(X, y, estimator=KNeighborsClassifier())
    assert selector.score(X, y) > 0.5
    assert not hasattr(selector, "decision_function")


# ---- Inside scikit-learn ------------------------------------------------------------------------


def test_it_works_in_a_pipeline(two_classes):
    X, y = two_classes
    pipeline = make_pipeline(
        StandardScaler(),
        AnnealingSelector(3, random_state=0, annealing=QUICK),
        LogisticRegression(),
    )
    pipeline.fit(X, y)
    assert pipeline[-1].n_features_in_ == 3
    assert pipeline.predict(X).shape == (240,)


def test_scaling_in_front_changes_nothing(two_classes):
    X, y = two_classes
    pipeline = make_pipeline(
        StandardScaler(), AnnealingSelector(3, random_state=0, annealing=QUICK)
    )
    plain = fitted(X, y)
    np.testing.assert_array_equal(pipeline.fit(X, y)[-1].subset_, plain.subset_)
    np.testing.assert_allclose(pipeline.predict_proba(X), plain.predict_proba(X), rtol=1e-6)


def test_it_works_in_a_grid_search(two_classes):
    X, y = two_classes
    search = GridSearchCV(
        AnnealingSelector(random_state=0, annealing=QUICK),
        {"n_features_to_select": [1, 4], "ridge": [1e-6, 1e-2]},
        scoring="roc_auc",
        cv=3,
    )
    search.fit(X, y)
    assert search.best_params_["n_features_to_select"] == 4
    assert search.best_estimator_.n_features_ == 4


def test_it_works_in_cross_validation(two_classes):
    X, y = two_classes
    selector = AnnealingSelector(4, random_state=0, annealing=QUICK)
    scores = cross_val_score(selector, X, y, cv=4, scoring="roc_auc")
    assert scores.shape == (4,)
    assert scores.mean() > 0.6


def test_a_clone_is_unfitted_and_finds_the_same(two_classes):
    selector = fitted(*two_classes)
    twin = clone(selector)
    assert not hasattr(twin, "result_")
    np.testing.assert_array_equal(twin.fit(*two_classes).result_.subsets, selector.result_.subsets)


# ---- Same seed, same answer ---------------------------------------------------------------------

IN_A_FRESH_PROCESS = """
import sys, joblib
X, y = joblib.load(sys.argv[1])
from safdr import Annealing, AnnealingSelector
quick = Annealing(n_replicas=10, max_steps=10)
selector = AnnealingSelector(3, annealing=quick, random_state=0, n_jobs=2).fit(X, y)
joblib.dump(selector.result_, sys.argv[2])
assert "matplotlib" not in sys.modules, "only pictures need it"
"""


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_the_number_of_jobs_does_not_change_a_bit(two_classes, n_jobs):
    one = fitted(*two_classes, n_jobs=1)
    many = fitted(*two_classes, n_jobs=n_jobs)
    assert_same_result(one.result_, many.result_)


def test_a_fresh_process_finds_the_same(two_classes, tmp_path):
    data, answer = tmp_path / "data", tmp_path / "answer"
    joblib.dump(two_classes, data)
    subprocess.run([sys.executable, "-c", IN_A_FRESH_PROCESS, data, answer], check=True)
    assert_same_result(joblib.load(answer), fitted(*two_classes).result_)


def test_fitting_twice_finds_the_same(two_classes):
    selector = AnnealingSelector(3, random_state=0, annealing=QUICK)
    first = selector.fit(*two_classes).result_
    assert_same_result(selector.fit(*two_classes).result_, first)


def test_another_seed_takes_another_way(two_classes):
    one, two = (fitted(*two_classes, random_state=seed).result_ for seed in (0, 1))
    assert not np.array_equal(one.start_subsets, two.start_subsets)


def test_a_pickled_selector_predicts_and_fits_the_same(two_classes):
    X, y = two_classes
    selector = fitted(X, y)
    twin = pickle.loads(pickle.dumps(selector))
    np.testing.assert_array_equal(twin.predict_proba(X), selector.predict_proba(X))
    assert_same_result(twin.result_, selector.result_)
    assert_same_result(twin.fit(X, y).result_, selector.result_)


# ---- Separation ---------------------------------------------------------------------------------


def separable(two_classes):
    X, y = two_classes
    return np.column_stack([X, X[:, 0] + 100 * y]), y


def test_separable_data_warn_exactly_once_and_are_flagged(two_classes):
    with pytest.warns(SeparationWarning, match="penalised") as caught:
        selector = fitted(*separable(two_classes), C=np.inf)
    assert len(caught) == 1
    assert "3 feature(s)" in str(caught[0].message)
    assert selector.result_.separated[selector.result_.best]
    assert selector.cross_entropy_ == 0
    assert 12 in selector.subset_


def test_separable_data_are_still_predicted(two_classes):
    X, y = separable(two_classes)
    with pytest.warns(SeparationWarning):
        selector = fitted(X, y, C=np.inf)
    assert selector.score(X, y) == 1
    assert np.isfinite(selector.estimator_.coef_).all()


def test_a_perfect_feature_constant_within_the_classes_is_chosen(two_classes):
    X, y = two_classes
    selector = fitted(np.column_stack([X, y]), y, 2)
    assert 12 in selector.subset_


# ---- The whole of it ----------------------------------------------------------------------------


def test_breast_cancer_is_told_apart_by_three_features():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    selector = AnnealingSelector(3, random_state=0).fit(X, y)
    assert selector.score(X, y) > 0.95
    assert log_loss(y, selector.predict_proba(X)) < 0.1
    published = AnnealingSelector.as_published(3, random_state=0).fit(X, y)
    assert published.cross_entropy_ < 0.09


def test_a_result_shows_itself_in_a_few_words():
    X, y = np.random.default_rng(0).normal(size=(60, 5)), np.arange(60) % 2
    result = (
        AnnealingSelector(2, annealing=Annealing(n_replicas=7), random_state=0).fit(X, y).result_
    )
    assert repr(result).startswith(f"AnnealingResult(n_replicas=7, subset={result.subset.tolist()}")
    assert len(repr(result)) < 200
    assert len(repr(result.trace)) < 200
