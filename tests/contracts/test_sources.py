"""Rows that are read in chunks give the answer of the same rows in memory.

A small source is read whole. Of a large one, the criterion is that of all rows to rounding, the
final model that of all rows; candidates are compared and sizes scored on a sample.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from helpers import engine
from helpers.selectors import (
    PLANTED,
    TASKS,
    assert_same_answer,
    make_rows,
    of_size,
    over_sizes,
    splitter,
    test_scores,
)
from safdr import (
    Constraints,
    ParameterError,
    Stream,
    anneal_path,
    evaluate_subsets,
    near_optimal,
    prove,
    stability,
    substitutes,
    what_if,
)
from safdr._estimators.inputs import read_problem
from safdr._estimators.streaming import rows as streaming
from safdr.sources import source

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
dask = pytest.importorskip("dask")
dask_frames = pytest.importorskip("dask.dataframe")

N = 2400


@pytest.fixture(autouse=True)
def several_batches(monkeypatch):
    """Every pass reads at least five batches."""
    monkeypatch.setattr(source, "MIN_ROWS", 1)
    monkeypatch.setattr(source, "MAX_ROWS", 450)


@pytest.fixture(autouse=True)
def one_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def as_table(X, y, weight=None):
    columns = {f"x{j}": column for j, column in enumerate(X.T)} | {"y": y}
    return pa.table(columns if weight is None else columns | {"w": weight})


@pytest.fixture(scope="module", params=TASKS)
def problem(request):
    """A task, its rows, weights of which some are 0, and all of it as a table."""
    X, y = make_rows(request.param, n_rows=N)
    X[:, 2] += 1e5
    weight = np.random.default_rng(0).integers(0, 3, N).astype(float)
    return request.param, X, y, weight, as_table(X, y, weight)


def parquet(path, table):
    pq.write_table(table, path / "rows.parquet", row_group_size=700)
    return str(path / "rows.parquet")


SOURCES = {
    "parquet": lambda table, path: parquet(path, table),
    "batches": lambda table, path: lambda: table.to_batches(max_chunksize=333),
    "dask": lambda table, path: dask_frames.from_pandas(table.to_pandas(), npartitions=4),
}


def assert_close(ours, theirs):
    """Of a large source: the same subset, criterion and model; the loss is that of a sample."""
    assert ours.subset_.tolist() == theirs.subset_.tolist() == list(PLANTED)
    assert ours.criterion_value_ == pytest.approx(theirs.criterion_value_, rel=1e-9)
    assert ours.shrinkage_ == pytest.approx(theirs.shrinkage_, rel=1e-9)
    assert ours.result_.n_screened == theirs.result_.n_screened
    assert ours.result_.loss == pytest.approx(theirs.result_.loss, rel=0.2)
    np.testing.assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_, rtol=1e-6)
    np.testing.assert_allclose(ours.estimator_.intercept_, theirs.estimator_.intercept_, rtol=1e-6)


# ---- Large sources -------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [True, False], ids=["weights", "no weights"])
@pytest.mark.parametrize("kind", SOURCES)
def test_a_large_source_gives_the_answer_of_its_rows(problem, kind, weighted, tmp_path):
    task, X, y, weight, table = problem
    table = table if weighted else table.drop_columns("w")
    given = SOURCES[kind](table, tmp_path)
    ours = of_size(3, task).fit(Stream(given, sample_rows=400), "y", "w" if weighted else None)
    assert_close(ours, of_size(3, task).fit(X, y, weight if weighted else None))
    assert ours.feature_names_in_.tolist() == [f"x{j}" for j in range(8)]
    assert getattr(ours, "classes_", np.unique(y)).tolist() == np.unique(y).tolist()


@pytest.mark.parametrize("length", [100, 999])
def test_the_length_of_chunks_changes_nothing_but_rounding(problem, length):
    task, *_, table = problem
    one, two = (
        over_sizes(3, task, cv=3).fit(
            Stream(lambda n=n: table.to_batches(max_chunksize=n), sample_rows=400), "y", "w"
        )
        for n in (N, length)
    )
    assert_same_answer(two, one, 1e-9)


def test_jobs_change_nothing():
    table = as_table(*make_rows(n_rows=N))
    one, two = (
        over_sizes(3, cv=3, n_jobs=n).fit(Stream(table, sample_rows=500), "y") for n in (1, 2)
    )
    assert_same_answer(two, one)


def test_scores_of_a_sample_are_close_to_those_in_memory(problem):
    task, X, y, _, table = problem
    ours = over_sizes(4, task, cv=4).fit(Stream(table.drop_columns("w"), sample_rows=1500), "y")
    theirs = over_sizes(4, task, cv=splitter(task, 4)).fit(X, y)
    ours, theirs = (test_scores(each.cv_results_).mean(axis=0) for each in (ours, theirs))
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_ties_between_the_classes_count_half():
    """One feature of two values: the area follows from two shares, ties being most pairs."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 6000)
    X = np.column_stack([rng.random(6000) < 0.2 + 0.3 * y, rng.random(6000) < 0.5]).astype(float)
    search = over_sizes(1, cv=3).fit(Stream(as_table(X, y), sample_rows=2000), "y")
    wanted = 0.5 + (X[y == 1, 0].mean() - X[y == 0, 0].mean()) / 2
    assert wanted == pytest.approx(roc_auc_score(y, X[:, 0]), rel=1e-12)
    assert search.cv_results_["mean_test_score"][0] == pytest.approx(wanted, abs=0.02)


