"""What the default number of replicas misses: 20 (as published 50) against 500 on a fold."""

from __future__ import annotations

import numpy as np

from benchmarks import problems
from benchmarks.rows import write
from safdr import Annealing, AnnealingSelector, anneal_path

N_REPLICAS = 500


def main() -> None:
    """Write one row for each data set and way to search."""
    rows = []
    for name in problems.available():
        _, X, y = problems.fold(name)
        sizes = range(1, min(30, X.shape[1]) + 1)
        ways = {
            "as published": AnnealingSelector.as_published(random_state=0),
            "recipe": AnnealingSelector(annealing=Annealing(), random_state=0),
        }
        for way, selector in ways.items():
            few = anneal_path(selector, X, y, sizes)
            many = anneal_path(selector.set_params(annealing__n_replicas=N_REPLICAS), X, y, sizes)
            value = np.array(
                [[np.nanmax(r.criterion_values) for r in each] for each in (few, many)]
            )
            loss = np.array([[np.nanmin(r.losses) for r in each] for each in (few, many)])
            below = 1.0 - value[0] / np.maximum(value[1], value[0])
            above = (loss[0] - loss[1]) / np.maximum(loss[1], 1e-12)
            rows.append(
                {
                    "data": name,
                    "way": way,
                    "sizes": len(sizes),
                    "largest_criterion_below": f"{below.max():.2g}",
                    "sizes_below_1e-6": int((below > 1e-6).sum()),
                    "largest_loss_above": f"{max(above.max(), 0.0):.2g}",
                }
            )
    write("quality", rows)
