"""Side-by-side timings: contestants take turns in one run, and medians are kept."""

import sys
from pathlib import Path

# The NumPy reference is kept with the tests.
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
