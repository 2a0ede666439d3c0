"""What selectors for classes do in their own way."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.utils.metaestimators import available_if

from safdr._engine.arrays import FloatArray
from safdr._engine.search import Search
from safdr._estimators.base import AnnealingSelectorBase, final_model_has
from safdr._estimators.training_data import ClassRows, validate_class_rows
from safdr.result import AnnealingResult


class ClassSelectorBase(ClassifierMixin, AnnealingSelectorBase):
    """A selector whose target are labels."""

    _estimator_type_words = ("classifier", "regressor")
    _fold_hint = (
        "Use a cv that keeps all classes in every fold, such as StratifiedKFold, or fewer splits."
    )
    class_weight: Any
    classes_: NDArray[Any]

    def _validate_rows(self, X: Any, y: Any, sample_weight: Any) -> ClassRows:
        rows = validate_class_rows(self, X, y, sample_weight)
        self.classes_ = rows.classes
        return rows

    def _usable(self, rows: Any) -> ClassRows:
        usable: ClassRows = rows.usable(self.class_weight)
        return usable

    def _is_wrong_kind(self, estimator: Any) -> bool:
        return bool(is_regressor(estimator))

    def _set_result(self, rows: Any, search: Search, result: AnnealingResult) -> Any:
        super()._set_result(rows, search, result)
        self.__dict__.pop("cross_entropy_", None)  # of an earlier fit
        if result.loss_name == "cross_entropy":
            self.cross_entropy_ = result.loss
        return self

    def _linear_model(
        self, rows: Any, coefficients: FloatArray, intercepts: FloatArray, n_iter: int
    ) -> LogisticRegression:
        """The winning fit as scikit-learn's own model, which every tool around it can read."""
        model = LogisticRegression(C=np.inf)
        model.classes_ = rows.classes
        model.coef_ = np.atleast_2d(coefficients)
        model.intercept_ = np.atleast_1d(intercepts)
        model.n_features_in_ = model.coef_.shape[1]
        model.n_iter_ = np.array([n_iter], dtype=np.int32)
        return model

    @available_if(final_model_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the probability of each class from the chosen features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict_proba(reduced)

    @available_if(final_model_has("predict_log_proba"))
    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of `classes_`.
        """
        reduced = self._reduce(X)
        return self.estimator_.predict_log_proba(reduced)

    @available_if(final_model_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Score each row: above zero means the second of two `classes_`, else the largest wins.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows with all features that `fit` saw.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For the default model of two classes the log-odds.
        """
        reduced = self._reduce(X)
        return self.estimator_.decision_function(reduced)
