"""PathDisplay: scores against the number of features, and where the rule stopped."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from safdr.display.base import Display, FloatArray, IntArray, check_fitted
from safdr.display.labels import plain
from safdr.display.style import (
    FIRST,
    NEUTRAL,
    SECOND,
    add_legend,
    axes_for,
    mark_chosen_size,
    set_size_axis,
    without_tex,
)

# Half the distance between the two scores of one size, so that their bars lie side by side.
SHIFT = 0.1

# No score by these names exceeds 1, so no bar should.
BOUNDED_SCORES = {"ROC AUC", "ROC AUC, each class against the rest", "R²"}


class PathDisplay(Display):
    """Validation and training scores against the number of features k, with the chosen k*.

    Make it with `from_estimator`; all parameters are stored as attributes.

    Parameters
    ----------
    n_features : ndarray of shape (n_sizes,)
        The sizes k.
    mean_test_score, std_test_score : ndarray of shape (n_sizes,)
        Mean and standard deviation of the validation score over the folds.
    mean_train_score, std_train_score : ndarray of shape (n_sizes,)
        The same of the training score.
    n_features_chosen : int
        The chosen size k*.
    threshold : float or None
        Smallest mean validation score that the rule accepts; None where it has no such number.
    score_name : str, default="Score"
        What the score is.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    See Also
    --------
    SelectionDisplay : Which features were chosen at each size.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelectorCV
    >>> from safdr.display import PathDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> search = AnnealingSelectorCV(max_features=4, random_state=0).fit(X, y)
    >>> display = PathDisplay.from_estimator(search).plot()
    >>> display.to_frame()["n_features"].tolist()
    [1, 2, 3, 4]
    """

    def __init__(
        self,
        *,
        n_features: IntArray,
        mean_test_score: FloatArray,
        std_test_score: FloatArray,
        mean_train_score: FloatArray,
        std_train_score: FloatArray,
        n_features_chosen: int,
        threshold: float | None,
        score_name: str = "Score",
    ) -> None:
        self.n_features = n_features
        self.mean_test_score = mean_test_score
        self.std_test_score = std_test_score
        self.mean_train_score = mean_train_score
        self.std_train_score = std_train_score
        self.n_features_chosen = n_features_chosen
        self.threshold = threshold
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, search: Any) -> Self:
        """Take the numbers from a cross-validated search.

        Parameters
        ----------
        search : AnnealingSelectorCV or AnnealingRegressorSelectorCV
            Fitted.

        Returns
        -------
        PathDisplay
            Not drawn yet; call `plot`.
        """
        check_fitted(search, "n_features_by_rule_", cls.__name__, "an AnnealingSelectorCV")
        results = search.cv_results_
        return cls(
            n_features=results["n_features"],
            mean_test_score=results["mean_test_score"],
            std_test_score=results["std_test_score"],
            mean_train_score=results["mean_train_score"],
            std_train_score=results["std_train_score"],
            n_features_chosen=search.n_features_,
            threshold=search.threshold_,
            score_name=search.scorer_name_,
        )

    def plot(self, ax: Any = None, *, show_train: bool = True) -> Self:
        """Draw the scores, with error bars of one standard deviation over the folds.

        The two scores of a size lie a little beside it, so that both bars are seen. The bars of a
        ROC AUC or an R² end at 1.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        show_train : bool, default=True
            Whether to draw the training scores too.

        Returns
        -------
        PathDisplay
            Itself.
        """
        own_figure = ax is None
        ax = axes_for("PathDisplay.plot", ax)
        handles = [self._draw_test(ax)]
        if show_train:
            handles.append(self._draw_train(ax))
        handles += self._draw_choice(ax)
        set_size_axis(ax, self.n_features)
        ax.set_ylabel(plain(self.score_name))
        add_legend(ax, handles, own_figure=own_figure)
        without_tex(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_test(self, ax: Any) -> Any:
        return ax.errorbar(
            self.n_features - SHIFT,
            self.mean_test_score,
            self._bars(self.mean_test_score, self.std_test_score),
            color=FIRST,
            marker="o",
            capsize=3,
            label="Validation (± 1 SD)",
            zorder=3,
        )

    def _draw_train(self, ax: Any) -> Any:
        return ax.errorbar(
            self.n_features + SHIFT,
            self.mean_train_score,
            self._bars(self.mean_train_score, self.std_train_score),
            color=SECOND,
            marker="s",
            markerfacecolor="white",
            linestyle="--",
            capsize=3,
            label="Training (± 1 SD)",
        )

    def _bars(self, mean: FloatArray, std: FloatArray) -> FloatArray:
        """How far the bars go down and up."""
        up = np.minimum(std, 1.0 - mean) if self.score_name in BOUNDED_SCORES else std
        # Rounding can bring a mean a hair above 1, and a bar can't have a negative length.
        return np.stack([std, np.maximum(up, 0.0)])

    def _draw_choice(self, ax: Any) -> list[Any]:
        """Mark k*, and draw the threshold that it had to reach."""
        chosen = self.n_features == self.n_features_chosen
        ax.axvline(self.n_features_chosen, color=NEUTRAL, linestyle=":", linewidth=1)
        handles = ax.plot(
            self.n_features[chosen] - SHIFT,
            self.mean_test_score[chosen],
            color="black",
            marker="*",
            markersize=15,
            markeredgecolor="white",
            linestyle="none",
            label="Chosen size k*",
            zorder=4,
        )
        if self.threshold is not None:
            label = "What the rule asks for"
            handles.append(ax.axhline(self.threshold, color=NEUTRAL, linestyle="-.", label=label))
        mark_chosen_size(ax, self.n_features_chosen)
        return list(handles)

    def _columns(self) -> dict[str, Any]:
        return {
            "n_features": self.n_features,
            "mean_test_score": self.mean_test_score,
            "std_test_score": self.std_test_score,
            "mean_train_score": self.mean_train_score,
            "std_train_score": self.std_train_score,
            "chosen": self.n_features == self.n_features_chosen,
            "threshold": np.full(len(self.n_features), _nan_for_none(self.threshold)),
        }


def _nan_for_none(value: float | None) -> float:
    """A number for a column."""
    return np.nan if value is None else value
