"""Linear models that standardise, clip to the training range, and can be recalibrated."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import log_expit, log_softmax, logsumexp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from safdr._engine.arrays import FloatArray, IntArray


class SeparationWarning(ConvergenceWarning):
    """Warn that features separate the classes, so that an unpenalised fit has no optimum."""


def _products(X: Any, coef: FloatArray) -> FloatArray:
    """Return X @ coef.T without BLAS threads, which slow down the threads of a search."""
    return np.asarray(X @ coef.T) if issparse(X) else np.einsum("ij,kj->ik", X, coef)


class _FinalModel(BaseEstimator):
    """A model that is fitted as a selector fits its final model."""

    _is_regression: ClassVar[bool] = True
    _is_survival: ClassVar[bool] = False
    coef_: FloatArray
    intercept_: Any
    C: float
    calibration_slope: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        from safdr._estimators.inputs import read_problem  # which makes models of this kind

        problem = read_problem(self, X, y, sample_weight, 0).usable()
        subset = np.arange(problem.n_features)
        fits = problem.fitter(float(self.C)).fit(subset[None])
        fitted = problem.linear_model(subset, fits, 0, self.C)
        self.__dict__.update({k: v for k, v in vars(fitted).items() if k.endswith("_")})
        rows = problem.X[:, subset]
        return self.with_slope(self.calibration_slope, rows, problem.target, problem.sample_weight)

    def with_slope(self, slope: float, X: Any, y: Any, weight: FloatArray | None) -> Self:
        """Multiply the coefficients by a factor, and refit the intercepts on the training rows."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class PenalisedModel(_FinalModel):
    """Base of models that clip values to the training range of their column if `C` is finite."""

    data_min_: FloatArray
    data_max_: FloatArray

    @property
    def clips(self) -> bool:
        return bool(np.isfinite(self.C))

    def linear_predictor(self, X: Any) -> Any:
        scores = _products(self.clipped(X), np.atleast_2d(self.coef_)) + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def clipped(self, X: Any) -> Any:
        if not self.clips:
            return X
        rows = X.toarray() if issparse(X) else X
        return np.clip(rows, self.data_min_, self.data_max_)

    def _predictor(self, X: Any) -> Any:
        check_is_fitted(self)
        return self.linear_predictor(validate_data(self, X, accept_sparse="csr", reset=False))


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

    _is_regression = False

    def __init__(self, *, C: float = 1.0, calibration_slope: float = 1.0) -> None:
        self.C = C
        self.calibration_slope = calibration_slope

    def with_slope(self, slope: float, X: Any, y: Any, weight: FloatArray | None) -> Self:
        self.calibration_slope = slope
        if slope != 1.0:
            self.coef_ = slope * self.coef_
            decision = _by_class(np.asarray(X @ self.coef_.T))
            intercepts = _fit_logistic(decision, y, weight, (1.0, 1.0))[1]
            binary = len(self.coef_) == 1
            self.intercept_ = intercepts[1:] - intercepts[:1] if binary else intercepts
        return self

    def decision_function(self, X: Any) -> Any:
        """Return the log-odds of each row, or one score for each class."""
        return self._predictor(X)

    def predict_proba(self, X: Any) -> FloatArray:
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        return np.asarray(log_softmax(scores, axis=1))


