"""Reports of more than two classes and of regression: numbers, words, and what is left out."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from helpers.html import parsed
from report_cases import QUICK, auc_with_interval, rows
from safdr import AnnealingRegressorSelector, AnnealingSelector, SelectionReport
from safdr._old_measures.intervals import mean_auc_with_interval, r2_with_interval
from safdr.report.charts.by_class import MOST_CLASSES, shown_classes
from safdr.report.model import _linear_formula


def words_of(report):
    return " ".join(" ".join(parsed(report.to_html()).text).split())


# ---- Numbers ------------------------------------------------------------------------------------


def test_classes_have_a_formula_each(classes_report, classes_searched):
    search, X, _ = classes_searched
    content = classes_report.to_dict()
    assert content["task"] == "classification"
    assert content["intercept"] is None
    scores = np.array(content["intercepts"]) + sum(
        np.outer(X[:200, f["index"]], f["coefficients"]) for f in content["features"]
    )
    np.testing.assert_allclose(scores, search.decision_function(X[:200]), atol=1e-9)
    for f in content["features"]:
        assert f["coefficient"] is f["odds_ratio"] is f["standardised_coefficient"] is None
        effects = np.array(f["coefficients"]) * f["standard_deviation"]
        np.testing.assert_allclose(f["standardised_coefficients"], effects)
        assert f["strength"] == pytest.approx(np.std(effects))
    strengths = [f["strength"] for f in content["features"]]
    assert strengths == sorted(strengths, reverse=True)


def test_regression_has_a_formula(measured_report, measured_searched):
    search, X, y = measured_searched
    content = measured_report.to_dict()
    assert (content["task"], content["intercepts"]) == ("regression", None)
    predicted = content["intercept"] + sum(
        f["coefficient"] * X[:, f["index"]] for f in content["features"]
    )
    clipped = np.clip(predicted, y[:200].min(), y[:200].max())
    np.testing.assert_allclose(clipped, search.predict(X), atol=1e-8)
    assert content["chosen_by"]["clips_predictions"]
    assert "clipped to the range of the target" in measured_report.to_html()
    assert {f["odds_ratio"] for f in content["features"]} == {None}
    assert content["target"]["classes"] == []
    assert content["target"]["mean"] == pytest.approx(y[:200].mean())
    assert content["target"]["standard_deviation"] == pytest.approx(y[:200].std())
    assert content["alternatives"][0]["squared_error"] == pytest.approx(search.loss_)


def test_held_out_scores_are_those_of_scikit_learn(
    classes_report, classes_searched, measured_report, measured_searched
):
    search, X, y = classes_searched
    scores = classes_report.to_dict()["scores"]
    area = roc_auc_score(y[200:], search.predict_proba(X[200:]), multi_class="ovr")
    assert (scores["scoring"], scores["test"]["value"]) == ("roc_auc_ovr", pytest.approx(area))
    assert scores["test"]["low"] < area < scores["test"]["high"] < 1
    search, X, y = measured_searched
    scores = measured_report.to_dict()["scores"]
    share = r2_score(y[200:], search.predict(X[200:]))
    assert (scores["scoring"], scores["test"]["value"]) == ("r2", pytest.approx(share))
    assert scores["test"]["low"] < share < scores["test"]["high"] < 1
    assert scores["test"]["n_rows"] == 100


def test_the_mean_area_of_two_classes_has_delongs_interval(rng):
    codes = rng.integers(0, 2, 60)
    score = (rng.normal(size=60) + codes).round(1)
    two = auc_with_interval(score[codes == 1], score[codes == 0])
    both = mean_auc_with_interval(np.column_stack([-score, score]), codes)
    for key in ("value", "low", "high"):
        assert both[key] == pytest.approx(two[key])


def test_intervals_hold_what_they_promise(rng):
    """Of 400 tables some 95 % have an interval that holds the value of very many rows."""

    def table(n):
        X = rng.normal(size=(n, 3))
        codes = (X + rng.gumbel(size=(n, 3))).argmax(axis=1)
        y = X[:, 0] + rng.standard_t(6, size=n)
        return X, codes, y

    X, codes, y = table(200_000)
    area, share = mean_auc_with_interval(X, codes)["value"], r2_with_interval(y, X[:, 0])["value"]
    held = np.zeros(2)
    for _ in range(400):
        X, codes, y = table(150)
        found = mean_auc_with_interval(X, codes), r2_with_interval(y, X[:, 0])
        held += [
            each["low"] <= value <= each["high"]
            for each, value in zip(found, (area, share), strict=True)
        ]
    assert ((held / 400 > 0.91) & (held / 400 < 0.985)).all()


def test_scores_at_their_ends():
    perfect = mean_auc_with_interval(np.eye(3)[[0, 0, 1, 1, 2, 2]], np.array([0, 0, 1, 1, 2, 2]))
    assert (perfect["value"], perfect["high"], perfect["method"]) == (1, 1, "exact binomial")
    assert perfect["low"] < 0.5
    once = mean_auc_with_interval(np.array([[1.0, 0], [0, 0], [0.5, 0.2]]), np.array([0, 1, 1]))
    assert once["low"] is None
    y = np.arange(5.0)
    assert r2_with_interval(y, y) == {"value": 1.0, "low": None, "high": None, "method": None}
    assert r2_with_interval(y, -y)["value"] < 0
    with pytest.raises(ValueError, match="y_test is 1 in every row"):
        r2_with_interval(np.ones(5), y)


def test_classes_may_be_numbers():
    X, y = load_wine(return_X_y=True)
    search = AnnealingSelector(3, **QUICK).fit(X, y)
    report = SelectionReport.from_estimator(search, X, y, X_test=X, y_test=y)
    assert "<bdi>2</bdi>" in report.to_html()


def test_rows_that_lack_a_class_are_refused(classes_searched):
    search, X, y = classes_searched
    some = y[200:] == y[200]
    with pytest.raises(ValueError, match="must hold all classes that the selector was fitted to"):
        SelectionReport.from_estimator(
            search, X[:200], y[:200], X_test=X[200:][some], y_test=y[200:][some]
        )


@pytest.mark.parametrize("kind", ["classes_searched", "measured_searched"])
def test_a_source_of_held_out_rows_is_for_two_classes(kind, request):
    search, X, y = request.getfixturevalue(kind)
    with pytest.raises(ValueError, match="must be rows in memory, unless there are two classes"):
        SelectionReport.from_estimator(
            search, X[:200], y[:200], X_test="rows.parquet", y_test="target"
        )


# ---- Words --------------------------------------------------------------------------------------


def test_a_page_of_classes_speaks_of_classes(classes_report):
    words = words_of(classes_report)
    assert "on average over the 8 classes; guessing would be right 50 % of the time" in words
    assert "tell 8 classes apart" in words or "tells 8 classes apart" in words
    assert "its probability is exp(score)" in words
    assert "the mean over the classes, each against the rest" in words
    assert not re.search(r"odds|Intercept:|mean mean", words)


def test_a_page_of_numbers_speaks_of_numbers(measured_report):
    words = words_of(measured_report)
    assert re.search(r"On held-out rows the model explains [\d.]+ % of the variance", words)
    assert "the target = intercept + sum of coefficient × value" in words
    assert "R², the share of the variance that least squares explain, of a set" in words
    assert "by R², no other" in words
    assert "squared error" in words
    assert not re.search(r"odds|class|AUC|cross-entropy|Fisher|ogistic|probabilit", words)


def test_chance_is_chance_in_every_task(rng):
    from safdr import AnnealingRegressorSelectorCV, AnnealingSelectorCV

    X = rng.normal(size=(120, 4))
    for kind, y in (
        (AnnealingSelectorCV, np.arange(120) % 3),
        (AnnealingRegressorSelectorCV, rng.normal(size=120)),
    ):
        report = SelectionReport.from_estimator(kind(**QUICK, max_features=2).fit(X, y), X, y)
        assert "better than guessing; chosen" in words_of(report)


# ---- Models of others' own ----------------------------------------------------------------------


def test_models_within_pipelines_are_unscaled():
    X, y = rows(5)
    pipeline = make_pipeline(StandardScaler(), LinearRegression())
    selector = AnnealingRegressorSelector(2, estimator=pipeline, **QUICK).fit(X, X[:, 0] + y)
    content = SelectionReport.from_estimator(selector, X, X[:, 0] + y).to_dict()
    predicted = content["intercept"] + sum(
        f["coefficient"] * X[:, f["index"]] for f in content["features"]
    )
    np.testing.assert_allclose(predicted, selector.predict(X))
    assert content["chosen_by"]["model"] == "Pipeline"


def test_coefficients_of_pairs_of_classes_are_no_coefficients_of_classes():
    X, y = rows(5)
    codes = (X[:, 0] > 0).astype(int) + y
    model = SVC(kernel="linear").fit(X[:, :2], codes)
    assert model.coef_.shape == (3, 2)  # one for each pair, as many as classes
    selector = SimpleNamespace(estimator_=model, classes_=model.classes_)
    assert all(np.isnan(numbers).all() for numbers in _linear_formula(selector, 2))


def test_of_very_many_classes_the_commonest_are_drawn():
    counts = {str(c): 10 + (c % 7) for c in range(40)}
    shown = shown_classes({"target": {"counts": counts}})
    assert len(shown) == MOST_CLASSES
    assert shown == sorted(shown)
    left = set(range(40)) - set(shown)
    assert max(10 + c % 7 for c in left) <= min(10 + c % 7 for c in shown)
