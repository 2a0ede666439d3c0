"""Survival times: their problem, their model of proportional hazards, and its score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.utils.validation import _check_sample_weight

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.fits.family import COX, risk_sets
from safdr._estimators.counts import LikelihoodProblem
from safdr._estimators.data import RegressionProblem
from safdr._estimators.inputs import is_source, problem_fields, validate_rows
from safdr._estimators.models import PenalisedModel
from safdr.errors import ParameterError

# Least weight of a row in the criterion, as a share of the mean: a row with next to no hazard has a
# response far off.
LEAST_HAZARD = 4e-3


def read_survival(selector: Any, X: Any, y: Any, sample_weight: Any) -> SurvivalProblem:
    """Validate rows; set the attributes of columns."""
    if is_source(X, y):
        raise ParameterError("X", "must be rows in memory for survival times; got a source.")
    X, _ = validate_rows(selector, X, signed_times(y))
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return SurvivalProblem(X=X, y=y, row_weight=weight, **problem_fields(selector))


def signed_times(y: Any) -> FloatArray:
    """Return the times of a structured array, with a minus for censored rows."""
    names: Any = getattr(getattr(y, "dtype", None), "names", None) or ()
    if len(names) != 2 or y[names[0]].dtype != bool or y[names[1]].dtype.kind not in "fiu":
        raise ValueError(
            "y must be a structured array of two fields, whether the event was observed (bool) "
            f"and the time; got {getattr(y, 'dtype', type(y).__name__)}. Use "
            "numpy.rec.fromarrays([event, time], names='event,time')."
        )
    time = y[names[1]].astype(np.float64)
    if not (np.isfinite(time) & (time >= 0)).all():
        raise ValueError(f"The times of y must be finite and at least 0; got {time.min()}.")
    time = np.maximum(time, np.finfo(float).tiny)
    signed: FloatArray = np.where(y[names[0]], time, -time)
    return signed


@dataclass(frozen=True, eq=False, kw_only=True)
class SurvivalProblem(LikelihoodProblem):
    """Rows with the time of an event, or the time at which they are censored."""

    criterion_name = "score"
    loss_name = "negative_concordance"  # of custom models
    is_stratified = True

    @property
    def family(self) -> Any:
        """Partial likelihood."""
        return COX

    def check(self) -> None:
        """Raise an error unless two rows have an event."""
        if (n := int(self.strata.sum())) < 2:
            raise ValueError(f"y needs at least 2 events; got {n}.")

    @cached_property
    def target(self) -> FloatArray:
        """Times, with a minus for censored rows."""
        return signed_times(self.y)

    @property
    def outputs(self) -> FloatArray:
        """The target as a matrix."""
        return self.target[:, None]

    @property
    def strata(self) -> NDArray[np.bool_]:
        """True for rows with an event."""
        return self.target > 0

    @property
    def codes(self) -> IntArray:
        """1 for rows with an event."""
        return self.strata.astype(np.int64)

    @cached_property
    def first_step(self) -> RegressionProblem:
        """Least squares near the model without features: its score statistic is the criterion."""
        row_weight = np.ones(len(self.y)) if self.sample_weight is None else self.sample_weight
        share = row_weight / row_weight.sum()
        _, slope, hazard = COX.derivatives(np.zeros(len(share)), self.target, share)
        hazard = np.maximum(hazard / (share @ hazard), LEAST_HAZARD)
        fields = {"X": self.X, "allowed": self.allowed, "cost": self.cost}
        return RegressionProblem(y=-slope / hazard, row_weight=hazard * row_weight, **fields)

    @property
    def default_scoring(self) -> Any:
        """Harrell's concordance."""
        return score_concordance

    def held_out_loss(self, y: Any, predicted: Any, weight: FloatArray | None) -> float:
        """Return the negative concordance of risk scores."""
        return -concordance(y, predicted, weight)

    @staticmethod
    def null_model() -> Any:
        """Return a model without features."""
        return _SameRisk()

    @staticmethod
    def default_splitter(seed: int) -> Any:
        """Return five random splits, stratified by event."""
        return StratifiedShuffleSplit(n_splits=5, test_size=0.25, random_state=seed)

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> CoxModel:
        """Return fit i as a scikit-learn model."""
        model: CoxModel = self._filled(CoxModel(C=C), subset, fit, i)
        return model.with_baseline(self.X[:, subset], self.target, self.sample_weight)


