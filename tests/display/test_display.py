"""Pictures: their numbers are the results', their labels are legible, names are never commands."""

from __future__ import annotations

import itertools
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from safdr import Annealing, AnnealingSelector, AnnealingSelectorCV
from safdr.display import (
    DiscriminantDisplay,
    PathDisplay,
    ProxyDisplay,
    SelectionDisplay,
    TraceDisplay,
)
from safdr.display.labels import fitted, fitted_distinct, plain
from safdr.display.style import FIRST, SECOND

mpl.use("Agg")
import matplotlib.pyplot as plt

DISPLAYS = ["path", "trace", "proxy", "discriminant", "selection"]
SIZES = {"default": (6.4, 4.8), "small": (3.4, 2.6)}
QUICK = {"annealing": Annealing(n_replicas=15, max_steps=15), "random_state": 0}

HOSTILE = [
    "price in $ and $",
    r"$\frac{1}{",
    r"\input{/etc/passwd} ^_{x}",
    "under_score^2 & 100% #1 ~",
    "two\nlines\tand\rmore",
    "emoji 🧬 👩‍🔬 中文",
    "\ud83d lone \u202e turned \x00 null",
    "",
    "   ",
    "x" * 5000,
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def _rows(n_features):
    X, y = make_classification(
        300,
        n_features,
        n_informative=min(6, n_features),
        n_redundant=0,
        n_clusters_per_class=1,
        class_sep=0.7,
        flip_y=0.1,
        random_state=0,
    )
    names = [
        f"concentration_of_compound_in_the_{i:02d}th_sample_of_the_patient [mg/dL]"
        for i in range(n_features)
    ]
    return pd.DataFrame(X, columns=names), np.where(y, "has the illness for certain", "healthy")


@pytest.fixture(scope="module")
def fits():
    """Fitted searches by number of features, each with its rows; 1 has one size only."""
    found = {}
    for key, (n_features, smallest, largest) in {
        2: (2, 1, 2),
        60: (60, 1, 30),
        1: (9, 3, 3),
    }.items():
        X, y = _rows(n_features)
        search = AnnealingSelectorCV(min_features=smallest, max_features=largest, **QUICK)
        found[key] = search.fit(X, y), X, y
    return found


@pytest.fixture
def search(fits):
    return fits[60][0]


def _make(kind, search, X, y):
    if kind == "path":
        return PathDisplay.from_estimator(search)
    if kind == "trace":
        return TraceDisplay.from_estimator(search)
    if kind == "proxy":
        return ProxyDisplay.from_estimator(search, X, y, n_random=200, random_state=0)
    if kind == "discriminant":
        return DiscriminantDisplay.from_estimator(search, X, y, (0, 1), random_state=0)
    return SelectionDisplay.from_estimator(search, max_features_shown=60)


def _drawn_texts(figure, monkeypatch):
    """Texts that get ink, with their boxes in pixels."""
    drawn = []
    draw = Text.draw

    def record(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            drawn.append((self.get_text(), self.get_window_extent(renderer)))
        return draw(self, renderer, *args, **kwargs)

    with monkeypatch.context() as patch:
        figure.canvas.draw()
        patch.setattr(Text, "draw", record)
        figure.canvas.draw()
    assert drawn
    return drawn


def _check_legible(figure, monkeypatch):
    texts = _drawn_texts(figure, monkeypatch)
    for text, box in texts:
        # Half a pixel is the rounding of the renderer.
        inside = box.x0 >= -0.5 and box.y0 >= -0.5
        inside = inside and box.x1 <= figure.bbox.x1 + 0.5 and box.y1 <= figure.bbox.y1 + 0.5
        assert inside, f"{text!r} leaves the figure: {box}"
    for (first, a), (second, b) in itertools.combinations(texts, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert not (width > 0.5 and height > 0.5), f"{first!r} overlaps {second!r}"


@pytest.mark.parametrize("figsize", SIZES)
@pytest.mark.parametrize("n_features", [1, 2, 60])
@pytest.mark.parametrize("kind", DISPLAYS)
def test_texts_neither_overlap_nor_leave_the_figure(fits, monkeypatch, kind, n_features, figsize):
    with plt.rc_context({"figure.figsize": SIZES[figsize]}):
        display = _make(kind, *fits[n_features])
        options = {"acceptance": True, "negative": True} if kind == "trace" else {}
        figure = display.plot(**options).figure_
        _check_legible(figure, monkeypatch)
        display.ax_.set_title("A title")
        _check_legible(figure, monkeypatch)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_draws_on_given_axes_and_makes_no_figure(fits, monkeypatch, kind):
    figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout="constrained")
    display = _make(kind, *fits[60])
    assert display.plot(axes[1]) is display
    assert display.figure_ is figure
    assert plt.get_fignums() == [figure.number]
    assert not axes[0].has_data()
    if kind != "discriminant":
        assert display.ax_ is axes[1]
    _check_legible(figure, monkeypatch)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_draws_in_a_subfigure(fits, kind):
    figure = plt.figure(figsize=(12, 6), layout="constrained")
    left, right = figure.subfigures(1, 2)
    _make(kind, *fits[2]).plot(left.subplots())
    figure.canvas.draw()
    assert any(ax.has_data() for ax in left.axes)
    assert not right.axes


@pytest.mark.parametrize("kind", DISPLAYS)
def test_numbers_without_matplotlib_and_a_clear_message(fits, monkeypatch, kind):
    display = _make(kind, *fits[2])
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    assert len(_make(kind, *fits[2]).to_frame()) == len(display.to_frame())
    with pytest.raises(ImportError, match=rf"{type(display).__name__}\.plot.*safdr\[plot\]"):
        display.plot()


@pytest.mark.parametrize("kind", DISPLAYS)
def test_frames_of_all_kinds_hold_the_same(fits, kind):
    display = _make(kind, *fits[2])
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
    assert set(lines["Best mean − 1 SD"].get_ydata()) == {search.threshold_}
    texts = [text for text, _ in _drawn_texts(display.figure_, monkeypatch)]
    assert f"k* = {search.n_features_}" in texts
    assert {"Number of features k", "ROC AUC", "Best mean − 1 SD"} <= set(texts)


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
def test_sizes_are_whole_numbers(fits, kind, n_features):
    ax = _make(kind, *fits[n_features]).plot().ax_
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


# SelectionDisplay


def test_selection_counts_the_folds(search):
    display = SelectionDisplay.from_estimator(search)
    names = search.feature_names_in_
    for row in display.to_frame().itertuples():
        feature = names.tolist().index(row.feature)
        position = search.cv_results_["n_features"].tolist().index(row.n_features)
        folds = [search.cv_results_[f"split{i}_support"][position, feature] for i in range(5)]
        assert row.n_folds == sum(folds)
        assert row.in_final_subset == search.support_[feature]
    per_size = display.to_frame().groupby("n_features")["n_folds"].sum()
    np.testing.assert_array_equal(per_size, 5 * search.cv_results_["n_features"])


def _selection(counts, **options):
    counts = np.array(counts)
    defaults = {
        "n_features": np.arange(1, counts.shape[1] + 1),
        "n_splits": 5,
        "names": np.array([f"x{i}" for i in range(len(counts))], dtype=object),
        "n_features_chosen": 2,
        "support": counts[:, 1] >= 3,
    }
    return SelectionDisplay(n_folds_chosen=counts, **{**defaults, **options})


def test_selection_orders_rows_and_leaves_out_the_never_chosen():
    counts = [[0, 2, 2], [0, 0, 0], [5, 5, 5], [0, 0, 4], [0, 3, 4]]
    display = _selection(counts).plot()
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
    assert _selection(counts).order_.tolist() == [2, 1, 0, 4, 3]


def test_selection_frame_is_above_the_grid_lines():
    ax = _selection([[5, 5, 5], [0, 5, 5]]).plot().ax_
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
    display = _selection(np.ones((300, 2), dtype=int), max_features_shown=300).plot(ax)
    assert 2 <= len(display.ax_.get_yticklabels()) < 60
    _check_legible(figure, monkeypatch)


def test_selection_without_names_numbers_the_features(fits):
    _, X, y = fits[60]
    search = AnnealingSelectorCV(max_features=2, cv=3, **QUICK).fit(X.to_numpy(), y)
    names = SelectionDisplay.from_estimator(search).to_frame()["feature"]
    assert set(search.get_feature_names_out()) <= set(names)


# Names nobody vouches for


def test_hostile_names_are_drawn_as_text(monkeypatch):
    counts = np.tile([1, 3, 5], (len(HOSTILE), 1))
    display = _selection(counts, names=np.array(HOSTILE, dtype=object)).plot()
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert not any(is_math_text(label) for label in labels)
    assert labels[0] == r"price in \$ and \$"
    assert labels[4] == "two lines and more"
    _check_legible(display.figure_, monkeypatch)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_axes_and_classes(name, tmp_path):
    values = np.random.default_rng(0).normal(size=(40, 2))
    display = DiscriminantDisplay(
        values=values,
        codes=np.arange(40) % 2,
        sample_weight=np.ones(40),
        classes=np.array([name, f"{name}$"], dtype=object),
        names=np.array([name, name], dtype=object),
        directions=np.array([[1.0, 0.0], [0.0, 1.0]]),
        projections=values.T,
        ratios=np.ones(2),
    ).plot()
    for kind in ("png", "svg", "pdf"):
        display.figure_.savefig(tmp_path / f"picture.{kind}")
    drawn = {
        element.tag.split("}")[-1] for element in ElementTree.parse(tmp_path / "picture.svg").iter()
    }
    assert "path" in drawn
    assert "script" not in drawn


@pytest.mark.parametrize("kind", DISPLAYS)
@pytest.mark.parametrize("own_figure", [True, False])
def test_latex_never_sees_a_name(fits, kind, own_figure):
    with plt.rc_context({"text.usetex": True}):
        ax = None if own_figure else plt.subplots()[1]
        display = _make(kind, *fits[2]).plot(ax)
        legends = display.figure_.legends or [display.ax_]
        axes = getattr(display, "axes_", [display.ax_])
        texts = [text for artist in (*axes, *legends) for text in artist.findobj(Text)]
        assert any(text.get_text() for text in texts)
        assert not any(text.get_usetex() for text in texts)


def test_long_names_keep_both_ends():
    name = "the beginning " + "x" * 100 + " the end"
    short = fitted(name, width=100, size=10)
    assert short.startswith("the b")
    assert "…" in short
    assert short.endswith("end")
    assert fitted("short", width=100, size=10) == "short"
    assert fitted(name, width=1, size=10) == "…"


def test_names_that_shorten_to_the_same_stay_distinct():
    names = [f"start of the name {i} and the end of it" for i in range(3)]
    labels = fitted_distinct(names, [4, 5, 6], width=90, size=10)
    assert len(set(labels)) == 3
    assert [label.split("#")[1] for label in labels] == ["4", "5", "6"]


def test_font_that_has_a_character_draws_it():
    assert plain("naïve Ω 中") == "naïve Ω \N{REPLACEMENT CHARACTER}"


def test_colours_differ_in_grey():
    grey = [np.dot(to_rgb(color), (0.299, 0.587, 0.114)) for color in (FIRST, SECOND)]
    assert abs(grey[0] - grey[1]) > 0.25
