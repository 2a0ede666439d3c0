"""Adapt the engine's private modules to what tests ask of any engine.

This file and `chains` are all that the contracts know of them: replace the engine, change these.
"""

from contextlib import ExitStack
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from scipy import sparse

from safdr._engine import batches as _batches
from safdr._engine import columns as _columns
from safdr._engine import criterion as _criterion
from safdr._engine import interrupt
from safdr._engine import moments as _moments
from safdr._engine import rows as _rows
from safdr._engine import shrinkage as _shrinkage
from safdr._engine.annealing import loop as _loop
from safdr._engine.annealing import population as _population
from safdr._engine.annealing.functions import CachedFunction
from safdr._engine.centred_rows import CentredRows
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.moments.buckets import BucketMoments
from safdr._engine.proof.prover import Prover
from safdr._engine.screen import duplicates as _duplicates
from safdr._engine.search import Search
from safdr._engine.stability import expected_errors as _expected_errors
from safdr._engine.stability import nogueira_index, share_intervals
from safdr._estimators.data import ClassProblem, RegressionProblem
from safdr._estimators.device import _in_units_of_r2
from safdr._files import write_all_atomically as write_all_atomically
from safdr._files import write_atomically as write_atomically

# ---- Moments ------------------------------------------------------------------------------------


class ClassMoments(NamedTuple):
    """Weight and mean of each class, and the sum of their covariances."""

    weight: np.ndarray
    mean: np.ndarray
    within: np.ndarray


def _class_moments(moments):
    return ClassMoments(moments.weight, moments.mean, moments.within)


def _from_rows(X, codes, n_classes, weight):
    return _class_moments(_moments.moments_of(X, codes, n_classes, weight))


def row_subset(X):
    """Return the same rows as a subset of the rows of an array, in another order there."""
    order = np.random.default_rng(1).permutation(2 * len(X))[: len(X)]
    source = np.full((2 * len(X), X.shape[1]), np.nan)
    source[order] = X
    return _rows.take_rows(source, order)


def take_rows(X, rows):
    """Return rows by their indices, without a copy."""
    return _rows.take_rows(X, rows)


def _in_buckets(columns, codes, n_classes, weight):
    """Collect rows in chunks, in random buckets, on three machines."""
    buckets = np.random.default_rng(0).integers(0, 6, len(columns))
    parts = [BucketMoments(6, n_classes, columns.shape[1]) for _ in range(3)]
    for i, some in enumerate(np.array_split(np.arange(len(columns)), 7)):
        of_rows = None if weight is None else weight[some]
        chunk = [c.copy() for c in columns[some].T]
        parts[i % 3].add(chunk, buckets[some], codes[some], of_rows)
    return parts[2] + parts[0] + parts[1], buckets


def _from_buckets(X, codes, n_classes, weight):
    total, _ = _in_buckets(X, codes, n_classes, weight)
    return _class_moments(total.moments(np.arange(6), X.shape[1]))


def moments_of_buckets(X, codes, n_classes, weight, buckets):
    """Return the moments of some buckets, and which rows these have."""
    total, bucket = _in_buckets(X, codes, n_classes, weight)
    rows = np.isin(bucket, buckets)
    return _class_moments(total.moments(np.asarray(buckets), X.shape[1])), rows


# Ways from rows to the moments of classes: f(X, codes, n_classes, weight).
CLASS_MOMENTS = {
    "rows": _from_rows,
    "sparse": lambda X, *how: _from_rows(sparse.csr_array(X), *how),
    "column order": lambda X, *how: _from_rows(np.asfortranarray(X), *how),
    "row subset": lambda X, *how: _from_rows(row_subset(X), *how),
    "buckets": _from_buckets,
    "columns": lambda X, *how: _from_columns(X, *how),
    "sparse columns": lambda X, *how: _from_columns(sparse.csr_array(X), *how),
}


def _from_columns(X, codes, n_classes, weight):
    """Moments of a column source, which forms products on request."""
    rows = CentredRows(X, codes, n_classes, weight)
    every = rows.columns(np.arange(X.shape[1]))
    within = np.hstack([part for _, part in rows.products(every)])
    np.fill_diagonal(within, rows.variance)
    return ClassMoments(rows.moments.weight, rows.moments.mean, within)


class JointMoments(NamedTuple):
    """Moments of features and outputs."""

    weight: float
    mean: np.ndarray
    covariance: np.ndarray
    cross: np.ndarray
    output_variance: np.ndarray


def _joint(m):
    return JointMoments(m.weight[0], m.mean[0], m.within, m.cross, m.output_variance)


def _joint_of_rows(X, Y, weight):
    return _joint(_moments.moments_of(X, np.zeros(len(Y), dtype=np.int64), 1, weight, Y))


def _joint_of_buckets(X, Y, weight):
    codes = np.zeros(len(X), dtype=np.int64)
    total, _ = _in_buckets(np.column_stack([X, Y]), codes, 1, weight)
    return _joint(total.moments(np.arange(6), X.shape[1]))


