"""A criterion over subsets becomes one over what they leave out.

With U the usable features, S a subset of them, T the others, Q = A_UU⁻¹ and V = Q·D_U,

    J(S) = J(U) - trace(V_T' Q_TT⁻¹ V_T)

So what is lost with T is a quadratic criterion too, and where S is more than half of U, its
matrices are the smaller ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import Criterion, CriterionStack


@dataclass(frozen=True, eq=False)
class Complement:
    """What the value of a subset loses with the usable features that are not in it."""

    # The features that may be in a subset, in order; the criteria below number them from 0.
    usable: IntArray
    # What is lost: on all rows, and on each batch.
    all_rows: Criterion
    batches: CriterionStack | None
    # Value of all usable features together, on all rows.
    whole: float

    @classmethod
    def make(
        cls, criterion: Criterion, batches: CriterionStack | None, usable: IntArray
    ) -> Complement | None:
        """Turn the criteria over, where that is safe."""
        least = criterion.collinear_tol
        turned = _turned(criterion.A, criterion.D, usable, least)
        if turned is None:
            return None
        Q, V, scale = turned
        whole = float(np.sum(criterion.D[usable] * (V * scale[:, None])))
        all_rows = Criterion(Q, V, scale, criterion.ridge)
        if batches is None:
            return cls(usable, all_rows, None, whole)
        stack = np.empty((len(batches[0]), *Q.shape)), np.empty((len(batches[0]), *V.shape))
        for i, (A, D) in enumerate(zip(*batches, strict=True)):
            turned = _turned(A, D, usable, least)
            if turned is None:
                return None
            stack[0][i], stack[1][i], _ = turned
        return cls(usable, all_rows, stack, whole)


def _turned(
    A: FloatArray, D: FloatArray, usable: IntArray, least: float
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Q and V with the diagonal of Q scaled to one, and what they were divided by.

    None where the others leave a feature no more than `least` of its variance.
    """
    A = A[usable[:, None], usable]
    try:
        Q = np.asarray(np.linalg.inv(A), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    precision = Q.diagonal().copy()
    inflation = precision * np.maximum(A.diagonal(), 1.0)
    # A singular matrix may also give NaN, or negative numbers.
    if not (precision.min() > 0 and inflation.max() < 1.0 / least):
        return None
    scale = np.sqrt(precision)
    V = Q @ D[usable] / scale[:, None]
    Q /= scale
    Q /= scale[:, None]
    return Q, V, scale
