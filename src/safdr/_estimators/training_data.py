"""Validated training data: rows with labels, or with measured outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Number, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import ClassNoise, OutputNoise
from safdr._engine.criterion import FisherCriterion, R2Criterion, fisher_criterion, r2_criterion
from safdr._engine.fits.fits import Fitter
from safdr._engine.fits.least_squares import LeastSquaresFitter
from safdr._engine.fits.logistic import LogisticFitter
from safdr._engine.fits.multinomial import MultinomialFitter
from safdr._engine.moments import joint_moments, within_moments
from safdr._estimators.parameters import as_float
from safdr._estimators.validation import (
    ALL_ZERO,
    LARGEST,
    LEAST_SHARE_OF_MORE,
    LEAST_SHARE_OF_TWO,
    check_ratio_of_weights,
    checked_weight,
    extremes,
    shown,
    validated,
)

# Numbers of so many different values are more often measurements than labels.
MANY_CLASSES = 20


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Validated training data with labels.

    Attributes
    ----------
    X : ndarray or scipy sparse array of shape (n_samples, n_features)
        Rows with a positive weight.
    y : ndarray of shape (n_samples,)
        Their labels.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights; positive in rows that `usable` returns.
    codes : ndarray of shape (n_samples,)
        Index of each label in `classes`.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.
    """

    X: Any
    y: NDArray[Any]
    sample_weight: FloatArray | None
    codes: IntArray
    classes: NDArray[Any]

    def take(self, indices: IntArray | NDArray[np.bool_]) -> ClassRows:
        """Some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[indices]
        return ClassRows(
            self.X[indices], self.y[indices], weight, self.codes[indices], self.classes
        )

    def weighted(self, class_weight: Any) -> ClassRows:
        """All rows, their weights multiplied by those of the classes."""
        if class_weight is None:
            return self
        by_class = _class_weights(class_weight, self)
        weight = by_class if self.sample_weight is None else _product(by_class, self.sample_weight)
        return replace(self, sample_weight=weight)

    def usable(self, class_weight: Any = None) -> ClassRows:
        """The rows to learn from: those with a weight, checked to be enough of each class."""
        rows = self._with_weight()
        _check_classes(rows)
        if class_weight is not None:
            rows = rows.weighted(class_weight)._with_weight()
            _check_classes(rows)
        _check_weights_of_classes(rows)
        _check_not_constant(rows.X)
        return rows

    def _with_weight(self) -> ClassRows:
        """Without rows of weight zero, which count as absent."""
        if self.sample_weight is None or self.sample_weight.all():
            return self
        return self.take(self.sample_weight > 0)

    def criterion(self, ridge: float, rank: FloatArray | None = None) -> FisherCriterion:
        """Fisher's ratio; of features that say the same, those of the lowest rank are needed."""
        moments = within_moments(self.X, self.codes, len(self.classes), self._relative_weight)
        # Of many features, one matrix must do for the criterion and the start of the fits.
        return fisher_criterion(moments, ridge=ridge, rank=rank, overwrite=True)

    def noise(self, criterion: FisherCriterion) -> ClassNoise:
        """Where batches of these rows come from."""
        return ClassNoise(self.X, self.codes, self._relative_weight, criterion)

    def fitter(self, criterion: FisherCriterion) -> Fitter:
        """Unpenalised logistic models: binary, or multinomial."""
        kind = LogisticFitter if len(self.classes) == 2 else MultinomialFitter
        return kind(self.X, self.codes, self._relative_weight, criterion)

    @cached_property
    def _relative_weight(self) -> FloatArray | None:
        return _relative(self.sample_weight)


