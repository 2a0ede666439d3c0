"""Every kind of source gives the same rows in each pass, and says what is wrong."""

import pickle

import numpy as np
import pytest

from safdr import Stream
from safdr.sources import SourceError, open_source, source

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
dask = pytest.importorskip("dask")
dask_frames = pytest.importorskip("dask.dataframe")

N_ROWS = 500


class Collect:
    """Keep all rows, with their positions."""

    def __init__(self, columns):
        self.columns = columns

    def empty(self):
        return []

    def add(self, total, table, start):
        assert table.column_names == self.columns
        return [*total, (start, np.column_stack([table[name] for name in self.columns]))]

    def merge(self, first, second):
        return first + second


def rows_of(opened, columns=("n",)):
    return np.concatenate([rows for _, rows in opened.run(Collect(list(columns)))])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    numbers = {f"x{i}": rng.normal(size=N_ROWS) for i in range(3)}
    return pa.table({**numbers, "flag": rng.random(N_ROWS) < 0.3, "n": np.arange(N_ROWS)})


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("tables")
    pq.write_table(table, path / "all.parquet", row_group_size=70)
    for year, some in {2023: table.slice(0, 200), 2024: table.slice(200)}.items():
        (path / "hive" / f"year={year}").mkdir(parents=True)
        pq.write_table(some, path / "hive" / f"year={year}" / "part.parquet")
    return path


@pytest.fixture
def small_batches(monkeypatch):
    """Batches of at most 40 rows, so that a row group has several."""
    monkeypatch.setattr(source, "MIN_ROWS", 1)
    monkeypatch.setattr(source, "MAX_ROWS", 40)


KINDS = {
    "path": lambda table, path: str(path / "all.parquet"),
    "Path": lambda table, path: path / "all.parquet",
    "folder": lambda table, path: path / "hive",
    "dataset": lambda table, path: ds.dataset(path / "all.parquet"),
    "filtered": lambda table, path: ds.dataset(path / "all.parquet").filter(ds.field("n") >= 0),
    "lazy frame": lambda table, path: pl.scan_parquet(path / "all.parquet"),
    "relation": lambda table, path: duckdb.connect().sql(f"select * from '{path}/all.parquet'"),
    "table": lambda table, path: table,
    "pandas": lambda table, path: table.to_pandas().set_index("x0", drop=False),
    "polars": lambda table, path: pl.from_arrow(table),
    "batches": lambda table, path: lambda: table.to_batches(max_chunksize=33),
    "generator": lambda table, path: lambda: (b for b in table.to_batches(max_chunksize=33)),
    "reader": lambda table, path: lambda: table.to_reader(max_chunksize=150),
    "frames": lambda table, path: lambda: [t.to_pandas() for t in (table[:9], table[9:])],
    "one frame": lambda table, path: table.to_pandas,
    "dask": lambda table, path: dask_frames.from_pandas(table.to_pandas(), npartitions=4),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_rows_twice(kind, table, folder, small_batches):
    opened = open_source(KINDS[kind](table, folder))
    columns = ["n", "x2", "flag"]
    wanted = np.column_stack([table[name].to_numpy() for name in columns])
    with dask.config.set(scheduler="synchronous"):
        for _ in range(2):
            parts = opened.run(Collect(columns))
            assert len(parts) >= N_ROWS / 40
            np.testing.assert_array_equal(np.concatenate([rows for _, rows in parts]), wanted)
            assert [start for start, _ in parts] == [rows[0, 0] for _, rows in parts]
        found = np.concatenate([each["n"].to_numpy() for each in opened.tables(["n"])])
    np.testing.assert_array_equal(found, range(N_ROWS))


def test_names_of_folders_are_columns(folder):
    year, n = rows_of(open_source(f"{folder / 'hive'}/"), ["year", "n"]).T
    np.testing.assert_array_equal(year, np.where(n < 200, 2023, 2024))


def test_hidden_and_other_files_of_a_folder_are_left_out(table, tmp_path):
    for name, some in {
        "b.PARQUET": table[200:],
        "a.pq": table[:200],
        "_old.parquet": table,
    }.items():
        pq.write_table(some, tmp_path / name)
    (tmp_path / "0.csv").write_text("n\n1\n")
    np.testing.assert_array_equal(rows_of(open_source(tmp_path))[:, 0], table["n"])


def test_a_filter_of_a_dataset_holds(folder):
    opened = open_source(ds.dataset(folder / "all.parquet").filter(ds.field("n") < 123))
    np.testing.assert_array_equal(rows_of(opened)[:, 0], np.arange(123))


def test_a_stream_chooses_columns(table):
    assert open_source(Stream(table, ["x1", "n"])).schema.names == ["x1", "n"]


def test_text_and_categories_have_one_type_in_all_batches(table):
    names = ["p", "q"] * (N_ROWS // 2)
    frame = table.to_pandas().assign(c=names)
    parts = [frame[:100], frame[100:].astype({"c": "category", "n": float})]
    read = list(open_source(lambda: parts).tables(["n", "c"]))
    assert len({str(each.schema) for each in read}) == 1
    assert [value for each in read for value in each["c"].to_pylist()] == names


def test_memory_of_batches_that_were_read_is_free_again(tmp_path):
    numbers = np.random.default_rng(0).normal(size=500_000)
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"x": numbers}), path, row_group_size=100_000)
    before, most = pa.total_allocated_bytes(), 0
    for each in open_source(path).tables(["x"]):
        assert each.num_rows <= source.MAX_ROWS
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < path.stat().st_size / 2


