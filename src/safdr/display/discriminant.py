"""DiscriminantDisplay: the line onto which two features are projected to separate the classes."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from safdr.display.base import (
    Display,
    FloatArray,
    IntArray,
    check_fitted,
    check_rows,
    column_names,
)
from safdr.display.labels import fitted
from safdr.display.style import (
    FIRST,
    NEUTRAL,
    SECOND,
    add_legend,
    axes_for,
    import_pyplot,
    size_in_points,
    without_tex,
)

# One for each class: colour, marker of a row, hatch of a histogram.
CLASS_STYLES = ((SECOND, "s", "////"), (FIRST, "o", ""))

N_BINS = 30

# A vector file with more dots opens slowly, so they become a bitmap in it.
MAX_VECTOR_DOTS = 2000


class DiscriminantDisplay(Display):
    """Two features, the Fisher direction w = S_W⁻¹·d, and the classes projected onto it.

    S_W is the sum of the covariances of the two classes and d the difference of their means.
    A random direction is shown for comparison. Make it with `from_estimator`; all parameters are
    stored as attributes.

    Parameters
    ----------
    values : ndarray of shape (n_samples, 2)
        The two features.
    codes : ndarray of shape (n_samples,)
        Class of each row, 0 or 1.
    sample_weight : ndarray of shape (n_samples,)
        Weight of each row.
    classes : ndarray of shape (2,)
        The labels.
    names : ndarray of shape (2,)
        Names of the two features.
    directions : ndarray of shape (2, 2)
        The Fisher direction and the random one, on the scale of the features.
    projections : ndarray of shape (2, n_samples)
        The rows projected onto each direction. Zero is half way between the class means, and their
        squared distance is the Fisher ratio.
    ratios : ndarray of shape (2,)
        Fisher ratio along each direction: squared distance of the class means over the sum of the
        class variances.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The scatter plot.
    axes_ : ndarray of shape (3,)
        The scatter plot, and the histograms for the Fisher direction and for the random one.
    figure_ : matplotlib Figure
        The figure that holds it.

    See Also
    --------
    ProxyDisplay : How well the Fisher ratio stands in for the cross-entropy.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from safdr import AnnealingSelector
    >>> from safdr.display import DiscriminantDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = AnnealingSelector(3, random_state=0).fit(X, y)
    >>> display = DiscriminantDisplay.from_estimator(selector, X, y, random_state=0).plot()
    >>> display.names.tolist()
    ['worst radius', 'worst concave points']
    >>> bool(display.ratios[0] > display.ratios[1])
    True
    """

    axes_: NDArray[Any]

    def __init__(
        self,
        *,
        values: FloatArray,
        codes: IntArray,
        sample_weight: FloatArray,
        classes: NDArray[Any],
        names: NDArray[Any],
        directions: FloatArray,
        projections: FloatArray,
        ratios: FloatArray,
    ) -> None:
        self.values = values
        self.codes = codes
        self.sample_weight = sample_weight
        self.classes = classes
        self.names = names
        self.directions = directions
        self.projections = projections
        self.ratios = ratios

    @classmethod
    def from_estimator(
        cls,
        selector: Any,
        X: Any = None,
        y: Any = None,
        features: Sequence[int | str] | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        random_state: Any = None,
    ) -> Self:
        """Project two columns of the rows.

        Parameters
        ----------
        selector : AnnealingSelector or AnnealingSelectorCV
            Fitted to two classes.
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.
        y : array-like of shape (n_samples,)
            Their labels.
        features : pair of int or str, default=None
            Column numbers or names. None takes the two chosen features with the largest
            coefficients in the winning logistic model, each times the standard deviation of its
            feature.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        random_state : int, RandomState instance or None, default=None
            Draws the random direction.

        Returns
        -------
        DiscriminantDisplay
            Not drawn yet; call `plot`.
        """
        check_fitted(
            selector, "result_", cls.__name__, "an AnnealingSelector or AnnealingSelectorCV"
        )
        check_rows(X, y, cls.__name__, "draws the rows")
        _check_two_classes(selector)
        rows, labels = validate_data(selector, X, y, dtype=np.float64, reset=False)
        weight = _check_sample_weight(
            sample_weight, rows, dtype=np.float64, ensure_non_negative=True
        )
        codes = _class_codes(labels, selector.classes_)
        names = column_names(selector)
        pair = _leading_pair(selector, rows) if features is None else _check_pair(features, names)
        values = rows[:, pair]
        means, within = _means_and_scatter(values, codes, weight)
        fisher = _fisher_direction(means, within)
        directions = np.stack([fisher, _random_direction(means, within, random_state)])
        spreads = np.sqrt(np.einsum("di,ij,dj->d", directions, within, directions))
        return cls(
            values=values,
            codes=codes,
            sample_weight=weight,
            classes=selector.classes_,
            names=names[pair],
            directions=directions,
            projections=directions @ (values - means.mean(axis=0)).T / spreads[:, None],
            ratios=(directions @ (means[1] - means[0]) / spreads) ** 2,
        )

    def plot(self, ax: Any = None) -> Self:
        """Draw the rows with the two directions, and histograms of the projections beside them.

        The features are drawn in units of their standard deviations, so that a row is projected at
        a right angle to the line.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            What to divide into three: one of a grid, such as `matplotlib.pyplot.subplots` makes.
            None makes a new figure.

        Returns
        -------
        DiscriminantDisplay
            Itself.
        """
        own_figure = ax is None
        width, height = import_pyplot("DiscriminantDisplay.plot").rcParams["figure.figsize"]
        self.axes_ = _divide(axes_for("DiscriminantDisplay.plot", ax, (1.4 * width, height)))
        scatter, top, bottom = self.axes_
        self._draw_rows(scatter)
        self._draw_directions(scatter)
        self._draw_histogram(top, 0, "Fisher")
        self._draw_histogram(bottom, 1, "Random")
        top.tick_params(labelbottom=False)
        bottom.set_xlabel("Projection")
        add_legend(scatter, scatter.get_legend_handles_labels()[0], own_figure=own_figure)
        for each in self.axes_:
            without_tex(each)
        self.ax_, self.figure_ = scatter, scatter.figure
        return self

    def _draw_rows(self, ax: Any) -> None:
        """Draw the classes as dots, on standardised axes."""
        center, scale = self._units()
        width, height = size_in_points(ax)
        font_size = float(ax.xaxis.label.get_fontsize())
        for code, (color, marker, _) in enumerate(CLASS_STYLES):
            ax.scatter(
                *((self.values[self.codes == code] - center) / scale).T,
                s=14,
                color=color,
                marker=marker,
                edgecolors="black",
                linewidths=0.3,
                alpha=0.6,
                label=f"Class {fitted(self.classes[code], width / 2, font_size)}",
                rasterized=len(self.values) > MAX_VECTOR_DOTS,
            )
        ax.set_aspect("equal", adjustable="datalim")
        ax.set_xlabel(f"{fitted(self.names[0], 0.9 * width, font_size)}\n(standardised)")
        ax.set_ylabel(f"{fitted(self.names[1], 0.7 * height, font_size)}\n(standardised)")

    def _draw_directions(self, ax: Any) -> None:
        """Draw both lines through the mean of all rows."""
        scale = self._units()[1]
        looks = (("black", "-", "Fisher direction w"), (NEUTRAL, "--", "Random direction"))
        for direction, (color, linestyle, label) in zip(self.directions, looks, strict=True):
            # A projection w·x on the features is (w·scale)·z on the standardised ones.
            end = direction * scale / np.linalg.norm(direction * scale)
            ax.axline((0.0, 0.0), tuple(end), color=color, linestyle=linestyle, label=label)

    def _draw_histogram(self, ax: Any, which: int, title: str) -> None:
        """Draw the projections of both classes, on bins that all histograms share."""
        bins = np.histogram_bin_edges(self.projections, bins=N_BINS)
        for code, (color, _, hatch) in enumerate(CLASS_STYLES):
            rows = self.codes == code
            ax.hist(
                self.projections[which, rows],
                bins=bins.tolist(),
                weights=self.sample_weight[rows],
                density=True,
                histtype="stepfilled",
                color=color,
                edgecolor="black",
                hatch=hatch,
                alpha=0.6,
            )
        ax.set_title(f"{title}: FDR = {self.ratios[which]:.3g}", fontsize="small")
        ax.set_yticks([])
        ax.set_ylabel("Density", fontsize="small")

    def _units(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each feature over the rows."""
        return self.values.mean(axis=0), _one_for_zero(self.values.std(axis=0))

    def _columns(self) -> dict[str, Any]:
        return {
            "class": self.classes[self.codes].tolist(),
            "feature_1": self.values[:, 0],
            "feature_2": self.values[:, 1],
            "fisher_projection": self.projections[0],
            "random_projection": self.projections[1],
            "sample_weight": self.sample_weight,
        }


