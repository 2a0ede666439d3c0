"""What can't work is refused before anything is searched, in words that say what and why.

One table for each surface: a call, the exception, and words that must be in its message.
"""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

from helpers.questions import evaluated
from helpers.selectors import make_rows, of_size, over_sizes
from safdr import (
    Annealing,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    ParameterError,
    PopulationAnnealing,
    Stream,
    stability,
    what_if,
)

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

X, Y = make_rows()
X3, Y3 = make_rows("three")
XR, YR = make_rows("regression")
FRAME = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])


def assert_refused(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    for word in words:
        assert word in message, message
    assert "Traceback" not in message
    return caught.value


def table(*rows):
    """Cases with readable names."""
    return pytest.mark.parametrize(
        ("call", "kind", "words"),
        [pytest.param(*row, id=f"{i}-{row[2][0]}") for i, row in enumerate(rows)],
    )


def changed(array, index, value):
    array = np.array(array, copy=True)
    array[index] = value
    return array


# ---- Parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "name", "value"),
    [
        *((of_size(), "n_features_to_select", v) for v in (0, -3, 1.5, 0.0, "three")),
        *((of_size(), "annealing", v) for v in ("fast", 5)),
        *((of_size(), "C", v) for v in (0.0, -1.0, np.nan, "much")),
        *((of_size(), "random_state", v) for v in ("seed", -1, 2.5)),
        *((of_size(), "n_jobs", v) for v in (1.5, "all")),
        (of_size(), "criterion", "entropy"),
        (of_size(), "estimator", "logistic"),
        (of_size(), "constraints", {"always_include": [0]}),
        (of_size(), "class_weight", "equal"),
        *((over_sizes(), "rule", v) for v in ("two_sd", 3)),
        *((over_sizes(), "cv", v) for v in (1, "five")),
    ],
    ids=lambda value: getattr(type(value), "__name__", "") if hasattr(value, "fit") else None,
)
def test_a_parameter_is_refused_with_its_name_and_value(selector, name, value):
    call = lambda: type(selector)(**selector.get_params(False) | {name: value}).fit(X, Y)  # noqa: E731
    words = [name] if name in ("cv", "random_state") else [name, str(value)[:5]]
    assert_refused(call, (ValueError, TypeError), words)


@pytest.mark.parametrize("kind", [Annealing, PopulationAnnealing])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sweeps", 0.0),
        ("max_steps", 0),
        ("max_steps", 2.5),
        ("tol", -1e-3),
        ("n_iter_no_change", 0),
        ("n_batches", 0),
        ("batch_fraction", 0.0),
        ("batch_fraction", 1.01),
        ("batch_fraction", np.nan),
    ],
)
def test_a_parameter_of_the_annealing_is_refused(kind, name, value):
    assert_refused(
        lambda: of_size(annealing=kind(**{name: value})).fit(X, Y), ValueError, [name, repr(value)]
    )


@table(
    (lambda: of_size(annealing=Annealing(n_replicas=0)).fit(X, Y), ValueError, ["n_replicas", "0"]),
    (
        lambda: of_size(annealing=Annealing(temperature_step=-0.7)).fit(X, Y),
        ValueError,
        ["temperature_step", "-0.7"],
    ),
    (lambda: of_size(9).fit(X, Y), ValueError, ["at most 8, the number of columns; got 9"]),
    (lambda: AnnealingSelector(1, 2), TypeError, ["positional"]),
    (lambda: AnnealingSelector(k=3), TypeError, ["k"]),
    (lambda: of_size(estimator=LinearRegression()).fit(X, Y), ValueError, ["classifier"]),
    (
        lambda: of_size(3, "regression", estimator=LogisticRegression()).fit(XR, YR),
        ValueError,
        ["regressor"],
    ),
    (
        lambda: of_size(class_weight={2: 1.0}).fit(X, Y),
        ValueError,
        ["class_weight", "lacks", "[2]"],
    ),
    (
        lambda: of_size(class_weight={0: -1.0}).fit(X, Y),
        ValueError,
        ["class_weight", "not be negative"],
    ),
    (
        lambda: of_size(feature_cost=[1.0]).fit(X, Y),
        ValueError,
        ["feature_cost", "8"],
    ),
    (lambda: over_sizes(scoring="nonsense").fit(X, Y), ValueError, ["nonsense"]),
    (lambda: over_sizes(cv=[]).fit(X, Y), ValueError, ["cv", "at least one split"]),
    (lambda: over_sizes(cv=[([0, 999], [1])]).fit(X, Y), IndexError, ["999"]),
    (lambda: over_sizes([]).fit(X, Y), ValueError, ["sizes", "at least one"]),
    (lambda: over_sizes([2, 9]).fit(X, Y), ValueError, ["sizes", "at most 8", "got 9"]),
    (
        lambda: over_sizes(2, cv=KFold(2)).fit(X, Y, groups=Y),
        ValueError,
        ["groups", "no effect"],
    ),
    (lambda: over_sizes(rule=lambda _: 9).fit(X, Y), ValueError, ["rule", "index", "got 9"]),
    (lambda: over_sizes(rule=lambda _: 1.5).fit(X, Y), ValueError, ["rule", "index", "1.5"]),
    (lambda: over_sizes().fit(X, Y, thing=1), (ValueError, TypeError), ["thing"]),
    (lambda: of_size().predict(X), NotFittedError, ["not fitted"]),
    (lambda: of_size().fit(X, Y).predict(X[:, :5]), ValueError, ["5", "8"]),
    (lambda: of_size().fit(X, Y).score(X, Y[:9]), ValueError, ["inconsistent"]),
)
def test_a_call_is_refused(call, kind, words):
    assert_refused(call, kind, words)


