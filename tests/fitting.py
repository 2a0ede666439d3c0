"""Quick selectors, and how to compare what they found."""

import numpy as np

from safdr import AnnealingSelector

QUICK = {"n_replicas": 10, "max_steps": 10}
QUIET = {"n_batches": 1, "batch_fraction": 1.0}


def fitted(X, y, size=3, sample_weight=None, **parameters):
    selector = AnnealingSelector(size, **({"random_state": 0} | QUICK | parameters))
    return selector.fit(X, y, sample_weight=sample_weight)


def assert_same_result(left, right):
    for name in ("subsets", "criterion_values", "cross_entropies", "coefficients", "intercepts"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    np.testing.assert_array_equal(left.trace.mean, right.trace.mean)
