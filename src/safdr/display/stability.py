"""StabilityDisplay: how often half-samples select each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import safdr
from safdr.display.base import Display, FloatArray, IntArray
from safdr.display.style import (
    FIRST,
    NEUTRAL,
    add_legend,
    axes_for,
    finish,
    hidden_rows,
    label_rows,
)


class StabilityDisplay(Display):
    """Share of the half-samples that select each feature, with 95 % intervals.

    Features that no half-sample selects are left out. Create it with `from_stability` or
    `from_estimator`.

    Parameters
    ----------
    names : sequence of str
        The features.
    frequencies : ndarray of shape (n_features,)
        Share of the half-samples that select each feature.
    intervals : ndarray of shape (n_features, 2)
        Intervals of the shares.
    selected : ndarray of shape (n_features,), dtype=bool
        The features selected on all rows.
    index : float
        The stability index; 1 if all half-samples agree, 0 for chance.
    index_interval : tuple of float
        Its interval.
    n_resamples : int
        Number of half-samples.

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
    SubstitutesDisplay : The score if a selected feature is replaced.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, StabilityDisplay, stability
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = stability(AnnealingSelector(2), X, y, n_resamples=20, random_state=0)
    >>> display = StabilityDisplay.from_stability(found).plot()
    >>> display.to_frame().columns.tolist()
    ['feature', 'frequency', 'low', 'high', 'selected']
    """

    def __init__(
        self,
        *,
        names: Sequence[str],
        frequencies: FloatArray,
        intervals: FloatArray,
        selected: NDArray[np.bool_],
        index: float,
        index_interval: tuple[float, float],
        n_resamples: int,
    ) -> None:
        self.names = names
        self.frequencies = frequencies
        self.intervals = intervals
        self.selected = selected
        self.index = index
        self.index_interval = index_interval
        self.n_resamples = n_resamples

    @classmethod
    def from_stability(cls, stability: Any) -> Self:
        """Read the result of `safdr.stability`.

        Parameters
        ----------
        stability : Stability
            The result.

        Returns
        -------
        StabilityDisplay
            Call `plot` to draw it.
        """
        return cls(
            names=stability.names,
            frequencies=stability.frequencies,
            intervals=stability.frequency_intervals,
            selected=stability.selected,
            index=stability.index,
            index_interval=stability.index_interval,
            n_resamples=stability.n_resamples,
        )

    @classmethod
    def from_estimator(cls, selector: Any, X: Any, y: Any, **options: Any) -> Self:
        """Select features again on half-samples of the rows.

        Parameters
        ----------
        selector : AnnealingSelector, AnnealingSelectorCV, or one for regression
            Fitted or not.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target.
        **options
            Parameters of `safdr.stability`, such as ``n_resamples=100``.

        Returns
        -------
        StabilityDisplay
            Call `plot` to draw it.
        """
        return cls.from_stability(safdr.stability(selector, X, y, **options))

    @property
    def order_(self) -> IntArray:
        """Features in the order of the rows; those never selected are left out."""
        order = np.lexsort((~self.selected, -self.frequencies))
        return order[(self.frequencies[order] > 0) | self.selected[order]].astype(np.int64)

    def plot(self, ax: Any = None, *, max_features_shown: int = 30) -> Self:
        """Draw the shares; the height of a new figure grows with the number of rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        max_features_shown : int, default=30
            Largest number of rows.

        Returns
        -------
        StabilityDisplay
            The display itself.
        """
        own_figure = ax is None
        shown = self.order_[:max_features_shown]
        ax = axes_for("StabilityDisplay.plot", ax, n_rows=len(shown))
        looks = ((True, FIRST, FIRST, "Selected on all rows"), (False, NEUTRAL, "white", "Others"))
        handles = []
        for selected, color, face, label in looks:
            rows = np.flatnonzero(self.selected[shown] == selected)
            if not len(rows):
                continue
            ax.hlines(rows, *self.intervals[shown[rows]].T, color=color, linewidth=1.2, alpha=0.7)
            handles += ax.plot(
                self.frequencies[shown[rows]],
                rows,
                color=color,
                marker="o",
                markerfacecolor=face,
                linestyle="none",
                label=label,
                clip_on=False,
                zorder=3,
            )
        ax.grid(axis="x", which="both", color="0.9", linewidth=0.6)
        ax.set(xlim=(-0.02, 1.02), ylim=(len(shown) - 0.5, -0.5), axisbelow=True)
        ax.set_xticks([0.0, 0.5, 1.0], labels=["0", "50 %", "100 %"])
        label_rows(ax, [self.names[i] for i in shown])
        ax.set_xlabel(self._explanation() + hidden_rows(len(self.order_) - len(shown)))
        add_legend(ax, handles, own_figure=own_figure)
        finish(self, ax)
        return self

    def _explanation(self) -> str:
        share = f"Share of {self.n_resamples} half-samples"
        if not np.isfinite(self.index):
            return share
        low, high = self.index_interval
        return f"{share}\nStability {self.index:.2f} ({low:.2f} to {high:.2f})"

    def _columns(self) -> dict[str, Any]:
        order = self.order_
        return {
            "feature": [str(self.names[i]) for i in order],
            "frequency": self.frequencies[order],
            "low": self.intervals[order, 0],
            "high": self.intervals[order, 1],
            "selected": self.selected[order],
        }
