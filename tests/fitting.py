"""Quick selectors, and how to compare what they found."""

from functools import partial

import numpy as np

from safdr import Annealing, AnnealingSelector, Constraints, evaluate_subsets
from safdr._engine.criterion import fisher_criterion
from safdr._engine.moments import within_moments

QUICK = Annealing(n_replicas=10, max_steps=10)
QUIET = {"n_batches": 1, "batch_fraction": 1.0}
# The fits of the method as published, which can fail in ways that a penalty rules out.
unpenalised = partial(evaluate_subsets, C=np.inf, ridge=1e-6)


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


def near_copy_of_a_binary(seed=50_584):
    """Among strong 0/1 features one that differs from another by 1e-7, and Cauchy columns."""
    rng = np.random.default_rng(seed)
    n_rows, share = int(rng.choice([60, 200, 500])), rng.choice([0.03, 0.2, 0.5])
    y = (rng.random(n_rows) < share).astype(np.int64)
    y[:3], y[3:6] = 1, 0
    columns = []
    for _ in range(12):
        kind, z = rng.integers(7), rng.normal(size=n_rows) + y * rng.uniform(0, 1.5)
        wrong, heavy = rng.random(n_rows) < 0.02, rng.standard_cauchy(n_rows)
        counts = np.where(rng.random(n_rows) < 0.1, rng.poisson(2, n_rows), 0)
        kinds = [z, np.exp(2 * z), y ^ wrong, heavy + y, 1e9 + z, counts, 1e13 * z]
        columns.append(kinds[kind].astype(float))
    rng.random()
    columns[3] = columns[2] + 1e-7 * rng.normal(size=n_rows)
    rng.random()
    return np.column_stack(columns), y, rng.uniform(0.01, 5, n_rows)
