"""How the annealing went, and the other good subsets that it found."""

from __future__ import annotations

from typing import Any

import numpy as np

# More are in `result_`; nobody reads further.
MOST_ALTERNATIVES = 20


def describe_trace(estimator: Any) -> dict[str, Any]:
    """Give the temperatures, and mean and spread of the criterion over the replicas.

    Parameters
    ----------
    estimator : AnnealingSelector or AnnealingSelectorCV
        Fitted.

    Returns
    -------
    dict
    """
    trace = estimator.result_.trace
    columns = {
        name: getattr(trace, name).tolist() for name in ("beta", "mean", "std", "acceptance")
    }
    return {**columns, "converged": bool(trace.converged)}


def describe_alternatives(estimator: Any, names: list[str]) -> list[dict[str, Any]]:
    """Give the distinct subsets that were found, the chosen one first.

    Parameters
    ----------
    estimator : AnnealingSelector or AnnealingSelectorCV
        Fitted.
    names : list of str
        Names of all features.

    Returns
    -------
    list of dict
        `excess` is the cross-entropy relative to that of the chosen subset, less 1; None where that
        is 0. `replicas` counts those that ended there: none, where polishing alone found it.
    """
    result = estimator.result_
    best = result.cross_entropy
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    # The order in which the winner is chosen, so that it comes first.
    for i in np.lexsort((-result.criterion_values, result.cross_entropies)):
        subset = tuple(int(j) for j in result.subsets[i])
        entry = found.setdefault(
            subset,
            {
                "features": [names[j] for j in subset],
                "indices": list(subset),
                "criterion_value": result.criterion_values[i],
                "cross_entropy": result.cross_entropies[i],
                "excess": result.cross_entropies[i] / best - 1 if best > 0 else None,
                "replicas": 0,
            },
        )
        # What comes after the replicas are candidates made from them.
        entry["replicas"] += int(i < estimator.n_replicas)
    return list(found.values())[:MOST_ALTERNATIVES]