def test_a_refused_parameter_can_be_read():
    """Programs read the name, people the message; it is a ValueError."""
    error = assert_refused(lambda: of_size(99).fit(X, Y), ParameterError, ["99"])
    assert isinstance(error, ValueError)
    assert error.parameter == "n_features_to_select"


def test_a_name_that_nearly_fits_is_suggested():
    limits = Constraints(always_include="x9")
    assert_refused(lambda: of_size(constraints=limits).fit(FRAME, Y), ValueError, ["'x9'", "lacks"])
    long = FRAME.rename(columns={"x1": "height"})
    limits = Constraints(always_include="heigth")
    call = lambda: of_size(constraints=limits).fit(long, Y)  # noqa: E731
    assert_refused(call, ValueError, ["'heigth'", "'height'"])


# ---- Constraints ---------------------------------------------------------------------------------


def limited(size=2, data=FRAME, **how):
    return lambda: of_size(size, constraints=Constraints(**how)).fit(data, Y)


@table(
    (limited(always_include=["x1", "x2", "x3"]), ValueError, ["n_features_to_select", "least 3"]),
    (
        limited(never_include=list(range(7))),
        ValueError,
        ["most 1, because of never_include; got 2"],
    ),
    (limited(at_most_one_of=[list(range(8))]), ValueError, ["at_most_one_of", "most 1"]),
    (limited(always_include="x1", never_include="x1"), ValueError, ["x1", "both"]),
    (
        limited(always_include=["x1", "x2"], at_most_one_of=[["x1", "x2"]]),
        ValueError,
        ["at_most_one_of"],
    ),
    (limited(groups=[["x0", "x1"], ["x1", "x2"]]), ValueError, ["groups", "'x1'"]),
    (
        limited(groups=[["x0", "x1"]], never_include="x0"),
        ValueError,
        ["never_include", "all columns of a group"],
    ),
    (limited(always_include="y1"), ValueError, ["always_include", "y1", "lacks"]),
    (limited(always_include=[8]), ValueError, ["always_include", "8"]),
    (limited(always_include=[-9]), ValueError, ["always_include", "-9"]),
    (limited(never_include=[1.5]), ValueError, ["never_include", "1.5"]),
    (limited(always_include="x1", data=X), ValueError, ["always_include", "set_output"]),
    (limited(always_include=np.ones(5, dtype=bool)), ValueError, ["always_include", "8"]),
    (limited(signs={"x1": 2}), ValueError, ["signs", "2"]),
    (limited(signs={"x1": "up"}), ValueError, ["signs", "'+'", "'up'"]),
    (limited(signs={"x9": 1}), ValueError, ["signs", "x9"]),
    (limited(groups=[[]]), ValueError, ["groups"]),
    (
        lambda: over_sizes(3, constraints=Constraints(always_include=[0, 1, 2, 3])).fit(X, Y),
        ValueError,
        ["at least 4", "always_include"],
    ),
)
def test_constraints_that_cannot_hold_are_refused(call, kind, words):
    assert_refused(call, kind, words)


