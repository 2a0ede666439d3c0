"""The first cases of the fuzzer of options; make fuzz does more from seed 0 on."""

import sys

import numpy as np
import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="makes links and devices")
@pytest.mark.parametrize("seed", range(8))
def test_options_give_what_was_asked_for_or_are_refused(seed):
    for package in ("cyclopts", "rich", "pyarrow", "jinja2"):
        pytest.importorskip(package)
    from fuzz.options import check

    check(np.random.default_rng(seed))
