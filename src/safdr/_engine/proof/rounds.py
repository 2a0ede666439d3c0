"""Branch and bound in rounds: each goes on from the nodes that the one before left open.

How far a round goes is counted in steps, not in seconds. So the tree is the same on any number of
threads, unless time is up.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from safdr import _core
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.proof.root import Root

# Steps of a node in the first round, which leaves some dozen nodes open where it does not end; and
# how much farther each round goes. The threads share what is open.
FIRST_STEPS = 1000
MORE_STEPS = 10

# Bytes that a thread may take for the matrices of the nodes above the one at hand.
MOST_BYTES = 2**30


@dataclass(eq=False)
class Rounds:
    """The subsets above a threshold, as far as they are known by now."""

    root: Root
    size: int
    # Wanted are values above.
    threshold: float
    # Variance that a member must have of its own; 0 allows all.
    collinear_tol: float
    # Whether the worst value that is kept is the new threshold, once there are `at_most`; else all
    # subsets above it are counted.
    improve: bool
    # How many to keep of those that are found.
    at_most: int

    def __post_init__(self) -> None:
        self.subsets: IntArray = np.empty((0, self.size), dtype=np.int64)
        self.values: FloatArray = np.empty(0)
        self.n_found = 0
        self.feature_counts: IntArray = np.zeros(self.root.criterion.n_features, dtype=np.int64)
        self.n_steps = 0
        self._nodes = np.zeros((1, len(self.root.free)), dtype=np.int8)
        self._bounds: FloatArray = np.array([self.root.bound(self.size)])

    @property
    def is_done(self) -> bool:
        """Whether nothing is left open."""
        return not len(self._nodes)

    @property
    def upper_bound(self) -> float:
        """What no subset that is still unknown exceeds; the threshold where none is left."""
        return max(self.threshold, float(self._bounds.max(initial=-np.inf)) + self.root.slack)

    def run(self, end: float, n_threads: int, n_rounds: float = np.inf) -> None:
        """Go on until nothing is left open, or the clock (`time.monotonic`) is at the end.

        Without a bound to hold on to, or memory for the tree, all stays open.
        """
        n_bytes = 2 * 8 * len(self.root.free) ** 2 * self.size
        if not self.root.is_sure or n_bytes > MOST_BYTES:
            return
        n_steps = FIRST_STEPS
        while not self.is_done and time.monotonic() < end and n_rounds > 0:
            self._round(n_steps, end - time.monotonic(), n_threads)
            n_steps *= MORE_STEPS
            n_rounds -= 1

    def _round(self, n_steps: int, seconds: float, n_threads: int) -> None:
        root = self.root
        subsets, values, counts, n_found, steps, nodes, bounds = _core.explore_subsets(
            root.criterion.A,
            root.criterion.D,
            root.included.astype(np.int32),
            root.free.astype(np.int32),
            root.inverse,
            root.coefficients,
            root.schur,
            root.rest,
            root.delta,
            root.cost,
            root.conflicts,
            self._nodes,
            self._bounds,
            all=root.all,
            value=root.value,
            size=self.size,
            threshold=self.threshold,
            slack=root.slack,
            collinear_tol=self.collinear_tol,
            improve=self.improve,
            at_most=self.at_most,
            n_steps=n_steps,
            seconds=seconds,
            n_threads=n_threads,
        )
        self.keep(subsets, values)
        self.n_found += n_found
        self.feature_counts += counts
        self.n_steps += steps
        # The highest first: when time is up, what is left is low.
        open_ = np.flatnonzero(bounds + root.slack > self.threshold)
        order = open_[np.argsort(-bounds[open_], kind="stable")]
        self._nodes, self._bounds = np.ascontiguousarray(nodes[order]), bounds[order]

    def keep(self, subsets: NDArray[np.integer[Any]], values: FloatArray) -> None:
        """The best of those before and these; of equal values the first by its features."""
        members = np.concatenate([self.subsets, subsets])
        value = np.concatenate([self.values, values])
        order = np.lexsort((*members.T[::-1], -value))[: self.at_most]
        self.subsets, self.values = members[order], value[order]
        if self.improve and len(order) == self.at_most:
            self.threshold = max(self.threshold, float(self.values[-1]))
