"""The contract of chains: what the annealing loop takes for granted, and what they must sample."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence

import numpy as np

from safdr._engine.arrays import IntArray
from safdr.testing import boltzmann, copies, moves
from safdr.testing.chains_case import Case, MakeChains, members
from safdr.testing.contract import run_checks

CHECKS = (*moves.CHECKS, *copies.CHECKS, *boltzmann.CHECKS)

MIN_STATES = 3


def check_chains(
    make_chains: MakeChains,
    value: Callable[[IntArray], float],
    states: Sequence[Sequence[int]] | IntArray,
    *,
    n_samples: int = 2000,
    seed: int = 0,
    skip: Collection[str] = (),
) -> None:
    """Check that chains keep what the protocol `safdr._engine.annealing.chains.Chains` promises.

    These are the checks, in order: `has_the_protocol`, `starts_where_put`, `subsets_are_sorted`,
    `sweep_returns_rows`, `values_are_from_scratch`, `shown_arrays_stay`,
    `hot_replicas_go_everywhere`, `cold_values_never_fall`, `each_has_its_own_beta`,
    `same_seed_same_path`, `other_seed_other_path`, `replicas_part`,
    `more_replicas_change_nothing`, `pickles`, `take_copies`, `samples_boltzmann`.

    Parameters
    ----------
    make_chains : callable
        ``make_chains(subsets, seed)`` returns new chains on a small problem of yours, with one
        batch of all rows: one replica at each row of `subsets`, and random numbers from `seed`, a
        `numpy.random.SeedSequence`.
    value : callable
        ``value(subset)`` is the criterion value of a sorted array of features, from scratch.
    states : sequence of sequences of int
        All subsets that the replicas can be in, some tens of them; `all_subsets` lists those of one
        size. They may differ in size: the starts are then filled up with -1, as may be what the
        chains show. Their values must be finite, and not all the same.
    n_samples : int, default=2000
        Replicas of `samples_boltzmann`. With 2000 a beta that is wrong by a third is found, with
        20 000 one wrong by a tenth.
    seed : int, default=0
        Of all checks. One right sampler in a million fails, and then fails with each run: another
        seed tells.
    skip : collection of str, default=()
        Names of checks to leave out.

    Raises
    ------
    ContractError
        At the first check that fails: what was expected, what came, and what usually causes it.

    Examples
    --------
    >>> import numpy as np
    >>> from safdr._engine.annealing.swap_chains import SwapChains
    >>> from safdr._engine.criterion import Criterion
    >>> from safdr.testing import all_subsets, check_chains
    >>> criterion = Criterion(np.eye(5), np.arange(5.0)[:, None], np.ones(5), ridge=0.0)
    >>> def make_chains(subsets, seed):
    ...     return SwapChains(criterion, subsets, seed=seed, n_proposals=10)
    >>> check_chains(make_chains, criterion.value, all_subsets(5, 2))
    """
    run_checks(CHECKS, _case(make_chains, value, states, n_samples, seed), skip)


def all_subsets(n_features: int, size: int) -> IntArray:
    """List all subsets of one size.

    Parameters
    ----------
    n_features, size : int
        Features to choose from, and to choose.

    Returns
    -------
    ndarray of shape (n_subsets, size)

    Examples
    --------
    >>> from safdr.testing import all_subsets
    >>> all_subsets(3, 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.array(list(itertools.combinations(range(n_features), size)), dtype=np.int64)


def _case(
    make_chains: MakeChains,
    value: Callable[[IntArray], float],
    states: Sequence[Sequence[int]] | IntArray,
    n_samples: int,
    seed: int,
) -> Case:
    """The arguments of `check_chains`, once they are found fit to check anything on."""
    distinct = sorted({members(state) for state in states})
    most = n_samples // boltzmann.MIN_EXPECTED
    if not MIN_STATES <= len(distinct) == len(states) <= most:
        raise ValueError(
            f"states must be {MIN_STATES} to {most} different subsets (n_samples / "
            f"{boltzmann.MIN_EXPECTED}); got {len(states)}, of which {len(distinct)} differ."
        )
    values = np.array([float(value(np.array(state, dtype=np.int64))) for state in distinct])
    if not np.isfinite(values).all() or np.ptp(values) <= 1e-9 * np.abs(values).max():
        raise ValueError(
            "The values of the states must be finite and differ, or there is nothing to check; got "
            f"{values.min()} to {values.max()}. Take other data, without copies among the features."
        )
    size = max(map(len, distinct))
    padded = [(*state, *[-1] * (size - len(state))) for state in distinct]
    return Case(make_chains, np.array(padded, dtype=np.int64), values, n_samples, seed)
