"""Each warning: where it is given, and where it is not."""

import copy

import numpy as np
import pytest

from report.conftest import QUICK, rows
from safdr import AnnealingRegressorSelector, AnnealingSelector, AnnealingSelectorCV, Report
from safdr.report.checks import find_leaks, find_warnings


@pytest.fixture
def sound(case):
    """Return a result that nothing is wrong with."""
    result = case("two").report.to_dict()
    result["score"] |= {"test": [0.81, 0.78, 0.84], "cv": [0.81, 0.02]}
    result["search"]["converged"] = True
    result["sizes"] = [{"k": 1, "score": 0.7}, {"k": 3, "score": 0.81}, {"k": 4, "score": 0.8}]
    return result


def kinds(result, **changes):
    """Return the kinds of warnings of a result with changes: a key by its path, and a value."""
    result = copy.deepcopy(result)
    result["warnings"] = []
    result.setdefault("sizes", [])
    for path, value in changes.items():
        *keys, last = path.split("__")
        place = result
        for key in keys:
            place = place.setdefault(key, {})
        place[last] = value
    return [each["kind"] for each in find_warnings(result, [], [])]


BINS = [{"n": 9, "predicted": 0.5, "observed": 0.9, "low": 0.8, "high": 1.0}] * 10
SIZES = [{"k": 3, "score": 0.7}, {"k": 5, "score": 0.9}]
# What is changed, and the warning that this gives.
GIVEN = {
    "chance": {"score__test": [0.55, 0.45, 0.65], "score__cv": [0.51, 0.1]},
    "test_differs": {"score__test": [0.6, 0.55, 0.65], "score__cv": [0.9, 0.01]},
    "few_test_rows": {"score__test": [0.8, 0.6, 0.9]},
    "few_rows": {"target__counts": [290, 10]},
    "separated": {"search__separated": True},
    "calibration": {
        "test__bins": BINS,
        "test__calibration": {"n_outside": 5, "brier": 0.1},
    },
    "unstable": {"search__stability": {"index": [0.2, 0.1, 0.3], "n": 20}},
    "largest_size": {"sizes": [{"k": 1, "score": 0.6}, {"k": 3, "score": 0.8}]},
    "costly_size": {"sizes": SIZES, "score__cv": [0.7, 0.01]},
    "not_converged": {"search__converged": False},
}


@pytest.mark.parametrize("kind", GIVEN)
def test_warnings(sound, kind):
    assert kinds(sound) == []
    assert kind in kinds(sound, **GIVEN[kind])


def test_the_price_of_a_small_size_is_not_told_where_nothing_is_predicted(sound):
    found = kinds(sound, **GIVEN["chance"], sizes=SIZES)
    assert "chance" in found
    assert "costly_size" not in found


def test_serious_warnings_come_first(sound):
    sound["search"]["converged"] = False
    given = [{"kind": "x", "text": "x", "advice": "x"}]
    given += [{"kind": "y", "serious": True, "text": "y", "advice": "y"}]
    found = find_warnings(sound, [], given)
    assert [each["kind"] for each in found] == ["y", "x", "not_converged"]


def test_columns_that_may_be_codes_are_named(sound):
    column = sound["model"]["terms"][0]["column"]
    sound["data"]["columns"] = [{"name": column, "used": True, "few_values": True}]
    sound["test"] |= {"bins": BINS, "calibration": GIVEN["calibration"]["test__calibration"]}
    (found,) = find_warnings(sound, [], [])
    assert found["advice"].startswith(f"If {column} holds codes, use --categories")


def test_leaks():
    X, z, rng = rows()
    y = (z > 0).astype(int)
    X["exact"] = y * 2.0 + 0.1 * rng.random(len(y))
    selector = AnnealingSelector(1, **QUICK).fit(X, y)
    (leak,) = [w for w in Report.from_estimator(selector, X, y)["warnings"] if w["kind"] == "leak"]
    assert "exact alone predicts the target almost exactly" in leak["text"]
    assert leak["serious"]
    X["exact"] = np.exp(z)
    selector = AnnealingRegressorSelector(2, constraints=None, **QUICK).fit(X, z)
    assert find_leaks(X[["exact"]].to_numpy(), z, ["exact"]) == ["exact"]
    assert not find_leaks(X[["column 1"]].to_numpy(), z, ["column 1"])
    # Three classes, of which one is rare.
    codes = np.digitize(z, [np.quantile(z, 0.05), 0.5])
    columns = np.column_stack([z, X["column 0"]])
    assert find_leaks(columns, codes, ["exact", "column 0"]) == ["exact"]


def test_a_held_out_part_of_one_class_is_a_note():
    X, z, rng = rows()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    selector = AnnealingSelectorCV(sizes=3, **QUICK).fit(X, y)
    some = y == 1
    report = Report.from_estimator(selector, X, y, X_test=X[some], y_test=y[some])
    assert "do not hold every class" in report["test"]["note"]
    assert "test" not in report["score"]
    assert "do not hold every class" in report.to_html()
