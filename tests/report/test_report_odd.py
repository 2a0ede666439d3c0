"""Reports of answers that are out of the ordinary: each has its page, and none says "None"."""

import json
import re
from itertools import product

import numpy as np
import pytest

from helpers.html import parsed
from safdr import Annealing, AnnealingSelectorCV, SelectionReport
from safdr.report.words import headline

FEW = {"annealing": Annealing(n_replicas=6, max_steps=4), "random_state": 0}
NO_CHOICE = ("rule", "by_rule", "note", "smallest", "largest")


def make_rows(kind, n_features, n_rows=60):
    """Rows that are hard to say anything about."""
    rng = np.random.default_rng(n_features)
    X, y = rng.normal(size=(n_rows, n_features)), np.arange(n_rows) % 2
    if kind == "few of one class":
        y = (np.arange(n_rows) < 6).astype(int)
    elif kind == "separated":
        X[:, 0] += 100 * y
    elif kind == "two values":
        X = (X > 0).astype(float)
    elif kind == "twins":
        X[:] = X[:, :1] + 1e-3 * X
    elif kind == "tiny":
        X *= 1e-150
    return X, y


def without_choice(content):
    """As the command line has it where the number of features was given."""
    content["size"].update(dict.fromkeys(NO_CHOICE))
    content["path"], content["selection"] = [], {key: [] for key in content["selection"]}
    return content


def check_page(content):
    """The page is whole, and has no Python in it."""
    json.dumps(content, allow_nan=False)
    elements = parsed(SelectionReport(content).to_html())
    text = " ".join(elements.text)
    assert not re.search(r"\b(None|nan|NaN|inf|Undefined)\b", text)
    places = [attrs[key] for _, attrs in elements.found for key in ("x", "y") if key in attrs]
    assert np.isfinite([float(place) for place in places]).all()
    return text


KINDS = ("chance", "few of one class", "separated", "two values", "twins", "tiny")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "n_features"), [*product(KINDS, (1, 2, 5))])
def test_every_size_of_every_kind_of_rows_has_its_page(kind, n_features):
    X, y = make_rows(kind, n_features)
    # Of one size: no feature was left out of five, or one of two.
    alone = (1, 1) if n_features == 2 else (n_features, n_features)
    for smallest, largest in {(1, n_features), alone}:
        search = AnnealingSelectorCV(min_features=smallest, max_features=largest, **FEW).fit(X, y)
        report = SelectionReport.from_estimator(search, X, y, X_test=X[::3], y_test=y[::3])
        check_page(report.to_dict())
        check_page(without_choice(report.to_dict()))
        check_page(SelectionReport.from_estimator(search, X, y).to_dict())


@pytest.mark.parametrize(
    ("chosen", "total", "answer"),
    [
        (5, 5, "All 5 features together could not be shown to predict y better than guessing: "),
        (1, 1, "The only feature could not be shown to predict y better than guessing: "),
        (2, 5, "The best 2 of 5 features found to predict y could not be shown to do so better "),
    ],
)
def test_a_given_number_of_features_that_predict_nothing(report, chosen, total, answer):
    content = without_choice(report.to_dict())
    content["n_features"], content["size"]["chosen"] = total, chosen
    content["target"]["name"] = "y"
    content["scores"]["guessing"]["p_value"] = 0.3
    names = {feature["index"]: feature["name"] for feature in content["features"]}
    assert re.sub("<.*?>", "", headline(content, names)).startswith(answer)


def test_a_score_below_chance_is_told():
    X, y = make_rows("chance", 5)
    # No slope is shrunk to zero, as the default does with features that predict nothing.
    search = AnnealingSelectorCV(min_features=5, max_features=5, criterion="fisher", **FEW)
    search.fit(X, y)
    # The labels of the held-out rows are turned around.
    report = SelectionReport.from_estimator(search, X, y, X_test=X, y_test=1 - y)
    assert report.to_dict()["scores"]["test"]["value"] < 0.5
    assert "better than guessing" in check_page(without_choice(report.to_dict()))


@pytest.mark.parametrize("gap", [[0], [1, 2], range(50)])
def test_a_criterion_without_a_value_leaves_a_gap_in_the_trace(report, gap):
    content = report.to_dict()
    for i in gap[: len(content["trace"]["mean"])]:
        content["trace"]["mean"][i] = content["trace"]["std"][i] = None
    check_page(content)


def bars_of_alternatives(content):
    """Bars of the page's chart of alternatives."""
    found = parsed(SelectionReport(content).to_html()).found
    return sum(attrs.get("class") == "worse" for _, attrs in found)


def test_a_set_that_was_not_fitted_has_no_bar(report):
    content = report.to_dict()
    sets = [each for each in content["alternatives"] if each["excess"] is not None]
    n_sets = len(sets)
    assert bars_of_alternatives(content) == n_sets > 2
    sets[-1].update(cross_entropy=None, excess=None)
    check_page(content)
    assert bars_of_alternatives(content) == n_sets - 1
    for each in content["alternatives"][1:]:
        each.update(cross_entropy=None, excess=None)
    check_page(content)
    assert bars_of_alternatives(content) == 1
