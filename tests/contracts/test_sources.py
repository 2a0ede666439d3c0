"""Rows that are read in chunks give the answer of the same rows in memory."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from helpers.questions import with_plain_criterion
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
from safdr import Annealing, Constraints, Stream

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pq = pytest.importorskip("pyarrow.parquet")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

N = 2400
# A chunk of a pass holds at most 65,536 rows.
MANY = 150_000


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


def parquet(path, table, **how):
    pq.write_table(table, path, **how)
    return path


def folder(path, table):
    path.mkdir()
    for i, start in enumerate(range(0, N, 1000)):
        pq.write_table(table.slice(start, 1000), path / f"part-{i}.parquet", row_group_size=300)
    return path


def with_others(table):
    """The rows, and as many with negative weights."""
    others = table.set_column(table.column_names.index("w"), "w", pa.array(np.full(N, -1.0)))
    return pa.concat_tables([table.slice(0, 500), others, table.slice(500)])


def filtered(path):
    return ds.dataset(path).filter(ds.field("w") >= 0)


def dask_frame(table):
    pytest.importorskip("distributed")
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(table.to_pandas(), npartitions=4)


SOURCES = {
    "one row group": lambda table, path: str(parquet(path / "rows.parquet", table)),
    "row groups": lambda table, path: parquet(path / "rows.parquet", table, row_group_size=700),
    "folder": lambda table, path: folder(path / "rows", table),
    "dataset": lambda table, path: ds.dataset(parquet(path / "rows.parquet", table)),
    "filtered": lambda table, path: filtered(parquet(path / "rows.parquet", with_others(table))),
    "polars lazy": lambda table, path: pl.scan_parquet(parquet(path / "rows.parquet", table)),
    "polars": lambda table, _: pl.from_arrow(table),
    "pandas": lambda table, _: table.to_pandas(),
    "arrow": lambda table, _: table,
    "batches": lambda table, _: lambda: table.to_batches(max_chunksize=333),
    "generator": lambda table, _: lambda: iter(table.to_batches(max_chunksize=1100)),
    "record batch reader": lambda table, _: lambda: table.to_reader(max_chunksize=500),
    "duckdb": lambda table, path: duckdb.connect().sql(
        f"select * from '{parquet(path / 'rows.parquet', table)}'"
    ),
    "dask": lambda table, _: dask_frame(table),
}


def assert_answer_of_rows(source, problem, weight):
    task, X, y, *_ = problem
    found = with_plain_criterion(3, task)
    found.fit(Stream(source, sample_rows=400), "y", sample_weight="w" if weight else None)
    whole = with_plain_criterion(3, task)
    whole.fit(X, y, sample_weight=problem[3] if weight else None)
    assert found.subset_.tolist() == whole.subset_.tolist() == list(PLANTED)
    assert found.criterion_value_ == pytest.approx(whole.criterion_value_, rel=1e-9)
    assert found.loss_ == pytest.approx(whole.loss_, abs=1e-7)
    ours, theirs = (np.ravel(each.estimator_.coef_) for each in (found, whole))
    np.testing.assert_allclose(ours, theirs, atol=2e-4)
    assert found.feature_names_in_.tolist() == [f"x{j}" for j in range(8)]


@pytest.mark.parametrize("kind", SOURCES)
def test_any_source_gives_the_answer_of_its_rows(problem, kind, tmp_path):
    assert_answer_of_rows(SOURCES[kind](problem[4], tmp_path), problem, True)


@pytest.mark.parametrize("kind", ["row groups", "batches", "dask"])
def test_rows_need_no_weights(problem, kind, tmp_path):
    table = problem[4].drop_columns("w")
    assert_answer_of_rows(SOURCES[kind](table, tmp_path), problem, False)


@pytest.mark.parametrize("row_group_size", [MANY, 40_000])
def test_a_file_of_several_chunks_is_read_to_its_end(row_group_size, tmp_path):
    """The target is in the last rows alone, so that no chunk may be missed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MANY, 3)).astype(np.float32)
    y = rng.integers(0, 2, MANY)
    y[-9000:] = X[-9000:, 1] > 0
    path = parquet(tmp_path / "rows.parquet", as_table(X, y), row_group_size=row_group_size)
    assert pq.ParquetFile(path).num_row_groups == -(-MANY // row_group_size)
    found = with_plain_criterion(1).fit(Stream(path, sample_rows=1000), "y")
    whole = with_plain_criterion(1).fit(X, y)
    assert found.subset_.tolist() == whole.subset_.tolist() == [1]
    assert found.criterion_value_ == pytest.approx(whole.criterion_value_, rel=1e-6)
    assert found.loss_ == pytest.approx(whole.loss_, abs=1e-7)


@pytest.mark.parametrize("length", [1, 50, 2000])
@pytest.mark.parametrize("make", [of_size, over_sizes])
def test_few_rows_are_read_whole(make, length):
    X, y = make_rows(n_rows=200)
    table = as_table(X, y)
    how = {} if make is of_size else {"cv": None}
    source = Stream(lambda: table.to_batches(max_chunksize=length), sample_rows=200)
    assert_same_answer(make(**how).fit(source, "y"), make(**how).fit(X, y))


@pytest.mark.parametrize("length", [100, 999])
def test_the_length_of_chunks_changes_nothing_but_rounding(problem, length):
    task, *_, table = problem
    found = []
    for chunk in (N, length):
        source = Stream(lambda n=chunk: table.to_batches(max_chunksize=n), sample_rows=400)
        found.append(with_plain_criterion(3, task).fit(source, "y", sample_weight="w"))
    assert_same_answer(*found, 1e-9)


def test_jobs_change_nothing():
    table = as_table(*make_rows(n_rows=N))
    one, two = (
        over_sizes(3, cv=3, n_jobs=n).fit(Stream(table, sample_rows=500), "y") for n in (1, 2)
    )
    assert_same_answer(two, one)


def test_scores_of_chunks_are_near_those_in_memory(problem):
    task, X, y, _, table = problem
    found = over_sizes(3, task, cv=4).fit(Stream(table.drop_columns("w"), sample_rows=1500), "y")
    whole = over_sizes(3, task, cv=splitter(task, 4)).fit(X, y)
    ours, theirs = (test_scores(each.cv_results_).mean(axis=0) for each in (found, whole))
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_ties_between_the_classes_count_half():
    """One feature of two values: the area follows from two shares, ties being most pairs."""
    rng = np.random.default_rng(0)
    n = 6000
    y = rng.integers(0, 2, n)
    X = np.column_stack([rng.random(n) < 0.2 + 0.3 * y, rng.random(n) < 0.5]).astype(float)
    search = over_sizes(1, cv=3).fit(Stream(as_table(X, y), sample_rows=2000), "y")
    assert search.subset_.tolist() == [0]
    wanted = 0.5 + (X[y == 1, 0].mean() - X[y == 0, 0].mean()) / 2
    assert wanted == pytest.approx(roc_auc_score(y, X[:, 0]), rel=1e-12)
    assert test_scores(search.cv_results_).mean() == pytest.approx(wanted, abs=0.01)


@pytest.mark.parametrize(
    "parameters",
    [
        {"class_weight": "balanced"},
        {"C": 0.01},
        {"constraints": Constraints(always_include=["x7"], never_include=["x1"])},
        {"constraints": Constraints(groups=[["x0", "x4"], ["x1", "x6"]])},
        {"feature_cost": {"x1": 9.0}},
    ],
    ids=str,
)
def test_parameters_mean_the_same(parameters):
    X, y = make_rows(n_rows=N)
    y[:700] = 0
    table = as_table(X, y)
    # Batches differ, so that only a search that visits all good subsets is the same.
    parameters = {"annealing": Annealing(n_replicas=200)} | parameters
    found = with_plain_criterion(3, **parameters).fit(Stream(table, sample_rows=900), "y")
    frame = table.drop_columns("y").to_pandas()
    whole = with_plain_criterion(3, **parameters).fit(frame, y)
    assert found.subset_.tolist() == whole.subset_.tolist()
    assert found.criterion_value_ == pytest.approx(whole.criterion_value_, rel=1e-9)
    assert found.loss_ == pytest.approx(whole.loss_, abs=1e-7)


def test_columns_that_are_not_asked_for_are_not_read():
    X, y = make_rows(n_rows=300)
    table = as_table(X, y).append_column("text", pa.array(["a"] * 300))
    columns = ["x1", "x4", "y"]
    found = with_plain_criterion(1).fit(Stream(table, columns=columns, sample_rows=100), "y")
    assert found.feature_names_in_.tolist() == ["x1", "x4"]


def test_a_source_that_changes_is_an_error():
    table = as_table(*make_rows(n_rows=600))
    lengths = iter([600, 600, 599, 598, 597, 596])
    with pytest.raises(ValueError, match=r"rows when it was first read"):
        of_size(1).fit(Stream(lambda: [table.slice(0, next(lengths))], sample_rows=100), "y")
