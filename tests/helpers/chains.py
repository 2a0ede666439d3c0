"""Adapt each kind of chains to one signature.

f(criterion, starts, size, seed, n_proposals, allowed=, cost=, batches=, n_threads=), where `starts`
are tuples of columns and `batches` is a list of (A, D).
"""

import numpy as np

from helpers.engine import OfTuples
from safdr._engine import criterion as _criterion
from safdr._engine.annealing import function_chains as _functions
from safdr._engine.annealing.cached_function import CachedFunction
from safdr._engine.annealing.complement import Complement
from safdr._engine.annealing.complement_chains import ComplementChains
from safdr._engine.annealing.group_chains import GroupChains
from safdr._engine.annealing.quadratic_function import QuadraticFunction
from safdr._engine.annealing.swap_chains import SwapChains


def _stack(batches):
    if batches is None:
        return None
    return np.array([A for A, _ in batches]), np.array([D for _, D in batches])


def swaps(criterion, starts, size, seed, n_proposals, *, batches=None, **how):
    """Return compiled chains that swap single features."""
    seed = np.random.SeedSequence(seed)
    how |= {"seed": seed, "n_proposals": n_proposals, "batches": _stack(batches)}
    return SwapChains(criterion, np.array(starts, dtype=np.int64), **how)


def complements(
    criterion,
    starts,
    size,
    seed,
    n_proposals,
    *,
    batches=None,
    allowed=None,
    cost=None,
    n_threads=1,
):
    """Return chains for subsets of more than half of the features."""
    assert cost is None
    exclude = np.empty(0, dtype=np.int64) if allowed is None else allowed.exclude
    usable = np.delete(np.arange(criterion.n_features), exclude)
    return ComplementChains(
        criterion,
        Complement.make(criterion, _stack(batches), usable),
        np.array(starts, dtype=np.int64),
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
        allowed=allowed,
        n_threads=n_threads,
    )


def _selections(starts, allowed):
    return np.array([allowed.selection_of(s) for s in starts])


def groups(criterion, starts, size, seed, n_proposals, *, allowed, batches=None, **how):
    """Return compiled chains that swap groups of features."""
    how |= {"constraints": allowed, "size": size, "seed": np.random.SeedSequence(seed)}
    how |= {"n_proposals": n_proposals, "batches": _stack(batches)}
    return GroupChains(criterion, _selections(starts, allowed), **how)


def trades(criterion, starts, size, seed, n_proposals, *, allowed, batches=None, cost=None):
    """Return chains over groups that count differently, where one is exchanged for several."""
    quadratic = QuadraticFunction(criterion, _stack(batches), constraints=allowed)
    return _functions.FunctionChains(
        _functions.less_cost(quadratic, cost),
        _selections(starts, allowed),
        constraints=allowed,
        size=size,
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
        n_batches=0 if batches is None else len(batches),
    )


def functions(value, starts, size, seed, n_proposals, *, allowed, cost=None):
    """Return chains on any function of a subset."""
    cached = CachedFunction(OfTuples(value))
    return _functions.FunctionChains(
        _functions.less_cost(cached, cost),
        _selections(starts, allowed),
        constraints=allowed,
        size=size,
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
    )


def device(
    criterion,
    starts,
    size,
    seed,
    n_proposals,
    *,
    batches=None,
    allowed=None,
    cost=None,
    n_threads=1,
):
    """Return chains on torch's CPU; a proposal is a draw for one place."""
    import torch

    from safdr._engine.device.chains import DeviceChains

    if batches is not None:
        batches = tuple(torch.as_tensor(each) for each in _stack(batches))
    return DeviceChains(
        _on_device(criterion),
        np.array(starts, dtype=np.int64),
        seed=np.random.SeedSequence(seed),
        n_draws=n_proposals,
        batches=batches,
        allowed=allowed,
        cost=cost,
    )


def _on_device(criterion):
    import torch

    A, D = torch.as_tensor(criterion.A), torch.as_tensor(criterion.D)
    return _criterion.Criterion(A, D, criterion.scale, criterion.ridge, criterion.redundant)


def local_search(replicas):
    """Return where each replica would end by better and better swaps, and the values there."""
    return replicas.climbed()


def drift(replicas):
    """Return the largest relative rounding error of the values so far."""
    return replicas.drift
