"""Every kind of source gives the same rows, again and again, and says what is wrong."""

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from safdr import AnnealingSelector, Stream
from safdr.sources import open_source
from safdr.sources.errors import SourceError
from safdr.sources.parquet import ParquetFiles

N_ROWS = 500


class Collect:
    """A pass that keeps all it sees."""

    def __init__(self, columns):
        self.columns = columns

    def empty(self):
        return []

    def add(self, seen, table, start):
        frame = nw.from_native(table, eager_only=True)
        rows = np.column_stack([frame[name].to_numpy() for name in self.columns])
        return [*seen, (start, rows)]

    def merge(self, first, second):
        return first + second


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


def sources(table, folder):
    yield "path", str(folder / "all.parquet")
    yield "Path", folder / "all.parquet"
    yield "folder", folder / "hive"
    yield "dataset", ds.dataset(folder / "all.parquet")
    yield "lazy frame", pl.scan_parquet(folder / "all.parquet")
    yield "relation", duckdb.connect().sql(f"select * from '{folder}/all.parquet'")
    yield "table", table
    yield "pandas", table.to_pandas()
    yield "polars", pl.from_arrow(table)
    yield "batches", lambda: table.to_batches(max_chunksize=33)
    yield "generator", lambda: (batch for batch in table.to_batches(max_chunksize=33))
    yield "frames", lambda: [table.slice(0, 9).to_pandas(), table.slice(9).to_pandas()]


@pytest.mark.parametrize("row_group_size", [30_000, None])
def test_a_parquet_file_of_several_batches_is_read_to_the_last_row(tmp_path, row_group_size):
    n_rows = 150_000  # more than twice as many as are read at once
    numbers = pa.table({"n": np.arange(n_rows)})
    pq.write_table(numbers, tmp_path / "many.parquet", row_group_size=row_group_size)
    seen = open_source(tmp_path / "many.parquet").run(Collect(["n"]))
    assert len(seen) > 2
    np.testing.assert_array_equal(np.concatenate([rows[:, 0] for _, rows in seen]), range(n_rows))


KINDS = (
    *("path", "Path", "folder", "dataset", "lazy frame", "relation", "table", "pandas", "polars"),
    *("batches", "generator", "frames"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_rows_twice(kind, table, folder):
    source = open_source(dict(sources(table, folder))[kind])
    columns = ["n", "x2", "flag"]
    wanted = np.column_stack([table[name].to_numpy(zero_copy_only=False) for name in columns])
    for _ in range(2):
        seen = source.run(Collect(columns))
        np.testing.assert_array_equal(np.concatenate([rows for _, rows in seen]), wanted)
        assert [start for start, _ in seen] == [int(rows[0, 0]) for _, rows in seen]


def test_the_names_of_folders_are_columns(folder):
    source = open_source(f"{folder / 'hive'}/")
    seen = source.run(Collect(["year", "n"]))
    rows = np.concatenate([rows for _, rows in seen])
    np.testing.assert_array_equal(rows[:, 0], np.where(rows[:, 1] < 200, 2023, 2024))


def test_few_columns_are_read_where_few_are_asked_for(table):
    asked = []

    class Spy(Collect):
        def add(self, seen, table, start):
            asked.append(nw.from_native(table).columns)
            return seen

    open_source(table).run(Spy(["x1"]))
    assert asked == [["x1"]]


def test_chosen_columns_are_all_there_is(table):
    assert list(open_source(Stream(table, columns=["x1", "n"])).schema) == ["x1", "n"]
    with pytest.raises(SourceError, match="no column 'nothing'"):
        open_source(Stream(table, columns=["nothing"]))


def test_a_source_is_told_to_say_how_far_it_is(table):
    source, told = open_source(table), []
    source.tell = lambda *what: told.append(what[:3])
    for _ in range(2):
        source.run(Collect(["n"]))
    assert told == [(0, N_ROWS, None), (1, N_ROWS, N_ROWS)]


# ---- What is wrong, and where ------------------------------------------------------------------


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match=r"There is no file or folder '.*nothing.parquet'"):
        open_source(tmp_path / "nothing.parquet")


def test_a_folder_without_files_is_named(tmp_path):
    with pytest.raises(SourceError, match="holds no Parquet file"):
        open_source(tmp_path)


def test_other_files_of_a_folder_are_left_out(table, tmp_path):
    for name, some in {"b.PARQUET": table.slice(200), "a.pq": table.slice(0, 200)}.items():
        pq.write_table(some, tmp_path / name)
    pq.write_table(table, tmp_path / "_old.parquet")
    (tmp_path / "README.txt").write_text("What these tables are.")
    (tmp_path / "0.csv").write_text("n\n1\n")
    seen = open_source(tmp_path).run(Collect(["n"]))
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in seen])[:, 0], table["n"])


def test_a_column_of_another_type_is_named_with_both(table, tmp_path):
    pq.write_table(table, tmp_path / "a.parquet")
    words = pa.array(["word"] * N_ROWS)
    pq.write_table(table.set_column(0, "x0", words), tmp_path / "b.parquet")
    said = r"'x0' is string in '.*b.parquet', but double in the first file, '.*a.parquet'"
    with pytest.raises(SourceError, match=said) as raised:
        open_source(tmp_path).run(Collect(["n", "x0"]))
    assert "damaged" not in str(raised.value)


