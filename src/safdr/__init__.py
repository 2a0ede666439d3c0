"""safdr: the smallest set of features that still predicts as well as all of them."""

from safdr.path import anneal_path
from safdr.result import AnnealingResult, Trace
from safdr.selector import AnnealingSelector
from safdr.validation import SeparationWarning

__version__ = "0.1.0"

__all__ = [
    "AnnealingResult",
    "AnnealingSelector",
    "SeparationWarning",
    "Trace",
    "anneal_path",
]