class _SameRisk(BaseEstimator):
    """The same risk for all rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        return self

    def predict(self, X: Any) -> FloatArray:
        return np.zeros(X.shape[0])


# ---- The model ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SurvivalFunction:
    """Probability of no event up to a time: a step function.

    Attributes
    ----------
    x, y : ndarray of shape (n_times,)
        Times of events, and the probability from each of them on.
    """

    x: FloatArray
    y: FloatArray

    def __call__(self, time: Any) -> Any:
        """Return the probability at times."""
        return np.append(1.0, self.y)[np.searchsorted(self.x, time, side="right")]


class CoxModel(PenalisedModel):
    """Proportional hazards on standardised columns, with Breslow's ties.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty on the negative partial log-likelihood. With a penalty,
        values are clipped to the training range of their column; inf is no penalty.

    calibration_slope : float, default=1.0
        Factor on the coefficients after the fit; the baseline is then estimated again.

    Attributes
    ----------
    coef_, intercept_ : ndarray, float
        Log hazard ratios, on the original scale. The mean risk score of the training rows is 0.

    unique_times_, cumulative_hazard_ : ndarray of shape (n_times,)
        Times of events, and Breslow's cumulative hazard for a risk score of 0.

    data_min_, data_max_ : ndarray of shape (n_features,)
        Training range of each column; only with a penalty.
    """

    _is_survival = True

    def __init__(self, *, C: float = 1.0, calibration_slope: float = 1.0) -> None:
        self.C = C
        self.calibration_slope = calibration_slope

    def predict(self, X: Any) -> FloatArray:
        """Predict the risk score of each row: its log hazard ratio to the mean."""
        return np.asarray(self._predictor(X))

    def predict_survival_function(self, X: Any, return_array: bool = False) -> Any:
        """Predict the probability of no event up to each time, as functions or as an array."""
        survival = np.exp(-np.exp(self.predict(X))[:, None] * self.cumulative_hazard_)
        if return_array:
            return survival
        functions = np.empty(len(survival), dtype=object)
        functions[:] = [SurvivalFunction(self.unique_times_, row) for row in survival]
        return functions

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return Harrell's concordance."""
        return concordance(y, self.predict(X), sample_weight)

    def with_slope(self, slope: float, X: Any, times: Any, weight: FloatArray | None) -> Self:
        """Multiply the coefficients by a factor, and estimate the baseline again."""
        self.calibration_slope = slope
        self.coef_ = slope * self.coef_
        return self.with_baseline(X, times, weight)

    def with_baseline(self, X: Any, times: FloatArray, weight: FloatArray | None) -> Self:
        """Estimate the intercept and the baseline on the training rows."""
        weight = np.ones(len(times)) if weight is None else weight
        self.intercept_ = 0.0
        self.intercept_ = -float(np.average(self.linear_predictor(X), weights=weight))
        unique, _, events, at_risk = risk_sets(self.linear_predictor(X), times, weight)
        hazard = np.cumsum(events / at_risk)
        self.unique_times_, self.cumulative_hazard_ = unique[events > 0], hazard[events > 0]
        return self


# ---- The score ----------------------------------------------------------------------------------


def score_concordance(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Return Harrell's concordance of the risk scores that a model predicts."""
    return concordance(y, model.predict(X), sample_weight)


def concordance(y: Any, risk: Any, weight: Any = None) -> float:
    """Return the share of comparable pairs in which the earlier event has the higher risk."""
    # Equal risks count half. At equal times an event is earlier than a censored row, and two events
    # are not comparable.
    signed = signed_times(y)
    weight = np.ones(len(signed)) if weight is None else np.asarray(weight, dtype=np.float64)
    is_event, levels = signed > 0, np.unique(np.ravel(risk), return_inverse=True)[1]
    n_levels, won, total = int(levels.max()) + 1, 0.0, 0.0
    later = 2 * np.unique(-np.abs(signed), return_inverse=True)[1] + is_event
    # Each pair is compared once: at the highest bit in which their places differ.
    for bit in range(int(later.max()).bit_length()):
        keys, index = np.unique((later >> (bit + 1)) * n_levels + levels, return_inverse=True)
        is_earlier = (later >> bit) & 1 > 0
        same = np.bincount(index, weight * ~is_earlier)
        below = np.append(0.0, np.cumsum(same))
        block = keys - keys % n_levels
        before = below[np.searchsorted(keys, block)]
        events = np.bincount(index, weight * (is_earlier & is_event))
        won += float(events @ (below[:-1] + 0.5 * same - before))
        total += float(events @ (below[np.searchsorted(keys, block + n_levels)] - before))
    return won / total if total > 0 else float("nan")
