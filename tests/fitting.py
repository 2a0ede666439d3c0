"""Quick selectors, and how to compare what they found."""

from functools import partial

import numpy as np

from safdr import Annealing, AnnealingSelector, Constraints, evaluate_subsets
from safdr._engine.criterion import fisher_criterion
from safdr._engine.moments import within_moments

QUICK = Annealing(n_replicas=10, max_steps=10)
QUIET = {"n_batches": 1, "batch_fraction": 1.0}
# The fits of the method as published, which can fail in ways that a penalty rules out.
unpenalised = partial(evaluate_subsets, C=np.inf)


def nested(**flat):
    """Parameters of a selector, those that go into its parameter objects given like the others."""
    for name, kind in {"annealing": Annealing, "constraints": Constraints}.items():
        mine = {key: flat.pop(key) for key in kind().get_params() if key in flat}
        flat |= {name: kind(**mine)} if mine else {}
    return flat


def fitted(X, y, size=3, sample_weight=None, **parameters):
    flat = {"random_state": 0} | QUICK.get_params() | parameters
    selector = AnnealingSelector(size, **nested(**flat))
    return selector.fit(X, y, sample_weight=sample_weight)


def criterion_of(X, codes, n_classes, weight=None):
    """Fisher's ratio on rows, which fits take their moments from."""
    return fisher_criterion(within_moments(X, codes, n_classes, weight), ridge=1e-6)


def assert_same_result(left, right):
    for name in ("subsets", "criterion_values", "cross_entropies", "coefficients", "intercepts"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    np.testing.assert_array_equal(left.trace.mean, right.trace.mean)
