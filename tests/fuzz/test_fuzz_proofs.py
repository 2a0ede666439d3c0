"""Some hundred random proofs of fixed seeds; python -m fuzz proofs goes on from there."""

import pytest

from fuzz import proofs
from fuzz.__main__ import failure


@pytest.mark.parametrize("seeds", [range(i, i + 50) for i in range(0, 150, 50)])
def test_random_proofs_hold_for_all_subsets(seeds):
    failures = [text for seed in seeds if (text := failure(proofs.check, seed)) is not None]
    assert not failures, failures[0]
