"""Displays of selectors for several classes, for measured outputs, and with constraints."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from safdr import (
    Annealing,
    AnnealingRegressorSelector,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    evaluate_subsets,
)
from safdr.display import (
    DiscriminantDisplay,
    PathDisplay,
    ProxyDisplay,
    SelectionDisplay,
    TraceDisplay,
)

mpl.use("Agg")

QUICK = {"annealing": Annealing(n_replicas=8, max_steps=10), "random_state": 0}
GROUPS = {"colour": ["c", "d", "e"], "size": ["f", "g"]}


def _rows(kind, n_rows=240):
    """Eight named columns; what is to be predicted hangs on the first, the third and the sixth."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(n_rows, 8)), columns=list("abcdefgh"))
    signal = X["a"] + X["c"] - X["f"] + rng.normal(size=n_rows)
    if kind == "numbers":
        return X, signal.to_numpy()
    cuts = [-0.8, 0.8] if kind == "classes" else [0.0]
    return X, np.array(["low", "mid", "high"])[np.digitize(signal, cuts)]


@pytest.fixture(scope="module")
def searches():
    """A search of each kind, with its rows."""
    kinds = {
        "classes": AnnealingSelectorCV(max_features=4, **QUICK),
        "numbers": AnnealingRegressorSelectorCV(max_features=4, **QUICK),
        "groups": AnnealingSelectorCV(
            max_features=4, constraints=Constraints(groups=GROUPS), **QUICK
        ),
    }
    found = {}
    for kind, search in kinds.items():
        X, y = _rows(kind)
        found[kind] = search.fit(X, y), X, y
    return found


@pytest.mark.parametrize(
    ("kind", "score", "criterion"),
    [
        ("classes", "ROC AUC, each class against the rest", "FDR"),
        ("numbers", "R²", "R²"),
        ("groups", "ROC AUC", "FDR"),
    ],
)
def test_labels_say_what_was_scored_and_climbed(searches, kind, score, criterion):
    search, *_ = searches[kind]
    path = PathDisplay.from_estimator(search).plot()
    assert path.ax_.get_ylabel() == score
    trace = TraceDisplay.from_estimator(search).plot()
    assert trace.ax_.get_ylabel() == f"{criterion} of k = {search.n_features_} features"
    np.testing.assert_array_equal(trace.to_frame()["mean"], search.result_.trace.mean)
    selection = SelectionDisplay.from_estimator(search).plot()
    assert len(selection.to_frame()) == len(selection.order_) * 4


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_bars_of_bounded_scores_end_at_one(searches, kind):
    search, *_ = searches[kind]
    display = PathDisplay.from_estimator(search)
    ups = display._bars(np.array([0.99]), np.array([0.05]))[1]
    assert ups == pytest.approx([0.01])


def test_a_criterion_of_ones_own_has_no_borrowed_name():
    X, y = _rows("labels")
    selector = AnnealingSelector(2, criterion=lambda X, y: float(X[:, 0].mean()), **QUICK)
    display = TraceDisplay.from_estimator(selector.fit(X, y)).plot()
    assert display.ax_.get_ylabel() == "Criterion of k = 2 features"
    costly = AnnealingSelector(2, feature_cost={"a": 0.1}, **QUICK).fit(X, y)
    display = TraceDisplay.from_estimator(costly).plot()
    assert display.ax_.get_ylabel() == "FDR less cost of k = 2 features"


# ---- Groups -------------------------------------------------------------------------------------


def test_a_group_is_one_row_of_the_heat_map(searches):
    search, *_ = searches["groups"]
    display = SelectionDisplay.from_estimator(search)
    assert display.names.tolist() == ["a", "b", "colour", "size", "h"]
    # k features at size k, in each of the folds.
    total = display.n_folds_chosen.sum(axis=0)
    np.testing.assert_array_equal(total, search.n_splits_ * display.n_features)
    assert display.support.sum() == search.n_features_
    drawn = display.plot()
    ticks = [label.get_text() for label in drawn.ax_.get_yticklabels()]
    assert ticks == [display.names[i] for i in display.order_]


def test_groups_without_a_name_are_called_by_their_columns():
    X, y = _rows("labels")
    search = AnnealingSelectorCV(
        max_features=2, constraints=Constraints(groups=[list("cdefg"), ["a", "b"]]), **QUICK
    )
    display = SelectionDisplay.from_estimator(search.fit(X, y))
    assert display.names.tolist() == ["a + b", "c + d + e + 2 more", "h"]