def test_scores_of_weighted_rows_are_weighted():
    """Accuracy without weights would be that of the sample, of which half are of each class."""
    X, y = make_rows(n_rows=6000)
    kept = np.flatnonzero((y == 0) | (np.arange(6000) % 20 == 0))
    X, y = X[kept], y[kept]
    how = {"scoring": "accuracy", "sizes": [3]}
    ours = over_sizes(cv=3, **how).fit(Stream(as_table(X, y), sample_rows=400), "y")
    theirs = over_sizes(**how).fit(X, y)
    ours, theirs = (each.cv_results_["mean_test_score"][0] for each in (ours, theirs))
    assert theirs > 0.95
    assert ours == pytest.approx(theirs, abs=0.01)


def test_a_rare_class_is_in_the_sample():
    X, y = make_rows(n_rows=9000)
    y = (np.arange(9000) % 300 == 0).astype(int)
    X[y == 1, 1] += 4
    search = over_sizes(2, cv=3).fit(Stream(as_table(X, y), sample_rows=300), "y")
    assert search.subset_.tolist() == [1]
    assert search.result_.loss == pytest.approx(of_size(1).fit(X, y).result_.loss, rel=0.3)


def test_values_that_only_few_rows_have_are_no_trap():
    """Folds, batches and the sample lack them."""
    X, y = make_rows(n_rows=N)
    X[:, 0] = np.arange(N) == 7
    X[:, 3] = np.isin(np.arange(N), [3, 4])
    ours = over_sizes(4, cv=3).fit(Stream(as_table(X, y), sample_rows=400), "y")
    assert set(ours.subset_) >= set(PLANTED)
    assert ours.cv_results_["mean_test_score"].max() > 0.85


@pytest.mark.parametrize(
    ("size", "parameters"),
    [
        (3, {"class_weight": "balanced"}),
        (3, {"class_weight": {0: 1.0, 1: 5.0}}),
        (3, {"C": 0.01}),
        (3, {"criterion": "fisher", "shrinkage": None}),
        (3, {"constraints": Constraints(always_include=["x7"], never_include=["x1"])}),
        (2, {"constraints": Constraints(groups=[["x0", "x4"], ["x1", "x6"]])}),
        (2, {"feature_cost": {"x1": 9.0}}),
        (3, {"estimator": LogisticRegression(C=0.1)}),
    ],
    ids=str,
)
def test_parameters_mean_the_same(size, parameters):
    X, y = make_rows(n_rows=N)
    y[:700] = 0
    table = as_table(X, y)
    ours = of_size(size, **parameters).fit(Stream(table, sample_rows=900), "y")
    theirs = of_size(size, **parameters).fit(table.drop_columns("y").to_pandas(), y)
    assert ours.subset_.tolist() == theirs.subset_.tolist()
    assert ours.criterion_value_ == pytest.approx(theirs.criterion_value_, rel=1e-9)
    np.testing.assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_, rtol=1e-5)