JOINT_MOMENTS = {
    "rows": _joint_of_rows,
    "sparse": lambda X, Y, weight: _joint_of_rows(sparse.csr_array(X), Y, weight),
    "row subset": lambda X, Y, weight: _joint_of_rows(row_subset(X), Y, weight),
    "buckets": _joint_of_buckets,
}


# ---- Criterion ----------------------------------------------------------------------------------


def quadratic_criterion(A, D, shrinkage=0.0):
    """Return a criterion on given matrices; `shrinkage` is added to the diagonal of A."""
    A = np.asarray(A) + shrinkage * np.eye(len(A))
    return _criterion.Criterion(A, D, np.ones(len(A)), shrinkage)


def problem_of(X, y, weight=None):
    """Return a problem without checks: integer codes of classes, or outputs."""
    weight = None if weight is None else np.asarray(weight, dtype=float)
    rows = {"X": X, "y": y, "row_weight": weight}
    rows["allowed"] = AllowedSubsets.without_limits(X.shape[1])
    if np.asarray(y).dtype.kind == "f":
        return RegressionProblem(**rows)
    return ClassProblem(**rows, codes=y.astype(np.int64), classes=np.unique(y))


def criterion_of(X, y, weight=None, shrinkage=1e-6):
    """Return Fisher's ratio of rows with codes, or R² of rows with outputs."""
    return problem_of(X, y, weight).criterion(shrinkage)


def criterion_of_columns(X, y, weight=None, shrinkage=1e-6, **settings):
    """Return the same criterion on a source that computes A from rows on request."""
    with ExitStack() as stack:
        for name, number in {"MAX_DENSE": 0, **settings}.items():
            stack.enter_context(patch.object(_columns, name, number))
        return problem_of(X, y, weight).column_criterion(shrinkage)


def many_columns(limit):
    """Have matrices of more columns than this computed on request only, in a context."""
    return patch.object(_columns, "MAX_DENSE", limit)


def source_of(criterion):
    """Return what the matrix of a criterion is read from: block, row, rows, times, diagonal."""
    return criterion.columns


def find_duplicates(X, weight=None, **how):
    """Return pairs (kept, dropped), and which columns are redundant."""
    return _duplicates.find_duplicates(X, weight, **how)


def shrinkage_of(criterion):
    """Return what was added to the diagonal, relative to it."""
    return criterion.ridge


def auto_shrinkage(correlation, n_rows):
    """Return the default shrinkage of a correlation matrix of so many rows."""
    n_live = int(np.count_nonzero(np.diag(correlation)))
    return _shrinkage.ridge_of_squares(float(np.sum(correlation**2)), n_live, n_rows)


def unneeded(criterion):
    """Return the features that no subset needs."""
    return criterion.redundant.tolist()


# ---- Batches ------------------------------------------------------------------------------------


def drawn_batches(codes, n_batches, share, seed=0):
    """Return a mask of rows for each batch."""
    rng = np.random.default_rng(seed)
    return np.array([b >= 0 for b in _batches.draw_batches(codes, n_batches, share, rng)])


def affordable_batches(n_batches, n_features):
    """Return the number of batches whose matrices fit into memory."""
    return _batches.affordable_batches(n_batches, n_features)


def batch_criteria(problem, criterion, n_batches, share, seed=0):
    """Return A and D of random batches of a problem."""
    return problem.batches().draw(criterion, n_batches, share, seed)


def batch_stack(X, y, n_batches, fraction, size=1, seed=0, weight=None, shrinkage=1e-6):
    """Return A and D of the batches that a search draws for a size, or None for no batches."""
    settings = {"n_batches": n_batches, "batch_fraction": fraction}
    return search(X, y, weight=weight, shrinkage=shrinkage, seed=seed, **settings)._batches_for(
        size
    )


# ---- Constraints --------------------------------------------------------------------------------


def constraints(n_features, always=(), never=(), groups=(), at_most_one_of=(), signs=None):
    """Return constraints on columns; `signs` has -1, 0 or 1 for each of them."""
    return AllowedSubsets.make(
        n_features,
        always_include=list(always),
        never_include=list(never),
        groups=[list(g) for g in groups],
        at_most_one_of=[list(s) for s in at_most_one_of],
        signs=None if signs is None else np.asarray(signs, dtype=float),
    )


def has_size(allowed, size):
    """Return True if there is a subset of this size; else the error of a search is raised."""
    allowed.check_size(size)
    return True


def random_allowed(allowed, size, n, rng):
    """Return random allowed subsets, each a tuple of columns."""
    return [tuple(allowed.columns_of(s).tolist()) for s in allowed.random(size, n, rng)]


def every_allowed(allowed, size, most=10_000):
    """Return all allowed subsets of a size, or None if they are more than `most`."""
    found = allowed.every(size, most)
    return None if found is None else [tuple(allowed.columns_of(s).tolist()) for s in found]


def feasible_sizes(allowed):
    """Return the sizes for which there is a subset."""
    return allowed.sizes()


# ---- Subsets ------------------------------------------------------------------------------------


