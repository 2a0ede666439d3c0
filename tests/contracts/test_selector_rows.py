"""Rows of any form are the same rows; columns that say little are no obstacle."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from helpers.selectors import (
    TASKS,
    WHOLE,
    assert_same_answer,
    least_loss,
    make_rows,
    of_size,
    over_sizes,
)
from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV, Constraints

NAMES = [f"feature {j}" for j in range(8)]


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


@pytest.fixture(params=[of_size, over_sizes])
def make(request):
    return request.param


# ---- Forms of rows -------------------------------------------------------------------------------


def make_counts(task, n_rows=300):
    """Counts, most of them 0, of which the first two matter."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, size=(n_rows, 10)).astype(float)
    value = 1.5 * X[:, 0] - 2.0 * X[:, 1] + X[:, 2]
    value = value + rng.normal(size=n_rows)
    if task == "regression":
        return X, value
    return X, np.digitize(value, [0] if task == "two" else [-1, 1])


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_are_dense_rows(task, form, weighted):
    X, y = make_counts(task)
    weight = np.random.default_rng(0).uniform(0, 2, len(y)) if weighted else None
    thin = getattr(sparse, form)(X)
    dense = of_size(3, task).fit(X, y, sample_weight=weight)
    found = of_size(3, task).fit(thin, y, sample_weight=weight)
    assert_same_answer(found, dense, 1e-9)
    np.testing.assert_array_equal(found.result_.subsets, dense.result_.subsets)
    if task == "regression":
        np.testing.assert_allclose(found.predict(thin), dense.predict(X), rtol=1e-12, atol=1e-12)
    else:
        np.testing.assert_array_equal(found.predict(thin), dense.predict(X))
    assert sparse.issparse(found.transform(thin))
    np.testing.assert_array_equal(found.transform(thin).toarray(), dense.transform(X))


