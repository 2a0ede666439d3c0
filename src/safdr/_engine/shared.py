"""What searches on the same rows share: criteria that differ in the ridge alone, and batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray
from safdr._engine.criterion import CriterionStack, Ridge, with_ridge


class SharedCriteria:
    """The last criterion of some rows, from which others follow, and the last batches."""

    def __init__(self) -> None:
        self.batches = LastBatches()
        self._last: tuple[Ridge, Any, Any] | None = None

    def get(
        self,
        ridge: Ridge,
        rank: Any,
        rows_a_weight: float,
        make: Callable[[Ridge, Any], Any],
    ) -> Any:
        """A criterion: from the last one where that has the same rank, else made from the rows."""
        last = self._last  # threads see all of it or nothing
        if last is None or not np.array_equal(rank, last[1]):
            made = make(ridge, rank)
        elif last[0] == ridge:
            made = last[2]
        else:
            made = with_ridge(last[2], ridge, rows_a_weight)
        self._last = ridge, rank, made
        return made


class LastBatches:
    """The batches that some rows were last cut into, for criteria that differ in the ridge."""

    def __init__(self) -> None:
        self._last: tuple[Any, float, CriterionStack, FloatArray] | None = None

    def keep(self, drawn: Any, ridge: float, stack: CriterionStack, diagonals: FloatArray) -> None:
        """Keep these in place of the last; the diagonals are those without the ridge."""
        self._last = (drawn, ridge, stack, diagonals)

    def get(self, drawn: Any, ridge: float) -> CriterionStack | None:
        """Those that were drawn alike, with this ridge; None where others were drawn last."""
        last = self._last
        if last is None or last[0] != drawn:
            return None
        _, of_last, (A, D), diagonals = last
        if of_last != ridge:
            A = A.copy()
            every = np.arange(A.shape[1])
            A[:, every, every] = diagonals + ridge
        return A, D
