"""One fold of the paper's protocol, sizes 1 to 30: seconds of every method on one core."""

from __future__ import annotations

import warnings
from functools import partial

from sklearn.exceptions import ConvergenceWarning

from benchmarks import problems
from benchmarks.rows import take_turns, write
from experiments import paper_methods

METHODS = ("sa-fdr", "recipe", "rfe", "lasso", "abess")
ROUNDS = 5


def main() -> None:
    """Write one row for each data set."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    rows = []
    for name in problems.available():
        _, X, y = problems.fold(name)
        contestants = {}
        for method in METHODS:
            each = paper_methods.get(method)
            contestants[method] = partial(each.path, X, y, each.grid(X, y), 0)
        contestants["sa-fdr"]()
        seconds = take_turns(contestants, ROUNDS)
        ratio = round(seconds["sa-fdr"] / seconds["rfe"], 3)
        shown = {f"{method}_s": round(value, 4) for method, value in seconds.items()}
        rows.append(
            {"data": name, "rows": len(y), "features": X.shape[1], **shown, "over_rfe": ratio}
        )
    write("folds", rows)
