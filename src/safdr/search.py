"""Rows are prepared once, then searched at any size: anneal, then pick by cross-entropy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np

from safdr.annealing.anneal import AnnealingSettings, anneal
from safdr.annealing.chains import SwapChains, random_subsets, subset_values
from safdr.batches import affordable_batches, batch_share, draw_batches
from safdr.checkpoint import no_checkpoint
from safdr.criterion import CriterionStack, fisher_criterion
from safdr.logistic import LogisticData
from safdr.moments import FloatArray, IntArray, Rows, within_moments
from safdr.result import AnnealingResult

# One replica has no spread; this many random subsets then stand in for it.
MIN_SPREAD_SAMPLE = 50


class Search:
    """A two-class problem, ready to be searched at any size.

    A search is a function of the data, the settings, the seed and the size alone: sizes can be
    searched in any order, together or apart, on any number of threads.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        Finite values; sparse ones in CSR or CSC form.
    codes : ndarray of shape (n_samples,)
        Class of each row, 0 or 1.
    sample_weight : ndarray of shape (n_samples,), default=None
        Positive weights; None means one.
    settings : AnnealingSettings
        How to anneal.
    seed : int
        Source of all randomness.
    """

    def __init__(
        self,
        X: Rows,
        codes: IntArray,
        sample_weight: FloatArray | None,
        *,
        settings: AnnealingSettings,
        seed: int,
    ) -> None:
        self.X = X
        self.codes = codes
        # In units of the largest: nothing depends on that but the range of the numbers.
        if sample_weight is not None:
            sample_weight = sample_weight / sample_weight.max()
        self.sample_weight = sample_weight
        self.settings = settings
        self.seed = seed
        moments = within_moments(X, codes, 2, sample_weight)
        # Of many features, one matrix must do for the criterion and the start of the fits.
        self.criterion = fisher_criterion(moments, ridge=settings.ridge, overwrite=True)
        self.logistic = LogisticData(X, codes, sample_weight, moments, self.criterion.covariances)
        # The batches of the last share asked for: all sizes share them, unless rows are so few that
        # they cost next to nothing.
        self._batches: tuple[float, CriterionStack] | None = None

    def run(
        self,
        size: int,
        *,
        n_threads: int = 1,
        checkpoint: Callable[[], None] = no_checkpoint,
    ) -> AnnealingResult:
        """Search for the best subset of `size` features.

        Parameters
        ----------
        size : int
            From 1 to the number of features.
        n_threads : int, default=1
            Threads over replicas and fits.
        checkpoint : callable, default=no_checkpoint
            Called several times a second; may raise to stop.

        Returns
        -------
        AnnealingResult
        """
        for_start, for_batches, for_chains = np.random.SeedSequence([self.seed, size]).spawn(3)
        exclude = self._left_out(size)
        start, spread_sample = self._start(size, np.random.default_rng(for_start), exclude)
        chains = SwapChains(
            self.criterion,
            start,
            seed=for_chains,
            n_proposals=max(1, round(self.settings.sweeps * self.criterion.n_features)),
            batches=self._batches_for(size),
            exclude=exclude,
            n_threads=n_threads,
        )
        trace = anneal(
            chains,
            self.settings,
            np.random.default_rng(for_batches),
            spread_sample,
            checkpoint,
        )
        more, their_values = self._more_candidates(chains, exclude)
        subsets = np.vstack([chains.subsets, more])
        values = np.concatenate([chains.values, their_values])
        fits = self.logistic.fit(
            subsets, best_only=True, n_threads=n_threads, checkpoint=checkpoint
        )
        return AnnealingResult(
            subsets=subsets,
            criterion_values=values,
            cross_entropies=fits.cross_entropies,
            separated=fits.separated,
            coefficients=fits.coefficients,
            intercepts=fits.intercepts,
            n_iter=fits.n_iter,
            start_subsets=start,
            trace=trace,
            drift=chains.drift,
        )

    def criterion_values(self, subsets: IntArray) -> FloatArray:
        """Criterion value of each of some subsets of one size."""
        return subset_values(self.criterion, subsets)

    def prepare(self, size: int) -> Search:
        """Compute ahead what a search at this size shares with others, and return itself."""
        self._batches_for(size)
        return self

    def _more_candidates(
        self, chains: SwapChains, exclude: IntArray
    ) -> tuple[IntArray, FloatArray]:
        """Subsets that join those of the replicas, and their values.

        The replicas end where the last batches left them, which is worth something (they differ),
        but the largest value of all is rarely among them: so the best that climbing reaches. Where
        there are no more subsets than replicas, it is all of them.
        """
        usable = np.setdiff1d(np.arange(self.criterion.n_features), exclude)
        if comb(len(usable), chains.size) <= self.settings.n_replicas:
            every = np.array(list(combinations(usable.tolist(), chains.size)), dtype=np.int64)
            return every, self.criterion_values(every)
        climbed, values = chains.climbed()
        best = np.argmax(values)
        return climbed[best : best + 1], values[best : best + 1]

    def _left_out(self, size: int) -> IntArray:
        """Features that no subset needs, unless there are too few others."""
        needless = self.criterion.needless
        if self.criterion.n_features - len(needless) < size:
            return np.empty(0, dtype=np.int64)
        return needless

    def _start(
        self, size: int, rng: np.random.Generator, exclude: IntArray
    ) -> tuple[IntArray, FloatArray | None]:
        """Random subsets to start from, and what sets the temperature step if they are too few."""
        n_replicas = self.settings.n_replicas
        start = random_subsets(self.criterion, size, n_replicas, rng, exclude=exclude)
        if n_replicas > 1:
            return start, None
        sample = random_subsets(self.criterion, size, MIN_SPREAD_SAMPLE, rng, exclude=exclude)
        return start, subset_values(self.criterion, sample)

    def _batches_for(self, size: int) -> CriterionStack | None:
        """Criteria of the batches that suit this size; None where there is no noise."""
        share = batch_share(self.settings.batch_fraction, size, np.bincount(self.codes))
        if not self.settings.noisy or share >= 1.0:
            return None
        # Threads may come here at the same time; for one share they compute the same.
        known = self._batches
        if known is None or known[0] != share:
            known = self._batches = (share, self._draw_batches(share))
        return known[1]

    def _draw_batches(self, share: float) -> CriterionStack:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed]))
        n_features = self.criterion.n_features
        n_batches = affordable_batches(self.settings.n_batches, n_features)
        A = np.empty((n_batches, n_features, n_features))
        D = np.empty((n_batches, *self.criterion.D.shape))
        for i, codes in enumerate(draw_batches(self.codes, n_batches, share, rng)):
            moments = within_moments(self.X, codes, 2, self.sample_weight, out=A[i])
            D[i] = fisher_criterion(
                moments, ridge=self.settings.ridge, scale=self.criterion.scale, overwrite=True
            ).D
        return A, D
