"""Rows held out by time or by a condition, and columns that say when."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

N = 1200


@pytest.fixture
def loans():
    """A year of loans."""
    rng = np.random.default_rng(3)
    late = rng.integers(0, 2, N)
    month = rng.permutation(np.arange(N) % 12) + 1
    return pa.table(
        {
            "x": rng.normal(size=N) + late,
            "z": rng.normal(size=N),
            "month": [f"2024-{each:02}" for each in month],
            "booked": 202400 + month,
            "region": rng.choice(["north", "south"], N),
            "late": late,
        }
    )


@pytest.fixture(params=["csv", "parquet"])
def file(request, loans, tmp_path):
    """The same table in both kinds of files."""
    path = tmp_path / f"loans.{request.param}"
    (pyarrow_csv.write_csv if request.param == "csv" else pq.write_table)(loans, path)
    return path


def rows(found):
    return found["rows"]["train"], found["rows"]["test"]


def test_months_are_no_features_unless_that_is_wanted(select, file):
    found = select(file, "-t", "late", "--json").json
    assert [each["column"] for each in found["left_out"]] == ["month", "booked"]
    assert any("--split-by month" in note for note in found["notes"])
    kept = select(file, "-t", "late", "--keep", "booked", "-k", 4, "--json").json
    assert "booked" in [each["name"] for each in kept["features"]]
    said = select(file, "-t", "late", "--time", "z", "--json").json
    assert {"column": "z", "reason": "time, as you said"} in said["left_out"]


@pytest.mark.parametrize("column", ["month", "booked"])
def test_the_latest_months_are_held_out(select, file, column):
    found = select(file, "-t", "late", "--split-by", column, "--json").json
    first = {"month": "2024-11", "booked": "202411"}[column]
    assert rows(found) == (1000, 200)
    note = f"Held out are 200 of 1,200 rows: those of {column} from {first} on."
    assert note in found["notes"]
    assert found["settings"]["split_by"] == column
    more = select(file, "-t", "late", "--split-by", column, "--test-size", 0.5, "--json").json
    assert rows(more) == (600, 600)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--split-by", "month", "--test-size", 0], "--split-by holds out rows"),
        (["--split-by", "region"], "'region' can't be put in order of time"),
        (["--time", "late"], "'late' is the target, and can't be used otherwise as well (time"),
    ],
)
def test_what_makes_no_sense_is_told(select, file, options, message):
    error = " ".join(select(file, "-t", "late", *options, code=2).err.split())
    assert message in error


def test_rows_read_in_passes_are_held_out_alike(select, write, loans):
    path = write(pa.concat_tables([loans] * 3))
    for column in ("month", "booked"):
        options = ("--split-by", column)
        given = (path, "-t", "late", "-k", 2, "--sample-rows", 1500, *options, "--json")
        streamed, whole = select(*given, "--stream").json, select(*given).json
        assert "read in passes" in streamed["notes"][0]
        assert rows(streamed) == rows(whole) == (3000, 600)
        held_out = [note for note in streamed["notes"] if note.startswith("Held out are 600 of")]
        assert held_out == [note for note in whole["notes"] if note.startswith("Held out")]
        assert streamed["scores"]["test"]["value"] == pytest.approx(
            whole["scores"]["test"]["value"], abs=0.01
        )
