"""The first random problems with a penalty; make fuzz does more from seed 0 on."""

import pytest

from fuzz import penalised
from fuzz.__main__ import failure


@pytest.mark.parametrize("seeds", [range(6), range(6, 12)])
def test_penalised_models_and_their_winners_are_those_of_another_solver(seeds):
    failures = [text for seed in seeds if (text := failure(penalised.check, seed)) is not None]
    assert not failures, failures[0]
