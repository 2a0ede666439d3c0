"""Class moments become a criterion J(S) = trace(D_S' A_SS⁻¹ D_S) over subsets S of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from safdr.moments import ClassMoments, FloatArray, IntArray

# A and D of several criteria: (n_criteria, n_features, n_features or n_columns).
CriterionStack: TypeAlias = tuple[FloatArray, FloatArray]

# A candidate of whose variance the other members leave no more than this is a linear combination of
# them for all that data can tell: its coefficient would be uncertain 300 times over.
MIN_COLLINEAR_TOL = 1e-5

# A feature with a variance below this share of the squared distance of the means (a criterion value
# above 10 000 by itself) separates the classes; what is left of its variance sets no scale.
SEPARATING = 1e-4


@dataclass(frozen=True, eq=False)
class Criterion:
    """A quadratic criterion over subsets, the larger the better.

    Attributes
    ----------
    A : ndarray of shape (n_features, n_features)
        Positive definite; its diagonal is one (plus the ridge), but for features that separate the
        classes alone, and in batches.
    D : ndarray of shape (n_features, n_columns)
        What is to be explained: one column for two classes.
    scale : ndarray of shape (n_features,)
        What the features were divided by. J does not depend on it; conditioning does. Zero marks a
        feature that never changes.
    ridge : float
        What was added to the diagonal of A.
    needless : ndarray of int
        Features that no subset needs: those that never change, and all but the first of those that
        are constant within each class, since each of them is the label by another name.
    """

    A: FloatArray
    D: FloatArray
    scale: FloatArray
    ridge: float
    needless: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.A)

    @property
    def collinear_tol(self) -> float:
        """Variance that a candidate must have of its own, unless all that it has is.

        With a ridge, an exact copy of a member keeps up to twice the ridge as its own.
        """
        return 2.0 * self.ridge + MIN_COLLINEAR_TOL

    def value(self, subset: Sequence[int] | IntArray) -> float:
        """J of one subset."""
        index = np.asarray(subset, dtype=np.intp)
        D = self.D[index]
        return float(np.sum(D * np.linalg.solve(self.A[np.ix_(index, index)], D)))


def fisher_criterion(
    moments: ClassMoments, *, ridge: float, scale: FloatArray | None = None
) -> Criterion:
    """Fisher discriminant ratio of two classes.

    A is the sum of the two population covariances and D the difference of the means, so that
    J(S) = d'·S_W⁻¹·d over the features in S.

    Parameters
    ----------
    moments : ClassMoments
        Of two classes, both with weight.
    ridge : float
        Added to the diagonal of A, relative to each feature's variance within the classes.
    scale : ndarray of shape (n_features,), default=None
        What to divide the features by: that of the whole data, where the moments are a batch's.
        None takes the deviation within the classes, so that the diagonal of A is one; or, for a
        feature that separates them (nearly) perfectly, a share of the distance of the means.

    Returns
    -------
    Criterion
    """
    if len(moments.weight) != 2:
        raise ValueError(f"fisher_criterion needs moments of 2 classes, got {len(moments.weight)}.")
    A = moments.covariance.sum(axis=0)
    D = (moments.mean[1] - moments.mean[0])[:, None]
    if scale is None:
        scale = np.sqrt(np.maximum(np.diag(A), SEPARATING * (D**2).sum(axis=1)))
    constant = scale == 0
    label_copies = np.flatnonzero((np.diag(A) == 0) & ~constant)
    needless = np.union1d(np.flatnonzero(constant), label_copies[1:])
    divisor = np.where(constant, 1.0, scale)
    A = A / np.outer(divisor, divisor)
    A[np.diag_indices_from(A)] += ridge
    return Criterion(A, D / divisor[:, None], scale, ridge, needless)


def stack_criteria(criteria: Sequence[Criterion]) -> CriterionStack:
    """Put criteria over the same features into two arrays, as the kernel takes them."""
    return np.stack([c.A for c in criteria]), np.stack([c.D for c in criteria])
