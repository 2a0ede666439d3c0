"""Records of results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Course of the annealing: one entry for the start, then one for each temperature step.

    Attributes
    ----------
    beta : ndarray of shape (n_steps + 1,)
        Inverse temperature; 0 at the start.
    mean, std : ndarray of shape (n_steps + 1,)
        Mean and standard deviation of the criterion over the replicas, on all training rows.
    acceptance : ndarray of shape (n_steps + 1,)
        Share of the proposed swaps that were accepted; NaN at the start.
    converged : bool
        Whether the mean converged before the last step.
    n_families, family_size : ndarray of shape (n_steps + 1,) or None
        For `PopulationAnnealing`: the number of initial replicas with descendants, and the mean
        number of replicas with the same ancestor as a random replica.
    """

    beta: FloatArray
    mean: FloatArray
    std: FloatArray
    acceptance: FloatArray
    converged: bool
    n_families: IntArray | None = None
    family_size: FloatArray | None = None

    def __repr__(self) -> str:
        return (
            f"Trace(n_steps={len(self)}, beta={self.beta[-1]:.6g}, mean={self.mean[-1]:.6g}, "
            f"std={self.std[-1]:.6g}, converged={self.converged})"
        )

    def __len__(self) -> int:
        return len(self.beta) - 1


@dataclass(frozen=True, eq=False, repr=False)
class AnnealingResult:
    """Candidates of the search at one size, with their models.

    Attributes
    ----------
    subsets : ndarray of shape (n_candidates, size)
        Sorted feature indices of each candidate. Rows are padded with -1 if groups differ in
        length.
    criterion_values : ndarray of shape (n_candidates,)
        Criterion values on all training rows, less the cost of the features.
    losses : ndarray of shape (n_candidates,)
        Training losses of the models, penalty included; NaN for models that were not fitted, and
        estimates for candidates that were discarded early. With an `estimator`, cross-validated
        losses; with a custom criterion, its negative values.
    loss_name : str
        "cross_entropy", "squared_error", or another name.
    separated, converged : ndarray of shape (n_candidates,), dtype=bool
        Whether the subset separates the classes, so that the unpenalised model has no optimum, and
        whether the model was fitted to convergence.
    coefficients, intercepts : ndarray of shape (n_candidates, ..., size) and (n_candidates, ...)
        Linear models on the original scale; None for other models. With several outputs, or more
        than two classes, the second axis has one row for each.
    cost_terms : ndarray of shape (n_candidates,)
        Cost of the features in units of the loss; infinite if a coefficient has the wrong sign.
    trace : Trace
        Course of the annealing.
    shrinkage : float
        Shrinkage of the criterion; NaN for a custom criterion.
    n_screened, n_replicas : int
        Number of features that the screen kept, and number of replicas.
    feature_names : tuple of str or None
        Names of all features.
    """

    subsets: IntArray
    criterion_values: FloatArray
    losses: FloatArray
    loss_name: str
    separated: BoolArray
    converged: BoolArray
    coefficients: FloatArray | None
    intercepts: FloatArray | None
    cost_terms: FloatArray
    trace: Trace
    shrinkage: float
    n_screened: int
    n_replicas: int
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"AnnealingResult(subset={labels_of(self.subset, self.feature_names)}, "
            f"criterion_value={self.criterion_value:.6g}, {self.loss_name}={self.loss:.6g}, "
            f"n_steps={len(self.trace)})"
        )

    @property
    def best(self) -> int:
        """Index of the candidate with the least loss plus cost; ties go to the largest criterion
        value.
        """
        return int(np.lexsort((-self.criterion_values, self.losses + self.cost_terms))[0])

    @property
    def size(self) -> int:
        """Number of columns of the best candidate."""
        return len(self.subset)

    @property
    def subset(self) -> IntArray:
        """Sorted feature indices of the best candidate."""
        subset: IntArray = self.subsets[self.best]
        return subset[subset >= 0]

    @property
    def subset_names(self) -> tuple[str, ...] | None:
        """Feature names of the best candidate."""
        names = self.feature_names
        return None if names is None else tuple(names[j] for j in self.subset)

    @property
    def criterion_value(self) -> float:
        """Criterion value of the best candidate."""
        return float(self.criterion_values[self.best])

    @property
    def loss(self) -> float:
        """Loss of the best candidate."""
        return float(self.losses[self.best])


