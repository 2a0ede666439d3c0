"""A first look: a sample of the rows, and a set of features without validation."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pyarrow_csv = pytest.importorskip("pyarrow.csv")
pq = pytest.importorskip("pyarrow.parquet")

N = 3000


@pytest.fixture
def loans(rng):
    late = rng.integers(0, 2, N)
    return pa.table(
        {
            "x": rng.normal(size=N) + late,
            "z": rng.normal(size=N) + 0.5 * late,
            "noise": rng.normal(size=N),
            "group": rng.integers(0, 90, N).astype(float),
            "late": late,
        }
    )


def test_a_sample_is_the_same_in_every_kind_of_file(select, loans, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    pyarrow_csv.write_csv(loans, tmp_path / "loans.csv")
    pq.write_table(loans, tmp_path / "loans.parquet", row_group_size=700)
    for i in range(3):
        pq.write_table(loans.slice(1000 * i, 1000), folder / f"{i}.parquet")
    found = [
        select(tmp_path / name, "-t", "late", "-k", 2, "--sample", 500, "--json").json
        for name in ("loans.csv", "loans.parquet", "parts")
    ]
    for each in found:
        assert each["rows"] == {"train": 400, "test": 100}
        assert each["notes"][0].startswith("A first look: 500 of the 3,000 rows, drawn at random")
        assert each["data_fingerprint"] == found[0]["data_fingerprint"]
    other = select(
        tmp_path / "loans.csv", "-t", "late", "-k", 2, "--sample", 500, "--seed", 1, "--json"
    ).json
    assert other["data_fingerprint"] != found[0]["data_fingerprint"]


def test_a_sample_larger_than_the_table_is_all_of_it(select, write, loans):
    path = write(loans)
    whole = select(path, "-t", "late", "-k", 2, "--json").json
    found = select(path, "-t", "late", "-k", 2, "--sample", 10 * N, "--json").json
    assert found["data_fingerprint"] == whole["data_fingerprint"]
    assert found["notes"] == whole["notes"]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_set_without_validation_is_that_with_it(select, write, loans, task):
    target = "late" if task == "classification" else "x"
    options = (write(loans), "-t", target, "--task", task, "-k", 2, "--json")
    validated, bare = select(*options).json, select(*options, "--no-validation").json
    assert bare["scores"]["validation"] is None
    assert validated["scores"]["validation"] is not None
    for part in ("rows", "left_out", "path", "selection"):
        assert bare[part] == validated[part]
    # Only validation knows the calibration slope.
    assert bare["calibration_slope"] is None
    slope = validated["calibration_slope"]
    assert 0 < slope < 1
    for f, g in zip(bare["features"], validated["features"], strict=True):
        assert (f["name"], slope * f["coefficient"]) == (g["name"], pytest.approx(g["coefficient"]))
    # The method as published has none.
    options += ("--as-published",)
    validated, bare = select(*options).json, select(*options, "--no-validation").json
    assert validated["calibration_slope"] is None
    for part in ("features", "intercept", "rows", "left_out"):
        assert bare[part] == validated[part]
    assert bare["scores"]["test"] == validated["scores"]["test"]


def test_without_any_score_the_answer_has_none(select, write, loans, tmp_path):
    report = tmp_path / "report.html"
    options = ("-t", "late", "-k", 2, "--no-validation", "--test-size", 0, "--report", report)
    shown = select(write(loans), *options).out
    assert "2 of 4 features tell late = 1 from 0." in shown
    assert "AUC" not in shown
    assert report.read_text().startswith("<!doctype html>")


def test_what_else_is_asked_goes_without_validation(select, write, loans):
    options = ("-k", 2, "--no-validation", "--prove", 1, "--stability", 4, "--group-by", "group")
    found = select(write(loans), "-t", "late", *options, "--json").json
    assert found["proof"]["optimal"]
    assert found["stability"]["reason"] is None
    assert found["substitutes"]


def test_rows_in_passes_go_without_validation_too(select, write, loans):
    options = (write(loans), "-t", "late", "-k", 2, "--no-validation", "--json")
    streamed = select(*options, "--stream", "--sample-rows", 1000).json
    whole = select(*options).json
    assert "read in passes" in streamed["notes"][0]
    names = [[each["name"] for each in found["features"]] for found in (streamed, whole)]
    assert names == [["x", "z"]] * 2
    assert streamed["scores"]["validation"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--no-validation"], "--no-validation needs -k"),
        (["--sample", 5], "--sample must be at least 100; got 5"),
        (["--sample", 500, "--stream"], "--sample takes few rows into memory, and --stream all"),
        (["-k", 9, "--no-validation"], "-k must be at most 4"),
        (["--sample", "many"], "must be a whole number; got 'many'"),
    ],
)
def test_what_makes_no_sense_is_told(select, write, loans, options, message):
    error = " ".join(select(write(loans), "-t", "late", *options, code=2).err.split())
    assert message in error


def test_a_sample_is_drawn_of_all_rows_alike():
    from safdr.cli.sampling import draw_rows

    table = pa.table({"row": np.arange(1000)})
    counts = np.zeros(1000)
    for seed in range(200):
        drawn, _ = draw_rows(table, 100, seed)
        counts[drawn.column("row").to_numpy()] += 1
    assert counts.sum() == 200 * 100
    # Of 200 draws with probability 0.1 each: 20, with a deviation of 4.2.
    assert counts.min() >= 2
    assert counts.max() <= 45
