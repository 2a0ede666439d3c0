"""The paper's two figures: how the search goes on Heart, and the curves against k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.datasets import DATASETS, get_dataset
from experiments.errors import PaperError
from experiments.methods import COMPARED, SA_FDR
from experiments.parquet import require_pyarrow
from experiments.store import Row, check_comparable
from experiments.summary import Group, group
from experiments.task_data import TaskData
from experiments.whole_files import write_whole

FORMATS = ("svg", "png")
FIGURE_1_SIZE = 5
# Okabe and Ito's colours, which the colour-blind can tell apart; dashes serve the grey printer.
STYLES: dict[str, dict[str, Any]] = {
    SA_FDR: {"color": "#0072B2", "linestyle": "-"},
    "rfe": {"color": "#D55E00", "linestyle": "--"},
    "lasso": {"color": "#009E73", "linestyle": "-."},
    "abess": {"color": "black", "linestyle": ":", "linewidth": 2.2},
}
# What a panel shows, and where a row keeps it.
PANELS = (
    ("Cross-entropy, train", "folds", "train_cross_entropy"),
    ("AUC, train", "folds", "train_auc"),
    ("AUC, validation", "folds", "validation_auc"),
    ("AUC, test", "refit", "test_auc"),
)
# Sizes below this fall so far behind that they would flatten the rest of a panel.
MIN_SIZE_SHOWN = 3


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a panel: mean over the repeats and its standard error, against k.

    For the Lasso k is the mean number of features at each C. A single repeat has NaN for an error.
    """

    k: NDArray[np.float64]
    mean: NDArray[np.float64]
    error: NDArray[np.float64]


def make_curve(rows: Sequence[Row], part: str, quantity: str) -> Curve:
    """Average a quantity over folds, then over repeats."""
    k = np.mean([_sizes(row, part) for row in rows], axis=0)
    values = np.array([np.atleast_2d(row[part][quantity]).mean(axis=0) for row in rows])
    n = len(values)
    error = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(k), np.nan)
    # A Lasso that lets no feature in on some folds is no model to compare.
    drawn = k >= 1
    return Curve(k[drawn], values.mean(axis=0)[drawn], error[drawn])


def _sizes(row: Row, part: str) -> NDArray[np.float64]:
    """Number of features at each value of the grid: mean over the folds, or of the refit."""
    if part == "refit":
        return np.array([len(subset) for subset in row["refit"]["subsets"]], dtype=np.float64)
    return np.asarray(np.mean(row["folds"]["n_features"], axis=0))


def sets_to_draw(rows: Sequence[Row], wanted: Sequence[str]) -> list[str]:
    """Data sets to draw Figure 2 for: those wanted, else all that have rows."""
    there = {row["data"] for row in rows if row["method"] in COMPARED}
    for name in wanted:
        if get_dataset(name).name not in there:
            raise PaperError(
                f"There are no rows of {name} to draw; there are of: {', '.join(sorted(there))}. "
                f"Make some with: python -m experiments run --data {name}"
            )
    return list(wanted) or [name for name in DATASETS if name in there]


def draw_figure_1(data: TaskData, *, seed: int = 0) -> Any:
    """Discriminant, annealing trace and proxy, for five features of Heart."""
    import matplotlib.pyplot as plt

    from safdr import AnnealingSelector, DiscriminantDisplay, ProxyDisplay, TraceDisplay

    # As a table, so that the axes bear the names of the features.
    columns = dict(zip(data.feature_names, data.X.T, strict=True))
    X, y = require_pyarrow().table(columns), data.y
    selector = AnnealingSelector.as_published(FIGURE_1_SIZE, random_state=seed).fit(X, y)
    figure = plt.figure(figsize=(16, 5.2), layout="constrained")
    title = DATASETS[data.name].title if data.name in DATASETS else data.name
    figure.suptitle(f"{title}: N = {len(y)}, k = {FIGURE_1_SIZE}")
    panels: Any = figure.subfigures(1, 3, width_ratios=[1.5, 1, 1], wspace=0.04)
    displays = (
        DiscriminantDisplay.from_estimator(selector, X, y, random_state=seed).plot(
            panels[0].subplots()
        ),
        TraceDisplay.from_estimator(selector).plot(panels[1].subplots(), negative=True),
        ProxyDisplay.from_estimator(selector, X, y, random_state=seed).plot(panels[2].subplots()),
    )
    titles = ("(a) Two of the features", "(b) Annealing", "(c) FDR as a proxy")
    for panel, display, text in zip(panels, displays, titles, strict=True):
        panel.suptitle(text, fontsize="medium")
        _move_legend_below(panel, display.ax_)
    return figure


