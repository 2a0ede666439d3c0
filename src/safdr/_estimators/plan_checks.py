"""What parameters can't have together, or with the data at hand: refused before any search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from safdr._engine import wide
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.proof.prover import check_provable
from safdr._estimators.training_data import ClassData, TrainingData
from safdr._memory import check_products
from safdr.errors import ParameterError

if TYPE_CHECKING:
    from safdr._estimators.plan import SearchPlan


def check_proof(plan: SearchPlan, allowed: AllowedSubsets) -> None:
    """Refuse a proof where there are no bounds, before any search."""
    if plan.own_criterion is not None:
        raise ParameterError(
            "prove",
            "must be None with a {criterion} of your own: a proof needs bounds on the values "
            "of all subsets, which only the built-in criterion has. Leave {prove} or "
            "{criterion} out.",
        )
    check_provable(allowed)
    if allowed.n_features > wide.WIDE:
        check_products(allowed.n_features)


def check_signs(plan: SearchPlan, data: TrainingData) -> None:
    """Refuse signs where the model has more than one coefficient for a feature, or none."""
    labels = isinstance(data, ClassData)
    n = len(data.classes) if isinstance(data, ClassData) else data.y.size // len(data.y)
    if n > 1 + labels:
        raise ParameterError(
            "signs",
            "can be asked for with two classes or one output, where a feature has one "
            "coefficient; got {n} {what}. Leave {signs} out.",
            n=n,
            what="classes" if labels else "outputs",
        )
    for name, given in {
        "criterion": plan.own_criterion,
        "estimator": plan.estimator,
    }.items():
        if given is not None:
            raise ParameterError(
                "signs",
                "can be asked of the coefficients of the built-in linear model, which must "
                f"then choose the winner; got {{{name}}}={{given!r}}. Leave one of them out.",
                given=given,
            )