def test_sparse_rows_are_cross_validated_as_dense_rows(task):
    X, y = make_counts(task)
    dense = over_sizes(3, task).fit(X, y)
    assert_same_answer(over_sizes(3, task).fit(sparse.csr_array(X), y), dense, 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_any_type_are_the_same_numbers(make, dtype, order):
    X, y = make_rows()
    if dtype is bool:
        X = X > 0.3
    elif dtype is not np.float32:
        X = np.clip(40 + 10 * X, 0, 255)
    X = np.asarray(X, dtype=dtype, order=order)
    expected = make().fit(np.asarray(X, dtype=np.float64, order="C"), y)
    found = make().fit(X, y)
    assert_same_answer(found, expected, 1e-5 if dtype is np.float32 else 1e-12)


def test_rows_need_not_be_contiguous(make):
    X, y = make_rows()
    held = np.zeros((3 * len(X), 2 * X.shape[1]))
    held[::3, ::2] = X
    assert_same_answer(make().fit(held[::3, ::2], y), make().fit(X, y), 1e-12)


@pytest.mark.parametrize("labels", [(0, 1), (7, 3), (-1.0, 1.0), (False, True), ("yes", "no")])
@pytest.mark.parametrize("container", [np.array, list, pd.Series, pl.Series])
def test_labels_of_any_kind_are_the_same_classes(labels, container):
    X, y = make_rows()
    named = [labels[code] for code in y]
    plain, found = (of_size(3, annealing=WHOLE).fit(X, t) for t in (y, container(named)))
    assert found.subset_.tolist() == plain.subset_.tolist()
    assert found.classes_.tolist() == sorted(labels)
    second = found.predict_proba(X)[:, sorted(labels).index(labels[1])]
    np.testing.assert_allclose(second, plain.predict_proba(X)[:, 1], rtol=1e-6)
    assert [labels[code] for code in plain.predict(X)] == found.predict(X).tolist()


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_is_its_array_with_names(make, task, library):
    X, y = make_rows(task)
    frame = library.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    found, plain = make(task=task).fit(frame, y), make(task=task).fit(X, y)
    assert_same_answer(found, plain)
    np.testing.assert_array_equal(found.predict(frame), plain.predict(X))
    assert found.feature_names_in_.tolist() == NAMES
    chosen = [NAMES[j] for j in found.subset_]
    assert found.get_feature_names_out().tolist() == chosen
    assert plain.get_feature_names_out().tolist() == [f"x{j}" for j in plain.subset_]
    assert list(found.result_.subset_names) == chosen


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_transform_gives_the_selected_columns(library, output):
    X, y = make_rows()
    frame = library.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    found = of_size(3).fit(frame, y).set_output(transform=output)
    reduced = found.transform(frame)
    assert type(reduced).__module__.split(".")[0] == output
    assert list(reduced.columns) == found.get_feature_names_out().tolist()
    np.testing.assert_array_equal(reduced.to_numpy(), X[:, found.subset_])
    back = of_size(3).fit(X, y)
    np.testing.assert_array_equal(back.transform(X), X[:, back.subset_])
    whole = back.inverse_transform(back.transform(X))
    np.testing.assert_array_equal(whole, np.where(back.support_, X, 0.0))


def test_columns_of_a_frame_in_another_order_are_refused():
    X, y = make_rows()
    frame = pd.DataFrame(X, columns=NAMES)
    found = of_size(3).fit(frame, y)
    for call in (found.predict, found.transform, found.predict_proba):
        with pytest.raises(ValueError, match="feature names"):
            call(frame[NAMES[::-1]])


# ---- Edges ---------------------------------------------------------------------------------------


def test_all_features_are_one_subset(task):
    X, y = make_rows(task, n_features=7)
    found = of_size(7, task).fit(X, y)
    assert found.support_.all()
    assert found.result_.loss == pytest.approx(least_loss(X, y, task), rel=1e-9)


def test_a_constant_column_changes_nothing(task):
    X, y = make_rows(task)
    for value in (0.0, 0.1, 1e9):
        wider = np.column_stack([X, np.full(len(X), value)])
        found = of_size(4, task).fit(wider, y)
        assert 8 not in found.subset_
        assert np.isfinite(found.result_.criterion_values).all()
        assert np.isfinite(found.estimator_.coef_).all()


def test_a_constant_column_that_must_enter_has_no_coefficient(task):
    X, y = make_rows(task)
    wider = np.column_stack([X, np.full(len(X), 3.0)])
    found = of_size(3, task, constraints=Constraints(always_include=[8])).fit(wider, y)
    place = found.subset_.tolist().index(8)
    assert np.all(np.atleast_2d(found.estimator_.coef_)[:, place] == 0)
    others = [j for j in found.subset_ if j != 8]
    alone = of_size(2, task, constraints=Constraints(always_include=others)).fit(X, y)
    assert found.result_.loss == pytest.approx(alone.result_.loss, rel=1e-9)


def test_a_change_of_units_changes_no_subset(task):
    X, y = make_rows(task)
    units = 10.0 ** np.arange(-4, 4)
    found, plain = (of_size(3, task, annealing=WHOLE).fit(rows, y) for rows in (X * units + 7, X))
    assert found.subset_.tolist() == plain.subset_.tolist()
    assert found.result_.loss == pytest.approx(plain.result_.loss, rel=1e-6)


def test_a_copy_of_a_feature_never_enters_with_it(task):
    X, y = make_rows(task)
    X = np.column_stack([X, -2.5 * X[:, 1]])
    found = of_size(3, task).fit(X, y)
    assert len({1, 8} & set(found.subset_.tolist())) == 1
    assert set(found.subset_.tolist()) - {1, 8} == {4, 6}


def test_more_features_than_rows_are_no_obstacle():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    y = (X[:, 7] - X[:, 150] + 0.3 * rng.logistic(size=60) > 0).astype(int)
    found = of_size(2).fit(X, y)
    assert found.subset_.tolist() == [7, 150]


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_defaults_do_not_warn(load):
    X, y = load(return_X_y=True, as_frame=True)
    kind = AnnealingRegressorSelectorCV if load is load_diabetes else AnnealingSelectorCV
    search = kind(random_state=0).fit(X, y)
    assert search.cv_results_["n_features"].tolist() == list(range(1, min(30, X.shape[1]) + 1))
    assert search.score(X, y) > (0.45 if load is load_diabetes else 0.9)


def test_predictions_do_not_copy_all_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2500)).astype(np.float32)
    found = of_size(2).fit(X, X[:, 3] > 0)
    tracemalloc.start()
    found.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2
