"""Model risk in the report: odd rows, weights, what can't be told, and what is said in words."""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from helpers.html import parsed
from report_cases import QUICK
from safdr import AnnealingSelector, SelectionReport
from safdr.report.risk import words


def risk_of(selector, X, y, test, **how):
    """The part of the dict on model risk, of a page that can be made."""
    train = np.setdiff1d(np.arange(len(y)), test)
    report = SelectionReport.from_estimator(
        selector, X[train], y[train], X_test=X[test], y_test=y[test], **how
    )
    parsed(report.to_html())
    content = report.to_dict()
    json.dumps(content, allow_nan=False)
    return content["risk"]


@pytest.fixture(scope="module")
def many():
    """A selector of three features of 1,200 rows, of which it saw 600."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5))
    y = (X[:, 0] - X[:, 1] + rng.logistic(size=1200) > 1).astype(int)
    return AnnealingSelector(3, **QUICK).fit(X[:600], y[:600]), X, y


HELD_OUT = np.arange(600, 1200)


def test_the_numbers_are_those_of_the_held_out_rows(many):
    selector, X, y = many
    risk = risk_of(selector, X, y, HELD_OUT)
    p = selector.predict_proba(X[HELD_OUT])[:, 1]
    auc = roc_auc_score(y[HELD_OUT], p)
    assert risk["discrimination"]["auc"]["value"] == pytest.approx(auc)
    assert risk["calibration"]["expected"] == pytest.approx(p.mean())
    again = LogisticRegression(C=np.inf, tol=1e-8).fit(
        X[HELD_OUT][:, selector.subset_], y[HELD_OUT]
    )
    found = {each["index"]: each for each in risk["coefficients"]["features"]}
    for j, coefficient in zip(selector.subset_, again.coef_[0], strict=True):
        assert found[j]["estimate"] == pytest.approx(coefficient, abs=1e-3)
        assert found[j]["low"] < coefficient < found[j]["high"]


def test_intervals_of_coefficients_cover_though_features_were_chosen():
    rng = np.random.default_rng(1)
    inside = total = 0
    for _ in range(40):
        X = rng.normal(size=(300, 12))
        y = (0.3 * X[:, 0] + rng.logistic(size=300) > 0).astype(int)
        selector = AnnealingSelector(3, **QUICK).fit(X[:150], y[:150])
        report = SelectionReport.from_estimator(
            selector, X[:150], y[:150], X_test=X[150:], y_test=y[150:]
        )
        features = report.to_dict()["risk"]["coefficients"]["features"]
        for each in features:
            truth = 0.3 if each["index"] == 0 else 0.0
            inside += each["low"] <= truth <= each["high"]
            total += 1
    assert 0.89 <= inside / total <= 0.99


def test_weights_are_honoured(many):
    selector, X, y = many
    weight = np.where(y == 1, 4.0, 1.0)
    weight[::7] = 0.0
    risk = risk_of(
        selector, X, y, HELD_OUT, sample_weight=weight[:600], sample_weight_test=weight[HELD_OUT]
    )
    assert risk["n_rows"] == (weight[HELD_OUT] > 0).sum()
    found = np.average(y[HELD_OUT], weights=weight[HELD_OUT])
    assert risk["calibration"]["observed"] == pytest.approx(found)
    assert risk["coefficients"]["method"] == "sandwich"


def test_parts_of_a_row_and_of_a_class_are_no_error(many):
    selector, X, y = many
    time = np.array(["2024-01"] * 600, dtype=object)
    time[0], time[1] = "2024-06", None
    classes = y[HELD_OUT].astype(str)
    by = {"class": classes, "mostly missing": np.where(np.arange(600) < 590, np.nan, 1.0)}
    risk = risk_of(selector, X, y, HELD_OUT, by=by | {"month": time})
    months = risk["segments"][2]["segments"]
    names = [(each["name"], each["n_rows"]) for each in months]
    assert sum(n for _, n in names) == 600
    assert ("(missing)", 1) in names
    assert [each["score"] for each in risk["segments"][0]["segments"]] == [None, None]
    alone = next(each for each in months if each["n_rows"] == 1)
    assert alone["score"] is None


@pytest.mark.parametrize("n", [4, 20])
def test_few_rows_say_that_they_are_few(many, n):
    selector, X, y = many
    test = np.concatenate([600 + np.flatnonzero(y[600:] == label)[: n // 2] for label in (0, 1)])
    risk = risk_of(selector, X, y, test)
    assert "too few for standard errors" in risk["coefficients"]["reason"]
    assert all(each["estimate"] is None for each in risk["coefficients"]["features"])


def test_columns_that_are_constant_or_separate_are_named(many):
    selector, X, y = many
    first = int(selector.subset_[0])
    flat = X.copy()
    flat[600:, first] = 1.0
    features = risk_of(selector, flat, y, HELD_OUT)["coefficients"]["features"]
    told = next(each for each in features if each["index"] == first)
    assert told["reason"] == "constant in the held-out rows"
    assert told["vif"] is None
    apart = X.copy()
    apart[:, first] = np.where(y == 1, 5.0, -5.0) + 0.1 * X[:, first]
    assert "separate" in risk_of(selector, apart, y, HELD_OUT)["coefficients"]["reason"]
    same = np.clip(X, -1, 1)  # well within the ends of what was fitted
    same[:, selector.subset_[1]] = same[:, first]
    assert "collinear" in risk_of(selector, same, y, HELD_OUT)["coefficients"]["reason"]


def test_a_model_of_ones_own_is_ranked_and_calibrated(many):
    _, X, y = many
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    selector = AnnealingSelector(2, estimator=tree, **QUICK).fit(X[:600], y[:600])
    risk = risk_of(selector, X, y, HELD_OUT)
    assert risk["coefficients"]["reason"] == "The model is not a linear formula."
    assert len(risk["calibration"]["bins"]) <= 4


def test_constant_predictions_are_no_error(many):
    _, X, y = many
    stump = DecisionTreeClassifier(max_depth=1, min_samples_leaf=600)
    selector = AnnealingSelector(1, estimator=stump, **QUICK).fit(X[:600], y[:600])
    risk = risk_of(selector, X, y, HELD_OUT)
    assert risk["discrimination"]["auc"]["value"] == 0.5
    assert risk["calibration"]["slope"] is None
    assert risk["cut_offs"] == []


def test_weights_that_are_none_are_refused(many):
    selector, X, y = many
    for wrong in (np.ones(3), np.linspace(-1, 1, 600), np.zeros(600), np.full(600, np.nan)):
        with pytest.raises(ValueError, match="sample_weight_test must hold a finite number"):
            risk_of(selector, X, y, HELD_OUT, sample_weight_test=wrong)
    with pytest.raises(ValueError, match="y_test must hold both classes"):
        risk_of(selector, X, y, HELD_OUT, sample_weight_test=1.0 - y[HELD_OUT])


def test_lengths_that_differ_are_refused(many):
    selector, X, y = many
    with pytest.raises(ValueError, match=r"by\['a'\] must hold one value for each of the 600 rows"):
        risk_of(selector, X, y, HELD_OUT, by={"a": [1, 2]})
    with pytest.raises(ValueError, match="by must be a dict of columns, or a data frame"):
        risk_of(selector, X, y, HELD_OUT, by="mean area")


def test_the_verdict_says_what_is_wrong():
    bins = [{"expected": 0.05, "observed": 0.13, "low": 0.1, "high": 0.16, "n_rows": 600}] * 3 + [
        {"expected": 0.2, "observed": 0.2, "low": 0.1, "high": 0.3, "n_rows": 600}
    ] * 7
    right = {"value": 1.0, "low": 0.9, "high": 1.1}
    level = {"value": 0.0, "low": -0.1, "high": 0.1}
    found = {"bins": bins, "n_outside": 3, "slope": right, "shift": level}
    content = {"risk": {"calibration": found}, "settings": {}}
    text = words.verdict(content)
    assert "3 of 10 tenths" in text
    assert "5.0 % predicted, 13.0 % observed" in text
    assert "the shape is wrong" in text
    content["risk"]["calibration"] = found | {"shift": {"value": 1, "low": 0.8, "high": 1.2}}
    content["settings"] = {"class_weight": "balanced"}
    assert "Class weights move probabilities" in words.verdict(content)


def test_cut_offs_that_look_alike_get_digits():
    risk = {"calibration": {}, "cut_offs": [{"cut_off": c} for c in (0.50012, 0.50031, 0.7)]}
    assert words.cut_off_names({"risk": risk}) == ["50.01 %", "50.03 %", "70.00 %"]
    risk = {"calibration": None, "cut_offs": [{"cut_off": c} for c in (1.5, None, 1.5)]}
    assert words.cut_off_names({"risk": risk}) == ["1.50", "–", "1.50"]


def test_bins_of_ties_are_no_tenths():
    even, odd = [{"n_rows": 60}] * 10, [{"n_rows": 60}] * 9 + [{"n_rows": 110}]
    parts = [words.part({"risk": {"weighted": False}}, bins) for bins in (even, odd, even[:7])]
    assert parts == ["tenth", "part", "part"]
    assert words.part({"risk": {"weighted": True}}, odd) == "tenth"
