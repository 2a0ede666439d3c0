"""TraceDisplay: how the criterion rose while the replicas were cooled."""

from __future__ import annotations

from typing import Any, Self

from safdr.display.base import Display, FloatArray, check_fitted, criterion_name
from safdr.display.style import FIRST, SECOND, add_legend, axes_for, without_tex


class TraceDisplay(Display):
    """Mean and spread of the criterion over the replicas against the inverse temperature.

    The criterion is the Fisher discriminant ratio (FDR), for measured outputs R², or one of yours.
    Make it with `from_estimator`; all parameters are stored as attributes.

    Parameters
    ----------
    beta : ndarray of shape (n_steps + 1,)
        Inverse temperatures; 0 at the start.
    mean, std : ndarray of shape (n_steps + 1,)
        Mean and standard deviation of the criterion over the replicas.
    acceptance : ndarray of shape (n_steps + 1,)
        Share of the proposed swaps that were accepted; NaN at the start.
    n_replicas : int
        Number of replicas.
    n_features : int
        Number of features in a subset.
    criterion_name : str, default="FDR"
        What the criterion is.
    n_families, family_size : ndarray of shape (n_steps + 1,), default=None
        Families that are left of a population, and their mean size as a replica sees it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    acceptance_ax_ : matplotlib Axes or None
        The same axes with the scale of the acceptance rate and of families, where that was asked
        for.
    figure_ : matplotlib Figure
        The figure that holds it.

    See Also
    --------
    ProxyDisplay : Where the replicas ended, against random subsets.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector
    >>> from safdr.display import TraceDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> display = TraceDisplay.from_estimator(selector).plot(acceptance=True)
    >>> display.to_frame().columns.tolist()
    ['beta', 'mean', 'std', 'acceptance']
    """

    acceptance_ax_: Any

    def __init__(
        self,
        *,
        beta: FloatArray,
        mean: FloatArray,
        std: FloatArray,
        acceptance: FloatArray,
        n_replicas: int,
        n_features: int,
        criterion_name: str = "FDR",
        n_families: Any = None,
        family_size: Any = None,
    ) -> None:
        self.beta = beta
        self.mean = mean
        self.std = std
        self.acceptance = acceptance
        self.n_replicas = n_replicas
        self.n_features = n_features
        self.criterion_name = criterion_name
        self.n_families = n_families
        self.family_size = family_size

    @classmethod
    def from_estimator(cls, selector: Any) -> Self:
        """Take the numbers from a selector.

        Parameters
        ----------
        selector : AnnealingSelector, AnnealingSelectorCV, or one for measured outputs
            Fitted; of one with cross-validation, the search on all rows is shown.

        Returns
        -------
        TraceDisplay
            Not drawn yet; call `plot`.
        """
        check_fitted(
            selector, "result_", cls.__name__, "an AnnealingSelector or AnnealingSelectorCV"
        )
        trace = selector.result_.trace
        return cls(
            beta=trace.beta,
            mean=trace.mean,
            std=trace.std,
            acceptance=trace.acceptance,
            n_replicas=len(selector.result_.start_subsets),
            n_features=int(selector.n_features_),
            criterion_name=criterion_name(selector),
            n_families=trace.n_families,
            family_size=trace.family_size,
        )

    def plot(self, ax: Any = None, *, negative: bool = False, acceptance: bool = False) -> Self:
        """Draw the mean as a line and one standard deviation as a band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        negative : bool, default=False
            Whether to draw the criterion with a minus, as an energy that falls.
        acceptance : bool, default=False
            Whether to draw the acceptance rate too, on a scale at the right; and of a population
            the share of the replicas at the start that have copies left.

        Returns
        -------
        TraceDisplay
            Itself.
        """
        own_figure = ax is None
        ax = axes_for("TraceDisplay.plot", ax)
        handles = self._draw_criterion(ax, negative)
        self.acceptance_ax_ = None
        if acceptance:
            self.acceptance_ax_ = ax.twinx()
            handles += self._draw_shares(self.acceptance_ax_)
            without_tex(self.acceptance_ax_)
        ax.set_xlabel("Inverse temperature β")
        add_legend(ax, handles, own_figure=own_figure)
        without_tex(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_criterion(self, ax: Any, negative: bool) -> list[Any]:
        mean = -self.mean if negative else self.mean
        (line,) = ax.plot(
            self.beta,
            mean,
            color=FIRST,
            label=f"Mean of {self.n_replicas} replicas",
        )
        band = ax.fill_between(
            self.beta, mean - self.std, mean + self.std, color=FIRST, alpha=0.25, label="± 1 SD"
        )
        sign = "−" if negative else ""
        ax.set_ylabel(f"{sign}{self.criterion_name} of k = {self.n_features} features")
        return [line, band]

    def _draw_shares(self, ax: Any) -> list[Any]:
        (line,) = ax.plot(
            self.beta, self.acceptance, color=SECOND, linestyle="--", label="Acceptance rate"
        )
        ax.set_ylim(0, 1)
        ax.set_ylabel("Acceptance rate")
        if self.n_families is None:
            return [line]
        left = self.n_families / self.n_families[0]
        (families,) = ax.plot(
            self.beta, left, color=SECOND, linestyle=":", label="Families left (share)"
        )
        ax.set_ylabel("Share")
        return [line, families]

    def _columns(self) -> dict[str, Any]:
        columns = {
            "beta": self.beta,
            "mean": self.mean,
            "std": self.std,
            "acceptance": self.acceptance,
        }
        if self.n_families is not None:
            columns |= {"n_families": self.n_families, "family_size": self.family_size}
        return columns
