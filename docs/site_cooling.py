"""An annealing, step by step, for the slider of "How it works"."""

import json
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from safdr import Annealing, AnnealingSelector, Moments, evaluate_subsets, prove

SIZE, N_REPLICAS = 5, 50


def cooling_script() -> str:
    """All replicas after each step, as a script that a page can load from a file.

    The same seed takes the same way, so the replicas after ten steps are those of a search that is
    told to stop there.
    """
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    longest = AnnealingSelector.as_published(SIZE, random_state=0).fit(X, y).result_
    steps = [_after(step, X, y) for step in range(1, len(longest.trace.beta))]
    first = _values(X, y, longest.start_subsets)
    content = {
        "names": list(X.columns),
        "best": round(prove(Moments.from_rows(X, y), SIZE).value, 4),
        "beta": np.round(longest.trace.beta, 4).tolist(),
        "acceptance": np.round(np.nan_to_num(longest.trace.acceptance), 3).tolist(),
        "values": [first, *(values for values, _ in steps)],
        "subsets": [longest.start_subsets.tolist(), *(subsets for _, subsets in steps)],
    }
    return f"window.safdrCooling = {json.dumps(content, separators=(',', ':'))};\n"


def _after(step: int, X: Any, y: Any) -> tuple[list[float], list[list[int]]]:
    """Criterion values and subsets of the replicas after so many steps."""
    annealing = Annealing(max_steps=step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it stopped early is the point
        selector = AnnealingSelector.as_published(SIZE, annealing=annealing, random_state=0)
        result = selector.fit(X, y).result_
    values = np.round(result.criterion_values[:N_REPLICAS], 4).tolist()
    return values, result.subsets[:N_REPLICAS].tolist()


def _values(X: Any, y: Any, subsets: Any) -> list[float]:
    """Criterion values of the subsets that replicas start at."""
    return np.round(evaluate_subsets(X, y, subsets, ridge=1e-6).criterion_values, 4).tolist()
