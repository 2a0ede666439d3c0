"""A selection is a function of rows, parameters and seed, however rows are given."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

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
from safdr import Annealing, Constraints, anneal_path

NAMES = [f"feature {j}" for j in range(8)]


@pytest.fixture(params=TASKS)
def task(request):
    return request.param


@pytest.fixture(params=[of_size, over_sizes])
def make(request):
    return request.param


# ---- scikit-learn --------------------------------------------------------------------------------


# Messages of their own, which are not those that scikit-learn asks for.
OWN_WORDS = {
    "check_complex_data": "complex targets are refused as no numbers",
    "check_requires_y_none": "a missing target is refused as NaN",
}


def expected_failures(estimator):
    return OWN_WORDS if is_regressor(estimator) else {}


@parametrize_with_checks(
    [of_size(None, annealing=WHOLE), over_sizes(1, "regression", annealing=WHOLE, cv=3)],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_clone_and_a_pickle_are_the_selector(make, task):
    X, y = make_rows(task)
    fitted = make(task=task).fit(X, y)
    assert_same_answer(clone(fitted).fit(X, y), fitted)
    loaded = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    assert_same_answer(loaded.fit(X, y), fitted)


def test_a_pipeline_selects_within_each_fold():
    X, y = make_rows()
    pipeline = make_pipeline(StandardScaler(), of_size(3))
    scores = cross_val_score(pipeline, X, y, cv=3, scoring="roc_auc")
    assert scores.min() > 0.7
    assert pipeline.fit(X, y)[-1].subset_.tolist() == list(PLANTED)


def test_nested_parameters_are_searched():
    X, y = make_rows()
    grid = {"annealing__n_replicas": [2, 5], "n_features_to_select": [1, 3]}
    selector = of_size(annealing=Annealing(max_steps=10))
    search = GridSearchCV(selector, grid, cv=3, scoring="roc_auc").fit(X, y)
    assert search.best_params_["n_features_to_select"] == 3
    own = search.best_estimator_
    assert own.annealing.n_replicas == search.best_params_["annealing__n_replicas"]
    assert selector.annealing.n_replicas == Annealing().n_replicas


# ---- The same answer -----------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_answer_and_fits_leave_no_trace(make, task):
    X, y = make_rows(task)
    selector = make(task=task)
    first = clone(selector).fit(X, y)
    selector.fit(X[:100, :6], y[:100])
    assert_same_answer(selector.fit(X, y), first)
    for name in vars(first):
        assert name in vars(selector)


def test_another_seed_is_another_run():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 40)), np.arange(80) % 2
    few = Annealing(n_replicas=1, max_steps=1)
    starts = [
        of_size(5, annealing=few, random_state=seed).fit(X, y).result_.start_subsets
        for seed in range(4)
    ]
    assert len({start.tobytes() for start in starts}) > 1


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_bit(make, task, n_jobs):
    X, y = make_rows(task)
    one = make(task=task, n_jobs=1).fit(X, y)
    more = make(task=task, n_jobs=n_jobs).fit(X, y)
    assert_same_answer(more, one)
    np.testing.assert_array_equal(more.result_.subsets, one.result_.subsets)
    np.testing.assert_array_equal(more.result_.trace.mean, one.result_.trace.mean)


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_processes_change_no_bit(backend):
    X, y = make_rows()
    one = over_sizes(3).fit(X, y)
    with parallel_config(backend, n_jobs=2):
        assert_same_answer(over_sizes(3).fit(X, y), one)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_path_is_the_selectors_of_its_sizes(task, n_jobs):
    X, y = make_rows(task)
    kind = "regression" if task == "regression" else "classification"
    how = {"annealing": QUICK, "random_state": 0, "n_jobs": n_jobs}
    for result, size in zip(anneal_path(X, y, [2, 4], task=kind, **how), [2, 4], strict=True):
        alone = of_size(size, task).fit(X, y).result_
        np.testing.assert_array_equal(result.subsets, alone.subsets)
        np.testing.assert_array_equal(result.losses, alone.losses)


@pytest.mark.parametrize("annealing", [QUICK, POPULATION])
def test_strong_features_are_selected(task, annealing):
    X, y = make_rows(task)
    assert of_size(3, task, annealing=annealing).fit(X, y).subset_.tolist() == list(PLANTED)


def test_a_random_state_is_drawn_from_once():
    X, y = make_rows(n_features=30)
    state = np.random.RandomState(3)
    first = of_size(4, random_state=state).fit(X, y)
    second = of_size(4, random_state=state).fit(X, y)
    again = of_size(4, random_state=np.random.RandomState(3)).fit(X, y)
    assert_same_answer(again, first)
    starts = (each.result_.start_subsets for each in (first, second))
    assert not np.array_equal(*starts)


# ---- Weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_weights_count_as_copies(task, C):
    X, y = make_rows(task)
    copies = np.random.default_rng(3).integers(0, 4, len(y))
    how = {"annealing": WHOLE, "C": C}
    weighted = of_size(3, task, **how).fit(X, y, sample_weight=copies)
    repeated = of_size(3, task, **how).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert_same_answer(weighted, repeated, 1e-9)
    plain = of_size(3, task, **how).fit(X, y)
    assert weighted.criterion_value_ != pytest.approx(plain.criterion_value_, rel=1e-4)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_weights_count_as_copies_wherever_columns_are_correlated(form):
    """Weak features, whose order depends on covariances more than on means."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(150, 6)) @ rng.normal(size=(6, 6))
    y = (0.3 * X[:, 0] + rng.logistic(size=150) > 0).astype(int)
    copies = rng.integers(0, 5, 150)
    rows, labels = np.repeat(X, copies, axis=0), np.repeat(y, copies)
    for size in (1, 2, 4):
        selector = of_size(size, annealing=WHOLE)
        weighted = clone(selector).fit(form(X), y, sample_weight=copies)
        assert_same_answer(weighted, selector.fit(form(rows), labels), 1e-9)


