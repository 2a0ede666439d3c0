"""Frozen results: what every reader (plots, reports, the command line) gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray
from safdr.errors import Columns
from safdr.trace import Trace

# Columns in the name of a group that was given none.
MOST_NAMED = 3
# Features in a text; the rest is counted.
MOST_LISTED = 12
# What the resamples of a stability are called.
RESAMPLES = {"halves": "half-samples", "seeds": "seeds"}


@dataclass(frozen=True, eq=False)
class FeatureGroups:
    """Features as people count them: groups of columns that enter together, and single columns.

    Attributes
    ----------
    columns : tuple of ndarray of int
        Columns of each feature; features are in the order of their first columns.
    titles : tuple of (str or None)
        Name that each was given as a group; None where it has none.
    feature_of : ndarray of shape (n_columns,)
        The feature that each column belongs to.
    n_features : int
        Number of features, as the selector counts them.
    max_features : int
        Most features that the constraints allow at once.
    """

    columns: tuple[IntArray, ...]
    titles: tuple[str | None, ...]
    feature_of: IntArray
    n_features: int
    max_features: int

    @property
    def groups(self) -> list[int]:
        """Features of more than one column."""
        return [i for i, columns in enumerate(self.columns) if len(columns) > 1]

    def names(self, column_names: Sequence[Any] | NDArray[Any]) -> list[str]:
        """Name of each feature: its title, or what its columns are called."""
        return [
            title or _joined([str(column_names[j]) for j in columns])
            for title, columns in zip(self.titles, self.columns, strict=True)
        ]


def _joined(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return " + ".join(names[:MOST_NAMED]) + (f" + {more} more" if more > 0 else "")


@dataclass(frozen=True, eq=False)
class AnnealingResult:
    """What annealing at one size found, all of it measured on the whole training data.

    The candidates are the subsets of the replicas, then the best that a local search from them
    reaches. No swap of one screened feature raises its criterion value, unless the criterion is a
    custom one; a swap for a feature outside the screen may raise it. If there are no more subsets
    than replicas, all of them follow instead. Then come the candidates of the replicas on the
    log-loss, and that of forward selection. If coefficients must have signs, the best that have
    them by the criterion follow too.

    Attributes
    ----------
    subsets : ndarray of shape (n_candidates, size)
        Sorted feature indices of each candidate, those of the replicas first. Where groups make the
        subsets differ in length, rows are filled up with -1.
    criterion_values : ndarray of shape (n_candidates,)
        Criterion value of each subset, less the cost of its features if they have any.
    losses : ndarray of shape (n_candidates,)
        Loss of the model on each subset. By default of the linear one on the training rows, the
        penalty included: the mean cross-entropy (without a penalty 0 where the subset separates the
        classes completely), or the mean squared error. That of the winner is exact (under partial
        separation to about 1e-5); other cross-entropies are estimates, good to about a tenth of
        their distance to it (values of billions beside ones may hide more). Where the winner
        separates the classes completely, candidates with smaller criterion values can't win, and
        are not fitted: NaN, and so are their coefficients and intercepts (features that have a cost
        are the exception: then all are fitted). With an `estimator` its own loss on held-out rows,
        with a criterion of yours the negative value.
    loss_name : str
        What the losses are: "cross_entropy", "squared_error", or another name.
    separated : ndarray of shape (n_candidates,), dtype=bool
        Whether the subset separates the classes, completely or in part, so that the unpenalised
        model has no finite optimum. Certain for the winner; in part, it may go unnoticed in others,
        and it is False where no model was fitted, and with a penalty, which always has an optimum.
    converged : ndarray of shape (n_candidates,), dtype=bool
        Whether the fit is known to be at its optimum, where there is one (`separated` says where
        not). Of candidates that can't win it is False as a rule: they are not fitted to the end.
        True where nothing is fitted to the training rows.
    coefficients : ndarray of shape (n_candidates, size) or (n_candidates, n_outputs, size), or None
        Coefficients of the linear models, on the original scale of the features: one row for two
        classes or one output, else one for each class or output. None where no such models were
        fitted.
    intercepts : ndarray of shape (n_candidates,) or (n_candidates, n_outputs), or None
        Their intercepts.
    n_iter : ndarray of shape (n_candidates,)
        Iterations that each fit took; 0 where there was none.
    penalties : ndarray of shape (n_candidates,)
        What the cost of the features adds to the loss when the winner is chosen; zero without cost.
        Infinite where a coefficient has another sign than `Constraints(signs=…)` asks for.
    start_subsets : ndarray of shape (n_starts, size)
        Random subsets from which the replicas on the criterion started: by default, half of all
        replicas; the others are on the log-loss.
    trace : Trace
        How the annealing of these replicas went.
    drift : float
        Largest relative difference between the criterion as updated swap by swap and as computed
        from scratch.
    proof : Proof or None
        Whether any subset of this size has a larger criterion value than the candidates; None where
        no proof was asked for.
    ridge : float
        Ridge of the criterion, as a share of each feature's variance; NaN for a criterion of yours.
    n_screened : int
        Number of features that the screen kept for this size; all of them without a screen.
    feature_names : tuple of str or None
        Of all features, for people; None where they have no names.
    n_replicas, size : int
        Number of all replicas, and of features in the winner.
    best : int
        The winner: smallest loss (and penalty), then largest criterion value.
    subset, subset_names, criterion_value, loss
        Of the winner; the names are None where features have none.
    cross_entropies, cross_entropy
        The losses, where they are cross-entropies.
    """

    subsets: IntArray
    criterion_values: FloatArray
    losses: FloatArray
    loss_name: str
    separated: NDArray[np.bool_]
    converged: NDArray[np.bool_]
    coefficients: FloatArray | None
    intercepts: FloatArray | None
    n_iter: IntArray
    penalties: FloatArray
    start_subsets: IntArray
    trace: Trace
    drift: float
    ridge: float
    n_screened: int
    n_replicas: int
    proof: Proof | None = None
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        subset = list(self.subset_names or self.subset.tolist())
        return (
            f"AnnealingResult(n_replicas={self.n_replicas}, subset={subset}, "
            f"criterion_value={self.criterion_value:.6g}, {self.loss_name}={self.loss:.6g}, "
            f"n_steps={len(self.trace)})"
        )

    def with_names(self, names: Sequence[Any] | NDArray[Any] | None) -> AnnealingResult:
        """The same, with the names of all columns, which its proof gets too; None has none."""
        if names is None:
            return self
        told = tuple(map(str, names))
        proof = None if self.proof is None else replace(self.proof, feature_names=told)
        return replace(self, feature_names=told, proof=proof)

    @property
    def size(self) -> int:
        """Number of features in the winner."""
        return len(self.subset)

    @property
    def best(self) -> int:
        """The winner: smallest loss (and penalty), then largest criterion value."""
        return int(np.lexsort((-self.criterion_values, self.losses + self.penalties))[0])

    @property
    def subset(self) -> IntArray:
        """Features of the winner."""
        subset: IntArray = self.subsets[self.best]
        return subset[subset >= 0]

    @property
    def subset_names(self) -> tuple[str, ...] | None:
        """Names of the winner's features."""
        names = self.feature_names
        return None if names is None else tuple(names[j] for j in self.subset)

    @property
    def criterion_value(self) -> float:
        """Criterion value of the winner."""
        return float(self.criterion_values[self.best])

    @property
    def loss(self) -> float:
        """Loss of the winner."""
        return float(self.losses[self.best])

    @property
    def cross_entropies(self) -> FloatArray:
        """The losses, where they are cross-entropies."""
        if self.loss_name != "cross_entropy":
            raise AttributeError(
                f"The losses of this result are no cross-entropies; its loss_name is "
                f"{self.loss_name!r}. Read `losses`."
            )
        return self.losses

    @property
    def cross_entropy(self) -> float:
        """Cross-entropy of the winner."""
        return float(self.cross_entropies[self.best])


