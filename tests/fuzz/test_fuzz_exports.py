"""The first cases of the fuzzer of exports; make fuzz does more from seed 0 on."""

import numpy as np
import pytest


@pytest.mark.parametrize("seed", range(5))
def test_exports_give_the_numbers_of_the_formula(seed):
    for package in ("pyarrow", "onnx", "onnxruntime", "duckdb"):
        pytest.importorskip(package)
    from fuzz.exports import check

    check(np.random.default_rng(seed))