@pytest.mark.parametrize(("feature", "sign"), [("x0", -1), ("x3", 1)])
def test_signs_hold_in_the_final_model(feature, sign):
    """On all rows the coefficient has the other sign: the final model is that of the sample."""
    X, y = make_rows(n_rows=N)
    limits = Constraints(always_include=[feature], signs={feature: sign})
    selector = of_size(4, constraints=limits, random_state=6)
    selector.fit(Stream(as_table(X, y), sample_rows=60), "y")
    place = selector.get_feature_names_out().tolist().index(feature)
    assert sign * selector.estimator_.coef_[0, place] > 0
    of_all = clone(selector.estimator_).fit(X[:, selector.subset_], y)
    assert sign * of_all.coef_[0, place] < 0


def test_batches_are_of_different_rows_on_the_scale_of_all(problem):
    task, *_, table = problem
    selector = of_size(3, task)
    rows = read_problem(selector, Stream(table, sample_rows=400), "y", "w", 0).usable()
    criterion = rows.criterion(1e-6)
    A, _ = engine.batch_criteria(rows, criterion, 6, 0.5)
    np.testing.assert_allclose(A.mean(axis=0), criterion.A, atol=0.05)
    # Variances differ by about sqrt(2 / 1200) if the scale is that of all rows.
    assert 0.01 < A.std(axis=0).diagonal().mean() < 0.1


def test_folds_are_parts_of_the_rows():
    seen = []

    def scoring(model, X, y, sample_weight):
        seen.append((X[:, 0].tolist(), sample_weight.sum()))
        return 0.0

    X, y = make_rows(n_rows=N)
    selector = over_sizes(sizes=[1], scoring=scoring, cv=4, random_state=1)
    selector.set_params(constraints=Constraints(always_include=["x0"]))
    selector.fit(Stream(as_table(X, y), sample_rows=400), "y")
    assert sum(weight for _, weight in seen) == pytest.approx(N)
    tested = [value for values, _ in seen for value in values]
    assert len(set(tested)) == len(tested) > 300


def test_folds_are_scored_on_rows_that_they_did_not_learn_from():
    """Labels are random: only training rows are better than chance."""
    rng = np.random.default_rng(0)
    table = as_table(rng.normal(size=(900, 40)), rng.integers(0, 2, 900))
    search = over_sizes(sizes=[20], cv=4).fit(Stream(table, sample_rows=450), "y")
    assert search.cv_results_["mean_test_score"][0] < 0.6


def test_a_function_of_the_rows_is_evaluated_on_the_sample():
    X, y = make_rows(n_rows=N)
    seen = []

    def correlation(X, y, sample_weight):
        seen.append((len(X), sample_weight.sum()))
        centred = (X - X.mean(axis=0)) / X.std(axis=0)
        return float(np.abs((y - y.mean()) @ centred).sum())

    selector = of_size(2, criterion=correlation).fit(Stream(as_table(X, y), sample_rows=400), "y")
    assert 300 < seen[0][0] < 500
    assert seen[0][1] == pytest.approx(N)
    wanted = of_size(2, criterion=lambda X, y: correlation(X, y, np.ones(len(X)))).fit(X, y)
    assert selector.subset_.tolist() == wanted.subset_.tolist()


def test_the_final_model_is_that_of_the_sample_if_rows_do_not_fit_into_memory(monkeypatch):
    X, y = make_rows(n_rows=N)
    monkeypatch.setattr(streaming, "MAX_FIT_BYTES", 5e4)
    ours = of_size(3).fit(Stream(as_table(X, y), sample_rows=700), "y")
    theirs = of_size(3).fit(X, y)
    assert np.abs(ours.estimator_.coef_ - theirs.estimator_.coef_).max() > 1e-3
    np.testing.assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_, rtol=0.3)


# ---- Small sources -------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 50, 2000])
@pytest.mark.parametrize("make", [of_size, over_sizes])
def test_a_small_source_is_read_whole(make, length):
    X, y = make_rows(n_rows=200)
    weight = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    table = as_table(X, y, weight)
    stream = Stream(lambda: table.to_batches(max_chunksize=length), sample_rows=200)
    ours, theirs = make().fit(stream, "y", sample_weight="w"), make().fit(X, y, weight)
    assert_same_answer(ours, theirs)


