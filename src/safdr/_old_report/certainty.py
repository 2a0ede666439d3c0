"""How sure the choice is: what was proven of it, and which subsets come near."""

from __future__ import annotations

from typing import Any

import numpy as np

from safdr.result import NearTies, Proof

# How near a subset comes that is worth a line, where nobody said: a share of the best value.
WITHIN = 0.01

# Values of one subset, summed up in another order, differ by less than this share.
SAME = 1e-9

# Values that were proven are known to this share.
KNOWN = 1e-6

# Subsets in a list; the others are counted.
MOST_SETS = 100


def describe_proof(estimator: Any, names: list[str]) -> dict[str, Any] | None:
    """Give what is known of the best subset of this size, and what the chosen one is beside it.

    `chosen_gap` is by what share of its value the chosen subset can be exceeded at most. A bound
    that is None is not known.
    """
    proof: Proof | None = estimator.proof_
    if proof is None:
        return None
    chosen = float(estimator.criterion_value_)
    is_chosen = np.array_equal(proof.subset, estimator.subset_)
    is_best = bool(is_chosen or chosen >= proof.value - SAME * abs(proof.value))
    return {
        "reason": None,
        "optimal": proof.optimal,
        "value": proof.value,
        "upper_bound": proof.upper_bound,
        "gap": proof.gap,
        "features": [names[j] for j in proof.subset],
        "indices": proof.subset,
        "chosen_is_best_known": is_best,
        "chosen_value": chosen,
        "chosen_gap": _gap(proof.value if is_best else chosen, proof.upper_bound),
        "must_include": [names[j] for j in proof.must_include],
        "never_useful": [names[j] for j in proof.never_useful],
        "n_nodes": proof.n_nodes,
        "seconds": proof.seconds,
    }


def no_proof(reason: str) -> dict[str, Any]:
    """Say why nothing was proven."""
    return {"reason": reason, "optimal": False}


def found_ties(estimator: Any, within: float = WITHIN) -> NearTies:
    """Give the subsets near the best that the search itself came by: there may be more."""
    result, proof = estimator.result_, estimator.proof_
    allowed = np.isfinite(result.penalties)  # the others have a coefficient of the wrong sign
    subsets, values = result.subsets[allowed], result.criterion_values[allowed]
    if proof is not None:
        # Out of time, what it came by is no candidate.
        subsets, values = np.vstack([subsets, proof.subset]), np.append(values, proof.value)
    unique, where = np.unique(subsets, axis=0, return_index=True)
    values = values[where]
    best = values.max()
    near = np.flatnonzero(values >= best - within * abs(best))
    near = near[np.argsort(-values[near], kind="stable")]
    subsets, values = unique[near], values[near]
    # Where groups make subsets differ in length, they are filled up with -1.
    counts = np.bincount(subsets[subsets >= 0], minlength=estimator.n_features_in_)
    return NearTies(subsets[:MOST_SETS], values[:MOST_SETS], len(near), False, counts, within)


def describe_near_ties(
    estimator: Any, ties: NearTies | None, names: list[str]
) -> dict[str, Any] | None:
    """Give the subsets that come near the best, the best first, and what they have in common.

    `shortfall` is by what share of the best value one is below it.
    """
    if ties is None and estimator.proof_ is not None:
        ties = found_ties(estimator)
    if ties is None:
        return None
    _check_ties(estimator, ties)
    _check_best(estimator.proof_, ties)
    best = float(ties.values[0])
    return {
        "within": ties.within,
        "exact": ties.exact,
        "n_total": ties.n_total,
        "chosen_shortfall": _shortfall(float(estimator.criterion_value_), best),
        "in_all": [names[j] for j in ties.in_all],
        "counts": [
            {"name": names[j], "index": j, "count": ties.feature_counts[j]}
            for j in np.argsort(-ties.feature_counts, kind="stable")
            if ties.feature_counts[j]
        ],
        "sets": [
            {
                "features": [names[j] for j in subset if j >= 0],
                "indices": [j for j in subset if j >= 0],
                "criterion_value": value,
                "shortfall": _shortfall(value, best),
            }
            for subset, value in zip(ties.subsets[:MOST_SETS], ties.values, strict=False)
        ],
    }


def _check_ties(estimator: Any, ties: NearTies) -> None:
    """Refuse near-ties that are not of this selector's columns and size."""
    size, columns = ties.subsets.shape[1], len(ties.feature_counts)
    if columns == estimator.n_features_in_ and size == estimator.result_.subsets.shape[1]:
        return
    raise ValueError(
        f"near_ties must be subsets of {len(estimator.subset_)} of {estimator.n_features_in_} "
        f"columns, as the selector chose; got subsets of {size} of {columns}. Pass "
        "safdr.near_ties(moments, selector.n_features_), with the moments of the same rows."
    )


def _check_best(proof: Proof | None, ties: NearTies) -> None:
    """Refuse near-ties whose best is not the proven one."""
    if proof is None or not (proof.optimal and ties.exact):
        return
    if not np.isclose(ties.values[0], proof.value, rtol=KNOWN):
        raise ValueError(
            f"near_ties must be of the rows and the criterion that proof_ is about: its best value "
            f"is {ties.values[0]:.6g}, and the proven one {proof.value:.6g}. Pass safdr.near_ties "
            "the ridge, weights, costs and constraints of the selector."
        )


def _gap(value: float, upper_bound: float) -> float | None:
    """By what share a value can be exceeded; None where that is no share."""
    if upper_bound <= value:
        return 0.0
    return upper_bound / value - 1 if value > 0 else None


def _shortfall(value: float, best: float) -> float:
    """By what share of the best value, which costs may make negative, a value is below it."""
    return (best - value) / abs(best) if best - value > SAME * abs(best) else 0.0
