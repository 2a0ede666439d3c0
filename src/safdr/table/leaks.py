"""Signs that a feature knows the answer: a level whose rows are all of one class."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from safdr.table.kinds import Classes, shown
from safdr.table.prepare import Prepared

# Rows that a level needs before its purity says anything, and the share that is too good.
MIN_ROWS = 50
PURE = 0.999


def pure_levels(prepared: Prepared, chosen: Iterable[int]) -> list[str]:
    """Warn of chosen levels that nearly always go with one class."""
    found: list[str] = []
    target, part = prepared.target.kind, prepared.train
    if not isinstance(target, Classes):
        return found
    for j in chosen:
        feature = prepared.recipe.features[j]
        labels = part.y[part.X[:, j] == 1]
        if feature.kind == "number" or len(labels) < MIN_ROWS:
            continue
        counts = np.bincount(labels)
        if counts.max() >= PURE * len(labels):
            label = shown(target.labels[int(np.argmax(counts))])
            found.append(
                f"{feature.name}: {counts.max():,} of its {len(labels):,} rows are of class "
                f"{label}. Ask whether this is known before the outcome is; if not, leave the "
                "column out."
            )
    return found
