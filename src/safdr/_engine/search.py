"""The search at any size: anneal, then choose by the loss of fitted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.chains import Dynamics, SearchChains
from safdr._engine.annealing.compiled import CompiledChains, subset_values
from safdr._engine.annealing.functions import (
    Evaluate,
    FunctionChains,
    QuadraticFunction,
    finite_start,
    finite_values,
    less_cost,
)
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import Batches, batch_criteria, batch_share
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack
from safdr._engine.fits.fits import Fits, Fitter, joined
from safdr._engine.signs import SignedFunction, no_subset, wrong_signs
from safdr.result import AnnealingResult, Trace

# One replica has no spread; random subsets replace it. The default number of replicas.
MIN_SPREAD_SAMPLE = 50

# Subsets whose models are all fitted before an error says that none has the signs (some seconds).
MAX_ENUMERATED = 1000

# Name of the losses if the criterion chooses the winner.
OWN_LOSS = "negative_criterion"


class CandidateSource(Protocol):
    """An additional source of candidates, such as a search by another criterion."""

    def prepare(self, size: int) -> Any:
        """Compute what sizes up to this share."""

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        """Return subsets as rows, padded with -1."""


@dataclass(frozen=True, eq=False)
class Annealed:
    """Replicas at the end of annealing, and the trace."""

    size: int
    chains: SearchChains
    trace: Trace


class Search:
    """A criterion, prepared for searches of any size.

    A result depends on the data, the settings, the seed and the size alone: sizes can be searched
    in any order and on any number of threads.
    """

    def __init__(
        self,
        criterion: Criterion | None,
        *,
        settings: Dynamics,
        seed: int,
        fitter: Fitter | None = None,
        noise: Batches | None = None,
        constraints: AllowedSubsets | None = None,
        cost: FloatArray | None = None,
        function: Evaluate | None = None,
        also: Sequence[CandidateSource] = (),
    ) -> None:
        # Pairs of duplicates, if the caller looked for them.
        self.duplicates: list[tuple[int, int]] = []
        self.criterion: Any = criterion
        self.settings = settings
        self.seed = seed
        self.fitter = fitter
        self.noise = noise
        if constraints is None:
            assert criterion is not None
            constraints = AllowedSubsets.without_limits(criterion.n_features)
        self.constraints = constraints
        self.cost = cost
        self.function = function
        # Sources whose candidates join those of the replicas.
        self.also = also
        # Batches by their share of the rows. Most sizes use one share.
        self._batches: tuple[float, CriterionStack] | None = None

    def run(self, size: int, *, n_threads: int = 1) -> AnnealingResult:
        annealed = self.anneal(size, n_threads)
        subsets, values = self._candidates_of(annealed)
        for source in self.also:
            others = source.candidates(size, n_threads=n_threads)
            subsets = stacked(subsets, others)
            values = np.concatenate([values, self._values(others)])
        fits = self._fits(subsets, values, n_threads)
        wrong = np.zeros(len(values), dtype=bool)
        if self.constraints.signs is not None:
            subsets, values, fits, wrong = self._check_signs(size, subsets, values, fits, n_threads)
        cost_terms = np.where(wrong, np.inf, 0.0)
        if self.cost is not None and self.fitter is not None:
            losses = fits.losses + cost_terms
            cost_terms += self._cost_terms(subsets, values, losses, annealed.trace)
        return AnnealingResult(
            subsets=subsets,
            criterion_values=values,
            losses=fits.losses,
            loss_name=OWN_LOSS if self.fitter is None else self.fitter.loss_name,
            separated=fits.separated,
            converged=fits.converged,
            coefficients=fits.coefficients,
            intercepts=fits.intercepts,
            cost_terms=cost_terms,
            trace=annealed.trace,
            shrinkage=self._shrinkage,
            n_screened=self.constraints.n_features,
            n_replicas=self.n_replicas,
        )

    @property
    def _shrinkage(self) -> float:
        """Shrinkage s of the criterion, with the ridge r = s / (1 - s)."""
        if self.criterion is None:
            return np.nan
        return float(self.criterion.ridge / (1.0 + self.criterion.ridge))

    @property
    def n_replicas(self) -> int:
        """Number of replicas, those of other criteria included."""
        others = [other.n_replicas for other in self.also if isinstance(other, Search)]
        return self.settings.n_replicas + sum(others)

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        """Return the final subsets of annealing, and the best of local search."""
        return self._candidates_of(self.anneal(size, n_threads))[0]

    def anneal(self, size: int, n_threads: int = 1) -> Annealed:
        # As SeedSequence([seed, size]).spawn(3) makes them, in half the time.
        for_start, for_batches, for_chains = (
            np.random.SeedSequence([self.seed, size], spawn_key=(i,)) for i in range(3)
        )
        rng = np.random.default_rng(for_start)
        chains = self._chains(size, rng, for_chains, n_threads)
        sample = None
        if self.settings.n_replicas == 1:
            allowed = self._constraints_for(size)
            sample = self._values_of(allowed, allowed.random(size, MIN_SPREAD_SAMPLE, rng), size)
        origin = 0.0 if self.function is None else None
        trace = self.settings.run(chains, np.random.default_rng(for_batches), sample, origin)
        _check_finite(chains.values)
        return Annealed(size, chains, trace)

    def prepare(self, size: int) -> Search:
        """Compute what a search at this size shares with others; return itself."""
        if self.function is None:
            self._batches_for(self._constraints_for(size).max_columns(size))
        for source in self.also:
            source.prepare(size)
        return self

    # ---- Replicas -------------------------------------------------------------------------------

    def _chains(
        self, size: int, rng: np.random.Generator, seed: np.random.SeedSequence, n_threads: int
    ) -> SearchChains:
        allowed = self._constraints_for(size)
        n = self.settings.n_replicas
        n_proposals = max(1, round(self.settings.sweeps * allowed.n_groups))
        how: dict[str, Any] = {"constraints": allowed, "seed": seed, "n_proposals": n_proposals}
        if self.function is not None or allowed.signs is not None:
            start = finite_start(self._objective, allowed, size, n, rng)
            return FunctionChains(self._objective, start, **how)
        # A subset of groups may have more columns than its size.
        how |= {"batches": self._batches_for(allowed.max_columns(size)), "cost": self.cost}
        start = allowed.random(size, n, rng)
        return CompiledChains(self.criterion, start, n_threads=n_threads, **how)

    @cached_property
    def _objective(self) -> Evaluate:
        signs, function = self.constraints.signs, self.function
        if function is None:
            function = QuadraticFunction(self.criterion)
            if signs is not None:
                function = SignedFunction(self.criterion, signs)
        return less_cost(function, self.cost)

    def _values_of(
        self, allowed: AllowedSubsets, selections: NDArray[np.bool_], size: int
    ) -> FloatArray:
        return finite_values(self._objective, allowed, selections, allowed.max_columns(size))

    @cached_property
    def _without_redundant(self) -> AllowedSubsets:
        return self.constraints.without(self.criterion.redundant)

    def _constraints_for(self, size: int) -> AllowedSubsets:
        """Return constraints without redundant features, unless too few features remain."""
        if self.function is None and self._without_redundant.has_size(size):
            return self._without_redundant
        self.constraints.check_size(size)
        return self.constraints

    def _batches_for(self, n_columns: int) -> CriterionStack | None:
        """Return criteria of batches large enough for so many columns; None: all rows."""
        if self.noise is None:
            return None
        share = batch_share(self.settings.batch_fraction, n_columns, self.noise)
        if share >= 1.0:
            return None
        # Threads may come here at the same time; they compute the same.
        known = self._batches
        if known is None or known[0] != share:
            self._batches = None  # frees the memory of the others
            known = self._batches = (share, self._draw_batches(self.noise, share))
        return known[1]

    def _draw_batches(self, noise: Batches, share: float) -> CriterionStack:
        n_batches, n_features = self.settings.n_batches, self.constraints.n_features
        return batch_criteria(noise, n_batches, share, n_features, self.seed)

    # ---- Candidates -----------------------------------------------------------------------------

    def _candidates_of(self, annealed: Annealed) -> tuple[IntArray, FloatArray]:
        """Return candidate subsets and their values."""
        # The last batches determine the final replicas. So the best local optimum on all rows joins
        # them; or all subsets, if they are at most as many as replicas.
        size, chains = annealed.size, annealed.chains
        allowed = self._constraints_for(size)
        every = allowed.every(size, self.settings.n_replicas)
        subsets, values = chains.subsets, chains.values
        if every is not None:
            of_all = self._values_of(allowed, every, size)
            finite = np.isfinite(of_all) | ~np.isfinite(of_all).any()
            more = allowed.subsets_of(every, allowed.max_columns(size))[finite], of_all[finite]
        elif self.function is not None:
            more = subsets[:0], values[:0]  # too many calls of a custom function
        else:
            reached, reached_values = chains.local_search()
            # The model may violate signs that the criterion satisfies.
            n_kept = 1 if self.constraints.signs is None else len(reached_values)
            best = np.argsort(-reached_values, kind="stable")[:n_kept]
            more = reached[best], reached_values[best]
        subsets, values = stacked(subsets, more[0]), np.concatenate([values, more[1]])
        return subsets, values if self.constraints.signs is None else self._values(subsets)

    def _values(self, subsets: IntArray) -> FloatArray:
        values = self._criterion_values(subsets)
        return values if self.cost is None else values - np.append(self.cost, 0.0)[subsets].sum(1)

    def _criterion_values(self, subsets: IntArray) -> FloatArray:
        return subset_values(self.criterion, subsets)

    # ---- Models ---------------------------------------------------------------------------------

    def _fits(self, subsets: IntArray, values: FloatArray, n_threads: int) -> Fits:
        """Fit the candidates; without a fitter the criterion is the loss."""
        if self.fitter is None:
            return Fits.of_losses(-values)
        fit = partial(fit_padded, self.fitter, n_threads=n_threads)
        if self.cost is not None or self.constraints.signs is not None:
            # The winner need not have the smallest loss.
            return fit(subsets, best_only=False)
        # The order of preference breaks ties of the loss by the largest value.
        order = np.argsort(-values, kind="stable")
        return fit(subsets[order], best_only=True).take(np.argsort(order))

    def _check_signs(
        self, size: int, subsets: IntArray, values: FloatArray, fits: Fits, n_threads: int
    ) -> tuple[IntArray, FloatArray, Fits, NDArray[np.bool_]]:
        """Return the candidates, or all of few subsets if every candidate has a wrong sign."""
        allowed, signs = self._constraints_for(size), self.constraints.signs
        assert signs is not None
        wrong = wrong_signs(subsets, fits.coefficients, signs)
        every = allowed.every(size, MAX_ENUMERATED) if wrong.any(axis=1).all() else None
        if every is not None:
            subsets = allowed.subsets_of(every, allowed.max_columns(size))
            values = self._values(subsets)
            fits = self._fits(subsets, values, n_threads)
            wrong = wrong_signs(subsets, fits.coefficients, signs)
        if wrong.any(axis=1).all():
            raise no_subset(size, np.unique(subsets[wrong]), self.constraints)
        return subsets, values, fits, np.asarray(wrong.any(axis=1))

    def _cost_terms(
        self, subsets: IntArray, values: FloatArray, losses: FloatArray, trace: Trace
    ) -> FloatArray:
        """Return the cost of each candidate in units of the loss."""
        # The factor is the best model's gain of loss over its gain of criterion, each against no
        # features (for a custom criterion: against the mean at the start).
        assert self.cost is not None
        assert self.fitter is not None
        cost = np.append(self.cost, 0.0)[subsets].sum(axis=1)
        best = int(np.argmin(losses))
        gained = max(0.0, self.fitter.baseline() - float(losses[best]))
        origin = 0.0 if self.function is None else float(trace.mean[0])
        value = float(values[best] + cost[best]) - origin
        return cost * gained / max(value, float(trace.std[0]), np.finfo(float).tiny)


def _check_finite(values: FloatArray) -> None:
    """Raise an error if a criterion never returned a number."""
    if not np.isfinite(values).any():
        raise ValueError(
            "criterion gave no finite value for any subset that was visited. It must return a "
            "number to be maximised; -inf is for the few subsets that can't be judged."
        )


def stacked(first: IntArray, second: IntArray) -> IntArray:
    if first.shape[1] == second.shape[1]:
        return np.concatenate([first, second])
    longest = max(first.shape[1], second.shape[1])
    return np.vstack(
        [
            np.pad(rows, ((0, 0), (0, longest - rows.shape[1])), constant_values=-1)
            for rows in (first, second)
        ]
    )


def fit_padded(fitter: Fitter, subsets: IntArray, *, best_only: bool, n_threads: int) -> Fits:
    lengths, longest = np.sum(subsets >= 0, axis=1), subsets.shape[1]
    if lengths.min() == longest:
        return fitter.fit(subsets, best_only=best_only, n_threads=n_threads)
    rows, parts = [], []
    for length in np.unique(lengths):
        rows.append(np.flatnonzero(lengths == length))
        some = subsets[rows[-1], :length]
        fits = fitter.fit(some, best_only=best_only, n_threads=n_threads)
        parts.append(_padded(fits, longest))
    return joined(parts).take(np.argsort(np.concatenate(rows)))


def padded(subsets: Sequence[IntArray]) -> IntArray:
    """Return subsets as rows, padded with -1."""
    rows = np.full((len(subsets), max(map(len, subsets))), -1, dtype=np.int64)
    for row, subset in zip(rows, subsets, strict=True):
        row[: len(subset)] = subset
    return rows


def _padded(fits: Fits, longest: int) -> Fits:
    if fits.coefficients is None:
        return fits
    slopes = fits.coefficients
    width = [(0, 0)] * (slopes.ndim - 1) + [(0, longest - slopes.shape[-1])]
    return fits._replace(coefficients=np.pad(slopes, width))
