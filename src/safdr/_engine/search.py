"""A criterion is searched at any size: anneal, then choose by the loss of fitted models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.chains import Dynamics, SearchChains
from safdr._engine.annealing.complement import Complement
from safdr._engine.annealing.complement_chains import ComplementChains
from safdr._engine.annealing.function_chains import (
    Evaluate,
    FunctionChains,
    finite_start,
    less_cost,
    sample_values,
)
from safdr._engine.annealing.group_chains import GroupChains, all_count_the_same
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.annealing.swap_chains import SwapChains, random_subsets, subset_values
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.batches import Batches, batch_criteria, batch_share
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.criterion import Criterion, CriterionStack
from safdr._engine.fits.fits import Fits, Fitter, joined
from safdr._engine.signs import N_STARTS, SignedClimb, no_subset, signed_values, wrong_signs
from safdr.result import AnnealingResult, Trace

# One replica has no spread; this many random subsets then stand in for it.
MIN_SPREAD_SAMPLE = 50

# Rounds in which features are left out whose coefficients have the wrong sign in models, until
# those of some candidate are right. Mostly they are from the start.
MOST_ROUNDS = 5

# What the losses are called where the criterion itself chooses the winner.
OWN_LOSS = "negative_criterion"


class CandidateSource(Protocol):
    """Another way to find subsets of a size, such as a search by another criterion."""

    def prepare(self, size: int) -> Any:
        """Compute ahead what sizes up to this share."""

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        """Subsets, one a row, filled up with -1 to the same length."""


@dataclass(frozen=True, eq=False)
class Annealed:
    """Replicas at the end of annealing, the subsets that they began with, and what happened."""

    size: int
    chains: SearchChains
    start: IntArray
    trace: Trace


class Search:
    """A criterion, ready to be searched at any size.

    A search is a function of the data, the settings, the seed and the size alone: sizes can be
    searched in any order, together or apart, on any number of threads.
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
        self.settings = settings
        self.seed = seed
        self.cost = cost
        self.function = function
        # Their candidates join those of the replicas.
        self.also = also
        self.fitter = fitter
        self.noise = noise
        self.criterion: Any = criterion
        if constraints is None:
            assert criterion is not None
            constraints = AllowedSubsets.without_limits(criterion.n_features)
        self.constraints = constraints
        # The batches of the last share asked for: all sizes share them, unless rows are so few that
        # they cost next to nothing.
        self._batches: tuple[float, CriterionStack] | None = None
        self._complement: tuple[AllowedSubsets, CriterionStack | None, Complement | None] | None = (
            None
        )

    def run(self, size: int, *, n_threads: int = 1) -> AnnealingResult:
        """Search for the best subset of `size` features."""
        annealed = self.anneal(size, n_threads)
        theirs = [source.candidates(size, n_threads=n_threads) for source in self.also]
        return self.judge(annealed, theirs, n_threads=n_threads)

    def judge(
        self,
        annealed: Annealed,
        theirs: Sequence[IntArray],
        *,
        n_threads: int = 1,
    ) -> AnnealingResult:
        """Choose among what the replicas and others found, by the loss of fitted models."""
        subsets, values = self.candidates_of(annealed)
        for others in theirs:
            subsets = stacked(subsets, others)
            values = np.concatenate([values, self._values(others)])
        fits = self._fits(subsets, values, n_threads)
        forbidden = np.zeros(len(values), dtype=bool)
        if self.constraints.signs is not None:
            subsets, fits, forbidden = self._with_right_signs(
                annealed.size, subsets, fits, n_threads
            )
            values = np.concatenate([values, self._values(subsets[len(values) :])])
        cost_terms = np.where(forbidden, np.inf, 0.0)
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
        return (
            np.nan if self.criterion is None else self.criterion.ridge / (1 + self.criterion.ridge)
        )

    @property
    def n_replicas(self) -> int:
        """Number of replicas, those of other criteria included."""
        others = [other.n_replicas for other in self.also if isinstance(other, Search)]
        return self.settings.n_replicas + sum(others)

    def candidates(self, size: int, *, n_threads: int = 1) -> IntArray:
        """Where the replicas end, and the best that they climb to."""
        return self.candidates_of(self.anneal(size, n_threads))[0]

    def anneal(self, size: int, n_threads: int = 1) -> Annealed:
        """Replicas at the end of annealing."""
        # As SeedSequence([seed, size]).spawn(3) makes them, in half the time.
        for_start, for_batches, for_chains = (
            np.random.SeedSequence([self.seed, size], spawn_key=(i,)) for i in range(3)
        )
        rng = np.random.default_rng(for_start)
        chains = self._chains(size, rng, for_chains, n_threads)
        start = chains.subsets
        # One replica has no spread.
        alone = self.settings.n_replicas == 1
        trace = self.settings.run(
            chains,
            np.random.default_rng(for_batches),
            chains.sample(MIN_SPREAD_SAMPLE, rng) if alone else None,
            origin=0.0 if self.function is None else None,
        )
        _check_finite(chains.values)
        return Annealed(size, chains, start, trace)

    def prepare(self, size: int) -> Search:
        """Compute ahead what a search at this size shares with others, and return itself."""
        if self.function is None:
            allowed = self._constraints_for(size)
            self._complement_for(allowed, self._batches_for(allowed.max_columns(size)), size)
        for source in self.also:
            source.prepare(size)
        return self

    def _chains(
        self,
        size: int,
        rng: np.random.Generator,
        seed: np.random.SeedSequence,
        n_threads: int,
    ) -> SearchChains:
        """Replicas at random subsets of this size."""
        allowed = self._constraints_for(size)
        n = self.settings.n_replicas
        n_proposals = max(1, round(self.settings.sweeps * len(allowed.groups)))
        how: dict[str, Any] = {"seed": seed, "n_proposals": n_proposals}
        if self.function is not None:
            evaluate = less_cost(self.function, self.cost)
            start = finite_start(evaluate, allowed, size, n, rng)
            how |= {"constraints": allowed, "size": size, "climb": False}
            return FunctionChains(evaluate, start, **how)
        # With groups, a subset may have more columns than it counts.
        batches = self._batches_for(allowed.max_columns(size))
        if not allowed.swaps_alone:
            how |= {"constraints": allowed, "size": size}
            return self._group_chains(allowed, batches, size, rng, n_threads, how)
        complement = self._complement_for(allowed, batches, size)
        subsets = random_subsets(self.criterion, size, n, rng, allowed)
        how |= {"allowed": allowed, "n_threads": n_threads}
        if complement is not None:
            return ComplementChains(self.criterion, complement, subsets, **how)
        return SwapChains(self.criterion, subsets, batches=batches, cost=self.cost, **how)

    def _group_chains(
        self,
        allowed: AllowedSubsets,
        batches: CriterionStack | None,
        size: int,
        rng: np.random.Generator,
        n_threads: int,
        how: dict[str, Any],
    ) -> SearchChains:
        """Replicas at random selections of feature groups, under the quadratic criterion."""
        compiled = all_count_the_same(allowed)
        on_batches = None if compiled else batches
        quadratic = QuadraticFunction(
            self.criterion, on_batches, constraints=allowed, n_threads=n_threads
        )
        evaluate = less_cost(quadratic, self.cost)
        # Where every subset of this size has features that add nothing, they are no reason to
        # refuse one.
        once = np.random.default_rng(self.seed)
        sample = sample_values(evaluate, allowed, size, MIN_SPREAD_SAMPLE, once)
        refuse = quadratic.refuse_collinear = bool(np.isfinite(sample).any())
        start = finite_start(evaluate, allowed, size, self.settings.n_replicas, rng)
        if not compiled:
            n_batches = 0 if batches is None else len(batches[0])
            return FunctionChains(evaluate, start, n_batches=n_batches, **how)
        how |= {"batches": batches, "cost": self.cost, "n_threads": n_threads}
        return GroupChains(self.criterion, start, refuse_collinear=refuse, **how)

    @cached_property
    def _lean(self) -> AllowedSubsets:
        """Without the features that no subset needs."""
        return self.constraints.without(self.criterion.redundant)

    def _constraints_for(self, size: int) -> AllowedSubsets:
        """The lean ones, unless they leave too few features."""
        if self.function is None and self._lean.has_size(size):
            return self._lean
        self.constraints.check_size(size)
        return self.constraints

    def candidates_of(self, annealed: Annealed) -> tuple[IntArray, FloatArray]:
        """Subsets that may win, and their values.

        The replicas end where the last batches left them, which is worth something (they differ),
        but the largest value of all is rarely among them: so the best that climbing reaches. Where
        there are no more subsets than replicas, it is all of them. Where coefficients must have
        signs, those that do by the criterion come besides.
        """
        chains = annealed.chains
        more = chains.every(self.settings.n_replicas)
        if more is None:
            climbed, values = chains.climbed()
            best = [int(np.argmax(values))]
            more = climbed[best], values[best]
            if self.constraints.signs is not None:
                ends = np.concatenate([chains.subsets, more[0]])
                signed = self._signed(self._constraints_for(annealed.size), ends)
                their_values = self._values(signed)
                more = stacked(more[0], signed), np.concatenate([more[1], their_values])
        subsets, values = more
        return stacked(chains.subsets, subsets), np.concatenate([chains.values, values])

    def _signed(self, allowed: AllowedSubsets, subsets: IntArray) -> IntArray:
        """Subsets near these whose coefficients have the signs by the criterion, if there are."""
        selections = np.array([allowed.selection_of(row[row >= 0]) for row in subsets])
        climb = SignedClimb(self.criterion, allowed, self.cost)
        return climb.candidates(selections, max(self.settings.n_replicas, N_STARTS))

    def _with_right_signs(
        self, size: int, subsets: IntArray, fits: Fits, n_threads: int
    ) -> tuple[IntArray, Fits, NDArray[np.bool_]]:
        """The candidates, more where no model has the right signs, and whether each has not."""
        allowed, signs = self._constraints_for(size), self.constraints.signs
        assert signs is not None
        wrong, more = wrong_signs(subsets, fits.coefficients, signs), subsets
        # Where the criterion knows none, fewer features to choose from won't help.
        known = (signed_values(self.criterion, subsets, signs)[1] == 0).any()
        for _ in range(MOST_ROUNDS if known else 0):
            if not wrong.any(axis=1).all():
                break
            # Of the new ones: by the criterion its signs are right, which others share.
            best = len(subsets) - len(more) + int(np.argmin(fits.losses[-len(more) :]))
            groups = allowed.selection_of(subsets[best][wrong[best]])
            fewer = allowed.without(allowed.columns_of(groups))
            if len(fewer.exclude) == len(allowed.exclude) or not fewer.has_size(size):
                break
            allowed, rng = fewer, np.random.default_rng([self.seed, size])
            start = allowed.subsets_of(allowed.random(size, N_STARTS, rng), subsets.shape[1])
            more = self._signed(allowed, start)
            subsets, fits = self._with_more(subsets, fits, more, n_threads)
            wrong = wrong_signs(subsets, fits.coefficients, signs)
        if wrong.any(axis=1).all():
            climb = SignedClimb(self.criterion, self._constraints_for(size), self.cost)
            subsets, fits = self._with_more(subsets, fits, climb.every(size), n_threads)
            wrong = wrong_signs(subsets, fits.coefficients, signs)
        if wrong.any(axis=1).all():
            raise no_subset(size, np.unique(subsets[wrong]), self.constraints)
        return subsets, fits, np.asarray(wrong.any(axis=1))

    def _with_more(
        self, subsets: IntArray, fits: Fits, more: IntArray, n_threads: int
    ) -> tuple[IntArray, Fits]:
        """Candidates and their models, and those of some more."""
        if not len(more):
            return subsets, fits
        theirs = self._fits(more, self._values(more), n_threads)
        subsets = stacked(subsets, more)
        return subsets, joined([_padded(each, subsets.shape[1]) for each in (fits, theirs)])

    def _values(self, subsets: IntArray) -> FloatArray:
        """Criterion values of subsets, less the cost; rows may be filled up with -1."""
        values = values_padded(self.criterion, subsets)
        if self.cost is not None:
            values -= np.append(self.cost, 0.0)[subsets].sum(axis=1)
        return values

    def _fits(self, subsets: IntArray, values: FloatArray, n_threads: int) -> Fits:
        """Models on the candidates; without a fitter the criterion itself is what counts."""
        if self.fitter is None:
            return Fits.of_losses(-values)
        fit = partial(fit_padded, self.fitter, n_threads=n_threads)
        if self.cost is not None or self.constraints.signs is not None:
            # The winner need not have the smallest loss.
            return fit(subsets, best_only=False)
        # Of equal losses the largest value wins: that is the order of preference.
        order = np.argsort(-values, kind="stable")
        return fit(subsets[order], best_only=True).take(np.argsort(order))

    def _cost_terms(
        self, subsets: IntArray, values: FloatArray, losses: FloatArray, trace: Trace
    ) -> FloatArray:
        """The cost of each candidate in units of the loss.

        The exchange rate is what a unit of the criterion was worth to the best model: its loss
        against that without features, over what its criterion value is above that of no features
        (0, or where a criterion of one's own started).
        """
        assert self.cost is not None
        assert self.fitter is not None
        cost = np.append(self.cost, 0.0)[subsets].sum(axis=1)
        best = int(np.argmin(losses))
        gained = max(0.0, self.fitter.baseline() - float(losses[best]))
        origin = 0.0 if self.function is None else float(trace.mean[0])
        value = float(values[best] + cost[best]) - origin
        return cost * gained / max(value, float(trace.std[0]), np.finfo(float).tiny)

    def _batches_for(self, n_columns: int) -> CriterionStack | None:
        """Criteria of the batches that suit so many columns; None where there is no noise."""
        if self.noise is None:
            return None
        share = batch_share(self.settings.batch_fraction, n_columns, self.noise)
        if share >= 1.0:
            return None
        # Threads may come here at the same time; for one share they compute the same.
        known = self._batches
        if known is None or known[0] != share:
            known = self._batches = None  # before others take their place
            known = self._batches = (share, self._draw_batches(self.noise, share))
        return known[1]

    def _draw_batches(self, noise: Batches, share: float) -> CriterionStack:
        """Criteria of random batches."""
        n_batches, n_features = self.settings.n_batches, self.constraints.n_features
        return batch_criteria(noise, n_batches, share, n_features, self.seed)

    def _complement_for(
        self, constraints: AllowedSubsets, batches: CriterionStack | None, size: int
    ) -> Complement | None:
        """The criteria turned over, where what is left out is less than what is chosen."""
        n_usable = constraints.n_features - len(constraints.exclude)
        limited = constraints.conflicts is not None or self.cost is not None
        if limited or not constraints.swaps_alone or not 0 < n_usable - size < size:
            return None
        # As with batches: all sizes share it, and threads compute the same.
        known = self._complement
        if known is None or known[0] is not constraints or known[1] is not batches:
            usable = np.delete(np.arange(constraints.n_features), constraints.exclude)
            turned = Complement.make(self.criterion, batches, usable)
            known = self._complement = (constraints, batches, turned)
        return known[2]


