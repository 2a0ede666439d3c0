"""Shapes that the core would not survive are refused before it sees them."""

import numpy as np
import pytest

from safdr._engine.annealing.swap_chains import SwapChains
from safdr._engine.criterion import Criterion


@pytest.fixture
def chains():
    criterion = Criterion(np.eye(6), np.ones((6, 1)), np.ones(6), 0.0)
    subsets = np.tile([0, 1], (8, 1))
    return SwapChains(criterion, subsets, seed=np.random.SeedSequence(0), n_proposals=5)


def test_inverse_temperatures_need_one_column_a_replica(chains):
    with pytest.raises(ValueError, match="one column for each of 8 replicas"):
        chains.sweep(np.zeros((2, 3)))


@pytest.mark.parametrize("which", [np.zeros((1, 3)), np.full((1, 8), 1), np.full((1, 8), -1)])
def test_batches_must_exist(chains, which):
    with pytest.raises(ValueError, match="with batches from 0 to 0"):
        chains.sweep(np.zeros((1, 8)), which.astype(np.int64))


def test_there_are_no_more_replicas_than_streams(chains):
    with pytest.raises(ValueError, match="random streams for 8 replicas; got 9"):
        chains.take(np.zeros(9, dtype=np.int64))
