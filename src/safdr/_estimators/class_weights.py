"""Weights of rows and of their classes, multiplied and checked."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr._estimators.parameters import as_float
from safdr._estimators.validation import (
    LEAST_SHARE_OF_MORE,
    LEAST_SHARE_OF_TWO,
    check_ratio_of_weights,
    shown,
)


class LabelledRows(Protocol):
    """Rows of which these functions need no more than labels and weights."""

    @property
    def codes(self) -> IntArray:
        """Places of the labels in `classes`."""

    @property
    def classes(self) -> NDArray[Any]:
        """The labels."""

    @property
    def sample_weight(self) -> FloatArray | None:
        """Weight of each row; None is one."""


def weighted_rows(class_weight: Any, data: LabelledRows) -> FloatArray:
    """Weights of the rows, multiplied by those of their classes."""
    by_class = _class_weights(class_weight, data)
    return by_class if data.sample_weight is None else _product(by_class, data.sample_weight)


def check_weights_of_classes(data: LabelledRows, weight: FloatArray) -> None:
    """Refuse weights that leave rows or a class too little to be seen beside the others."""
    check_ratio_of_weights(weight, "sample_weight times class_weight")
    share = _weight_by_class(data)
    share /= share.sum()
    least = LEAST_SHARE_OF_TWO if len(share) == 2 else LEAST_SHARE_OF_MORE
    if share.min() < least:
        raise ValueError(
            f"The rows of class {shown(data.classes[share.argmin()])} have {share.min():.1e} of "
            f"all weight (sample_weight times class_weight); of {len(share)} classes each must "
            f"have at least {least:.0e} for double precision to see it. Raise its weight, or leave "
            "the class out."
        )


def _product(by_class: FloatArray, sample_weight: FloatArray) -> FloatArray:
    """Weights of rows times those of their classes."""
    with np.errstate(over="ignore", under="ignore"):
        weight: FloatArray = by_class * sample_weight
    lost = ((weight == 0) & (by_class > 0) & (sample_weight > 0)) | np.isinf(weight)
    if lost.any():
        i = int(np.flatnonzero(lost)[0])
        raise ValueError(
            f"class_weight times sample_weight is no longer a number: {by_class[i]:.3g} times "
            f"{sample_weight[i]:.3g}. Multiply all of sample_weight, or all of class_weight, by a "
            "constant."
        )
    return weight


def _weight_by_class(data: LabelledRows) -> FloatArray:
    """Of all rows of each class, in units of the heaviest row; of rows without weights, rows."""
    weight = data.sample_weight
    relative = None if weight is None else weight / weight.max()
    return np.bincount(data.codes, weights=relative, minlength=len(data.classes)).astype(np.float64)


def _class_weights(class_weight: Any, data: LabelledRows) -> FloatArray:
    """What `class_weight` gives to each row."""
    if isinstance(class_weight, Mapping):
        known = set(data.classes.tolist())
        strange = [label for label in class_weight if label not in known]
        if strange:
            raise ValueError(
                f"class_weight names the class {shown(strange[0])}, which y lacks; its classes are "
                f"{', '.join(shown(label) for label in data.classes)}."
            )
        weights: list[Any] = list(class_weight.values())
        if not all(isinstance(w, Real) and 0 <= as_float(w) < np.inf for w in weights):
            raise ValueError(
                "class_weight must hold finite numbers that are not negative; got "
                f"{class_weight!r}."
            )
    if isinstance(class_weight, str):  # "balanced", by the weight of the rows
        counts = _weight_by_class(data)
        by_class = counts.sum() / (len(counts) * np.where(counts > 0, counts, 1.0))
    else:
        by_class = np.array([float(class_weight.get(c, 1.0)) for c in data.classes.tolist()])
    of_rows: FloatArray = by_class[data.codes]
    return of_rows
