"""safdr: select the smallest set of features that predicts as well as all of them."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from safdr._estimators.evaluate import SubsetEvaluation as SubsetEvaluation
    from safdr._estimators.evaluate import evaluate_subsets as evaluate_subsets
    from safdr._estimators.models import SeparationWarning as SeparationWarning
    from safdr._estimators.options import Annealing as Annealing
    from safdr._estimators.options import Constraints as Constraints
    from safdr._estimators.options import PopulationAnnealing as PopulationAnnealing
    from safdr._estimators.path import anneal_path as anneal_path
    from safdr._estimators.proof import near_optimal as near_optimal
    from safdr._estimators.proof import prove as prove
    from safdr._estimators.selector import AnnealingRegressorSelector as AnnealingRegressorSelector
    from safdr._estimators.selector import AnnealingSelector as AnnealingSelector
    from safdr._estimators.selector_cv import (
        AnnealingRegressorSelectorCV as AnnealingRegressorSelectorCV,
    )
    from safdr._estimators.selector_cv import AnnealingSelectorCV as AnnealingSelectorCV
    from safdr._estimators.stability import stability as stability
    from safdr._estimators.substitutes import substitutes as substitutes
    from safdr._estimators.survival_selector import (
        AnnealingSurvivalSelector as AnnealingSurvivalSelector,
    )
    from safdr._estimators.survival_selector import (
        AnnealingSurvivalSelectorCV as AnnealingSurvivalSelectorCV,
    )
    from safdr._estimators.what_if import WhatIf as WhatIf
    from safdr._estimators.what_if import what_if as what_if
    from safdr.display import PathDisplay as PathDisplay
    from safdr.display import SelectionDisplay as SelectionDisplay
    from safdr.display import StabilityDisplay as StabilityDisplay
    from safdr.display import SubstitutesDisplay as SubstitutesDisplay
    from safdr.display import TraceDisplay as TraceDisplay
    from safdr.errors import ParameterError as ParameterError
    from safdr.report import Report as Report
    from safdr.result import AnnealingResult as AnnealingResult
    from safdr.result import NearOptimal as NearOptimal
    from safdr.result import Proof as Proof
    from safdr.result import Stability as Stability
    from safdr.result import Trace as Trace
    from safdr.sources import Stream as Stream
    from safdr.table.encoder import TableEncoder as TableEncoder

__version__ = "0.1.0"

# The public names of each module, which is loaded at first use: the command line must answer --help
# before scikit-learn has loaded.
_NAMES = {
    "_estimators.evaluate": "SubsetEvaluation evaluate_subsets",
    "_estimators.models": "SeparationWarning",
    "_estimators.options": "Annealing Constraints PopulationAnnealing",
    "_estimators.path": "anneal_path",
    "_estimators.proof": "near_optimal prove",
    "_estimators.selector": "AnnealingRegressorSelector AnnealingSelector",
    "_estimators.selector_cv": "AnnealingRegressorSelectorCV AnnealingSelectorCV",
    "_estimators.stability": "stability",
    "_estimators.substitutes": "substitutes",
    "_estimators.survival_selector": "AnnealingSurvivalSelector AnnealingSurvivalSelectorCV",
    "_estimators.what_if": "WhatIf what_if",
    "display": "PathDisplay SelectionDisplay StabilityDisplay SubstitutesDisplay TraceDisplay",
    "errors": "ParameterError",
    "report": "Report",
    "result": "AnnealingResult NearOptimal Proof Stability Trace",
    "sources": "Stream",
    "table.encoder": "TableEncoder",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(_import_module(f"safdr.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'safdr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
