"""The values of one data set: what cleaning makes, and what the protocol splits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class TaskData:
    """Rows, target (0 or 1 but in other tasks) and names of the columns; named when loaded."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    name: str = ""

    def complete(self) -> TaskData:
        """Only the rows without a missing value."""
        kept = ~np.isnan(self.X).any(axis=1)
        return replace(self, X=self.X[kept], y=self.y[kept])

    def columns(self, kept: NDArray[np.intp]) -> TaskData:
        """Only some columns."""
        names = tuple(self.feature_names[j] for j in kept)
        return replace(self, X=np.ascontiguousarray(self.X[:, kept]), feature_names=names)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows, features and rows of class 1."""
        return len(self.X), self.X.shape[1], int(self.y.sum())

    def sha256(self) -> str:
        """Checksum of the values, whatever file they came from."""
        digest = hashlib.sha256()
        for array in (self.X.astype("<f8"), self.y.astype("<i8")):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()
