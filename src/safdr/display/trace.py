"""TraceDisplay: the criterion during the annealing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from safdr.display.base import Display, check_fitted, criterion_name
from safdr.display.style import FIRST, SECOND, add_legend, axes_for
from safdr.result import Trace


@dataclass(kw_only=True, eq=False, repr=False)
class TraceDisplay(Display):
    """Mean and standard deviation of the criterion over the replicas, by inverse temperature.

    Create it with `from_estimator`.

    Parameters
    ----------
    trace : Trace
        Steps of a search: ``selector.result_.trace``.
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

    trace: Trace
    n_features: int
    criterion_name: str = "Fisher ratio"

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
        return cls(
            trace=selector.result_.trace,
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
        trace = self.trace
        low, high = trace.mean - trace.std, trace.mean + trace.std
        handles = ax.plot(trace.beta, trace.mean, color=FIRST, label="Mean of the replicas")
        handles.append(
            ax.fill_between(trace.beta, low, high, color=FIRST, alpha=0.25, label="± 1 SD")
        )
        if acceptance:
            right = ax.twinx()
            handles += right.plot(
                trace.beta, trace.acceptance, color=SECOND, linestyle="--", label="Acceptance rate"
            )
            right.set(ylim=(0, 1), ylabel="Acceptance rate")
        ax.set_xlabel("Inverse temperature β")
        ax.set_ylabel(f"{self.criterion_name} of k = {self.n_features} features")
        add_legend(ax, handles, own_figure=own_figure)
        return self._finish(ax)

    def _columns(self) -> dict[str, Any]:
        return {name: getattr(self.trace, name) for name in ("beta", "mean", "std", "acceptance")}
