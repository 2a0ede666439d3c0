"""Trades of one group for several smaller ones of the same total, planned class by class.

A class holds the groups of one count, smallest first. Of each class only the number of groups on
either side matters: those that the one group is drawn from (`own`), and those that the smaller ones
are drawn from (`others`). All arrays have a row a replica.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from safdr._engine.arrays import FloatArray, IntArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Trade:
    """What is traded for what: a row for each replica."""

    # Class of the one group, and which of its groups in `own`.
    kind: IntArray
    within: IntArray
    # Class of each smaller group, or -1 where there are no more, and which of the groups in
    # `others` that earlier steps have left.
    steps: IntArray
    places: IntArray
    # Whether the smaller groups make up the count of the one.
    possible: BoolArray
    # Logarithm of the chance of the trade back over that of this one.
    log_ratio: FloatArray


def plan_trade(own: IntArray, others: IntArray, counts: IntArray, draws: FloatArray) -> Trade:
    """Draw a trade.

    The one group is any that is larger than the smallest. The others are drawn one by one, each
    from a random class among those that still fit, so that few large ones are as likely as many
    small ones; a draw that leaves a rest that nothing fits comes to nothing.
    """
    kind, within = draw_group(_larger(own), draws[:, 0])
    wanted = np.where(_larger(own).any(axis=1), counts[kind], 0)
    steps, places, made = _draw_steps(others, counts, kind, wanted, draws[:, 1:])
    possible = (made == wanted) & (wanted > 0)
    classes = np.arange(len(counts))
    taken = (steps[:, :, None] == classes).sum(axis=1)
    one = (kind[:, None] == classes).astype(np.int64)
    there = _log_chance(own, others, counts, kind, steps)
    back = _log_chance(others - taken + one, own + taken - one, counts, kind, steps)
    return Trade(kind, within, steps, places, possible, np.where(possible, back - there, 0.0))


def _draw_steps(
    others: IntArray, counts: IntArray, kind: IntArray, wanted: IntArray, draws: FloatArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Classes of smaller groups, which of their groups, and what they count together."""
    steps, places = np.full(draws.shape, -1), np.zeros(draws.shape, dtype=np.int64)
    pool, made = others.copy(), np.zeros_like(wanted)
    for t in range(draws.shape[1]):
        fitting = _fitting(pool, counts, kind, wanted - made)
        rows = np.flatnonzero(fitting.any(axis=1))
        if not rows.size:
            break
        steps[rows, t], rest = draw_class(fitting[rows] > 0, draws[rows, t])
        places[rows, t] = below(rest, pool[rows, steps[rows, t]])
        pool[rows, steps[rows, t]] -= 1
        made[rows] += counts[steps[rows, t]]
    return steps, places, made


def _log_chance(
    own: IntArray, others: IntArray, counts: IntArray, kind: IntArray, steps: IntArray
) -> FloatArray:
    """Log of the chance to draw a group of class `kind`, then groups of the classes in `steps`.

    Of particular groups: the chance of the class, over the number of groups in it.
    """
    rows = np.arange(len(own))
    pool, left = others.copy(), counts[kind]
    chance = -np.log(np.maximum(_larger(own).sum(axis=1), 1))
    for step in steps.T[: int((steps >= 0).any(axis=0).sum())]:
        drawn = step >= 0
        n_classes = (_fitting(pool, counts, kind, left) > 0).sum(axis=1)
        ways = np.where(drawn, n_classes * pool[rows, step], 1)
        chance -= np.log(np.maximum(ways, 1))
        pool[rows[drawn], step[drawn]] -= 1
        left = left - np.where(drawn, counts[step], 0)
    return chance


def _larger(own: IntArray) -> IntArray:
    """Without the smallest class: nothing makes up for one of its groups but another."""
    return np.concatenate([np.zeros_like(own[:, :1]), own[:, 1:]], axis=1)


def _fitting(pool: IntArray, counts: IntArray, kind: IntArray, left: IntArray) -> IntArray:
    """Feature groups of the classes that are smaller than `kind` and fit into what is left."""
    fits = (np.arange(len(counts)) < kind[:, None]) & (counts <= left[:, None])
    return np.where(fits, pool, 0)


def draw_group(pool: IntArray, draw: FloatArray) -> tuple[IntArray, IntArray]:
    """A random group of all in the pool: its class, and its number there; 0 and 0 for none."""
    rank = below(draw, pool.sum(axis=1))
    ends = np.cumsum(pool, axis=1)
    kind = np.argmax(ends > rank[:, None], axis=1)
    rows = np.arange(len(pool))
    return kind, np.maximum(rank - ends[rows, kind] + pool[rows, kind], 0)


def draw_class(usable: BoolArray, draw: FloatArray) -> tuple[IntArray, FloatArray]:
    """A random class of those that can be used, and what is left of the draw: a draw too."""
    scaled = draw * usable.sum(axis=1)
    rank = np.floor(scaled)
    return np.argmax(np.cumsum(usable, axis=1) > rank[:, None], axis=1), scaled - rank


def below(draw: FloatArray, n: IntArray | int) -> IntArray:
    """A random integer from 0 to n - 1."""
    return (draw * n).astype(np.int64)
