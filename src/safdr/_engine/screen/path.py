"""The LARS-Lasso path of one output, and the order of entry for several."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple

import numpy as np

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.interrupt import look_up
from safdr._engine.screen.problem import Problem

# Events nearer to each other than this share of the penalty are ties: the first index is first.
TIE = 1e-10

# Share of the largest penalty at which the path ends, and steps without length that end it.
SMALLEST_PENALTY = 1e-12
MAX_STUCK = 1000


class Event(NamedTuple):
    """A point of a path at which a feature enters or leaves."""

    entered: int  # -1 if a feature leaves
    penalty: float
    members: IntArray  # before the event
    slopes: FloatArray


def entries(problem: Problem) -> Iterator[int]:
    """Yield features by the largest penalty at which they enter, some more than once."""
    # The principal directions of several outputs have a path each, so that the order does not
    # depend on how the outputs are coded.
    outputs = [problem]
    if problem.D.shape[1] > 1:
        directions = np.linalg.svd(problem.start[1], full_matrices=False)[2]
        outputs = [problem.of_output(problem.D @ direction) for direction in directions]
    paths = (
        ((-event.penalty, event.entered) for event in lasso_path(output) if event.entered >= 0)
        for output in outputs
    )
    return (feature for _, feature in merge(*paths))


def lasso_path(problem: Problem) -> Iterator[Event]:
    """Follow min ½ b'·A·b - d'·b + t·|b|₁ as t falls."""
    # With c = d - A·b, all members have c = side·t, and no other feature has more. So b = u
    # - t·v with u = A_SS⁻¹·d_S and v = A_SS⁻¹·side, and c falls by A·v, until another
    # feature has as much as the members, or a slope is back at zero. Forced members have
    # the side 0.
    members, root = problem.forced.tolist(), problem.root()
    sides = np.zeros(len(members))
    outside = problem.usable.copy()
    outside[members] = False
    left = problem.start[1][:, 0].copy()
    penalty = largest = float(problem.sizes(left[:, None])[outside].max(initial=0.0))
    moved, stuck = -1, 0
    while penalty > SMALLEST_PENALTY * largest and stuck < MAX_STUCK:
        look_up()
        active = np.array(members, dtype=np.int64)
        u, v = root.solve(np.stack([problem.D[active, 0], sides], axis=1)).T
        falls = problem.products(active, v[:, None])[:, 0]
        tie = TIE * penalty
        ways_out = _ways_out(u - penalty * v, v, sides)
        ways_in = _ways_in(problem, penalty, left, falls)
        ways_in[~outside] = np.inf
        # Rounding must not reverse the last event.
        ways_out[(active == moved) & (ways_out <= tie)] = np.inf
        if moved >= 0 and ways_in[moved] <= tie:
            ways_in[moved] = np.inf
        length = min(ways_out.min(initial=np.inf), ways_in.min(initial=np.inf), penalty)
        if length == penalty:
            return
        leaving = int(active[ways_out <= length + tie].min(initial=len(outside)))
        entering = int(np.flatnonzero(ways_in <= length + tie).min(initial=len(outside)))
        enters = entering < leaving
        if enters and not root.append(problem.row(entering, active), problem.variance[entering]):
            outside[entering] = False
            continue
        stuck = stuck + 1 if length <= tie else 0
        penalty, left = penalty - length, left - length * falls
        left[active] = sides * penalty
        yield Event(entering if enters else -1, penalty, active, u - penalty * v)
        moved = min(entering, leaving)
        outside[moved] = not enters
        if enters:
            members.append(moved)
            sides = np.append(sides, np.sign(left[moved]))
        else:
            place = members.index(moved)
            root.remove(place)
            del members[place]
            sides = np.delete(sides, place)


def _ways_out(slopes: FloatArray, v: FloatArray, sides: FloatArray) -> FloatArray:
    """Return the fall of the penalty at which each member's slope is zero."""
    ways = np.full(len(v), np.inf)
    back = sides * v < 0
    ways[back] = np.maximum(-slopes[back] / v[back], 0.0)
    return ways


def _ways_in(problem: Problem, penalty: float, left: FloatArray, falls: FloatArray) -> FloatArray:
    """Return the fall of the penalty at which each feature can enter with an allowed sign."""
    ways = np.full(len(left), np.inf)
    for side in (1.0, -1.0):
        slower = 1.0 - side * falls
        gap = np.maximum(penalty - side * left, 0.0)
        far = np.divide(gap, slower, out=np.full(len(gap), np.inf), where=slower > 0)
        if problem.signs is not None:
            far[side * problem.signs < 0] = np.inf
        np.minimum(ways, far, out=ways)
    return ways