def test_columns_that_are_not_chosen_are_not_read():
    X, y = make_rows(n_rows=300)
    table = as_table(X, y).append_column("text", pa.array(["a"] * 300))
    selector = of_size(1).fit(Stream(table, ["x1", "x4", "y"], sample_rows=100), "y")
    assert selector.feature_names_in_.tolist() == ["x1", "x4"]


def test_dask_arrays_are_rows_too():
    da = pytest.importorskip("dask.array")
    X, y = make_rows(n_rows=300)
    weight = np.arange(300) % 3 + 1.0
    rows = da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=120)
    ours = of_size(2).fit(*rows, sample_weight=da.from_array(weight, chunks=77))
    assert_same_answer(ours, of_size(2).fit(X, y, weight))
    np.testing.assert_array_equal(
        ours.predict(rows[0]), ours.estimator_.predict(X[:, ours.subset_])
    )
    with pytest.raises(ValueError, match="y must be a Dask array"):
        of_size(2).fit(rows[0], y)


# ---- After the fit -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A selector fitted to a Parquet file of more rows than the sample, the file, and its rows."""
    X, y = make_rows(n_rows=N)
    path = parquet(tmp_path_factory.mktemp("rows"), as_table(X, y))
    stream = Stream(path, sample_rows=600)
    frame = as_table(X, y).drop_columns("y").to_pandas()
    return of_size(3).fit(stream, "y"), path, stream, frame, y


def test_predictions_take_the_file(fitted, tmp_path):
    selector, path, _, frame, y = fitted
    for name in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        predict = getattr(selector, name)
        np.testing.assert_array_equal(predict(path), predict(frame))
    np.testing.assert_array_equal(selector.transform(path), selector.transform(frame))
    assert selector.score(path, y) == selector.score(frame, y)
    for each in (selector, over_sizes(1).fit(frame, y)):
        assert each.score(path, "y") == each.score(frame, y)
    weight = frame["x0"].abs()
    weighted = parquet(tmp_path, pq.read_table(path).append_column("w", pa.array(weight)))
    ours = selector.score(weighted, "y", sample_weight="w")
    assert ours == selector.score(frame, y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"y must be the name .*; got 'z'"):
        selector.score(path, "z")
    rest = pq.read_table(path).select(["y", *reversed(frame.columns)])
    np.testing.assert_array_equal(
        selector.predict(parquet(tmp_path, rest)), selector.predict(frame)
    )
    unnamed = clone(selector).fit(frame.to_numpy(), y)
    with pytest.raises(ValueError, match="fitted without feature names"):
        unnamed.predict(path)
    with pytest.raises(ValueError, match=r"lacks columns of the fit: \['x4'\]"):
        selector.predict(parquet(tmp_path, rest.drop_columns("x4")))


