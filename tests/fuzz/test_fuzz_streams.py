"""Some dozen random problems of fixed seeds; python -m fuzz streams goes on from there."""

import pytest

from fuzz import streams
from fuzz.__main__ import failure


@pytest.mark.parametrize("seeds", [range(i, i + 6) for i in range(0, 24, 6)])
def test_rows_read_in_passes_have_the_models_of_rows_in_memory(seeds):
    failures = [text for seed in seeds if (text := failure(streams.check, seed)) is not None]
    assert not failures, failures[0]
