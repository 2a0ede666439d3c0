"""The residual share of the output variance, estimated on the path."""

from __future__ import annotations

import numpy as np

from safdr._engine.screen.path import lasso_path
from safdr._engine.screen.problem import Problem
from safdr._engine.shrinkage import SMALLEST_AUTO

# Knots with more slopes say little: their degrees of freedom are close to the number of rows.
MAX_SLOPES = 100
SLOPES_PER_ROW = 0.5
MIN_ROWS = 4


def unexplained_share(problem: Problem, n_rows: float) -> float:
    """Return the smallest generalised cross-validation error on the path, averaged over outputs."""
    # The number of nonzero slopes is the lasso's degrees of freedom also after selection
    # (Zou, Hastie and Tibshirani 2007). So the share is not optimistic, unlike the R² of a
    # refitted model.
    n_outputs = problem.D.shape[1]
    if n_outputs == 1:
        return _of_output(problem, n_rows)
    # The D of one output has that output's variance as its unit.
    outputs = (problem.of_output(np.sqrt(n_outputs) * D) for D in problem.D.T)
    return float(np.mean([_of_output(output, n_rows) for output in outputs]))


def _of_output(problem: Problem, n_rows: float) -> float:
    if n_rows < MIN_ROWS:
        return 1.0
    n_forced = len(problem.forced)
    d, share = problem.D[:, 0], 1.0
    for event in lasso_path(problem):
        n_slopes = np.count_nonzero(event.slopes)
        if n_slopes > min(SLOPES_PER_ROW * n_rows, MAX_SLOPES):
            break
        length = float(np.abs(event.slopes[n_forced:]).sum())
        residual = 1.0 - float(d[event.members] @ event.slopes) - event.penalty * length
        share = min(share, residual / (1.0 - n_slopes / (n_rows - 1.0)) ** 2)
    return max(share, SMALLEST_AUTO)
