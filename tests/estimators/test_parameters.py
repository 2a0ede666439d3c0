"""Odd values of parameters: each works as the plain Python value does, or is named in an error."""

import re
from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV

from fitting import nested
from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    CrossValidatedScore,
    anneal_path,
    evaluate_subsets,
)
from safdr._engine.annealing.loop import AnnealingSettings


def shown(value):
    """Without addresses, which differ between the processes that share the tests."""
    return re.sub(r"0x[0-9a-f]+", "…", repr(value))


SMALL = {"n_replicas": 5, "max_steps": 12, "random_state": 0}
QUICK = nested(**SMALL)
COSTS = {"feature_cost": [0.01] * 12}


def fitted(data, **parameters):
    return AnnealingSelector(**nested(**({"n_features_to_select": 3} | SMALL | parameters))).fit(
        *data
    )


def assert_same_search(a, b):
    """The same walk, and not only the same end of it."""
    np.testing.assert_array_equal(a.result_.subsets, b.result_.subsets)
    np.testing.assert_array_equal(a.result_.trace.mean, b.result_.trace.mean)


def message_of(function, *arguments, **parameters):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the tests look at the message
        function(*arguments, **parameters)
    return str(error.value)


# ---- Numbers ------------------------------------------------------------------------------------

INTS = ["n_features_to_select", "n_replicas", "max_steps", "n_iter_no_change", "n_batches"]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("parameter", [*INTS, "n_jobs", "random_state"])
def test_ints_of_any_type_are_pythons(two_classes, parameter, kind):
    selector = fitted(two_classes, **{parameter: kind(3)})
    kept = selector.get_params()
    assert type(kept.get(f"annealing__{parameter}", kept.get(parameter))) is kind
    assert_same_search(selector, fitted(two_classes, **{parameter: 3}))


@pytest.mark.parametrize("value", [np.uint8(200), np.int8(100)])
def test_a_window_does_not_overflow(two_classes, value):
    assert_same_search(
        fitted(two_classes, n_iter_no_change=value),
        fitted(two_classes, n_iter_no_change=int(value)),
    )


REALS = {
    "n_features_to_select": 0.5,
    "cost_strength": 0.5,
    "sweeps": 0.75,
    "temperature_step": 0.5,
    "tol": 0.25,
    "batch_fraction": 0.5,
    "ridge": 0.125,
}


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, Fraction])
@pytest.mark.parametrize(("parameter", "value"), REALS.items())
def test_reals_of_any_type_are_pythons(two_classes, parameter, value, kind):
    given = fitted(two_classes, **COSTS, **{parameter: kind(value)})
    assert_same_search(given, fitted(two_classes, **COSTS, **{parameter: value}))


@pytest.mark.parametrize("value", [True, False, np.True_])
@pytest.mark.parametrize("parameter", [*INTS, "n_jobs", "random_state", *REALS])
def test_a_bool_is_no_number(two_classes, parameter, value):
    message = message_of(fitted, two_classes, **{parameter: value})
    assert f"'{parameter}' parameter" in message
    assert repr(value) in message


STRANGE = [np.nan, np.inf, -np.inf, "3", b"3", None, [], [3], {}, 3 + 0j, Decimal(3), np.array(3)]


@pytest.mark.parametrize("value", STRANGE, ids=shown)
@pytest.mark.parametrize("parameter", ["n_replicas", "n_iter_no_change", "tol", "ridge", "sweeps"])
def test_what_is_no_number_is_named(two_classes, parameter, value):
    message = message_of(fitted, two_classes, **{parameter: value})
    assert f"'{parameter}' parameter" in message
    assert repr(value) in message


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_batches", 10**9),
        ("n_batches", 10**30),
        ("n_replicas", 10**9),
        ("max_steps", 10**9),
        ("max_steps", 2**63),
        ("n_jobs", 10**30),
        ("n_jobs", 0),
        ("sweeps", 1e300),
        ("sweeps", 10**400),
        ("temperature_step", 1e300),
        ("tol", 10**400),
        ("ridge", 1e300),
        ("cost_strength", 10**400),
    ],
)
def test_numbers_that_never_end_are_named_with_their_bound(two_classes, parameter, value):
    message = message_of(fitted, two_classes, **{parameter: value})
    assert f"'{parameter}' parameter" in message
    assert "in the range" in message
    assert repr(value) in message


@pytest.mark.parametrize("parameter", ["min_features", "max_features"])
def test_sizes_to_try_may_be_ints_of_any_type(two_classes, parameter):
    quick = {"cv": 2, "min_features": 2, "max_features": 2} | QUICK
    plain = AnnealingSelectorCV(**quick).fit(*two_classes)
    given = AnnealingSelectorCV(**quick | {parameter: np.int8(2)}).fit(*two_classes)
    assert_same_search(given, plain)
    message = message_of(AnnealingSelectorCV(**quick | {parameter: True}).fit, *two_classes)
    assert f"'{parameter}' parameter" in message


