"""Constraints, costs and criteria of the user's own hold in every candidate, at every size."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from helpers.questions import all_subsets, evaluated, with_plain_criterion
from helpers.selectors import (
    PLANTED,
    POPULATION,
    QUICK,
    TASKS,
    WHOLE,
    assert_same_answer,
    least_loss,
    make_rows,
    of_size,
    over_sizes,
)
from safdr import Annealing, Constraints

NAMES = [f"feature {j}" for j in range(8)]


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


@pytest.fixture(params=[of_size, over_sizes])
def make(request):
    return request.param


def whole(*groups):
    """Whether each group is in a subset as a whole, or not at all."""
    return lambda s: all(len(s & group) in (0, len(group)) for group in groups)


def at_most_one(*sets):
    return lambda s: all(len(s & each) <= 1 for each in sets)


LIMITS = {
    "always": ({"always_include": [0, 3]}, lambda s: {0, 3} <= s),
    "never": ({"never_include": list(PLANTED)}, lambda s: not s & set(PLANTED)),
    "one never": ({"never_include": [PLANTED[0]]}, lambda s: PLANTED[0] not in s),
    "last never": ({"never_include": [7]}, lambda s: 7 not in s),
    "one of": ({"at_most_one_of": [[1, 4], [4, 6]]}, at_most_one({1, 4}, {4, 6})),
    "groups": ({"groups": [[0, 1], [2, 4, 5]]}, whole({0, 1}, {2, 4, 5})),
    "all": (
        {
            "always_include": [2, 3],
            "never_include": [1],
            "groups": [[2, 3]],
            "at_most_one_of": [[4, 6]],
        },
        lambda s: {2, 3} <= s and 1 not in s and len(s & {4, 6}) < 2,
    ),
}


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("annealing", [QUICK, POPULATION])
def test_constraints_hold_in_every_candidate(make, task, limits, annealing):
    X, y = make_rows(task)
    given, holds = LIMITS[limits]
    selector = make(task=task, constraints=Constraints(**given), annealing=annealing).fit(X, y)
    assert holds(set(selector.subset_.tolist()))
    for subset in selector.result_.subsets.tolist():
        assert holds({j for j in subset if j >= 0}), subset
    if make is over_sizes:
        for name, masks in selector.cv_results_.items():
            if name.endswith("support"):
                assert all(holds(set(np.flatnonzero(mask).tolist())) for mask in masks)


@pytest.mark.parametrize("excluded", range(8))
def test_no_excluded_feature_is_ever_used(excluded):
    """Each in turn, with the target almost in it."""
    X, y = make_rows()
    X[:, excluded] = y + 0.5 * np.random.default_rng(1).normal(size=len(y))
    assert excluded in of_size(2).fit(X, y).subset_
    found = of_size(2, constraints=Constraints(never_include=[excluded])).fit(X, y)
    assert not (found.result_.subsets == excluded).any()
    with_all = of_size(7, constraints=Constraints(never_include=[excluded])).fit(X, y)
    assert with_all.subset_.tolist() == [j for j in range(8) if j != excluded]


@pytest.mark.parametrize("limits", ["always", "never", "one of"])
def test_strongly_limited_subsets_are_those_of_brute_force(limits):
    X, y = make_rows("regression")
    given, holds = LIMITS[limits]
    plain = with_plain_criterion(3, "regression", constraints=Constraints(**given))
    found = plain.fit(X, y)
    every = [s for s in all_subsets(8, 3) if holds(set(s))]
    measured = evaluated(X, y, every, "regression")
    assert found.result_.loss == pytest.approx(measured.losses.min(), rel=1e-9)


def test_signs_hold_in_the_model():
    X, y = make_rows()
    free = of_size(3).fit(X, y)
    assert dict(zip(free.subset_, np.sign(free.estimator_.coef_[0]), strict=True))[4] == -1
    limits = Constraints(signs={1: 1, 4: 1, 6: 1})
    found = of_size(3, constraints=limits).fit(X, y)
    for signs in ({1: "+", 4: "+", 6: "+"}, [0, "+", 0, 0, "+", 0, "+", 0]):
        assert_same_answer(of_size(3, constraints=Constraints(signs=signs)).fit(X, y), found)
    assert 4 not in found.subset_
    known = found.subset_ if set(found.subset_) <= {1, 6} else [1, 6]
    coefficients = dict(zip(found.subset_.tolist(), found.estimator_.coef_[0], strict=True))
    assert all(coefficients[j] >= 0 for j in known)


def test_signs_that_no_subset_has_are_refused():
    """Of one message, whatever the selector; sizes up to a largest one are those that have one."""
    X, y = make_rows()
    X = X[:, list(PLANTED)]
    wrong = Constraints(signs=[1, 1, -1])
    with pytest.raises(ValueError, match="no subset of 3 features with these signs"):
        of_size(3, constraints=wrong).fit(X, y)
    with pytest.raises(ValueError, match=r"no subset of \[3\] features with these signs"):
        over_sizes([1, 3], constraints=wrong).fit(X, y)
    search = over_sizes(3, constraints=wrong).fit(X, y)
    assert 3 not in search.cv_results_["n_features"]
    assert np.all(search.estimator_.coef_ * np.array([1, 1, -1])[search.subset_] >= 0)
    for task in ("three", "regression"):
        X, y = make_rows(task)
        if task == "regression":
            y = np.column_stack([y, y])
        with pytest.raises(ValueError, match="signs need two classes or one output"):
            of_size(2, task, constraints=Constraints(signs={0: 1})).fit(X, y)


def test_groups_may_be_a_function_of_the_names():
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=NAMES)
    by_name = Constraints(groups=lambda names: [[n for n in names if n[-1] in "12"]])
    by_index = Constraints(groups=lambda columns: [columns[1:3]])
    expected = of_size(3, constraints=Constraints(groups=[[1, 2]])).fit(X, y)
    assert_same_answer(of_size(3, constraints=by_name).fit(frame, y), expected)
    assert_same_answer(of_size(3, constraints=by_index).fit(X, y), expected)


def test_names_of_groups_are_features():
    X, y = make_rows()
    groups = {"pair": [0, 2], "other": [3, 5]}
    limits = Constraints(groups=groups, always_include="pair", never_include=["other"])
    found = of_size(2, constraints=limits, feature_cost={"pair": 0.1}).fit(X, y)
    assert {0, 2} <= set(found.subset_.tolist())
    assert not {3, 5} & set(found.subset_.tolist())
    free = of_size(2, constraints=limits).fit(X, y)
    assert found.criterion_value_ == pytest.approx(free.criterion_value_ - 0.1, rel=1e-9)


def test_a_negative_index_counts_from_the_end():
    X, y = make_rows()
    last = of_size(2, constraints=Constraints(always_include=-1)).fit(X, y)
    assert_same_answer(last, of_size(2, constraints=Constraints(always_include=7)).fit(X, y))


def test_groups_of_one_are_no_groups():
    X, y = make_rows()
    alone = of_size(3, constraints=Constraints(groups=[[j] for j in range(8)])).fit(X, y)
    assert_same_answer(alone, of_size(3).fit(X, y), 1e-12)


def test_constraints_by_name_are_those_by_index():
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=NAMES)
    by_name = Constraints(always_include=NAMES[2], never_include=NAMES[4:5])
    by_index = Constraints(always_include=[2], never_include=[4])
    mask = Constraints(always_include=np.arange(8) == 2, never_include=np.arange(8) == 4)
    named = of_size(3, constraints=by_name).fit(frame, y)
    for other in (by_index, mask):
        assert_same_answer(of_size(3, constraints=other).fit(X, y), named)


# ---- Costs ---------------------------------------------------------------------------------------


def test_costs_between_nothing_and_a_ban(task):
    X, y = make_rows(task)
    how = {"annealing": WHOLE}
    free = of_size(3, task, **how).fit(X, y)
    for cost in ({4: 0.0}, np.zeros(8)):
        assert_same_answer(of_size(3, task, feature_cost=cost, **how).fit(X, y), free)
    alike = of_size(3, task, feature_cost=np.full(8, 0.01), **how).fit(X, y)
    assert alike.subset_.tolist() == free.subset_.tolist()
    costly = of_size(3, task, feature_cost={4: 1e3}, **how).fit(X, y)
    assert set(costly.subset_.tolist()) > {1, 6}
    assert 4 not in costly.subset_
    assert costly.result_.loss == pytest.approx(least_loss(X[:, costly.subset_], y, task), rel=1e-9)


def test_costs_are_converted_to_units_of_the_loss(task):
    """The factor is a model's gain of loss over its gain of criterion, against no features."""
    X, y = make_rows(task)
    cost = np.linspace(0.0, 0.05, 8)
    found = of_size(3, task, feature_cost=cost, annealing=WHOLE).fit(X, y).result_
    paid = cost[found.subsets].sum(axis=1)
    shares = np.unique(y, return_counts=True)[1] / len(y)
    without = np.var(y) if task == "regression" else -(shares @ np.log(shares))
    factors = (without - found.losses) / (found.criterion_values + paid)
    factor = found.cost_terms[0] / paid[0]
    assert np.isclose(factors, factor, rtol=1e-6).any()
    np.testing.assert_allclose(found.cost_terms, factor * paid, rtol=1e-9)
    total = found.losses + found.cost_terms
    assert total[found.best] == pytest.approx(total.min(), rel=1e-9)


