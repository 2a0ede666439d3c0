"""What all displays share: their numbers as a data frame, and the check of the estimator."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

import safdr
from safdr._frames import to_frame

# The engine has these names too, but pictures read results and do not reach into the engine.
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Display:
    """Numbers of a picture; `plot` of each display sets the axes and the figure.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds it.
    """

    ax_: Any
    figure_: Any

    def _columns(self) -> dict[str, Any]:
        """Name and values of each column of the frame."""
        raise NotImplementedError

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Give the numbers of the picture as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Kind of the frame.

        Returns
        -------
        DataFrame
            Of the kind asked for.
        """
        return to_frame(self._columns(), backend, f"{type(self).__name__}.to_frame")


def check_fitted(estimator: Any, attribute: str, caller: str, wanted: str) -> None:
    """Fail with the next step where an estimator lacks what a display reads."""
    if hasattr(estimator, "fit"):
        lead = f"{caller}.from_estimator needs {wanted}; this "
        check_is_fitted(estimator, msg=lead + "%(name)s is not fitted. Call fit first.")
    if not hasattr(estimator, attribute):
        raise TypeError(
            f"{caller}.from_estimator needs {wanted}, fitted; got {type(estimator).__name__}."
        )


def check_rows(X: Any, y: Any, caller: str, why: str) -> None:
    """Say why rows are asked for, where there are none."""
    if X is None or y is None:
        raise TypeError(
            f"{caller}.from_estimator {why}, and a fitted selector keeps no rows. Pass those that "
            f"it was fitted to: {caller}.from_estimator(selector, X, y)."
        )


def check_most_shown(max_features_shown: Any) -> None:
    """Refuse a number of rows that leaves nothing to see."""
    if not isinstance(max_features_shown, Integral) or max_features_shown < 1:
        raise safdr.ParameterError(
            "max_features_shown",
            "must be at least 1; got {given!r}. Name how many rows there is room for, such as 30.",
            given=max_features_shown,
        )


def criterion_name(selector: Any) -> str:
    """What the replicas climb on, in few letters."""
    name = "FDR" if hasattr(selector, "classes_") else "R²"
    if not isinstance(selector.criterion, str):
        name = "Criterion"
    return name if selector.feature_cost is None else f"{name} less cost"


def column_names(estimator: Any) -> NDArray[Any]:
    """Names of the columns that an estimator saw, or x0, x1, … as scikit-learn calls them."""
    unnamed = np.array([f"x{i}" for i in range(estimator.n_features_in_)], dtype=object)
    return np.asarray(getattr(estimator, "feature_names_in_", unnamed), dtype=object)