def _check_finite(values: FloatArray) -> None:
    """Refuse a criterion that never gave a number."""
    if not np.isfinite(values).any():
        raise ValueError(
            "criterion gave no finite value for any subset that was visited. It must return a "
            "number to be maximised; -inf is for the few subsets that can't be judged."
        )


def stacked(first: IntArray, second: IntArray) -> IntArray:
    """Rows of both, filled up with -1 to the same length."""
    if first.shape[1] == second.shape[1]:
        return np.concatenate([first, second])
    longest = max(first.shape[1], second.shape[1])
    return np.vstack(
        [
            np.pad(rows, ((0, 0), (0, longest - rows.shape[1])), constant_values=-1)
            for rows in (first, second)
        ]
    )


def values_padded(criterion: Any, subsets: IntArray) -> FloatArray:
    """Criterion value of each subset, where rows may be filled up with -1."""
    values = np.empty(len(subsets))
    lengths = np.sum(subsets >= 0, axis=1)
    for length in np.unique(lengths):
        same = lengths == length
        values[same] = subset_values(criterion, subsets[same, :length])
    return values


def fit_padded(fitter: Fitter, subsets: IntArray, *, best_only: bool, n_threads: int) -> Fits:
    """Fit a model to each subset, where rows may be filled up with -1."""
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
    """Subsets as rows, filled up with -1 to the same length."""
    rows = np.full((len(subsets), max(map(len, subsets))), -1, dtype=np.int64)
    for row, subset in zip(rows, subsets, strict=True):
        row[: len(subset)] = subset
    return rows


def _padded(fits: Fits, longest: int) -> Fits:
    """Coefficients filled up with zeros."""
    if fits.coefficients is None:
        return fits
    slopes = fits.coefficients
    width = [(0, 0)] * (slopes.ndim - 1) + [(0, longest - slopes.shape[-1])]
    return fits._replace(coefficients=np.pad(slopes, width))
