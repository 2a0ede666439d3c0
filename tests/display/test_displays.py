"""Figures: their numbers are the results', their texts are legible, names are never commands."""

from __future__ import annotations

import itertools
import sys
from functools import cache
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from safdr import (
    Annealing,
    AnnealingRegressorSelectorCV,
    AnnealingSelector,
    AnnealingSelectorCV,
    Constraints,
    PathDisplay,
    SelectionDisplay,
    StabilityDisplay,
    SubstitutesDisplay,
    TraceDisplay,
    stability,
)
from safdr.display.style import FIRST, SECOND
from safdr.text import count

mpl.use("Agg")
QUICK = {"annealing": Annealing(n_replicas=8, max_steps=10), "random_state": 0}
KINDS = ["path", "selection", "stability", "substitutes", "trace"]
TASKS = ["two", "three", "numbers", "groups"]
GROUPS = {"colour": ["c", "d", "e"], "size": ["f", "g"]}
HOSTILE = [
    "price in $ and $",
    r"$\frac{1}{",
    r"\input{/etc/passwd} ^_{x}",
    "under_score^2 & 100% #1 ~",
    "two\nlines\tand\rmore",
    "turned \u202e \x00 null",
    "",
    "x" * 5000,
]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def make_rows(task, n_features=8):
    rng = np.random.default_rng(2)
    names = list("abcdefgh") if n_features == 8 else [f"x{i:02d} " * 12 for i in range(n_features)]
    X = pd.DataFrame(rng.normal(size=(240, n_features)), columns=names)
    signal = X.iloc[:, 0] + X.iloc[:, 2] - X.iloc[:, 5] + rng.normal(size=240)
    if task == "numbers":
        return X, signal.to_numpy()
    cuts = [-0.8, 0.8] if task == "three" else [0.0]
    return X, np.array(["low", "mid", "high"])[np.digitize(signal, cuts)]


def search_for(task, size, **options):
    kind = AnnealingRegressorSelectorCV if task == "numbers" else AnnealingSelectorCV
    if task == "groups":
        options["constraints"] = Constraints(groups=GROUPS)
    return kind(size, **QUICK, **options)


@cache
def fitted(task, n_features=8, size=4):
    X, y = make_rows(task, n_features)
    return search_for(task, size).fit(X, y), X, y


@cache
def made(kind, task="two", n_features=8, size=4):
    search, X, y = fitted(task, n_features, size)
    if kind == "stability":
        return StabilityDisplay.from_estimator(search, X, y, n_resamples=6, random_state=0)
    if kind == "substitutes":
        return SubstitutesDisplay.from_estimator(search, X, y)
    classes = {"path": PathDisplay, "selection": SelectionDisplay, "trace": TraceDisplay}
    return classes[kind].from_estimator(search)


def drawn_texts(figure, monkeypatch):
    """Texts that get ink, with their boxes in pixels."""
    drawn = []
    draw = Text.draw

    def record(self, renderer, *args, **kwargs):
        if self.get_visible() and self.get_text().strip():
            drawn.append((self.get_text(), self.get_window_extent(renderer)))
        return draw(self, renderer, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Text, "draw", record)
        figure.draw_without_rendering()
    assert drawn
    return drawn


