"""Adapt each kind of chains to one signature.

f(criterion, starts, size, seed, n_proposals, allowed=, cost=, batches=, n_threads=), where `starts`
are tuples of columns and `batches` is a list of (A, D).
"""

import numpy as np

from helpers.engine import OfTuples
from safdr._engine import criterion as _criterion
from safdr._engine.annealing import functions as _functions
from safdr._engine.annealing.compiled import CompiledChains
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.signs import SignedFunction


def _stack(batches):
    if batches is None:
        return None
    return np.array([A for A, _ in batches]), np.array([D for _, D in batches])


def _selections(starts, allowed):
    return np.array([allowed.selection_of(s) for s in starts])


def compiled(
    criterion,
    starts,
    size,
    seed,
    n_proposals,
    *,
    allowed=None,
    batches=None,
    cost=None,
    n_threads=1,
):
    """Return compiled chains that swap features or groups."""
    allowed = allowed or AllowedSubsets.without_limits(criterion.n_features)
    return CompiledChains(
        criterion,
        _selections(starts, allowed),
        constraints=allowed,
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
        batches=_stack(batches),
        cost=cost,
        n_threads=n_threads,
    )


def _function_chains(evaluate, starts, seed, n_proposals, allowed, cost):
    return _functions.FunctionChains(
        _functions.less_cost(evaluate, cost),
        _selections(starts, allowed),
        constraints=allowed,
        seed=np.random.SeedSequence(seed),
        n_proposals=n_proposals,
    )


def functions(value, starts, size, seed, n_proposals, *, allowed, cost=None):
    """Return chains on any function of a subset."""
    cached = _functions.CachedFunction(OfTuples(value))
    return _function_chains(cached, starts, seed, n_proposals, allowed, cost)


def signed(criterion, starts, size, seed, n_proposals, *, allowed, cost=None):
    """Return chains on the criterion under signs."""
    function = SignedFunction(criterion, allowed.signs)
    return _function_chains(function, starts, seed, n_proposals, allowed, cost)


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
    """Return where the best replicas would end by better and better swaps, and the values."""
    return replicas.local_search()
