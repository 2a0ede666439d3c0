"""What all displays share: numbers as a data frame, and what they read from selectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from safdr._estimators.inputs import Features
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
        try:
            return nw.from_dict(self._columns(), backend=backend).to_native()
        except ImportError as error:
            raise ImportError(
                f"to_frame(backend={backend!r}) needs {backend}: pip install {backend}. Or "
                "use another backend: 'pandas', 'polars' or 'pyarrow'."
            ) from error


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


def column_names(estimator: Any) -> NDArray[Any]:
    """Return the names of the columns, or x0, x1, … as scikit-learn does."""
    unnamed = np.array([f"x{i}" for i in range(estimator.n_features_in_)], dtype=object)
    return np.asarray(getattr(estimator, "feature_names_in_", unnamed), dtype=object)


def read_features(selector: Any, names: Sequence[str] | None = None) -> tuple[list[Any], list[str]]:
    """Return columns and name of each feature; the columns of a group are one feature.

    `names` replace the names of columns that the selector knows.
    """
    known = [str(name) for name in column_names(selector)]
    names = known if names is None else names
    groups = None if selector.constraints is None else selector.constraints.groups
    grouped = Features(len(known), tuple(known), groups).groups
    titles = {
        int(columns[0]): name if isinstance(name, str) else " + ".join(names[j] for j in columns)
        for name, columns in grouped.items()
    }
    members = {int(columns[0]): columns for columns in grouped.values()}
    alone = set(range(len(names))).difference(*(columns.tolist() for columns in members.values()))
    first = sorted({*members, *alone})
    return [members.get(j, [j]) for j in first], [titles.get(j, names[j]) for j in first]
