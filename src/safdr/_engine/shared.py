"""What searches on the same rows leave to each other: criteria and batches of other ridges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.criterion import DrawnBatches, Ridge, with_ridge


class LastCriterion(NamedTuple):
    """A criterion, and what it was made for."""

    ridge: Ridge
    rank: Any  # an array, or None
    criterion: Any

    def again(self, ridge: Ridge, rank: Any, rows_a_weight: float) -> Any:
        """The same with another ridge; None where the rank is another."""
        if not np.array_equal(rank, self.rank):
            return None
        if ridge in (self.ridge, self.criterion.ridge):
            return self.criterion
        return with_ridge(self.criterion, ridge, rows_a_weight)

    def among(self, columns: IntArray) -> LastCriterion:
        """Return the same for some of the columns."""
        rank = None if self.rank is None else self.rank[columns]
        return LastCriterion(self.ridge, rank, self.criterion.among(columns))


@dataclass(eq=False)
class Shared:
    """The last criterion of some rows, and the last batches that they were cut into."""

    criterion: LastCriterion | None = None
    batches: DrawnBatches | None = None