def test_rows_of_weight_zero_are_absent(make, task):
    X, y = make_rows(task)
    kept = np.arange(len(y)) % 4 > 0
    folds = [(np.arange(i, 120), np.arange(120 + i, 240)) for i in (0, 3)]
    how = {"task": task, "annealing": WHOLE}
    if make is over_sizes:
        place = np.cumsum(kept) - 1
        inside = [tuple(place[part[kept[part]]] for part in fold) for fold in folds]
        # Scores are of all rows: those of weight zero are taken out of the test rows too.
        some = [(train, test[kept[test]]) for train, test in folds]
        absent = make(**how, cv=inside).fit(X[kept], y[kept])
        weighted = make(**how, cv=some).fit(X, y, sample_weight=1.0 * kept)
    else:
        absent = make(**how).fit(X[kept], y[kept])
        weighted = make(**how).fit(X, y, sample_weight=1.0 * kept)
    assert_same_answer(weighted, absent, 1e-9)


def test_balanced_classes_are_weights_of_rows(make):
    """The documented weights: rows / (classes × rows of the class)."""
    X, y = make_rows("three")
    y = np.where(y == "mid", "low", y)
    y[:5], y[5:9] = "high", "low"
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    weight = (len(y) / (len(counts) * counts))[codes]
    if make is over_sizes:
        train, test = np.arange(160), np.arange(160, 240)
        _, codes, counts = np.unique(y[train], return_inverse=True, return_counts=True)
        fold = (160 / (len(counts) * counts))[codes]
        search = make(3, cv=[(train, test)], class_weight="balanced").fit(X, y)
        alone = of_size(2).fit(X[train], y[train], sample_weight=fold)
        loss = search.cv_results_["split0_cross_entropy"][1]
        assert loss == pytest.approx(alone.loss_, rel=1e-12)
        return
    by_class = of_size(3, class_weight="balanced").fit(X, y)
    assert_same_answer(by_class, of_size(3).fit(X, y, sample_weight=weight), 1e-12)
    given = dict(zip(np.unique(y).tolist(), len(y) / (2 * np.bincount(codes)), strict=True))
    assert_same_answer(of_size(3, class_weight=given).fit(X, y), by_class, 1e-12)


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
    assert found.loss_ == pytest.approx(least_loss(X, y, task), rel=1e-9)


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
    assert found.loss_ == pytest.approx(alone.loss_, rel=1e-9)


def test_a_change_of_units_changes_no_subset(task):
    X, y = make_rows(task)
    units = 10.0 ** np.arange(-4, 4)
    found, plain = (of_size(3, task, annealing=WHOLE).fit(rows, y) for rows in (X * units + 7, X))
    assert found.subset_.tolist() == plain.subset_.tolist()
    assert found.loss_ == pytest.approx(plain.loss_, rel=1e-6)


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


def test_defaults_do_not_warn():
    X, y = load_iris(return_X_y=True)
    assert over_sizes(3, cv=None).fit(X, y).score(X, y) > 0.9