@pytest.mark.parametrize("parameter", ["n_jobs", "random_state"])
def test_functions_check_the_same_parameters(two_classes, parameter):
    message = message_of(anneal_path, *two_classes, [1], **{parameter: True})
    assert f"'{parameter}' parameter" in message


def test_evaluation_checks_the_same_parameters(two_classes):
    for parameter in ("n_jobs", "ridge"):
        message = message_of(evaluate_subsets, *two_classes, [0], **{parameter: True})
        assert f"'{parameter}' parameter" in message


@pytest.mark.parametrize("sizes", [np.array(2), [True], [np.array(2)], [2.0], "12"], ids=shown)
def test_sizes_that_are_none_are_named(two_classes, sizes):
    assert message_of(anneal_path, *two_classes, sizes).startswith("sizes must be")


@pytest.mark.parametrize("task", [[], None, True, "rank"])
def test_a_task_that_is_none_is_named(two_classes, task):
    assert message_of(anneal_path, *two_classes, [1], task=task).startswith("task must be one of")


# ---- Features -----------------------------------------------------------------------------------


@pytest.mark.parametrize("parameter", ["always_include", "never_include"])
@pytest.mark.parametrize("given", [np.array(2), np.array(-10), pd.Index([2]), pl.Series([2]), {2}])
def test_features_may_be_given_as_any_collection(two_classes, parameter, given):
    found = fitted(two_classes, **{parameter: given})
    assert_same_search(found, fitted(two_classes, **{parameter: [2]}))


@pytest.mark.parametrize("parameter", ["always_include", "never_include"])
def test_what_can_be_read_once_is_refused(two_classes, parameter):
    # A second fit would find it empty, and constrain nothing.
    message = message_of(fitted, two_classes, **{parameter: (j for j in [2])})
    assert message.startswith(f"{parameter} must hold")
    assert "read only once. Pass a list." in message


@pytest.mark.parametrize("parameter", ["groups", "at_most_one_of"])
@pytest.mark.parametrize("wrap", [lambda sets: iter(sets), lambda sets: [iter(sets[0])]])
def test_sets_that_can_be_read_once_are_refused(two_classes, parameter, wrap):
    message = message_of(fitted, two_classes, **{parameter: wrap([[0, 1]])})
    assert message.startswith(parameter)
    assert "read only once. Pass a list." in message


@pytest.mark.parametrize("given", [[True, 1], b"ab", {"a": 1}, np.bool_(True), 1.0], ids=shown)
def test_what_is_no_feature_is_named(two_classes, given):
    message = message_of(fitted, two_classes, always_include=given)
    assert message.startswith("always_include must hold names of columns")


# ---- Costs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [1e300, -1e300, 1e13])
@pytest.mark.parametrize("strength", [1.0, 1e10, np.float16(1)])
def test_costs_beside_which_no_criterion_counts_are_named(two_classes, cost, strength):
    message = message_of(fitted, two_classes, feature_cost={3: cost}, cost_strength=strength)
    assert message.startswith("feature_cost times cost_strength must be at most 1e+12 in size")
    assert "column 3" in message


def test_a_strength_that_is_too_large_for_its_costs_is_named(two_classes):
    message = message_of(fitted, two_classes, feature_cost={3: 0.1}, cost_strength=1e300)
    assert message.startswith("feature_cost times cost_strength must be at most 1e+12 in size")


def test_the_largest_costs_leave_the_criterion_digits(two_classes):
    plain = fitted(two_classes).result_.criterion_values.max()
    all_cost = fitted(two_classes, feature_cost=[1e12 / 3] * 12).result_.criterion_values.max()
    assert all_cost + 1e12 == pytest.approx(plain, abs=1e-3)


@pytest.mark.parametrize(
    "cost",
    [["1"] * 12, np.array(["1"] * 12), [1j] * 12, np.ones(12) * 1j, {1, 2}, iter([1] * 12)],
    ids=shown,
)
def test_costs_that_are_no_numbers_are_named(two_classes, cost):
    assert message_of(fitted, two_classes, feature_cost=cost).startswith(
        "feature_cost must hold numbers"
    )


@pytest.mark.parametrize("cost", [{0: 1, -12: 2}, pd.Series([1.0, 2.0], index=[0, 0])], ids=shown)
def test_two_costs_of_one_feature_are_named(two_classes, cost):
    message = message_of(fitted, two_classes, feature_cost=cost)
    assert message.startswith("feature_cost must give each feature one number; got several for")


