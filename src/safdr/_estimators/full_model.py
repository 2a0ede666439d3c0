"""The second-order approximation of the log-loss, as a squared error of weighted rows."""

from __future__ import annotations

from safdr._engine.fits.family import working_response
from safdr._estimators.measured_data import MeasuredData
from safdr._estimators.training_data import ClassData

# The penalty of the recipe: it keeps coefficients finite where the columns separate the classes.
FULL_MODEL_C = 1.0


def near_full_model(data: ClassData) -> MeasuredData:
    """Return the rows of two classes with a response and a weight each."""
    fitter = data.linear_fitter(FULL_MODEL_C)
    weight, response = working_response(fitter, data.X, data.codes == 1)
    if data.sample_weight is not None:
        weight = weight * data.sample_weight
    return MeasuredData(data.X, response, weight)
