"""SubstitutesDisplay: what the score loses where a chosen feature is replaced, or left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from safdr.display.base import Display, check_fitted, check_most_shown, check_rows
from safdr.display.labels import label_rows, plain
from safdr.display.style import (
    FIRST,
    SECOND,
    add_legend,
    axes_for,
    row_figsize,
    without_tex,
)

# Of the width, for names on the left and for replacements on the right.
NAME_SHARE, REPLACEMENT_SHARE = 0.3, 0.35


class SubstitutesDisplay(Display):
    """Held-out score of each replacement, as a difference to the chosen subset.

    One row a chosen feature, the one that is hardest to do without on top. Of its replacements the
    one with the best score is a full dot, with its name on the right; a cross is the feature left
    out. Lines are one standard deviation over the splits. Make it with `from_estimator`; all
    parameters are stored as attributes.

    Parameters
    ----------
    columns : mapping of str to sequence
        What `substitutes` of a selector tells, by column.
    score_name : str, default="score"
        What the scores are.
    max_features_shown : int, default=30
        Largest number of rows to draw.

    Attributes
    ----------
    order_ : list of str
        The chosen feature of each row, from the top.
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    See Also
    --------
    StabilityDisplay : How often other rows would choose each feature.

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

    def __init__(
        self,
        *,
        columns: Mapping[str, Any],
        score_name: str = "score",
        max_features_shown: int = 30,
    ) -> None:
        self.columns = columns
        self.score_name = score_name
        self.max_features_shown = max_features_shown

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
        """Replace each chosen feature.

        Parameters
        ----------
        selector : AnnealingSelector, AnnealingSelectorCV, or one of those for regression
            Fitted.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels, or measured outputs.
        max_features_shown : int, default=30
            Largest number of rows to draw.
        **how
            For the `substitutes` of the selector, such as ``n_best=5``.

        Returns
        -------
        SubstitutesDisplay
            Not drawn yet; call `plot`.
        """
        check_fitted(selector, "substitutes", cls.__name__, "an AnnealingSelector")
        check_rows(X, y, cls.__name__, "scores substitutes on the rows")
        check_most_shown(max_features_shown)
        return cls(
            columns=selector.substitutes(X, y, **{**how, "backend": "dict"}),
            score_name=getattr(selector, "scorer_name_", "score"),
            max_features_shown=max_features_shown,
        )

    @property
    def order_(self) -> list[str]:
        """Chosen features, those whose absence costs most first."""
        _, out = self._rows_by_feature()
        lost = {name: self.columns["score_difference"][row] for name, row in out.items()}
        return sorted(lost, key=lambda name: lost[name])

    def plot(self, ax: Any = None) -> Self:
        """Draw the differences. The height grows with the number of rows in a figure of its own.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SubstitutesDisplay
            Itself.
        """
        own_figure = ax is None
        shown = self.order_[: self.max_features_shown]
        figsize = row_figsize("SubstitutesDisplay.plot", len(shown), wider=1.3)
        ax = axes_for("SubstitutesDisplay.plot", ax, figsize)
        ax.axvline(0.0, color="black", linewidth=0.8)
        handles = self._draw_rows(ax, shown)
        ax.set_ylim(len(shown) - 0.5, -0.5)
        ax.grid(axis="x", color="0.9", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.locator_params(axis="x", nbins=5)
        label_rows(ax, shown, range(len(shown)), NAME_SHARE)
        self._name_replacements(ax, shown)
        ax.set_xlabel(self._explanation(len(shown)))
        add_legend(ax, handles, own_figure=own_figure)
        without_tex(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _rows_by_feature(self) -> tuple[dict[str, list[int]], dict[str, int]]:
        """Rows of the replacements of each chosen feature, the best score first; and without it."""
        replaced: dict[str, list[int]] = {name: [] for name in self.columns["chosen"]}
        out = {}
        for row, name in enumerate(self.columns["chosen"]):
            if self.columns["replacement"][row] is None:
                out[name] = row
            else:
                replaced[name].append(row)
        score = self.columns["score"]
        return {n: sorted(rows, key=lambda r: -score[r]) for n, rows in replaced.items()}, out

    def _draw_rows(self, ax: Any, shown: list[str]) -> list[Any]:
        replaced, out = self._rows_by_feature()
        best = [(y, rows[0]) for y, name in enumerate(shown) if (rows := replaced[name])]
        others = [(y, row) for y, name in enumerate(shown) for row in replaced[name][1:]]
        handles = self._draw_points(
            ax,
            others,
            color=FIRST,
            marker="o",
            markerfacecolor="white",
            alpha=0.7,
            label="Other replacements",
        )
        handles += self._draw_points(
            ax,
            [(y, out[name]) for y, name in enumerate(shown)],
            bars=True,
            color=SECOND,
            marker="X",
            label="Left out",
        )
        handles += self._draw_points(
            ax, best, bars=True, color=FIRST, marker="o", label="Best replacement"
        )
        return handles[::-1]

    def _draw_points(
        self, ax: Any, points: list[tuple[int, int]], *, bars: bool = False, **look: Any
    ) -> list[Any]:
        """Draw rows of the table at their heights."""
        if not points:
            return []
        heights, rows = (np.array(each) for each in zip(*points, strict=True))
        x = np.asarray(self.columns["score_difference"])[rows]
        if bars:
            std = np.asarray(self.columns["score_difference_std"])[rows]
            ax.hlines(heights, x - std, x + std, color=look["color"], linewidth=1.2, alpha=0.7)
        return list(ax.plot(x, heights, linestyle="none", zorder=3, **look))

    def _name_replacements(self, ax: Any, shown: list[str]) -> None:
        """Write the best replacement of each row on the right, with its difference."""
        replaced, _ = self._rows_by_feature()
        best = [self.columns["score_difference"][rows[0]] for rows in replaced.values() if rows]
        largest = max(np.abs(best), default=0.0)
        # Two digits of the largest.
        decimals = int(np.clip(1 - np.floor(np.log10(largest)), 2, 6)) if largest > 0 else 2
        names = [self._best_of(replaced[name], decimals) for name in shown]
        right = ax.secondary_yaxis("right")
        label_rows(ax, names, None, REPLACEMENT_SHARE, side=right)
        right.tick_params(length=0)

    def _best_of(self, rows: list[int], decimals: int) -> str:
        """The first of some replacements, in words."""
        if not rows:
            return "none"
        difference, name = (self.columns[c][rows[0]] for c in ("score_difference", "replacement"))
        return f"{difference:+.{decimals}f}".replace("-", "\N{MINUS SIGN}") + f" {name}"

    def _explanation(self, n_shown: int) -> str:
        """Label of the x axis: what is drawn, and what is not shown."""
        lines = [f"Change of held-out {plain(self.score_name)}"]
        hidden = len(self.order_) - n_shown
        if hidden:
            lines.append(f"{hidden} further feature{'s' if hidden > 1 else ''} not shown")
        return "\n".join(lines)

    def _columns(self) -> dict[str, Any]:
        return dict(self.columns)
