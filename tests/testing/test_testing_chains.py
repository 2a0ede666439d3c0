"""Right chains pass the contract tests; broken ones are caught by the check meant for them."""

import math
import random

import numpy as np
import pytest

from plain_chains import (
    N_FEATURES,
    SIZE,
    STATES,
    VALUES,
    PlainChains,
    small_criterion,
    stream,
    value,
)
from safdr._engine.annealing.swap_chains import SwapChains
from safdr._engine.constraints import AllowedSubsets
from safdr.testing import ContractError, check_chains
from safdr.testing.boltzmann import MIN_EXPECTED, _cells
from safdr.testing.chains import CHECKS

NAMES = [check.__name__ for check in CHECKS]


def swap_chains(criterion, **options):
    def make(subsets, seed):
        return SwapChains(criterion, subsets, seed=seed, n_proposals=10, **options)

    return make


def test_the_compiled_chains_pass_with_many_samples():
    criterion = small_criterion()
    check_chains(swap_chains(criterion), criterion.value, STATES, n_samples=20_000)


def test_the_compiled_chains_pass_where_features_are_fixed():
    criterion = small_criterion()
    states = [state for state in STATES.tolist() if 2 in state and 5 not in state]
    allowed = AllowedSubsets.make(criterion.n_features, always_include=[2], never_include=[5])
    check_chains(swap_chains(criterion, allowed=allowed), criterion.value, states)


def test_plain_chains_pass_with_another_seed():
    check_chains(PlainChains, value, STATES, seed=1)


# ---- Broken chains ------------------------------------------------------------------------------


class NoTake:
    def __init__(self, subsets, seed):
        self.n_batches = self.sweeps_at_once = 1
        self.subsets, self.values = subsets, np.zeros(len(subsets))

    def sweep(self, beta, which):
        return np.zeros(beta.shape), np.zeros(beta.shape)


class Batches(PlainChains):
    n_batches = 5


class StartsElsewhere(PlainChains):
    def __init__(self, subsets, seed):
        super().__init__(subsets[::-1], seed)


class ChangesTheStart(PlainChains):
    def __init__(self, subsets, seed):
        super().__init__(subsets, seed)
        self.given = subsets

    def move(self, r, new):
        super().move(r, new)
        self.given[r] = new


class Unsorted(PlainChains):
    @property
    def subsets(self):
        return np.array(self.places)


class Repeats(PlainChains):
    def candidate(self, place, rng):
        return rng.randrange(SIZE), rng.randrange(N_FEATURES)

    def propose(self, r, beta):
        position, j = self.candidate(self.places[r], self.streams[r])
        self.places[r][position] = j
        return True


class Floats(PlainChains):
    @property
    def subsets(self):
        return super().subsets.astype(float)


class OneRow(PlainChains):
    def sweep(self, beta, which=None):
        values, acceptance = super().sweep(beta, which)
        return values[-1], acceptance[-1]


class Counts(PlainChains):
    def sweep(self, beta, which=None):
        values, acceptance = super().sweep(beta, which)
        return values, acceptance * self.n_proposals


class LastValuesLate(PlainChains):
    def sweep_once(self, beta):
        before = self.values
        return before, super().sweep_once(beta)[1]


class WritesToBeta(PlainChains):
    def sweep(self, beta, which=None):
        beta *= 1.0
        return super().sweep(beta, which)


class Drifts(PlainChains):
    def move(self, r, new):
        self.places[r], self.now[r] = new, value(new) + (self.now[r] - value(self.places[r])) + 1e-6


class RefusedMoveKept(PlainChains):
    def accepts(self, gain, beta, rng):
        accepted = super().accepts(gain, beta, rng)
        if not accepted:
            self.now = [old + 0.1 * gain for old in self.now]
        return accepted


class NotANumber(PlainChains):
    def move(self, r, new):
        super().move(r, new)
        self.now[r] = math.nan


class ShowsItsState(PlainChains):
    def __init__(self, subsets, seed):
        super().__init__(subsets, seed)
        self.shown = np.array(self.now)

    @property
    def values(self):
        self.shown.resize(len(self.now), refcheck=False)
        self.shown[:] = self.now
        return self.shown

    def sweep_once(self, beta):
        values, accepted = super().sweep_once(beta)
        return values.copy(), accepted


class Frozen(PlainChains):
    def accepts(self, gain, beta, rng):
        return False


class WrongSign(PlainChains):
    def accepts(self, gain, beta, rng):
        return gain <= 0 or rng.random() < math.exp(-beta * gain)


class Temperature(PlainChains):
    def accepts(self, gain, beta, rng):
        return gain >= 0 or (beta > 0 and rng.random() < math.exp(gain / beta)) or beta == 0


class Overflows(PlainChains):
    def accepts(self, gain, beta, rng):
        return rng.random() < math.exp(beta * gain)


class BetaOfTheFirst(PlainChains):
    def sweep_once(self, beta):
        return super().sweep_once(np.full(len(beta), beta[0]))