@dataclass(frozen=True, eq=False)
class MeasuredRows:
    """Validated training data with one or more measured outputs.

    Attributes
    ----------
    X : ndarray or scipy sparse array of shape (n_samples, n_features)
        Rows with a positive weight.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        What was measured.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights; positive in rows that `usable` returns.
    """

    X: Any
    y: FloatArray
    sample_weight: FloatArray | None

    def take(self, indices: IntArray | NDArray[np.bool_]) -> MeasuredRows:
        """Some of the rows."""
        weight = None if self.sample_weight is None else self.sample_weight[indices]
        return MeasuredRows(self.X[indices], self.y[indices], weight)

    def usable(self) -> MeasuredRows:
        """The rows to learn from: those with a weight, checked to hold something to learn."""
        rows = self
        if self.sample_weight is not None and not self.sample_weight.all():
            rows = self.take(self.sample_weight > 0)
        if len(rows.y) < 2:
            raise ValueError(f"A fit needs at least 2 rows with a weight; got {len(rows.y)}.")
        if rows.sample_weight is not None:
            check_ratio_of_weights(rows.sample_weight, "sample_weight")
        outputs = rows.y.reshape(len(rows.y), -1)
        constant = np.flatnonzero(np.all(outputs == outputs[0], axis=0))
        if constant.size:
            which = "" if rows.y.ndim == 1 else f" in column {constant[0]}"
            raise ValueError(
                f"y is {shown(outputs[0, constant[0]])} in every row{which}: there is nothing to "
                "explain. It must take at least two values."
            )
        _check_not_constant(rows.X)
        return rows

    def criterion(self, ridge: float, rank: FloatArray | None = None) -> R2Criterion:
        """R²; no output is a feature by another name, so ranks don't count."""
        moments = joint_moments(self.X, self._outputs, self._relative_weight)
        return r2_criterion(moments, ridge=ridge, overwrite=True)

    def noise(self, criterion: R2Criterion) -> OutputNoise:
        """Where batches of these rows come from."""
        return OutputNoise(self.X, self._outputs, self._relative_weight, criterion)

    def fitter(self, criterion: R2Criterion) -> Fitter:
        """Least-squares models."""
        return LeastSquaresFitter(criterion)

    @property
    def _outputs(self) -> FloatArray:
        return self.y.reshape(len(self.y), -1)

    @cached_property
    def _relative_weight(self) -> FloatArray | None:
        return _relative(self.sample_weight)


Rows: TypeAlias = ClassRows | MeasuredRows


def validate_class_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, min_rows: int = 2
) -> ClassRows:
    """Check and translate training data with labels; an error says what is wrong and what to do.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X, y, sample_weight : array-like
        As given to `fit`.

    Returns
    -------
    ClassRows
    """
    _check_labels(y)
    X, y = validated(estimator, X, y, min_rows=min_rows)
    try:
        check_classification_targets(y)
    except ValueError as error:
        raise ValueError(
            f"y must hold labels: {error} For measured outputs there are "
            "AnnealingRegressorSelector and AnnealingRegressorSelectorCV."
        ) from None
    classes, codes = np.unique(y, return_inverse=True)
    weight = None if sample_weight is None else checked_weight(sample_weight, X)
    return ClassRows(X, y, weight, codes.astype(np.int64), classes)


def validate_measured_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, min_rows: int = 2
) -> MeasuredRows:
    """Check and translate training data with measured outputs.

    Parameters
    ----------
    estimator : estimator
        Gets `n_features_in_` and `feature_names_in_`.
    X, y, sample_weight : array-like
        As given to `fit`.

    Returns
    -------
    MeasuredRows
    """
    how: dict[str, Any] = {"multi_output": True, "y_numeric": True, "min_rows": min_rows}
    X, y = validated(estimator, X, _numbers(y), **how)
    y = np.ascontiguousarray(y, dtype=np.float64)
    _check_outputs(y)
    weight = None if sample_weight is None else checked_weight(sample_weight, X)
    return MeasuredRows(X, y, weight)


def _relative(sample_weight: FloatArray | None) -> FloatArray | None:
    """In units of the largest: nothing depends on that but the range of the numbers."""
    return None if sample_weight is None else sample_weight / sample_weight.max()


def _numbers(y: Any) -> Any:
    """Refuse text, even where it looks like numbers, dates and the like; None becomes NaN."""
    values = np.asarray(y)
    if values.dtype.kind in "biuf":
        return y
    of_any_type = values.dtype == object
    for value in values.flat:
        if not of_any_type or isinstance(value, complex) or not isinstance(value, Number | None):
            raise ValueError(
                f"y must hold numbers; got {shown(value)}. Text that means numbers becomes such by "
                "y.astype(float). For labels there are AnnealingSelector and AnnealingSelectorCV."
            )
    flat = [np.nan if value is None else as_float(value) for value in values.flat]
    return np.array(flat).reshape(values.shape)


def _check_outputs(y: FloatArray) -> None:
    """Refuse values whose squares are no longer numbers."""
    largest = np.abs(y).max()
    if largest > LARGEST:
        raise ValueError(
            f"y holds values too large to be squared, up to {largest:.3g}; sizes up to "
            f"{LARGEST:.0e} are allowed. Divide it by a constant."
        )
    spread = y.max(axis=0) - y.min(axis=0)
    if np.any((spread > 0) & (spread < 1 / LARGEST)):
        raise ValueError(
            f"y holds values too close together to be squared: its largest difference is "
            f"{spread[spread > 0].min() if y.ndim > 1 else spread:.3g}, and {1 / LARGEST:.0e} is "
            "the least that is allowed. Multiply it by a constant."
        )


