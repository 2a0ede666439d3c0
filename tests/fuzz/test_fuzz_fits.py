"""Some hundred random fits of fixed seeds; python -m fuzz fits goes on from there."""

import pytest

from fuzz import fits
from fuzz.__main__ import failure


@pytest.mark.parametrize("seeds", [range(i, i + 5) for i in range(0, 40, 5)])
def test_random_fits_are_those_of_another_solver(seeds):
    failures = [text for seed in seeds if (text := failure(fits.check, seed)) is not None]
    assert not failures, failures[0]