def padded(starts):
    """Return subsets as rows, filled up with -1."""
    width = max(map(len, starts))
    return np.array([[*s, *[-1] * (width - len(s))] for s in starts], dtype=np.int64)


def members(subsets):
    """Return rows filled up with -1 as tuples of columns."""
    return [tuple(j for j in row if j >= 0) for row in np.asarray(subsets).tolist()]


class OfTuples:
    """A function of tuples, as chains call it; it can be pickled if the function can."""

    def __init__(self, value):
        self.value = value

    def __call__(self, subset, batch):
        return self.value(tuple(subset.tolist()))


# ---- Annealing ----------------------------------------------------------------------------------


def anneal(chains, seed=0, **settings):
    """Anneal chains and return the trace."""
    settings = _loop.AnnealingSettings(**settings)
    return settings.run(chains, np.random.default_rng(seed))


def anneal_population(chains, seed=0, target_ess=0.9, **settings):
    """Anneal a population and return the trace."""
    settings = _population.PopulationSettings(target_ess=target_ess, **settings)
    return settings.run(chains, np.random.default_rng(seed))


def search(
    X, y, *, weight=None, shrinkage=1e-6, C=1.0, seed=0, allowed=None, cost=None, population=False,
    batches=True, **settings,
):  # fmt: skip
    """Return a search over the rows, with the linear models that choose the winner."""
    problem = problem_of(X, y, weight)
    criterion = problem.criterion(shrinkage)
    make = _population.PopulationSettings if population else _loop.AnnealingSettings
    return Search(
        criterion,
        settings=make(**settings),
        seed=seed,
        fitter=problem.fitter(C, criterion),
        batches=problem.batches() if batches else None,
        constraints=allowed or problem.allowed,
        cost=cost,
    )


def function_search(value, n_features, *, seed=0, allowed=None, cost=None, **settings):
    """Return a search on any function of a subset."""
    allowed = allowed or AllowedSubsets.without_limits(n_features)
    cached = CachedFunction(OfTuples(value))
    return Search(
        None,
        settings=_loop.AnnealingSettings(**settings),
        seed=seed,
        constraints=allowed,
        cost=cost,
        function=cached,
    )


# ---- Fits ---------------------------------------------------------------------------------------


def fitter(X, y, weight=None, C=1.0):
    """Return what fits linear models to subsets of the columns."""
    problem = problem_of(X, y, weight)
    return problem.fitter(C, problem.criterion(1e-6))


def _rows_on_device(problem):
    from safdr._engine.device.criterion import RowsOnDevice

    how = problem.relative_weight, problem.rows_a_weight, "cpu"
    if not problem.is_regression:
        return RowsOnDevice(problem.X, problem.codes, None, *how)
    outputs = _in_units_of_r2(problem)
    return RowsOnDevice(problem.X, np.zeros(len(outputs), dtype=np.int64), outputs, *how)


def device_criterion(X, y, weight=None, shrinkage="auto"):
    """Return a criterion of rows on torch's CPU, back as arrays."""
    found = _rows_on_device(problem_of(X, y, weight)).criterion(shrinkage)
    A, D = found.A.numpy(), found.D.numpy()
    return _criterion.Criterion(A, D, found.scale, found.ridge, found.redundant)


def device_search(X, y, *, C=1.0, seed=0, allowed=None, cost=None, batches=True, **settings):
    """Return a search on torch's CPU."""
    from safdr._engine.device.search import DeviceSearch

    rows = _rows_on_device(problem_of(X, y))
    return DeviceSearch(
        rows.criterion(1e-6),
        batches=rows if batches else None,
        settings=_loop.AnnealingSettings(**settings),
        seed=seed,
        fitter=fitter(X, y, None, C),
        constraints=allowed or AllowedSubsets.without_limits(X.shape[1]),
        cost=cost,
    )


# ---- Proof --------------------------------------------------------------------------------------


def prover(criterion, allowed=None, cost=None):
    """Return what proves the best subsets of a criterion: `prove(size, seconds=)`."""
    return Prover(criterion, allowed, cost)


def near_optimal(prover, size, *, rtol, max_subsets=10_000, seconds=10.0, n_threads=1):
    """Return the subsets whose value is within a share of the best."""
    how = {"seconds": seconds, "n_threads": n_threads}
    return prover.near_optimal(size, rtol=rtol, max_subsets=max_subsets, **how)


# ---- Stability, interruptions -------------------------------------------------------------------


def nogueira(selected, block=1):
    """Return the stability of selections, one a row of flags, and its interval."""
    return nogueira_index(np.asarray(selected, dtype=bool), block)


def expected_errors(size, n_features, n_resamples):
    """The bound of Shah and Samworth."""
    return _expected_errors(size, n_features, n_resamples)


def wilson(counts, n):
    """Return the intervals of shares."""
    return share_intervals(np.asarray(counts), n)


def asking(ask):
    """Call `ask` now and then during long work in a context; an error that it raises ends it."""
    return interrupt.asking(ask)
