"""TraceDisplay: the criterion during the annealing."""

from __future__ import annotations

from typing import Any, Self

from safdr.display.base import Display, FloatArray, check_fitted, criterion_name
from safdr.display.style import FIRST, SECOND, add_legend, axes_for, finish


class TraceDisplay(Display):
    """Mean and standard deviation of the criterion over the replicas, by inverse temperature.

    Create it with `from_estimator`.

    Parameters
    ----------
    beta : ndarray of shape (n_steps + 1,)
        Inverse temperature; 0 at the start.
    mean, std : ndarray of shape (n_steps + 1,)
        Mean and standard deviation of the criterion over the replicas.
    acceptance : ndarray of shape (n_steps + 1,)
        Share of the proposed swaps that were accepted; NaN at the start.
    n_features : int
        Number of features in a subset.
    criterion_name : str, default="Fisher ratio"
        Label of the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the figure.
    figure_ : matplotlib Figure
        Figure of the axes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector, TraceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> display = TraceDisplay.from_estimator(selector).plot(acceptance=True)
    >>> display.to_frame().columns.tolist()
    ['beta', 'mean', 'std', 'acceptance']
    """

    def __init__(
        self,
        *,
        beta: FloatArray,
        mean: FloatArray,
        std: FloatArray,
        acceptance: FloatArray,
        n_features: int,
        criterion_name: str = "Fisher ratio",
    ) -> None:
        self.beta = beta
        self.mean = mean
        self.std = std
        self.acceptance = acceptance
        self.n_features = n_features
        self.criterion_name = criterion_name

    @classmethod
    def from_estimator(cls, selector: Any) -> Self:
        """Read the trace of the search on all rows.

        Parameters
        ----------
        selector : AnnealingSelector, AnnealingSelectorCV, or one for regression
            Fitted.

        Returns
        -------
        TraceDisplay
            Call `plot` to draw it.
        """
        check_fitted(selector, "result_", f"{cls.__name__}.from_estimator", "an AnnealingSelector")
        trace = selector.result_.trace
        return cls(
            beta=trace.beta,
            mean=trace.mean,
            std=trace.std,
            acceptance=trace.acceptance,
            n_features=int(selector.n_features_),
            criterion_name=criterion_name(selector),
        )

    def plot(self, ax: Any = None, *, acceptance: bool = False) -> Self:
        """Draw the mean as a line and one standard deviation as a band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure.
        acceptance : bool, default=False
            Whether to draw the acceptance rate too, with its axis on the right.

        Returns
        -------
        TraceDisplay
            The display itself.
        """
        own_figure = ax is None
        ax = axes_for("TraceDisplay.plot", ax)
        low, high = self.mean - self.std, self.mean + self.std
        handles = ax.plot(self.beta, self.mean, color=FIRST, label="Mean of the replicas")
        handles.append(
            ax.fill_between(self.beta, low, high, color=FIRST, alpha=0.25, label="± 1 SD")
        )
        if acceptance:
            right = ax.twinx()
            handles += right.plot(
                self.beta, self.acceptance, color=SECOND, linestyle="--", label="Acceptance rate"
            )
            right.set(ylim=(0, 1), ylabel="Acceptance rate")
        ax.set_xlabel("Inverse temperature β")
        ax.set_ylabel(f"{self.criterion_name} of k = {self.n_features} features")
        add_legend(ax, handles, own_figure=own_figure)
        finish(self, ax)
        return self

    def _columns(self) -> dict[str, Any]:
        return {
            "beta": self.beta,
            "mean": self.mean,
            "std": self.std,
            "acceptance": self.acceptance,
        }
