"""Errors about parameters: they name the parameter, and can be said in other words."""

import pickle

import numpy as np
import pytest
from sklearn.utils._param_validation import InvalidParameterError

from safdr import AnnealingSelector, ParameterError
from safdr.errors import Columns, meant


@pytest.fixture
def error():
    return ParameterError(
        "size",
        "must be at most {most:.1f}, with {groups} of {columns}; got {given!r}.",
        most=2,
        columns=Columns([0, 2]),
        given={"size": "{3}"},
    )


def test_a_message_names_parameters_and_columns(error):
    message = "size must be at most 2.0, with groups of column 0, column 2; got {'size': '{3}'}."
    assert str(error) == message
    assert error.parameter == "size"


def test_other_words_reach_names_alone(error):
    said = error.in_words({"size": "-k", "groups": "--group"}, ["a", "b", "c"])
    assert said == "-k must be at most 2.0, with --group of 'a', 'c'; got {'size': '{3}'}."


def test_an_error_comes_back_from_another_process(error):
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.parameter) == (type(error), str(error), "size")


def test_of_many_columns_the_first_are_named():
    assert str(Columns(np.arange(7), "abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"


def test_a_value_out_of_range_is_told_before_there_are_rows():
    with pytest.raises(InvalidParameterError, match="The 'ridge' parameter of Annealing") as found:
        AnnealingSelector(ridge=-1.0).check_params()
    assert found.value.parameter == "ridge"
    assert found.value.in_words({"ridge": "--ridge"}).startswith("--ridge must be a float")
    copy = pickle.loads(pickle.dumps(found.value))
    assert str(copy) == str(found.value)


@pytest.mark.parametrize(
    ("parameter", "settings"),
    [
        ("n_features_to_select", {"n_features_to_select": 9}),
        ("feature_cost", {"feature_cost": {0: 1e13}}),
        ("feature_cost", {"feature_cost": [np.nan, 0, 0]}),
    ],
)
def test_an_error_of_fit_names_its_parameter(parameter, settings):
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(ParameterError, match=parameter) as found:
        AnnealingSelector(**settings).fit(X, np.arange(20) % 2)
    assert found.value.parameter == parameter


@pytest.mark.parametrize(
    ("name", "known", "wanted"),
    [
        ("traget", ["target", "test-size"], "target"),
        ("PAY_amt", ["PAY_AMT", "AGE"], "PAY_AMT"),
        ("lat", ["late", "height"], "late"),
        # Other names.
        ("weight", ["class-weight", "height"], None),
        ("categorical", ["split-categories"], None),
        ("sample", ["sample-rows"], None),
        ("na", ["json", "id"], None),
        # Other numbers.
        ("PAY_7", ["PAY_5", "PAY_6"], None),
        ("x10", ["x1", "x100"], None),
        # Which of two?
        ("cat", ["cats", "cart"], None),
        ("x", [], None),
    ],
)
def test_a_name_is_a_slip_of_one_other_or_of_none(name, known, wanted):
    assert meant(name, known) == wanted
