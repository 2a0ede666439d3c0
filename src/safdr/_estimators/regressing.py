"""What selectors for measured outputs do in their own way."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin, is_classifier
from sklearn.linear_model import LinearRegression

from safdr._engine.arrays import FloatArray
from safdr._estimators.base import AnnealingSelectorBase
from safdr._estimators.training_data import MeasuredRows, validate_measured_rows


class RegressorSelectorBase(RegressorMixin, AnnealingSelectorBase):
    """A selector whose target was measured: one output, or several."""

    _estimator_type_words = ("regressor", "classifier")
    _fold_hint = "Use a cv with fewer splits, or one that shuffles the rows."

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any) -> MeasuredRows:
        return validate_measured_rows(self, X, y, sample_weight)

    def _usable(self, rows: Any) -> MeasuredRows:
        usable: MeasuredRows = rows.usable()
        return usable

    def _is_wrong_kind(self, estimator: Any) -> bool:
        return bool(is_classifier(estimator))

    def _linear_model(
        self, rows: Any, coefficients: FloatArray, intercepts: FloatArray, n_iter: int
    ) -> LinearRegression:
        """The winning fit as scikit-learn's own model, which every tool around it can read."""
        model = LinearRegression()
        model.coef_ = coefficients[0] if rows.y.ndim == 1 else coefficients
        model.intercept_ = float(intercepts[0]) if rows.y.ndim == 1 else intercepts
        model.n_features_in_ = coefficients.shape[-1]
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