@dataclass(frozen=True, eq=False)
class Proof:
    """The best subset of a size by the criterion on the training rows: proven, or bounded.

    It says nothing about the loss of models, or about other rows.

    Attributes
    ----------
    optimal : bool
        Whether no allowed subset of this size has a larger criterion value, rounding included.
    value : float
        Criterion value of `subset`, the best one known, less its cost.
    upper_bound : float
        What no allowed subset of this size exceeds: `value` where it is proven; infinite where
        features are so collinear that rounding leaves no bound.
    gap : float
        ``upper_bound / value - 1``: no subset is better by more than this share. Infinite where the
        value is not positive, as costs can make it, and below the bound.
    subset : ndarray of int
        Sorted features.
    n_nodes : int
        Steps of the search: nodes of its tree.
    seconds : float
        How long it took.
    must_include, never_useful : ndarray of int
        Features that the bounds settle before any search: every subset of this size and value has
        the former, and none the latter. Those that constraints settle are in neither.
    feature_names : tuple of str or None
        Of all features, for people; None where they have no names.
    """

    optimal: bool
    value: float
    upper_bound: float
    gap: float
    subset: IntArray
    n_nodes: int
    seconds: float
    must_include: IntArray
    never_useful: IntArray
    feature_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """Say in a sentence what is known."""
        size, best = len(self.subset), Columns(self.subset, self.feature_names)
        if self.optimal:
            return (
                f"Proven: no subset of {size} features has a larger criterion value on the "
                f"training rows than {self.value:.6g}, that of {best}."
            )
        if not np.isfinite(self.upper_bound):
            return (
                f"Not proven, and no bound is known for subsets of {size} features: they are too "
                "collinear to compute one, as where they outnumber the rows."
            )
        if not np.isfinite(self.gap):
            return (
                f"Not proven: no subset of {size} features has a criterion value on the training "
                f"rows above {self.upper_bound:.6g}; {self.value:.6g} is known, that of {best}."
            )
        return (
            f"Not proven: no subset of {size} features has a criterion value on the training rows "
            f"more than {100 * self.gap:.2g} % above {self.value:.6g}, that of {best}."
        )


