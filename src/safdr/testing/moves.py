"""What chains show of themselves, and how they move."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from safdr._engine.annealing.chains import Chains
from safdr._engine.arrays import FloatArray
from safdr.testing.chains_case import COLD, N_REPLICAS, N_SWEEPS, Case, members, sweep
from safdr.testing.contract import ContractError

# At beta = 0 each subset of some tens is as good as any other: this is time enough to see them all.
MAX_HOT_SWEEPS = 300

# What adding up gains may lose to rounding, against a value from scratch.
DRIFT = 1e-6

# Of the spread; far above what a cold chain accepts (COLD), far below any real fall.
FALL = 1e-6


def has_the_protocol(case: Case) -> None:
    """The members of `Chains`; the checks need one batch, of all rows."""
    chains = case.chains(case.start())
    names = ("n_batches", "sweeps_at_once", "subsets", "values", "sweep", "take")
    if missing := [name for name in names if not hasattr(chains, name)]:
        raise ContractError(
            "all members of safdr._engine.annealing.chains.Chains",
            f"no {missing}",
            "a name misspelt",
        )
    if chains.n_batches != 1:
        raise ContractError(
            "n_batches = 1, a batch of all rows",
            f"{chains.n_batches}",
            "chains made with batches; let make_chains leave them out here",
        )
    if chains.sweeps_at_once < 1:
        raise ContractError(
            "sweeps_at_once of at least 1", f"{chains.sweeps_at_once}", "a count not set"
        )


def starts_where_put(case: Case) -> None:
    """The replicas are at the subsets they were given, and the caller's array is left alone."""
    start = case.start()
    given = case.states[start]
    chains = case.make(given, np.random.SeedSequence(case.seed))
    shown = [members(subset) for subset in chains.subsets]
    wanted = [members(subset) for subset in case.states[start]]
    if shown != wanted:
        raise ContractError(
            f"replicas at {wanted[:3]}, ... before the first sweep",
            f"{shown[:3]}, ...",
            "chains that draw a start of their own, or move when they are made",
        )
    sweep(chains, 0.0, N_SWEEPS)
    if not np.array_equal(given, case.states[start]):
        raise ContractError(
            "the array of starts left as it was",
            "another after some sweeps",
            "the array is kept and changed in place; copy it",
        )


def subsets_are_sorted(case: Case) -> None:
    """Integers in increasing order, and a subset that is possible, wherever the replicas go."""
    chains = case.chains(case.start())
    for _ in range(N_SWEEPS):
        sweep(chains, 0.0)
        subsets = chains.subsets
        case.locate(subsets)
        for subset in subsets:
            shown = subset[subset >= 0]
            if not np.issubdtype(subsets.dtype, np.integer) or (np.diff(shown) <= 0).any():
                raise ContractError(
                    "integers in increasing order",
                    f"{subset}",
                    "members are kept in the order in which they came; sort a copy",
                )


def sweep_returns_rows(case: Case) -> None:
    """Values and acceptance, one row a sweep and one column a replica."""
    chains = case.chains(case.start())
    for by_proposal in (False, True):
        values, acceptance = sweep(chains, 1.0 / case.spread, 3, by_proposal=by_proposal)
        if np.shape(values) != (3, N_REPLICAS) or np.shape(acceptance) != (3, N_REPLICAS):
            raise ContractError(
                f"values and acceptance of shape (3, {N_REPLICAS}) for 3 sweeps",
                f"{np.shape(values)} and {np.shape(acceptance)}",
                "a row for the last sweep alone, or a mean over the replicas",
            )
        if not ((acceptance >= 0) & (acceptance <= 1)).all():
            raise ContractError(
                "an acceptance between 0 and 1",
                f"{np.min(acceptance)} to {np.max(acceptance)}",
                "a count that is not divided by the number of proposals",
            )
        last = np.asarray(values)[-1]
        if not np.allclose(last, chains.values, DRIFT, DRIFT * case.spread, equal_nan=True):
            raise ContractError(
                "`values` those of the last sweep",
                f"{chains.values[:3]}, where the sweep returned {last[:3]}",
                "values taken before the last move, or kept from an earlier call",
            )


def values_are_from_scratch(case: Case) -> None:
    """At the start and after many moves, `values` are those of the subsets."""
    chains = case.chains(case.start())
    for _ in range(N_SWEEPS):
        expected = case.values[case.locate(chains.subsets)]
        wrong = ~np.isclose(chains.values, expected, rtol=DRIFT, atol=DRIFT * case.spread)
        if wrong.any():
            i = int(wrong.argmax())
            raise ContractError(
                f"the value {expected[i]:.10g} of the subset {list(members(chains.subsets[i]))}",
                f"{chains.values[i]:.10g}",
                "gains added up without a fresh start, or a refused move that changed the value",
            )
        sweep(chains, 0.5 / case.spread, 5)