def test_sizes_that_groups_rule_out_stay_empty():
    X, y = _rows("labels")
    search = AnnealingSelectorCV(
        max_features=6,
        constraints=Constraints(groups=[list("abc"), list("def")], count_by="column"),
        **QUICK,
    )
    search.set_params(constraints__never_include=["g", "h"]).fit(X, y)
    display = SelectionDisplay.from_estimator(search).plot()
    assert display.n_features.tolist() == [3, 6]
    image = display.ax_.images[0].get_array()
    assert image.shape[1] == 4
    np.testing.assert_array_equal(image[:, 1:3], 0)
    np.testing.assert_array_equal(image[:, [0, 3]], display.n_folds_chosen[display.order_])


def test_the_leading_pair_is_right_where_subsets_differ_in_length(searches):
    search, X, y = searches["groups"]
    display = DiscriminantDisplay.from_estimator(search, X, y, random_state=0)
    strength = np.abs(search.estimator_.coef_[0]) * X.to_numpy()[:, search.subset_].std(axis=0)
    leading = search.subset_[np.argsort(-strength)[:2]]
    assert display.names.tolist() == X.columns[np.sort(leading)].tolist()


# ---- ProxyDisplay -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_proxy_measures_what_the_search_measured(kind):
    X, y = _rows(kind)
    X = X[["a", "b", "c", "d"]]
    make = AnnealingSelector if kind == "classes" else AnnealingRegressorSelector
    selector = make(2, **QUICK).fit(X, y)
    display = ProxyDisplay.from_estimator(selector, X, y, n_random=40, random_state=0)
    task = "classification" if kind == "classes" else "regression"
    every = list(itertools.combinations(range(4), 2))
    possible = evaluate_subsets(X, y, every, task=task, ridge=selector.ridge_)
    for value, loss in zip(display.random_criterion_values, display.random_losses, strict=True):
        i = np.argmin(np.abs(possible.criterion_values - value))
        assert (possible.criterion_values[i], possible.losses[i]) == pytest.approx((value, loss))
    display.plot()
    label = {"classes": "Cross-entropy", "numbers": "Squared error"}[kind]
    assert display.ax_.get_ylabel() == label
    assert display.to_frame().columns[2] == selector.result_.loss_name


def test_proxy_draws_what_constraints_allow():
    X, y = _rows("labels")
    how = {
        "constraints": Constraints(groups=GROUPS, always_include=["a"], at_most_one_of=[["b", "h"]])
    }
    how |= {"feature_cost": {"h": 3.0, "c": 1.0}, "class_weight": "balanced"}
    selector = AnnealingSelector(3, criterion="fisher", **how, **QUICK).fit(X, y)
    display = ProxyDisplay.from_estimator(selector, X, y, n_random=60, random_state=0)
    assert display.n_features == 3
    # Every allowed set is among the candidates of so small a search, with cost and weights.
    result = selector.result_
    known = dict(zip(result.criterion_values.round(9), result.losses, strict=True))
    for value, loss in zip(display.random_criterion_values, display.random_losses, strict=True):
        assert loss == pytest.approx(known[value.round(9)], rel=0.05)
    assert len(set(display.random_criterion_values.round(9))) == len(known) == 5
    display.plot()
    assert display.ax_.get_xlim()[1] >= -display.random_criterion_values.min()


@pytest.mark.parametrize(
    "how",
    [
        {"criterion": lambda X, y: float(X[:, 0].mean())},
        {"estimator": LogisticRegression()},
    ],
)
def test_proxy_refuses_what_it_can_not_measure(how):
    X, y = _rows("labels")
    selector = AnnealingSelector(2, **how, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="searched or chose by something else"):
        ProxyDisplay.from_estimator(selector, X, y)


# ---- DiscriminantDisplay ------------------------------------------------------------------------


def test_discriminant_is_for_two_classes(searches):
    for kind, what in (("classes", "3 classes"), ("numbers", "numbers")):
        with pytest.raises(ValueError, match=f"separates two classes; .* was fitted to {what}"):
            DiscriminantDisplay.from_estimator(*searches[kind])


def test_discriminant_without_linear_models_asks_for_two_columns():
    X, y = _rows("labels")
    selector = AnnealingSelector(2, estimator=LinearSVC(), **QUICK).fit(X, y)
    with pytest.raises(ValueError, match=r"fitted none\. Name two columns"):
        DiscriminantDisplay.from_estimator(selector, X, y)
    display = DiscriminantDisplay.from_estimator(selector, X, y, ("a", "c"), random_state=0)
    assert display.names.tolist() == ["a", "c"]
