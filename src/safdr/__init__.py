# ruff: noqa: F401 - imports for type checkers
"""safdr: select the smallest set of features that predicts as well as all of them."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safdr._estimators.evaluate import SubsetEvaluation, evaluate_subsets
    from safdr._estimators.models import SeparationWarning
    from safdr._estimators.options import Annealing, Constraints, PopulationAnnealing
    from safdr._estimators.path import anneal_path
    from safdr._estimators.proof import near_optimal, prove
    from safdr._estimators.selector import AnnealingRegressorSelector, AnnealingSelector
    from safdr._estimators.selector_cv import AnnealingRegressorSelectorCV, AnnealingSelectorCV
    from safdr._estimators.stability import stability
    from safdr._estimators.substitutes import substitutes
    from safdr._estimators.what_if import WhatIf, what_if
    from safdr.display import (
        PathDisplay,
        SelectionDisplay,
        StabilityDisplay,
        SubstitutesDisplay,
        TraceDisplay,
    )
    from safdr.errors import ParameterError
    from safdr.result import AnnealingResult, NearOptimal, Proof, Stability, Trace
    from safdr.sources import Stream

__version__ = "0.1.0"

# The module of each public name, which is loaded at first use: the command line must answer --help
# before scikit-learn has loaded.
_MODULES = {
    "Annealing": "_estimators.options",
    "AnnealingRegressorSelector": "_estimators.selector",
    "AnnealingRegressorSelectorCV": "_estimators.selector_cv",
    "AnnealingResult": "result",
    "AnnealingSelector": "_estimators.selector",
    "AnnealingSelectorCV": "_estimators.selector_cv",
    "Constraints": "_estimators.options",
    "NearOptimal": "result",
    "ParameterError": "errors",
    "PathDisplay": "display",
    "PopulationAnnealing": "_estimators.options",
    "Proof": "result",
    "SelectionDisplay": "display",
    "SeparationWarning": "_estimators.models",
    "Stability": "result",
    "StabilityDisplay": "display",
    "Stream": "sources",
    "SubsetEvaluation": "_estimators.evaluate",
    "SubstitutesDisplay": "display",
    "Trace": "result",
    "TraceDisplay": "display",
    "WhatIf": "_estimators.what_if",
    "anneal_path": "_estimators.path",
    "evaluate_subsets": "_estimators.evaluate",
    "near_optimal": "_estimators.proof",
    "prove": "_estimators.proof",
    "stability": "_estimators.stability",
    "substitutes": "_estimators.substitutes",
    "what_if": "_estimators.what_if",
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(_import_module(f"safdr.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'safdr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
