"""Fixed seeds of the fuzzer of exports."""

import numpy as np
import pytest


@pytest.mark.parametrize("seed", range(10))
def test_exports_give_the_numbers_of_the_formula(seed):
    for package in ("pyarrow", "onnx", "onnxruntime", "duckdb"):
        pytest.importorskip(package)
    from fuzz.exports import check

    check(np.random.default_rng(seed))
