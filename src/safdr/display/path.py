"""PathDisplay: scores against the number of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from safdr.display.base import Display, FloatArray, IntArray, check_fitted, score_name
from safdr.display.style import (
    FIRST,
    NEUTRAL,
    SECOND,
    add_legend,
    axes_for,
    plain,
    set_size_axis,
)


@dataclass(kw_only=True, eq=False, repr=False)
class PathDisplay(Display):
    """Cross-validated score against the number of features k, with the selected size k*.

    Create it with `from_estimator`.

    Parameters
    ----------
    n_features : ndarray of shape (n_sizes,)
        The sizes k.
    scores : ndarray of shape (n_splits, n_sizes)
        Score of each split.
    n_features_selected : int
        The selected size k*.
    score_name : str, default="Score"
        Label of the axis.

    Attributes
    ----------
    mean, std : ndarray of shape (n_sizes,)
        Mean and standard deviation over the splits.
    ax_ : matplotlib Axes
        Axes with the figure.
    figure_ : matplotlib Figure
        Figure of the axes.

    See Also
    --------
    SelectionDisplay : Which features are selected at each size.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV, PathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> search = AnnealingSelectorCV(4, random_state=0).fit(X, y)
    >>> display = PathDisplay.from_estimator(search).plot()
    >>> display.to_frame()["n_features"].tolist()
    [1, 2, 3, 4]
    """

    n_features: IntArray
    scores: FloatArray
    n_features_selected: int
    score_name: str = "Score"

    def __post_init__(self) -> None:
        self.mean, self.std = self.scores.mean(axis=0), self.scores.std(axis=0)

    @classmethod
    def from_estimator(cls, search: Any) -> Self:
        """Read the scores of a cross-validated search.

        Parameters
        ----------
        search : AnnealingSelectorCV or AnnealingRegressorSelectorCV
            Fitted.

        Returns
        -------
        PathDisplay
            Call `plot` to draw it.
        """
        check_fitted(search, "cv_results_", f"{cls.__name__}.from_estimator", "a selector with CV")
        results = search.cv_results_
        return cls(
            n_features=results["n_features"],
            scores=np.array(
                [results[f"split{i}_test_score"] for i in range(search.n_splits_)], dtype=np.float64
            ),
            n_features_selected=int(search.n_features_),
            score_name=score_name(search),
        )

    def plot(self, ax: Any = None, *, show_splits: bool = False) -> Self:
        """Draw the mean scores, with a band of one standard deviation over the splits.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        show_splits : bool, default=False
            Whether to draw a line for each split too.

        Returns
        -------
        PathDisplay
            The display itself.
        """
        own_figure = ax is None
        ax = axes_for("PathDisplay.plot", ax)
        if show_splits:
            ax.plot(self.n_features, self.scores.T, color=FIRST, linewidth=0.6, alpha=0.5)
        (line,) = ax.plot(self.n_features, self.mean, color=FIRST, marker="o", label="Mean")
        low, high = self.mean - self.std, self.mean + self.std
        band = ax.fill_between(
            self.n_features, low, high, color=FIRST, alpha=0.2, label="± 1 SD over the splits"
        )
        chosen = self.n_features == self.n_features_selected
        ax.axvline(self.n_features_selected, color=NEUTRAL, linestyle=":", linewidth=1)
        (star,) = ax.plot(
            self.n_features[chosen],
            self.mean[chosen],
            color=SECOND,
            marker="*",
            markersize=15,
            markeredgecolor="white",
            linestyle="none",
            label="Selected size k*",
        )
        set_size_axis(ax, self.n_features, self.n_features_selected)
        ax.set_ylabel(plain(self.score_name))
        add_legend(ax, [line, band, star], own_figure=own_figure)
        return self._finish(ax)

    def _columns(self) -> dict[str, Any]:
        return {
            "n_features": self.n_features,
            "mean_test_score": self.mean,
            "std_test_score": self.std,
            "selected": self.n_features == self.n_features_selected,
        }
