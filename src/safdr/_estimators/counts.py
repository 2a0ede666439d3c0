"""Counts and amounts: their problem, and their model with the logarithm as link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_tweedie_score, make_scorer, mean_tweedie_deviance

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import Batches
from safdr._engine.criterion import Criterion, Ridge
from safdr._engine.fits.columns import Standardiser
from safdr._engine.fits.family import GAMMA, POISSON
from safdr._engine.fits.fits import Fitter
from safdr._engine.fits.fitter import LinearFitter
from safdr._engine.rows import take_columns
from safdr._estimators.data import RegressionProblem, extremes
from safdr._estimators.models import PenalisedModel

FAMILIES = {"poisson": POISSON, "gamma": GAMMA}

# Power of the variance in the deviance of each family.
POWERS = {"poisson": 1, "gamma": 2}

# Default scorers of the families: the share of the deviance that is explained.
DEVIANCE_SCORERS = {
    name: make_scorer(d2_tweedie_score, power=power) for name, power in POWERS.items()
}


@dataclass(frozen=True, eq=False, kw_only=True)
class LikelihoodProblem(RegressionProblem):
    """Rows with a target of one linear predictor, whose models have a likelihood."""

    default_C = 1.0

    @property
    def first_step(self) -> RegressionProblem:
        """Least squares that approximate the loss at the start of a fit."""
        raise NotImplementedError

    def criterion(self, ridge: Ridge) -> Criterion:
        """Return the criterion of all columns, with its matrix A."""
        return self.first_step.criterion(ridge)

    def column_criterion(self, ridge: Ridge) -> Criterion:
        """Return the criterion for a screen."""
        return self.first_step.column_criterion(ridge)

    def batches(self) -> Batches:
        """Return where criteria of random batches of the rows come from."""
        return self.first_step.batches()

    def _fitter(self, C: float, criterion: Any) -> Fitter:
        rows = Standardiser(self.X, criterion.marginals)
        y = self.target.astype(np.float64)
        return LinearFitter(self.family, rows, y, self.relative_weight, self.penalty(C))

    def _filled(self, model: Any, subset: IntArray, fit: Any, i: int) -> Any:
        """Return the model with the attributes of fit i."""
        model.coef_ = fit.coefficients[i][: len(subset)]
        model.intercept_ = float(fit.intercepts[i])
        model.n_features_in_ = len(subset)
        if model.clips:
            model.data_min_, model.data_max_ = extremes(take_columns(self.X, subset))
        return model


@dataclass(frozen=True, eq=False, kw_only=True)
class LogLinearProblem(LikelihoodProblem):
    """Rows with counts or amounts; rates have their exposures as weights."""

    family_name: str

    loss_name = "half_deviance"

    @property
    def family(self) -> Any:
        """Deviance of counts or amounts."""
        return FAMILIES[self.family_name]

    def check(self) -> None:
        """Raise an error unless the family can have the target."""
        super().check()
        low, name = float(self.y.min()), self.family_name
        if low < 0 or (low == 0 and name == "gamma"):
            needed = "positive" if name == "gamma" else "at least 0"
            raise ValueError(f"y must be {needed} for family={name!r}; got {low}.")

    @cached_property
    def first_step(self) -> RegressionProblem:
        """Least squares on the scale of the link, near means halfway between y and its mean."""
        # The usual start of generalised linear models. All rows have the same precision: most of
        # the error comes from the features that a small subset lacks.
        mean = 0.5 * (self.y + np.average(self.y, weights=self.sample_weight))
        fields = {"X": self.X, "allowed": self.allowed, "cost": self.cost}
        response = np.log(mean) + (self.y - mean) / mean
        return RegressionProblem(y=response, row_weight=self.sample_weight, **fields)

    @cached_property
    def sample_weight(self) -> FloatArray | None:
        """Exposures in units of their mean: they do not count rows."""
        weight = self.row_weight
        return None if weight is None else weight / weight[weight > 0].mean()

    @property
    def default_scoring(self) -> Any:
        """Share of the deviance that is explained."""
        return DEVIANCE_SCORERS[self.family_name]

    @property
    def score_params(self) -> dict[str, Any]:
        """Weights for the default scorer: a rate counts by its exposure."""
        return {} if self.row_weight is None else {"sample_weight": self.row_weight}

    def held_out_loss(self, y: Any, predicted: Any, weight: FloatArray | None) -> float:
        """Return half the mean deviance of predictions."""
        power = POWERS[self.family_name]
        return 0.5 * float(mean_tweedie_deviance(y, predicted, sample_weight=weight, power=power))

    def linear_model(
        self, subset: IntArray, fit: Any, i: int, C: float, *, clip: bool = True
    ) -> LogLinearModel:
        """Return fit i as a scikit-learn model."""
        model: LogLinearModel = self._filled(LogLinearModel(self.family_name, C=C), subset, fit, i)
        return model


class LogLinearModel(RegressorMixin, PenalisedModel):
    """Regression of counts or amounts on standardised columns, with the logarithm as link.

    Parameters
    ----------
    family : {"poisson", "gamma"}, default="poisson"
        Distribution of the target: counts or rates, or positive amounts.

    C : float, default=1.0
        Inverse strength of the penalty on the sum of half the deviances. With a penalty, values are
        clipped to the training range of their column; inf is no penalty.

    calibration_slope : float, default=1.0
        As in `LogisticModel`.

    Attributes
    ----------
    coef_, intercept_ : ndarray, float
        As in `sklearn.linear_model.PoissonRegressor`, on the original scale.

    data_min_, data_max_ : ndarray of shape (n_features,)
        Training range of each column; only with a penalty.
    """

    def __init__(
        self, family: str = "poisson", *, C: float = 1.0, calibration_slope: float = 1.0
    ) -> None:
        self.family = family
        self.C = C
        self.calibration_slope = calibration_slope

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def predict(self, X: Any) -> FloatArray:
        """Predict the mean of each row."""
        return np.exp(self._predictor(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the deviance that is explained."""
        power = POWERS[self.family]
        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=power))

    def with_slope(self, slope: float, X: Any, y: Any, weight: FloatArray | None) -> Self:
        """Multiply the coefficients by a factor, and refit the intercept on the training rows."""
        self.calibration_slope = slope
        if slope != 1.0:
            self.coef_ = slope * self.coef_
            shape = np.exp(self.linear_predictor(X) - self.intercept_)
            if self.family == "poisson":
                mean = np.average(y, weights=weight) / np.average(shape, weights=weight)
            else:
                mean = np.average(y / shape, weights=weight)
            self.intercept_ = float(np.log(mean))
        return self
