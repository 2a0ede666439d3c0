"""Searches on rows, as the selectors make them."""

import numpy as np
from safdr._estimators.training_data import ClassData

from safdr._engine.search import Search


def class_rows(X, y, sample_weight=None):
    """Training data without checks."""
    classes, codes = np.unique(y, return_inverse=True)
    return ClassData(X, y, sample_weight, codes.astype(np.int64), classes)


def class_search(X, y, **how):
    """Search rows of several classes; logistic models choose the winner."""
    rows = class_rows(X, y)
    criterion = rows.criterion(1e-6)
    return Search(criterion, noise=rows.noise(criterion), fitter=rows.fitter(criterion), **how)
