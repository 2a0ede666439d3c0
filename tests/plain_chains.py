"""Metropolis swap chains in plain Python, in small methods that a test can break one by one."""

import math
import random

import numpy as np
from safdr.testing import all_subsets

from safdr._engine.criterion import Criterion

N_FEATURES, SIZE = 6, 3
STATES = all_subsets(N_FEATURES, SIZE)


def small_criterion():
    rng = np.random.default_rng(6)
    A = np.corrcoef(rng.normal(size=(40, N_FEATURES)).T)
    return Criterion(A, rng.normal(size=(N_FEATURES, 1)), np.ones(N_FEATURES), 0.0)


VALUES = {frozenset(state): small_criterion().value(state) for state in STATES.tolist()}


def value(subset):
    return VALUES[frozenset(subset)]


def stream(seed):
    """The generator of the standard library: for single numbers faster than NumPy's."""
    return random.Random(int(seed.generate_state(1, np.uint64)[0]))


class PlainChains:
    """Right as it stands."""

    n_batches = 1
    sweeps_at_once = 1
    n_proposals = 4

    def __init__(self, subsets, seed):
        self.places = [list(subset) for subset in subsets.tolist()]
        self.now = [value(place) for place in self.places]
        self.streams = self.make_streams(seed, len(subsets))

    def make_streams(self, seed, n_replicas):
        return [stream(child) for child in seed.spawn(n_replicas)]

    @property
    def subsets(self):
        return np.array([sorted(place) for place in self.places])

    @property
    def values(self):
        return np.array(self.now)

    def accepts(self, gain, beta, rng):
        return gain >= 0 or rng.random() < math.exp(beta * gain)

    def candidate(self, place, rng):
        """A member's position, and what to put there."""
        outside = [j for j in range(N_FEATURES) if j not in place]
        # Not by randrange, which takes twice as long; a million are drawn.
        return int(rng.random() * SIZE), outside[int(rng.random() * len(outside))]

    def propose(self, r, beta):
        rng = self.streams[r]
        position, j = self.candidate(self.places[r], rng)
        new = self.places[r].copy()
        new[position] = j
        accepted = self.accepts(value(new) - self.now[r], beta, rng)
        if accepted:
            self.move(r, new)
        return accepted

    def move(self, r, new):
        self.places[r], self.now[r] = new, value(new)

    def sweep(self, beta, which=None):
        rows = [self.sweep_once(row) for row in beta]
        values, accepted = zip(*rows, strict=True)
        return np.array(values), np.array(accepted) / self.n_proposals

    def sweep_once(self, beta):
        accepted = [
            sum(self.propose(r, beta[r]) for _ in range(self.n_proposals))
            for r in range(len(self.places))
        ]
        return self.values, accepted

    def take(self, indices):
        self.places = [list(self.places[i]) for i in indices]
        self.now = [self.now[i] for i in indices]
