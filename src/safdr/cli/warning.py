"""What stands in the way of trusting the answer, as far as the table and the fit have told."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from safdr.cli.rows import SplitRows

Caught = Sequence[warnings.WarningMessage]

# Weighted rows that count for less than this share of as many equal ones.
UNEVEN = 0.5


def warn(content: dict[str, Any], rows: SplitRows, caught: Caught) -> None:
    """Find the warnings again, with what is known of the table, once its names are there."""
    from safdr import SeparationWarning
    from safdr.report.score_tests import describe_tests
    from safdr.report.tasks import task_of
    from safdr.report.warnings import describe_warnings

    content["separated"] |= any(issubclass(each.category, SeparationWarning) for each in caught)
    scores = content["scores"]
    # Their scores are the default ones.
    chance = task_of(content).chance
    scores |= describe_tests(scores["test"], scores["validation"], chance)
    table = (asdict(each) for each in rows.prepared.warnings)
    content["warnings"] = describe_warnings(content, [*table, *_uneven(rows), *_unfinished(caught)])


def other_notes(caught: Caught) -> list[str]:
    """What was warned about besides, each once."""
    from sklearn.exceptions import ConvergenceWarning

    from safdr import SeparationWarning

    told = (SeparationWarning, ConvergenceWarning)
    return [*dict.fromkeys(str(each.message) for each in caught if each.category not in told)]


def _unfinished(caught: Caught) -> Iterator[dict[str, Any]]:
    from sklearn.exceptions import ConvergenceWarning

    for text in dict.fromkeys(str(c.message) for c in caught if c.category is ConvergenceWarning):
        what, _, advice = text.rpartition(": ")
        yield {
            "kind": "fit_not_at_its_optimum",
            "title": "The model may not be the best on its features",
            "text": f"{what}." if what else text,
            "advice": advice[:1].upper() + advice[1:],
        }


def _uneven(rows: SplitRows) -> Iterator[dict[str, Any]]:
    """Weights that leave few rows to count: by Kish, their sum squared by the sum of squares."""
    weight = rows.prepared.train.weight
    if weight is None:
        return
    n, rows_that_count = len(weight), "rows to learn from count like"
    alike = float(weight.sum() ** 2 / np.square(weight).sum())
    if alike < UNEVEN * n:
        yield {
            "kind": "uneven_weights",
            "title": "Weights are very uneven",
            "text": f"By their weights {n:,} {rows_that_count} {alike:,.0f} equal ones.",
            "advice": "Take scores and the choice for those of that many rows; look at the largest "
            "weights.",
        }