class BetaOfTheFirstSweep(PlainChains):
    def sweep(self, beta, which=None):
        return super().sweep(np.broadcast_to(beta[:1], beta.shape), which)


class Unseeded(PlainChains):
    def make_streams(self, seed, n_replicas):
        return [random.Random() for _ in range(n_replicas)]


class IgnoresTheSeed(PlainChains):
    def make_streams(self, seed, n_replicas):
        return super().make_streams(np.random.SeedSequence(0), n_replicas)


class OneSeedForAll(PlainChains):
    def make_streams(self, seed, n_replicas):
        return [stream(seed) for _ in range(n_replicas)]


class OneStream(PlainChains):
    def make_streams(self, seed, n_replicas):
        return [stream(seed)] * n_replicas


class HoldsALambda(PlainChains):
    def __init__(self, subsets, seed):
        super().__init__(subsets, seed)
        self.value = lambda subset: value(subset)


class ForgetsItsStreams(PlainChains):
    def __setstate__(self, state):
        self.__dict__.update(state)
        self.streams = self.make_streams(np.random.SeedSequence(0), len(self.places))


class TakeLeavesValues(PlainChains):
    def take(self, indices):
        before = self.now
        super().take(indices)
        self.now = before[: len(indices)]


class TakeCopiesStreams(PlainChains):
    def take(self, indices):
        super().take(indices)
        states = [self.streams[i].getstate() for i in indices]
        for own, state in zip(self.streams, states, strict=False):
            own.setstate(state)


class HalfAsCold(PlainChains):
    def accepts(self, gain, beta, rng):
        return gain >= 0 or rng.random() < math.exp(0.5 * beta * gain)


class HeatBathOfTwo(PlainChains):
    """Accepts with exp(x) / (exp(x) + 0.5): nearly Glauber's rule, which is also right."""

    def accepts(self, gain, beta, rng):
        weight = math.exp(min(beta * gain, 100.0))
        return rng.random() < weight / (weight + 0.5)


class PrefersLowFeatures(PlainChains):
    """Draws the lowest feature outside half of the time, so that ways forth and back differ."""

    def candidate(self, place, rng):
        position, j = super().candidate(place, rng)
        lowest = min(set(range(N_FEATURES)) - set(place))
        return position, lowest if rng.random() < 0.5 else j


class NeverLast(PlainChains):
    """Never proposes the last feature, but keeps it where it starts in a subset."""

    def candidate(self, place, rng):
        while True:
            position, j = super().candidate(place, rng)
            if j != N_FEATURES - 1 and place[position] != N_FEATURES - 1:
                return position, j


class HotByProposal(PlainChains):
    """Halves the inverse temperature where batches are drawn with each proposal."""

    def sweep(self, beta, which=None):
        return super().sweep(beta if which is not None else 0.5 * beta, which)


class SlowWhenCold(PlainChains):
    n_proposals = 1
    spread = float(np.std(list(VALUES.values())))

    def accepts(self, gain, beta, rng):
        slow = beta * self.spread > 0.9
        return rng.random() < (1e-4 if slow else 1.0) and super().accepts(gain, beta, rng)


# The check meant for it, and a word of what it says.
BROKEN = {
    NoTake: ("has_the_protocol", "take"),
    Batches: ("has_the_protocol", "n_batches = 1"),
    StartsElsewhere: ("starts_where_put", "before the first sweep"),
    ChangesTheStart: ("starts_where_put", "copy it"),
    WritesToBeta: ("starts_where_put", "read-only"),
    Unsorted: ("subsets_are_sorted", "increasing order"),
    Repeats: ("subsets_are_sorted", "enters twice"),
    Floats: ("subsets_are_sorted", "integers"),
    OneRow: ("sweep_returns_rows", r"shape \(3, 30\)"),
    Counts: ("sweep_returns_rows", "not divided by the number of proposals"),
    LastValuesLate: ("sweep_returns_rows", "before the last move"),
    Drifts: ("values_are_from_scratch", "without a fresh start"),
    RefusedMoveKept: ("values_are_from_scratch", "a refused move"),
    NotANumber: ("values_are_from_scratch", "got .*nan"),
    ShowsItsState: ("shown_arrays_stay", "values to stay .* return a copy"),
    Frozen: ("hot_replicas_go_everywhere", "19 of 20 subsets never visited"),
    NeverLast: ("hot_replicas_go_everywhere", "10 of 20 subsets never visited"),
    WrongSign: ("cold_values_never_fall", "the sign of the gain"),
    Temperature: ("cold_values_never_fall", "its inverse"),
    Overflows: ("cold_values_never_fall", "gain >= 0 before taking exp"),
    BetaOfTheFirst: ("each_has_its_own_beta", "of each replica"),
    BetaOfTheFirstSweep: ("each_has_its_own_beta", "of each sweep"),
    Unseeded: ("same_seed_same_path", "do not come from the seed"),
    IgnoresTheSeed: ("other_seed_other_path", "a seed that is not used"),
    OneSeedForAll: ("replicas_part", "the same random stream"),
    OneStream: ("more_replicas_change_nothing", "shared by all replicas"),
    HoldsALambda: ("pickles", "a lambda"),
    ForgetsItsStreams: ("pickles", "made anew"),
    TakeLeavesValues: ("take_copies", "take leaves behind"),
    TakeCopiesStreams: ("take_copies", "to part"),
    HalfAsCold: ("samples_boltzmann", "as of hotter chains"),
    HeatBathOfTwo: ("samples_boltzmann", "a factor or a sign"),
    PrefersLowFeatures: ("samples_boltzmann", r"visits of \[\d, \d, \d\] where \d+ were expected"),
    HotByProposal: ("samples_boltzmann", "which=None"),
    SlowWhenCold: ("samples_boltzmann", "too few proposals a sweep"),
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda c: c.__name__)
def test_broken_chains_are_caught_by_the_check_meant_for_them(broken, monkeypatch):
    # Those that forget at all do so in a few.
    monkeypatch.setattr("safdr.testing.boltzmann.MAX_SWEEPS", 30)
    check, says = BROKEN[broken]
    with pytest.raises(ContractError, match=f"^{check}: expected .*{says}") as caught:
        check_chains(broken, value, STATES)
    assert caught.value.check == check


