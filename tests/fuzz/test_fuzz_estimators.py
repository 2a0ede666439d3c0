"""The first random problems, and those that failed once; make fuzz does more from seed 0 on."""

import pytest

from fuzz import estimators
from fuzz.__main__ import failure

# The last ones failed once: a constant column with a coefficient of 1e20, a collinear group that
# won by its loss, a feature left out for one that was not allowed, losses beside huge offsets.
ONCE_WRONG = [15, 302, 3183, 3609, 4403, 5303, 1086, 3999, 9059]


@pytest.mark.parametrize("seeds", [range(15), ONCE_WRONG])
def test_random_problems_are_solved_or_refused_clearly(seeds):
    failures = [text for seed in seeds if (text := failure(estimators.check, seed)) is not None]
    assert not failures, failures[0]
