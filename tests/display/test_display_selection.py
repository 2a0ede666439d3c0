"""The picture of who is chosen how often: rows, order, labels."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from display_cases import QUICK, check_legible, selection
from safdr import AnnealingSelectorCV
from safdr.display import (
    SelectionDisplay,
)


def test_selection_counts_the_folds(search):
    display = SelectionDisplay.from_estimator(search)
    names = search.feature_names_in_
    for row in display.to_frame().itertuples():
        feature = names.tolist().index(row.feature)
        position = search.cv_results_["n_features"].tolist().index(row.n_features)
        folds = [search.cv_results_[f"split{i}_support"][position][feature] for i in range(5)]
        assert row.n_folds == sum(folds)
        assert row.in_final_subset == search.support_[feature]
    per_size = display.to_frame().groupby("n_features")["n_folds"].sum()
    np.testing.assert_array_equal(per_size, 5 * search.cv_results_["n_features"])


def test_selection_orders_rows_and_leaves_out_the_never_chosen():
    counts = [[0, 2, 2], [0, 0, 0], [5, 5, 5], [0, 0, 4], [0, 3, 4]]
    display = selection(counts).plot()
    # In three of five folds at 1, at 2 and at 3; x0 never is.
    order = [2, 4, 3, 0]
    assert display.order_.tolist() == order
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == ["x2", "x4", "x3", "x0"]
    np.testing.assert_array_equal(display.ax_.images[0].get_array(), np.array(counts)[order])
    dots = display.ax_.collections[0].get_offsets()
    np.testing.assert_array_equal(dots, [[2, 0], [2, 1]])


def test_selection_breaks_ties_by_how_often_a_feature_is_in():
    counts = [[0, 3, 3], [0, 4, 3], [3, 0, 0], [1, 1, 1], [0, 2, 2]]
    assert selection(counts).order_.tolist() == [2, 1, 0, 4, 3]


def test_selection_frame_is_above_the_grid_lines():
    ax = selection([[5, 5, 5], [0, 5, 5]]).plot().ax_
    (frame,) = ax.patches
    lines = [tick.gridline for axis in (ax.xaxis, ax.yaxis) for tick in axis.get_minor_ticks()]
    assert frame.get_zorder() > max(line.get_zorder() for line in lines)


def test_selection_says_how_many_rows_are_not_shown(search):
    display = SelectionDisplay.from_estimator(search, max_features_shown=4).plot()
    hidden = len(display.order_) - 4
    assert len(display.ax_.get_yticklabels()) == 4
    assert f"{hidden} further features not shown" in display.ax_.get_xlabel()
    assert set(display.to_frame()["feature"]) == set(search.feature_names_in_[display.order_])
    with pytest.raises(ValueError, match="max_features_shown must be at least 1; got 0"):
        SelectionDisplay.from_estimator(search, max_features_shown=0)


def test_selection_labels_fewer_rows_where_they_are_tiny(monkeypatch):
    figure, ax = plt.subplots(figsize=(3, 2), layout="constrained")
    display = selection(np.ones((300, 2), dtype=int), max_features_shown=300).plot(ax)
    assert 2 <= len(display.ax_.get_yticklabels()) < 60
    check_legible(figure, monkeypatch)


def test_selection_without_names_numbers_the_features(fits):
    _, X, y = fits[60]
    search = AnnealingSelectorCV(max_features=2, cv=3, **QUICK).fit(X.to_numpy(), y)
    names = SelectionDisplay.from_estimator(search).to_frame()["feature"]
    assert set(search.get_feature_names_out()) <= set(names)
