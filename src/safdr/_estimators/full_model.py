"""The log-loss near the model of all features, as a squared error of weighted rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr._engine.fits.working_response import working_response
from safdr._engine.shrinkage import SMALLEST_AUTO
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.training_data import ClassData

FULL_MODEL_C = 1.0

# Of very many features, those that are strongest alone stand for all.
N_STRONGEST = 500


def near_full_model(data: ClassData) -> MeasuredData:
    """Rows of two classes with a response and a weight each."""
    some = data
    if data.is_wide:
        order = np.argsort(-data.wide_criterion(SMALLEST_AUTO).own_values, kind="stable")
        some = data.columns(np.sort(order[:N_STRONGEST]))
    full: Any = some.fitter(some.criterion(SMALLEST_AUTO), FULL_MODEL_C)
    weight, response = working_response(full, some.X, data.codes == 1)
    if data.sample_weight is not None:
        weight = weight * data.sample_weight
    return MeasuredData(data.X, response, weight)