@dataclass(frozen=True, eq=False)
class NearTies:
    """The subsets of a size whose criterion value comes near the best.

    Attributes
    ----------
    subsets : ndarray of shape (n_listed, size)
        Sorted features of each, the largest value first; as many as were asked for at most.
    values : ndarray of shape (n_listed,)
        Their criterion values.
    n_total : int
        How many there are, listed or not; those listed, where the best so many were asked for.
    exact : bool
        Whether that is proven. Else these are some of them, which the search met before time was up
        or which are one swap away from the best that replicas found: more may come near, or be
        better.
    feature_counts : ndarray of shape (n_features,)
        In how many of all of them each feature is.
    within : float or None
        How near they come: this share of the best value below it at most; None where the best so
        many were asked for.
    feature_names : tuple of str or None
        Of all features, for people; None where they have no names.
    """

    subsets: IntArray
    values: FloatArray
    n_total: int
    exact: bool
    feature_counts: IntArray
    within: float | None
    feature_names: tuple[str, ...] | None = None

    def __str__(self) -> str:
        """Say how many there are, and what the best and all of them hold."""
        near = "" if self.within is None else f" within {100 * self.within:.3g} % of the best"
        sure = "proven" if self.exact else "not proven, there may be others"
        sets = (self.subsets[0], self.in_all)
        best, shared = (str(Columns(some, self.feature_names)) for some in sets)
        return (
            f"Subsets of {self.subsets.shape[1]} features{near}: {self.n_total} ({sure}). "
            f"The best, of {self.values[0]:.6g}: {best}. In all: {shared or 'no feature'}."
        )

    @property
    def in_all(self) -> IntArray:
        """Features that all of them have."""
        return np.flatnonzero(self.feature_counts == self.n_total)

    @property
    def in_none(self) -> IntArray:
        """Features that none of them has."""
        return np.flatnonzero(self.feature_counts == 0)


