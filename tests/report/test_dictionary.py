"""The numbers of the dictionary against scikit-learn, and its keys against their description."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    d2_tweedie_score,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import safdr
from report.conftest import ASKED, QUICK, rows
from safdr import (
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Report,
    TableEncoder,
)

FORMATS = Path(__file__).parents[2] / "docs" / "reference" / "files.md"
# Keys that are names of the user.
FREE = {"sizes.features", "rule.others", "settings", "versions"}


# ---- Keys ----------------------------------------------------------------------------------------


def keys(value, path=""):
    if isinstance(value, list):
        for each in value:
            yield from keys(each, path)
    if isinstance(value, dict):
        for key, each in value.items():
            inner = f"{path}.{key}".lstrip(".")
            yield inner
            if inner not in FREE:
                yield from keys(each, inner)


def test_every_key_is_documented(each_case):
    known = set(re.findall(r"^\| `([\w.]+)`", FORMATS.read_text(encoding="utf-8"), re.MULTILINE))
    found = {
        key for key in keys(each_case.report.to_dict()) if not key.startswith("sizes.features.")
    }
    found = {key for key in found if not any(key.startswith(f"{free}.") for free in FREE)}
    assert sorted(found - known) == []


def test_every_documented_key_occurs(case):
    from report.conftest import NAMES

    known = set(re.findall(r"^\| `([\w.]+)`", FORMATS.read_text(encoding="utf-8"), re.MULTILINE))
    found = {key for name in NAMES for key in keys(case(name).report.to_dict())}
    rare = {
        "search.near.note",
        "data.duplicates",
        "data.duplicates.kept",
        "data.duplicates.dropped",
    }
    rare |= {"data.file", "search.stability.note", "test.note"}
    rare |= {"data.columns.few_values", "data.columns.why"}
    rare |= {"data.columns.example", "search.proof.smaller_loss", "rule.near_perfect"}
    assert sorted(known - found - rare) == []


# ---- The model -----------------------------------------------------------------------------------


def sums(model, X):
    """Evaluate the terms on a frame of raw columns."""
    total = np.tile(model["intercepts"], (len(X), 1))
    for term in model["terms"]:
        column = X[term["column"]]
        if "equals" in term:
            x = (column == term["equals"]).to_numpy(float)
        else:
            x = column.to_numpy(float)
        if "missing" in term:
            x = np.where(column.isna(), term["missing"], x)
        if "low" in term:
            x = np.clip(x, term["low"], term["high"])
        total += np.outer(x, term["coefficients"])
    return total


def test_the_terms_are_the_model(each_case):
    model, selector = each_case.report["model"], each_case.selector
    X = each_case.test[0]
    found = sums(model, X)
    if model["link"] == "identity":
        low, high = model["range"]
        np.testing.assert_allclose(np.clip(found[:, 0], low, high), selector.predict(X))
    elif model["link"] in ("log", "log_hazard"):
        predicted = np.exp(found[:, 0]) if model["link"] == "log" else found[:, 0]
        np.testing.assert_allclose(predicted, selector.predict(X))
    elif model["link"] == "logit":
        np.testing.assert_allclose(expit(found[:, 0]), selector.predict_proba(X)[:, 1], atol=1e-12)
    else:
        np.testing.assert_allclose(softmax(found, axis=1), selector.predict_proba(X), atol=1e-12)


def test_terms_of_a_group_stand_together(case):
    report = case("groups").report
    names = [term.get("of", term["feature"]) for term in report["model"]["terms"]]
    assert list(dict.fromkeys(names)) == [f["name"] for f in report["features"] if f["selected"]]
    firsts = [i for i, name in enumerate(names) if name not in names[:i]]
    assert all(names[i] == names[i - 1] for i in set(range(1, len(names))) - set(firsts))


@pytest.mark.parametrize("name", ["two", "regression"])
def test_terms_come_by_strength(case, name):
    terms = case(name).report["model"]["terms"]
    strength = [abs(term["per_sd"][0]) for term in terms]
    assert strength == sorted(strength, reverse=True)
    train = case(name).train[0]
    for term in terms:
        assert term["sd"] == pytest.approx(train[term["column"]].std(ddof=0))
        assert term["per_sd"][0] == pytest.approx(term["sd"] * term["coefficients"][0])


# ---- Scores --------------------------------------------------------------------------------------


def test_scores_are_those_of_scikit_learn(each_case):
    score, selector, (X, y) = each_case.report["score"], each_case.selector, each_case.test
    weight = each_case.weight_test
    if score["name"] == "r2":
        wanted = r2_score(y, selector.predict(X))
    elif score["name"] == "concordance":
        wanted = selector.score(X, y)
    elif score["name"] == "explained_poisson_deviance":
        wanted = d2_tweedie_score(y, selector.predict(X), sample_weight=weight, power=1)
    elif score["name"] == "roc_auc":
        wanted = roc_auc_score(y, selector.predict_proba(X)[:, 1], sample_weight=weight)
    else:
        wanted = roc_auc_score(y, selector.predict_proba(X), multi_class="ovr")
    value, low, high = score["test"]
    assert value == pytest.approx(wanted)
    assert low < value < high
    last = selector[-1] if hasattr(selector, "steps") else selector
    if hasattr(last, "cv_results_"):
        at = list(last.cv_results_["n_features"]).index(last.n_features_)
        results = last.cv_results_
        assert score["cv"] == [results["mean_test_score"][at], results["std_test_score"][at]]


def test_a_model_on_every_feature_is_scored(case):
    made = case("two")
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)).fit(*made.train)
    wanted = roc_auc_score(made.test[1], model.decision_function(made.test[0]))
    assert made.report["score"]["all_features"] == pytest.approx(wanted)
    # By folds, where no rows are held out.
    inside = Report.from_estimator(made.selector, *made.train, what_if=False)
    assert inside["score"]["all_features"] == pytest.approx(made.report["score"]["cv"][0], abs=0.05)
    # Not beyond 1e8 numbers, nor if folds might divide what belongs together.
    grouped = AnnealingSelectorCV(sizes=2, cv=[(range(200), range(200, 300))], **QUICK)
    grouped.fit(*made.train)
    assert "all_features" not in Report.from_estimator(grouped, *made.train)["score"]
    # Nor without another score, which it would be taken for.
    fixed = AnnealingSelector(2, **QUICK).fit(*made.train)
    alone = Report.from_estimator(fixed, *made.train, what_if=False)
    assert "all_features" not in alone["score"]
    assert repr(alone) == "Report(2 of 8 features)"


def test_held_out_rows_of_two_classes(case):
    made = case("two")
    test, (X, y) = made.report["test"], made.test
    p = made.selector.predict_proba(X)[:, 1]
    assert test["n"] == 120
    assert test["calibration"]["brier"] == pytest.approx(brier_score_loss(y == "yes", p))
    for each in test["thresholds"]:
        flagged = p >= each["threshold"]
        assert each["flagged"] == pytest.approx(flagged.mean())
        assert each["recall"] == pytest.approx(recall_score(y == "yes", flagged))
        assert each["precision"] == pytest.approx(precision_score(y == "yes", flagged))
    assert sum(each["n"] for each in test["bins"]) == 120
    assert [by["column"] for by in test["segments"]] == ["number", "kind"]
    kinds = test["segments"][1]["rows"]
    own = np.arange(120) % 3 == 0
    assert kinds[0]["n"] == 40
    assert kinds[0]["predicted"] == pytest.approx(p[own].mean())
    assert kinds[0]["score"][0] == pytest.approx(roc_auc_score(y[own], p[own]))


def test_refitted_coefficients_are_those_of_statsmodels(case):
    sm = pytest.importorskip("statsmodels.api")
    for name, kind in (("two", sm.Logit), ("regression", sm.OLS)):
        made = case(name)
        X, y = made.test
        terms = made.report["model"]["terms"]
        columns = np.column_stack(
            [np.clip(X[t["column"]], t.get("low", -np.inf), t.get("high", np.inf)) for t in terms]
        )
        y = (y == "yes").to_numpy(float) if name == "two" else y.to_numpy()
        options = {"disp": 0} if name == "two" else {}
        wanted = kind(y, sm.add_constant(columns)).fit(**options)
        found = made.report["test"]["coefficients"]
        assert [each["feature"] for each in found] == [t["feature"] for t in terms]
        for key, values in (
            ("estimate", wanted.params),
            ("error", wanted.bse),
            ("p_value", wanted.pvalues),
        ):
            np.testing.assert_allclose([e[key] for e in found], values[1:], rtol=0.02, atol=1e-9)


def test_held_out_rows_of_classes_and_numbers(case):
    made = case("classes")
    X, y = made.test
    assert (
        made.report["test"]["confusion"] == confusion_matrix(y, made.selector.predict(X)).tolist()
    )
    accuracy = np.mean(made.selector.predict(X) == y)
    assert made.report["test"]["accuracy"][0] == pytest.approx(accuracy)
    made = case("regression")
    X, y = made.test
    errors = made.report["test"]["errors"]
    assert errors["rmse"] == pytest.approx(root_mean_squared_error(y, made.selector.predict(X)))


# ---- The choice ----------------------------------------------------------------------------------


def test_sizes_and_rules(case):
    made = case("two")
    results, rule = made.selector.cv_results_, made.report["rule"]
    assert [each["k"] for each in made.report["sizes"]] == list(results["n_features"])
    for at, each in enumerate(made.report["sizes"]):
        for name, share in each["features"].items():
            j = int(name.split()[1])
            support = [results[f"split{i}_support"][at][j] for i in range(5)]
            assert share == np.mean(support)
    assert rule["k"] == made.selector.n_features_
    assert set(rule["others"]) == {"one_sd", "best"}


def test_a_proof_tells_the_best_subset_and_how_far_the_selected_one_is(case):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X[:400], y[:400]
    selector = AnnealingSelector(5, random_state=0).fit(X, y)
    proof = Report.from_estimator(selector, X, y, prove=60)["search"]["proof"]
    assert proof["proven"]
    # The selected subset has the smaller loss, not the larger Fisher ratio.
    assert not proof["selected"]
    assert proof["smaller_loss"]
    ask = safdr.what_if(selector, X, y)
    assert ask.value(proof["features"]) == pytest.approx(proof["value"])
    assert proof["below"] == pytest.approx(1 - selector.criterion_value_ / proof["value"])
    assert proof["gap"] == pytest.approx(proof["bound"] / selector.criterion_value_ - 1)
    own = case("two").report["search"]["proof"]
    assert own["bound"] >= own["value"] * (1 - 1e-9)


def test_half_samples_and_substitutes(case):
    made = case("two")
    search = made.report["search"]
    assert search["stability"]["n"] == 4
    assert len(search["stability"]["index"]) == 3
    for each in made.report["features"]:
        assert 0 <= each["frequency"][1] <= each["frequency"][0] <= each["frequency"][2] <= 1
        assert each["selected"] == ("without" in each)
    assert search["near"]["n"] >= len(search["near"]["subsets"]) >= 1
    assert set(search["near"]["in_all"]) <= set(search["near"]["subsets"][0]["features"])


def test_a_question_without_an_answer_is_a_note(case):
    search = case("groups").report["search"]
    assert "groups" in search["proof"]["note"]


# ---- What can be described -----------------------------------------------------------------------


def test_a_pipeline_is_the_encoder_and_the_selector(case):
    made = case("categories")
    encoder, selector = made.selector[0], made.selector[-1]
    X, y = made.train
    apart = Report.from_estimator(
        selector,
        encoder.transform(X),
        y,
        X_test=encoder.transform(made.test[0]),
        y_test=made.test[1],
        encoder=encoder,
        details={"seconds": 1.5},
        **ASKED,
    ).to_dict()
    whole = made.report.to_dict()
    for content in (apart, whole):
        content.pop("created")
        content["search"]["proof"].pop("seconds", None)
    assert apart == whole
    terms = {term["feature"]: term for term in whole["model"]["terms"]}
    assert any("equals" in term for term in terms.values()) or "column 0" in terms
    assert all(term["column"] in X.columns for term in terms.values())


def test_other_steps_are_named():
    X, z, rng = rows()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    pipeline = make_pipeline(StandardScaler(), AnnealingSelector(2, **QUICK)).fit(X, y)
    report = Report.from_estimator(pipeline, X, y)
    assert report["notes"] == ["Terms are columns after StandardScaler."]


def test_sparse_rows_and_several_outputs_and_other_models_are_described():
    X, z, rng = rows()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    sparse = csr_matrix(np.where(np.abs(X) > 0.8, X, 0.0))
    selector = AnnealingSelectorCV(sizes=3, **QUICK).fit(sparse[:300], y[:300])
    report = Report.from_estimator(
        selector, sparse[:300], y[:300], X_test=sparse[300:], y_test=y[300:]
    )
    assert report["score"]["test"][0] == pytest.approx(
        roc_auc_score(y[300:], selector.predict_proba(sparse[300:])[:, 1])
    )
    both = np.column_stack([z, z**2])
    outputs = AnnealingRegressorSelectorCV(sizes=3, **QUICK).fit(X, both)
    report = Report.from_estimator(outputs, X, both, X, both)
    assert len(report["model"]["intercepts"]) == 2
    assert "link" not in report["model"]
    assert "several outputs" in report["test"]["note"]
    assert "output 2</th>" in report.to_html()
    forest = RandomForestClassifier(5, random_state=0)
    selector = AnnealingSelector(2, estimator=forest, **QUICK).fit(X, y)
    report = Report.from_estimator(selector, X, y, X_test=X, y_test=y)
    assert "terms" not in report["model"]
    assert "not a linear formula" in report.to_html()

    def criterion(X, y):
        return float(np.abs(np.corrcoef(X.T, y)[-1, :-1]).sum())

    selector = AnnealingSelector(2, criterion=criterion, **QUICK).fit(X, y)
    report = Report.from_estimator(selector, X, y, prove=1)
    assert "no bounds" in report["search"]["proof"]["note"]
    assert report["search"]["criterion"] == "criterion"
    report.to_html()


def test_few_held_out_rows_are_described():
    X, z, rng = rows()
    y = z + rng.normal(size=len(z))
    selector = AnnealingRegressorSelectorCV(sizes=3, **QUICK).fit(X, y)
    report = Report.from_estimator(selector, X, y, X[:5], y[:5], by=X[["column 6"]][:5])
    assert "bins" not in report["test"]
    assert [part["column"] for part in report["test"]["segments"]] == ["column 6"]
    report.to_html()


def test_a_score_of_ones_own_has_no_interval():
    X, z, rng = rows()
    y = (z + rng.logistic(size=len(z)) > 0).astype(int)
    selector = AnnealingSelectorCV(sizes=3, scoring="accuracy", **QUICK)
    selector.fit(X[:300], y[:300])
    score = Report.from_estimator(selector, X[:300], y[:300], X_test=X[300:], y_test=y[300:])[
        "score"
    ]
    assert score["name"] == "accuracy"
    assert score["test"] == [selector.score(X[300:], y[300:])]
    assert "chance" not in score


REFUSALS = {
    "one of the test parts": ({"X_test": 1}, "X_test and y_test go together"),
    "unknown labels": ({"y": np.repeat([0, 7], 210)}, "must hold the classes"),
    "not fitted": ({"estimator": AnnealingSelector(2)}, "must be a fitted selector"),
    "a source": ({"X": "rows.parquet", "y": "target"}, "source=\\(path, target\\)"),
    "lengths of segments": ({"by": {"a": [1]}}, "must hold 420 values"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name):
    X, z, _ = rows()
    y = (z > 0).astype(int)
    change, message = REFUSALS[name]
    given = {"estimator": AnnealingSelector(2, **QUICK).fit(X, y), "X": X, "y": y}
    if "by" in change:
        given |= {"X_test": X, "y_test": y}
    with pytest.raises((ValueError, TypeError), match=message):
        Report.from_estimator(**(given | change))


def test_an_older_schema_is_refused():
    with pytest.raises(ValueError, match="must have schema 2; got 1"):
        Report({"schema": 1})


def test_the_fingerprint_is_of_values_and_names():
    X, z, _ = rows()
    y = (z > 0).astype(int)
    selector = AnnealingSelector(2, **QUICK).fit(X, y)

    def mark(X, y):
        return Report.from_estimator(selector, X, y, what_if=False)["data"]["fingerprint"]

    same = mark(X.copy(), y.copy())
    assert mark(X, y) == same
    assert mark(X + 1e-9, y) != same
    assert mark(X, 1 - y) != same


def test_columns_of_the_encoder_are_told(case):
    columns = case("categories").report["data"]["columns"]
    assert {each["name"] for each in columns} == set(case("categories").train[0].columns)
    assert isinstance(TableEncoder().fit(pd.DataFrame({"a": [1.5, 2.5, 3.0]})).columns(), list)
