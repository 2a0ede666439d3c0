"""Model risk from the command line: segments, periods, recalibration, rows read in passes."""

import html

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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


def test_segments_and_periods_are_those_of_the_table(select, file, loans):
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
    assert [each["name"] for each in risk["periods"]] == sorted(frame["month"].unique())
    assert [each["held_out"] for each in risk["periods"]] == [False] * 8 + [True] * 2
    for each in risk["periods"]:
        assert (each["score"] is None) != each["held_out"]
        own = frame[frame["month"] == each["name"]]
        assert each["observed"] == pytest.approx(own["late"].mean())


def test_a_month_that_nobody_asked_about_is_a_period(select, file):
    risk = select(file, *WISHES, "--json").json["risk"]
    names = [each["name"] for each in risk["periods"]]
    assert len(set(names)) == 10
    assert len(names) == 20


def test_recalibrated_formulas_are_those_of_the_report(select, file, tmp_path, loans):
    exports = [tmp_path / name for name in ("score.py", "score.sql", "score.onnx")]
    wishes = [each for path in exports for each in ("--export", path)]
    page = tmp_path / "page.html"
    later = ("--split-by", "month", "--json")
    found = select(file, *WISHES, "--recalibrate", *wishes, "--report", page, *later).json
    plain = select(file, *WISHES, *later).json
    told = found["risk"]["recalibration"]
    assert told["kind"] == "curve"
    before = plain["risk"]["calibration"]
    assert told["before"]["brier"] == pytest.approx(before["brier"])
    assert found["risk"]["calibration"]["n_outside"] < before["n_outside"]
    assert found["risk"]["calibration"]["log_loss"] < before["log_loss"]
    assert plain["risk"]["recalibration"] is None
    assert "Recalibrated" in page.read_text()
    # Each export was checked on the training rows; this is about those held out.
    namespace = {"__name__": "score"}
    exec(exports[0].read_text(), namespace)
    rows = loans.filter(pc.greater_equal(loans["month"], "2024-09")).to_pylist()
    mean = np.mean([namespace["probability"](row) for row in rows])
    assert found["risk"]["calibration"]["expected"] == pytest.approx(mean, abs=1e-9)


def test_points_get_a_line(select, file, tmp_path):
    card = tmp_path / "card.csv"
    found = select(file, *WISHES, "--recalibrate", "--export", card, "--json").json
    assert found["risk"]["recalibration"]["kind"] == "line"
    assert card.exists()
    assert any("straight line only" in note for note in found["notes"])


def test_a_line_for_points_is_not_said_to_fit(select, file, tmp_path):
    page = tmp_path / "page.html"
    wishes = ("--recalibrate", "--export", tmp_path / "card.csv", "--report", page)
    said = " ".join(select(file, *WISHES, *wishes).out.split())
    assert "can't mend a curved shape" in said
    assert "in these coefficients already" in said
    text = " ".join(html.unescape(page.read_text()).split())
    assert "a line can't mend a curved shape. Leave points out" in text
    assert "may differ from those learnt from" not in text
    assert "after recalibration" not in said  # the order of the rows is as it was


def test_the_screen_says_what_recalibration_does(select, file):
    said = " ".join(select(file, *WISHES, "--recalibrate").out.split())
    assert "Recalibrated by a curve, which comes after these coefficients" in said
    assert "after recalibration (" in said
    assert "--by shows in the report" in said
    said = " ".join(select(file, *WISHES, "--test-size", 0).out.split())
    assert "--by has no effect" in said


def test_probabilities_that_fail_are_a_warning_until_recalibrated(select, file):
    plain = select(file, *WISHES, "--json", "--test-size", 0.5).json
    found = next(w for w in plain["warnings"] if w["kind"] == "probabilities_do_not_hold")
    assert "--recalibrate" in found["advice"]
    assert plain["risk"]["calibration"]["misfit"]["p_value"] < 1e-3
    again = select(file, *WISHES, "--json", "--test-size", 0.5, "--recalibrate").json
    assert "probabilities_do_not_hold" not in [w["kind"] for w in again["warnings"]]


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
    stream = ("--stream", "--sample-rows", 2000)
    error = select(file, "-t", "late", "-k", 1, "--recalibrate", *stream, code=2).err
    assert "--recalibrate needs all rows in memory" in " ".join(error.split())
    error = select(file, "-t", "late", "--by", "place", code=2).err
    assert "place" in error
    error = select(file, "-t", "late", "--by", "late", code=2).err
    assert "is the target, and can't name segments" in " ".join(error.split())


def test_without_held_out_rows_it_says_so(select, file, tmp_path):
    page = tmp_path / "page.html"
    wishes = ("-t", "late", "-k", 1, "--test-size", 0, "--recalibrate", "--report", page)
    risk = select(file, *wishes, "--by", "region", "--json").json["risk"]
    assert "No rows were held out" in risk["reason"]
    assert risk["recalibration"]["before"] is None
    assert "No rows were held out" in page.read_text()
