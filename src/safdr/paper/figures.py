"""The paper's two figures: how the search goes on Heart, and the curves against k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr.paper.atomic import write_atomically
from safdr.paper.datasets import DATASETS
from safdr.paper.methods import SA_FDR, TITLES
from safdr.paper.parquet import require_pyarrow
from safdr.paper.problem import Problem
from safdr.paper.store import Row, check_comparable
from safdr.paper.summary import Group, group

FORMATS = ("svg", "png")
FIGURE_1_SIZE = 5
# Okabe and Ito's colours, which the colour-blind can tell apart; dashes serve the grey printer.
STYLES = {
    SA_FDR: {"color": "#0072B2", "linestyle": "-"},
    "rfe": {"color": "#D55E00", "linestyle": "--"},
    "lasso": {"color": "#009E73", "linestyle": "-."},
    "abess": {"color": "#CC79A7", "linestyle": ":"},
}
# What a panel shows, and where a row keeps it.
PANELS = (
    ("Cross-entropy, train", "folds", "train_cross_entropy"),
    ("AUC, train", "folds", "train_auc"),
    ("AUC, validation", "folds", "validation_auc"),
    ("AUC, test", "refit", "test_auc"),
)


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a panel: mean over the repeats and its standard error, against k.

    Attributes
    ----------
    k : ndarray of shape (n_grid,)
        Number of features; for the Lasso the mean number at each C.
    mean, error : ndarray of shape (n_grid,)
        Of the quantity. The error is NaN for a single repeat.
    """

    k: NDArray[np.float64]
    mean: NDArray[np.float64]
    error: NDArray[np.float64]


def make_curve(rows: Sequence[Row], part: str, quantity: str) -> Curve:
    """Average a quantity over folds, then over repeats.

    Parameters
    ----------
    rows : sequence of dict
        Of one method on one data set.
    part, quantity : str
        Where a row keeps it.

    Returns
    -------
    Curve
    """
    k = np.mean([np.mean(row["folds"]["n_features"], axis=0) for row in rows], axis=0)
    values = np.array([np.atleast_2d(row[part][quantity]).mean(axis=0) for row in rows])
    n = len(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(k), np.nan)
    # A Lasso that lets no feature in on some folds is no model to compare.
    drawn = k >= 1
    return Curve(k[drawn], values.mean(axis=0)[drawn], error[drawn])


def draw_figure_1(problem: Problem, *, seed: int = 0) -> Any:
    """Discriminant, annealing trace and proxy, for five features of Heart.

    Parameters
    ----------
    problem : Problem
        The Heart data.
    seed : int, default=0
        For the search and the random subsets.

    Returns
    -------
    matplotlib Figure
    """
    import matplotlib.pyplot as plt

    from safdr import AnnealingSelector
    from safdr.display import DiscriminantDisplay, ProxyDisplay, TraceDisplay

    # As a table, so that the axes bear the names of the features.
    columns = dict(zip(problem.feature_names, problem.X.T, strict=True))
    X, y = require_pyarrow().table(columns), problem.y
    selector = AnnealingSelector(FIGURE_1_SIZE, random_state=seed).fit(X, y)
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.5), width_ratios=[1.4, 1, 1])
    figure.set_layout_engine("constrained", w_pad=0.2)
    DiscriminantDisplay.from_estimator(selector, X, y, random_state=seed).plot(ax=axes[0])
    TraceDisplay.from_estimator(selector).plot(ax=axes[1], negative=True)
    ProxyDisplay.from_estimator(selector, X, y, random_state=seed).plot(ax=axes[2])
    return figure


def draw_figure_2(rows: Sequence[Row], data: str) -> Any:
    """Cross-entropy and AUC against k, one line a method.

    Parameters
    ----------
    rows : sequence of dict
        Those of other data sets, and of other settings of SA-FDR, are left out.
    data : str
        Name of the data set.

    Returns
    -------
    matplotlib Figure
    """
    import matplotlib.pyplot as plt

    kept = [row for row in rows if row["data"] == data and row["method"] in TITLES]
    check_comparable(kept)
    groups = group(kept)
    figure, axes = plt.subplots(1, len(PANELS), figsize=(15, 3.6), layout="constrained")
    for ax, (title, part, quantity) in zip(axes, PANELS, strict=True):
        for method in TITLES:
            if (data, method) in groups:
                _draw_curve(ax, groups[data, method], part, quantity)
        ax.set(title=title, xlabel="Number of features k")
        ax.set_xlim(0, kept[0]["settings"]["protocol"]["max_features"] + 1)
    axes[0].legend()
    figure.suptitle(DATASETS[data].title)
    return figure


def _draw_curve(ax: Any, of: Group, part: str, quantity: str) -> None:
    """The mean as a line, its standard error as a band, and k* (one_sd) as a dot."""
    curve = make_curve(list(of.rows.values()), part, quantity)
    style = STYLES[of.method]
    ax.plot(curve.k, curve.mean, label=TITLES[of.method], **style)
    band = (curve.mean - curve.error, curve.mean + curve.error)
    ax.fill_between(curve.k, *band, color=style["color"], alpha=0.15, linewidth=0)
    k = float(np.mean(list(of.k("one_sd").values())))
    ax.plot(k, np.interp(k, curve.k, curve.mean), "o", color=style["color"])


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG.

    Parameters
    ----------
    figure : matplotlib Figure
        Drawn; it is closed.
    folder : Path
        Where.
    name : str
        Of the files, without the ending.

    Returns
    -------
    list of Path
    """
    import io

    import matplotlib.pyplot as plt

    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    # No date and no random ids, so that the same rows give the same file.
    with plt.rc_context({"svg.hashsalt": name}):
        for path in paths:
            sink = io.BytesIO()
            undated = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(sink, format=path.suffix[1:], dpi=150, metadata=undated)
            write_atomically(path, sink.getvalue())
    plt.close(figure)
    return paths