def shown_arrays_stay(case: Case) -> None:
    """What was handed out before a sweep is not changed by it."""
    chains = case.chains(case.start())
    for _ in range(2):
        shown = [chains.subsets, chains.values, *sweep(chains, 0.0)]
        kept = [np.array(array) for array in shown]
        sweep(chains, 0.0, N_SWEEPS)
        for name, now, then in zip(
            ("subsets", "values", "the sweep's values", "the acceptance"), shown, kept, strict=True
        ):
            if not np.array_equal(now, then):
                raise ContractError(
                    f"{name} to stay as handed out",
                    "other numbers after the next sweep",
                    "an array of the state itself is handed out; return a copy",
                )


def hot_replicas_go_everywhere(case: Case) -> None:
    """At beta = 0 moves are accepted, and lead from one subset to all of them."""
    chains = case.chains(np.zeros(N_REPLICAS, dtype=np.int64))
    visited = np.zeros(len(case.states), dtype=bool)
    for _ in range(MAX_HOT_SWEEPS):
        visited[case.locate(chains.subsets)] = True
        if visited.all():
            return
        _, acceptance = sweep(chains, 0.0)
    raise ContractError(
        f"every subset reached from {list(members(case.states[0]))} at beta = 0",
        f"{(~visited).sum()} of {len(visited)} subsets never visited, for one "
        f"{list(members(case.states[visited.argmin()]))}, by {N_REPLICAS} replicas in "
        f"{MAX_HOT_SWEEPS} sweeps; the share of accepted moves was {np.mean(acceptance):.2g}",
        "features that are never proposed, moves that are never accepted, or states that are not "
        "all possible",
    )


def cold_values_never_fall(case: Case) -> None:
    """At a huge beta only moves that do not lower the value are accepted."""
    chains = case.chains(case.start())
    before = case.values[case.locate(chains.subsets)]
    for _ in range(N_SWEEPS):
        _sweep_cold(case, chains)
        after = case.values[case.locate(chains.subsets)]
        if (after < before - FALL * case.spread).any():
            i = int((after - before).argmin())
            raise ContractError(
                f"values that never fall at beta = {COLD / case.spread:.3g}",
                f"{before[i]:.10g}, then {after[i]:.10g}",
                "the sign of the gain, a temperature where its inverse is meant, or a gain that is "
                "not that of the move",
            )
        before = after


def _sweep_cold(case: Case, chains: Chains) -> None:
    """A sweep at a huge beta, where exp(beta * gain) is beyond all numbers if gain > 0."""
    try:
        sweep(chains, COLD / case.spread)
    except (OverflowError, RuntimeWarning) as error:
        raise ContractError(
            "sweeps at a huge beta",
            f"{type(error).__name__}: {error}",
            "exp(beta * gain) of a large gain; accept moves with gain >= 0 before taking exp",
        ) from error


def each_has_its_own_beta(case: Case) -> None:
    """Half the replicas hot and half cold; then half the sweeps cold and half hot."""
    hot = np.arange(N_REPLICAS) % 2 == 1
    chains = case.chains(case.start())
    values = [chains.values]
    for _ in range(N_SWEEPS):
        values.extend(sweep(chains, np.where(hot, 0.0, COLD / case.spread))[0])
    falls = _falls(case, np.array(values))
    _require_falls_where_hot(falls[:, hot], falls[:, ~hot], "replica")

    start = chains.values[None]
    late = np.arange(2 * N_SWEEPS) >= N_SWEEPS
    after, _ = sweep(chains, np.where(late, 0.0, COLD / case.spread)[:, None], 2 * N_SWEEPS)
    falls = _falls(case, np.concatenate([start, after]))
    _require_falls_where_hot(falls[late], falls[~late], "sweep")


def _falls(case: Case, values: FloatArray) -> NDArray[np.bool_]:
    """Where a value is below that of the sweep before, by more than rounding."""
    rounding = FALL * case.spread + DRIFT * float(np.abs(case.values).max())
    return np.diff(values, axis=0) < -rounding


def _require_falls_where_hot(hot: NDArray[np.bool_], cold: NDArray[np.bool_], of_each: str) -> None:
    """Values must fall now and then at beta = 0, and never at a huge beta."""
    if cold.any() or not hot.any():
        raise ContractError(
            f"the beta of each {of_each}: values that fall where it is 0, none where it is huge",
            f"{hot.sum()} falls at beta = 0 and {cold.sum()} at a huge beta",
            "one beta used for all; beta has a row for each sweep and a column for each replica",
        )


CHECKS = (
    has_the_protocol,
    starts_where_put,
    subsets_are_sorted,
    sweep_returns_rows,
    values_are_from_scratch,
    shown_arrays_stay,
    hot_replicas_go_everywhere,
    cold_values_never_fall,
    each_has_its_own_beta,
)
