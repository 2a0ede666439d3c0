"""The first random problems, and those that failed once; make fuzz does more from seed 0 on."""

import pytest

from fuzz import wide
from fuzz.__main__ import failure

# The last ones failed once: fewer columns that change than were asked for, and a criterion value
# that was measured near another model.
ONCE_WRONG = [6, 36]


@pytest.mark.parametrize("seeds", [range(2), ONCE_WRONG])
def test_no_swap_of_all_columns_is_better(seeds):
    failures = [text for seed in seeds if (text := failure(wide.check, seed)) is not None]
    assert not failures, failures[0]
