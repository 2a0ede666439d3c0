"""What the selector makes of frames, labels, weights and odd columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fitting import QUIET, assert_same_result, fitted
from safdr import Annealing, AnnealingSelector, SeparationWarning

# ---- Data frames and labels ---------------------------------------------------------------------

NAMES = [f"feature {i}" for i in range(12)]


def as_pandas(X):
    return pd.DataFrame(X, columns=NAMES)


def as_polars(X):
    return pl.DataFrame(X, schema=NAMES)


@pytest.mark.parametrize("frame", [as_pandas, as_polars])
def test_names_of_a_frame_are_kept(two_classes, frame):
    X, y = two_classes
    selector = fitted(frame(X), y)
    assert selector.feature_names_in_.tolist() == NAMES
    assert selector.get_feature_names_out().tolist() == [NAMES[i] for i in selector.subset_]
    np.testing.assert_array_equal(selector.subset_, fitted(X, y).subset_)


@pytest.mark.parametrize("frame", [as_pandas, as_polars])
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_set_output_is_honoured(two_classes, frame, output):
    X, y = two_classes
    selector = fitted(frame(X), y).set_output(transform=output)
    reduced = selector.transform(frame(X))
    assert type(reduced).__module__.split(".")[0] == output
    assert list(reduced.columns) == selector.get_feature_names_out().tolist()
    np.testing.assert_array_equal(reduced.to_numpy(), X[:, selector.subset_])


@pytest.mark.parametrize("frame", [as_pandas, as_polars])
def test_a_frame_predicts_what_its_array_predicts(two_classes, frame):
    X, y = two_classes
    np.testing.assert_array_equal(
        fitted(frame(X), y).predict_proba(frame(X)), fitted(X, y).predict_proba(X)
    )


def test_columns_in_another_order_are_an_error(two_classes):
    X, y = two_classes
    selector = fitted(as_pandas(X), y)
    with pytest.raises(ValueError, match="feature names"):
        selector.predict(as_pandas(X)[NAMES[::-1]])


def test_integer_and_boolean_columns_of_a_frame_are_numbers(two_classes):
    X, y = two_classes
    table = as_pandas(X).assign(count=np.arange(240) % 7, flag=X[:, 0] > 0)
    assert fitted(table, y).n_features_in_ == 14


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [-1, 1],
        [7, 3],
        [False, True],
        ["ham", "spam"],
        ["yes", "no"],
        [0.0, 1.0],
        [1.0, 2.0],
    ],
)
@pytest.mark.parametrize("container", [np.array, list, pd.Series])
def test_labels_of_any_two_values_serve(two_classes, labels, container):
    X, y = two_classes
    named = np.array(labels)[y]
    # Without batches, which are drawn class by class, so that the order of the labels matters.
    selector, plain = fitted(X, container(named), **QUIET), fitted(X, y, **QUIET)
    assert selector.classes_.tolist() == sorted(labels)
    assert np.mean(selector.predict(X) == named) == plain.score(X, y)
    of_second = selector.predict_proba(X)[:, sorted(labels).index(labels[1])]
    np.testing.assert_allclose(of_second, plain.predict_proba(X)[:, 1], rtol=1e-6)


def test_labels_of_objects_serve(two_classes):
    X, y = two_classes
    selector = fitted(X, np.array(["ham", "spam"], dtype=object)[y])
    assert selector.classes_.tolist() == ["ham", "spam"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_any_number_type_and_order_serve(two_classes, dtype, order):
    X, y = two_classes
    X = np.asarray(X > 0 if dtype is bool else 3 * X, dtype=dtype, order=order)
    expected = fitted(X.astype(np.float64, order="C"), y)
    np.testing.assert_array_equal(fitted(X, y).result_.subsets, expected.result_.subsets)


# ---- Weights ------------------------------------------------------------------------------------


def test_without_batches_weights_count_as_repeated_rows(two_classes):
    X, y = two_classes
    repeats = np.random.default_rng(3).integers(0, 4, 240)
    weighted = fitted(X, y, sample_weight=repeats, **QUIET)
    repeated = fitted(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), **QUIET)
    np.testing.assert_array_equal(weighted.result_.subsets, repeated.result_.subsets)
    np.testing.assert_allclose(
        weighted.result_.criterion_values, repeated.result_.criterion_values, rtol=1e-9
    )
    np.testing.assert_allclose(
        weighted.result_.coefficients, repeated.result_.coefficients, rtol=1e-6
    )


@pytest.mark.parametrize("noise", [{}, QUIET], ids=["batches", "no batches"])
def test_rows_of_weight_zero_count_as_absent(two_classes, noise):
    X, y = two_classes
    weight = (np.arange(240) % 5 > 0).astype(float)
    spoilt = np.where(weight[:, None] > 0, X, 1e6)
    kept = weight > 0
    zeroed = fitted(spoilt, y, sample_weight=weight, **noise)
    absent = fitted(X[kept], y[kept], sample_weight=np.ones(kept.sum()), **noise)
    assert_same_result(zeroed.result_, absent.result_)


@pytest.mark.parametrize("factor", [1e-6, 3.0, 1e6])
def test_the_unit_of_the_weights_is_nothing_to_unpenalised_models(two_classes, factor):
    X, y = two_classes
    weight = np.linspace(1, 3, 240)
    how = {"C": np.inf, "ridge": 1e-6, "criterion": "fisher", "screen": None}
    one = fitted(X, y, sample_weight=weight, **how)
    other = fitted(X, y, sample_weight=factor * weight, **how)
    np.testing.assert_array_equal(one.result_.subsets, other.result_.subsets)
    assert one.cross_entropy_ == pytest.approx(other.cross_entropy_, rel=1e-9)


def test_one_row_of_weight_two_is_a_class_of_two_rows(two_classes):
    X, y = two_classes
    rows = np.r_[np.flatnonzero(y == 0), 1]
    weight = np.where(y[rows] == 1, 2.0, 1.0)
    with pytest.warns(SeparationWarning):
        selector = fitted(X[rows], y[rows], 8, sample_weight=weight, C=np.inf, **QUIET)
    assert selector.n_features_ == 8


# ---- Odd columns --------------------------------------------------------------------------------


def test_permuting_the_features_permutes_the_answer(two_classes):
    X, y = two_classes
    order = np.random.default_rng(0).permutation(12)
    settings = QUIET | {"n_replicas": 50, "max_steps": 100}
    plain, permuted = fitted(X, y, 4, **settings), fitted(X[:, order], y, 4, **settings)
    np.testing.assert_array_equal(np.sort(order[permuted.subset_]), plain.subset_)
    assert permuted.criterion_value_ == pytest.approx(plain.criterion_value_, rel=1e-9)


def test_constant_columns_among_good_ones_are_never_chosen(two_classes):
    X, y = two_classes
    wide = np.column_stack([np.full(240, 0.1), X, np.zeros(240)])
    selector = fitted(wide, y, 6)
    assert not np.isin(selector.result_.subsets, [0, 13]).any()


@pytest.mark.parametrize("noise", [{}, QUIET], ids=["batches", "no batches"])
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_duplicated_columns_never_enter_together(two_classes, noise, strength):
    X, y = two_classes
    X = X + strength * y[:, None] * (np.arange(12) < 3) * np.random.default_rng(0).normal(size=12)
    selector = fitted(np.column_stack([X, X[:, ::-1], 2 * X - 1]), y, 6, **noise)
    original = np.r_[np.arange(12), np.arange(11, -1, -1), np.arange(12)]
    for subset in selector.result_.subsets:
        assert len(set(original[subset])) == 6


def test_when_only_duplicates_are_left_they_are_taken(two_classes):
    X, y = two_classes
    selector = fitted(np.column_stack([X[:, :3], X[:, :3], np.ones(240)]), y, 6)
    assert selector.n_features_ == 6
    assert np.isfinite(selector.predict_proba(np.column_stack([X[:, :3], X[:, :3], y]))).all()


def test_constants_are_taken_when_nothing_else_is_left(two_classes):
    X, y = two_classes
    selector = fitted(np.column_stack([X[:, :2], np.ones((240, 2))]), y, 3)
    assert {0, 1} <= set(selector.subset_.tolist())


@pytest.mark.parametrize(
    ("noise", "size"), [({}, 1), ({}, 5), ({}, 40), (QUIET, 40)], ids=lambda value: str(value)[:2]
)
def test_many_more_features_than_rows_work(noise, size):
    rng = np.random.default_rng(0)
    y = np.arange(62) % 2
    X = rng.normal(size=(62, 2000))
    X[:, :4] += 1.5 * y[:, None]
    schedule = {"n_replicas": 4, "max_steps": 4} if size == 1 else {"n_replicas": 20}
    selector = fitted(X, y, size, **{"max_steps": 40, **schedule, **noise})
    assert np.isfinite(selector.result_.criterion_values).all()
    # No row is called certain: the model is penalised.
    assert np.abs(selector.decision_function(X)).max() < 20
    if size > 1:
        how = {"C": np.inf, "ridge": 1e-6, "criterion": "fisher", "screen": None}
        with pytest.warns(SeparationWarning):
            published = fitted(X, y, size, **how, **{"max_steps": 40, **schedule, **noise})
        assert np.isfinite(published.predict_proba(X)).all()


def test_telling_features_are_found_among_many_that_tell_nothing():
    rng = np.random.default_rng(1)
    y = np.arange(62) % 2
    X = rng.normal(size=(62, 2000))
    X[:, [17, 1234]] += 2.0 * y[:, None]
    selector = AnnealingSelector(4, random_state=0).fit(X, y)
    assert np.isin([17, 1234], selector.result_.subsets).all()


def test_columns_of_one_name_are_refused_by_name():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    with pytest.raises(ValueError, match="X has columns of the same name"):
        AnnealingSelector(2).fit(pd.DataFrame(X, columns=["a", "b", "a"]), y)


def test_the_label_by_two_names_is_chosen_once():
    rng, y = np.random.default_rng(0), np.arange(62) % 2
    X = np.column_stack([rng.normal(size=(62, 4)), y, 2 * y + 3])
    assert AnnealingSelector(1, random_state=0).fit(X, y).subset_.tolist() == [4]
    chosen = AnnealingSelector(3, random_state=0).fit(X, y).subset_
    assert 4 in chosen
    assert 5 not in chosen


def test_a_large_ridge_does_not_keep_correlated_features_apart():
    # A suppressor: the second feature carries no label of its own, but cleans up the first.
    rng, y = np.random.default_rng(0), np.arange(2000) % 2
    noise, others = rng.normal(size=2000), rng.normal(size=(6, 2000))
    X = np.column_stack([0.3 * y + noise, noise + 0.3 * rng.normal(size=2000), *others])
    selector = AnnealingSelector(
        2, ridge=0.1, annealing=Annealing(n_batches=1, batch_fraction=1.0), random_state=0
    )
    assert selector.fit(X, y).result_.criterion_values.max() > 0
    assert [0, 1] in selector.result_.subsets.tolist()


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_weights_may_be_as_large_or_small_as_numbers_get(factor):
    rng, y = np.random.default_rng(0), np.arange(60) % 2
    X, weight = rng.normal(size=(60, 6)), rng.random(60)
    one = AnnealingSelector(2, C=np.inf, random_state=0).fit(X, y, weight)
    other = AnnealingSelector(2, C=np.inf, random_state=0).fit(X, y, factor * weight)
    np.testing.assert_array_equal(one.subset_, other.subset_)
    np.testing.assert_allclose(one.estimator_.coef_, other.estimator_.coef_, rtol=1e-9)
