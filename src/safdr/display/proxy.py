"""ProxyDisplay: does a high criterion value go with a low loss of the model?"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import gaussian_kde
from sklearn.utils.validation import validate_data

from safdr.display.base import Display, FloatArray, check_fitted, check_rows, criterion_name
from safdr.display.style import FIRST, SECOND, add_legend, axes_for, without_tex

LOSS_LABELS = {"cross_entropy": "Cross-entropy", "squared_error": "Squared error"}

# Fewer different subsets are points, not a density.
MIN_DISTINCT = 25

# Relative differences below this may be rounding; cross-entropies are fitted to about as much.
ROUNDING = 1e-9

# Shares of the subsets inside the contours, from the outermost one.
SHARES = (0.9, 0.6, 0.3)

GRID_POINTS = 120

RANDOM = {"color": SECOND, "marker": "s", "linestyle": "--"}
ANNEALED = {"color": FIRST, "marker": "o", "linestyle": "-"}

# Area of a dot for each subset that lies there, in square points, and the largest area: an annealed
# dot never hides a random one that many share.
RANDOM_AREA, MAX_RANDOM_AREA = 6.0, 300.0
ANNEALED_AREA, MAX_ANNEALED_AREA = 12.0, 150.0

# Area of all random dots together: more would hide the density.
MAX_INK = 2000.0

# Room around the points, as a share of their range.
MARGIN = 0.05


class ProxyDisplay(Display):
    """Densities of −FDR and cross-entropy, for random subsets and for annealed replicas.

    It shows how well the Fisher discriminant ratio (FDR), which is annealed, stands in for the
    cross-entropy, which decides; for measured outputs, R² for the squared error. Make it with
    `from_estimator`; all parameters are stored as attributes.

    Parameters
    ----------
    random_criterion_values, random_losses : ndarray of shape (n_random,)
        Of random subsets.
    annealed_criterion_values, annealed_losses : ndarray of shape (n_replicas,)
        Of the subsets that the replicas ended in.
    best : int
        The replica that was chosen.
    n_features : int
        Number of features in a subset.
    criterion_name : str, default="FDR"
        What the criterion is.
    loss_name : str, default="cross_entropy"
        What the losses are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.

    See Also
    --------
    TraceDisplay : The way from the random subsets to the annealed ones.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector
    >>> from safdr.display import ProxyDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> display = ProxyDisplay.from_estimator(selector, X, y, n_random=200, random_state=0).plot()
    >>> display.to_frame().groupby("kind").size().to_dict()
    {'annealed': 53, 'random': 200}
    """

    def __init__(
        self,
        *,
        random_criterion_values: FloatArray,
        random_losses: FloatArray,
        annealed_criterion_values: FloatArray,
        annealed_losses: FloatArray,
        best: int,
        n_features: int,
        criterion_name: str = "FDR",
        loss_name: str = "cross_entropy",
    ) -> None:
        self.random_criterion_values = random_criterion_values
        self.random_losses = random_losses
        self.annealed_criterion_values = annealed_criterion_values
        self.annealed_losses = annealed_losses
        self.best = best
        self.n_features = n_features
        self.criterion_name = criterion_name
        self.loss_name = loss_name

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        X: Any = None,
        y: Any = None,
        *,
        sample_weight: ArrayLike | None = None,
        n_random: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> Self:
        """Draw random subsets of the same size, and measure them as the replicas were.

        That takes the rows, which a fitted selector does not keep.

        Parameters
        ----------
        selector : AnnealingSelector, AnnealingSelectorCV, or one for measured outputs
            Fitted, with the built-in criterion and choice.
        X : array-like of shape (n_samples, n_features)
            The rows it was fitted to.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels, or measured outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        n_random : int, default=1000
            Number of random subsets, drawn uniformly from those that the constraints allow.
        n_jobs : int, default=None
            Number of threads over the subsets.
        random_state : int, RandomState instance or None, default=None
            Source of randomness.

        Returns
        -------
        ProxyDisplay
            Not drawn yet; call `plot`.
        """
        check_fitted(
            selector, "result_", cls.__name__, "an AnnealingSelector or AnnealingSelectorCV"
        )
        check_rows(X, y, cls.__name__, "measures random subsets on the rows")
        if n_random < 1:
            raise ValueError(f"n_random must be at least 1; got {n_random}.")
        _check_comparable(selector)
        validate_data(selector, X, reset=False, skip_check_array=True)
        result = selector.result_
        how = {"sample_weight": sample_weight, "n_jobs": n_jobs}
        subsets = selector.random_subsets(n_random, random_state=random_state)
        values, losses = selector.measure_subsets(X, y, subsets, **how)
        return cls(
            random_criterion_values=values,
            random_losses=losses,
            annealed_criterion_values=result.criterion_values,
            annealed_losses=_annealed_losses(selector, X, y, how),
            best=result.best,
            n_features=int(selector.n_features_),
            criterion_name=criterion_name(selector),
            loss_name=result.loss_name,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the subsets as dots, and contours that hold 90, 60 and 30 % of each density.

        Fewer than 25 different subsets, or subsets on one line, have no density. The area of a
        dot tells how many subsets lie there.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ProxyDisplay
            Itself.
        """
        from_random = (-self.random_criterion_values, self.random_losses)
        annealed = (-self.annealed_criterion_values, self.annealed_losses)
        own_figure = ax is None
        ax = axes_for("ProxyDisplay.plot", ax)
        area = min(RANDOM_AREA, MAX_INK / len(self.random_criterion_values))
        areas = _areas(*from_random, area, MAX_RANDOM_AREA)
        annealed_areas = _areas(*annealed, ANNEALED_AREA, MAX_ANNEALED_AREA)
        handles = [
            _draw(ax, *from_random, areas, "Random subsets", RANDOM),
            _draw(ax, *annealed, annealed_areas, "Annealed replicas", ANNEALED),
            self._draw_best(ax),
        ]
        _set_limits(ax, *np.concatenate([from_random, annealed], axis=1))
        ax.set_xlabel(f"−{self.criterion_name} of k = {self.n_features} features")
        ax.set_ylabel(LOSS_LABELS[self.loss_name])
        # Numbers such as −0.0025 are wide.
        ax.locator_params(axis="x", nbins=5)
        add_legend(ax, handles, own_figure=own_figure)
        without_tex(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_best(self, ax: Any) -> Any:
        (ring,) = ax.plot(
            -self.annealed_criterion_values[self.best],
            self.annealed_losses[self.best],
            color="black",
            marker="o",
            markersize=14,
            fillstyle="none",
            linestyle="none",
            label="Chosen subset",
            zorder=4,
        )
        return ring

    def _columns(self) -> dict[str, Any]:
        n_random = len(self.random_criterion_values)
        n_annealed = len(self.annealed_criterion_values)
        return {
            "kind": ["random"] * n_random + ["annealed"] * n_annealed,
            "criterion_value": np.concatenate(
                [self.random_criterion_values, self.annealed_criterion_values]
            ),
            self.loss_name: np.concatenate([self.random_losses, self.annealed_losses]),
        }


def _check_comparable(selector: Any) -> None:
    """Refuse a selector that neither climbs nor chooses by what can be measured here."""
    ours = selector.criterion is None or isinstance(selector.criterion, str)
    if ours and selector.result_.coefficients is not None:
        return
    raise ValueError(
        "ProxyDisplay compares the built-in criterion with the loss of the linear model, and this "
        "selector searched or chose by something else (criterion= or estimator=). Fit one without "
        "these."
    )


def _annealed_losses(selector: Any, X: Any, y: Any, how: dict[str, Any]) -> FloatArray:
    """Losses of the candidates; those that a separating one left without a fit are measured."""
    result = selector.result_
    losses: FloatArray = result.losses.copy()
    missing = np.flatnonzero(np.isnan(losses))
    if len(missing):
        subsets = [result.subsets[i][result.subsets[i] >= 0] for i in missing]
        losses[missing] = selector.measure_subsets(X, y, subsets, **how)[1]
    return losses


def _areas(x: FloatArray, y: FloatArray, each: float, largest: float) -> FloatArray:
    """Area of each dot: in proportion to the number of subsets that lie there."""
    _, where, times = np.unique(np.stack([x, y]), axis=1, return_inverse=True, return_counts=True)
    return np.minimum(each * times[where], largest).astype(np.float64)


def _draw(
    ax: Any, x: FloatArray, y: FloatArray, areas: FloatArray, label: str, look: dict[str, str]
) -> Any:
    """Draw the subsets as dots, and their density where there is one; return the legend's mark."""
    from matplotlib.lines import Line2D

    color, marker = look["color"], look["marker"]
    density = _density(x, y)
    if density is not None:
        _draw_contours(ax, *density, look)
    ax.scatter(x, y, s=areas, color=color, marker=marker, linewidths=0, zorder=2.5)
    return Line2D([], [], color=color, marker=marker, linestyle="none", label=label)


def _draw_contours(
    ax: Any,
    x: FloatArray,
    y: FloatArray,
    height: FloatArray,
    levels: FloatArray,
    look: dict[str, str],
) -> None:
    """Draw a density, darker where it is higher, with its contours above all dots."""
    from matplotlib.colors import to_rgba

    color = look["color"]
    shades = [to_rgba(color, alpha) for alpha in (0.1, 0.2, 0.3)]
    ax.contourf(x, y, height, [*levels, height.max()], colors=shades)
    ax.contour(
        x, y, height, levels, colors=color, linestyles=look["linestyle"], linewidths=0.8, zorder=3
    )


def _set_limits(ax: Any, x: FloatArray, y: FloatArray) -> None:
    """Around the points, whatever the tails of the densities; without cost none is negative."""
    for values, set_limits, low, high in (
        (x, ax.set_xlim, -np.inf, 0.0),
        (y, ax.set_ylim, 0.0, np.inf),
    ):
        room = MARGIN * np.ptp(values) or MARGIN * np.abs(values).max() or MARGIN
        set_limits(
            max(values.min() - room, min(low, values.min())),
            min(values.max() + room, max(high, values.max())),
        )


def _density(
    x: FloatArray, y: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Density on a grid and the levels that hold `SHARES` of it; None where it is degenerate."""
    points = np.stack([x, y])
    if _is_degenerate(points):
        return None
    kernel = gaussian_kde(points)
    levels = np.quantile(kernel(points), 1.0 - np.array(SHARES))
    margin = 3.0 * np.sqrt(np.diag(kernel.covariance))
    # Neither criterion nor loss is ever negative, unless a cost is taken off.
    grid_x, grid_y = np.meshgrid(
        np.linspace(x.min() - margin[0], min(x.max() + margin[0], max(0.0, x.max())), GRID_POINTS),
        np.linspace(max(y.min() - margin[1], 0.0), y.max() + margin[1], GRID_POINTS),
    )
    height = kernel(np.stack([grid_x.ravel(), grid_y.ravel()])).reshape(grid_x.shape)
    if not (np.diff([*levels, height.max()]) > 0).all():
        return None
    return grid_x, grid_y, height, levels


def _is_degenerate(points: FloatArray) -> bool:
    """Whether points are too few, or lie on one line up to rounding."""
    if len(np.unique(points, axis=1).T) < MIN_DISTINCT:
        return True
    if (np.ptp(points, axis=1) <= ROUNDING * np.abs(points).max(axis=1)).any():
        return True
    covariance = np.cov(points)
    return bool(np.linalg.det(covariance) <= ROUNDING * covariance.diagonal().prod())
