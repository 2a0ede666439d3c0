"""One contestant on one wide problem, in a process of its own: seconds, and memory beyond the rows.

All choose from 1 to 10 features by five folds, but for RFE (a tenth of those left goes at each
step, down to one) and the L1 path (30 penalties, as in the protocol).
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from threadpoolctl import threadpool_limits

from benchmarks.memory import high_water
from benchmarks.timing import timed
from benchmarks.wide_problem import PROBLEMS, Wide, omics
from safdr import AnnealingSelector, AnnealingSelectorCV

SIZES = list(range(1, 11))
FOLDS = 5
# Penalties from the first that lets a feature in to a hundredth of it.
N_PENALTIES, SPAN = 30, 100.0


def ours(rows: Wide, **how: Any) -> NDArray[np.int64]:
    """This library, as it comes."""
    search = AnnealingSelectorCV(max_features=SIZES[-1], cv=FOLDS, random_state=0, **how)
    return np.asarray(search.fit(rows.X, rows.y).subset_)


def one_size(rows: Wide, **how: Any) -> NDArray[np.int64]:
    """The same without folds: ten features."""
    search = AnnealingSelector(SIZES[-1], random_state=0, **how)
    return np.asarray(search.fit(rows.X, rows.y).subset_)


def abess(rows: Wide, screening_size: int = -1) -> NDArray[np.int64]:
    """Best subset of the logistic model by splicing."""
    from abess import LogisticRegression as Splicing

    model = Splicing(support_size=SIZES, cv=FOLDS, thread=1, screening_size=screening_size)
    return np.flatnonzero(model.fit(rows.X, rows.y).coef_)


def screened(rows: Wide) -> NDArray[np.int64]:
    """The same among the 1000 columns that tell most alone."""
    return abess(rows, 1000)


def rfe(rows: Wide) -> NDArray[np.int64]:
    """scikit-learn's recursive elimination."""
    search = RFECV(LogisticRegression(), step=0.1, cv=FOLDS, scoring="roc_auc")
    return np.flatnonzero(search.fit(rows.X, rows.y).support_)


def l1(rows: Wide) -> NDArray[np.int64]:
    """scikit-learn's path of L1 penalties."""
    slopes = np.abs(rows.X.T @ (rows.y - rows.y.mean()))
    search = LogisticRegressionCV(
        Cs=np.geomspace(1.0, SPAN, N_PENALTIES) / slopes.max(),
        cv=FOLDS,
        l1_ratios=(1.0,),
        solver="liblinear",
        scoring="roc_auc",
        use_legacy_attributes=False,
    )
    return np.flatnonzero(search.fit(rows.X, rows.y).coef_)


CONTESTANTS: dict[str, Callable[[Wide], NDArray[np.int64]]] = {
    "sa-fdr": ours,
    "sa-fdr, l1": partial(ours, criterion="l1"),
    "sa-fdr, reference": partial(ours, criterion="reference"),
    "sa-fdr, auto": partial(ours, criterion="auto", ridge="auto"),
    "sa-fdr, ten features": one_size,
    "sa-fdr, l1, ten features": partial(one_size, criterion="l1"),
    "sa-fdr, reference, ten features": partial(one_size, criterion="reference"),
    "abess": abess,
    "abess, screened": screened,
    "rfe": rfe,
    "l1": l1,
}


def measure(problem: str, contestant: str) -> dict[str, Any]:
    """Seconds, megabytes and what was found."""
    run = CONTESTANTS[contestant]
    run(omics(60, 2100, 1))  # what is loaded once does not count
    rows = PROBLEMS[problem]()
    before = high_water()
    subset, seconds = timed(lambda: run(rows))
    return {
        "rows": rows.X.shape[0],
        "features": rows.X.shape[1],
        "process_s": round(seconds.process, 2),
        "wall_s": round(seconds.wall, 2),
        "extra_mb": round(high_water() - before),
        "chosen": len(subset),
        "planted": len(np.intersect1d(subset, rows.planted)),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(limits=1):
        print(json.dumps(measure(*sys.argv[1:])))
