"""The first random problems in passes; make fuzz does more from seed 0 on."""

from fuzz import streams
from fuzz.__main__ import failure


def test_rows_read_in_passes_have_the_models_of_rows_in_memory():
    failures = [text for seed in range(6) if (text := failure(streams.check, seed)) is not None]
    assert not failures, failures[0]