def _move_legend_below(panel: Any, ax: Any) -> None:
    """Out of the axes, where it would cover points."""
    legend = ax.get_legend()
    handles, labels = legend.legend_handles, [text.get_text() for text in legend.get_texts()]
    legend.remove()
    panel.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")


def draw_figure_2(rows: Sequence[Row], data: str) -> Any:
    """Cross-entropy and AUC against k, one line a method."""
    import matplotlib.pyplot as plt

    kept = [row for row in rows if row["method"] in COMPARED and row["data"] == data]
    check_comparable(kept)
    by_name = group(kept)
    groups = [by_name[data, method] for method in COMPARED if (data, method) in by_name]
    scanned = kept[0]["settings"]["protocol"]["max_features"]
    right = 1 + max(scanned, *map(_largest_choice, groups))
    figure, axes = plt.subplots(1, len(PANELS), figsize=(15, 4), layout="constrained")
    for ax, (title, part, quantity) in zip(axes, PANELS, strict=True):
        ax.set(title=title, xlabel="Number of features k", xlim=(0, right))
        _set_limits(ax, np.concatenate([_draw_curve(ax, of, part, quantity) for of in groups]))
    axes[0].legend()
    figure.suptitle(DATASETS[data].title)
    figure.supxlabel(_caption(groups, right), fontsize="small")
    return figure


def _largest_choice(of: Group) -> float:
    """Where the last dot of a method is."""
    chosen = (of.k("one_sd"), of.refit_k("one_sd"))
    return max(float(np.mean(list(each.values()))) for each in chosen)


def _draw_curve(ax: Any, of: Group, part: str, quantity: str) -> NDArray[np.float64]:
    """The mean as a line, its standard error as a band, and k* (one_sd) as a dot.

    Returns the heights that must be seen.
    """
    curve = make_curve(list(of.rows.values()), part, quantity)
    style = STYLES[of.method]
    ax.plot(curve.k, curve.mean, label=COMPARED[of.method], **style)
    low, high = curve.mean - curve.error, curve.mean + curve.error
    ax.fill_between(curve.k, low, high, color=style["color"], alpha=0.15, linewidth=0)
    chosen = of.refit_k("one_sd") if part == "refit" else of.k("one_sd")
    k = float(np.mean(list(chosen.values())))
    dot = np.interp(k, curve.k, curve.mean)
    ax.plot(k, dot, "o", color=style["color"])
    seen = (curve.k >= MIN_SIZE_SHOWN) & (curve.k <= ax.get_xlim()[1])
    return np.concatenate([low[seen], high[seen], curve.mean[seen], [dot]])


def _set_limits(ax: Any, heights: NDArray[np.float64]) -> None:
    """All heights, with a little room; NaN is the error of a single repeat."""
    low, high = np.nanmin(heights), np.nanmax(heights)
    room = 0.05 * (high - low) or 0.05
    ax.set_ylim(low - room, high + room)


def _caption(groups: Sequence[Group], right: float) -> str:
    """What line, band and dot are, and what is cut off."""
    counts = sorted({len(of.rows) for of in groups})
    repeats = "–".join(str(n) for n in (counts[0], counts[-1])[: len(counts)])
    line = f"Line: mean over {repeats} repeats. Band: ± 1 standard error. Dot: mean k* (one_sd)."
    if counts[-1] == 1:
        line = "Line: one repeat. Dot: its k* (one_sd)."
    text = f"{line} Heights are scaled to k ≥ {MIN_SIZE_SHOWN}."
    ends = {
        COMPARED[of.method]: max(_sizes(row, "folds")[-1] for row in of.rows.values())
        for of in groups
    }
    cut = [f"{title} goes on to k = {end:.0f}" for title, end in ends.items() if end > right]
    return f"{text}\n{'; '.join(cut)}: not shown." if cut else text


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    """Write a figure as SVG and PNG, and close it."""
    import io

    import matplotlib.pyplot as plt

    paths = [folder / f"{name}.{kind}" for kind in FORMATS]
    # No date and no random ids, so that the same rows give the same file.
    with plt.rc_context({"svg.hashsalt": name}):
        for path in paths:
            sink = io.BytesIO()
            undated = {"Date": None} if path.suffix == ".svg" else {}
            figure.savefig(sink, format=path.suffix[1:], dpi=150, metadata=undated)
            write_whole(path, sink.getvalue())
    plt.close(figure)
    return paths
