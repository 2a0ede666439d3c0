"""Signs that a feature knows the answer: a level whose rows are all of one class."""

from __future__ import annotations

from collections.abc import Iterable

from safdr.table.prepare import Prepared
from safdr.table.target import shown

# Rows that a level needs before its purity says anything, and the share that is too good.
MIN_ROWS = 50
PURE = 0.999


def pure_levels(prepared: Prepared, chosen: Iterable[int]) -> list[str]:
    """Warn of chosen levels that nearly always go with one class."""
    found = []
    target, part = prepared.target, prepared.train
    for j in chosen:
        feature = prepared.recipe.features[j]
        labels = part.y[part.X[:, j] == 1]
        if feature.kind == "number" or len(labels) < MIN_ROWS:
            continue
        share = max(labels.mean(), 1 - labels.mean())
        if share >= PURE:
            label = shown(target.positive if labels.mean() > 0.5 else target.negative)
            n_of = round(share * len(labels))
            found.append(
                f"{feature.name}: {n_of:,} of its {len(labels):,} rows are of class {label}. Ask "
                "whether this is known before the outcome is; if not, leave the column out."
            )
    return found
