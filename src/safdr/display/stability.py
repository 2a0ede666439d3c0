"""StabilityDisplay: how often half-samples select each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

import safdr
from safdr.display.base import Display, IntArray
from safdr.display.style import (
    FIRST,
    NEUTRAL,
    add_legend,
    axes_for,
    hidden_rows,
    label_rows,
)
from safdr.result import Stability


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """Share of the half-samples that select each feature, with 95 % intervals.

    Features that no half-sample selects are left out. Pass the result of `safdr.stability`, or
    use `from_estimator`.

    Parameters
    ----------
    stability : Stability
        The result of `safdr.stability`.

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
    >>> display = StabilityDisplay(found).plot()
    >>> display.to_frame().columns.tolist()
    ['feature', 'frequency', 'low', 'high', 'selected']
    """

    stability: Stability

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
        return cls(safdr.stability(selector, X, y, **options))

    @property
    def order_(self) -> IntArray:
        """Features in the order of the rows; those never selected are left out."""
        rates, selected = self.stability.frequencies, self.stability.selected
        order = np.lexsort((~selected, -rates))
        return order[(rates[order] > 0) | selected[order]].astype(np.int64)

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
        own_figure, found = ax is None, self.stability
        shown = self.order_[:max_features_shown]
        ax = axes_for("StabilityDisplay.plot", ax, n_rows=len(shown))
        looks = ((True, FIRST, FIRST, "Selected on all rows"), (False, NEUTRAL, "white", "Others"))
        handles = []
        for selected, color, face, label in looks:
            rows = np.flatnonzero(found.selected[shown] == selected)
            if not len(rows):
                continue
            ax.hlines(
                rows,
                *found.frequency_intervals[shown[rows]].T,
                color=color,
                linewidth=1.2,
                alpha=0.7,
            )
            handles += ax.plot(
                found.frequencies[shown[rows]],
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
        label_rows(ax, [self.stability.names[i] for i in shown])
        ax.set_xlabel(self._explanation() + hidden_rows(len(self.order_) - len(shown)))
        add_legend(ax, handles, own_figure=own_figure)
        return self._finish(ax)

    def _explanation(self) -> str:
        found, (low, high) = self.stability, self.stability.index_interval
        share = f"Share of {found.n_resamples} half-samples"
        if not np.isfinite(found.index):
            return share
        return f"{share}\nStability {found.index:.2f} ({low:.2f} to {high:.2f})"

    def _columns(self) -> dict[str, Any]:
        order, found = self.order_, self.stability
        low, high = found.frequency_intervals[order].T
        return {
            "feature": [str(found.names[i]) for i in order],
            "frequency": found.frequencies[order],
            "low": low,
            "high": high,
            "selected": found.selected[order],
        }
