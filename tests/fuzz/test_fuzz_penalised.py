"""Some dozen random problems of fixed seeds; python -m fuzz penalised goes on from there."""

import pytest

from fuzz import penalised
from fuzz.__main__ import failure


@pytest.mark.parametrize("seeds", [range(i, i + 6) for i in range(0, 48, 6)])
def test_penalised_models_and_their_winners_are_those_of_another_solver(seeds):
    failures = [text for seed in seeds if (text := failure(penalised.check, seed)) is not None]
    assert not failures, failures[0]