def test_a_file_of_another_kind_is_not_called_damaged(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_text("x,y\n1,0\n")
    with pytest.raises(SourceError, match=r"loans.csv' is not Parquet") as raised:
        open_source(path)
    assert "damaged" not in str(raised.value)


def test_an_address_is_shown_as_it_is_and_refused():
    with pytest.raises(SourceError, match=r"'s3://bucket/x.parquet' .* only local paths .*dataset"):
        open_source("s3://bucket/x.parquet")


@pytest.mark.parametrize("keep", [0.5, 0.98])
def test_a_truncated_file_is_named(folder, tmp_path, keep):
    whole = (folder / "all.parquet").read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole[: int(keep * len(whole))])
    with pytest.raises(SourceError, match=r"cut.parquet' can't be read as Parquet: .* damaged"):
        open_source(cut).run(Collect(["n"]))


def test_damage_in_the_middle_is_named(folder, tmp_path):
    whole = bytearray((folder / "all.parquet").read_bytes())
    whole[200:2000] = bytes(1800)
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(whole)
    with pytest.raises(SourceError, match=r"bad.parquet' can't be read"):
        open_source(bad).run(Collect(["n", "x0", "x1", "x2"]))


def test_a_file_that_changes_is_named(table, tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    source = open_source(path)
    source.run(Collect(["n"]))
    pq.write_table(table.slice(1), path)
    with pytest.raises(SourceError, match=r"t.parquet' has changed while it was read"):
        source.run(Collect(["n"]))


def test_what_can_be_read_once_only_is_refused(table):
    with pytest.raises(SourceError, match="can be read once only"):
        open_source(table.to_reader())
    once = iter(table.to_batches(max_chunksize=33))
    with pytest.raises(SourceError, match="new iterator at each call"):
        open_source(lambda: once)


@pytest.mark.parametrize("given", [5, [1, 2], np.zeros((3, 2)), object()])
def test_other_things_are_refused_with_what_is_wanted(given):
    with pytest.raises(SourceError, match="Rows must come as the path of a Parquet file"):
        open_source(given)


def test_a_function_that_forgets_a_column_is_told(table):
    parts = [table, table.drop_columns(["x2"])]
    with pytest.raises(SourceError, match="has no column 'x2'"):
        open_source(lambda: iter(parts)).run(Collect(["x2"]))


@pytest.mark.parametrize("kind", ["to_pandas", "combine_chunks"])
def test_a_function_may_return_a_single_table(table, kind):
    seen = open_source(getattr(table, kind)).run(Collect(["n"]))
    np.testing.assert_array_equal(np.concatenate([rows for _, rows in seen])[:, 0], table["n"])


@pytest.mark.parametrize(("made", "kind"), [(None, "NoneType"), (5, "int"), ([None], "NoneType")])
def test_a_function_that_returns_something_else_is_told_what(made, kind):
    with pytest.raises(SourceError, match=f"must return an iterator of tables .* {kind}"):
        open_source(lambda: made)


@pytest.mark.parametrize("sample_rows", ["a", None, 2.5, True, 0])
def test_sample_rows_must_be_a_whole_number(table, sample_rows):
    with pytest.raises(ValueError, match="sample_rows must be a whole number from 1 on"):
        Stream(table, sample_rows=sample_rows)


def test_a_function_with_no_table_is_told():
    with pytest.raises(SourceError, match="There is no table"):
        open_source(lambda: [])


def test_an_error_of_the_function_reaches_the_user():
    def broken():
        yield pa.table({"x": [1.0, 2.0], "y": [0, 1]})
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        AnnealingSelector(1).fit(broken, "y")


def test_what_was_read_of_a_file_is_let_go(tmp_path):
    numbers = np.random.default_rng(0).normal(size=500_000)
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({"x": numbers}), path, row_group_size=10_000)
    del numbers
    before, most = pa.total_allocated_bytes(), 0
    for _ in ParquetFiles(path).tables(["x"], 10_000):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < path.stat().st_size / 4


def test_a_worker_that_does_not_find_a_file_says_so(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [0, 1]}), path)
    ((part, n_rows),) = ParquetFiles(path).parts()
    assert n_rows == 2
    path.unlink()
    with pytest.raises(SourceError, match="every worker of a cluster must find it"):
        next(part.tables(["x"], 10))


def test_a_later_file_that_lacks_a_column_is_named(tmp_path):
    rows = pa.table({"x": [1.0, 2.0] * 30, "z": [0.5, 0.25, 1.0] * 20, "y": [0, 1] * 30})
    pq.write_table(rows, tmp_path / "1.parquet")
    pq.write_table(rows.drop_columns("z"), tmp_path / "2.parquet")
    # Columns that only later files have are none of the table.
    pq.write_table(rows.append_column("later", rows["x"]), tmp_path / "3.parquet")
    with pytest.raises(SourceError, match=r"2\.parquet' has no column 'z', which the first file"):
        AnnealingSelector(1).fit(tmp_path, "y")
    selector = AnnealingSelector(1, random_state=0)
    selector.fit(Stream(tmp_path, columns=["x", "y"]), "y")
    assert selector.n_features_in_ == 1


def test_names_of_folders_are_in_no_file(tmp_path):
    for year in (2023, 2024):
        part = tmp_path / f"year={year}"
        part.mkdir()
        pq.write_table(pa.table({"x": [1.0, 2.0], "y": [0, 1]}), part / "rows.parquet")
    (first, _), (second, _) = ParquetFiles(tmp_path).parts()
    found = [next(part.tables(["year", "y"], 10)) for part in (first, second)]
    assert [each["year"].to_pylist() for each in found] == [[2023] * 2, [2024] * 2]


def test_a_filter_of_a_dataset_holds(folder):
    source = open_source(ds.dataset(folder / "all.parquet").filter(ds.field("n") < 123))
    rows = np.concatenate([rows for _, rows in source.run(Collect(["n"]))])
    np.testing.assert_array_equal(rows[:, 0], np.arange(123))
