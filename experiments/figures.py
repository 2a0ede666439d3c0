"""The paper's two figures: the search on one data set, and the curves against k."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from experiments import data, paper_methods
from experiments.data import Data
from experiments.errors import ExperimentError
from experiments.protocols import chosen
from experiments.run import Key, Row
from experiments.tables import Group, groups_of
from safdr import AnnealingSelector, TraceDisplay, evaluate_subsets

SIZE, N_RANDOM = 5, 1000
# Colours of Okabe and Ito, which colour-blind readers can tell apart.
STYLES: dict[str, dict[str, Any]] = {
    "sa-fdr": {"color": "#0072B2", "linestyle": "-"},
    "rfe": {"color": "#D55E00", "linestyle": "--"},
    "lasso": {"color": "#009E73", "linestyle": "-."},
    "abess": {"color": "black", "linestyle": ":"},
}
CLASS_COLORS = ("#D55E00", "#0072B2")
PANELS = (
    ("Cross-entropy, train", "folds", "train_cross_entropy"),
    ("AUC, train", "folds", "train_auc"),
    ("AUC, validation", "folds", "validation_auc"),
    ("AUC, test", "refit", "test_auc"),
)
# Smaller sizes would flatten the rest of a panel.
MIN_SIZE_SHOWN = 3


def figure_1(each: Data, seed: int = 0) -> Figure:
    """Draw the discriminant, the annealing and the criterion as a proxy of the cross-entropy."""
    selector = AnnealingSelector.as_published(SIZE, random_state=seed).fit(each.X, each.y)
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.8), layout="constrained")
    figure.suptitle(f"{data.TITLES[each.name]}: N = {len(each.y)}, k = {SIZE}")
    _draw_discriminant(axes[0], selector, each)
    TraceDisplay.from_estimator(selector).plot(ax=axes[1])
    _draw_proxy(axes[2], selector, each, np.random.default_rng(seed))
    for ax, title in zip(axes, ("(a) Discriminant", "(b) Annealing", "(c) Proxy"), strict=True):
        ax.set_title(title)
    return figure


def _draw_discriminant(ax: Any, selector: AnnealingSelector, each: Data) -> None:
    """Project the rows on the Fisher direction of the selected features, and on a random one."""
    X = each.X[:, selector.subset_]
    within = sum(np.cov(X[each.y == label], rowvar=False) for label in (0, 1))
    difference = X[each.y == 1].mean(axis=0) - X[each.y == 0].mean(axis=0)
    fisher = np.linalg.solve(within, difference)
    random = np.random.default_rng(0).standard_normal(len(fisher)) / X.std(axis=0)
    for height, (direction, name) in enumerate(((random, "random"), (fisher, "Fisher"))):
        projection = X @ direction / np.sqrt(direction @ within @ direction)
        projection -= projection.mean()
        for label, color in enumerate(CLASS_COLORS):
            values = projection[each.y == label]
            counts, edges = np.histogram(values, bins=30, range=(-4, 4), density=True)
            ax.stairs(height + counts, edges, baseline=height, fill=True, color=color, alpha=0.5)
        ax.text(-4, height + 0.85, f"{name} direction")
    ax.set(xlabel="Projection", yticks=[])
    ax.legend([f"Class {label}" for label in (0, 1)])


def _draw_proxy(ax: Any, selector: AnnealingSelector, each: Data, rng: Any) -> None:
    """Draw cross-entropy against the criterion, for random subsets and for the replicas."""
    n_features = each.X.shape[1]
    subsets = [rng.choice(n_features, SIZE, replace=False) for _ in range(N_RANDOM)]
    found = evaluate_subsets(selector, each.X, each.y, subsets)
    result = selector.result_
    annealed = evaluate_subsets(selector, each.X, each.y, result.subsets)
    ax.scatter(-found.criterion_values, found.losses, s=4, color="gray", label="Random subsets")
    ax.scatter(-annealed.criterion_values, annealed.losses, s=12, label="Annealed replicas")
    x, y = -annealed.criterion_values[result.best], annealed.losses[result.best]
    ax.plot(x, y, "o", color="black", fillstyle="none", markersize=12, label="Selected")
    ax.set(xlabel="−FDR", ylabel="Cross-entropy")
    ax.legend()


def figure_2(rows: Mapping[Key, Row], name: str) -> Figure:
    """Draw cross-entropy and AUC against k, one line a method."""
    groups = {m: g for (d, m), g in groups_of(rows).items() if d == name and m in STYLES}
    if not groups:
        raise ExperimentError(
            f"There are no rows of {name}. Run: python -m experiments run paper --data {name}"
        )
    figure, axes = plt.subplots(1, len(PANELS), figsize=(15, 4), layout="constrained")
    for ax, (title, part, quantity) in zip(axes, PANELS, strict=True):
        heights = [_draw_curve(ax, m, groups[m], part, quantity) for m in STYLES if m in groups]
        shown = np.concatenate(heights)
        room = 0.05 * np.ptp(shown)
        ax.set(title=title, xlabel="Number of features k", xlim=(0, paper_methods.MAX_FEATURES + 1))
        ax.set_ylim(shown.min() - room, shown.max() + room)
    axes[0].legend()
    figure.suptitle(data.TITLES[name])
    caption = "Mean and standard error over the repeats. Dot: mean k* (one_sd)."
    figure.supxlabel(caption, size="small")
    return figure


def _draw_curve(ax: Any, method: str, group: Group, part: str, quantity: str) -> Any:
    """Draw mean, standard error and k*; return the heights to show."""
    rows = list(group.values())
    sizes = np.mean([_sizes(row, part) for row in rows], axis=0)
    values = np.array([np.atleast_2d(row[part][quantity]).mean(axis=0) for row in rows])
    mean, error = values.mean(axis=0), values.std(axis=0) / np.sqrt(max(len(rows) - 1, 1))
    ax.plot(sizes, mean, label=paper_methods.TITLES[method], **STYLES[method])
    color = STYLES[method]["color"]
    ax.fill_between(sizes, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)
    k = float(np.mean([chosen(row, "one_sd")["k"] for row in rows]))
    ax.plot(k, np.interp(k, sizes, mean), "o", color=color)
    shown = (sizes >= MIN_SIZE_SHOWN) & (sizes <= paper_methods.MAX_FEATURES)
    return mean[shown]


def _sizes(row: Row, part: str) -> Any:
    """Return the number of features at each value of the grid."""
    if part == "refit":
        return [len(subset) for subset in row["refit"]["subsets"]]
    return np.mean(row["folds"]["n_features"], axis=0)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and close it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