def check_legible(figure, monkeypatch):
    texts = drawn_texts(figure, monkeypatch)
    for text, box in texts:
        # Half a pixel is the rounding of the renderer.
        inside = box.x0 >= -0.5 and box.y0 >= -0.5
        inside = inside and box.x1 <= figure.bbox.x1 + 0.5 and box.y1 <= figure.bbox.y1 + 0.5
        assert inside, f"{text!r} leaves the figure: {box}"
    for (first, a), (second, b) in itertools.combinations(texts, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert not (width > 0.5 and height > 0.5), f"{first!r} overlaps {second!r}"


# ---- All displays --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_features", "size"), [(8, 1), (8, 4), (60, 20)])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_neither_overlap_nor_leave_the_figure(monkeypatch, kind, n_features, size):
    display = made(kind, "two", n_features, size).plot()
    check_legible(display.figure_, monkeypatch)
    display.ax_.set_title("A title")
    check_legible(display.figure_, monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_on_given_axes_and_makes_no_figure(kind):
    figure, axes = plt.subplots(1, 2, figsize=(14, 6), layout="constrained")
    display = made(kind)
    assert display.plot(axes[1]) is display
    assert display.figure_ is figure
    assert display.ax_ is axes[1]
    assert plt.get_fignums() == [figure.number]
    assert not axes[0].has_data()
    parts = plt.figure(layout="constrained").subfigures(1, 2)
    display.plot(parts[0].subplots())
    assert not parts[1].axes


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_without_matplotlib_and_a_clear_message(monkeypatch, kind):
    display = made(kind)
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    frame = display.to_frame()
    assert display.to_frame(backend="pyarrow").column_names == frame.columns.tolist()
    assert len(display.to_frame(backend="polars")) == len(frame)
    with pytest.raises(ImportError, match=rf"{type(display).__name__}\.plot.*pip install mat"):
        display.plot()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("kind", KINDS)
def test_axes_name_what_is_drawn(kind, task):
    display = made(kind, task).plot()
    score = {"three": "mean AUC", "numbers": "R²"}.get(task, "AUC")
    criterion = "R²" if task == "numbers" else "Fisher ratio"
    x, y = display.ax_.get_xlabel(), display.ax_.get_ylabel()
    if kind == "path":
        assert (x, y) == ("Number of features k", score)
    if kind == "substitutes":
        assert x == f"Change of held-out {score}"
    if kind == "trace":
        k = fitted(task)[0].n_features_
        assert (x, y) == ("Inverse temperature β", f"{criterion} of k = {k} features")
    if kind == "stability":
        assert x.startswith("Share of 6 half-samples\nStability ")


def test_other_scores_and_criteria_are_named():
    X, y = make_rows("two")
    search = search_for("two", 2, scoring="neg_log_loss").fit(X, y)
    assert PathDisplay.from_estimator(search).score_name == "negative log loss"
    selector = AnnealingSelector(2, criterion=lambda X, y: float(X[:, 0].mean()), **QUICK)
    assert TraceDisplay.from_estimator(selector.fit(X, y)).criterion_name == "Criterion"
    costly = AnnealingSelector(2, feature_cost={"a": 0.1}, **QUICK).fit(X, y)
    assert TraceDisplay.from_estimator(costly).criterion_name == "Fisher ratio less cost"


@pytest.mark.parametrize("display", [PathDisplay, SelectionDisplay, TraceDisplay])
def test_a_fitted_selector_is_asked_for(display):
    with pytest.raises(NotFittedError, match=r"AnnealingSelectorCV is not fitted. Call fit"):
        display.from_estimator(AnnealingSelectorCV())
    model = LogisticRegression().fit(*make_rows("two"))
    with pytest.raises(TypeError, match=r"fitted; got LogisticRegression"):
        display.from_estimator(model)


@pytest.mark.parametrize("kind", KINDS)
def test_latex_never_sees_a_name(kind):
    with plt.rc_context({"text.usetex": True}):
        display = made(kind).plot()
        artists = (display.ax_, *display.figure_.legends)
        texts = [text for artist in artists for text in artist.findobj(Text)]
        assert any(text.get_text() for text in texts)
        assert not any(text.get_usetex() for text in texts)


def test_hostile_names_are_drawn_as_text(monkeypatch, tmp_path):
    counts = np.tile([1, 3, 5], (len(HOSTILE), 1))
    display = SelectionDisplay(
        n_features=np.array([1, 2, 3]),
        counts=counts,
        n_splits=5,
        names=HOSTILE,
        n_features_selected=2,
        support=counts[:, 1] >= 3,
    ).plot()
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert not any(is_math_text(label) for label in labels)
    assert labels[0] == r"price in \$ and \$"
    assert all(label.isprintable() for label in labels)
    check_legible(display.figure_, monkeypatch)
    for kind in ("png", "svg", "pdf"):
        display.figure_.savefig(tmp_path / f"picture.{kind}")
    drawn = {each.tag.split("}")[-1] for each in ElementTree.parse(tmp_path / "picture.svg").iter()}
    assert "path" in drawn
    assert "script" not in drawn


def test_colours_differ_in_grey():
    grey = [np.dot(to_rgb(color), (0.299, 0.587, 0.114)) for color in (FIRST, SECOND)]
    assert abs(grey[0] - grey[1]) > 0.25


# ---- Numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_path_shows_the_scores_of_the_splits(task):
    search, *_ = fitted(task)
    results = search.cv_results_
    display = PathDisplay.from_estimator(search).plot(show_splits=True)
    frame = display.to_frame()
    for name in ("n_features", "mean_test_score", "std_test_score"):
        np.testing.assert_allclose(frame[name], results[name])
    assert frame.loc[frame["selected"], "n_features"].tolist() == [search.n_features_]
    lines = {line.get_label(): line for line in display.ax_.lines}
    np.testing.assert_allclose(lines["Mean"].get_ydata(), results["mean_test_score"])
    star = lines["Selected size k*"]
    assert star.get_xdata().tolist() == [search.n_features_]
    mean, std = results["mean_test_score"], results["std_test_score"]
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((mean + std).max())
    assert band.min() == pytest.approx((mean - std).min())
    ticks = [t for t in display.ax_.get_xticks() if 1 <= t <= 4]
    assert ticks == np.round(ticks).tolist()


@pytest.mark.parametrize("task", TASKS)
def test_selection_counts_the_splits(task):
    search, X, _ = fitted(task)
    display = SelectionDisplay.from_estimator(search).plot()
    results, frame = search.cv_results_, display.to_frame()
    supports = np.array([results[f"split{i}_support"] for i in range(search.n_splits_)])
    first = {"colour": "c", "size": "f"} if task == "groups" else {}
    columns = list(X.columns)
    for row in frame.itertuples():
        j = columns.index(first.get(row.feature, row.feature))
        i = results["n_features"].tolist().index(row.n_features)
        assert row.n_splits == supports[:, i, j].sum()
        assert row.selected == search.support_[j]
    # k features at size k, in each of the splits.
    totals = frame.groupby("n_features")["n_splits"].sum()
    assert totals.tolist() == [search.n_splits_ * k for k in results["n_features"]]
    cells = display.ax_.collections[0].get_array()
    assert cells.sum() == totals.sum()
    smallest = [
        next((k for k, n in group[["n_features", "n_splits"]].values if 2 * n >= 5), 99)
        for _, group in frame.groupby("feature", sort=False)
    ]
    assert smallest == sorted(smallest)


def test_stability_shows_the_shares():
    search, X, y = fitted("two")
    found = stability(search, X, y, n_resamples=6, random_state=0)
    display = StabilityDisplay(found).plot()
    frame = display.to_frame().set_index("feature")
    for i, name in enumerate(found.names):
        if found.frequencies[i] > 0:
            assert frame.loc[name, "frequency"] == found.frequencies[i]
            assert frame.loc[name, ["low", "high"]].tolist() == list(found.frequency_intervals[i])
    assert frame["frequency"].is_monotonic_decreasing
    assert set(frame.index[frame["selected"]]) == set(X.columns[search.subset_])
    drawn = np.concatenate([line.get_xdata() for line in display.ax_.lines])
    assert sorted(drawn) == sorted(frame["frequency"])


def test_substitutes_show_the_changes(monkeypatch):
    display = made("substitutes").plot()
    frame = display.to_frame()
    out = frame[frame["replacement"].isna()].set_index("selected")["score_difference"]
    assert display.order_ == out.sort_values().index.tolist()
    texts = [text for text, _ in drawn_texts(display.figure_, monkeypatch)]
    for name in display.order_:
        rows = frame[(frame["selected"] == name) & frame["replacement"].notna()]
        best = rows.loc[rows["score"].idxmax()]
        wanted = f"{best['score_difference']:+.4f}".replace("-", "−")
        assert f"{wanted} {best['replacement']}" in texts
    (crosses,) = (line for line in display.ax_.lines if line.get_label() == "Left out")
    np.testing.assert_allclose(crosses.get_xdata(), out[display.order_])


def test_trace_shows_mean_and_deviation():
    search, *_ = fitted("two")
    trace = search.result_.trace
    display = TraceDisplay.from_estimator(search).plot(acceptance=True)
    line = display.ax_.lines[0]
    np.testing.assert_array_equal(line.get_xdata(), trace.beta)
    np.testing.assert_array_equal(line.get_ydata(), trace.mean)
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((trace.mean + trace.std).max())
    (right,) = (ax for ax in display.figure_.axes if ax is not display.ax_)
    np.testing.assert_array_equal(right.lines[0].get_ydata(), trace.acceptance)


@pytest.mark.parametrize("kind", ["selection", "stability"])
def test_further_features_are_counted(kind):
    display = made(kind, "two", 60, 20)
    n = len(display.order_)
    display.plot(max_features_shown=2)
    assert display.ax_.get_xlabel().endswith(f"{count(n - 2, 'further feature')} not shown")
    assert len(display.to_frame()["feature"].unique()) == n