QUESTIONS = {
    "stability": lambda *a: stability(*a, n_resamples=4, random_state=0).counts,
    "substitutes": lambda *a: substitutes(*a, cv=3)["replacement"],
    "evaluate_subsets": lambda *a: evaluate_subsets(*a, [[1], [1, 4]]).criterion_values,
    "prove": lambda *a: [prove(*a, time_limit=1e6).value],
    "near_optimal": lambda *a: near_optimal(*a, rtol=0.05, time_limit=1e6).values,
    "what_if": lambda *a: what_if(*a, n_features=6).A,
    "anneal_path": lambda *a: [r.criterion_value for r in anneal_path(*a, [1, 3])],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_take_the_file(fitted, question):
    selector, path, stream, frame, y = fitted
    before = vars(selector).copy()
    ask = QUESTIONS[question]
    theirs = ask(selector, frame, y)
    small, large = ask(selector, path, "y"), ask(selector, stream, "y")
    if question == "substitutes":
        assert small == theirs
        assert len(large) == len(theirs)
    else:
        np.testing.assert_array_equal(small, theirs)
        np.testing.assert_allclose(large, theirs, rtol=0.5 if question == "stability" else 1e-8)
    assert vars(selector) == before


# ---- Errors --------------------------------------------------------------------------------------


def changing(table, other):
    """A table at first, in the pass after that another one."""
    tables = iter([table, table, other, other, other])
    return lambda: next(tables)


def with_value(table, name, value, row=5):
    column = table[name].to_pylist()
    column[row] = value
    return table.set_column(table.column_names.index(name), name, pa.array(column))


X, Y = make_rows(n_rows=600)
ROWS = as_table(X, Y, np.ones(600))
LABELS = pa.array(np.where(np.arange(600) < 300, "a", "b"))
REFUSED = {
    "y as an array": (ROWS, {"y": Y}, "y must be the name of a column .*; got ndarray"),
    "unknown y": (ROWS, {"y": "z"}, "y must be the name of a column .*; got 'z'"),
    "unknown weight": (ROWS, {"sample_weight": "z"}, "sample_weight must be the name of a column"),
    "weight as an array": (ROWS, {"sample_weight": X[:, 0]}, "sample_weight must be .* ndarray"),
    "negative weight": (with_value(ROWS, "w", -1.0), {}, "Weights must not be negative"),
    "weight of text": (ROWS.set_column(9, "w", LABELS), {}, "not numbers: .'w'"),
    "no weight": (
        ROWS.set_column(9, "w", pa.array(np.zeros(600))),
        {},
        "at least 2 rows with a weight",
    ),
    "text": (ROWS.append_column("t", LABELS), {}, "not numbers: .'t'.*Stream"),
    "no features": (ROWS.select(["y", "w"]), {}, "no column except the target"),
    "no rows": (ROWS.slice(0, 0).to_pandas(), {}, "has no rows"),
    "missing value": (with_value(ROWS, "x3", None), {}, "'x3' .* missing"),
    "not a number": (with_value(ROWS, "x3", np.nan, 599), {}, "'x3' .* missing"),
    "infinite value": (with_value(ROWS, "x3", -np.inf), {}, "'x3' .* infinite value"),
    "missing label": (with_value(ROWS, "y", None), {}, "'y' has missing values"),
    "one class": (ROWS.set_column(8, "y", pa.array(np.ones(600))), {}, "1 class"),
    "one row of a class": (with_value(ROWS, "y", 7), {}, "at least 2 rows"),
    "continuous": (ROWS.set_column(8, "y", ROWS["x0"]), {}, "continuous"),
    "fewer rows": (changing(ROWS, ROWS.slice(1)), {}, "changed while it was read.* 599 now"),
    "a new label": (changing(ROWS, with_value(ROWS, "y", 7)), {}, "changed while it was read"),
    "cv of rows": (ROWS, {"cv": StratifiedKFold(3)}, "cv must be None or an integer"),
    "too many folds": (ROWS, {"cv": 21}, "n_splits=21 greater than the number of .*=20"),
    "groups": (ROWS, {"groups": "w"}, "groups"),
    "class weight of zero": (ROWS, {"class_weight": {0: 0.0}}, "at least 2 rows with a weight"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_learnt_is_refused(case):
    given, how, match = REFUSED[case]
    how = {"y": "y", "sample_weight": "w", "cv": 3, "class_weight": None} | how
    selector = over_sizes(2, cv=how.pop("cv"), class_weight=how.pop("class_weight"))
    with pytest.raises(ValueError, match=match):
        selector.fit(Stream(given, sample_rows=100), **how)


def test_a_target_of_text_is_no_target_of_a_regression():
    table = ROWS.set_column(8, "y", LABELS)
    with pytest.raises(ValueError, match=r"not numbers: .'y'"):
        of_size(2, "regression").fit(table, "y")


def test_too_many_features_are_refused_with_the_numbers(monkeypatch):
    monkeypatch.setattr(streaming, "MAX_BYTES", 1e4)
    with pytest.raises(ValueError, match=r"9 features and 2 classes would take .* GB .*Stream\("):
        of_size(2).fit(Stream(ROWS, sample_rows=100), "y")


def test_a_parameter_error_names_its_parameter():
    with pytest.raises(ParameterError) as raised:
        of_size(2).fit(ROWS, "z")
    assert raised.value.parameter == "y"