def _check_labels(y: Any) -> None:
    """Refuse labels that can't be sorted; numbers that are missing are found later."""
    labels = np.asarray(y)
    if labels.dtype != object:
        return
    try:
        np.unique(labels)
    except TypeError as error:
        raise ValueError(
            f"y must hold labels of one type, and none missing ({error}). Drop the rows without a "
            "label."
        ) from None


def _check_classes(rows: ClassRows) -> None:
    """At least two classes with two rows each; one row of weight two or more counts as two."""
    if len(rows.codes) == 0:
        raise ValueError(ALL_ZERO)
    counts = np.bincount(rows.codes, minlength=len(rows.classes))
    present = rows.classes[np.flatnonzero(counts)]
    if len(present) < 2:
        raise ValueError(
            f"y holds one class only, {shown(present[0])}; the classifier needs rows of at least 2 "
            "classes."
        )
    if len(present) < len(rows.classes):
        gone = rows.classes[np.flatnonzero(counts == 0)[0]]
        raise ValueError(
            f"y holds no row of class {shown(gone)} with a weight above 0; each class needs at "
            "least 2 rows."
        )
    weighted = np.bincount(rows.codes, weights=rows.sample_weight, minlength=len(rows.classes))
    counts = np.maximum(counts, weighted)
    if counts.min() < 2:
        raise ValueError(
            f"y holds 1 row of class {shown(rows.classes[counts.argmin()])}; each class needs at "
            f"least 2 rows, or it has no variance.{_if_measured(rows)}"
        )


def _check_weights_of_classes(rows: ClassRows) -> None:
    """Refuse weights that leave rows or a class too little to be seen beside the others."""
    if rows.sample_weight is None:
        return
    check_ratio_of_weights(rows.sample_weight, "sample_weight times class_weight")
    share = _weight_by_class(rows)
    share /= share.sum()
    least = LEAST_SHARE_OF_TWO if len(share) == 2 else LEAST_SHARE_OF_MORE
    if share.min() < least:
        raise ValueError(
            f"The rows of class {shown(rows.classes[share.argmin()])} have {share.min():.1e} of "
            f"all weight (sample_weight times class_weight); of {len(share)} classes each must "
            f"have at least {least:.0e} for double precision to see it. Raise its weight, or leave "
            "the class out."
        )


def _if_measured(rows: ClassRows) -> str:
    """What to say where labels look like measurements."""
    if rows.classes.dtype.kind not in "iuf" or len(rows.classes) <= MANY_CLASSES:
        return ""
    return (
        f" With its {len(rows.classes)} values y looks measured: for that there are "
        "AnnealingRegressorSelector and AnnealingRegressorSelectorCV."
    )


def _check_not_constant(X: Any) -> None:
    low, high = extremes(X)
    if np.all(low == high):
        raise ValueError(
            f"X has {X.shape[1]} feature(s), and all of them are constant: there is nothing to "
            "choose from. At least one feature must take two values."
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


def _weight_by_class(rows: ClassRows) -> FloatArray:
    """Of all rows of each class, in units of the heaviest row; of rows without weights, rows."""
    weight = rows.sample_weight
    relative = None if weight is None else weight / weight.max()
    return np.bincount(rows.codes, weights=relative, minlength=len(rows.classes)).astype(np.float64)


def _class_weights(class_weight: Any, rows: ClassRows) -> FloatArray:
    """What `class_weight` gives to each row."""
    if isinstance(class_weight, Mapping):
        known = set(rows.classes.tolist())
        strange = [label for label in class_weight if label not in known]
        if strange:
            raise ValueError(
                f"class_weight names the class {shown(strange[0])}, which y lacks; its classes are "
                f"{', '.join(shown(label) for label in rows.classes)}."
            )
        weights: list[Any] = list(class_weight.values())
        if not all(isinstance(w, Real) and 0 <= as_float(w) < np.inf for w in weights):
            raise ValueError(
                "class_weight must hold finite numbers that are not negative; got "
                f"{class_weight!r}."
            )
    if isinstance(class_weight, str):  # "balanced", by the weight of the rows
        counts = _weight_by_class(rows)
        by_class = counts.sum() / (len(counts) * np.where(counts > 0, counts, 1.0))
    else:
        by_class = np.array([float(class_weight.get(c, 1.0)) for c in rows.classes.tolist()])
    of_rows: FloatArray = by_class[rows.codes]
    return of_rows
