"""Groups, costs and constraints in the report; and what it has no words for."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from helpers.html import HOSTILE
from report_cases import QUICK, rows
from safdr import (
    AnnealingRegressorSelector,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    SelectionReport,
)
from safdr.report.charts import draw_alternatives, draw_selection
from safdr.report.page import WIDTH
from safdr.report.text import feature_labels_of, features_in, labels_of
from safdr.report.words import setting


def test_a_group_counts_as_one_everywhere(grouped):
    search, report = grouped
    content = report.to_dict()
    assert (content["n_features"], content["n_columns"]) == (5, 8)
    assert content["size"]["chosen"] == search.n_features_
    assert content["size"]["columns"] == len(content["features"]) == len(search.subset_)
    assert content["size"]["columns"] > content["size"]["chosen"]
    np.testing.assert_allclose(
        np.array(content["selection"]["share"]).sum(axis=0), content["selection"]["sizes"]
    )
    assert set(content["selection"]["features"]) <= {"pair", "b", "c", "d", "f"}
    assert content["groups"][0] == {"name": "pair", "indices": [0, 6], "features": ["a", "e"]}
    assert json.loads(json.dumps(content)) == content


def test_columns_of_a_group_stand_where_the_strongest_belongs(grouped):
    features = grouped[1].to_dict()["features"]
    names = [feature["group"] or feature["name"] for feature in features]
    blocks = [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]
    assert len(blocks) == len(set(blocks)) == grouped[0].n_features_
    strongest = {}
    for name, feature in zip(names, features, strict=True):
        strongest.setdefault(name, abs(feature["standardised_coefficient"]))
        assert abs(feature["standardised_coefficient"]) <= strongest[name]
    assert list(strongest.values()) == sorted(strongest.values(), reverse=True)


def test_alternatives_have_no_filling_and_differ_by_whole_features(grouped):
    content = grouped[1].to_dict()
    assert len({len(each["indices"]) for each in content["alternatives"]}) > 1
    for each in content["alternatives"]:
        assert min(each["indices"]) >= 0
        assert len(features_in(each["indices"], content)) == content["size"]["chosen"]
    assert content["alternatives"][0]["indices"] == grouped[0].subset_.tolist()
    assert content["alternatives"][0]["excess"] == 0
    units = feature_labels_of(content)
    drawn = draw_alternatives(content, units, WIDTH)
    assert "c = 1" not in drawn
    assert " for " in drawn


def test_the_page_shows_groups_with_their_columns(grouped):
    search, report = grouped
    page = report.to_html()
    chosen = {f["group"] for f in report.to_dict()["features"]} - {None}
    for name in chosen:
        assert f'<th scope="rowgroup" colspan="6"><bdi>{name}</bdi></th>' in page
    n_columns = len(search.subset_)
    assert f"are {n_columns} columns" in page
    headline = page.split("<h1>")[1].split("</h1>")[0]
    assert " of 5 features" in headline
    assert "c = 1" not in headline


def test_the_heat_map_has_a_row_for_each_group(grouped):
    content = grouped[1].to_dict()
    root = ElementTree.fromstring(draw_selection(content, feature_labels_of(content), WIDTH))
    titles = {e.findtext("title") for e in root.iter() if "name" in e.get("class", "").split()}
    assert titles == set(content["selection"]["features"])
    bold = [e for e in root.iter() if "kept" in e.get("class", "").split()]
    assert len(bold) == content["size"]["chosen"]


def test_a_column_keeps_its_own_label_beside_that_of_its_group(grouped):
    content = grouped[1].to_dict()
    assert labels_of(content)[2] == "c = 1"
    assert feature_labels_of(content)[2] == "c"


def test_sizes_with_gaps_are_drawn_where_they_are():
    X, y = rows(8)
    groups = [[0, 1, 2], [3, 4, 5]]
    search = AnnealingSelectorCV(
        max_features=6,
        constraints=Constraints(groups=groups, never_include=[6, 7], count_by="column"),
        **QUICK,
    ).fit(X, y)
    report = SelectionReport.from_estimator(search, X, y)
    content = report.to_dict()
    assert content["selection"]["sizes"] == [3, 6]
    assert (content["n_features"], content["size"]["possible"]) == (8, 6)
    page = report.to_html()
    assert "largest number of features that was tried" not in page
    root = ElementTree.fromstring(draw_selection(content, feature_labels_of(content), WIDTH))
    (frame,) = [e for e in root.iter() if "column" in e.get("class", "").split()]
    assert float(frame.get("x")) + float(frame.get("width")) <= WIDTH


def test_hostile_names_of_groups_are_text():
    X, y = rows(8)
    groups = {HOSTILE[0]: [0, 1], HOSTILE[1]: [2, 3], HOSTILE[6]: [4, 5]}
    search = AnnealingSelectorCV(
        max_features=4, constraints=Constraints(groups=groups), **QUICK
    ).fit(X, y)
    page = SelectionReport.from_estimator(search, X, y).to_html()
    assert page.count("<script") == 2  # the numbers of the panel, and its program
    assert "<img" not in page
    assert "\u202e" not in page


# ---- Settings -----------------------------------------------------------------------------------


def test_constraints_that_were_given_are_listed():
    X, y = rows(8)
    selector = AnnealingSelector(
        3,
        constraints=Constraints(always_include=[1], never_include=[5], at_most_one_of=[[2, 3]]),
        feature_cost={4: 0.5},
        class_weight="balanced",
        **QUICK,
    ).fit(X, y)
    report = SelectionReport.from_estimator(selector, X, y)
    page = report.to_html()
    for part in (
        "always_include 1",
        "never_include 5",
        "at_most_one_of 2, 3",
        "feature_cost 4: 0.5",
        "cost_strength 1.0",
        "class_weight balanced",
    ):
        assert f"<bdi>{part}</bdi>" in page
    assert "less what its features cost" in page
    plain = AnnealingSelector(3, **QUICK).fit(X, y)
    assert "<dt>Constraints</dt>" not in SelectionReport.from_estimator(plain, X, y).to_html()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "default"),
        (0.5, "0.5"),
        (["a", "b"], "a, b"),
        ([["a", "b"], ["c", "d"]], "a, b; c, d"),
        ({"a": 1.5, "b": 2}, "a: 1.5, b: 2"),
    ],
)
def test_a_setting_is_written_for_people(value, text):
    assert setting(value) == text


def test_a_cheaper_winner_comes_first_although_others_fit_better():
    X, y = rows(8)
    plain = AnnealingSelector(2, **QUICK).fit(X, y)
    cost = {int(plain.subset_[0]): 0.05, int(plain.subset_[1]): 0.05}
    selector = AnnealingSelector(2, feature_cost=cost, cost_strength=20.0, **QUICK).fit(X, y)
    assert not set(selector.subset_) & set(plain.subset_)
    content = SelectionReport.from_estimator(selector, X, y).to_dict()
    found = content["alternatives"]
    assert found[0]["indices"] == selector.subset_.tolist()
    assert min(each["excess"] for each in found) == found[0]["excess"] == 0
    result = selector.result_
    total = result.losses + result.penalties
    assert found[-1]["excess"] <= max(total) / total[result.best] - 1 + 1e-12


# ---- What has no report -------------------------------------------------------------------------


def test_several_outputs_are_refused_in_words():
    X, y = rows(8)
    both = np.column_stack([X[:, 0] + y, y])
    numbers = AnnealingRegressorSelector(2, **QUICK).fit(X, both)
    with pytest.raises(ValueError, match="one label or number for each of the 300 rows"):
        SelectionReport.from_estimator(numbers, X, both)


@pytest.mark.parametrize(
    "how",
    [
        {"estimator": LinearSVC()},
        {"criterion": lambda X, y: float(X[:, 0].mean())},
    ],
)
def test_losses_that_are_no_cross_entropies_are_refused_in_words(how):
    X, y = rows(8)
    selector = AnnealingSelector(2, **how, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="chose by another loss"):
        SelectionReport.from_estimator(selector, X, y)


def test_a_sparse_matrix_is_refused_in_words(fixed):
    from scipy.sparse import csr_array

    selector, X, y = fixed
    with pytest.raises(ValueError, match=r"Pass X\.toarray"):
        SelectionReport.from_estimator(selector, csr_array(X), y)


def test_the_page_says_whose_loss_it_was(fixed):
    _, X, y = fixed
    assert "its loss on the training rows" in SelectionReport.from_estimator(*fixed).to_html()
    own = AnnealingSelector(3, estimator=LogisticRegression(C=0.1), **QUICK).fit(X, y)
    page = SelectionReport.from_estimator(own, X, y).to_html()
    assert "its loss on held-out rows" in page
    assert "<bdi>LogisticRegression</bdi>" in page
