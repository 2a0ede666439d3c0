"""Gains of the columns outside a subset: added to it, or in the place of a member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import is_collinear
from safdr._engine.wide.criterion import WideCriterion


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

    @classmethod
    def of(cls, criterion: Any, subset: IntArray) -> Self:
        """Return those of a criterion, of which A may not exist."""
        if isinstance(criterion, WideCriterion):
            inside = criterion.block(subset)
            across = np.hstack([part for _, part in criterion.against_all(subset)])
            diagonal = criterion.diagonal + criterion.ridge
        else:
            inside, across = criterion.block(subset), criterion.A[subset]
            diagonal = np.diag(criterion.A)
        return cls(subset, inside, across, diagonal, criterion.D, criterion.collinear_tol)

    def gains(self, parts: Sequence[IntArray]) -> FloatArray:
        """Return what each column adds to the subset, with and without each part.

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


def best_replacements(
    products: Products, allowed: AllowedSubsets, cost: FloatArray | None, n_best: int
) -> IntArray:
    """Return the sorted columns of a subset and of the best replacements of each member."""
    chosen = allowed.selection_of(products.subset)
    of_columns = allowed.group_of[products.subset]
    members = np.flatnonzero(chosen)
    gains = products.gains([np.flatnonzero(of_columns == i) for i in members])[1:]
    kept = chosen.copy()
    for member, of_member in zip(members, gains, strict=True):
        # A group is worth at least what its best column is.
        worth = np.full(allowed.n_groups, -np.inf)
        np.maximum.at(worth, allowed.group_of, of_member)
        if cost is not None:
            worth -= np.bincount(allowed.group_of, cost, minlength=allowed.n_groups)
        worth[allowed.exclude] = -np.inf
        if allowed.conflicts is not None:
            rest = np.setdiff1d(members, member)
            worth[allowed.conflicts[rest].any(axis=0)] = -np.inf
        best = np.argsort(-worth, kind="stable")[:n_best]
        kept[best[worth[best] > -np.inf]] = True
    return allowed.columns_of(kept)
