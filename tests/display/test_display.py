"""Pictures: their numbers are the results', their labels are legible, names are never commands."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from display_cases import DISPLAYS, QUICK, check_legible, drawn_texts, make
from safdr import Annealing, AnnealingSelector, AnnealingSelectorCV
from safdr.display import (
    DiscriminantDisplay,
    PathDisplay,
    ProxyDisplay,
    SelectionDisplay,
    StabilityDisplay,
    SubstitutesDisplay,
    TraceDisplay,
)

SIZES = {"default": (6.4, 4.8), "small": (3.4, 2.6)}


@pytest.mark.parametrize("n_features", [1, 2, 60])
@pytest.mark.parametrize("kind", DISPLAYS)
def test_texts_neither_overlap_nor_leave_the_figure(made, monkeypatch, kind, n_features):
    display = made(kind, n_features)
    options = {"acceptance": True, "negative": True} if kind == "trace" else {}
    for figsize in ("default", "small"):
        with plt.rc_context({"figure.figsize": SIZES[figsize]}):
            figure = display.plot(**options).figure_
            if figsize == "default":
                check_legible(figure, monkeypatch)
            display.ax_.set_title("A title")
            check_legible(figure, monkeypatch)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_draws_on_given_axes_and_makes_no_figure(made, monkeypatch, kind):
    figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout="constrained")
    display = made(kind, 60)
    assert display.plot(axes[1]) is display
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert not axes[0].has_data()
    if kind != "discriminant":
        assert display.ax_ is axes[1]
    check_legible(figure, monkeypatch)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_draws_in_a_subfigure(made, kind):
    figure = plt.figure(figsize=(12, 6), layout="constrained")
    left, right = figure.subfigures(1, 2)
    made(kind, 2).plot(left.subplots())
    figure.canvas.draw()
    assert any(ax.has_data() for ax in left.axes)
    assert not right.axes


@pytest.mark.parametrize("kind", DISPLAYS)
def test_numbers_without_matplotlib_and_a_clear_message(fits, monkeypatch, kind):
    display = make(kind, *fits[2])
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert len(make(kind, *fits[2]).to_frame()) == len(display.to_frame())
    with pytest.raises(ImportError, match=rf"{type(display).__name__}\.plot.*safdr\[plot\]"):
        display.plot()


@pytest.mark.parametrize("kind", DISPLAYS)
def test_frames_of_all_kinds_hold_the_same(made, kind):
    display = made(kind, 2)
    frame = display.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert display.to_frame(backend="polars").equals(pl.from_pandas(frame, nan_to_null=False))
    assert display.to_frame(backend="pyarrow").column_names == frame.columns.tolist()


def test_frame_of_a_missing_library(search, monkeypatch):
    monkeypatch.setitem(sys.modules, "modin", None)
    with pytest.raises(
        ImportError, match=r"PathDisplay\.to_frame\(backend='modin'\) needs modin.*'pandas'"
    ):
        PathDisplay.from_estimator(search).to_frame(backend="modin")


@pytest.mark.parametrize("display", [PathDisplay, SelectionDisplay])
def test_cross_validated_search_is_asked_for(fits, display):
    _, X, y = fits[2]
    with pytest.raises(NotFittedError, match=r"AnnealingSelectorCV is not fitted. Call fit"):
        display.from_estimator(AnnealingSelectorCV())
    with pytest.raises(TypeError, match=r"needs an AnnealingSelectorCV, fitted; got AnnealingSel"):
        display.from_estimator(AnnealingSelector(1, **QUICK).fit(X, y))
    # It has cv_results_ too.
    search = GridSearchCV(LogisticRegression(), {"C": [1.0]})
    with pytest.raises(NotFittedError, match=r"this GridSearchCV is not fitted"):
        display.from_estimator(search)
    with pytest.raises(TypeError, match=r"needs an AnnealingSelectorCV, fitted; got GridSearchCV"):
        display.from_estimator(search.fit(X, y))


@pytest.mark.parametrize("display", [TraceDisplay, ProxyDisplay, DiscriminantDisplay])
def test_fitted_selector_is_asked_for(fits, display):
    rows = () if display is TraceDisplay else fits[2][1:]
    with pytest.raises(NotFittedError, match=r"this AnnealingSelector is not fitted"):
        display.from_estimator(AnnealingSelector(), *rows)
    with pytest.raises(TypeError, match=r"needs an AnnealingSelector or .*; got SimpleNamespace"):
        display.from_estimator(SimpleNamespace(), *rows)
    with pytest.raises(TypeError, match=r"needs an AnnealingSelector or .*; got LogisticRegres"):
        display.from_estimator(LogisticRegression().fit(*fits[2][1:]), *rows)


@pytest.mark.parametrize(
    ("display", "why"),
    [
        (ProxyDisplay, "measures random subsets on the rows"),
        (DiscriminantDisplay, "draws the rows"),
        (StabilityDisplay, "chooses again on halves of the rows"),
        (SubstitutesDisplay, "scores substitutes on the rows"),
    ],
)
def test_displays_that_need_rows_say_why(fits, display, why):
    selector, X, _ = fits[2]
    ways = rf"{why}, and a fitted selector keeps no rows. Pass .*\(selector, X, y\)"
    for given in [(), (X,)]:
        with pytest.raises(TypeError, match=ways):
            display.from_estimator(selector, *given)


# PathDisplay


def test_path_shows_the_results_of_the_folds(search):
    display = PathDisplay.from_estimator(search).plot()
    results = search.cv_results_
    frame = display.to_frame()
    for name in (
        "n_features",
        *(f"{m}_{s}_score" for m in ("mean", "std") for s in ("test", "train")),
    ):
        np.testing.assert_array_equal(frame[name], results[name])
    assert frame.loc[frame["chosen"], "n_features"].tolist() == [search.n_features_]

    by_label = {bars.get_label(): bars for bars in display.ax_.containers}
    for label, name in {"Validation (± 1 SD)": "test", "Training (± 1 SD)": "train"}.items():
        line, _, (bars,) = by_label[label].lines
        mean, std = results[f"mean_{name}_score"], results[f"std_{name}_score"]
        shift = {"test": -0.1, "train": 0.1}[name]
        np.testing.assert_allclose(line.get_xdata(), results["n_features"] + shift)
        np.testing.assert_array_equal(line.get_ydata(), mean)
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_allclose(
            ends, np.stack([mean - std, np.minimum(mean + std, 1.0)], axis=1)
        )


@pytest.mark.parametrize(("score_name", "top"), [("ROC AUC", 1.0), ("log loss", 1.04)])
def test_path_bars_of_a_roc_auc_end_at_one(score_name, top):
    numbers = {"mean_test_score": [0.9, 0.99], "std_test_score": [0.05, 0.05]}
    numbers |= {"mean_train_score": [0.8, 0.9], "std_train_score": [0.0, 0.0]}
    display = PathDisplay(
        n_features=np.array([1, 2]),
        **{name: np.array(values) for name, values in numbers.items()},
        n_features_chosen=1,
        threshold=0.94,
        score_name=score_name,
    ).plot()
    _, _, (bars,) = display.ax_.containers[0].lines
    ends = [segment[:, 1] for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.85, 0.95], [0.94, top]])
    assert display.to_frame()["threshold"].tolist() == [0.94, 0.94]


def test_path_marks_the_choice_and_its_threshold(search, monkeypatch):
    display = PathDisplay.from_estimator(search).plot()
    lines = {line.get_label(): line for line in display.ax_.lines}
    chosen = search.cv_results_["n_features"] == search.n_features_
    star = lines["Chosen size k*"]
    # On the dot of the validation score, which is beside the size.
    np.testing.assert_allclose(star.get_xdata(), [search.n_features_ - 0.1])
    assert star.get_ydata().tolist() == search.cv_results_["mean_test_score"][chosen].tolist()
    assert set(lines["What the rule asks for"].get_ydata()) == {search.threshold_}
    texts = [text for text, _ in drawn_texts(display.figure_, monkeypatch)]
    assert f"k* = {search.n_features_}" in texts
    assert {"Number of features k", "ROC AUC", "What the rule asks for"} <= set(texts)


def test_path_has_no_threshold_where_the_rule_has_none(search):
    other = SimpleNamespace(
        cv_results_=search.cv_results_,
        n_features_=4,
        n_features_by_rule_={},
        threshold_=None,
        scorer_name_="log $loss$",
    )
    display = PathDisplay.from_estimator(other).plot(show_train=False)
    assert [text.get_text() for text in display.figure_.legends[0].get_texts()] == [
        "Validation (± 1 SD)",
        "Chosen size k*",
    ]
    assert display.ax_.get_ylabel() == r"log \$loss\$"
    assert display.to_frame()["threshold"].isna().all()


@pytest.mark.parametrize("kind", ["path", "selection"])
@pytest.mark.parametrize("n_features", [1, 2, 60])
def test_sizes_are_whole_numbers(made, kind, n_features):
    ax = made(kind, n_features).plot().ax_
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert ticks
    np.testing.assert_array_equal(ticks, np.round(ticks))


# TraceDisplay


@pytest.mark.parametrize("negative", [False, True])
def test_trace_shows_mean_and_spread(search, negative):
    trace = search.result_.trace
    display = TraceDisplay.from_estimator(search).plot(negative=negative)
    (line,) = display.ax_.lines
    mean = -trace.mean if negative else trace.mean
    np.testing.assert_array_equal(line.get_xdata(), trace.beta)
    np.testing.assert_array_equal(line.get_ydata(), mean)
    band = display.ax_.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx((mean + trace.std).max())
    assert band[:, 1].min() == pytest.approx((mean - trace.std).min())
    sign = "−" if negative else ""
    assert display.ax_.get_ylabel() == f"{sign}FDR of k = {search.n_features_} features"
    assert display.acceptance_ax_ is None


def test_trace_shows_the_acceptance_rate_on_request(search):
    display = TraceDisplay.from_estimator(search).plot(acceptance=True)
    (line,) = display.acceptance_ax_.lines
    np.testing.assert_array_equal(line.get_ydata(), search.result_.trace.acceptance)
    assert display.acceptance_ax_.get_ylabel() == "Acceptance rate"
    frame = display.to_frame()
    for name in ("beta", "mean", "std", "acceptance"):
        np.testing.assert_array_equal(frame[name], getattr(search.result_.trace, name))


def test_trace_of_a_single_replica(fits):
    _, X, y = fits[60]
    selector = AnnealingSelector(
        3, annealing=Annealing(n_replicas=1, max_steps=5), random_state=0
    ).fit(X, y)
    display = TraceDisplay.from_estimator(selector).plot()
    assert not display.std.any()
    display.figure_.canvas.draw()
