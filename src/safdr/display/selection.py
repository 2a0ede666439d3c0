"""SelectionDisplay: which feature is in at which size, and in how many folds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from safdr.display.base import (
    Display,
    IntArray,
    check_fitted,
    check_most_shown,
    column_names,
)
from safdr.display.labels import label_rows
from safdr.display.style import (
    POINTS_PER_INCH,
    axes_for,
    mark_chosen_size,
    row_figsize,
    set_size_axis,
    size_in_points,
    whole_numbers,
    without_tex,
)

# Most that the colour bar needs to be read, in inches.
BAR_HEIGHT = 3.0


class SelectionDisplay(Display):
    """Heat map: in how many folds each feature was chosen at each size.

    Rows are ordered by the smallest size at which a feature was chosen in at least half of the
    folds, then by how often it was chosen over all folds and sizes. Features that were never chosen
    are left out, and a group of columns that enter together is one feature. Make it with
    `from_estimator`; all parameters are stored as attributes.

    Parameters
    ----------
    n_features : ndarray of shape (n_sizes,)
        The sizes k, in rising order.
    n_folds_chosen : ndarray of shape (n_rows, n_sizes)
        In how many folds each feature, a group or a column of its own, was chosen at each size.
    n_splits : int
        Number of folds.
    names : ndarray of shape (n_rows,)
        Names of the features.
    n_features_chosen : int
        The chosen size k*.
    support : ndarray of shape (n_rows,), dtype=bool
        The features chosen on all rows at k*.
    max_features_shown : int, default=30
        Largest number of rows to draw.

    Attributes
    ----------
    order_ : ndarray of shape (n_rows,)
        Which feature each row shows, from the top.
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    See Also
    --------
    PathDisplay : How well each size scored.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV
    >>> from safdr.display import SelectionDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> search = AnnealingSelectorCV(max_features=4, random_state=0).fit(X, y)
    >>> display = SelectionDisplay.from_estimator(search).plot()
    >>> frame = display.to_frame()
    >>> frame.columns.tolist()
    ['feature', 'n_features', 'n_folds', 'in_final_subset']
    >>> int(frame["n_folds"].max())
    5
    """

    def __init__(
        self,
        *,
        n_features: IntArray,
        n_folds_chosen: IntArray,
        n_splits: int,
        names: NDArray[Any],
        n_features_chosen: int,
        support: NDArray[np.bool_],
        max_features_shown: int = 30,
    ) -> None:
        self.n_features = n_features
        self.n_folds_chosen = n_folds_chosen
        self.n_splits = n_splits
        self.names = names
        self.n_features_chosen = n_features_chosen
        self.support = support
        self.max_features_shown = max_features_shown

    @classmethod
    def from_estimator(cls, search: Any, *, max_features_shown: int = 30) -> Self:
        """Count the folds of a cross-validated search.

        Parameters
        ----------
        search : AnnealingSelectorCV or AnnealingRegressorSelectorCV
            Fitted.
        max_features_shown : int, default=30
            Largest number of rows to draw.

        Returns
        -------
        SelectionDisplay
            Not drawn yet; call `plot`.
        """
        check_fitted(search, "n_features_by_rule_", cls.__name__, "an AnnealingSelectorCV")
        check_most_shown(max_features_shown)
        results = search.cv_results_
        counts = np.sum([results[f"split{i}_support"] for i in range(search.n_splits_)], axis=0)
        features = search.feature_groups_
        # A group is in as a whole, so that its first column stands for it.
        first = np.array([columns[0] for columns in features.columns])
        return cls(
            n_features=results["n_features"],
            n_folds_chosen=counts.T[first],
            n_splits=search.n_splits_,
            names=np.array(features.names(column_names(search)), dtype=object),
            n_features_chosen=search.n_features_,
            support=search.support_[first],
            max_features_shown=max_features_shown,
        )

    @property
    def order_(self) -> IntArray:
        """Features in the order of the rows; those never chosen are left out."""
        times = self.n_folds_chosen.sum(axis=1)
        often = 2 * self.n_folds_chosen >= self.n_splits
        # argmax finds the first size; a feature that never gets so far comes after all that do.
        first = np.where(often.any(axis=1), often.argmax(axis=1), len(self.n_features))
        # Stable: the index breaks ties.
        order = np.lexsort((-times, first))
        return order[times[order] > 0].astype(np.int64)

    def plot(self, ax: Any = None) -> Self:
        """Draw the heat map. Its height grows with the number of rows in a figure of its own.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SelectionDisplay
            Itself.
        """
        shown = self.order_[: self.max_features_shown]
        figsize = row_figsize("SelectionDisplay.plot", len(shown))
        ax = axes_for("SelectionDisplay.plot", ax, figsize)
        self._draw_cells(ax, shown)
        self._draw_choice(ax, shown)
        label_rows(ax, self.names[shown], shown)
        set_size_axis(ax, self.n_features)
        ax.set_xlabel(self._explanation(len(shown)))
        without_tex(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_cells(self, ax: Any, shown: IntArray) -> None:
        """Draw the cells and their colour bar, which has one step for each number of folds."""
        import matplotlib

        # White means never; the lightest step must differ from it on paper.
        steps = matplotlib.colormaps["Blues"](np.linspace(0.15, 1.0, self.n_splits))
        colors = matplotlib.colors.ListedColormap(np.vstack([np.ones((1, 4)), steps]))
        # Constraints can rule out sizes in between: their columns stay empty.
        n_columns = int(self.n_features[-1] - self.n_features[0]) + 1
        counts = np.zeros((len(shown), n_columns), dtype=np.int64)
        counts[:, self.n_features - self.n_features[0]] = self.n_folds_chosen[shown]
        cells = ax.imshow(
            counts,
            cmap=colors,
            vmin=-0.5,
            vmax=self.n_splits + 0.5,
            aspect="auto",
            interpolation="nearest",
            extent=(self.n_features[0] - 0.5, self.n_features[-1] + 0.5, len(shown) - 0.5, -0.5),
        )
        ax.set_xticks(np.arange(self.n_features[0], self.n_features[-1] + 2) - 0.5, minor=True)
        ax.set_yticks(np.arange(len(shown) + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="0.85", linewidth=0.5)
        ax.tick_params(which="minor", length=0)
        height = size_in_points(ax)[1] / POINTS_PER_INCH
        ax.figure.colorbar(
            cells,
            ax=ax,
            label=f"Folds (of {self.n_splits})",
            ticks=whole_numbers(),
            shrink=min(1.0, BAR_HEIGHT / height),
            anchor=(0.0, 1.0),
        )

    def _draw_choice(self, ax: Any, shown: IntArray) -> None:
        """Frame the column of k*, and dot the features that are in the final subset."""
        from matplotlib.patches import Rectangle

        column = self.n_features_chosen
        rows = np.flatnonzero(self.support[shown])
        frame = Rectangle(
            (column - 0.5, -0.5), 1, len(shown), fill=False, edgecolor="black", linewidth=1.5
        )
        # Grid lines are drawn at 2.5 or below, whatever the style.
        frame.set(zorder=2.6, clip_on=False)
        ax.add_patch(frame)
        ax.scatter(
            np.full(len(rows), column), rows, s=16, color="black", edgecolors="white", zorder=3
        )
        mark_chosen_size(ax, column)

    def _explanation(self, n_shown: int) -> str:
        """Label of the x axis: what the dots are, and what is not shown."""
        hidden = len(self.order_) - n_shown
        lines = ["Number of features k", "● in the final subset"]
        if hidden:
            lines.append(f"{hidden} further feature{'s' if hidden > 1 else ''} not shown")
        return "\n".join(lines)

    def _columns(self) -> dict[str, Any]:
        order = self.order_
        n_sizes = len(self.n_features)
        return {
            "feature": [str(self.names[i]) for i in order for _ in range(n_sizes)],
            "n_features": np.tile(self.n_features, len(order)),
            "n_folds": self.n_folds_chosen[order].ravel(),
            "in_final_subset": np.repeat(self.support[order], n_sizes),
        }
