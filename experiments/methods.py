"""Methods by name; SA-FDR also with other settings, as in "sa-fdr+n_batches=10"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.baselines import RFE, Abess, Lasso
from experiments.errors import MethodError
from experiments.models import Method, SubsetModel, sizes_up_to
from safdr import Annealing, AnnealingResult, AnnealingSelector, anneal_path

SA_FDR = "sa-fdr"
RECIPE = "recipe"
# Those that are compared with each other, and beside them what goes beyond the paper's models.
COMPARED = {SA_FDR: "SA-FDR", "rfe": "RFE", "lasso": "Lasso", "abess": "abess"}
TITLES = {**COMPARED, RECIPE: "safdr, default"}
# The paper's three; abess is an extra.
DEFAULT_METHODS = (SA_FDR, "rfe", "lasso")
# The defaults of the selectors, which settings must name in full.
DEFAULTS: dict[str, Any] = {**Annealing().get_params(), "criterion": "auto", "ridge": "auto"}

# The paper's models are not penalised, and its criterion is not shrunk.
PUBLISHED = AnnealingSelector.as_published()

# Of the paper's moves there is no other kind now; rows written before still say so.
MOVES = {"moves": "metropolis"}


@dataclass(frozen=True)
class SAFDR:
    """The paper's method, with settings that may differ from the defaults."""

    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """With the changes, in alphabetical order."""
        return "+".join(
            [SA_FDR, *(f"{key}={value}" for key, value in sorted(self.changes.items()))]
        )

    @property
    def settings(self) -> dict[str, object]:
        """All of them, so that a change of defaults is seen."""
        return {"method": SA_FDR, **MOVES, **annealing_defaults(), **self.changes}

    def grid(self, X: NDArray[np.float64], y: NDArray[np.int64], max_features: int) -> list[int]:
        """Sizes."""
        return sizes_up_to(max_features, X.shape[1])

    def path(
        self, X: NDArray[np.float64], y: NDArray[np.int64], grid: Any, seed: int
    ) -> list[SubsetModel]:
        """One search for each size."""
        results = anneal_path(X, y, grid, random_state=seed, **_parameters(self.changes))
        return [_logistic_model(result) for result in results]


@dataclass(frozen=True)
class Recipe:
    """The default recipe: screen, shrinkage, two criteria and penalised models."""

    name = RECIPE

    @property
    def settings(self) -> dict[str, object]:
        """All of them."""
        return {"method": RECIPE, **DEFAULTS, "C": 1.0}

    def grid(self, X: NDArray[np.float64], y: NDArray[np.int64], max_features: int) -> list[int]:
        """Sizes."""
        return sizes_up_to(max_features, X.shape[1])

    def path(
        self, X: NDArray[np.float64], y: NDArray[np.int64], grid: Any, seed: int
    ) -> list[SubsetModel]:
        """One search for each size; the models clip values to the training range."""
        low, high = X.min(axis=0), X.max(axis=0)
        models = []
        for result in anneal_path(X, y, grid, random_state=seed):
            model, subset = _logistic_model(result), result.subset
            models.append(replace(model, low=low[subset], high=high[subset]))
        return models


def _logistic_model(result: AnnealingResult) -> SubsetModel:
    """The winner's model, which is always there without an estimator or criterion of one's own."""
    assert result.coefficients is not None
    assert result.intercepts is not None
    return SubsetModel(
        result.subset,
        result.coefficients[result.best],
        float(result.intercepts[result.best]),
        result.cross_entropy,
    )


def annealing_defaults() -> dict[str, Any]:
    """How the method as published anneals unless told otherwise."""
    annealing = Annealing().get_params()
    del annealing["screen"]  # which the paper has not
    return {**annealing, "ridge": PUBLISHED.ridge}


def _parameters(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as parameters of the selector."""
    annealing = {name: value for name, value in changes.items() if name != "ridge"}
    ridge = changes.get("ridge", PUBLISHED.ridge)
    return {
        "annealing": Annealing(screen=None, **annealing),
        "criterion": PUBLISHED.criterion,
        "ridge": ridge,
        "C": PUBLISHED.C,
    }


def get_method(spec: str) -> Method:
    """A method by name; SA-FDR's may be followed by settings, each as "+name=value"."""
    name, *changes = spec.split("+")
    if name == SA_FDR:
        return SAFDR(_parse_changes(spec, changes))
    if changes:
        raise MethodError(f"Only {SA_FDR} takes settings; got {spec!r}.")
    if name == "abess" and find_spec("abess") is None:
        raise MethodError("The method 'abess' needs the package: pip install abess")
    others: dict[str, Method] = {"rfe": RFE(), "lasso": Lasso(), "abess": Abess(), RECIPE: Recipe()}
    if name not in others:
        raise MethodError(f"No method is called {name!r}. There are: {', '.join(TITLES)}.")
    return others[name]


def _parse_changes(spec: str, changes: list[str]) -> dict[str, Any]:
    """Settings out of "name=value" texts, those at their default left out."""
    defaults = annealing_defaults()
    parsed = {}
    for change in changes:
        key, equals, text = change.partition("=")
        if key not in defaults or not equals:
            raise MethodError(
                f"{change!r} in {spec!r} is not a setting. Write +name=value with a name of: "
                f"{', '.join(defaults)}."
            )
        value = _parse_value(spec, key, text, type(defaults[key]))
        if value != defaults[key]:
            parsed[key] = value
    if parsed:
        _check_values(spec, parsed)
    return parsed


def _check_values(spec: str, changes: dict[str, Any]) -> None:
    """Refuse what the selector refuses on a few rows, before any cell is run."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 2
    try:
        AnnealingSelector(1, random_state=0, **_parameters(changes)).fit(X, y)
    except ValueError as error:
        raise MethodError(f"{spec!r} has a setting that is not allowed: {error}") from None


def _parse_value(spec: str, key: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError:
        raise MethodError(
            f"{key} in {spec!r} must be of type {kind.__name__}; got {text!r}."
        ) from None