@pytest.mark.parametrize("one", [Decimal("0.5"), Fraction(1, 2), np.float16(0.5)], ids=shown)
def test_costs_may_be_numbers_of_any_type(two_classes, one):
    plain = fitted(two_classes, feature_cost=[0.5] * 12)
    assert_same_search(fitted(two_classes, feature_cost=[one] * 12), plain)


# ---- Models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("parameter", ["criterion", "estimator"])
def test_the_class_of_a_model_is_named(two_classes, parameter):
    message = message_of(fitted, two_classes, **{parameter: LogisticRegression})
    assert f"{parameter} must be a classifier; got the class LogisticRegression" in message
    if parameter == "criterion":
        score = CrossValidatedScore(LogisticRegression)
        assert "got the class" in message_of(anneal_path, *two_classes, [1], criterion=score)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"estimator": None}, "'estimator' parameter of CrossValidatedScore"),
        ({"estimator": "knn"}, "'estimator' parameter of CrossValidatedScore"),
        ({"cv": True}, "'cv' parameter of CrossValidatedScore"),
        ({"cv": 3.0}, "'cv' parameter of CrossValidatedScore"),
        ({"cv": np.array(3)}, "cv must give pairs"),
        ({"cv": [3]}, "cv must give pairs"),
        ({"cv": []}, "cv must give at least one split"),
        ({"scoring": ["accuracy"]}, "'scoring' parameter of CrossValidatedScore"),
    ],
    ids=shown,
)
def test_parameters_of_a_score_are_named(two_classes, parameters, name):
    score = CrossValidatedScore(**{"estimator": LogisticRegression()} | parameters)
    assert name in message_of(fitted, two_classes, criterion=score)


def test_a_criterion_whose_squares_are_no_numbers_is_named(two_classes):
    message = message_of(fitted, two_classes, criterion=lambda X, y: 1e300 * X[0, 0])
    assert message.startswith("criterion must return numbers up to 1e+150 in size")


# ---- Splits -------------------------------------------------------------------------------------

HALF = np.arange(240) < 120


@pytest.mark.parametrize(
    "cv",
    [
        np.array(3),
        np.array([3]),
        [3],
        [(HALF, ~HALF, HALF)],
        [(HALF, [])],
        [(HALF, [999])],
        [(HALF[1:], [1])],
        [(np.arange(120.0), [130])],
    ],
    ids=["0-d", "1-d", "int", "three", "empty", "beyond", "short mask", "floats"],
)
def test_splits_that_are_none_are_named(two_classes, cv):
    message = message_of(AnnealingSelectorCV(max_features=2, cv=cv, **QUICK).fit, *two_classes)
    assert message.startswith("cv must give pairs (training rows, test rows)")


def test_a_rule_must_not_return_a_bool(two_classes):
    search = AnnealingSelectorCV(max_features=2, cv=2, rule=lambda results: True, **QUICK)
    assert message_of(search.fit, *two_classes).startswith("rule must return an index")


# ---- Measured outputs ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 6))
    return X, X[:, 0] - 0.5 * X[:, 3] + rng.normal(size=60)


def as_text(y):
    return [f"{value:.6f}" for value in y]


@pytest.mark.parametrize(
    "change",
    [
        as_text,
        lambda y: np.array(as_text(y)),
        lambda y: np.array(as_text(y), dtype=object),
        lambda y: np.array(as_text(y), dtype=bytes),
        lambda y: pl.Series(as_text(y)),
        lambda y: pd.DataFrame({"a": as_text(y)}),
        lambda y: np.where(y > 0, "high", "low"),
        lambda y: pd.Series(np.where(y > 0, "high", "low"), dtype="category"),
        lambda y: y + 1j,
        lambda y: np.arange(60).astype("m8[s]"),
        lambda y: np.arange(60).astype("M8[s]"),
    ],
)
def test_outputs_that_are_no_numbers_are_named(measured, change):
    X, y = measured
    for selector in (AnnealingRegressorSelector(2), AnnealingRegressorSelectorCV(max_features=2)):
        message = message_of(selector.set_params(**QUICK).fit, X, change(y))
        assert message.startswith("y must hold numbers; got")


@pytest.mark.parametrize("number", [None, np.nan, 10**400], ids=["None", "nan", "huge"])
def test_outputs_that_are_not_finite_are_named(measured, number):
    X, y = measured
    y = y.astype(object)
    y[3] = number
    assert "y contains" in message_of(AnnealingRegressorSelector(2, **QUICK).fit, X, y)


