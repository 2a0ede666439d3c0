"""Selectors on rows that are read in passes, against the same selectors with all rows in memory."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import r2_score, roc_auc_score

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    ParameterError,
    SeparationWarning,
    Stream,
)
from safdr._engine.streaming.positions import buckets_of
from safdr._estimators.folds import slope_of_folds
from safdr._estimators.parameters import seed_from
from safdr._estimators.streamed.folds import buckets_of_folds

N_ROWS, N_FEATURES = 12_000, 8
# As many replicas as by default: with few of them other noise finds other subsets.
QUICK = Annealing(max_steps=40)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)) @ (np.eye(8) + 0.3 * rng.normal(size=(8, 8)))
    X[:, 2] = np.exp(X[:, 2])
    X[:, 5] += 1e6
    value = 1.5 * X[:, 0] - X[:, 1] + 0.7 * np.log(X[:, 2]) + 0.4 * X[:, 3]
    noise = rng.logistic(size=N_ROWS)
    return X, value + 2 * noise, rng.integers(0, 3, N_ROWS).astype(float)


def labels(rows, kind):
    _, value, _ = rows
    if kind == "two":
        return (value > 4).astype(int)
    return np.array(["low", "mid", "top"])[np.digitize(value, [-2, 3])]


def stream(X, y, weight=None, *, sample_rows=3000, length=1700):
    """A source of tables of so many rows."""
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y}
    table = pa.table(columns if weight is None else columns | {"w": weight})
    return Stream(lambda: table.to_batches(max_chunksize=length), sample_rows=sample_rows)


@pytest.mark.parametrize("kind", ["two", "three"])
@pytest.mark.parametrize("C", [np.inf, 0.01])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_answer_is_that_of_all_rows(rows, kind, C, weighted):
    X, _, weight = rows
    y = labels(rows, kind)
    how = {"annealing": QUICK, "C": C, "random_state": 1}
    given = weight if weighted else None
    streamed = AnnealingSelector(3, **how)
    streamed.fit(stream(X, y, given), "y", sample_weight="w" if weighted else None)
    whole = AnnealingSelector(3, **how).fit(X, y, sample_weight=given)
    np.testing.assert_array_equal(streamed.subset_, whole.subset_)
    assert streamed.criterion_value_ == pytest.approx(whole.criterion_value_, rel=1e-9)
    assert streamed.loss_ == pytest.approx(whole.loss_, abs=1e-9)
    ours, theirs = streamed.estimator_, whole.estimator_
    deviation = X[:, whole.subset_].std(axis=0)
    np.testing.assert_allclose(ours.coef_ * deviation, theirs.coef_ * deviation, atol=2e-5)
    np.testing.assert_array_equal(streamed.classes_, whole.classes_)
    assert streamed.streamed_["n_rows"] == N_ROWS
    assert streamed.streamed_["n_sample_rows"] <= 3000


def test_the_model_is_scikit_learns_optimum(rows):
    X, y = rows[0], labels(rows, "two")
    selector = AnnealingSelector(2, annealing=QUICK, C=np.inf, random_state=0)
    selector.fit(stream(X, y), "y")
    Z = X[:, selector.subset_]
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(Z, y)
    np.testing.assert_allclose(selector.estimator_.coef_, model.coef_, rtol=1e-4)
    np.testing.assert_array_equal(selector.estimator_.predict(Z), model.predict(Z))


@pytest.mark.parametrize("cv", [None, 3])
def test_scores_are_those_of_all_test_rows(rows, cv):
    X, y = rows[0], labels(rows, "two")
    search = AnnealingSelectorCV(max_features=3, annealing=QUICK, cv=cv, C=1.0, random_state=3)
    search.fit(stream(X, y), "y")
    n_buckets, seed = 20 if cv is None else 21, seed_from(3)
    bucket = buckets_of(np.arange(N_ROWS), seed, n_buckets)
    for fold, tests in enumerate(buckets_of_folds(cv, n_buckets, seed)):
        test = np.isin(bucket, tests)
        for i, size in enumerate((1, 2, 3)):
            subset = np.flatnonzero(search.cv_results_[f"split{fold}_support"][i])
            assert len(subset) == size
            Z = (X[:, subset] - X[~test][:, subset].mean(0)) / X[~test][:, subset].std(0)
            model = LogisticRegression(C=1.0, tol=1e-10).fit(Z[~test], y[~test])
            wanted = roc_auc_score(y[test], model.decision_function(Z[test]))
            got = search.cv_results_[f"split{fold}_test_score"][i]
            # Values beyond those of training count as the nearest, which moves a few rows.
            assert got == pytest.approx(wanted, abs=3e-4)
            loss = search.cv_results_[f"split{fold}_cross_entropy"][i]
            penalty = 0.5 * np.sum(model.coef_**2) / np.sum(~test)
            p = model.predict_proba(Z[~test])[np.arange(np.sum(~test)), y[~test]]
            assert loss == pytest.approx(-np.log(p).mean() + penalty, abs=1e-7)
    assert search.streamed_["scored_on"].startswith("all rows, right to")


def test_regression_needs_no_sample(rows):
    X, y, weight = rows
    how = {"max_features": 4, "annealing": QUICK, "random_state": 1}
    search = AnnealingRegressorSelectorCV(**how).fit(stream(X, y, weight), "y", sample_weight="w")
    whole = AnnealingRegressorSelector(search.n_features_, annealing=QUICK, random_state=1)
    whole.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(search.subset_, whole.subset_)
    assert search.loss_ == pytest.approx(whole.loss_, rel=1e-9)
    np.testing.assert_allclose(search.estimator_.coef_, whole.estimator_.coef_, rtol=1e-6)
    seed = seed_from(1)
    bucket, tests = buckets_of(np.arange(N_ROWS), seed, 20), buckets_of_folds(None, 20, seed)
    present = weight > 0
    test, train = np.isin(bucket, tests[0]) & present, ~np.isin(bucket, tests[0]) & present
    subset = np.flatnonzero(search.cv_results_["split0_support"][2])
    A = np.c_[X[:, subset] - X[:, subset].mean(0), np.ones(N_ROWS)]
    root = np.sqrt(weight)[:, None]
    slopes = np.linalg.lstsq((A * root)[train], y[train] * root[train, 0], rcond=None)[0]
    wanted = r2_score(y[test], A[test] @ slopes, sample_weight=weight[test])
    assert search.cv_results_["split0_test_score"][2] == pytest.approx(wanted, abs=1e-6)
    assert search.streamed_["scored_on"] == "all rows"


def test_other_scores_are_those_of_the_sample_and_say_so(rows):
    X, y = rows[0], labels(rows, "two")
    how = {"max_features": 2, "annealing": QUICK, "C": 1.0, "random_state": 0}
    search = AnnealingSelectorCV(scoring="accuracy", **how).fit(stream(X, y), "y")
    assert search.streamed_["scored_on"].startswith("a sample of ")
    whole = AnnealingSelectorCV(scoring="accuracy", **how).fit(X, y)
    ours, theirs = (s.cv_results_["mean_test_score"] for s in (search, whole))
    # The sample has as many rows of each class; weights make up for that.
    np.testing.assert_allclose(ours, theirs, atol=0.03)


@pytest.mark.parametrize("length", [100, 999, 12_000])
def test_few_rows_give_the_answer_in_memory(rows, length):
    X, y = rows[0][:2500], labels(rows, "two")[:2500]
    how = {"max_features": 3, "annealing": QUICK, "random_state": 5}
    streamed = AnnealingSelectorCV(**how).fit(stream(X, y, length=length), "y")
    whole = AnnealingSelectorCV(**how).fit(X, y)
    for name, values in whole.cv_results_.items():
        np.testing.assert_array_equal(streamed.cv_results_[name], values)
    np.testing.assert_array_equal(streamed.estimator_.coef_, whole.estimator_.coef_)
    assert streamed.feature_names_in_.tolist() == [f"x{j}" for j in range(N_FEATURES)]
    assert not hasattr(streamed, "streamed_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"criterion": "fisher"},
        {"ridge": 1e-6},
        {"prove": 5.0},
        {"class_weight": "balanced"},
        {"class_weight": {0: 1.0, 1: 4.0}},
        {"constraints": Constraints(always_include=["x7"], never_include=["x0"])},
        {"constraints": Constraints(groups=[["x0", "x4"], ["x1", "x6"]])},
        {"feature_cost": {"x0": 0.5}},
    ],
    ids=str,
)
def test_parameters_mean_the_same(rows, parameters):
    X, y = rows[0], labels(rows, "two")
    how = {"C": 1.0, "annealing": QUICK, "random_state": 0} | parameters
    streamed = AnnealingSelector(3, **how).fit(stream(X, y, sample_rows=6000), "y")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(N_FEATURES)])
    whole = AnnealingSelector(3, **how).fit(frame, y)
    np.testing.assert_array_equal(streamed.subset_, whole.subset_)
    assert streamed.loss_ == pytest.approx(whole.loss_, abs=1e-8)


@pytest.mark.parametrize("class_weight", [None, {0: 1.0, 1: 4.0}], ids=str)
def test_the_calibration_slope_counts_classes_by_their_weights(rows, class_weight, monkeypatch):
    X, y = rows[0], labels(rows, "two")
    seen = []

    def kept(data, folds, scores):
        seen.append(folds)
        return slope_of_folds(data, folds, scores)

    monkeypatch.setattr("safdr._estimators.cross_validated.slope_of_folds", kept)
    how = {"max_features": 2, "annealing": QUICK, "random_state": 0, "class_weight": class_weight}
    AnnealingSelectorCV(**how).fit(stream(X, y, sample_rows=2000), "y")
    (folds,) = seen
    fold = folds[0]
    _, labels_of_rows, weight = folds.rows.sampled(folds.tests[0])
    factor = np.where(labels_of_rows == 1, 4.0, 1.0) if class_weight else 1.0
    np.testing.assert_allclose(fold.weight_test, weight * factor)


def test_the_same_seed_gives_the_same_answer(rows):
    X, y = rows[0], labels(rows, "two")
    searches = [
        AnnealingSelectorCV(max_features=3, annealing=QUICK, random_state=0, n_jobs=n_jobs).fit(
            stream(X, y), "y"
        )
        for n_jobs in (1, 2)
    ]
    for name, values in searches[0].cv_results_.items():
        np.testing.assert_array_equal(searches[1].cv_results_[name], values)
    np.testing.assert_array_equal(*(search.estimator_.coef_ for search in searches))


def test_neighbours_on_the_sample_are_told_apart_by_all_rows():
    """Two features are so much alike that a sample can't say which is better."""
    rng = np.random.default_rng(0)
    n = 40_000
    truth = rng.normal(size=n)
    X = np.c_[truth + 0.5 * rng.normal(size=n), truth + 0.52 * rng.normal(size=n)]
    X = np.c_[X, rng.normal(size=(n, 4))]
    y = (truth + rng.logistic(size=n) > 0).astype(int)
    # Six subsets are all looked at by as many replicas, whatever the seed.
    how = {"annealing": Annealing(n_replicas=20), "C": 1.0}
    whole = AnnealingSelector(1, random_state=0, **how).fit(X, y)
    for seed in range(5):
        selector = AnnealingSelector(1, random_state=seed, **how)
        selector.fit(stream(X, y, sample_rows=400), "y")
        assert selector.loss_ <= whole.loss_ + 1e-9


