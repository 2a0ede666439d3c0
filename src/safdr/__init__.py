"""safdr: the smallest set of features that still predicts as well as all of them."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safdr._estimators.evaluate import SubsetEvaluation, evaluate_subsets
    from safdr._estimators.moments import Moments
    from safdr._estimators.parameters import Annealing, Constraints, PopulationAnnealing
    from safdr._estimators.path import anneal_path
    from safdr._estimators.proof import near_ties, prove
    from safdr._estimators.selector import AnnealingRegressorSelector, AnnealingSelector
    from safdr._estimators.selector_cv import AnnealingRegressorSelectorCV, AnnealingSelectorCV
    from safdr._estimators.stability import stability
    from safdr._estimators.user_criterion import CrossValidatedScore
    from safdr._estimators.validation import SeparationWarning
    from safdr._estimators.what_if import WhatIf, what_if
    from safdr.display import (
        PathDisplay,
        SelectionDisplay,
        StabilityDisplay,
        SubstitutesDisplay,
        TraceDisplay,
    )
    from safdr.errors import ParameterError
    from safdr.report import Report
    from safdr.result import AnnealingResult, FeatureGroups, NearTies, Proof, Stability
    from safdr.sources import Stream
    from safdr.table.encoder import TableEncoder
    from safdr.trace import Trace

__version__ = "0.1.0"

# Loaded at first use: the command line must answer --help before scikit-learn has loaded.
_HOME = {
    "Annealing": "_estimators.parameters",
    "AnnealingRegressorSelector": "_estimators.selector",
    "AnnealingRegressorSelectorCV": "_estimators.selector_cv",
    "AnnealingResult": "result",
    "AnnealingSelector": "_estimators.selector",
    "AnnealingSelectorCV": "_estimators.selector_cv",
    "Constraints": "_estimators.parameters",
    "CrossValidatedScore": "_estimators.user_criterion",
    "FeatureGroups": "result",
    "Moments": "_estimators.moments",
    "NearTies": "result",
    "ParameterError": "errors",
    "PathDisplay": "display",
    "PopulationAnnealing": "_estimators.parameters",
    "Proof": "result",
    "Report": "report",
    "SelectionDisplay": "display",
    "SeparationWarning": "_estimators.validation",
    "Stability": "result",
    "StabilityDisplay": "display",
    "Stream": "sources",
    "SubsetEvaluation": "_estimators.evaluate",
    "SubstitutesDisplay": "display",
    "TableEncoder": "table.encoder",
    "Trace": "trace",
    "TraceDisplay": "display",
    "WhatIf": "_estimators.what_if",
    "anneal_path": "_estimators.path",
    "evaluate_subsets": "_estimators.evaluate",
    "near_ties": "_estimators.proof",
    "prove": "_estimators.proof",
    "stability": "_estimators.stability",
    "what_if": "_estimators.what_if",
}

__all__ = [
    "Annealing",
    "AnnealingRegressorSelector",
    "AnnealingRegressorSelectorCV",
    "AnnealingResult",
    "AnnealingSelector",
    "AnnealingSelectorCV",
    "Constraints",
    "CrossValidatedScore",
    "FeatureGroups",
    "Moments",
    "NearTies",
    "ParameterError",
    "PathDisplay",
    "PopulationAnnealing",
    "Proof",
    "Report",
    "SelectionDisplay",
    "SeparationWarning",
    "Stability",
    "StabilityDisplay",
    "Stream",
    "SubsetEvaluation",
    "SubstitutesDisplay",
    "TableEncoder",
    "Trace",
    "TraceDisplay",
    "WhatIf",
    "anneal_path",
    "evaluate_subsets",
    "near_ties",
    "prove",
    "stability",
    "what_if",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(_import_module(f"safdr.{_HOME[name]}"), name)
    raise AttributeError(f"module 'safdr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
