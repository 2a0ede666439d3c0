"""Calls as other selectors have them, RFE and RFECV first: an error says what to write here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from safdr._estimators.parameters import PARAMETER_OBJECTS, PopulationAnnealing
from safdr.errors import meant

Init = TypeVar("Init", bound=Callable[..., None])

# Of parameters that others have: what to do without them.
NOT_HERE = {
    "step": "Features are not eliminated step by step: leave it out.",
    "importance_getter": "No model is asked for importances: leave it out.",
    "verbose": "Leave it out.",
}
RENAMED = {
    "min_features_to_select": "min_features",
    "max_features_to_select": "max_features",
    "n_features": "n_features_to_select",
}
OF_THOSE_WITH_CV = ("min_features", "max_features", "cv", "scoring", "rule", "tolerance")


def says_what_to_write(init: Init) -> Init:
    """The constructor of a selector, with errors for people who know others."""
    known = inspect.signature(init).parameters

    @wraps(init)
    def checked(self: Any, *args: Any, **params: Any) -> None:
        name = type(self).__name__
        if args and hasattr(args[0], "fit"):
            raise TypeError(_model_first(name, args, params))
        unknown = [each for each in params if each not in known]
        if unknown:
            hint = _hint(name, unknown[0], params[unknown[0]], list(known))
            raise TypeError(f"{name} has no parameter {unknown[0]!r}. {hint}")
        if args and "n_features_to_select" not in known:
            raise TypeError(
                f"{name} takes its parameters by name; got {args[0]!r} without one. Write "
                f"{name}(max_features=…) to try sizes up to that, or {_other(name)}(…) for exactly "
                "so many."
            )
        init(self, *args, **params)

    return cast(Init, checked)


def _model_first(name: str, args: tuple[Any, ...], params: dict[str, Any]) -> str:
    """What to write in place of a model that comes first."""
    model = f"estimator={type(args[0]).__name__}(…)"
    size = []
    if not name.endswith("CV"):
        size = [repr(params.get("n_features_to_select", args[1] if len(args) > 1 else 5))]
    plain, own = (f"{name}({', '.join(some)})" for some in (size, [*size, model]))
    return (
        f"{name} takes no model first: it brings a linear one. Write {plain}; or {own}, if "
        "yours shall judge the features and predict."
    )


def _hint(name: str, given: str, value: Any, known: list[str]) -> str:
    """What to write in place of a parameter that is not there."""
    if given in NOT_HERE:
        return NOT_HERE[given]
    wanted = RENAMED.get(given, given)
    if wanted in known:
        return f"Write {wanted}={value!r}."
    if wanted in ("n_features_to_select", *OF_THOSE_WITH_CV):
        return f"{_other(name)} has {wanted!r}."
    objects: list[tuple[str, type]] = [*PARAMETER_OBJECTS.items()]
    for place, kind in [*objects, ("annealing", PopulationAnnealing)]:
        if given in inspect.signature(kind).parameters:
            return f"Write {place}={kind.__name__}({given}={value!r})."
    near = meant(given, known)
    if near is not None:
        return f"Did you mean {near!r}?"
    return f"It has {', '.join(each for each in known if each != 'self')}."


def _other(name: str) -> str:
    """The selector of the other kind: with cross-validation, or of a given size."""
    return name.removesuffix("CV") if name.endswith("CV") else f"{name}CV"
