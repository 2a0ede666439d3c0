"""The log-loss near the model of all features, as a squared error of weighted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr._engine.arrays import FloatArray
from safdr._engine.fits.working_response import working_response
from safdr._engine.shrinkage import SMALLEST_AUTO

FULL_MODEL_C = 1.0

# Of very many features, those that are strongest alone stand for all.
N_STRONGEST = 500


def near_full_model(data: Any) -> tuple[FloatArray, FloatArray]:
    """Weight and response of each row of two classes."""
    some = data
    if data.is_wide:
        order = np.argsort(-data.wide_criterion(SMALLEST_AUTO).own_values, kind="stable")
        some = data.columns(np.sort(order[:N_STRONGEST]))
    full = some.fitter(some.criterion(SMALLEST_AUTO), FULL_MODEL_C)
    weight, response = working_response(full, some.X, data.codes == 1)
    return weight if data.sample_weight is None else weight * data.sample_weight, response