def _check_two_classes(selector: Any) -> None:
    """Refuse what has no single line between two classes."""
    if len(getattr(selector, "classes_", ())) != 2:
        what = f"{len(selector.classes_)} classes" if hasattr(selector, "classes_") else "numbers"
        raise ValueError(
            "DiscriminantDisplay shows the line that separates two classes; this "
            f"{type(selector).__name__} was fitted to {what}."
        )


def _class_codes(y: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Index of each label in `classes`; both must be there, and no other."""
    if set(np.unique(y).tolist()) != set(classes.tolist()):
        raise ValueError(
            f"y must hold rows of both classes that fit saw, {classes.tolist()}, and of no other; "
            f"got {np.unique(y).tolist()[:5]}."
        )
    return (y == classes[1]).astype(np.int64)


def _leading_pair(selector: Any, X: FloatArray) -> list[int]:
    """The two chosen features with the largest standardised coefficients, in column order."""
    result = selector.result_
    if result.size < 2:
        raise ValueError(
            "DiscriminantDisplay shows two features, and the selector chose 1. Name two columns of "
            "X by features=(…, …), or choose more features."
        )
    if result.coefficients is None:
        raise ValueError(
            "DiscriminantDisplay takes the leading features from the linear models of the search, "
            "and this selector fitted none. Name two columns of X by features=(…, …)."
        )
    # Where groups make subsets differ in length, coefficients are filled up with zeros.
    coefficients = result.coefficients[result.best, : result.size]
    weight = np.abs(coefficients) * X[:, result.subset].std(axis=0)
    return sorted(result.subset[np.argsort(-weight, kind="stable")[:2]].tolist())


def _check_pair(features: Any, names: NDArray[Any]) -> list[int]:
    """Column numbers of two different features, given by number or by name."""
    known = {name: i for i, name in enumerate(names)}
    given = [features] if isinstance(features, str | Integral) else list(features)
    pair: list[Any] = [
        int(each) if isinstance(each, Integral) and 0 <= int(each) < len(names) else known.get(each)
        for each in given
    ]
    if len(pair) != 2 or None in pair or pair[0] == pair[1]:
        raise ValueError(
            f"features must be two different columns of X, by number (0 to {len(names) - 1}) or by "
            f"name; got {features!r}."
        )
    return pair


def _means_and_scatter(
    values: FloatArray, codes: IntArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean of each class, and the sum of their covariances."""
    parts = [(values[codes == code], weight[codes == code]) for code in (0, 1)]
    means = np.stack([np.average(rows, axis=0, weights=w) for rows, w in parts])
    within = sum(np.cov(rows.T, aweights=w, ddof=0) for rows, w in parts)
    return means, np.asarray(within)


def _fisher_direction(means: FloatArray, within: FloatArray) -> FloatArray:
    """w = S_W⁻¹·d, the shortest of them where S_W is singular."""
    # Features can differ by many orders of magnitude, and least squares must not mind.
    scale = _one_for_zero(np.sqrt(np.diag(within)))
    scaled = within / np.outer(scale, scale)
    w: FloatArray = np.linalg.lstsq(scaled, (means[1] - means[0]) / scale, rcond=None)[0]
    if not w @ scaled @ w > 0:
        raise ValueError(
            "The two features have the same mean in both classes, or no variance within them: "
            "there is no Fisher direction. Name two other columns of X by features=(…, …)."
        )
    return w / scale


def _random_direction(means: FloatArray, within: FloatArray, random_state: Any) -> FloatArray:
    """Any line is as likely as another, the features taken in units of their spread.

    It points from the first class to the second, as the Fisher direction does.
    """
    angle = check_random_state(random_state).uniform(0.0, np.pi)
    along = np.array([np.cos(angle), np.sin(angle)]) / _one_for_zero(np.sqrt(np.diag(within)))
    return along if along @ (means[1] - means[0]) >= 0 else -along


def _one_for_zero(scale: FloatArray) -> FloatArray:
    """What to divide by: a constant feature stays as it is."""
    return np.where(scale > 0, scale, 1.0)


def _divide(ax: Any) -> NDArray[Any]:
    """Split one cell of a grid: the rows at the left, two histograms at the right."""
    cell = ax.get_subplotspec()
    if cell is None:
        raise ValueError(
            "ax must be part of a grid, as from matplotlib.pyplot.subplots, because it is divided "
            "into three; got axes placed by hand. Pass one of a grid, or None for a new figure."
        )
    ax.set_axis_off()
    figure: Any = ax.figure
    # A layout engine finds the space that labels need; without one it must be given.
    space = {} if figure.get_layout_engine() else {"wspace": 0.4, "hspace": 0.4}
    grid = cell.subgridspec(2, 2, width_ratios=(1.3, 1), **space)
    scatter = figure.add_subplot(grid[:, 0])
    top = figure.add_subplot(grid[0, 1])
    bottom = figure.add_subplot(grid[1, 1], sharex=top)
    return np.array([scatter, top, bottom])
