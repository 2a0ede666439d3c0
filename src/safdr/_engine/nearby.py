"""What the columns outside a subset are worth to it: beside its members, and in their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from safdr._engine.annealing.swap_chains import is_collinear
from safdr._engine.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Products:
    """What a criterion knows of a subset and all columns, of which A need not be at hand.

    `inside` is A of the subset, `across` its rows of A, `diagonal` that of all of A.
    """

    subset: IntArray
    inside: FloatArray
    across: FloatArray
    diagonal: FloatArray
    D: FloatArray
    collinear_tol: float

    def gains(self, parts: Sequence[IntArray]) -> FloatArray:
        """What each column adds to the subset, and to it without each part: (1 + n_parts, n).

        Parts are places in the subset. Minus infinity for members and for columns that follow from
        those that stay. With P the inverse of A of the subset, slopes W = P·A_S and weights P·D_S,
        a column has `own` variance and explains `rest` beside all members; without those of I it
        has W_I'·P_II⁻¹·W_I more of the one and W_I'·P_II⁻¹·(P·D_S)_I more of the other.
        """
        inverse = np.linalg.pinv(self.inside, hermitian=True)
        slopes, weights = inverse @ self.across, inverse @ self.D[self.subset]
        own = self.diagonal - np.einsum("ij,ij->j", self.across, slopes)
        rest = self.D - self.across.T @ weights
        found = [self._worth(own, rest)]
        for part in parts:
            back = np.linalg.pinv(inverse[np.ix_(part, part)], hermitian=True)
            more = np.einsum("ij,ij->j", slopes[part], back @ slopes[part])
            found.append(self._worth(own + more, rest + slopes[part].T @ back @ weights[part]))
        return np.array(found)

    def _worth(self, own: FloatArray, rest: FloatArray) -> FloatArray:
        refused = is_collinear(own, self.diagonal, self.collinear_tol) | (own <= 0)
        refused[self.subset] = True
        worth: FloatArray = np.sum(rest**2, axis=1) / np.where(refused, 1.0, own)
        worth[refused] = -np.inf
        return worth
