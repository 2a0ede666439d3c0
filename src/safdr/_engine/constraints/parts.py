"""Selections of groups with a given count and no conflict: which counts, random ones, all of them.

Groups that are in no conflict are interchangeable if they count the same; groups in conflict fall
into clusters, whose few ways to be taken are listed. A dynamic programme over these parts is then
exact. Where the ways of a cluster are too many to list, an integer programme answers instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import gammaln

from safdr._engine.arrays import FloatArray, IntArray

BoolArray = NDArray[np.bool_]

# Ways to take groups of one cluster that are listed, which takes some 10 ms.
MOST_WAYS = 2**14


class Part(Protocol):
    """Feature groups that are in no conflict with those of other parts."""

    @property
    def groups(self) -> IntArray:
        """The groups."""

    @property
    def totals(self) -> IntArray:
        """What groups of this part can count together, sorted; 0 comes first."""

    @property
    def log_ways(self) -> FloatArray:
        """Logarithm of the number of ways to make each of the totals."""

    def draw(self, totals: IntArray, rng: np.random.Generator) -> BoolArray:
        """A uniform random way to make each of the given totals, as masks over `groups`."""

    def every(self, total: int) -> Iterator[tuple[int, ...]]:
        """All ways to make a total, as groups."""


@dataclass(frozen=True, eq=False)
class Alike:
    """Feature groups of one count and without conflicts: any of them may be taken."""

    groups: IntArray
    count: int

    @property
    def totals(self) -> IntArray:
        """Multiples of the count."""
        return self.count * np.arange(len(self.groups) + 1)

    @property
    def log_ways(self) -> FloatArray:
        """Binomial coefficients."""
        n, taken = len(self.groups), np.arange(len(self.groups) + 1)
        ways: FloatArray = gammaln(n + 1) - gammaln(taken + 1) - gammaln(n - taken + 1)
        return ways

    def draw(self, totals: IntArray, rng: np.random.Generator) -> BoolArray:
        """The groups of the smallest random keys."""
        rank = rng.random((len(totals), len(self.groups))).argsort(axis=1).argsort(axis=1)
        return np.asarray(rank < (totals // self.count)[:, None])

    def every(self, total: int) -> Iterator[tuple[int, ...]]:
        """Combinations."""
        return combinations(self.groups.tolist(), total // self.count)


@dataclass(frozen=True, eq=False)
class Cluster:
    """Groups linked by conflicts: the ways to take some of them, sorted by what they count."""

    groups: IntArray
    ways: BoolArray
    sums: IntArray

    @property
    def totals(self) -> IntArray:
        """The different counts."""
        return np.unique(self.sums)

    @property
    def log_ways(self) -> FloatArray:
        """Ways of the same count."""
        return np.log(np.unique(self.sums, return_counts=True)[1])

    def draw(self, totals: IntArray, rng: np.random.Generator) -> BoolArray:
        """One of the ways of the same count."""
        first, last = (np.searchsorted(self.sums, totals, side=side) for side in ("left", "right"))
        return np.asarray(self.ways[rng.integers(first, last)])

    def every(self, total: int) -> Iterator[tuple[int, ...]]:
        """The ways of the same count."""
        for way in self.ways[self.sums == total]:
            yield tuple(self.groups[way].tolist())


def make_parts(
    groups: IntArray, counts: IntArray, conflicts: BoolArray | None
) -> list[Part] | None:
    """Split groups into parts; None where a cluster can be taken in too many ways to list."""
    if conflicts is None:
        return _alike(groups, counts)
    among = conflicts[np.ix_(groups, groups)]
    in_conflict = among.any(axis=1)
    parts, rivals = _alike(groups[~in_conflict], counts), groups[in_conflict]
    if not rivals.size:
        return parts
    # Of these alone: of thousands of others the same takes a second.
    n_clusters, cluster_of = connected_components(
        among[np.ix_(in_conflict, in_conflict)], directed=False
    )
    for label in range(n_clusters):
        members = rivals[cluster_of == label]
        cluster = _cluster(members, counts[members], conflicts[np.ix_(members, members)])
        if cluster is None:
            return None
        parts.append(cluster)
    return parts


def _alike(groups: IntArray, counts: IntArray) -> list[Part]:
    """Feature groups without conflicts, one part for each count."""
    return [Alike(groups[counts[groups] == c], int(c)) for c in np.unique(counts[groups])]


def _cluster(groups: IntArray, counts: IntArray, conflicts: BoolArray) -> Cluster | None:
    """List the ways to take groups of a cluster, group by group; None if they are too many."""
    ways = np.zeros((1, len(groups)), dtype=bool)
    for i in range(len(groups)):
        more = ways[~ways[:, conflicts[i]].any(axis=1)]
        more[:, i] = True
        ways = np.vstack([ways, more])
        if len(ways) > MOST_WAYS:
            return None
    sums = ways @ counts
    order = np.argsort(sums, kind="stable")
    return Cluster(groups, ways[order], sums[order])


def log_counts(parts: Sequence[Part], most: int) -> list[FloatArray]:
    """Logarithm of the number of ways to make 0, 1, …, `most` of the parts from the i-th on."""
    rows = [np.where(np.arange(most + 1) == 0, 0.0, -np.inf)]
    for part in reversed(parts):
        row = np.full(most + 1, -np.inf)
        for total, log_ways in zip(totals_up_to(part, most), part.log_ways, strict=False):
            row[total:] = np.logaddexp(row[total:], log_ways + rows[0][: most + 1 - total])
        rows.insert(0, row)
    return rows


def totals_up_to(part: Part, most: int) -> list[int]:
    """What groups of a part can count together, up to a bound."""
    totals: list[int] = part.totals[part.totals <= most].tolist()
    return totals


def draw(
    parts: Sequence[Part], n_groups: int, total: int, n: int, rng: np.random.Generator
) -> BoolArray:
    """Uniform random selections of a given total, which must exist."""
    selections = np.zeros((n, n_groups), dtype=bool)
    left = np.full(n, total)
    for part, after in zip(parts, log_counts(parts, total)[1:], strict=True):
        rest = left[:, None] - part.totals
        weight = np.where(rest >= 0, part.log_ways + after[np.maximum(rest, 0)], -np.inf)
        # The largest of weights with Gumbel noise is a draw from them.
        taken = part.totals[np.argmax(weight + rng.gumbel(size=weight.shape), axis=1)]
        selections[:, part.groups] = part.draw(taken, rng)
        left = left - taken
    return selections


def every(parts: Sequence[Part], n_groups: int, total: int, at_most: int) -> BoolArray | None:
    """All selections of a given total; None if they are more than `at_most`."""
    found = list(islice(_walk(parts, log_counts(parts, total), total), at_most + 1))
    if len(found) > at_most:
        return None
    selections = np.zeros((len(found), n_groups), dtype=bool)
    for row, groups in zip(selections, found, strict=True):
        row[list(groups)] = True
    return selections


def _walk(
    parts: Sequence[Part], counts: Sequence[FloatArray], total: int
) -> Iterator[tuple[int, ...]]:
    """Selections one by one, without going where none is."""
    if counts[0][total] == -np.inf:
        return
    if not parts:
        yield ()
        return
    for taken in totals_up_to(parts[0], total):
        if counts[1][total - taken] == -np.inf:
            continue
        for own in parts[0].every(taken):
            for others in _walk(parts[1:], counts[1:], total - taken):
                yield own + others
