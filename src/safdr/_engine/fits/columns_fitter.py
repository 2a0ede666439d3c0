"""Models on subsets of very many columns, fitted on those that occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from safdr._engine.arrays import IntArray
from safdr._engine.fits.fits import Fits, Fitter


@dataclass(frozen=True, eq=False)
class ColumnsFitter:
    """As the fitters that it makes, one for the columns of the subsets at hand."""

    fitter_of: Callable[[IntArray], Fitter]

    @property
    def loss_name(self) -> str:
        """What the losses are."""
        return self._of_one.loss_name

    def fit(self, subsets: IntArray, *, best_only: bool = False, n_threads: int = 1) -> Fits:
        """Fit a model to each subset."""
        columns, places = np.unique(subsets, return_inverse=True)
        fitter = self.fitter_of(columns)
        return fitter.fit(places.reshape(subsets.shape), best_only=best_only, n_threads=n_threads)

    def baseline(self) -> float:
        """Loss of the model without features."""
        return self._of_one.baseline()

    @property
    def _of_one(self) -> Fitter:
        return self.fitter_of(np.zeros(1, dtype=np.int64))
