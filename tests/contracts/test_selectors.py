"""A selection is a function of rows, parameters and seed, however rows are given."""

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.questions import along_path
from helpers.selectors import (
    PLANTED,
    POPULATION,
    QUICK,
    TASKS,
    WHOLE,
    assert_same_answer,
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


# ---- scikit-learn --------------------------------------------------------------------------------


@parametrize_with_checks(
    [of_size(None, annealing=WHOLE), over_sizes(1, "regression", annealing=WHOLE, cv=3)],
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
    fits = [of_size(5, annealing=few, random_state=seed).fit(X, y) for seed in range(4)]
    assert len({fit.result_.trace.mean[0] for fit in fits}) == 4


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_no_bit(make, task, n_jobs):
    X, y = make_rows(task)
    one = make(task=task, n_jobs=1).fit(X, y)
    more = make(task=task, n_jobs=n_jobs).fit(X, y)
    assert_same_answer(more, one)
    np.testing.assert_array_equal(more.result_.subsets, one.result_.subsets)
    np.testing.assert_array_equal(more.result_.trace.mean, one.result_.trace.mean)


@pytest.mark.parametrize("groups", [(), [[0, 1], [2, 3]]])
def test_threads_change_no_bit_of_a_long_search(groups):
    """Work that is worth a thread: many replicas, each with many features."""
    X, y = make_rows(n_features=70)
    limits = Constraints(groups=groups)
    many = Annealing(n_replicas=100, max_steps=4)
    one, *more = (
        of_size(22, annealing=many, constraints=limits, n_jobs=n).fit(X, y).result_
        for n in (1, 2, 3)
    )
    for other in more:
        np.testing.assert_array_equal(other.subsets, one.subsets)
        np.testing.assert_array_equal(other.trace.mean, one.trace.mean)


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_processes_change_no_bit(backend):
    X, y = make_rows()
    one = over_sizes(3).fit(X, y)
    with parallel_config(backend, n_jobs=2):
        assert_same_answer(over_sizes(3).fit(X, y), one)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_path_is_the_selectors_of_its_sizes(task, n_jobs):
    X, y = make_rows(task)
    results = along_path(X, y, [2, 4], task, n_jobs=n_jobs)
    for result, size in zip(results, [2, 4], strict=True):
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
    assert first.result_.trace.mean[0] != second.result_.trace.mean[0]


# ---- Weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_weights_count_as_copies(task, C):
    X, y = make_rows(task)
    copies = np.random.default_rng(3).integers(0, 4, len(y))
    how = {"annealing": WHOLE, "C": C}
    weighted = of_size(3, task, **how).fit(X, y, sample_weight=copies)
    repeated = of_size(3, task, **how).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    assert_same_answer(weighted, repeated, 1e-9)
    tiny = of_size(3, task, **how).fit(X, y, sample_weight=np.maximum(copies, 1e-14))
    assert_same_answer(tiny, repeated, 1e-9)
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
        score = search.cv_results_["split0_test_score"][1]
        assert score == pytest.approx(get_scorer("roc_auc")(alone, X[test], y[test]), abs=1e-12)
        np.testing.assert_array_equal(search.cv_results_["split0_support"][1], alone.support_)
        last = of_size(search.n_features_).fit(X, y, sample_weight=weight)
        assert search.result_.loss == pytest.approx(last.result_.loss, rel=1e-9)
        return
    by_class = of_size(3, class_weight="balanced").fit(X, y)
    assert_same_answer(by_class, of_size(3).fit(X, y, sample_weight=weight), 1e-12)
    given = dict(zip(np.unique(y).tolist(), len(y) / (2 * np.bincount(codes)), strict=True))
    assert_same_answer(of_size(3, class_weight=given).fit(X, y), by_class, 1e-12)
