"""How the annealing went, and the other good subsets that it found."""

from __future__ import annotations

from typing import Any

import numpy as np

# More are in `result_`; nobody reads further.
MOST_ALTERNATIVES = 20


def describe_trace(estimator: Any) -> dict[str, Any]:
    """Give the temperatures, mean and spread of the criterion, and families of a population."""
    trace = estimator.result_.trace
    columns = {
        name: getattr(trace, name).tolist() for name in ("beta", "mean", "std", "acceptance")
    }
    families = {
        name: None if getattr(trace, name) is None else getattr(trace, name).tolist()
        for name in ("n_families", "family_size")
    }
    return {**columns, **families, "converged": bool(trace.converged)}


def describe_alternatives(estimator: Any, names: list[str], loss: str) -> list[dict[str, Any]]:
    """The distinct subsets that were found, the chosen one first.

    `penalty` is what the cost of the features adds to the loss. `excess` is the sum of
    both relative to that of the chosen subset, less 1; None where that is 0, since others need not
    have been fitted then. `replicas` counts those on the criterion that ended
    there: none if only local search, the replicas on the log-loss or forward selection found it.
    """
    result = estimator.result_
    total = result.losses + result.penalties
    best = total[result.best]
    found: dict[tuple[int, ...], dict[str, Any]] = {}
    # The order in which the winner is chosen, so that it comes first.
    for i in np.lexsort((-result.criterion_values, total)):
        if np.isinf(result.penalties[i]):
            break  # these have a coefficient of the wrong sign
        # Where groups make subsets differ in length, they are filled up with -1.
        subset = tuple(int(j) for j in result.subsets[i] if j >= 0)
        entry = found.setdefault(
            subset,
            {
                "features": [names[j] for j in subset],
                "indices": list(subset),
                "criterion_value": result.criterion_values[i],
                loss: result.losses[i],
                "penalty": result.penalties[i],
                "excess": total[i] / best - 1 if best > 0 else None,
                "replicas": 0,
            },
        )
        # After the replicas on the criterion come other candidates.
        entry["replicas"] += int(i < len(result.start_subsets))
    return list(found.values())[:MOST_ALTERNATIVES]
