"""What fit refuses, and what it says; what is odd and yet accepted is in test_selector.py."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fitting import nested
from safdr import AnnealingSelector, anneal_path

QUICK = {"n_replicas": 5, "max_steps": 5, "random_state": 0}


def message_of(X, y, sample_weight=None, **parameters):
    """What the ValueError says."""
    selector = AnnealingSelector(**nested(**({"n_features_to_select": 2} | QUICK | parameters)))
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the tests look at the message
        selector.fit(X, y, sample_weight=sample_weight)
    return str(error.value)


def assert_says(message, *parts):
    for part in parts:
        assert part in message


def changed(array, index, value):
    array = np.array(array, copy=True)
    array[index] = value
    return array


# ---- Parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, -3, 1.5, 0.0, "three"])
def test_a_size_out_of_range_is_named(two_classes, size):
    message = message_of(*two_classes, n_features_to_select=size)
    assert_says(message, "n_features_to_select", repr(size))


def test_a_size_beyond_the_features_is_named(two_classes):
    message = message_of(*two_classes, n_features_to_select=13)
    assert_says(message, "n_features_to_select", "at most", "n_features = 12", "got 13")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_replicas", 0),
        ("sweeps", 0.0),
        ("temperature_step", -0.7),
        ("max_steps", 0),
        ("tol", -1e-3),
        ("n_iter_no_change", 0),
        ("n_batches", 0),
        ("batch_fraction", 0.0),
        ("batch_fraction", 1.01),
        ("ridge", 0.0),
        ("estimator", "logistic"),
        ("random_state", "seed"),
    ],
)
def test_a_bad_parameter_is_named_with_its_bound_and_value(two_classes, parameter, value):
    message = message_of(*two_classes, **{parameter: value})
    assert_says(message, f"'{parameter}' parameter", "must be", repr(value))


# ---- X ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_values_that_are_not_finite_are_named(two_classes, value, name):
    X, y = two_classes
    assert_says(message_of(changed(X, (3, 4), value), y), "X contains", name)


def test_constant_columns_only_are_named():
    X = np.tile([1.0, 0.1, -3.0], (20, 1))
    assert_says(message_of(X, np.arange(20) % 2), "X has 3 feature(s)", "constant")


def test_complex_features_are_named(two_classes):
    X, y = two_classes
    assert_says(message_of(X + 1j, y), "X", "omplex")


@pytest.mark.parametrize("dtype", [str, object])
def test_text_in_an_array_is_named(two_classes, dtype):
    X, y = two_classes
    text = np.asarray(X, dtype=dtype)
    text[0, 1] = "red"
    assert_says(message_of(text, y), "X", "red")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_columns_of_a_frame_are_named(two_classes, frame):
    _, y = two_classes
    table = frame({"age": np.arange(240.0), "colour": ["red", "blue"] * 120, "size": ["s"] * 240})
    message = message_of(table, y)
    assert_says(message, "X has 2 column(s)", "'colour', 'size'", "OneHotEncoder")
    assert "age" not in message


def test_dates_are_named(two_classes):
    _, y = two_classes
    table = pd.DataFrame({"a": np.arange(240.0), "day": pd.date_range("2020-01-01", periods=240)})
    assert_says(message_of(table, y), "X has 1 column(s)", "'day'")


def test_one_dimension_is_named(two_classes):
    X, y = two_classes
    assert_says(message_of(X[:, 0], y), "Expected 2D array, got 1D array")


# ---- y ------------------------------------------------------------------------------------------


def test_one_class_is_named(two_classes):
    X, _ = two_classes
    assert_says(message_of(X, np.full(240, "spam")), "y holds one class only", "spam", "2 classes")


def test_a_measured_target_is_sent_to_the_regressors(two_classes):
    X, _ = two_classes
    message = message_of(X, X[:, 0])
    assert_says(message, "Unknown label type", "AnnealingRegressorSelector")


def test_a_class_that_weights_leave_without_rows_is_named(two_classes):
    X, _ = two_classes
    y = np.arange(240) % 3
    with pytest.raises(ValueError, match="no row of class 2 with a weight above 0"):
        AnnealingSelector(2).fit(X, y, sample_weight=(y < 2).astype(float))


def test_a_class_with_one_row_is_named(two_classes):
    X, _ = two_classes
    message = message_of(X, np.where(np.arange(240) == 7, "rare", "common"))
    assert_says(message, "y holds 1 row", "rare", "at least 2")


def test_a_class_left_with_one_row_by_its_weights_is_named(two_classes):
    X, y = two_classes
    weight = np.where((y == 0) | (np.arange(240) == 1), 1.0, 0.0)
    assert_says(message_of(X, y, weight), "y holds 1 row", "1", "at least 2")


def test_a_class_without_weight_is_named(two_classes):
    X, y = two_classes
    assert_says(message_of(X, y, 1.0 - y), "y holds one class only", "0")


def test_continuous_labels_are_named(two_classes):
    X, _ = two_classes
    assert_says(message_of(X, X[:, 0]), "continuous")


def test_missing_labels_are_named(two_classes):
    X, y = two_classes
    assert_says(message_of(X, changed(y.astype(float), 0, np.nan)), "y contains NaN")


def test_lengths_that_differ_are_named(two_classes):
    X, y = two_classes
    assert_says(message_of(X, y[:-1]), "240", "239")


# ---- sample_weight ------------------------------------------------------------------------------


def test_negative_weights_are_named(two_classes):
    weight = changed(np.ones(240), 5, -1.0)
    assert_says(message_of(*two_classes, weight), "sample_weight", "egative")


def test_weights_of_zero_only_are_named(two_classes):
    assert_says(message_of(*two_classes, np.zeros(240)), "sample_weight is zero for every row")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_named(two_classes, value):
    weight = changed(np.ones(240), 5, value)
    assert_says(message_of(*two_classes, weight), "sample_weight contains")


def test_weights_of_another_length_are_named(two_classes):
    assert_says(message_of(*two_classes, np.ones(7)), "sample_weight.shape == (7,)", "(240,)")


@pytest.mark.parametrize("factor", [1e160, 1e-170])
def test_values_that_cannot_be_squared_are_named(factor):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    with pytest.raises(ValueError, match="X holds values too large or too close together"):
        AnnealingSelector(2).fit(X * factor, y)


def test_a_lazy_frame_is_told_to_collect():
    with pytest.raises(ValueError, match=r"X is a lazy frame; call \.collect\(\)"):
        AnnealingSelector(1).fit(pl.LazyFrame({"a": [1.0, 2.0]}), [0, 1])


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_labels_that_are_no_values_are_named(missing):
    X, y = np.random.default_rng(0).normal(size=(8, 2)), np.array([*"abababa", missing], object)
    with pytest.raises(ValueError, match="y must hold labels of one type, and none missing"):
        AnnealingSelector(1).fit(X, y)


def test_rows_that_vary_only_without_weight_are_constant():
    X, y = np.ones((8, 2)), np.arange(8) % 2
    X[0] = 5.0
    with pytest.raises(ValueError, match="all of them are constant"):
        AnnealingSelector(1).fit(X, y, sample_weight=(np.arange(8) > 0).astype(float))


def test_a_path_takes_no_single_size():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(TypeError, match="n_features_to_select"):
        anneal_path(X, y, [1], n_features_to_select=None)


def test_a_single_number_of_sizes_is_named():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match="sizes must be an iterable of ints"):
        anneal_path(X, y, 3)
