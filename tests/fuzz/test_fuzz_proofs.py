"""The first random proofs; make fuzz does more from seed 0 on."""

from fuzz import proofs
from fuzz.__main__ import failure


def test_random_proofs_hold_for_all_subsets():
    failures = [text for seed in range(50) if (text := failure(proofs.check, seed)) is not None]
    assert not failures, failures[0]