def test_each_check_catches_something():
    assert {check for check, _ in BROKEN.values()} == set(NAMES)


def test_a_shared_stream_passes_once_its_check_is_left_out():
    check_chains(OneStream, value, STATES, skip=("more_replicas_change_nothing",))


def test_glauber_acceptance_samples_the_same_distribution():
    class Glauber(PlainChains):
        def accepts(self, gain, beta, rng):
            return rng.random() < 1 / (1 + math.exp(min(-beta * gain, 100.0)))

    check_chains(Glauber, value, STATES, skip=("pickles",))


# ---- Subsets that differ in size ----------------------------------------------------------------

# Features in groups that come and go together: two of these four.
GROUPS = [[0], [1, 4], [2, 5, 6], [3]]
OF_TWO = [sorted(GROUPS[a] + GROUPS[b]) for a in range(4) for b in range(a)]


def group_value(subset):
    return float(np.sum(np.sin(1.0 + np.asarray(subset)))) ** 2


class GroupChains(PlainChains):
    """Two groups a replica, shown as features filled up with -1."""

    fill = -1

    def __init__(self, subsets, seed):
        self.places = [[g for g in range(4) if GROUPS[g][0] in subset] for subset in subsets]
        self.now = [group_value(self.features(place)) for place in self.places]
        self.streams = self.make_streams(seed, len(subsets))

    def features(self, place):
        return sorted(j for g in place for j in GROUPS[g])

    @property
    def subsets(self):
        shown = [self.features(place) for place in self.places]
        return np.array([members + [self.fill] * (5 - len(members)) for members in shown])

    def propose(self, r, beta):
        rng, place = self.streams[r], self.places[r]
        outside = [g for g in range(4) if g not in place]
        new = [place[rng.randrange(2)], outside[rng.randrange(2)]]
        gain = group_value(self.features(new)) - self.now[r]
        if accepted := self.accepts(gain, beta, rng):
            self.places[r], self.now[r] = new, self.now[r] + gain
        return accepted


def test_subsets_may_be_filled_up_where_their_sizes_differ():
    check_chains(GroupChains, group_value, OF_TWO)


def test_filling_up_with_a_feature_is_caught():
    class Filled(GroupChains):
        fill = 7

    with pytest.raises(ContractError, match="starts_where_put"):
        check_chains(Filled, group_value, OF_TWO)


# ---- What they ask of the caller ----------------------------------------------------------------


@pytest.mark.parametrize("states", [[[0], [1]], [[0, 1], [1, 0], [0, 2]]])
def test_too_few_or_repeated_states_are_refused(states):
    with pytest.raises(ValueError, match="states must be 3 to 80 different subsets"):
        check_chains(PlainChains, sum, states)


@pytest.mark.parametrize("constant", [0.0, 3.0, math.nan, math.inf])
def test_values_that_tell_nothing_are_refused(constant):
    with pytest.raises(ValueError, match="must be finite and differ"):
        check_chains(PlainChains, lambda subset: constant, STATES)


def test_an_unknown_check_to_skip_is_refused():
    with pytest.raises(ValueError, match=r"no such check: \['boltzman'\]. There are has_the_pro"):
        check_chains(PlainChains, value, STATES, skip=("boltzman",))


def test_all_checks_are_listed_in_the_docstring():
    assert all(f"`{name}`" in check_chains.__doc__ for name in NAMES)


@pytest.mark.parametrize(
    "expected", [[100, 100, 200], [3, 100, 200], [1, 2, 3, 20, 30, 90], [24, 25], [5.0, 1, 500]]
)
def test_each_cell_of_the_chi_square_is_expected_often_enough(expected):
    cell = _cells(np.array(expected, dtype=float))
    assert np.bincount(cell, expected).min() >= MIN_EXPECTED or cell.max() == 0
    assert set(cell) == set(range(cell.max() + 1))
    rare = np.array(expected) < MIN_EXPECTED
    assert (cell[rare] == 0).all()
