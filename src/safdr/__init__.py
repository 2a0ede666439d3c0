"""safdr: the smallest set of features that still predicts as well as all of them."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safdr.display import (
        DiscriminantDisplay,
        PathDisplay,
        ProxyDisplay,
        SelectionDisplay,
        TraceDisplay,
    )
    from safdr.evaluate import SubsetEvaluation, evaluate_subsets
    from safdr.objectives import CrossValidatedScore
    from safdr.path import anneal_path
    from safdr.regressor_selector import AnnealingRegressorSelector
    from safdr.regressor_selector_cv import AnnealingRegressorSelectorCV
    from safdr.report import SelectionReport
    from safdr.result import AnnealingResult, Trace
    from safdr.selector import AnnealingSelector
    from safdr.selector_cv import AnnealingSelectorCV
    from safdr.validation import SeparationWarning

__version__ = "0.1.0"

# Loaded at first use: the command line must answer --help before scikit-learn has loaded.
_HOME = {
    "AnnealingRegressorSelector": "regressor_selector",
    "AnnealingRegressorSelectorCV": "regressor_selector_cv",
    "AnnealingResult": "result",
    "AnnealingSelector": "selector",
    "AnnealingSelectorCV": "selector_cv",
    "CrossValidatedScore": "objectives",
    "DiscriminantDisplay": "display",
    "PathDisplay": "display",
    "ProxyDisplay": "display",
    "SelectionDisplay": "display",
    "SelectionReport": "report",
    "SeparationWarning": "validation",
    "SubsetEvaluation": "evaluate",
    "Trace": "result",
    "TraceDisplay": "display",
    "anneal_path": "path",
    "evaluate_subsets": "evaluate",
}

__all__ = [
    "AnnealingRegressorSelector",
    "AnnealingRegressorSelectorCV",
    "AnnealingResult",
    "AnnealingSelector",
    "AnnealingSelectorCV",
    "CrossValidatedScore",
    "DiscriminantDisplay",
    "PathDisplay",
    "ProxyDisplay",
    "SelectionDisplay",
    "SelectionReport",
    "SeparationWarning",
    "SubsetEvaluation",
    "Trace",
    "TraceDisplay",
    "anneal_path",
    "evaluate_subsets",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(_import_module(f"safdr.{_HOME[name]}"), name)
    raise AttributeError(f"module 'safdr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
