"""What the path of an L1 penalty goes towards, in place of the target: a model of all features."""

from __future__ import annotations

from typing import Any

from scipy.special import ndtri

from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.criterion import effective_rows
from safdr._engine.reference import Reference, gains_clearly, reference_model
from safdr._engine.wide.criterion import WideCriterion
from safdr._estimators.ranks import mid_ranks


def towards_reference(
    X: Any,
    output: FloatArray,
    weight: FloatArray | None,
    usable: IntArray,
    *,
    rows_a_weight: float,
    with_ranks: bool,
) -> WideCriterion:
    """R² of what a model of the usable columns predicts, by their values.

    The model itself may be one of their ranks (as normal scores), where it is clearly better.
    """

    def criterion_of(columns: Any) -> WideCriterion:
        return WideCriterion.of_outputs(columns, output[:, None], weight)

    def reference_of(criterion: WideCriterion) -> Reference:
        live = usable[criterion.scale[usable] > 0]
        return reference_model(criterion, output, live, n_rows)

    of_values = criterion_of(X)
    n_rows = effective_rows(of_values.rows.moments.weight, rows_a_weight)
    reference = reference_of(of_values)
    if with_ranks:
        by_ranks = reference_of(criterion_of(ndtri(mid_ranks(X, weight))))
        if gains_clearly(reference.error, by_ranks.error, n_rows):
            reference = by_ranks
    return of_values.towards(reference.target, reference.ridge)
