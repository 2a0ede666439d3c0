"""StabilityDisplay: how often each feature was chosen, and which stand in for one another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import safdr
from safdr.display.base import Display, FloatArray, IntArray, check_most_shown, check_rows
from safdr.display.labels import label_rows
from safdr.display.style import (
    FIRST,
    NEUTRAL,
    SECOND,
    add_legend,
    axes_for,
    row_figsize,
    without_tex,
)
from safdr.result import RESAMPLES, Stability, StandIns

# Arcs beyond these would be a tangle; the numbers of all pairs are on the result.
MOST_ARCS = 6

# Where arcs start, right of the share 1, and how far they reach.
ARC_START, ARC_REACH = 1.03, 0.16


class StabilityDisplay(Display):
    """Share of the resamples in which each feature was chosen, the most frequent on top.

    Lines are 95 % intervals. Arcs join features that stand in for one another. Features that were
    never chosen are left out. Make it with `from_stability` or `from_estimator`; all parameters are
    stored as attributes.

    Parameters
    ----------
    names : sequence of str
        The features.
    frequencies : ndarray of shape (n_features,)
        Share of the resamples in which each was chosen.
    intervals : ndarray of shape (n_features, 2)
        Intervals of the shares.
    chosen : ndarray of shape (n_features,), dtype=bool
        The features chosen on all rows.
    stand_ins : sequence of StandIns
        Pairs of features that are chosen in place of one another.
    index : float
        The stability index.
    index_interval : tuple of float
        Its interval.
    n_resamples : int
        Number of resamples.
    resample : {"halves", "seeds"}
        What differs between them.
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
    SubstitutesDisplay : What replacing a chosen feature costs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, StabilityDisplay, stability
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> found = stability(AnnealingSelector(2), X, y, n_resamples=20, random_state=0)
    >>> display = StabilityDisplay.from_stability(found).plot()
    >>> display.to_frame().columns.tolist()
    ['feature', 'frequency', 'low', 'high', 'chosen']
    """

    def __init__(
        self,
        *,
        names: Sequence[str],
        frequencies: FloatArray,
        intervals: FloatArray,
        chosen: NDArray[np.bool_],
        stand_ins: Sequence[StandIns],
        index: float,
        index_interval: tuple[float, float],
        n_resamples: int,
        resample: str = "halves",
        max_features_shown: int = 30,
    ) -> None:
        self.names = names
        self.frequencies = frequencies
        self.intervals = intervals
        self.chosen = chosen
        self.stand_ins = stand_ins
        self.index = index
        self.index_interval = index_interval
        self.n_resamples = n_resamples
        self.resample = resample
        self.max_features_shown = max_features_shown

    @classmethod
    def from_stability(cls, stability: Stability, *, max_features_shown: int = 30) -> Self:
        """Take over what `safdr.stability` found.

        Parameters
        ----------
        stability : Stability
            The result.
        max_features_shown : int, default=30
            Largest number of rows to draw.

        Returns
        -------
        StabilityDisplay
            Not drawn yet; call `plot`.
        """
        if not isinstance(stability, Stability):
            raise TypeError(
                f"{cls.__name__}.from_stability needs what safdr.stability returns; got "
                f"{type(stability).__name__}."
            )
        check_most_shown(max_features_shown)
        return cls(
            names=stability.names,
            frequencies=stability.frequencies,
            intervals=stability.frequency_intervals,
            chosen=stability.chosen,
            stand_ins=stability.stand_ins,
            index=stability.index,
            index_interval=stability.index_interval,
            n_resamples=stability.n_resamples,
            resample=stability.resample,
            max_features_shown=max_features_shown,
        )

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        X: Any = None,
        y: Any = None,
        *,
        max_features_shown: int = 30,
        **how: Any,
    ) -> Self:
        """Choose features again on resamples of the rows.

        Parameters
        ----------
        selector : AnnealingSelector, AnnealingSelectorCV, or one of those for regression
            Fitted or not.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Labels, or measured outputs.
        max_features_shown : int, default=30
            Largest number of rows to draw.
        **how
            For `safdr.stability`, such as ``n_resamples=100`` or ``random_state=0``.

        Returns
        -------
        StabilityDisplay
            Not drawn yet; call `plot`.
        """
        check_rows(X, y, cls.__name__, "chooses again on halves of the rows")
        found = safdr.stability(selector, X, y, **how)
        return cls.from_stability(found, max_features_shown=max_features_shown)

    @property
    def order_(self) -> IntArray:
        """Features in the order of the rows; those never chosen are left out."""
        order = np.lexsort((~self.chosen, -self.frequencies))
        return order[(self.frequencies[order] > 0) | self.chosen[order]].astype(np.int64)

    def plot(self, ax: Any = None) -> Self:
        """Draw the shares. The height grows with the number of rows in a figure of its own.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        StabilityDisplay
            Itself.
        """
        own_figure = ax is None
        shown = self.order_[: self.max_features_shown]
        ax = axes_for("StabilityDisplay.plot", ax, row_figsize("StabilityDisplay.plot", len(shown)))
        handles = self._draw_shares(ax, shown)
        arcs = self._draw_stand_ins(ax, shown)
        ax.set(xlim=(-0.02, ARC_START + ARC_REACH if arcs else 1.02), ylim=(len(shown) - 0.5, -0.5))
        # No more labels than a small figure has room for.
        ax.set_xticks([0.0, 0.5, 1.0], labels=["0", "50 %", "100 %"])
        ax.set_xticks([0.25, 0.75], minor=True)
        label_rows(ax, [self.names[i] for i in shown], shown.tolist())
        ax.set_xlabel(self._explanation(len(shown)))
        add_legend(ax, handles + arcs, own_figure=own_figure)
        without_tex(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_shares(self, ax: Any, shown: IntArray) -> list[Any]:
        """Draw a dot and a line for each feature; those chosen on all rows are filled."""
        handles = []
        looks = (
            (True, FIRST, FIRST, "Chosen on all rows"),
            (False, NEUTRAL, "white", "Others"),
        )
        for chosen, color, face, label in looks:
            rows = np.flatnonzero(self.chosen[shown] == chosen)
            some = shown[rows]
            if len(some) == 0:
                continue
            ax.hlines(rows, *self.intervals[some].T, color=color, linewidth=1.2, alpha=0.7)
            handles += ax.plot(
                self.frequencies[some],
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
        ax.set_axisbelow(True)
        return handles

    def _draw_stand_ins(self, ax: Any, shown: IntArray) -> list[Any]:
        """Join features that stand in for one another, the clearest pairs."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Arc

        row_of = {self.names[i]: row for row, i in enumerate(shown)}
        pairs = [
            sorted((row_of[pair.first], row_of[pair.second]))
            for pair in self.stand_ins
            if pair.first in row_of and pair.second in row_of
        ][:MOST_ARCS]
        # Long arcs reach further, and no two the same, so that each can be followed.
        by_length = sorted(pairs, key=lambda pair: pair[1] - pair[0])
        for number, (above, below) in enumerate(by_length, start=1):
            height = below - above
            reach = 0.9 * ARC_REACH * number / len(pairs)
            ax.add_patch(
                Arc(
                    (ARC_START, (above + below) / 2),
                    2 * reach,
                    height,
                    theta1=-90,
                    theta2=90,
                    color=SECOND,
                    linewidth=1.6,
                )
            )
            ax.plot([ARC_START] * 2, [above, below], ".", color=SECOND)
        return [Line2D([], [], color=SECOND, label="Instead of one another")] if pairs else []

    def _explanation(self, n_shown: int) -> str:
        """Label of the x axis: what the shares are, the index, and what is not shown."""
        low, high = self.index_interval
        lines = [f"Share of {self.n_resamples} {RESAMPLES[self.resample]}"]
        if np.isfinite(self.index):
            lines.append(f"Stability {self.index:.2f} ({low:.2f} to {high:.2f})")
        hidden = len(self.order_) - n_shown
        if hidden:
            lines.append(f"{hidden} further feature{'s' if hidden > 1 else ''} not shown")
        return "\n".join(lines)

    def _columns(self) -> dict[str, Any]:
        order = self.order_
        return {
            "feature": [str(self.names[i]) for i in order],
            "frequency": self.frequencies[order],
            "low": self.intervals[order, 0],
            "high": self.intervals[order, 1],
            "chosen": self.chosen[order],
        }
