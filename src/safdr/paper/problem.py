"""A two-class problem, cleaned and ready for the protocol."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels and names of one data set.

    Attributes
    ----------
    name : str
        Of the data set.
    X : ndarray of shape (n_samples, n_features)
        Finite values.
    y : ndarray of shape (n_samples,)
        0 or 1.
    feature_names : tuple of str
        One for each column.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Rows, features and rows of class 1."""
        return len(self.X), self.X.shape[1], int(self.y.sum())

    def sha256(self) -> str:
        """Checksum of the values, whatever file they came from.

        Returns
        -------
        str
        """
        digest = hashlib.sha256()
        for array in (self.X.astype("<f8"), self.y.astype("<i8")):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()