# ---- Rows ----------------------------------------------------------------------------------------


def fitting(rows=X, target=Y, selector=None, **how):
    return lambda: (selector or of_size()).fit(rows, target, **how)


FOLDS = np.argsort(Y, kind="stable")
ROW = np.arange(240)
HALVES = [(ROW[:100], ROW[100:])]


@table(
    (fitting(changed(X, (3, 4), np.nan)), ValueError, ["X", "NaN"]),
    (fitting(changed(X, (3, 4), np.inf)), ValueError, ["X", "inf"]),
    (fitting(sparse.csr_array(changed(X, (3, 4), np.nan))), ValueError, ["NaN"]),
    (fitting(X + 1j), ValueError, ["omplex"]),
    (fitting(X[:, 0]), ValueError, ["2D"]),
    (fitting(X[:0], Y[:0]), ValueError, ["0 sample"]),
    (fitting(X[:, :0]), ValueError, ["0 feature"]),
    (fitting(np.ones((240, 3))), ValueError, ["3 feature", "constant"]),
    (fitting(changed(X.astype(object), (0, 1), "red")), ValueError, ["red"]),
    (fitting(FRAME.assign(colour="red")), ValueError, ["'colour'", "number"]),
    (fitting(pl.DataFrame({"colour": ["red"] * 240})), ValueError, ["'colour'", "number"]),
    (
        fitting(FRAME.assign(day=pd.date_range("2020-01-01", periods=240))),
        ValueError,
        ["'day'"],
    ),
    (fitting(changed(FRAME, (3, 4), np.nan)), ValueError, ["NaN"]),
    (fitting(pd.DataFrame(X[:, :2], columns=["a", "a"])), ValueError, ["unique", "'a' 2 times"]),
    (
        fitting(pl.DataFrame(X).lazy()),
        ValueError,
        ["y must be the name", "lazy frame"],
    ),
    (fitting(target=Y[:99]), ValueError, ["240", "99"]),
    (fitting(target=None), ValueError, ["y"]),
    (fitting(target=np.full(240, "spam")), ValueError, ["1 class", "spam"]),
    (fitting(target=X[:, 0]), ValueError, ["label type", "regression target"]),
    (fitting(target=np.arange(240) == 7), ValueError, ["at least 2 rows", "True"]),
    *(
        (fitting(target=target), ValueError, ["y has 2 missing value(s). Drop"])
        for labels in (np.where(Y, "a", "b").astype(object), Y.astype(object))
        for gap in (None, np.nan, pd.NA)
        for gaps in [pd.Series(changed(labels, [3, 5], gap))]
        for target in (gaps, gaps.convert_dtypes())
    ),
    (fitting(target=changed(Y.astype(object), 3, np.nan)), ValueError, ["contains NaN"]),
    (fitting(XR, XR[:, 0] * 0 + 2, of_size(3, "regression")), ValueError, ["y", "constant"]),
    (fitting(XR, np.where(Y, "a", "b"), of_size(3, "regression")), ValueError, ["string"]),
    (
        fitting(XR, changed(YR, 3, np.nan), of_size(3, "regression")),
        ValueError,
        ["y contains NaN"],
    ),
    (fitting(sample_weight=np.ones(9)), ValueError, ["sample_weight", "240"]),
    (fitting(sample_weight=np.full(240, np.nan)), ValueError, ["NaN"]),
    (fitting(sample_weight=np.full(240, -1.0)), ValueError, ["egative"]),
    (fitting(sample_weight=np.zeros(240)), ValueError, ["weight", "zero"]),
    (fitting(sample_weight=Y), ValueError, ["class"]),
    (
        fitting(X[FOLDS][100:220], Y[FOLDS][100:220], over_sizes(2, cv=KFold(2))),
        ValueError,
        ["Fold 0", "at least 2 rows"],
    ),
    (
        fitting(X[FOLDS], Y[FOLDS], over_sizes(2, cv=KFold(4))),
        ValueError,
        ["fold 0", "nan"],
    ),
    (
        fitting(
            selector=over_sizes(2, cv=[(ROW[:100], ROW[100:])]), sample_weight=1.0 * (ROW > 99)
        ),
        ValueError,
        ["Fold 0", "at least 2 rows"],
    ),
    (lambda: stability(of_size(), X, Y, n_resamples=5), ValueError, ["n_resamples", "even"]),
    (lambda: stability(of_size(), X, Y, n_resamples=2), ValueError, ["n_resamples", "2"]),
    (lambda: what_if(of_size(), X, Y), (NotFittedError, ValueError), ["fit"]),
    (lambda: evaluated(X, Y, [[0, 99]]), ValueError, ["99"]),
    (lambda: evaluated(X, Y, []), ValueError, ["subsets"]),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_rows_are_refused(call, kind, words):
    assert_refused(call, kind, words)


# ---- Sources -------------------------------------------------------------------------------------

ROWS = pa.table({**FRAME, "y": Y, "w": np.ones(240)})


def streaming(rows, target="y", selector=None, **how):
    return lambda: (selector or of_size(1)).fit(Stream(rows, sample_rows=50), target, **how)


def with_column(name, values):
    place = ROWS.column_names.index(name)
    return ROWS.set_column(place, name, pa.array(values))


@table(
    (streaming("no.parquet"), ValueError, ["no file", "no.parquet"]),
    (streaming("s3://bucket/x.parquet"), ValueError, ["s3://bucket/x.parquet", "dataset"]),
    (streaming(5), (ValueError, TypeError), ["Parquet"]),
    (streaming(X), (ValueError, TypeError), ["Parquet"]),
    (streaming(ROWS.to_reader()), ValueError, ["once"]),
    (streaming(with_column("x1", [None, *X[1:, 1]])), ValueError, ["'x1'", "missing"]),
    (streaming(with_column("x1", [np.inf, *X[1:, 1]])), ValueError, ["'x1'", "infinite"]),
    (streaming(with_column("x1", ["a"] * 240)), ValueError, ["'x1'", "number"]),
    (streaming(with_column("y", [0] * 240)), ValueError, ["1 class"]),
    (streaming(with_column("y", [None, *Y[1:].tolist()])), ValueError, ["'y'", "missing"]),
    (streaming(with_column("y", X[:, 0])), ValueError, ["label type"]),
    (streaming(ROWS, "z"), ValueError, ["'z'"]),
    (streaming(ROWS, Y), (ValueError, TypeError), ["name of a column"]),
    (streaming(ROWS, sample_weight="v"), ValueError, ["'v'"]),
    (streaming(ROWS, sample_weight=Y), ValueError, ["name of a column"]),
    (streaming(with_column("w", -X[:, 0]), sample_weight="w"), ValueError, ["'w'", "negative"]),
    (streaming(ROWS.select(["y"])), ValueError, ["no column except"]),
    (streaming(lambda: iter([])), ValueError, ["no table"]),
    (
        streaming(ROWS, selector=over_sizes(1, cv=[(FOLDS[:9], FOLDS[9:])])),
        ValueError,
        ["cv"],
    ),
    (streaming(ROWS, selector=over_sizes(1), groups=Y), ValueError, ["groups"]),
    (lambda: Stream(ROWS, sample_rows=0), ValueError, ["sample_rows", "0"]),
    (lambda: of_size(1).fit(Stream(ROWS, columns=["x"]), "y"), ValueError, ["'x'"]),
)
def test_sources_are_refused(call, kind, words):
    assert_refused(call, kind, words)


def test_files_that_are_not_whole_are_refused(tmp_path):
    whole = tmp_path / "whole.parquet"
    pq.write_table(ROWS, whole)
    content = whole.read_bytes()
    for name, some in (("cut.parquet", content[:-50]), ("text.parquet", b"x,y\n1,0\n")):
        (tmp_path / name).write_bytes(some)
        assert_refused(lambda n=name: of_size(1).fit(tmp_path / n, "y"), ValueError, [name])
    (tmp_path / "empty").mkdir()
    assert_refused(lambda: of_size(1).fit(tmp_path / "empty", "y"), ValueError, ["no Parquet"])
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(ROWS, folder / "1.parquet")
    pq.write_table(ROWS.drop_columns("x3"), folder / "2.parquet")
    assert_refused(lambda: of_size(1).fit(folder, "y"), ValueError, ["2.parquet", "'x3'"])


def test_defaults_are_not_refused():
    """The tables above refuse for what they change, and for nothing else."""
    of_size().fit(FRAME, Y)
    over_sizes().fit(X, Y)
    of_size(1).fit(Stream(ROWS, sample_rows=50), "y", sample_weight="w")
    assert AnnealingSelectorCV().get_params().keys() >= {"cv", "rule", "constraints"}
