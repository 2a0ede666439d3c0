"""What all displays share: numbers as a data frame, and what they read from selectors."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from safdr._estimators.inputs import allowed_subsets, feature_names, group_names
from safdr.text import CRITERIA, score_label

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Display:
    """Numbers of a figure; `plot` sets `ax_` and `figure_`."""

    ax_: Any
    figure_: Any

    def _columns(self) -> dict[str, Any]:
        """Name and values of each column of the frame."""
        raise NotImplementedError

    def _finish(self, ax: Any) -> Self:
        """Keep every text out of LaTeX, which runs names as commands; set `ax_` and `figure_`."""
        from matplotlib.text import Text

        legends = [] if ax.get_legend() else ax.figure.legends
        for artist in (ax, *legends):
            for text in artist.findobj(Text):
                text.set_usetex(False)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def to_frame(self, backend: Any = "pandas") -> Any:
        """Return the numbers of the figure as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Kind of the frame.

        Returns
        -------
        DataFrame
            One row for each mark of the figure.
        """
        return nw.from_dict(self._columns(), backend=backend).to_native()


def check_fitted(estimator: Any, attribute: str, caller: str, wanted: str) -> None:
    """Raise an error with the next step if an estimator lacks what a display reads."""
    if hasattr(estimator, "fit"):
        check_is_fitted(
            estimator, msg=f"{caller} needs {wanted}; this %(name)s is not fitted. Call fit first."
        )
    if not hasattr(estimator, attribute):
        raise TypeError(f"{caller} needs {wanted}, fitted; got {type(estimator).__name__}.")


def score_name(selector: Any) -> str:
    """Return the name of the score of a selector, for the label of an axis."""
    scoring = selector.get_params().get("scoring")
    if scoring is None:
        n_classes = len(getattr(selector, "classes_", ()))
        scoring = {0: "r2", 2: "roc_auc"}.get(n_classes, "roc_auc_ovr")
    return score_label(scoring) if isinstance(scoring, str) else "score"


def criterion_name(selector: Any) -> str:
    """Return the name of the criterion of a selector, for the label of an axis."""
    criterion = selector.criterion_
    name = CRITERIA[criterion] if isinstance(criterion, str) else "Criterion"
    return name if selector.feature_cost is None else f"{name} less cost"


def read_features(selector: Any, names: Sequence[str] | None = None) -> tuple[list[Any], list[str]]:
    """Return columns and name of each feature; the columns of a group are one feature.

    `names` are those of the columns if the selector knows none.
    """
    n = selector.n_features_in_
    known = feature_names(selector) or tuple(names or (f"x{j}" for j in range(n)))
    allowed = allowed_subsets(selector.constraints, n, known)
    problem = SimpleNamespace(n_features=n, names=known, allowed=allowed)
    return list(allowed.groups), list(group_names(selector, problem))
