"""What chains sample: at fixed beta each subset as often as exp(beta * value) says.

The replicas start from that very distribution, which is known since all subsets are. So a right
sampler is in it after any number of sweeps, however slowly it moves, and one look at each replica
gives independent samples: no start to forget, and no thinning to guess. A wrong sampler shows once
the replicas have forgotten where they started; a pilot run, with another seed, finds when.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, norm

from safdr._engine.annealing.chains import Chains
from safdr._engine.arrays import FloatArray, IntArray
from safdr.testing.chains_case import Case, members, sweep
from safdr.testing.contract import ContractError

# Of each of two tests for each of two ways to draw batches: at most one right sampler in a million
# fails, since at 2000 samples chi-square fails more often than its level says (simulated: 1.5 times
# as often at 1e-5).
LEVEL = 1e-7

# Subsets expected less often than this are counted together, or chi-square would not be one.
MIN_EXPECTED = 25

# The pilot's replicas, and the share of them that may still be where they started, beyond chance.
# The run itself is three times as long, which leaves about a hundredth.
N_PILOT, FORGOTTEN, LONGER = 500, 0.2, 3
MAX_SWEEPS = 300


def samples_boltzmann(case: Case) -> None:
    """Visits and the mean value are those of the Boltzmann distribution."""
    beta = 1.0 / case.spread
    probability = _boltzmann(case.values, beta)
    for by_proposal in (False, True):
        n_sweeps = LONGER * _sweeps_to_forget(case, probability, beta, by_proposal)
        _, chains = _at_equilibrium(case, probability, case.n_samples, seed=3)
        sweep(chains, beta, n_sweeps, by_proposal=by_proposal)
        where = case.locate(chains.subsets)
        how = f"which={'None' if by_proposal else '0'}"
        _require_mean(case, where, probability, how)
        _require_visits(case, where, probability, how)


def _boltzmann(values: FloatArray, beta: float) -> FloatArray:
    """Probability of each state."""
    weight = np.exp(beta * (values - values.max()))
    return weight / weight.sum()


def _at_equilibrium(
    case: Case, probability: FloatArray, n_replicas: int, seed: int
) -> tuple[IntArray, Chains]:
    """States drawn from the distribution, and chains that start there."""
    rng = np.random.default_rng([case.seed, seed])
    start = rng.choice(len(probability), size=n_replicas, p=probability)
    return start, case.chains(start, seed)


def _sweeps_to_forget(case: Case, probability: FloatArray, beta: float, by_proposal: bool) -> int:
    """Sweeps until few replicas are where they started, beyond those that came back by chance."""
    chance = float(np.sum(probability**2))
    start, chains = _at_equilibrium(case, probability, N_PILOT, seed=2)
    for n in range(1, MAX_SWEEPS + 1):
        sweep(chains, beta, by_proposal=by_proposal)
        at_start = float(np.mean(case.locate(chains.subsets) == start))
        if at_start - chance < FORGOTTEN * (1 - chance):
            return n
    raise ContractError(
        f"replicas elsewhere after {MAX_SWEEPS} sweeps at beta = {beta:.3g}, one over the spread",
        f"{at_start:.0%} where they started",
        "too few proposals a sweep, or moves that are nearly never accepted",
    )


def _require_mean(case: Case, where: IntArray, probability: FloatArray, how: str) -> None:
    """The mean value is the expected one: the sharpest test of the temperature."""
    expected = float(probability @ case.values)
    deviation = float(np.sqrt(probability @ (case.values - expected) ** 2))
    mean = float(case.values[where].mean())
    z = (mean - expected) / deviation * np.sqrt(len(where))
    if 2 * norm.sf(abs(z)) < LEVEL:
        slope = "colder" if z > 0 else "hotter"
        raise ContractError(
            f"a mean value of {expected:.6g} of {len(where)} replicas sweeping with {how}",
            f"{mean:.6g}, {abs(z):.1f} standard errors away, as of {slope} chains",
            "a factor or a sign in the acceptance, min(1, exp(beta * gain))",
        )


def _require_visits(case: Case, where: IntArray, probability: FloatArray, how: str) -> None:
    """Each subset is visited as often as expected, by chi-square."""
    visits = np.bincount(where, minlength=len(probability))
    expected = len(where) * probability
    cell = _cells(expected)
    counts, ideal = np.bincount(cell, visits), np.bincount(cell, expected)
    statistic = float(np.sum((counts - ideal) ** 2 / ideal))
    if chi2.sf(statistic, len(ideal) - 1) < LEVEL:
        worst = int((np.abs(visits - expected) / np.sqrt(expected + 1)).argmax())
        raise ContractError(
            f"subsets visited in proportion to exp(beta * value), sweeping with {how}",
            f"{visits[worst]} visits of {list(members(case.states[worst]))} where "
            f"{expected[worst]:.0f} were expected (chi-square {statistic:.0f}, {len(ideal)} cells)",
            "proposals that are not as likely forth as back, or features that are never proposed",
        )


def _cells(expected: FloatArray) -> IntArray:
    """The cell that each state is counted in: rare ones share the first."""
    order = np.argsort(expected)
    n_rare = int(np.sum(expected < MIN_EXPECTED))
    if n_rare:
        enough = int(np.searchsorted(np.cumsum(expected[order]), MIN_EXPECTED)) + 1
        n_rare = max(n_rare, enough)
    cell = np.empty(len(expected), dtype=np.int64)
    cell[order] = np.maximum(np.arange(len(expected)) - max(n_rare, 1) + 1, 0)
    return cell


CHECKS = (samples_boltzmann,)
