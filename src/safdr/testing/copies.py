"""Chains are a function of their start and seed, and can be copied."""

from __future__ import annotations

import pickle

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.arrays import FloatArray, IntArray
from safdr.testing.chains_case import N_REPLICAS, N_SWEEPS, Case, sweep
from safdr.testing.contract import ContractError

# Replicas of the smaller of two sets.
N_FEW = 3


def _path(case: Case, chains: Chains) -> tuple[IntArray, FloatArray]:
    """Where every replica is after each of some warm sweeps, and its values."""
    steps = []
    for _ in range(N_SWEEPS):
        values, _ = sweep(chains, 0.5 / case.spread)
        steps.append((case.locate(chains.subsets), np.array(values[-1])))
    where, reached = zip(*steps, strict=True)
    return np.array(where), np.array(reached)


def _differ(one: tuple[IntArray, FloatArray], other: tuple[IntArray, FloatArray]) -> int | None:
    """The first sweep after which two paths are not the same to the last bit."""
    apart = (one[0] != other[0]).any(axis=1) | (one[1] != other[1]).any(axis=1)
    return int(apart.argmax()) + 1 if apart.any() else None


def same_seed_same_path(case: Case) -> None:
    """Two sets of chains with the same start and seed do the same, bit by bit."""
    one, other = (_path(case, case.chains(case.start())) for _ in range(2))
    if (n := _differ(one, other)) is not None:
        raise ContractError(
            "the same subsets and values for the same seed",
            f"others after {n} sweeps",
            "random numbers that do not come from the seed, or state shared between objects",
        )


def other_seed_other_path(case: Case) -> None:
    """Another seed leads elsewhere."""
    one, other = (_path(case, case.chains(case.start(), seed)) for seed in (0, 1))
    if _differ(one, other) is None:
        raise ContractError(
            "other subsets for another seed",
            f"the same after each of {N_SWEEPS} sweeps",
            "a seed that is not used",
        )


def replicas_part(case: Case) -> None:
    """Replicas at the same subset go different ways."""
    chains = case.chains(np.zeros(N_REPLICAS, dtype=np.int64))
    where, _ = _path(case, chains)
    if (where == where[:, :1]).all():
        raise ContractError(
            "replicas that start together to part",
            f"all at the same subset after each of {N_SWEEPS} sweeps",
            "the same random stream for each replica; use seed.spawn(n_replicas)",
        )


def more_replicas_change_nothing(case: Case) -> None:
    """The path of a replica does not depend on how many there are after it."""
    many, few = (_path(case, case.chains(case.start()[:n])) for n in (N_REPLICAS, N_FEW))
    if (n := _differ((many[0][:, :N_FEW], many[1][:, :N_FEW]), few)) is not None:
        raise ContractError(
            f"the first {N_FEW} of {N_REPLICAS} replicas to go where {N_FEW} alone go",
            f"others after {n} sweeps",
            "one random stream shared by all replicas; use seed.spawn(n_replicas)",
        )


def pickles(case: Case) -> None:
    """A copy by pickle, made in mid-run, goes on as the original does."""
    chains = case.chains(case.start())
    _path(case, chains)
    try:
        twin = pickle.loads(pickle.dumps(chains))
    except Exception as error:
        raise ContractError(
            "chains that pickle can copy",
            f"{type(error).__name__}: {error}",
            "a lambda, a lock or a generator function in the state, or a class that is not at the "
            "top of a module",
        ) from error
    if (n := _differ(_path(case, chains), _path(case, twin))) is not None:
        raise ContractError(
            "a copy by pickle to go on as the original",
            f"another path after {n} sweeps",
            "random streams that are left out of the copy, made anew in it, or shared with it",
        )


def take_copies(case: Case) -> None:
    """`take` puts copies of the replicas asked for, which then go their own ways."""
    chains = case.chains(case.start())
    _path(case, chains)
    for indices in (np.arange(N_REPLICAS)[::-1] // 2, np.array([4, 4, 0, 1])):
        where = case.locate(chains.subsets)[indices]
        chains.take(indices)
        _require_taken(case, chains, where)
        _path(case, chains)
        _require_taken(case, chains, case.locate(chains.subsets))
    chains.take(np.zeros(N_FEW, dtype=np.int64))
    where, _ = _path(case, chains)
    if (where == where[:, :1]).all():
        raise ContractError(
            "copies made by take to part",
            f"all at the same subset after each of {N_SWEEPS} sweeps",
            "the random stream is copied too; let the streams stay where they are",
        )


def _require_taken(case: Case, chains: Chains, where: IntArray) -> None:
    """The replicas are at these states, and show their values."""
    shown = case.locate(chains.subsets)
    right = np.array_equal(shown, where)
    if not right or not np.allclose(chains.values, case.values[where], rtol=1e-6):
        raise ContractError(
            f"replicas at the states {where[:5]}, ... of those named as possible, after take",
            f"{shown[:5]}, ... with values {chains.values[:5]}",
            "values or another part of the state that take leaves behind",
        )


CHECKS = (
    same_seed_same_path,
    other_seed_other_path,
    replicas_part,
    more_replicas_change_nothing,
    pickles,
    take_copies,
)