@dataclass(frozen=True)
class StandIns:
    """Two features that are chosen in place of one another, with the number of resamples."""

    first: str
    second: str
    n_first: int  # with the first alone
    n_second: int  # with the second alone
    n_both: int
    n_neither: int

    def __str__(self) -> str:
        return (
            f"{self.first} ({self.n_first} times) or {self.second} ({self.n_second}), "
            f"both {self.n_both} times, neither {self.n_neither}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """Which features are chosen again when rows, or seeds, are others.

    Intervals are of 95 %, and about what more resamples of the same rows would give, not about
    rows that nobody has seen.

    Attributes
    ----------
    resample : {"halves", "seeds"}
        What differs: the rows, halved at random, or the seed alone.
    names : tuple of str
        The features: columns, and groups of columns that enter together.
    counts : ndarray of shape (n_features,)
        In how many resamples each was chosen.
    frequencies : ndarray of shape (n_features,)
        The same as shares.
    frequency_intervals : ndarray of shape (n_features, 2)
        Wilson's intervals for the shares, as if resamples were independent. The two halves of the
        rows tend to differ, so that for halves they are a little too wide.
    index : float
        Stability by Nogueira, Sechidis and Brown: 1 where all resamples choose the same, 0 where
        they agree as random subsets do. Features that constraints settle don't count. NaN where
        nothing is left to choose.
    index_interval : tuple of float
        Its interval, from the scatter between resamples (of halves: between halvings).
    sizes : ndarray of shape (n_resamples,)
        Number of features that each chose, as the selector counts them.
    subsets : tuple of ndarray of int
        Columns that each chose; halves of the same rows follow one another.
    stand_ins : tuple of StandIns
        Pairs of features that are together more seldom than chance would have it, the clearest
        first: `first` and `second`, and in how many resamples there was only the one or the other
        (`n_first`, `n_second`), both, or neither.
    chosen : ndarray of shape (n_features,), dtype=bool
        The features that the selector chooses on all rows.
    n_resamples : int
        Number of resamples.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown, "On the Stability of Feature Selection Algorithms", Journal
    of Machine Learning Research 18 (2018).

    R. D. Shah, R. J. Samworth, "Variable Selection with Error Control: Another Look at Stability
    Selection", Journal of the Royal Statistical Society B 75 (2013).
    """

    resample: str
    names: tuple[str, ...]
    counts: IntArray
    frequency_intervals: FloatArray
    index: float
    index_interval: tuple[float, float]
    sizes: IntArray
    subsets: tuple[IntArray, ...]
    stand_ins: tuple[StandIns, ...]
    chosen: NDArray[np.bool_]

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(self.subsets)

    @property
    def frequencies(self) -> FloatArray:
        """Share of the resamples in which each feature was chosen."""
        return self.counts / self.n_resamples

    def __repr__(self) -> str:
        low, high = self.index_interval
        return (
            f"Stability(n_resamples={self.n_resamples}, resample={self.resample!r}, "
            f"index={self.index:.3g} ({low:.3g} to {high:.3g}), "
            f"chosen each time: {int((self.counts == self.n_resamples).sum())} of "
            f"{len(self.names)} features)"
        )

    def __str__(self) -> str:
        """Say in a few sentences what was chosen how often."""
        order = np.argsort(-self.counts, kind="stable")
        order = order[self.counts[order] > 0]
        often = [f"{self.names[i]} {self.counts[i]}" for i in order[:MOST_LISTED]]
        more = len(order) - MOST_LISTED
        sizes, times = np.unique(self.sizes, return_counts=True)
        low, high = self.index_interval
        if more > 0:
            often.append(f"and {more} more at most {self.counts[order[MOST_LISTED]]} times")
        lines = [
            f"{self.n_resamples} {RESAMPLES[self.resample]} chose: {', '.join(often)}.",
            f"Stability index {self.index:.2f} ({low:.2f} to {high:.2f}), where 1 is always the "
            "same features and 0 is chance.",
        ]
        if len(sizes) > 1:
            by_size = (f"{k} in {n}" for k, n in zip(sizes, times, strict=True))
            lines.append(f"Number of features: {', '.join(by_size)} of them.")
        lines += [f"Instead of one another: {pair}." for pair in self.stand_ins[:MOST_NAMED]]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give all of it in plain lists and numbers, as JSON has them.

        Returns
        -------
        dict
            By the names of the attributes, with features by name; numbers that are none are None.
        """
        return {
            "resample": self.resample,
            "n_resamples": self.n_resamples,
            "index": _finite(self.index),
            "index_interval": [_finite(bound) for bound in self.index_interval],
            "features": [
                {
                    "name": name,
                    "chosen": bool(chosen),
                    "count": int(count),
                    "frequency": int(count) / self.n_resamples,
                    "frequency_interval": interval.tolist(),
                }
                for name, chosen, count, interval in zip(
                    self.names, self.chosen, self.counts, self.frequency_intervals, strict=True
                )
            ],
            "sizes": self.sizes.tolist(),
            "subsets": [subset.tolist() for subset in self.subsets],
            "stand_ins": [asdict(pair) for pair in self.stand_ins],
        }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
