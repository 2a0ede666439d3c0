"""Run the benchmarks; `python -m benchmarks moments` runs one of them."""

import sys

from benchmarks import moments, proposals

ALL = {"moments": moments.main, "proposals": proposals.main}

for name in sys.argv[1:] or ALL:
    ALL[name]()