@pytest.mark.parametrize("one", [Decimal, Fraction, float], ids=shown)
def test_outputs_may_be_numbers_of_any_type(measured, one):
    X, y = measured
    selector = AnnealingRegressorSelector(2, **QUICK)
    given = clone(selector).fit(X, np.array([one(float(v)) for v in y], dtype=object))
    assert_same_search(given, clone(selector).fit(X, y))


@pytest.mark.parametrize("factor", [1e140, 1e149, 1e-140])
@pytest.mark.parametrize("scoring", ["r2", "neg_mean_squared_error"])
def test_outputs_may_be_as_large_as_squares_allow(measured, factor, scoring):
    X, y = measured
    search = AnnealingRegressorSelectorCV(max_features=3, cv=3, scoring=scoring, **QUICK)
    plain, scaled = clone(search).fit(X, y), clone(search).fit(X, y * factor)
    # A tolerance is in units of the score, and so of the outputs.
    by_rule = [{**each.n_features_by_rule_, "tolerance": 0} for each in (scaled, plain)]
    assert by_rule[0] == by_rule[1]
    np.testing.assert_array_equal(scaled.subset_, plain.subset_)
    np.testing.assert_allclose(scaled.loss_ / factor / factor, plain.loss_, rtol=1e-9)
    deviation = scaled.cv_results_["std_squared_error"] / factor / factor
    np.testing.assert_allclose(deviation, plain.cv_results_["std_squared_error"], rtol=1e-6)


def test_outputs_too_close_together_to_be_squared_are_named(measured):
    X, y = measured
    message = message_of(AnnealingRegressorSelector(2, **QUICK).fit, X, y * 1e-160)
    assert message.startswith("y holds values too close together to be squared")
    both = np.column_stack([y, y * 1e-160])
    assert "too close together" in message_of(AnnealingRegressorSelector(2, **QUICK).fit, X, both)


def test_a_regressor_takes_no_classifier(measured):
    selector = AnnealingRegressorSelector(2, estimator=LinearRegression, **QUICK)
    assert "estimator must be a regressor; got the class" in message_of(selector.fit, *measured)


# ---- Parameter objects --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AnnealingSelector, AnnealingRegressorSelectorCV])
def test_an_object_that_is_none_is_made_where_its_parameters_are_set(kind):
    selector = kind().set_params(annealing__n_replicas=7, constraints__always_include=[1])
    assert repr(selector.annealing) == "Annealing(n_replicas=7)"
    assert selector.get_params()["constraints__always_include"] == [1]
    assert kind().set_params(ridge=0.1).annealing is None
    with pytest.raises(ValueError, match="Invalid parameter 'replicas' for estimator Annealing"):
        kind().set_params(annealing__replicas=7)


def test_objects_are_cloned_with_their_selector():
    selector = AnnealingSelector(
        annealing=Annealing(tol=0.1), constraints=Constraints(groups=[[0]])
    )
    copy = clone(selector).set_params(annealing__tol=0.2)
    assert selector.annealing.tol == 0.1
    assert copy.constraints is not selector.constraints
    assert copy.constraints.groups == [[0]]


def test_a_grid_search_names_their_parameters(two_classes):
    grid = {"annealing__n_replicas": [3, 5], "constraints__never_include": [None, [0]]}
    selector = AnnealingSelector(2, random_state=0)
    search = GridSearchCV(selector, grid, cv=2).fit(*two_classes)
    assert search.best_estimator_.result_.n_replicas in grid["annealing__n_replicas"]
    assert selector.annealing is selector.constraints is None


def test_the_engine_has_the_same_defaults():
    # The screen is no part of annealing itself.
    given = {"screen": "auto", "batch_draw": "step"}
    assert Annealing().get_params() == given | asdict(AnnealingSettings())


def test_no_object_is_the_default_one(two_classes):
    plain = AnnealingSelector(2, random_state=0).fit(*two_classes)
    given = AnnealingSelector(2, annealing=Annealing(), constraints=Constraints(), random_state=0)
    assert_same_search(plain, given.fit(*two_classes))


@pytest.mark.parametrize("parameter", ["annealing", "constraints"])
@pytest.mark.parametrize("value", [{}, 50, Annealing, Constraints], ids=shown)
def test_what_is_no_parameter_object_is_named(two_classes, parameter, value):
    message = message_of(AnnealingSelector(**{parameter: value}).fit, *two_classes)
    owner = f"The '{parameter}' parameter of AnnealingSelector"
    assert re.match(rf"{owner} must be None(,| or) an instance of 'safdr\.[A-Z]", message)
    assert "safdr._" not in message


def test_objects_do_not_take_each_others_place(two_classes):
    assert "'annealing' parameter" in message_of(
        anneal_path, *two_classes, [1], annealing=Constraints()
    )
