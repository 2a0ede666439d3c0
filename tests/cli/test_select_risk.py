"""Model risk from the command line: segments, rows read in passes."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score


@pytest.fixture(scope="module")
def loans():
    """Risk that bends, months, a segment with a name, weights."""
    rng = np.random.default_rng(0)
    n = 4000
    x, noise = rng.normal(size=n), rng.normal(size=n)
    late = rng.random(n) < 1 / (1 + np.exp(2 - 4 * np.maximum(x, 0)))
    months = np.array([f"2024-{i + 1:02d}" for i in range(10)])
    return pa.table(
        {
            "late": late.astype(int),
            "x": x,
            "noise": noise,
            "month": np.sort(months[rng.integers(0, 10, n)]),
            "region": np.where(rng.random(n) < 0.3, "<b>north", "south"),
            "copies": rng.integers(1, 4, n),
        }
    )


@pytest.fixture
def file(loans, tmp_path):
    path = tmp_path / "loans.parquet"
    pq.write_table(loans, path)
    return path


WISHES = ("-t", "late", "-k", 1, "--drop", "copies", "--drop", "region", "--by", "region")


def test_segments_are_those_of_the_table(select, file, loans):
    found = select(file, *WISHES, "--split-by", "month", "--json").json
    risk = found["risk"]
    frame = loans.to_pandas()
    held_out = frame[frame["month"] >= "2024-09"]
    assert risk["n_rows"] == len(held_out)
    (regions,) = risk["segments"]
    assert regions["column"] == "region"
    for each in regions["segments"]:
        own = held_out[held_out["region"] == each["name"]]
        assert each["n_rows"] == len(own)
        assert each["observed"] == pytest.approx(own["late"].mean())
        assert each["score"]["value"] == pytest.approx(roc_auc_score(own["late"], own["x"]))


def test_the_screen_says_where_segments_show(select, file):
    said = " ".join(select(file, *WISHES).out.split())
    assert "--by shows in the report" in said
    said = " ".join(select(file, *WISHES, "--test-size", 0).out.split())
    assert "--by has no effect" in said


def test_probabilities_that_fail_are_a_warning(select, file):
    plain = select(file, *WISHES, "--json", "--test-size", 0.5).json
    found = next(w for w in plain["warnings"] if w["kind"] == "probabilities_do_not_hold")
    assert "CalibratedClassifierCV(selector, ensemble=False)" in found["advice"]
    assert plain["risk"]["calibration"]["misfit"]["p_value"] < 1e-3


def test_weights_count_and_have_intervals(select, file):
    wishes = ("-t", "late", "-k", 1, "--weight", "copies", "--by", "region", "--json")
    risk = select(file, *wishes).json["risk"]
    assert risk["weighted"]
    assert risk["coefficients"]["method"] == "sandwich"
    auc = risk["discrimination"]["auc"]
    assert auc["low"] < auc["value"] < auc["high"]


@pytest.mark.parametrize("weight", [(), ("--weight", "copies")])
def test_rows_in_passes_are_told_of_by_a_sample(select, file, tmp_path, weight):
    page = tmp_path / "page.html"
    stream = ("--stream", "--sample-rows", 2000, "--report", page, "--json")
    wishes = ("-t", "late", "-k", 1, "--by", "region", *weight)
    found = select(file, *wishes, *stream).json
    risk = found["risk"]
    assert risk["is_sample"]
    assert risk["n_rows"] < found["rows"]["test"]
    assert risk["calibration"]["bins"]
    assert risk["segments"][0]["segments"]
    if not weight:
        assert risk["discrimination"]["auc"]["value"] == found["scores"]["test"]["value"]
    assert "a sample of" in page.read_text()


def test_what_can_not_be_is_refused(select, file):
    error = select(file, "-t", "late", "--by", "place", code=2).err
    assert "place" in error
    error = select(file, "-t", "late", "--by", "late", code=2).err
    assert "is the target, and can't name segments" in " ".join(error.split())


def test_without_held_out_rows_it_says_so(select, file, tmp_path):
    page = tmp_path / "page.html"
    wishes = ("-t", "late", "-k", 1, "--test-size", 0, "--report", page)
    risk = select(file, *wishes, "--by", "region", "--json").json["risk"]
    assert "No rows were held out" in risk["reason"]
    assert "No rows were held out" in page.read_text()
