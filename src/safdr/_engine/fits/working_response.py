"""The log-loss near a model, made quadratic: a squared error of weighted rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from safdr._engine.arrays import FloatArray, RowArray
from safdr._engine.fits.fits import Fitter
from safdr._engine.taken_rows import gathered

# A row that the model is sure of has next to no curvature, and a response far off: at least this
# share of the largest curvature keeps it in sight.
LEAST_CURVATURE = 4e-3


def working_response(
    fitter: Fitter, X: RowArray, positive: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Weight and response of each row, near the model of all columns.

    With logits η and probabilities p of that model, the loss of others is, to second order and but
    for a constant, half the mean of p·(1 - p)·(η + (y - p) / (p·(1 - p)) - their logits)². Weights
    are in units of the largest possible, 1/4.
    """
    fits = fitter.fit(np.arange(X.shape[1])[None])
    logits = np.asarray(gathered(X) @ fits.coefficients[0]).ravel() + fits.intercepts[0]
    p = expit(logits)
    curvature = np.maximum(4.0 * p * (1.0 - p), LEAST_CURVATURE)
    return curvature, logits + 4.0 * (positive - p) / curvature
