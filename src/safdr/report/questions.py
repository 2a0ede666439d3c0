"""Answers to questions about a selection, which `safdr.prove` and its siblings give."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import safdr
from safdr.report.reading import Features, Found, Rows, read_features
from safdr.result import NearOptimal, Proof, Stability

# Near-optimal subsets in a result.
MAX_SUBSETS = 100
# Other features are named from this share of half-samples or splits on.
OFTEN, MAX_OTHERS = 0.25, 20
# Columns of the what-if, whose matrix is then 60 KB.
MAX_WHAT_IF = 120
# Relative difference of a value that is computed twice.
SAME = 1e-6


class Questions:
    """Questions about a selector and the rows of its fit.

    An answer is a dictionary; it has only a `note` if the question is refused.
    """

    def __init__(self, selector: Any, rows: Rows, features: Features) -> None:
        self.selector, self.rows, self.features = selector, rows, features

    def answers(self, asked: Mapping[str, Any]) -> Found:
        """Return the answers to what was asked, sorted into the parts of the result."""
        selector, features = self.selector, self.features
        seed = 0 if selector.random_state is None else selector.random_state
        common = {key: asked[key] for key in ("groups", "n_jobs")}
        search: Found = {}
        swaps: Found = {}
        panel: Found = {}
        if (limit := asked["prove"]) is not None:
            search["proof"] = self._ask(safdr.prove, self._proof, time_limit=limit)
        if (rtol := asked["near_optimal"]) is not None:
            search["near"] = self._ask(safdr.near_optimal, self._near, rtol=rtol)
        if (n := asked["stability"]) is not None:
            how = {"n_resamples": n, "random_state": seed, **common}
            search["stability"] = self._ask(safdr.stability, self._stability, **how)
        shares: Found = search.get("stability", {}).pop("frequencies", {})
        if asked["substitutes"]:
            swaps = self._ask(safdr.substitutes, self._substitutes, n_best=1, **common)
        if asked["what_if"]:
            often = [name for name, share in shares.items() if share[0] >= OFTEN][:MAX_OTHERS]
            also = [int(features.columns[features.names.index(name)][0]) for name in often]
            panel = self._ask(safdr.what_if, self._what_if, also=also)
        return {
            "search": search,
            "notes": [f"No substitutes: {swaps['note']}"] if "note" in swaps else [],
            "frequencies": shares,
            "swaps": swaps.get("features", {}),
            "what_if": {} if "note" in panel else panel,
        }

    def _ask(
        self, question: Callable[..., Any], describe: Callable[[Any], Found], **options: Any
    ) -> Found:
        rows = self.rows
        try:
            return describe(
                question(self.selector, rows.X, rows.y, sample_weight=rows.weight, **options)
            )
        except (ValueError, MemoryError, NotImplementedError) as error:
            return {"note": str(error)}

    def _proof(self, proof: Proof) -> Found:
        selector, rows = self.selector, self.rows
        selected, best = float(selector.criterion_value_), float(proof.value)
        same = np.array_equal(proof.subset, selector.subset_) or selected >= best - SAME * abs(best)
        answer: Found = {
            "proven": bool(proof.optimal),
            "value": best,
            "features": self.features.named(proof.subset),
            "selected": bool(same),
            "below": 0.0 if same else (best - selected) / abs(best),
            "seconds": proof.seconds,
        }
        if np.isfinite(proof.upper_bound):
            answer["bound"] = proof.upper_bound
            if selected > 0:
                answer["gap"] = max(0.0, proof.upper_bound / selected - 1)
        if not same:
            losses = safdr.evaluate_subsets(
                selector,
                rows.X,
                rows.y,
                [selector.subset_, proof.subset],
                sample_weight=rows.weight,
            ).losses
            answer["smaller_loss"] = bool(losses[0] <= losses[1])
        return answer

    def _near(self, near: NearOptimal) -> Found:
        best = float(near.values[0])
        pairs = zip(near.subsets[:MAX_SUBSETS], near.values, strict=False)
        return {
            "rtol": near.rtol,
            "complete": bool(near.complete),
            "n": int(near.n_total),
            "in_all": self.features.named(near.in_all),
            "subsets": [
                {
                    "features": self.features.named(subset),
                    "below": max(0.0, (best - value) / abs(best)),
                }
                for subset, value in pairs
            ],
        }

    def _stability(self, stability: Stability) -> Found:
        shares = np.column_stack([stability.frequencies, stability.frequency_intervals])
        by_name = dict(zip(self.features.names, shares, strict=True))
        answer: Found = {"n": stability.n_resamples, "frequencies": by_name}
        if np.isfinite(stability.index):
            answer["index"] = [stability.index, *stability.index_interval]
        if np.isfinite(stability.expected_errors):
            answer["expected_errors"] = stability.expected_errors
        return answer

    def _substitutes(self, table: Mapping[str, Any]) -> Found:
        # The selector may know columns by other names than the table.
        known = read_features(self.selector, None).names
        name_of = dict(zip(known, self.features.names, strict=True))
        columns = (table[key] for key in ("loss", "selected", "replacement", "score_difference"))
        by_name: Found = {}
        for _, selected, other, change in sorted(zip(*columns, strict=True), key=lambda r: r[0]):
            entry = by_name.setdefault(name_of[selected], {})
            if other in name_of:
                entry.setdefault("swap", {"name": name_of[other], "score": change})
            else:
                entry["without"] = change
        return {"features": by_name}

    def _what_if(self, ask: Any) -> Found:
        if sum(map(len, ask.columns)) > MAX_WHAT_IF:
            raise ValueError(f"more than {MAX_WHAT_IF} columns.")
        value, selected = (
            ask.value(self.selector.subset_),
            float(self.selector.criterion_value_),
        )
        if abs(value - selected) > SAME * max(1.0, abs(selected)):
            raise ValueError("the rows of the report are not those of the fit.")
        features = self.features
        return {
            "kind": ask.criterion,
            "A": _packed(ask.A[np.tril_indices(len(ask.A))]),
            "D": _packed(ask.D),
            "n_outputs": ask.D.shape[1],
            "apart": np.argwhere(np.triu(ask.exclusive)),
            "features": [
                {
                    "name": features.names[features.of_column[columns[0]]],
                    "n_columns": len(columns),
                    "selected": bool(ask.selected[i]),
                    "required": bool(ask.required[i]),
                    "cost": ask.costs[i],
                }
                for i, columns in enumerate(ask.columns)
            ],
        }


def _packed(numbers: NDArray[np.float64]) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<f8").tobytes()).decode()
