"""Descent on the loss: exchanges of features that a second-order model of the loss proposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from safdr._engine.annealing.chains import Chains
from safdr._engine.annealing.compiled import CompiledChains
from safdr._engine.annealing.functions import FunctionChains
from safdr._engine.arrays import FloatArray, IntArray
from safdr._engine.constraints import AllowedSubsets
from safdr._engine.fits.fits import Fits, fit_padded, joined
from safdr._engine.signs import SignedFunction
from safdr._engine.subsets import stacked

# Candidates that each round starts from, and rounds at most.
N_STARTS = 5
MAX_ROUNDS = 10

# Features that may enter: those with the largest gradients of the loss.
MAX_ENTERING = 64

# A smaller share of the loss is rounding error.
LEAST_GAIN = 1e-9

# The members of a model, their coefficients, and its intercept.
Model: TypeAlias = tuple[IntArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class LossDescent:
    """Exchange features while that lowers the loss of fitted models."""

    fitter: Any  # with a second-order model of its loss
    allowed: AllowedSubsets
    cost: FloatArray | None  # of each column, in units of the loss
    n_threads: int

    def run(
        self,
        starts: IntArray,
        subsets: IntArray,
        fits: Fits,
        added: Callable[[IntArray, Fits], FloatArray],
    ) -> tuple[IntArray, Fits]:
        """Return the candidates with those found; `added` is what their losses lack."""
        total = fits.losses + added(subsets, fits)
        known = {row.tobytes() for row in subsets}
        for _ in range(MAX_ROUNDS):
            order = np.lexsort((fits.losses, total))
            starts = np.vstack([subsets[order[:N_STARTS]], starts])
            rows = dict.fromkeys(map(bytes, self._optima(starts, fits.take(order[:1]))))
            new = [np.frombuffer(row, dtype=np.int64) for row in rows if row not in known]
            if not new:
                break
            known.update(rows)
            exact = self.cost is not None or self.allowed.signs is not None
            how: dict[str, Any] = {"best_only": not exact, "n_threads": self.n_threads}
            found = fit_padded(self.fitter, np.array(new), **how)
            least = float(total[order[0]])
            total = np.append(total, found.losses + added(np.array(new), found))
            subsets, fits = np.vstack([subsets, new]), joined([fits, found])
            if np.isfinite(least) and not total.min() < least - LEAST_GAIN * abs(least):
                break
            starts = starts[:0]
        return subsets, fits

    def _optima(self, starts: IntArray, best: Fits) -> IntArray:
        """Return local optima of the second-order model at the first of the starts."""
        members = starts[0][starts[0] >= 0]
        model = members, best.coefficients[0][: len(members)], best.intercepts[0]
        columns = self._columns(starts, model)
        allowed = self.allowed.among(columns)
        near = self.fitter.near(columns, *model)
        selections = np.zeros((len(starts), allowed.n_groups + 1), dtype=bool)
        places = np.where(starts >= 0, np.searchsorted(columns, starts), -1)
        np.put_along_axis(selections, np.append(allowed.group_of, -1)[places], True, axis=1)
        how: dict[str, Any] = {"seed": np.random.SeedSequence(0), "n_proposals": 0}
        how["constraints"] = allowed
        chains: Chains
        if allowed.signs is not None:
            chains = FunctionChains(SignedFunction(near, allowed.signs), selections[:, :-1], **how)
        else:
            # The loss falls by half of the criterion.
            cost = None if self.cost is None else 2.0 * self.cost[columns]
            chains = CompiledChains(near, selections[:, :-1], cost=cost, **how)
        reached = np.append(columns, -1)[chains.local_search()[0]]
        return stacked(starts[:0], reached)

    def _columns(self, starts: IntArray, model: Model) -> IntArray:
        allowed, kept = self.allowed, np.zeros(self.allowed.n_groups, dtype=bool)
        kept[allowed.include] = True
        kept[allowed.group_of[starts[starts >= 0]]] = True
        kept[promising(self.fitter, allowed, allowed.free, model)] = True
        return allowed.columns_of(kept)


def promising(fitter: Any, allowed: AllowedSubsets, groups: IntArray, model: Model) -> IntArray:
    """Return groups that may lower the loss of a model most, by their largest gradient."""
    if len(groups) <= MAX_ENTERING:
        return groups
    of_groups = np.zeros(allowed.n_groups)
    np.maximum.at(of_groups, allowed.group_of, np.abs(fitter.gradient(*model)))
    return groups[np.argsort(-of_groups[groups], kind="stable")[:MAX_ENTERING]]
