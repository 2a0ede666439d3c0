"""A logistic model that does not extrapolate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from safdr._engine.arrays import FloatArray
from safdr._estimators.validation import extremes


class ClippedLogisticRegression(LogisticRegression):
    """To this model a value beyond all that it was fitted to counts as the nearest of them.

    A single row a thousand deviations out would else get a probability of 1e-300, and cost more
    log-loss than all others together. `data_min_` and `data_max_` hold the ends.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit as a logistic regression, and keep the ends of the columns."""
        super().fit(X, y, sample_weight)
        self.data_min_, self.data_max_ = extremes(check_array(X, accept_sparse="csr"))
        return self

    def decision_function(self, X: Any) -> Any:
        """Log-odds of each row, its values clipped."""
        check_is_fitted(self)
        rows: Any = validate_data(self, X, accept_sparse="csr", reset=False)
        scores = self.clipped(rows) @ self.coef_.T + self.intercept_
        return scores.ravel() if scores.shape[1] == 1 else scores

    def clipped(self, X: Any) -> FloatArray:
        """Rows with their values moved to the ends."""
        rows = X.toarray() if issparse(X) else X
        return np.clip(rows, self.data_min_, self.data_max_)