@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_column_that_hardly_changes_in_the_sample(C):
    """Its curvature there is none, so that a step by it goes anywhere."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] + 2 * rng.logistic(size=20_000) > 0).astype(int)
    X[:, 4] = 0
    X[rng.choice(np.flatnonzero(y == 1), 15, replace=False), 4] = 1
    X[rng.choice(np.flatnonzero(y == 0), 5, replace=False), 4] = 1
    how = {"annealing": QUICK, "C": C, "random_state": 0}
    constraints = Constraints(always_include=["x4"])
    streamed = AnnealingSelector(3, constraints=constraints, **how)
    streamed.fit(stream(X, y, sample_rows=500), "y")
    whole = AnnealingSelector(3, constraints=Constraints(always_include=[4]), **how).fit(X, y)
    np.testing.assert_array_equal(streamed.subset_, whole.subset_)
    assert streamed.loss_ == pytest.approx(whole.loss_, abs=1e-8)
    search = AnnealingSelectorCV(max_features=3, constraints=constraints, **how)
    search.fit(stream(X, y, sample_rows=500), "y")
    assert np.all(search.cv_results_["mean_cross_entropy"] > 0.3)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rows_of_others", [0, 1])
def test_separation_in_part_is_told_as_in_memory(n_classes, rows_of_others):
    """A flag that one class alone has; or not alone, by a single row."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 2))
    y = np.digitize(X[:, 0] + rng.logistic(size=4000), [-0.7, 0.7][: n_classes - 1])
    X[:, 1] = (y == 1) & (rng.random(4000) < 0.03)
    X[np.flatnonzero(y == 0)[:rows_of_others], 1] = 1
    how = {"annealing": QUICK, "C": np.inf, "random_state": 0}
    whole, streamed = (AnnealingSelector(2, **how) for _ in range(2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole.fit(X, y)
        streamed.fit(stream(X, y, sample_rows=800), "y")
    separated = rows_of_others < n_classes - 1
    assert [each.category for each in caught] == [SeparationWarning] * 2 * separated
    assert streamed.loss_ == pytest.approx(whole.loss_, abs=1e-7)


def test_a_random_state_is_drawn_from_once(rows):
    X, y = rows[0][:2000], labels(rows, "two")[:2000]
    found = [
        AnnealingSelector(4, annealing=QUICK, random_state=np.random.RandomState(0)).fit(*given)
        for given in ((stream(X, y), "y"), (X, y))
    ]
    np.testing.assert_array_equal(*(each.result_.subsets for each in found))


@pytest.mark.parametrize("scoring", ["roc_auc", "r2", "neg_log_loss"])
def test_any_scoring_that_fits_the_task(rows, scoring):
    X = rows[0]
    how = {"max_features": 1, "annealing": QUICK, "random_state": 0}
    y = labels(rows, "two")
    search = AnnealingSelectorCV(scoring=scoring, **how).fit(stream(X, y), "y")
    whole = AnnealingSelectorCV(scoring=scoring, **how).fit(X, y)
    ours, theirs = (each.cv_results_["mean_test_score"] for each in (search, whole))
    # R² of labels is far noisier than the rest.
    np.testing.assert_allclose(ours, theirs, atol=0.2 if scoring == "r2" else 0.05)
    if scoring == "roc_auc":
        with pytest.raises(ValueError, match="multi_class must be in"):
            AnnealingSelectorCV(scoring=scoring, **how).fit(stream(X, labels(rows, "three")), "y")


# ---- What needs all rows ----------------------------------------------------------------------


IN_MEMORY = [
    {"clip": 0.01},
    {"estimator": LogisticRegression()},
]


@pytest.mark.parametrize("how", IN_MEMORY, ids=str)
def test_what_needs_all_rows_has_them_where_they_are_few(rows, how):
    X, y = rows[0][:400], labels(rows, "two")[:400]
    selector = AnnealingSelector(2, random_state=0, **how)
    expected = clone(selector).fit(X, y)
    found = clone(selector).fit(stream(X, y, sample_rows=400), "y")
    np.testing.assert_array_equal(found.subset_, expected.subset_)
    assert found.loss_ == expected.loss_
    with pytest.raises(ParameterError, match="read in passes") as caught:
        selector.fit(stream(X, y, sample_rows=399), "y")
    assert caught.value.parameter == next(iter(how))


# ---- What is wrong -----------------------------------------------------------------------------


def refused(match, table, selector=None, error=ValueError, **params):
    with pytest.raises(error, match=match):
        (selector or AnnealingSelector(1)).fit(Stream(table, sample_rows=50), "y", **params)


def test_errors_name_the_column_and_what_to_do():
    n = 200
    x, y = np.arange(n) * 1.0, np.arange(n) % 2
    good = pa.table({"x": x, "y": y})
    gap = x.copy()
    gap[150] = np.nan
    refused("Column 'x' of the data frame holds missing values", pa.table({"x": gap, "y": y}))
    gap[150] = np.inf
    refused("Column 'x' .* infinite", pa.table({"x": gap, "y": y}))
    text = pa.table({"x": x, "name": ["a"] * n, "y": y})
    refused("1 column\\(s\\) that are not numbers: 'name'", text)
    refused("holds one class only, 0", pa.table({"x": x, "y": y * 0}))
    refused("numbers with fractions, and looks measured", pa.table({"x": x, "y": x / 3}))
    refused(r"1 row\(s\) of class 1", pa.table({"x": x, "y": (x == 5).astype(int)}))
    missing = pa.table({"x": x, "y": pa.array([None, *y[1:].tolist()])})
    refused("target 'y' .* is missing in row 0", missing)
    refused("no column besides the target", pa.table({"y": y}))
    refused("must name a column .* no 'w'", good, error=ParameterError, sample_weight="w")
    refused("must be the name of a column", good, error=ParameterError, sample_weight=x)
    negative = pa.table({"x": x, "y": y, "w": x - 5})
    refused("weights in column 'w' .* row 0 has -5.0", negative, sample_weight="w")
    own = AnnealingSelector(1, estimator=LogisticRegression())
    refused("of your own needs all rows", good, own, error=ParameterError)
    folds = [(np.arange(100), np.arange(100, 200))]
    own = AnnealingSelectorCV(max_features=1, cv=folds)
    refused("cv must be None or a whole number", good, own, error=ParameterError)
    refused("all of them are constant", pa.table({"x": x * 0, "y": y}))
    refused("holds 0 row\\(s\\) of class 1 with a weight", pa.table({"x": x, "y": y, "w": 1.0 - y}),
            sample_weight="w")  # fmt: skip
    refused("1.0e-14 of the weight", pa.table({"x": x, "y": y, "w": np.where(x < 9, 1e-14, 1)}),
            sample_weight="w")  # fmt: skip
    dates = pa.table({"x": x, "y": np.array(["2024-01-01", "2024-01-02"], dtype="M8[ms]")[y]})
    refused("holds dates or times", dates)
    for given in ("no.parquet", Stream(good), lambda: [good]):
        with pytest.raises(ValueError, match=r"must be the name of a column|There is no file"):
            AnnealingSelector(1).fit(given, y)
    with pytest.raises(ValueError, match="split by buckets"):
        AnnealingSelectorCV(max_features=1).fit(good, "y", groups=y)
    regressor = AnnealingRegressorSelector(1)
    refused("is 2 in every row", pa.table({"x": x, "y": x * 0 + 2}), regressor)
    refused("must name a column of numbers", pa.table({"x": x, "y": x.astype(str)}), regressor,
            error=ParameterError)  # fmt: skip
    refused("must hold finite numbers", pa.table({"x": x, "y": gap}), regressor)


def test_rare_classes_small_samples_and_wide_tables_are_told_in_time():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=3000), np.repeat([0, 1], [2997, 3])
    table = pa.table({"x": x, "z": rng.normal(size=3000), "y": y})
    search = AnnealingSelectorCV(max_features=1, random_state=0)
    with pytest.raises(ValueError, match=r"row\(s\) of class 1 to \w+.*: too few"):
        search.fit(Stream(table, sample_rows=500), "y")
    with pytest.raises(ValueError, match="sample of 2 rows is too small for the 2 classes"):
        search.fit(Stream(table, sample_rows=3), "y")
    wide = pa.table({f"x{j}": x[:30] for j in range(5000)} | {"y": y[-30:]})
    with pytest.raises(ValueError, match=r"would take 4\.1 GB, and 4 GB is the most"):
        search.fit(Stream(wide, sample_rows=20), "y")
    many = pa.table({"x": np.arange(2000), "y": np.arange(2000)})
    refused("more than 1000 different values, and looks measured", many)


def test_a_class_is_a_class_whatever_its_label():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 3))
    z = np.digitize(X[:, 0] + 0.5 * rng.normal(size=2000), [0.0])
    for labels in (z == 1, z * 1.0, z + 2**60, np.array(["ä", "b"])[z], z.astype(np.int8)):
        table = pa.table({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": labels})
        selector = AnnealingSelector(1, random_state=0).fit(Stream(table, sample_rows=500), "y")
        np.testing.assert_array_equal(selector.classes_, np.unique(labels))
        assert selector.subset_.tolist() == [0]
        whole = AnnealingSelector(1, random_state=0).fit(X, labels)
        assert selector.loss_ == pytest.approx(whole.loss_, abs=1e-9)
    frame = table.to_pandas().assign(y=z).astype({"y": "category"})
    selector = AnnealingSelector(1, random_state=0).fit(Stream(frame, sample_rows=500), "y")
    np.testing.assert_array_equal(selector.classes_, [0, 1])


def test_a_source_that_grows_is_told(rows):
    X, y = rows[0], labels(rows, "two")
    table = pa.table({"x": X[:, 0], "z": X[:, 1], "y": y})
    lengths = iter([100, 4000, 3900, 3900])
    with pytest.raises(ValueError, match="had 4000 rows when it was first read, and 3900 now"):
        AnnealingSelector(1).fit(
            Stream(lambda: [table.slice(0, next(lengths))], sample_rows=500), "y"
        )
    lengths = iter([100, 4000, 4000, 3900])
    with pytest.raises(ValueError, match="had 4000 rows when it was first read, and 3900 now"):
        AnnealingSelector(1).fit(
            Stream(lambda: [table.slice(0, next(lengths))], sample_rows=500), "y"
        )
    other = table.set_column(2, "y", pa.array(np.where(y == 1, 5, y)))
    tables = iter([table, table, other])
    with pytest.raises(ValueError, match="a label that it did not hold in the first pass"):
        AnnealingSelector(1).fit(Stream(lambda: [next(tables)], sample_rows=500), "y")