# ---- Criteria and models of the user's own -------------------------------------------------------


def mean_of_columns(rows, target):
    """A criterion with one best subset: the sum of the means of the columns."""
    return float(rows.mean(axis=0).sum())


def test_a_function_is_maximised_under_constraints():
    X, y = make_rows()
    limits = Constraints(never_include=[3], at_most_one_of=[[0, 1]])
    few = Annealing(n_replicas=6, max_steps=20)
    selector = of_size(3, criterion=mean_of_columns, constraints=limits, annealing=few)
    result = selector.fit(X, y).result_
    allowed = [s for s in all_subsets(8, 3) if 3 not in s and len({0, 1} & set(s)) < 2]
    values = [mean_of_columns(X[:, s], y) for s in allowed]
    assert result.subset.tolist() == allowed[int(np.argmax(values))]
    assert selector.criterion_value_ == pytest.approx(max(values), rel=1e-12)
    measured = [mean_of_columns(X[:, s], y) for s in result.subsets]
    np.testing.assert_allclose(result.criterion_values, measured, rtol=1e-12)


def test_a_model_of_the_users_own_predicts():
    X, y = make_rows()
    model = LinearDiscriminantAnalysis()
    few = Annealing(n_replicas=2, max_steps=3)
    found = of_size(2, estimator=model, annealing=few).fit(X, y)
    alone = LinearDiscriminantAnalysis().fit(X[:, found.subset_], y)
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(X[:, found.subset_]))
    assert not hasattr(model, "coef_")


