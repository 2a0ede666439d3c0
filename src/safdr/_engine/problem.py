"""What is to be predicted: rows of several classes, or with measured outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray, Rows
from safdr._engine.criterion import Criterion, fisher_criterion, r2_criterion
from safdr._engine.fits.fits import Fits, Pick
from safdr._engine.fits.least_squares import LeastSquaresData
from safdr._engine.fits.logistic import LogisticData
from safdr._engine.fits.multinomial import MultinomialData
from safdr._engine.moments import JointMoments, WithinMoments, joint_moments, within_moments


class Problem(Protocol):
    """Rows and what they are to predict, as the search sees them."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def strata(self) -> IntArray:
        """Of which class each row is, so that a batch has its share of each; all zero if none."""

    @property
    def criterion(self) -> Criterion:
        """The quadratic criterion on all rows."""

    @property
    def pick(self) -> Pick:
        """The linear models that choose the winner."""

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """The criterion on the rows where `batch` is not -1; its A is `out`."""


def _relative(sample_weight: FloatArray | None) -> FloatArray | None:
    """In units of the largest: nothing depends on that but the range of the numbers."""
    return None if sample_weight is None else sample_weight / sample_weight.max()


class ClassProblem:
    """Rows of two or more classes: Fisher's ratio, and the cross-entropy of logistic models.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Finite values.
    codes : ndarray of shape (n_samples,)
        Class of each row, from 0 to n_classes - 1; each class has rows.
    n_classes : int
        Number of classes.
    sample_weight : ndarray of shape (n_samples,), default=None
        Positive weights; None means one.
    ridge : float, default=1e-6
        Added to the diagonal of the criterion's matrix.
    rank : ndarray of shape (n_features,), default=None
        Which of several features that say the same is needed; see `fisher_criterion`.
    """

    def __init__(
        self,
        X: Rows,
        codes: IntArray,
        n_classes: int = 2,
        sample_weight: FloatArray | None = None,
        *,
        ridge: float = 1e-6,
        rank: FloatArray | None = None,
    ) -> None:
        self.X = X
        self.strata = codes
        self.n_classes = n_classes
        self.sample_weight = _relative(sample_weight)
        self.ridge = ridge
        self.rank = rank

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @cached_property
    def _moments(self) -> WithinMoments:
        """Of all rows. The criterion takes over their matrix, so ask that for it."""
        return within_moments(self.X, self.strata, self.n_classes, self.sample_weight)

    @cached_property
    def criterion(self) -> Criterion:
        """Fisher's ratio on all rows."""
        # Of many features, one matrix must do for the criterion and the start of the fits.
        return fisher_criterion(self._moments, ridge=self.ridge, rank=self.rank, overwrite=True)

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """Fisher's ratio on some of the rows, on the scale of all; its A is `out`."""
        moments = within_moments(self.X, batch, self.n_classes, self.sample_weight, out=out)
        scale = self.criterion.scale
        return fisher_criterion(moments, ridge=self.ridge, scale=scale, overwrite=True)

    @cached_property
    def pick(self) -> Pick:
        """Unpenalised logistic models: binary, or multinomial."""
        rows = (self.X, self.strata, self.sample_weight, self._moments, self.criterion.covariances)
        share = self._moments.weight / self._moments.weight.sum()
        entropy = -float(share @ np.log(share))
        data = LogisticData(*rows) if self.n_classes == 2 else MultinomialData(*rows)
        return _LinearPick(data, "cross_entropy", entropy)


class RegressionProblem:
    """Rows with one or more measured outputs: R², and the squared error of linear models.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Finite values.
    outputs : ndarray of shape (n_samples, n_outputs)
        What was measured; no output is constant.
    sample_weight : ndarray of shape (n_samples,), default=None
        Positive weights; None means one.
    ridge : float, default=1e-6
        Added to the diagonal of the criterion's matrix.
    """

    def __init__(
        self,
        X: Rows,
        outputs: FloatArray,
        sample_weight: FloatArray | None = None,
        *,
        ridge: float = 1e-6,
    ) -> None:
        self.X = X
        self.outputs = outputs
        self.strata = np.zeros(len(outputs), dtype=np.int64)
        self.sample_weight = _relative(sample_weight)
        self.ridge = ridge

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @cached_property
    def _moments(self) -> JointMoments:
        """Of all rows. The criterion takes over their matrix, so ask that for it."""
        return joint_moments(self.X, self.outputs, self.sample_weight)

    @cached_property
    def criterion(self) -> Criterion:
        """R² on all rows."""
        return r2_criterion(self._moments, ridge=self.ridge, overwrite=True)

    def batch_criterion(self, batch: IntArray, out: FloatArray) -> Criterion:
        """R² on some of the rows, in units of the variances on all; its A is `out`."""
        moments = joint_moments(self.X, self.outputs, self.sample_weight, rows=batch >= 0, out=out)
        return r2_criterion(
            moments,
            ridge=self.ridge,
            scale=self.criterion.scale,
            output_scale=np.sqrt(self._moments.output_variance),
            overwrite=True,
        )

    @cached_property
    def pick(self) -> Pick:
        """Least-squares models."""
        variance = float(self._moments.output_variance.mean())
        data = LeastSquaresData(self._moments, self.criterion.covariances)
        return _LinearPick(data, "squared_error", variance)


@dataclass(frozen=True, eq=False)
class _LinearPick:
    """A room of fits, with the name of its loss and the loss without features."""

    data: Any
    loss_name: str
    loss_without_features: float

    def fit(self, subsets: IntArray, **how: Any) -> Fits:
        """Fit a model to each subset."""
        fits: Fits = self.data.fit(subsets, **how)
        return fits

    def baseline(self) -> float:
        """Loss of the model without features."""
        return self.loss_without_features
