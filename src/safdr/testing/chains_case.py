"""A small problem on which chains are checked: every subset they can be in is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.arrays import FloatArray, IntArray
from safdr.testing.contract import ContractError

MakeChains: TypeAlias = Callable[[IntArray, np.random.SeedSequence], Chains]

# Replicas of most checks, and sweeps within which they must have moved.
N_REPLICAS = 30
N_SWEEPS = 20

# Times one over the spread of the values: no fall that can be told from rounding is accepted.
COLD = 1e9


@dataclass(frozen=True)
class Case:
    """How to make chains, and the value of every subset they can be in."""

    # ``make(subsets, seed)`` gives chains at these subsets.
    make: MakeChains
    # All subsets; where sizes differ, rows are filled up with -1.
    states: IntArray
    # Their values, from scratch.
    values: FloatArray
    # Replicas of the check of what is sampled.
    n_samples: int
    # Of all checks.
    seed: int

    @property
    def spread(self) -> float:
        """Standard deviation of the values: what temperatures are measured by."""
        return float(self.values.std())

    def start(self, n_replicas: int = N_REPLICAS) -> IntArray:
        """Indices of states to start from, as many as there are replicas."""
        return np.arange(n_replicas) % len(self.states)

    def chains(self, start: IntArray, seed: int = 0) -> Chains:
        """New chains at the states with these indices."""
        seeds = np.random.SeedSequence([self.seed, seed])
        return self.make(self.states[start], seeds)

    def locate(self, subsets: IntArray) -> IntArray:
        """Index of the state of each replica."""
        found = []
        for subset in map(members, subsets):
            if subset not in self._index:
                raise ContractError(
                    "replicas in the subsets that were named as possible",
                    f"{list(subset)}",
                    "a feature that enters twice, a size that changes, or indices that count from "
                    "one",
                )
            found.append(self._index[subset])
        return np.array(found, dtype=np.int64)

    @cached_property
    def _index(self) -> dict[tuple[int, ...], int]:
        """Where each subset stands among the states."""
        return {members(state): i for i, state in enumerate(self.states)}


def members(subset: Sequence[int] | IntArray) -> tuple[int, ...]:
    """The features of a subset in increasing order, without the -1 that fills it up."""
    return tuple(sorted(int(j) for j in subset if j >= 0))


def sweep(
    chains: Chains, beta: float | FloatArray, n_sweeps: int = 1, *, by_proposal: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Sweep as the annealing loop does: with a view of one inverse temperature on batch 0.

    Such a view can't be written to.
    """
    shape = (n_sweeps, len(chains.subsets))
    which = None if by_proposal else np.broadcast_to(np.int64(0), shape)
    return chains.sweep(np.broadcast_to(np.asarray(beta, dtype=np.float64), shape), which)
