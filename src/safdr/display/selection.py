"""SelectionDisplay: which feature is selected at which size, and in how many splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from safdr.display.base import Display, IntArray, check_fitted, read_features
from safdr.display.style import axes_for, hidden_rows, label_rows, set_size_axis


@dataclass(kw_only=True, eq=False, repr=False)
class SelectionDisplay(Display):
    """Heat map: in how many splits each feature is selected at each size.

    Features are ordered by the smallest size at which at least half of the splits select them.
    Features that no split selects are left out. Create it with `from_estimator`.

    Parameters
    ----------
    n_features : ndarray of shape (n_sizes,)
        The sizes k, in rising order.
    counts : ndarray of shape (n_rows, n_sizes)
        In how many splits each feature, a group or a column, is selected at each size.
    n_splits : int
        Number of splits.
    names : sequence of str
        Names of the features.
    n_features_selected : int
        The selected size k*.
    support : ndarray of shape (n_rows,), dtype=bool
        The features selected on all rows at k*.

    Attributes
    ----------
    order_ : ndarray of shape (n_shown,)
        The feature of each row, from the top.
    ax_ : matplotlib Axes
        Axes with the figure.
    figure_ : matplotlib Figure
        Figure of the axes.

    See Also
    --------
    PathDisplay : The score of each size.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV, SelectionDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> search = AnnealingSelectorCV(4, random_state=0).fit(X, y)
    >>> display = SelectionDisplay.from_estimator(search).plot()
    >>> display.to_frame().columns.tolist()
    ['feature', 'n_features', 'n_splits', 'selected']
    """

    n_features: IntArray
    counts: IntArray
    n_splits: int
    names: Sequence[str]
    n_features_selected: int
    support: NDArray[np.bool_]

    @classmethod
    def from_estimator(cls, search: Any) -> Self:
        """Count the splits of a cross-validated search.

        Parameters
        ----------
        search : AnnealingSelectorCV or AnnealingRegressorSelectorCV
            Fitted.

        Returns
        -------
        SelectionDisplay
            Call `plot` to draw it.
        """
        check_fitted(search, "cv_results_", f"{cls.__name__}.from_estimator", "a selector with CV")
        results = search.cv_results_
        counts = np.sum([results[f"split{i}_support"] for i in range(search.n_splits_)], axis=0)
        columns, names = read_features(search)
        # A group is selected as a whole.
        first = np.array([each[0] for each in columns])
        return cls(
            n_features=results["n_features"],
            counts=counts.T[first],
            n_splits=search.n_splits_,
            names=names,
            n_features_selected=int(search.n_features_),
            support=search.support_[first],
        )

    @property
    def order_(self) -> IntArray:
        """Features in the order of the rows; those never selected are left out."""
        total = self.counts.sum(axis=1)
        often = 2 * self.counts >= self.n_splits
        first = np.where(often.any(axis=1), often.argmax(axis=1), len(self.n_features))
        order = np.lexsort((-total, first))
        return order[total[order] > 0].astype(np.int64)

    def plot(self, ax: Any = None, *, max_features_shown: int = 30) -> Self:
        """Draw the heat map; the height of a new figure grows with the number of rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        max_features_shown : int, default=30
            Largest number of rows.

        Returns
        -------
        SelectionDisplay
            The display itself.
        """
        shown = self.order_[:max_features_shown]
        ax = axes_for("SelectionDisplay.plot", ax, n_rows=len(shown))
        self._draw_cells(ax, shown)
        rows = np.flatnonzero(self.support[shown])
        column = np.full(len(rows), self.n_features_selected)
        ax.scatter(column, rows, s=16, color="black", edgecolors="white", zorder=3)
        label_rows(ax, [self.names[i] for i in shown])
        set_size_axis(ax, self.n_features, self.n_features_selected)
        hidden = hidden_rows(len(self.order_) - len(shown))
        ax.set_xlabel(f"Number of features k\n● selected on all rows{hidden}")
        return self._finish(ax)

    def _draw_cells(self, ax: Any, shown: IntArray) -> None:
        """Draw the cells, with a colour for each number of splits."""
        first, last = int(self.n_features[0]), int(self.n_features[-1])
        # Sizes between may be missing: their columns stay empty.
        cells = np.zeros((len(shown), last - first + 1))
        cells[:, self.n_features - first] = self.counts[shown]
        edges = np.arange(first, last + 2) - 0.5, np.arange(len(shown) + 1) - 0.5
        how: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": self.n_splits}
        image = ax.pcolormesh(*edges, cells, edgecolors="0.85", linewidth=0.5, **how)
        ax.invert_yaxis()
        ticks = np.unique(np.linspace(0, self.n_splits, 6).astype(int))
        bar = ax.figure.colorbar(image, ax=ax, ticks=ticks)
        bar.set_label(f"Splits (of {self.n_splits})")

    def _columns(self) -> dict[str, Any]:
        order, n_sizes = self.order_, len(self.n_features)
        return {
            "feature": [str(self.names[i]) for i in order for _ in range(n_sizes)],
            "n_features": np.tile(self.n_features, len(order)),
            "n_splits": self.counts[order].ravel(),
            "selected": np.repeat(self.support[order], n_sizes),
        }
