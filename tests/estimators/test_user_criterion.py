"""Any function and any model as the criterion, through the estimators."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from safdr import (
    Annealing,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    anneal_path,
)

FEW = {"annealing": Annealing(n_replicas=8), "random_state": 0}


def xor(n_rows=240, n_features=8, seed=0):
    """The label hangs on the signs of features 2 and 5 together, on neither alone."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_features))
    return X, ((X[:, 2] > 0) ^ (X[:, 5] > 0)).astype(int)


def first_minus_last(X, y):
    """A plain objective with one best subset: the sum of the columns' means."""
    return float(X.mean(axis=0).sum())


def test_a_model_finds_what_the_fisher_ratio_is_blind_to():
    # Trees and circles are on the page about objectives, whose code test_docs runs.
    (X, y), truth = xor(), [2, 5]
    assert AnnealingSelector(2, random_state=0).fit(X, y).subset_.tolist() != truth
    few = {"annealing": Annealing(n_replicas=4), "random_state": 0}
    selector = AnnealingSelector(2, criterion=KNeighborsClassifier(), **few).fit(X, y)
    assert selector.subset_.tolist() == truth
    assert isinstance(selector.estimator_, KNeighborsClassifier)
    assert selector.score(X, y) > 0.9


def test_a_function_is_maximised_and_its_values_are_reported():
    X, y = xor()
    result = AnnealingSelector(3, criterion=first_minus_last, **FEW).fit(X, y).result_
    best = np.sort(np.argsort(X.mean(axis=0))[-3:])
    assert result.subset.tolist() == best.tolist()
    expected = [first_minus_last(X[:, s], y) for s in result.subsets]
    np.testing.assert_allclose(result.criterion_values, expected)
    assert result.loss_name == "negative_criterion"
    np.testing.assert_array_equal(result.losses, -result.criterion_values)
    assert result.coefficients is None


def test_a_function_leaves_the_default_model_for_predictions():
    X, y = xor()
    selector = AnnealingSelector(3, criterion=first_minus_last, **FEW).fit(X, y)
    columns = X[:, selector.subset_]
    plain = LogisticRegression(tol=1e-10).fit(columns / columns.std(axis=0), y)
    np.testing.assert_allclose(
        selector.estimator_.coef_ * columns.std(axis=0), plain.coef_, rtol=1e-3, atol=1e-6
    )
    assert not hasattr(selector, "cross_entropy_")


def test_a_subset_is_evaluated_once():
    X, y = xor(n_features=6)
    seen = []

    def objective(columns, labels):
        seen.append(columns.tobytes())
        return first_minus_last(columns, labels)

    AnnealingSelector(3, criterion=objective, **FEW).fit(X, y)
    assert len(seen) == len(set(seen)) <= 20  # 6 over 3


def test_a_subset_that_cannot_be_judged_is_never_chosen():
    X, y = xor()

    def objective(columns, labels):
        return -np.inf if np.any(columns == X[:, [2]]) else first_minus_last(columns, labels)

    result = AnnealingSelector(3, criterion=objective, **FEW).fit(X, y).result_
    assert np.isfinite(result.criterion_values).all()
    assert not np.isin(result.subsets, 2).any()


def test_workers_do_not_change_the_answer():
    X, y = xor(n_features=6)
    model = RandomForestClassifier(2)  # draws random numbers, and has no seed
    how = {"criterion": model, "annealing": Annealing(n_replicas=3, max_steps=6), "random_state": 0}
    one = AnnealingSelector(2, **how).fit(X, y)
    with parallel_config(backend="multiprocessing"):  # forked, they are there at once
        again = AnnealingSelector(2, **how, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.result_.subsets, again.result_.subsets)
    np.testing.assert_array_equal(one.result_.criterion_values, again.result_.criterion_values)
    np.testing.assert_array_equal(one.predict_proba(X), again.predict_proba(X))


def test_the_size_is_chosen_with_a_criterion_too():
    X, y = xor(n_features=6)
    search = AnnealingSelectorCV(
        annealing=Annealing(n_replicas=8, max_steps=8),
        criterion=KNeighborsClassifier(),
        max_features=3,
        cv=3,
        rule="best",
        random_state=0,
    ).fit(X, y)
    assert search.n_features_ == 2
    assert search.subset_.tolist() == [2, 5]
    assert "mean_negative_criterion" in search.cv_results_


def test_constraints_and_costs_hold_with_a_criterion():
    X, y = xor()
    how = {
        "constraints": Constraints(always_include=[7], groups=[[0, 1]], never_include=[3]),
        **FEW,
    }
    result = AnnealingSelector(3, criterion=first_minus_last, **how).fit(X, y).result_
    for subset in result.subsets:
        members = set(subset[subset >= 0].tolist())
        assert 7 in members
        assert 3 not in members
        assert len(members & {0, 1}) in (0, 2)
    dear = int(np.argmax(X.mean(axis=0)))
    (priced,) = anneal_path(
        X, y, [3], criterion=first_minus_last, feature_cost={dear: 10.0}, random_state=0
    )
    assert dear not in priced.subset


def test_weights_go_to_the_function():
    X, y = xor()
    seen = []

    def objective(columns, labels, sample_weight=None):
        seen.append(sample_weight)
        return first_minus_last(columns, labels)

    weight = np.arange(1.0, len(y) + 1)
    AnnealingSelector(2, criterion=objective, **FEW).fit(X, y, sample_weight=weight)
    assert all(w is not None and np.array_equal(w, weight) for w in seen)


def test_weights_for_a_function_that_takes_none_are_an_error():
    X, y = xor()
    with pytest.raises(ValueError, match=r"weights.*takes no keyword sample_weight"):
        AnnealingSelector(2, criterion=first_minus_last).fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize("value", [None, "much", [1.0, 2.0]])
def test_a_function_that_returns_no_number_is_named(value):
    X, y = xor()
    with pytest.raises(ValueError, match="criterion must return one number to be maximised"):
        AnnealingSelector(2, criterion=lambda columns, labels: value).fit(X, y)
