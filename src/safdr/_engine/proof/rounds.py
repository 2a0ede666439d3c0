"""Branch and bound in rounds: each continues from the open nodes of the previous one.

The length of a round is a number of steps. So the tree is the same for any number of threads,
unless time runs out.
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

# Steps of a node in the first round, after which about a dozen nodes are open, and the factor from
# round to round. Threads share the open nodes.
FIRST_STEPS = 1000
MORE_STEPS = 10

# Bytes that a thread may use for the matrices of the nodes above the current one.
MAX_BYTES = 2**30


@dataclass(eq=False)
class Rounds:
    """The subsets above a threshold that are known so far."""

    root: Root
    size: int
    threshold: float
    # Whether the smallest listed value becomes the threshold once `at_most` are listed; if not, all
    # subsets above the threshold are counted.
    improve: bool
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
        return not len(self._nodes)

    @property
    def upper_bound(self) -> float:
        """Return a bound for the unknown subsets; the threshold if no node is open."""
        return max(self.threshold, float(self._bounds.max(initial=-np.inf)) + self.root.slack)

    def run(self, end: float, n_threads: int) -> None:
        """Continue until no node is open, or until the clock (`time.monotonic`) passes `end`."""
        # Without bounds, or memory for the tree, all nodes stay open.
        n_bytes = 2 * 8 * len(self.root.free) ** 2 * self.size
        if not self.root.has_bounds or n_bytes > MAX_BYTES:
            return
        n_steps = FIRST_STEPS
        while not self.is_done and time.monotonic() < end:
            self._round(n_steps, end - time.monotonic(), n_threads)
            n_steps *= MORE_STEPS

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
        # The highest bounds first: when time runs out, the open ones are low.
        open_ = np.flatnonzero(bounds + root.slack > self.threshold)
        order = open_[np.argsort(-bounds[open_], kind="stable")]
        self._nodes, self._bounds = np.ascontiguousarray(nodes[order]), bounds[order]

    def keep(self, subsets: NDArray[np.integer[Any]], values: FloatArray) -> None:
        """List the best of the known subsets and these; ties are sorted by their features."""
        members = np.concatenate([self.subsets, subsets])
        value = np.concatenate([self.values, values])
        order = np.lexsort((*members.T[::-1], -value))[: self.at_most]
        self.subsets, self.values = members[order], value[order]
        if self.improve and len(order) == self.at_most:
            self.threshold = max(self.threshold, float(self.values[-1]))