def test_partitions_of_dask_stay_where_they_are(table, monkeypatch):
    """Lengths and sums come back; tasks and sums can be sent."""
    compute, found = dask.compute, []

    def spy(*args, **how):
        found.extend(pickle.loads(pickle.dumps(compute(*args, **how))))
        return found[-len(args) :]

    monkeypatch.setattr(dask, "compute", spy)

    class Count(Collect):
        def add(self, total, table, start):
            return [*total, start]

    frame = dask_frames.from_pandas(table.to_pandas(), npartitions=4)
    with dask.config.set(scheduler="synchronous"):
        assert open_source(frame).run(Count(["n"])) == [0, 125, 250, 375]
    assert found == [125] * 4 + [[0, 125, 250, 375]]


# ---- Errors --------------------------------------------------------------------------------------


def write(path, table):
    pq.write_table(table, path)
    return path


def two_files(path, table, change):
    write(path / "a.parquet", table)
    write(path / "b.parquet", change(table))
    return path


def one_iterator(table):
    once = iter(table.to_batches())
    return lambda: once


def broken(table, path, start, stop):
    content = bytearray(write(path / "t.parquet", table).read_bytes())
    content[start:stop] = bytes(len(content[start:stop]))
    (path / "t.parquet").write_bytes(content)
    return path / "t.parquet"


def truncated(table, path):
    content = write(path / "t.parquet", table).read_bytes()
    (path / "t.parquet").write_bytes(content[: len(content) // 2])
    return path / "t.parquet"


def csv(path):
    (path / "t.csv").write_text("n\n1\n")
    return path / "t.csv"


REFUSED = {
    "no file": (lambda t, p: p / "none.parquet", "no file or folder '.*none.parquet'"),
    "empty folder": (lambda t, p: p, "has no Parquet file"),
    "address": (lambda t, p: "s3://bucket/x.parquet", "'s3://bucket/x.parquet'.*dataset"),
    "other file": (lambda t, p: csv(p), "t.csv' cannot be read as Parquet"),
    "truncated": (lambda t, p: truncated(t, p), "t.parquet' cannot be read as Parquet"),
    "damaged": (lambda t, p: broken(t, p, 9000, -3000), "t.parquet' cannot be read as Parquet"),
    "lacks a column": (
        lambda t, p: two_files(p, t, lambda u: u.drop_columns("n")),
        "'.*b.parquet' has no column 'n'",
    ),
    "another type": (
        lambda t, p: two_files(p, t, lambda u: u.set_column(4, "n", pa.array(["w"] * N_ROWS))),
        "'.*b.parquet' has other types than the first one",
    ),
    "columns of one name": (
        lambda t, p: write(p / "t.parquet", t.rename_columns(["n"] * 5)),
        "duplicate field names",
    ),
    "read once": (lambda t, p: t.to_reader(), "once only"),
    "one iterator": (lambda t, p: one_iterator(t), "new iterator at each call"),
    "number": (lambda t, p: 5, "Rows must be the path .*; got int"),
    "array": (lambda t, p: np.zeros((3, 2)), "Rows must be the path .*; got ndarray"),
    "returns None": (lambda t, p: lambda: None, "must return an iterator .* NoneType"),
    "returns text": (lambda t, p: lambda: "abc", "must return an iterator .* str"),
    "returns numbers": (lambda t, p: lambda: [5], "must return an iterator .* int"),
    "returns nothing": (lambda t, p: lambda: [], "There is no table"),
    "forgets a column": (lambda t, p: lambda: [t, t.drop_columns("n")], "has no column 'n'"),
    "unknown column": (lambda t, p: Stream(t, ["q"]), "has no column 'q'"),
    "dask bag": (lambda t, p: dask.delayed(t), "Only a Dask DataFrame can be read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused(case, table, tmp_path):
    make, match = REFUSED[case]
    with pytest.raises(SourceError, match=match):
        rows_of(open_source(make(table, tmp_path)))


@pytest.mark.parametrize("sample_rows", ["a", None, 2.5, True, 0])
def test_the_size_of_a_sample_is_a_positive_integer(table, sample_rows):
    with pytest.raises(ValueError, match="sample_rows must be a positive integer"):
        Stream(table, sample_rows=sample_rows)


def test_a_file_that_changes_is_refused(table, tmp_path):
    opened = open_source(write(tmp_path / "t.parquet", table))
    rows_of(opened)
    write(tmp_path / "t.parquet", table.slice(1))
    with pytest.raises(SourceError, match=r"t.parquet' changed while it was read"):
        rows_of(opened)


@pytest.mark.parametrize("kind", ["function", "dask"])
def test_another_number_of_rows_is_refused(kind, table):
    slices = iter([table, table, table, table.slice(1), table.slice(1)])
    if kind == "function":
        opened = open_source(lambda: next(slices))
    else:
        frame = table.to_pandas()
        parts = dask_frames.from_map(lambda _: next(slices).to_pandas(), [0], meta=frame)
        opened = open_source(parts)
    with dask.config.set(scheduler="synchronous"):
        rows_of(opened)
        rows_of(opened)
        with pytest.raises(SourceError, match="500 rows at first and 499 now"):
            rows_of(opened)


def test_an_error_of_the_function_reaches_its_user(table):
    def fails():
        yield table
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        rows_of(open_source(fails))
