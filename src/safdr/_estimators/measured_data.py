"""Training data with measured outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import ShuffleSplit

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Noise, OutputNoise, R2Criterion, Ridge, r2_criterion
from safdr._engine.fits.fits import Fitter
from safdr._engine.fits.least_squares import LeastSquaresFitter
from safdr._engine.moments import joint_moments
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._engine.wide.criterion import WideCriterion
from safdr._estimators.models import LinearModel
from safdr._estimators.parameters import AUTO
from safdr._estimators.training_data import TrainingData
from safdr._estimators.validation import (
    check_not_constant,
    check_outputs,
    check_ratio_of_weights,
    checked_weight,
    numbers,
    shown,
    validated,
)
from safdr.errors import ParameterError


@dataclass(frozen=True, eq=False)
class MeasuredData(TrainingData):
    """Rows with one or more measured outputs."""

    model_word, wrong_model_word = "regressor", "classifier"
    target_word = "measured outputs"
    criteria = (AUTO, "r2")
    default_C = np.inf
    is_regression = True
    fold_hint = "Use a cv with fewer splits, or one that shuffles the rows."
    is_wrong_model = staticmethod(is_classifier)

    @classmethod
    def validate(
        cls, seen: Any, X: Any, y: Any, sample_weight: Any, *, min_rows: int = 2
    ) -> MeasuredData:
        """Numbers and rows."""
        how: dict[str, Any] = {"multi_output": True, "y_numeric": True, "min_rows": min_rows}
        X, y = validated(seen, X, numbers(y), **how)
        y = np.ascontiguousarray(y, dtype=np.float64)
        check_outputs(y)
        weight = None if sample_weight is None else checked_weight(sample_weight, X)
        return cls(X, y, weight)

    @staticmethod
    def default_scoring(n_classes: int) -> str:
        """R²."""
        return "r2"

    @staticmethod
    def default_splitter(seed: int) -> ShuffleSplit:
        """Random splits."""
        return ShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)

    def usable(self, class_weight: Any = None) -> Self:
        """Those with a weight, of which no output is constant."""
        if class_weight is not None:
            raise ParameterError(
                "class_weight", "is for labels; got {given!r} with outputs.", given=class_weight
            )
        data = self.with_weight()
        outputs = data._outputs
        if len(outputs) < 2:
            raise ValueError(f"A fit needs at least 2 rows with a weight; got {len(outputs)}.")
        if data.sample_weight is not None:
            check_ratio_of_weights(data.sample_weight, "sample_weight")
        constant = np.flatnonzero(np.all(outputs == outputs[0], axis=0))
        if constant.size:
            which = "" if data.y.ndim == 1 else f" in column {constant[0]}"
            raise ValueError(
                f"y is {shown(outputs[0, constant[0]])} in every row{which}: there is nothing to "
                "explain. It must take at least two values."
            )
        check_not_constant(data.X)
        return data

    def _made_criterion(self, ridge: Ridge, rank: FloatArray | None) -> R2Criterion:
        """R²; no output is a feature by another name, so ranks don't count."""
        how: dict[str, Any] = {"overwrite": True, "rows_a_weight": self._rows_a_weight}
        moments = joint_moments(self.X, self._outputs, self._relative_weight)
        return r2_criterion(moments, ridge=ridge, **how)

    @cached_property
    def _wide(self) -> WideCriterion:
        return WideCriterion.of_outputs(self.X, self._outputs, self._relative_weight)

    def noise(self, criterion: R2Criterion) -> Noise:
        """Batches of random rows."""
        return OutputNoise(self.X, self._outputs, self._relative_weight, criterion, self._shared)

    def fitter(self, criterion: R2Criterion, C: float = np.inf) -> Fitter:
        """Least-squares models."""
        return LeastSquaresFitter(criterion, self._penalty(C))

    def linear_model(
        self,
        subset: IntArray,
        coefficients: FloatArray,
        intercepts: FloatArray,
        n_iter: int,
        C: float,
        *,
        clip: bool = True,
    ) -> LinearModel:
        """Return the fit as a model of scikit-learn's kind."""
        model = LinearModel(C=C, clip=clip)
        model.coef_ = coefficients[0] if self.y.ndim == 1 else coefficients
        model.intercept_ = float(intercepts[0]) if self.y.ndim == 1 else intercepts
        model.n_features_in_ = coefficients.shape[-1]
        model.target_min_, model.target_max_ = self._target_range
        return model

    @cached_property
    def _target_range(self) -> tuple[Any, Any]:
        """Smallest and largest value of each output."""
        return self.y.min(axis=0), self.y.max(axis=0)

    def path_ridge(self, ridge: float) -> float:
        """Return the least ridge: the path is followed on A as it is."""
        return SMALLEST_AUTO

    @property
    def _outputs(self) -> FloatArray:
        return self.y.reshape(len(self.y), -1)
