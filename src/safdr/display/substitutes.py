"""SubstitutesDisplay: the score if a selected feature is replaced or left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

import safdr
from safdr.display.base import Display, check_fitted, score_name
from safdr.display.style import (
    FIRST,
    SECOND,
    add_legend,
    axes_for,
    hidden_rows,
    label_rows,
    plain,
)
from safdr.text import signed


@dataclass(kw_only=True, eq=False, repr=False)
class SubstitutesDisplay(Display):
    """Change of the held-out score if a selected feature is replaced or left out.

    The feature that is hardest to replace is on top. The best replacement has a full dot and its
    name on the right; a cross means that the feature is left out. Lines are one standard deviation
    over the splits. Create it with `from_estimator`.

    Parameters
    ----------
    columns : mapping of str to sequence
        The result of `substitutes`, by column.
    score_name : str, default="score"
        Label of the axis.

    Attributes
    ----------
    order_ : list of str
        The selected feature of each row, from the top.
    ax_ : matplotlib Axes
        Axes with the figure.
    figure_ : matplotlib Figure
        Figure of the axes.

    See Also
    --------
    StabilityDisplay : How often half-samples select each feature.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, SubstitutesDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> display = SubstitutesDisplay.from_estimator(selector, X, y).plot()
    >>> display.order_
    ['worst radius', 'worst concave points', 'worst texture']
    """

    columns: Mapping[str, Any]
    score_name: str = "score"

    @classmethod
    def from_estimator(cls, selector: Any, X: Any, y: Any, **options: Any) -> Self:
        """Replace each selected feature.

        Parameters
        ----------
        selector : AnnealingSelector, AnnealingSelectorCV, or one for regression
            Fitted.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target.
        **options
            Parameters of `substitutes`, such as ``n_best=5``.

        Returns
        -------
        SubstitutesDisplay
            Call `plot` to draw it.
        """
        check_fitted(selector, "subset_", f"{cls.__name__}.from_estimator", "an AnnealingSelector")
        columns = safdr.substitutes(selector, X, y, **options)
        return cls(columns=columns, score_name=score_name(selector))

    @property
    def order_(self) -> list[str]:
        """Selected features, the one whose absence costs most first."""
        change = self.columns["score_difference"]
        return sorted(self._rows(), key=lambda name: change[self._rows()[name][0]])

    def _rows(self) -> dict[str, list[int]]:
        """Rows of each selected feature: left out first, then replacements, best first."""
        found: dict[str, list[int]] = {}
        for row, name in enumerate(self.columns["selected"]):
            found.setdefault(name, []).append(row)
        score, replacement = self.columns["score"], self.columns["replacement"]
        for rows in found.values():
            rows.sort(key=lambda row: (replacement[row] is not None, -score[row]))
        return found

    def plot(self, ax: Any = None, *, max_features_shown: int = 30) -> Self:
        """Draw the changes; the height of a new figure grows with the number of rows.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        max_features_shown : int, default=30
            Largest number of rows.

        Returns
        -------
        SubstitutesDisplay
            The display itself.
        """
        own_figure = ax is None
        shown = self.order_[:max_features_shown]
        ax = axes_for("SubstitutesDisplay.plot", ax, n_rows=len(shown), width=1.3)
        ax.axvline(0.0, color="black", linewidth=0.8)
        handles = self._draw_rows(ax, [self._rows()[name] for name in shown])
        ax.set(ylim=(len(shown) - 0.5, -0.5), axisbelow=True)
        ax.grid(axis="x", color="0.9", linewidth=0.6)
        ax.locator_params(axis="x", nbins=5)
        label_rows(ax, shown, share=0.3)
        right = ax.secondary_yaxis("right")
        label_rows(ax, [self._best(self._rows()[name]) for name in shown], right, 0.35)
        right.tick_params(length=0)
        hidden = hidden_rows(len(self.order_) - len(shown))
        ax.set_xlabel(f"Change of held-out {plain(self.score_name)}{hidden}")
        add_legend(ax, handles, own_figure=own_figure)
        return self._finish(ax)

    def _draw_rows(self, ax: Any, rows: list[list[int]]) -> list[Any]:
        best = [(y, each[1]) for y, each in enumerate(rows) if len(each) > 1]
        others = [(y, row) for y, each in enumerate(rows) for row in each[2:]]
        out = [(y, each[0]) for y, each in enumerate(rows)]
        faint: dict[str, Any] = {"color": FIRST, "markerfacecolor": "white", "alpha": 0.7}
        return [
            *self._draw_points(ax, best, bars=True, color=FIRST, marker="o", label="Best"),
            *self._draw_points(ax, others, marker="o", label="Other replacements", **faint),
            *self._draw_points(ax, out, bars=True, color=SECOND, marker="X", label="Left out"),
        ]

    def _draw_points(
        self, ax: Any, points: list[tuple[int, int]], *, bars: bool = False, **look: Any
    ) -> list[Any]:
        if not points:
            return []
        heights, rows = (np.array(each) for each in zip(*points, strict=True))
        x = np.asarray(self.columns["score_difference"])[rows]
        if bars:
            std = np.asarray(self.columns["score_difference_std"])[rows]
            ax.hlines(heights, x - std, x + std, color=look["color"], linewidth=1.2, alpha=0.7)
        return list(ax.plot(x, heights, linestyle="none", zorder=3, **look))

    def _best(self, rows: list[int]) -> str:
        """Name of the best replacement, and the change that it makes."""
        if len(rows) < 2:
            return "none"
        change, name = (self.columns[c][rows[1]] for c in ("score_difference", "replacement"))
        return f"{signed(change, 4)} {name}"

    def _columns(self) -> dict[str, Any]:
        return dict(self.columns)