@dataclass(frozen=True, eq=False, repr=False)
class Proof:
    """Upper bound on the criterion over all allowed subsets of a size, on the training rows.

    Attributes
    ----------
    optimal : bool
        Whether no allowed subset of this size has a larger criterion value than `subset`.
    value, upper_bound : float
        Criterion value of `subset`, less its cost, and upper bound on those of all allowed subsets.
        The bound is infinite if rounding leaves none for collinear features.
    gap : float
        ``upper_bound / value - 1``; infinite if the value is not positive and below the bound.
    subset : ndarray of int
        Sorted feature indices of the best known subset.
    n_nodes, seconds : int, float
        Number of nodes of the search tree, and wall-clock time.
    fixed_in, fixed_out : ndarray of int
        Features that bounds show to be in every subset with this value, and in none. Features that
        constraints fix are not listed.
    feature_names : tuple of str or None
        Names of all features.
    """

    optimal: bool
    value: float
    upper_bound: float
    gap: float
    subset: IntArray
    n_nodes: int
    seconds: float
    fixed_in: IntArray
    fixed_out: IntArray
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"Proof(optimal={self.optimal}, value={self.value:.6g}, gap={self.gap:.3g}, "
            f"subset={labels_of(self.subset, self.feature_names)})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class NearOptimal:
    """Subsets of a size with a criterion value close to the largest.

    Attributes
    ----------
    subsets : ndarray of shape (n_listed, size)
        Sorted feature indices of each subset, the largest value first.
    values : ndarray of shape (n_listed,)
        Criterion values of the subsets, less the cost.
    n_total : int
        Number of near-optimal subsets, including those that are not listed.
    complete : bool
        Whether these are proven to be all. If not, others may be near-optimal, or better.
    feature_counts : ndarray of shape (n_features,)
        Number of near-optimal subsets that contain each feature.
    rtol : float
        Largest distance to the best value, relative to it.
    feature_names : tuple of str or None
        Names of all features.
    """

    subsets: IntArray
    values: FloatArray
    n_total: int
    complete: bool
    feature_counts: IntArray
    rtol: float
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return (
            f"NearOptimal(n_total={self.n_total}, complete={self.complete}, "
            f"best={labels_of(self.subsets[0], self.feature_names)}, value={self.values[0]:.6g})"
        )

    @property
    def in_all(self) -> IntArray:
        """Features in every near-optimal subset."""
        return np.flatnonzero(self.feature_counts == self.n_total)

    @property
    def in_none(self) -> IntArray:
        """Features in no near-optimal subset."""
        return np.flatnonzero(self.feature_counts == 0)


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Features that are selected on random halves of the rows.

    Intervals have level 95 %. They describe more halves of the same rows, not other rows.

    Attributes
    ----------
    names : tuple of str
        Names of the features; a group is one feature.
    selected : ndarray of shape (n_features,), dtype=bool
        Features that the selector selects on all rows.
    counts : ndarray of shape (n_features,)
        Number of the halves on which each feature was selected.
    frequency_intervals : ndarray of shape (n_features, 2)
        Wilson intervals of the shares.
    index : float
        Stability index: 1 if all halves agree, 0 for random subsets. It ignores features that
        constraints fix; NaN if no others are left.
    index_interval : tuple of float
        Interval of the index, from the variance between pairs of halves.
    sizes : ndarray of shape (n_resamples,)
        Number of features that each half selected.
    subsets : tuple of ndarray of int
        Columns that each half selected; complementary halves are neighbours.
    expected_errors : float
        Bound on the expected number of features that at least 90 % of the halves select although
        their selection probability is at most the average (Shah and Samworth, for unimodal
        distributions). NaN if a half selects more than 57 % of the features.

    References
    ----------
    R. D. Shah, R. J. Samworth, "Variable selection with error control: another look at stability
    selection", Journal of the Royal Statistical Society B 75 (2013).

    S. Nogueira, K. Sechidis, G. Brown, "On the Stability of Feature Selection Algorithms", Journal
    of Machine Learning Research 18 (2018).
    """

    names: tuple[str, ...]
    selected: BoolArray
    counts: IntArray
    frequency_intervals: FloatArray
    index: float
    index_interval: tuple[float, float]
    sizes: IntArray
    subsets: tuple[IntArray, ...]
    expected_errors: float = np.nan

    def __repr__(self) -> str:
        low, high = self.index_interval
        return (
            f"Stability(n_resamples={self.n_resamples}, index={self.index:.3g}, "
            f"index_interval=({low:.3g}, {high:.3g}))"
        )

    @property
    def n_resamples(self) -> int:
        """Number of halves."""
        return len(self.subsets)

    @property
    def frequencies(self) -> FloatArray:
        """Share of the halves on which each feature was selected."""
        return self.counts / self.n_resamples


def labels_of(columns: IntArray, names: tuple[str, ...] | None) -> list[Any]:
    """Return the names of columns, or their indices."""
    indices = columns.tolist()
    return indices if names is None else [names[j] for j in indices]
