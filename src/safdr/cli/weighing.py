"""Scores that count rows by their weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from safdr.cli.rows import SplitRows
from safdr._old_table.passes import WEIGHT


@contextmanager
def weighted_scores(estimator: Any, rows: SplitRows) -> Iterator[None]:
    """Let scores on validation splits do so as well, while it lasts; those in passes always do."""
    has_scores = "scoring" in estimator.get_params()
    if rows.in_passes or rows.prepared.train.weight is None or not has_scores:
        yield
        return
    from sklearn import config_context
    from sklearn.metrics import get_scorer

    with config_context(enable_metadata_routing=True):
        scorer = get_scorer(_scoring(rows)).set_score_request(sample_weight=True)
        estimator.set_params(scoring=scorer)
        try:
            yield
        finally:
            estimator.set_params(scoring=None)


def counted_by_weight(estimator: Any, rows: SplitRows) -> dict[str, Any]:
    """The AUC on held-out rows that are read in passes; by sums of weights there is no interval."""
    from safdr._old_measures.intervals import interval_of_counts

    counts = estimator.count_scores(rows.X_test, rows.y_test, sample_weight=WEIGHT)
    value = interval_of_counts(counts)["value"]
    return {"value": value, "low": None, "high": None, "method": None, "n_rows": rows.n_held_out}


def _scoring(rows: SplitRows) -> str:
    """What the selectors score by, by default."""
    if rows.prepared.target.kind.task == "regression":
        return "r2"
    return "roc_auc" if len(rows.totals) == 2 else "roc_auc_ovr"
