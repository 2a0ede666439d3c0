"""Rows of A, kept while there is room: places near each other have most members in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.wide.criterion import WideCriterion

# Room for rows that are kept: 3000 of 10 000 columns, 300 of 100 000, 30 of a million.
KEPT_BYTES = 2**28


class ProductRows:
    """Products of members with all columns; those that were asked for last are kept."""

    def __init__(self, criterion: WideCriterion) -> None:
        self._criterion = criterion
        self._most = KEPT_BYTES // (8 * criterion.n_features)
        self._kept: dict[int, FloatArray] = {}

    def of(self, members: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """Rows of A, a block of columns at a time."""
        if len(members) > self._most:
            yield from self._criterion.against_all(members)
            return
        rows = self._rows(members.tolist())
        for some in self._criterion.rows.blocks():
            yield some, np.array([row[some] for row in rows])

    def _rows(self, members: list[int]) -> list[FloatArray]:
        # Those asked for last go to the end, and the first go when there is no more room.
        known = {member: self._kept.pop(member) for member in members if member in self._kept}
        missing = [member for member in members if member not in known]
        if missing:
            made = np.empty((len(missing), self._criterion.n_features))
            for some, block in self._criterion.against_all(np.array(missing)):
                made[:, some] = block
            # Copies, since a row of what was made together would keep all of it.
            known |= {member: row.copy() for member, row in zip(missing, made, strict=True)}
        while len(self._kept) + len(known) > self._most:
            del self._kept[next(iter(self._kept))]
        self._kept |= known
        return [known[member] for member in members]
