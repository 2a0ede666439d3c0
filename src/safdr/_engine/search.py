"""The search at any size: anneal, then choose by the loss of fitted models."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.chains import Chains
from safdr._engine.annealing.compiled import CompiledChains, subset_values
from safdr._engine.annealing.functions import (
    Evaluate,
    FunctionChains,
    QuadraticFunction,
    finite_start,
    finite_values,
    less_cost,
)
from safdr._engine.annealing.loop import AnnealingSettings
from safdr._engine.annealing.population import PopulationSettings
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import batch_share
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack
from safdr._engine.descent import LossDescent
from safdr._engine.fits.fits import Fits, Fitter, fit_padded
from safdr._engine.signs import SignedFunction, no_subset, wrong_signs
from safdr._engine.subsets import stacked
from safdr.result import AnnealingResult, Trace

# One replica has no spread; random subsets replace it. The default number of replicas.
MIN_SPREAD_SAMPLE = 50

# Subsets whose models are all fitted before an error says that none has the signs (some seconds).
MAX_ENUMERATED = 1000

# Name of the losses if the criterion chooses the winner.
OWN_LOSS = "negative_criterion"


class Search:
    """A criterion, prepared for searches of any size.

    A result depends on the data, the settings, the seed and the size alone: sizes can be searched
    in any order and on any number of threads.
    """

    def __init__(
        self,
        criterion: Criterion | None,
        *,
        settings: AnnealingSettings | PopulationSettings,
        seed: int,
        constraints: AllowedSubsets,
        fitter: Fitter | None = None,
        batches: Any = None,  # of rows, or rows on a device
        cost: FloatArray | None = None,
        function: Evaluate | None = None,
        descends: bool = False,
        forward: Callable[[int], IntArray] | None = None,
        default: Search | None = None,
    ) -> None:
        self.criterion: Any = criterion
        self.settings = settings
        self.seed = seed
        self.fitter = fitter
        self.batches = batches
        self.constraints = constraints
        self.cost = cost
        self.function = function
        # Whether exchanges lower the loss of the best candidate.
        self.descends = descends
        # Further candidates: forward selection, and the best subset of the default model, whose
        # search chooses among the same replicas.
        self.forward = forward
        self.default = default
        # Criteria of the batches of one share of the rows, which most sizes use.
        self._drawn: dict[float, CriterionStack] = {}

    def among(self, columns: IntArray) -> Search:
        """Return the same search among some of the columns."""
        other = copy(self)
        rest = np.ones(self.constraints.n_features, dtype=bool)
        rest[columns] = False
        other.constraints = self.constraints.without(np.flatnonzero(rest))
        other.default = None if self.default is None else self.default.among(columns)
        return other

    def run(self, size: int, *, n_threads: int = 1) -> AnnealingResult:
        chains, trace = self._anneal(size, n_threads)
        return self._choose(size, chains, trace, n_threads)

    def _choose(self, size: int, chains: Chains, trace: Trace, n_threads: int) -> AnnealingResult:
        """Fit models to the candidates, exchange their features, and return all of them."""
        subsets = self._candidates_of(size, chains)
        if self.forward is not None:
            subsets = stacked(subsets, self.forward(size))
        if self.default is not None:
            found = self.default._choose(size, chains, trace, n_threads)
            subsets = stacked(subsets, found.subset[None])
        values = self._values(subsets)
        fits = self._fits(subsets, values, n_threads)
        factor = self._cost_factor(subsets, values, fits, trace)
        if self.descends:
            allowed = self._constraints_for(size)
            cost = None if self.cost is None else factor * self.cost
            descent = LossDescent(self.fitter, allowed, cost, n_threads)
            ends, added = chains.subsets, partial(self._added, factor)
            subsets, fits = descent.run(ends, subsets, fits, added)
            values = np.concatenate([values, self._values(subsets[len(values) :])])
        if self.constraints.signs is not None:
            subsets, values, fits = self._check_signs(size, subsets, values, fits, n_threads)
        cost_terms = self._added(factor, subsets, fits)
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
            trace=trace,
            shrinkage=self._shrinkage,
            n_screened=self.constraints.n_features,
            n_replicas=self.settings.n_replicas,
        )

    @property
    def _shrinkage(self) -> float:
        """Shrinkage s of the criterion, with the ridge r = s / (1 - s)."""
        if self.criterion is None:
            return np.nan
        return float(self.criterion.ridge / (1.0 + self.criterion.ridge))

    def _anneal(self, size: int, n_threads: int) -> tuple[Chains, Trace]:
        """Return the replicas at the end of annealing, and the trace."""
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
        return chains, trace

    def prepare(self, size: int) -> Search:
        """Compute what a search at this size shares with others; return itself."""
        if self.function is None:
            self._batches_for(self._constraints_for(size).max_columns(size))
        if self.forward is not None:
            self.forward(size)
        return self

    # ---- Replicas -------------------------------------------------------------------------------

    def _chains(
        self, size: int, rng: np.random.Generator, seed: np.random.SeedSequence, n_threads: int
    ) -> Chains:
        allowed = self._constraints_for(size)
        n = self.settings.n_replicas
        n_usable = allowed.n_groups - len(allowed.exclude)
        n_proposals = max(1, round(self.settings.sweeps * n_usable))
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

    @property
    def _without_redundant(self) -> AllowedSubsets:
        redundant = self.criterion.redundant
        return self.constraints.without(redundant) if len(redundant) else self.constraints

    def _constraints_for(self, size: int) -> AllowedSubsets:
        """Return constraints without redundant features, unless too few features remain."""
        if self.function is None and self._without_redundant.has_size(size):
            return self._without_redundant
        self.constraints.check_size(size)
        return self.constraints

    def _batches_for(self, n_columns: int) -> CriterionStack | None:
        """Return criteria of batches large enough for so many columns; None: all rows."""
        if self.batches is None:
            return None
        share = batch_share(self.settings.batch_fraction, n_columns, self.batches)
        if share >= 1.0:
            return None
        # Threads may come here at the same time; they compute the same.
        known = self._drawn.get(share)
        if known is None:
            self._drawn.clear()  # frees the memory of the others
            how = self.settings.n_batches, share, self.seed
            known = self._drawn[share] = self.batches.draw(self.criterion, *how)
        return known

    # ---- Candidates -----------------------------------------------------------------------------

    def _candidates_of(self, size: int, chains: Chains) -> IntArray:
        # The last batches determine the final replicas. So the best local optimum on all rows joins
        # them; or all subsets, if they are at most as many as replicas.
        allowed = self._constraints_for(size)
        every = allowed.every(size, self.settings.n_replicas)
        if every is not None:
            of_all = self._values_of(allowed, every, size)
            finite = np.isfinite(of_all) | ~np.isfinite(of_all).any()
            return stacked(
                chains.subsets, allowed.subsets_of(every, allowed.max_columns(size))[finite]
            )
        if self.function is not None:  # too many calls of a custom function
            return chains.subsets
        reached, values = chains.local_search()
        # The model may violate signs that the criterion satisfies.
        n_kept = 1 if self.constraints.signs is None else len(values)
        best = reached[np.argsort(-values, kind="stable")[:n_kept]]
        return best if self.descends else stacked(chains.subsets, best)

    def _values(self, subsets: IntArray) -> FloatArray:
        if self.function is not None:
            return self._objective(subsets, np.full(len(subsets), -1))
        values = self._criterion_values(subsets)
        return values if self.cost is None else values - np.append(self.cost, 0.0)[subsets].sum(1)

    def _criterion_values(self, subsets: IntArray) -> FloatArray:
        return subset_values(self.criterion, subsets)

    # ---- Models ---------------------------------------------------------------------------------

    def _fits(self, subsets: IntArray, values: FloatArray, n_threads: int) -> Fits:
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
    ) -> tuple[IntArray, FloatArray, Fits]:
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
        return subsets, values, fits

    def _cost_factor(
        self, subsets: IntArray, values: FloatArray, fits: Fits, trace: Trace
    ) -> float:
        """Return the factor that turns a cost in units of the criterion into units of the loss."""
        # It is the best model's gain of loss over its gain of criterion, each against no features
        # (for a custom criterion: against the mean at the start).
        if self.cost is None or self.fitter is None:
            return 0.0
        best = int(np.argmin(fits.losses + self._added(0.0, subsets, fits)))
        gained = max(0.0, self.fitter.baseline() - float(fits.losses[best]))
        origin = 0.0 if self.function is None else float(trace.mean[0])
        value = float(values[best] + np.append(self.cost, 0.0)[subsets[best]].sum()) - origin
        return gained / max(value, float(trace.std[0]), np.finfo(float).tiny)

    def _added(self, factor: float, subsets: IntArray, fits: Fits) -> FloatArray:
        """Return what the losses of candidates lack: cost, and infinity for wrong signs."""
        added = np.zeros(len(subsets))
        if self.cost is not None:
            added += factor * np.append(self.cost, 0.0)[subsets].sum(axis=1)
        if self.constraints.signs is not None:
            signs = self.constraints.signs
            added[wrong_signs(subsets, fits.coefficients, signs).any(axis=1)] = np.inf
        return added


def _check_finite(values: FloatArray) -> None:
    if not np.isfinite(values).any():
        raise ValueError(
            "criterion gave no finite value for any subset that was visited. It must return a "
            "number to be maximised; -inf is for the few subsets that can't be judged."
        )