def test_weights_reach_criteria_and_models_of_the_users_own():
    X, y = make_rows(n_rows=80)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    seen = []

    def criterion(rows, target, sample_weight):
        seen.append(sample_weight)
        return float(sample_weight @ rows.sum(axis=1))

    few = Annealing(n_replicas=2, max_steps=2)
    of_size(2, criterion=criterion, annealing=few).fit(X, y, sample_weight=weight)
    assert all(np.array_equal(each, weight) for each in seen)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    found = of_size(2, estimator=model, annealing=few).fit(X, y, sample_weight=weight)
    rows = X[:, found.subset_]
    alone = clone(model).fit(rows, y, logisticregression__sample_weight=weight)
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(rows))
    with pytest.raises(TypeError, match="sample_weight"):
        of_size(2, criterion=mean_of_columns).fit(X, y, sample_weight=weight)
    with pytest.raises(TypeError, match="sample_weight"):
        of_size(2, estimator=KNeighborsClassifier()).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_of_the_users_own_chooses_by_held_out_rows(n_jobs):
    """A target that no linear model sees, and a random state that the selector sets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X[:, 2] > 0) ^ (X[:, 5] > 0)
    few = Annealing(n_replicas=30, max_steps=5, screen=None)
    model = DecisionTreeClassifier(max_depth=3)
    found = of_size(2, estimator=model, annealing=few, criterion="fisher", n_jobs=n_jobs).fit(X, y)
    assert found.subset_.tolist() == [2, 5]
    assert found.result_.loss_name == "cross_entropy"
    assert found.estimator_.random_state is not None
