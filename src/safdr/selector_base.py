"""What the fixed-size selector and its cross-validated twin have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_regressor,
)
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from safdr.annealing.anneal import AnnealingSettings
from safdr.moments import FloatArray, IntArray
from safdr.result import AnnealingResult
from safdr.validation import Rows, warn_if_separated


def final_model_has(method: str) -> Callable[[Any], bool]:
    """Whether the final model has the method; the default one has them all."""

    def check(self: Any) -> bool:
        model = getattr(self, "estimator_", self.estimator)
        return model is None or hasattr(model, method)

    return check


class AnnealingSelectorBase(SelectorMixin, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Selector and classifier at once: a subset of the features, and the model on it."""

    estimator: Any
    classes_: NDArray[Any]
    support_: NDArray[np.bool_]

    def _settings(self) -> AnnealingSettings:
        """The engine's settings out of the parameters."""
        return AnnealingSettings(
            **{name: getattr(self, name) for name in AnnealingSettings.__dataclass_fields__}
        )

    def _set_result(self, rows: Rows, result: AnnealingResult) -> Self:
        """Take over what the search found, and fit the final model to it."""
        self.classes_ = rows.classes
        self.result_ = result
        self.subset_: IntArray = result.subset
        self.support_ = np.zeros(rows.X.shape[1], dtype=bool)
        self.support_[self.subset_] = True
        self.n_features_ = len(self.subset_)
        self.criterion_value_ = result.criterion_value
        self.cross_entropy_ = result.cross_entropy
        self.estimator_ = final_model(self.estimator, rows, result)
        if self.estimator is None:
            warn_if_separated(bool(result.separated[result.best]), result.size)
        return self

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self.support_

    def _reduce(self, X: ArrayLike) -> FloatArray:
        """The chosen columns of X, as an array."""
        check_is_fitted(self)
        reduced: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)[
            :, self.support_
        ]
        return reduced

    @available_if(final_model_has("predict"))
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row from the chosen features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predicted labels.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict(reduced)

    @available_if(final_model_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the probability of each class from the chosen features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Probabilities, in the order of `classes_`.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict_proba(reduced)

    @available_if(final_model_has("predict_log_proba"))
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Log-probabilities, in the order of `classes_`.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict_log_proba(reduced)

    @available_if(final_model_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score each row: above zero means the second of `classes_`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples,)
            For the default model the log-odds.
        """
        reduced = self._reduce(X)
        return self.estimator_.decision_function(reduced)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.target_tags.required = True
        tags.input_tags.sparse = False
        return tags


def final_model(estimator: Any, rows: Rows, result: AnnealingResult) -> Any:
    """The model on the chosen features: the winning fit, or a fitted clone of `estimator`."""
    if estimator is None:
        return _as_logistic_regression(result, rows.classes)
    if is_regressor(estimator):
        raise ValueError(f"estimator must be a classifier; got the regressor {estimator!r}.")
    model = clone(estimator)
    X = rows.X[:, result.subset]
    if rows.sample_weight is None:
        return model.fit(X, rows.y)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(
            f"sample_weight was given, but the fit of estimator={estimator!r} takes none. "
            "Use an estimator that does, or leave the weights out."
        )
    return model.fit(X, rows.y, sample_weight=rows.sample_weight)


def _as_logistic_regression(result: AnnealingResult, classes: NDArray[Any]) -> LogisticRegression:
    """The winning fit as scikit-learn's own model, which every tool around it can read."""
    model = LogisticRegression(C=np.inf)
    model.classes_ = classes
    model.coef_ = result.coefficients[[result.best]]
    model.intercept_ = result.intercepts[[result.best]]
    model.n_features_in_ = result.size
    model.n_iter_ = np.array([result.n_iter[result.best]], dtype=np.int32)
    return model
