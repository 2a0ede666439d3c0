"""Linear models that standardise, clip to the training range, and can be recalibrated."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from safdr._engine.arrays import FloatArray
from safdr._estimators.calibration import scaled


class SeparationWarning(ConvergenceWarning):
    """Warn that features separate the classes, so that an unpenalised fit has no optimum."""


def _products(X: Any, coef: FloatArray) -> FloatArray:
    """Return X @ coef.T without BLAS threads, which slow down the threads of a search."""
    return np.asarray(X @ coef.T) if issparse(X) else np.einsum("ij,kj->ik", X, coef)


def _fit_as_selected(model: Any, X: Any, y: Any, sample_weight: Any) -> Any:
    """Fit a model as a selector fits its final model to these columns."""
    from safdr._estimators.inputs import every_column  # which makes models of this kind

    problem = every_column(model, X, y, sample_weight)
    subset = np.arange(problem.n_features)
    fits = problem.fitter(float(model.C)).fit(subset[None])
    fitted = problem.linear_model(subset, fits, 0, model.C)
    model.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
    rows = problem.X[:, subset]
    return model.with_slope(model.calibration_slope, rows, problem.target, problem.sample_weight)


class PenalisedModel(BaseEstimator):
    """Base of models that clip values to the training range of their column if `C` is finite."""

    C: float
    coef_: FloatArray
    intercept_: Any
    data_min_: FloatArray
    data_max_: FloatArray

    @property
    def clips(self) -> bool:
        return bool(np.isfinite(self.C))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        return _fit_as_selected(self, X, y, sample_weight)

    def linear_predictor(self, X: Any) -> Any:
        """Return the linear predictor of validated rows."""
        scores = _products(self.clipped(X), np.atleast_2d(self.coef_)) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def clipped(self, X: Any) -> Any:
        """Return rows with values clipped to the training range."""
        if not self.clips:
            return X
        rows = X.toarray() if issparse(X) else X
        return np.clip(rows, self.data_min_, self.data_max_)

    def _predictor(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.linear_predictor(validate_data(self, X, accept_sparse="csr", reset=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LogisticModel(LinearClassifierMixin, PenalisedModel):
    """Logistic regression on standardised columns, binary or multinomial.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty, as in `sklearn.linear_model.LogisticRegression`. With a
        penalty, values are clipped to the training range of their column; inf is no penalty.

    calibration_slope : float, default=1.0
        Factor on the coefficients after the fit; the intercept is then fitted again.

    Attributes
    ----------
    coef_, intercept_, classes_ : ndarray
        As in `sklearn.linear_model.LogisticRegression`, on the original scale.

    data_min_, data_max_ : ndarray of shape (n_features,)
        Training range of each column; only with a penalty.
    """

    def __init__(self, *, C: float = 1.0, calibration_slope: float = 1.0) -> None:
        self.C = C
        self.calibration_slope = calibration_slope

    def with_slope(self, slope: float, X: Any, codes: Any, weight: FloatArray | None) -> Self:
        """Multiply the coefficients by a factor, and refit the intercepts on the training rows."""
        self.calibration_slope = slope
        if slope != 1.0:
            self.coef_, self.intercept_ = scaled(self.coef_, slope, X, codes, weight)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the log-odds of each row, or one score for each class."""
        return self._predictor(X)

    def predict_proba(self, X: Any) -> FloatArray:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(scores, axis=1))

    def predict_log_proba(self, X: Any) -> FloatArray:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return np.asarray(log_softmax(scores, axis=1))


class LinearModel(RegressorMixin, BaseEstimator):
    """Linear regression on standardised columns, for one output or several.

    Parameters
    ----------
    C, calibration_slope
        As in `LogisticModel`; by default without a penalty.

    clip : bool, default=True
        Whether predictions are clipped to the range of the training targets.

    Attributes
    ----------
    coef_, intercept_ : ndarray or float
        As in `sklearn.linear_model.LinearRegression`, on the original scale.

    target_min_, target_max_ : float or ndarray of shape (n_outputs,)
        Range of the training targets.
    """

    coef_: FloatArray
    intercept_: Any

    def __init__(
        self, *, C: float = np.inf, calibration_slope: float = 1.0, clip: bool = True
    ) -> None:
        self.C = C
        self.calibration_slope = calibration_slope
        self.clip = clip

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        return _fit_as_selected(self, X, y, sample_weight)

    def with_slope(self, slope: float, X: Any, y: Any, weight: FloatArray | None) -> Self:
        """Multiply the coefficients by a factor, and refit the intercepts on the training rows."""
        self.calibration_slope = slope
        if slope != 1.0:
            coef = np.atleast_2d(self.coef_)
            coef, intercept = scaled(coef, slope, X, y, weight, regression=True)
            several = np.ndim(self.coef_) > 1
            self.coef_ = coef if several else coef[0]
            self.intercept_ = intercept if several else float(intercept[0])
        return self

    def predict(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        rows: Any = validate_data(self, X, accept_sparse="csr", reset=False)
        predicted = self.linear_predictor(rows)
        return np.clip(predicted, self.target_min_, self.target_max_) if self.clip else predicted

    def linear_predictor(self, X: Any) -> FloatArray:
        """Return the predictions for validated rows, not clipped."""
        predicted = _products(X, np.atleast_2d(self.coef_))
        several = np.ndim(self.coef_) > 1
        return np.asarray((predicted if several else predicted[:, 0]) + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags
