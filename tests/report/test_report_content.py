"""The dict: its numbers are those of the selector, exact and fit for JSON."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers.html import parsed
from report_cases import QUICK, auc_with_interval
from safdr import AnnealingSelector, AnnealingSelectorCV, Constraints, SelectionReport
from safdr._estimators.rules import RULES
from safdr.report.annealing import MOST_ALTERNATIVES, describe_alternatives
from safdr.report.provenance import fingerprint

KEYS = [
    "schema_version",
    "title",
    "created",
    "target",
    "rows",
    "features",
    "intercept",
    "size",
    "scores",
    "path",
    "selection",
    "trace",
    "alternatives",
    "proof",
    "near_ties",
    "stability",
    "substitutes",
    "coding",
    "left_out",
    "notes",
    "settings",
    "seed",
    "versions",
    "platform",
    "data_fingerprint",
    "seconds",
]


def content_of(selector, X, y, **options):
    return SelectionReport.from_estimator(selector, X, y, **options).to_dict()


# ---- The whole ----------------------------------------------------------------------------------


def test_every_key_is_there_for_both_selectors(report, fixed):
    assert set(KEYS) <= set(report.to_dict())
    assert set(content_of(*fixed)) == set(report.to_dict())


def test_json_gives_back_the_same_numbers(report, hostile_report, separated_report):
    for each in (report, hostile_report, separated_report):
        content = each.to_dict()
        assert json.loads(json.dumps(content, allow_nan=False)) == content


def test_the_dict_is_the_callers_own(report):
    report.to_dict()["features"].clear()
    assert report.to_dict()["features"]


def test_a_fixed_size_leaves_out_the_choice_of_the_size(fixed):
    content = content_of(*fixed)
    unknown = dict.fromkeys(["rule", "by_rule", "note", "smallest", "largest"])
    assert content["size"] == {"chosen": 3, "columns": 3, "possible": 8, **unknown}
    assert content["path"] == []
    assert content["selection"]["share"] == []
    unknown = dict.fromkeys(["validation", "test", "agreement", "guessing"])
    assert content["scores"] == {"scoring": "roc_auc", **unknown}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_their_names(fixed, frame):
    _, X, y = fixed
    names = [f"column {i}" for i in range(X.shape[1])]
    table = frame(dict(zip(names, X.T, strict=True)))
    series = pd.Series(y, name="ill") if frame is pd.DataFrame else pl.Series("ill", y)
    content = content_of(AnnealingSelector(3, **QUICK).fit(table, series), table, series)
    assert content["target"] == {
        "name": "ill",
        "classes": [0, 1],
        "counts": {"0": int((y == 0).sum()), "1": int((y == 1).sum())},
    }
    assert all(feature["name"] == names[feature["index"]] for feature in content["features"])


# ---- The model ----------------------------------------------------------------------------------


def log_odds(content, X):
    return content["intercept"] + sum(
        feature["coefficient"] * X[:, feature["index"]] for feature in content["features"]
    )


@pytest.mark.parametrize(
    "model",
    [
        None,
        LogisticRegression(C=0.1),
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1)),
        make_pipeline(StandardScaler(with_mean=False), StandardScaler(), LogisticRegression()),
    ],
)
def test_the_formula_gives_the_probabilities_of_the_model(fixed, model):
    _, X, y = fixed
    selector = AnnealingSelector(3, estimator=model, **QUICK).fit(X, y)
    content = content_of(selector, X, y)
    expected = selector.predict_proba(X)[:, 1]
    np.testing.assert_allclose(expit(log_odds(content, X)), expected, rtol=1e-12)
    for feature in content["features"]:
        assert feature["odds_ratio"] == np.exp(feature["coefficient"])
        assert feature["standard_deviation"] == X[:, feature["index"]].std()
    strength = [abs(feature["standardised_coefficient"]) for feature in content["features"]]
    assert strength == sorted(strength, reverse=True)


def test_a_model_without_a_formula_has_no_coefficients(fixed):
    _, X, y = fixed
    forest = RandomForestClassifier(5, random_state=0)
    selector = AnnealingSelector(3, estimator=forest, **QUICK).fit(X, y)
    report = SelectionReport.from_estimator(selector, X, y, X_test=X, y_test=y)
    content = report.to_dict()
    assert [feature["index"] for feature in content["features"]] == selector.subset_.tolist()
    assert {feature["coefficient"] for feature in content["features"]} == {None}
    assert content["intercept"] is None
    assert "not a linear formula" in report.to_html()


# ---- The size -----------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_the_threshold_is_what_the_rule_asks_for(searched, rule):
    _, X, y = searched
    search = AnnealingSelectorCV(max_features=6, rule=rule, **QUICK).fit(X, y)
    path = content_of(search, X, y)["path"]
    (threshold,) = {each["threshold"] for each in path}
    scores = np.array([each["splits"] for each in path])
    mean, best = scores.mean(axis=1), scores[scores.mean(axis=1).argmax()]
    below = {
        "one_se": best.std(ddof=1) / np.sqrt(len(best)),
        "one_sd": best.std(),
        "tolerance": 0.005,
        "best": 0.0,
    }
    assert threshold == pytest.approx(mean.max() - below[rule], abs=1e-12)
    reached = [each["size"] for each in path if each["mean"] >= threshold]
    assert search.n_features_ == min(reached)


def test_a_rule_of_the_user_has_a_name_and_no_threshold(searched):
    def second(results):
        return 1

    _, X, y = searched
    content = content_of(AnnealingSelectorCV(max_features=3, rule=second, **QUICK).fit(X, y), X, y)
    assert content["size"]["rule"] == "second"
    assert {each["threshold"] for each in content["path"]} == {None}


def test_the_path_and_the_selection_are_those_of_the_search(report, searched):
    search, *_ = searched
    content = report.to_dict()
    results = search.cv_results_
    assert [each["mean"] for each in content["path"]] == results["mean_test_score"].tolist()
    selection = content["selection"]
    total = np.array(selection["share"]).sum(axis=0)
    np.testing.assert_allclose(total, selection["sizes"])  # k features at size k, in each split
    chosen = [each for each in content["path"] if each["cross_entropy"] is not None]
    assert [each["size"] for each in chosen] == [search.n_features_]
    assert content["scores"]["validation"]["mean"] == chosen[0]["mean"]


# ---- The search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["auto", "fisher"])
def test_the_chosen_set_comes_first_and_replicas_on_the_criterion_are_counted(fixed, criterion):
    selector, X, y = fixed
    selector = clone(selector).set_params(criterion=criterion).fit(X, y)
    found = content_of(selector, X, y)["alternatives"]
    assert found[0]["indices"] == selector.subset_.tolist()
    assert found[0]["excess"] == 0
    assert len({tuple(each["indices"]) for each in found}) == len(found) <= MOST_ALTERNATIVES
    assert [e["cross_entropy"] for e in found] == sorted(e["cross_entropy"] for e in found)
    counted = selector.annealing.n_replicas // (2 if criterion == "auto" else 1)
    assert sum(each["replicas"] for each in found) == counted


def test_a_candidate_after_the_replicas_is_no_replica(fixed):
    selector, *_ = fixed
    result, new = selector.result_, [[5, 6, 7]]
    assert new[0] not in result.subsets.tolist()
    grown = replace(
        result,
        subsets=np.vstack([result.subsets, new]),
        criterion_values=np.append(result.criterion_values, 99.0),
        losses=np.append(result.losses, result.loss / 2),
        penalties=np.append(result.penalties, 0.0),
    )
    names = [f"x{i}" for i in range(8)]
    estimator = SimpleNamespace(result_=grown)
    first, second, *_ = describe_alternatives(estimator, names, "cross_entropy")
    assert first["features"] == ["x5", "x6", "x7"]
    assert first["replicas"] == 0
    assert second["excess"] == pytest.approx(1)


def test_sets_that_separate_have_no_excess(separated_report):
    content = separated_report.to_dict()
    assert content["separated"]
    assert {each["excess"] for each in content["alternatives"]} == {None}
    separated_report.to_html()


# ---- The held-out score -------------------------------------------------------------------------


def test_the_held_out_score_is_the_area_under_the_curve(report, searched):
    search, X, y = searched
    test = report.to_dict()["scores"]["test"]
    expected = roc_auc_score(y[200:], search.decision_function(X[200:]))
    assert test["value"] == pytest.approx(expected, abs=1e-12)
    assert test["low"] < expected < test["high"] <= 1
    assert report.to_dict()["rows"] == {"train": 200, "test": 100}


def test_delongs_variance_is_that_of_the_pairs(rng):
    positive, negative = rng.normal(1, 1, 40).round(1), rng.normal(0, 1, 30).round(1)
    pairs = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    value = pairs.mean()
    variance = pairs.mean(axis=1).var(ddof=1) / 40 + pairs.mean(axis=0).var(ddof=1) / 30
    half = 1.959963984540054 * np.sqrt(variance) / (value * (1 - value))
    middle = np.log(value / (1 - value))
    result = auc_with_interval(positive, negative)
    assert result["value"] == pytest.approx(value)
    assert [result["low"], result["high"]] == pytest.approx(expit([middle - half, middle + half]))


def test_scores_that_separate_are_no_certainty():
    result = auc_with_interval(np.arange(10.0) + 100, np.arange(50.0))
    assert (result["value"], result["high"]) == (1.0, 1.0)
    assert result["low"] == pytest.approx(0.025 ** (1 / 10))
    mirrored = auc_with_interval(np.arange(50.0), np.arange(10.0) + 100)
    assert (mirrored["value"], mirrored["low"]) == (0.0, 0.0)
    assert mirrored["high"] == pytest.approx(1 - result["low"])


def test_another_score_has_no_interval(searched):
    _, X, y = searched
    search = AnnealingSelectorCV(max_features=3, scoring="accuracy", **QUICK).fit(X, y)
    scores = content_of(search, X, y, X_test=X, y_test=y)["scores"]
    assert scores["scoring"] == "accuracy"
    assert scores["test"]["value"] == search.score(X, y)
    assert scores["test"]["low"] is None


# ---- What the search did ----------------------------------------------------------------------


def said(report):
    """The text of the page in one line."""
    return " ".join("".join(parsed(report.to_html()).text).split())


def test_the_calibration_slope_is_stated_if_it_changes_anything(searched):
    search, X, y = searched
    given = X[:200], y[:200]
    report = SelectionReport.from_estimator(search, *given)
    slope = report.to_dict()["calibration_slope"]
    assert slope == search.calibration_slope_ < 1
    sentence = f"multiplied by the calibration slope of the validation splits, {slope:.2f}."
    assert sentence in said(report)
    content = report.to_dict()
    for unchanged in (1.0, None):
        content["calibration_slope"] = unchanged
        assert "calibration slope" not in said(SelectionReport(content))
    plain = clone(search).set_params(criterion="fisher").fit(*given)
    assert content_of(plain, *given)["calibration_slope"] is None


@pytest.mark.parametrize("n_copies", [0, 1, 2])
def test_duplicates_are_counted_and_named(fixed, n_copies):
    _, X, y = fixed
    X = np.column_stack([X, *([-X[:, 1]] * n_copies)])
    report = SelectionReport.from_estimator(AnnealingSelector(3, **QUICK).fit(X, y), X, y)
    pairs = [(each["kept"], each["left_out"]) for each in report.to_dict()["duplicates"]]
    assert pairs == [("x1", f"x{8 + i}") for i in range(n_copies)]
    sentences = (
        "1 column is a duplicate of another and was left out",
        "2 columns are duplicates of others and were left out",
    )
    for i, sentence in enumerate(sentences):
        assert (sentence in said(report)) == (n_copies == i + 1)
    assert ("duplicate of x1" in said(report)) == (n_copies > 0)


def test_the_screen_and_the_second_criterion_are_stated(fixed):
    _, X, y = fixed
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 40))])
    half, screen = "Half of the replicas anneal on it", "columns that the screen kept"
    for rows, criterion in ((X, "auto"), (wide, "auto"), (wide, "fisher")):
        selector = AnnealingSelector(3, criterion=criterion, **QUICK).fit(rows, y)
        report = SelectionReport.from_estimator(selector, rows, y)
        text, chosen_by = said(report), report.to_dict()["chosen_by"]
        assert (half in text) == chosen_by["log_loss"] == (criterion == "auto")
        assert (screen in text) == (rows is wide)
        # As many as the recipe keeps: k + 3 + a twentieth of the rows.
        assert chosen_by["screened"] == (3 + 3 + 300 // 20 if rows is wide else None)


# ---- Where the numbers come from ----------------------------------------------------------------


def test_the_fingerprint_hangs_on_values_names_and_labels_only():
    X, y, names = np.arange(6.0).reshape(3, 2), np.array([0, 1, 1]), ["a", "b"]
    same = fingerprint(X, y, names)
    assert same == fingerprint(np.asfortranarray(X), y.astype(np.int8), names)
    assert same == fingerprint(X * np.array([1, 1]) - 0.0, y, names)
    changed = [
        fingerprint(X + 1e-12, y, names),
        fingerprint(X, y[::-1], names),
        fingerprint(X, y, ["a", "c"]),
        fingerprint(X[:, ::-1], y, names),
        fingerprint(X.reshape(2, 3), y, names),
    ]
    assert len({same, *changed}) == 6
    assert same.startswith("sha256:")


def test_settings_are_the_parameters(report, searched):
    search, *_ = searched
    content = report.to_dict()
    parameters = clone(search).set_params(constraints=Constraints()).get_params()
    flat = {name.partition("__")[2] or name: value for name, value in parameters.items()}
    del flat["annealing"], flat["constraints"]
    assert content["settings"] == {"selector": "AnnealingSelectorCV"} | flat
    assert content["seed"] == 0


# ---- Errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((300, 5))}, "X must be the rows .* with 8 columns; got the shape"),
        ({"y": np.zeros(299)}, "y must hold one label or number for each of the 300 rows"),
        ({"y": np.full(300, "no")}, "y must hold the labels that the selector was fitted to"),
        ({"feature_names": ["a"]}, "one name for each of the 8 columns of X; got 1"),
        ({"X_test": np.zeros((2, 8))}, "X_test and y_test go together"),
        ({"X_test": np.zeros((2, 8)), "y_test": [1, 1]}, "y_test must hold both classes"),
    ],
)
def test_an_error_says_what_to_do(fixed, change, message):
    selector, X, y = fixed
    with pytest.raises(ValueError, match=message):
        SelectionReport.from_estimator(**({"estimator": selector, "X": X, "y": y} | change))


def test_an_estimator_must_be_fitted_and_of_the_right_kind(fixed):
    _, X, y = fixed
    with pytest.raises(NotFittedError, match="Call fit first"):
        SelectionReport.from_estimator(AnnealingSelector(3), X, y)
    with pytest.raises(TypeError, match="needs an AnnealingSelectorCV or AnnealingSelector"):
        SelectionReport.from_estimator(LogisticRegression().fit(X, y), X, y)