class LinearModel(RegressorMixin, _FinalModel):
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

    family = "gaussian"

    def __init__(
        self, *, C: float = np.inf, calibration_slope: float = 1.0, clip: bool = True
    ) -> None:
        self.C = C
        self.calibration_slope = calibration_slope
        self.clip = clip

    def with_slope(self, slope: float, X: Any, y: Any, weight: FloatArray | None) -> Self:
        self.calibration_slope = slope
        if slope != 1.0:
            self.coef_ = slope * self.coef_
            mean: Any = np.average(y - X @ self.coef_.T, axis=0, weights=weight)
            self.intercept_ = mean if np.ndim(mean) else float(mean)
        return self

    def predict(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        rows: Any = validate_data(self, X, accept_sparse="csr", reset=False)
        predicted = self.linear_predictor(rows)
        return np.clip(predicted, self.target_min_, self.target_max_) if self.clip else predicted

    def linear_predictor(self, X: Any) -> FloatArray:
        predicted = _products(X, np.atleast_2d(self.coef_))
        several = np.ndim(self.coef_) > 1
        return np.asarray((predicted if several else predicted[:, 0]) + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


# ---- Calibration ---------------------------------------------------------------------------------


def calibration_slope(
    decision: FloatArray,
    y: NDArray[Any],
    weight: FloatArray,
    *,
    regression: bool,
    train_share: float,
    family: Any = None,
) -> float:
    """Return the factor in [0, 1] for the coefficients of the final model."""
    # `decision` holds the linear predictors of all held-out rows, one column for each class
    # if there are more than two, and `y` class codes or values. The splits fit on
    # `train_share` of the rows. The noise-to-signal ratio (1 - slope) / slope falls as one
    # over the number of rows (van Houwelingen and le Cessie 1990), so it is multiplied by
    # that share.
    kept = weight > 0
    decision, y, weight = decision[kept], y[kept], weight[kept] / weight.sum()
    if regression and family is not None:
        slope = _likelihood_slope(family, decision, y, weight)
    elif regression:
        centred = decision - weight @ decision
        variance = float((weight @ centred**2).sum())
        covariance = float((weight @ (centred * y)).sum())  # several targets share one slope
        slope = float(np.clip(covariance / variance, 0.0, 1.0)) if variance > 0 else 1.0
    else:
        # The intercept of a class without held-out rows is not finite.
        classes, codes = np.unique(y, return_inverse=True)
        slope = _fit_logistic(_by_class(decision)[:, classes], codes, weight, (0.0, 1.0))[0]
    return slope / (slope + (1.0 - slope) * train_share)


def _likelihood_slope(
    family: Any, decision: FloatArray, y: FloatArray, weight: FloatArray
) -> float:
    """Return the slope of largest likelihood in [0, 1]."""
    origin = float(family.null_model(y, weight)[0])
    decision = decision - weight @ decision

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        losses, slopes, _ = family.derivatives(free[0] * decision + free[1], y, weight)
        return float(weight @ losses), np.array([(weight * slopes) @ decision, weight @ slopes])

    limits = [(0.0, 1.0), (None, None)]
    return float(minimize(loss, (0.0, origin), jac=True, method="L-BFGS-B", bounds=limits).x[0])


def _by_class(decision: FloatArray) -> FloatArray:
    """Return centred log-odds with one column for each class."""
    if decision.ndim == 1 or decision.shape[1] == 1:
        return np.column_stack([-0.5 * decision, 0.5 * decision])
    return decision - decision.mean(axis=1, keepdims=True)


def _fit_logistic(
    decision: FloatArray, codes: IntArray, weight: FloatArray | None, bounds: tuple[float, float]
) -> tuple[float, FloatArray]:
    """Return the slope within bounds, and the intercepts with mean 0, of least log-loss."""
    weight = np.ones(len(codes)) if weight is None else weight
    weight = weight / weight.sum()
    # Centred and scaled, so that slope and intercepts have similar curvatures.
    mean = weight @ decision
    scale = float(np.sqrt((weight @ (decision - mean) ** 2).mean())) or 1.0
    decision = (decision - mean) / scale
    shares = np.bincount(codes, weight)
    observed = np.append(weight @ decision[np.arange(len(codes)), codes], shares)

    def loss(free: FloatArray) -> tuple[float, FloatArray]:
        eta = free[0] * decision + free[1:]
        logs: Any = logsumexp(eta, axis=1)
        p = np.exp(eta - logs[:, None])
        gradient: Any = np.append(weight @ (p * decision).sum(axis=1), weight @ p) - observed
        return float(weight @ logs - observed @ free), gradient

    low, high = scale * bounds[0], scale * bounds[1]
    start = np.append(high, np.log(shares))
    limits = [(low, high)] + [(None, None)] * len(shares)
    # Only the gradient ends the fit.
    end = {"ftol": 0.0, "gtol": 1e-11, "maxiter": 500}
    fit: Any = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=limits, options=end)
    slope, intercepts = float(np.clip(fit.x[0] / scale, *bounds)), fit.x[1:] - fit.x[1:].mean()
    return slope, intercepts - slope * mean
